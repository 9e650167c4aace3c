/* SPDX-License-Identifier: MIT */
/* The functions in an ELF file's symbol tables: see elfsyms.h. */
#include "sym/elfsyms.h"

#include <glib.h>

struct table {
	const struct image *image;
	Elf64_Shdr section;
	const char *names;
	size_t names_size;
	bool full;
	uint64_t *ends; /* of the code in each section; 0: it holds none */
};

static bool find_table(const struct image *image, struct table *table)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	size_t i, size;

	for (i = 0; i < G_N_ELEMENTS(types); i++) {
		/* a debug file has a dynamic table without bytes */
		if (!image_find_section(image, types[i], &table->section) ||
			!image_bytes(image, &table->section, &size))
			continue;
		table->names = image_strings(image, table->section.sh_link, &table->names_size);
		table->full = types[i] == SHT_SYMTAB;
		if (table->names)
			return true;
	}
	return false;
}

bool elfsyms_is_full(const struct image *image)
{
	struct table table;

	return find_table(image, &table) && table.full;
}

/* Symbols without a type are labels, in code or elsewhere: only the section tells. */
static uint64_t *list_ends(const struct image *image)
{
	uint64_t *ends = g_new0(uint64_t, image->sections + 1);
	Elf64_Shdr section;
	uint32_t i;

	for (i = 1; image_section(image, i, &section); i++) {
		if (section.sh_flags & SHF_EXECINSTR)
			ends[i] = section.sh_addr + section.sh_size;
	}
	return ends;
}

static uint8_t rank_of(const Elf64_Sym *symbol)
{
	bool function = ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE;

	switch (ELF64_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
		return function ? 0 : 3;
	case STB_WEAK:
		return function ? 1 : 4;
	default:
		return function ? 2 : 5;
	}
}

static void offer_symbol(const struct table *table, const Elf64_Sym *symbol, struct lookup *lookup)
{
	struct lookup_symbol offer = { .start = symbol->st_value, .size = symbol->st_size };
	int type = ELF64_ST_TYPE(symbol->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= table->image->sections ||
		symbol->st_name >= table->names_size)
		return;
	offer.limit = table->ends[symbol->st_shndx];
	offer.name = table->names + symbol->st_name;
	/* names that begin with $ mark data inside code on some machines */
	if (!offer.limit || !*offer.name || *offer.name == '$' || (!table->full && !offer.size))
		return;
	offer.rank = rank_of(symbol);
	lookup_offer(lookup, &offer);
}

bool elfsyms_offer(const struct image *image, struct lookup *lookup)
{
	struct table table = { .image = image };
	Elf64_Sym symbol;
	uint64_t i;

	if (!find_table(image, &table))
		return false;
	table.ends = list_ends(image);
	for (i = 1; image_symbol(image, &table.section, i, &symbol); i++)
		offer_symbol(&table, &symbol, lookup);
	g_free(table.ends);
	return true;
}

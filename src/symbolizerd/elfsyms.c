/* SPDX-License-Identifier: MIT */
/* The functions in an ELF file's symbol tables: see elfsyms.h. */
#include "symbolizerd/elfsyms.h"

#include <glib.h>

struct elfsyms_table {
	const struct image *image;
	Elf_Data *symbols;
	const char *names;
	size_t names_size;
	bool full;
	uint64_t *ends; /* of the code in each section; 0 if it has none */
	size_t sections;
};

/* The first table of this kind. */
static bool find_table_of(struct elfsyms_table *table, GElf_Word type)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr section;

	while ((scn = elf_nextscn(table->image->elf, scn))) {
		if (!gelf_getshdr(scn, &section) || section.sh_type != type)
			continue;
		/* in a debug file the dynamic table has no bytes */
		table->symbols = image_section(scn, &section);
		table->names = image_strings(table->image, section.sh_link, &table->names_size);
		return table->symbols && table->names;
	}
	return false;
}

static bool find_table(const struct image *image, struct elfsyms_table *table)
{
	*table = (struct elfsyms_table){.image = image, .full = true};
	if (find_table_of(table, SHT_SYMTAB))
		return true;
	table->full = false;
	return find_table_of(table, SHT_DYNSYM);
}

bool elfsyms_is_full(const struct image *image)
{
	struct elfsyms_table table;

	return find_table(image, &table) && table.full;
}

/* Symbols without a type are labels, in code or data: only the section decides. */
static void list_ends(struct elfsyms_table *table)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr section;

	if (elf_getshdrnum(table->image->elf, &table->sections))
		table->sections = 0;
	table->ends = g_new0(uint64_t, table->sections + 1);
	while ((scn = elf_nextscn(table->image->elf, scn)) && elf_ndxscn(scn) < table->sections) {
		if (gelf_getshdr(scn, &section) && (section.sh_flags & SHF_EXECINSTR))
			table->ends[elf_ndxscn(scn)] = section.sh_addr + section.sh_size;
	}
}

static uint8_t rank_of(const GElf_Sym *symbol)
{
	bool function = GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE;

	switch (GELF_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
		return function ? 0 : 3;
	case STB_WEAK:
		return function ? 1 : 4;
	default:
		return function ? 2 : 5;
	}
}

static void offer_symbol(
	const struct elfsyms_table *table, const GElf_Sym *symbol, struct addr_match *match)
{
	struct addr_match_symbol offer = {.start = symbol->st_value, .size = symbol->st_size};
	int type = GELF_ST_TYPE(symbol->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= table->sections ||
		symbol->st_name >= table->names_size)
		return;
	offer.limit = table->ends[symbol->st_shndx];
	offer.name = table->names + symbol->st_name;
	/* on some machines names that begin with $ mark data inside code */
	if (!offer.limit || !*offer.name || *offer.name == '$' || (!table->full && !offer.size))
		return;
	offer.rank = rank_of(symbol);
	addr_match_offer(match, &offer);
}

bool elfsyms_offer(const struct image *image, struct addr_match *match)
{
	struct elfsyms_table table;
	GElf_Sym symbol;
	int i;

	if (!find_table(image, &table))
		return false;
	list_ends(&table);
	for (i = 1; gelf_getsym(table.symbols, i, &symbol); i++)
		offer_symbol(&table, &symbol, match);
	g_free(table.ends);
	return true;
}

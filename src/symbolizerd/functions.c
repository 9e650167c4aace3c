/* SPDX-License-Identifier: MIT */
/* The functions of an ELF file by their names: see functions.h. */
#include "symbolizerd/functions.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

struct search {
	const struct image *image;
	const struct functions_query *query;
	uint32_t symbols; /* that were looked at */
};

static bool is_wanted(const struct search *search, const GElf_Sym *symbol)
{
	const int type = GELF_ST_TYPE(symbol->st_info);
	const bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;

	return (is_function || (type == STT_OBJECT && search->query->flags & PROTO_OBJECTS)) &&
		symbol->st_shndx != SHN_UNDEF && symbol->st_value;
}

static int offer(struct search *search, const GElf_Sym *symbol, const char *names, size_t names_size)
{
	struct proto_found found = { .arguments = "", .address = symbol->st_value };
	const struct functions_query *query = search->query;

	if (search->symbols++ >= FUNCTIONS_SYMBOLS_MAX)
		return -E2BIG;
	if (!is_wanted(search, symbol) || symbol->st_name >= names_size)
		return 0;
	/* the table ends with a NUL */
	found.name = names + symbol->st_name;
	if (strnlen(found.name, FUNCTIONS_NAME_MAX) == FUNCTIONS_NAME_MAX ||
		!text_matches(query->pattern, found.name) ||
		(!image_address_to_offset(search->image, symbol->st_value, &found.offset) &&
			!(query->flags & PROTO_OBJECTS))) /* .bss is not in the file */
		return 0;
	return query->each(query->arg, &found);
}

static int walk_table(struct search *search, Elf_Data *symbols, const char *names, size_t names_size)
{
	GElf_Sym symbol;
	int ret = 0;

	for (int i = 1; !ret && gelf_getsym(symbols, i, &symbol); i++)
		ret = offer(search, &symbol, names, names_size);
	return ret;
}

int functions_each(const struct image *image, const struct functions_query *query)
{
	struct search search = { .image = image, .query = query };
	Elf_Scn *scn = NULL;
	GElf_Shdr section;
	int ret = 0;

	while (!ret && (scn = elf_nextscn(image->elf, scn))) {
		size_t names_size = 0;
		const char *names;
		Elf_Data *symbols;

		if (!gelf_getshdr(scn, &section) ||
			(section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM))
			continue;
		symbols = image_section(scn, &section);
		names = image_strings(image, section.sh_link, &names_size);
		if (symbols && names)
			ret = walk_table(&search, symbols, names, names_size);
	}
	return ret;
}

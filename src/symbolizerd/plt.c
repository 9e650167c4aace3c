/* SPDX-License-Identifier: MIT */
/*
 * The stubs of the procedure linkage table: see plt.h.
 *
 * A stub jumps to the address in a slot of the global offset table, and a relocation tells which
 * function the dynamic linker writes into that slot. So the code of each stub is decoded. Its index
 * does not tell the function: linkers order stubs differently, and put them into several sections.
 */
#include "symbolizerd/plt.h"

#include <limits.h>
#include <string.h>

#include "symbolizer/symbols.h"
#include "symbolizerd/addr_match.h"

/*
 * A file has one or two relocation tables, and four kinds of stubs; a file with more was made to
 * use up CPU time.
 */
#define TABLES_MAX 16
#define PLTS_MAX 16

#define STUB_BYTES 16
#define SHORT_STUB_BYTES 8 /* of .plt.got without endbr64 */

/* After all symbols (elfsyms.c): a symbol that covers a stub has the right name. */
#define RANK_STUB 6

struct plt_stub {
	uint64_t slot; /* address in the global offset table */
	uint64_t start;
	uint64_t size;
};

/* ---- stubs ----------------------------------------------------------------------------------- */

/* Decodes jmp *disp(%rip), perhaps after endbr64 or with a bnd prefix; false: other code. */
static bool decode_stub(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot)
{
	static const uint8_t jump[] = { 0xff, 0x25 }, endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;
	int32_t distance;

	if (size >= sizeof(endbr) && memcmp(code, endbr, sizeof(endbr)) == 0)
		at += sizeof(endbr);
	if (at < size && code[at] == 0xf2)
		at++;
	if (size - at < sizeof(jump) + sizeof(distance) ||
		memcmp(code + at, jump, sizeof(jump)) != 0)
		return false;
	at += sizeof(jump);
	memcpy(&distance, code + at, sizeof(distance));
	at += sizeof(distance);
	*slot = address + at + (uint64_t)(int64_t)distance;
	return true;
}

/* The stubs of one section that contain requested addresses. */
static void list_section(const GElf_Shdr *section, const Elf_Data *data,
	const uint64_t *addresses, size_t count, GArray *stubs)
{
	uint64_t unit = section->sh_entsize == SHORT_STUB_BYTES ? SHORT_STUB_BYTES : STUB_BYTES;
	const uint8_t *bytes = data->d_buf;
	size_t size = data->d_size, i;
	uint64_t last = UINT64_MAX;

	for (i = addr_match_first(addresses, count, section->sh_addr);
		i < count && addresses[i] - section->sh_addr < size; i++) {
		uint64_t at = (addresses[i] - section->sh_addr) / unit * unit;
		struct plt_stub stub = {.start = section->sh_addr + at, .size = unit};

		if (at == last)
			continue;
		last = at;
		if (decode_stub(bytes + at, MIN(unit, size - at), stub.start, &stub.slot))
			g_array_append_val(stubs, stub);
	}
}

static gint compare_stubs(gconstpointer a, gconstpointer b)
{
	const struct plt_stub *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* .plt, .plt.sec, .plt.got, .plt.bnd: sorted by slot. */
static GArray *list_stubs(const struct image *image, const uint64_t *addresses, size_t count)
{
	GArray *stubs = g_array_new(FALSE, FALSE, sizeof(struct plt_stub));
	unsigned int plts = 0;
	Elf_Scn *scn = NULL;
	GElf_Shdr section;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names))
		return stubs;
	while (plts < PLTS_MAX && (scn = elf_nextscn(image->elf, scn))) {
		const Elf_Data *data = image_section(scn, &section);
		const char *name = data ? elf_strptr(image->elf, names, section.sh_name) : NULL;

		if (!name || !(section.sh_flags & SHF_EXECINSTR) || !g_str_has_prefix(name, ".plt"))
			continue;
		list_section(&section, data, addresses, count, stubs);
		plts++;
	}
	g_array_sort(stubs, compare_stubs);
	return stubs;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct plt_relocations {
	Elf_Data *relocations, *symbols;
	const char *names;
	size_t names_size;
};

/* The first stub that jumps by the slot, or the position for it. */
static guint find_stub(const GArray *stubs, uint64_t slot)
{
	guint low = 0, high = stubs->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (g_array_index(stubs, struct plt_stub, middle).slot < slot)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void offer_stub(const struct plt_relocations *table, const struct plt_stub *stub,
	uint64_t index, struct addr_match *match, GStringChunk *strings)
{
	struct addr_match_symbol offer = {
		.start = stub->start, .size = stub->size, .rank = RANK_STUB};
	char name[SYMBOLS_TEXT_MAX + 1];
	GElf_Sym symbol;
	const char *from;
	size_t length;

	if (index > INT_MAX || !gelf_getsym(table->symbols, (int)index, &symbol) ||
		symbol.st_name >= table->names_size)
		return;
	from = table->names + symbol.st_name;
	length = strnlen(from, SYMBOLS_TEXT_MAX - strlen(PLT_SUFFIX));
	if (!length)
		return;
	memcpy(name, from, length);
	strcpy(name + length, PLT_SUFFIX);
	offer.name = g_string_chunk_insert(strings, name);
	addr_match_offer(match, &offer);
}

static void read_relocations(const struct plt_relocations *table, const GArray *stubs,
	struct addr_match *match, GStringChunk *strings)
{
	GElf_Rela relocation;
	guint i;
	int n;

	for (n = 0; gelf_getrela(table->relocations, n, &relocation); n++) {
		if (!GELF_R_SYM(relocation.r_info))
			continue;
		i = find_stub(stubs, relocation.r_offset);
		for (; i < stubs->len; i++) {
			const struct plt_stub *stub = &g_array_index(stubs, struct plt_stub, i);

			if (stub->slot != relocation.r_offset)
				break;
			offer_stub(table, stub, GELF_R_SYM(relocation.r_info), match, strings);
		}
	}
}

/* The relocation table in this section, and its symbols and names. */
static bool open_table(const struct image *image, Elf_Scn *scn, struct plt_relocations *table)
{
	GElf_Shdr section;

	table->relocations = image_section(scn, &section);
	if (!table->relocations || section.sh_type != SHT_RELA || !(section.sh_flags & SHF_ALLOC))
		return false;
	table->symbols = image_section(elf_getscn(image->elf, section.sh_link), &section);
	if (!table->symbols || section.sh_type != SHT_DYNSYM)
		return false;
	table->names = image_strings(image, section.sh_link, &table->names_size);
	return table->names != NULL;
}

static bool is_x86_64(const struct image *image)
{
	GElf_Ehdr head;

	return gelf_getehdr(image->elf, &head) && head.e_machine == EM_X86_64 &&
		gelf_getclass(image->elf) == ELFCLASS64;
}

void plt_offer(const struct image *image, const uint64_t *addresses, size_t count,
	struct addr_match *match, GStringChunk *strings)
{
	unsigned int tables = 0;
	Elf_Scn *scn = NULL;
	struct plt_relocations table;
	GArray *stubs;

	if (!is_x86_64(image))
		return;
	stubs = list_stubs(image, addresses, count);
	while (stubs->len && tables < TABLES_MAX && (scn = elf_nextscn(image->elf, scn))) {
		if (!open_table(image, scn, &table))
			continue;
		read_relocations(&table, stubs, match, strings);
		tables++;
	}
	g_array_free(stubs, TRUE);
}

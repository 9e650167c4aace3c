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

#include "base/bisect.h"
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
#define LONG_STUB_BYTES 24 /* of AArch64 */
#define INSTRUCTION_BYTES 4 /* of AArch64 */

/* After all symbols (elfsyms.c): a symbol that covers a stub has the right name. */
#define RANK_STUB 6

struct plt_stub {
	uint64_t slot; /* address in the global offset table */
	uint64_t start;
	uint64_t size;
};

/* A section with stubs. */
struct plt_code {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	uint64_t entry_size; /* as the section's header has it */
};

/* Finds the stub that covers this offset; returns false if there is none. */
typedef bool (*plt_find)(const struct plt_code *code, size_t at, struct plt_stub *stub);

/* ---- stubs ----------------------------------------------------------------------------------- */

/*
 * Decodes jmp *disp(%rip), perhaps after endbr64 or with a bnd prefix; returns false for other
 * code.
 */
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

/* The stub of x86_64 at this offset: of 16 bytes, in .plt.got without endbr64 of 8. */
static bool find_x86_64(const struct plt_code *code, size_t at, struct plt_stub *stub)
{
	const size_t unit = code->entry_size == SHORT_STUB_BYTES ? SHORT_STUB_BYTES : STUB_BYTES;

	at = at / unit * unit;
	stub->start = code->address + at;
	stub->size = unit;
	return decode_stub(code->bytes + at, MIN(unit, code->size - at), stub->start, &stub->slot);
}

/* Instructions of AArch64 are little-endian also where data are not. 0 behind the end: none of those here. */
static uint32_t instruction_at(const struct plt_code *code, size_t at)
{
	const uint8_t *from;

	if (at > code->size || code->size - at < INSTRUCTION_BYTES)
		return 0;
	from = code->bytes + at;
	return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
		(uint32_t)from[3] << 24;
}

/* adrp x16, PAGE; ldr x17, [x16, #OFFSET] */
static bool decode_load(const struct plt_code *code, size_t at, uint64_t *slot)
{
	const uint32_t adrp = instruction_at(code, at);
	const uint32_t ldr = instruction_at(code, at + INSTRUCTION_BYTES);
	uint64_t pages;

	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	pages = (uint64_t)(adrp >> 29 & 3) | (uint64_t)(adrp >> 5 & 0x7ffff) << 2;
	if (pages & 1u << 20)
		pages |= UINT64_MAX << 21;
	*slot = ((code->address + at) & ~(uint64_t)0xfff) + (pages << 12) + (ldr >> 10 & 0xfff) * 8;
	return true;
}

/*
 * The stub of AArch64 around this offset: [bti c;] adrp; ldr; add; [autia1716;] br x17; and nops up to 24
 * bytes.
 */
static bool find_aarch64(const struct plt_code *code, size_t at, struct plt_stub *stub)
{
	const uint32_t bti_c = 0xd503245f, br_x17 = 0xd61f0220, nop = 0xd503201f;
	size_t start, end;

	at = at / INSTRUCTION_BYTES * INSTRUCTION_BYTES;
	start = instruction_at(code, at) == bti_c ? at + INSTRUCTION_BYTES : at;
	while (!decode_load(code, start, &stub->slot)) {
		if (start < INSTRUCTION_BYTES || at + INSTRUCTION_BYTES > start + LONG_STUB_BYTES)
			return false;
		start -= INSTRUCTION_BYTES;
	}
	end = start + 2 * INSTRUCTION_BYTES;
	if (start >= INSTRUCTION_BYTES && instruction_at(code, start - INSTRUCTION_BYTES) == bti_c)
		start -= INSTRUCTION_BYTES;
	while (instruction_at(code, end) != br_x17) {
		end += INSTRUCTION_BYTES;
		if (end >= start + LONG_STUB_BYTES)
			return false;
	}
	end += INSTRUCTION_BYTES;
	while (end < start + LONG_STUB_BYTES && instruction_at(code, end) == nop)
		end += INSTRUCTION_BYTES;
	stub->start = code->address + start;
	stub->size = end - start;
	return at < end;
}

/* The stubs of one section that contain requested addresses. */
static void list_section(const struct plt_code *code, plt_find find, const uint64_t *addresses,
	size_t count, GArray *stubs)
{
	uint64_t last = UINT64_MAX;
	size_t i;

	for (i = bisect_u64(addresses, count, code->address);
		i < count && addresses[i] - code->address < code->size; i++) {
		struct plt_stub stub;

		if (!find(code, addresses[i] - code->address, &stub) || stub.start == last)
			continue;
		last = stub.start;
		g_array_append_val(stubs, stub);
	}
}

static gint compare_stubs(gconstpointer a, gconstpointer b)
{
	const struct plt_stub *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* .plt, .plt.sec, .plt.got, .plt.bnd: sorted by slot. */
static GArray *list_stubs(
	const struct image *image, plt_find find, const uint64_t *addresses, size_t count)
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
		struct plt_code code;

		if (!name || !(section.sh_flags & SHF_EXECINSTR) || !g_str_has_prefix(name, ".plt"))
			continue;
		code = (struct plt_code){
			.bytes = data->d_buf,
			.size = data->d_size,
			.address = section.sh_addr,
			.entry_size = section.sh_entsize,
		};
		list_section(&code, find, addresses, count, stubs);
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

static bool has_less_slot(const void *stub, const void *slot)
{
	return ((const struct plt_stub *)stub)->slot < *(const uint64_t *)slot;
}

/* The first stub that jumps by the slot, or the position for it. */
static size_t find_stub(const GArray *stubs, uint64_t slot)
{
	return bisect(stubs->data, stubs->len, sizeof(struct plt_stub), has_less_slot, &slot);
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
	size_t i;
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

static plt_find find_machine(const struct image *image)
{
	GElf_Ehdr head;

	if (!gelf_getehdr(image->elf, &head) || gelf_getclass(image->elf) != ELFCLASS64)
		return NULL;
	if (head.e_machine == EM_X86_64)
		return find_x86_64;
	return head.e_machine == EM_AARCH64 ? find_aarch64 : NULL;
}

void plt_offer(const struct image *image, const uint64_t *addresses, size_t count,
	struct addr_match *match, GStringChunk *strings)
{
	const plt_find find = find_machine(image);
	unsigned int tables = 0;
	Elf_Scn *scn = NULL;
	struct plt_relocations table;
	GArray *stubs;

	if (!find)
		return;
	stubs = list_stubs(image, find, addresses, count);
	while (stubs->len && tables < TABLES_MAX && (scn = elf_nextscn(image->elf, scn))) {
		if (!open_table(image, scn, &table))
			continue;
		read_relocations(&table, stubs, match, strings);
		tables++;
	}
	g_array_free(stubs, TRUE);
}

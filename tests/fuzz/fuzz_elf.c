/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: any bytes as an ELF file whose symbols and stubs are asked for. (Debug information
 * is read by a library.)
 *
 * Invariant: each answer lies around its address.
 */
#include "tests/fuzz/fuzz.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbolizerd/elfsyms.h"
#include "symbolizerd/functions.h"
#include "symbolizerd/image.h"
#include "symbolizerd/addr_match.h"
#include "symbolizerd/plt.h"

#define BASE 0x400000
#define PLT_AT 0x200
#define STUBS 2

/* Of the whole of a seed's code, and a little around it. */
#define ADDRESSES 64

/* Segments may lie anywhere, and wrap. */
static void ask_offset(const struct image *image, uint64_t offset)
{
	uint64_t address;

	if (image_offset_to_address(image, offset, &address))
		image_address_to_offset(image, address, &offset);
}

/* Names and arguments are texts of bounded length, whatever the file says. */
static int check_found(void *arg, const struct proto_found *found)
{
	FUZZ_CHECK(strlen(found->name) <= FUNCTIONS_NAME_MAX);
	FUZZ_CHECK(strlen(found->arguments) <= FUNCTIONS_NAME_MAX);
	return 0;
}

static void ask_functions(const struct image *image)
{
	static const uint32_t flags[] = { 0, PROTO_OBJECTS, PROTO_STATIC_PROBES };
	struct functions_query query = { .pattern = "*", .each = check_found };

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		query.flags = flags[i];
		if (flags[i] & PROTO_STATIC_PROBES)
			staticprobes_each(image, &query);
		else
			functions_each(image, &query);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	GStringChunk *strings = g_string_chunk_new(64);
	uint64_t addresses[ADDRESSES];
	struct addr_match *lookup;
	struct image image;
	size_t i;

	for (i = 0; i < ADDRESSES; i++)
		addresses[i] = BASE + PLT_AT - 16 + i;
	lookup = addr_match_create(addresses, ADDRESSES);
	if (image_init(&image, data, size) == 0) {
		elfsyms_offer(&image, lookup);
		plt_offer(&image, addresses, ADDRESSES, lookup, strings);
		addr_match_finish(lookup);
		ask_functions(&image);
		for (i = 0; i < ADDRESSES; i++) {
			const struct addr_match_symbol *symbol = addr_match_find(lookup, i);

			ask_offset(&image, addresses[i] - BASE);
			if (!symbol)
				continue;
			FUZZ_CHECK(symbol->start <= addresses[i]);
			FUZZ_CHECK(addresses[i] - symbol->start < symbol->size ||
				addresses[i] < symbol->limit);
			FUZZ_CHECK(strlen(symbol->name) > 0);
		}
		image_fini(&image);
	}
	addr_match_destroy(lookup);
	g_string_chunk_free(strings);
	return 0;
}

/* ---- the corpus ------------------------------------------------------------------------------ */

enum { NONE, NAMES, STRINGS, SYMBOLS, RELOCATIONS, PLT, SYMTAB, SECTIONS };

static const char names[] = "\0.plt.sec\0.rela.plt\0.dynsym\0.dynstr\0.symtab";
static const char strings[] = "\0puts\0_ZSt4stoi\0code";

/* endbr64; jmp *slot(%rip); a nop */
static void add_stub(uint8_t *to, uint64_t address, uint64_t slot)
{
	static const uint8_t code[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25 };
	int32_t distance = (int32_t)(slot - (address + sizeof(code) + sizeof(distance)));

	memcpy(to, code, sizeof(code));
	memcpy(to + sizeof(code), &distance, sizeof(distance));
}

struct seed {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	Elf64_Shdr sections[SECTIONS];
	uint8_t gap[PLT_AT + 0x200];
	uint8_t plt[STUBS * 16];
	Elf64_Rela relocations[STUBS];
	Elf64_Sym symbols[STUBS + 1];
	Elf64_Sym symtab[2];
	char names[sizeof(names)];
	char strings[sizeof(strings)];
};

static void set_section(struct seed *seed, unsigned int i, uint32_t type, uint32_t name, uint32_t link,
	const void *at, size_t size)
{
	Elf64_Shdr *section = &seed->sections[i];

	section->sh_type = type;
	section->sh_name = name;
	section->sh_link = link;
	section->sh_offset = (uint64_t)((const uint8_t *)at - (const uint8_t *)seed);
	section->sh_size = size;
	section->sh_flags = SHF_ALLOC;
}

static void make_seed(struct seed *seed)
{
	unsigned int i;

	memcpy(seed->head.e_ident, ELFMAG "\2\1\1", 7);
	seed->head.e_type = ET_EXEC;
	seed->head.e_machine = EM_X86_64;
	seed->head.e_phoff = offsetof(struct seed, segment);
	seed->head.e_phentsize = sizeof(Elf64_Phdr);
	seed->head.e_phnum = 1;
	seed->head.e_shoff = offsetof(struct seed, sections);
	seed->head.e_shentsize = sizeof(Elf64_Shdr);
	seed->head.e_shnum = SECTIONS;
	seed->head.e_shstrndx = NAMES;
	seed->segment = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = BASE,
		.p_filesz = sizeof(*seed), .p_memsz = sizeof(*seed) };
	memcpy(seed->names, names, sizeof(names));
	memcpy(seed->strings, strings, sizeof(strings));
	set_section(seed, NAMES, SHT_STRTAB, 0, 0, seed->names, sizeof(names));
	set_section(seed, STRINGS, SHT_STRTAB, 29, 0, seed->strings, sizeof(strings));
	set_section(seed, SYMBOLS, SHT_DYNSYM, 21, STRINGS, seed->symbols, sizeof(seed->symbols));
	set_section(seed, RELOCATIONS, SHT_RELA, 10, SYMBOLS, seed->relocations,
		sizeof(seed->relocations));
	set_section(seed, PLT, SHT_PROGBITS, 1, 0, seed->plt, sizeof(seed->plt));
	set_section(seed, SYMTAB, SHT_SYMTAB, 37, STRINGS, seed->symtab, sizeof(seed->symtab));
	seed->sections[PLT].sh_flags |= SHF_EXECINSTR;
	seed->sections[PLT].sh_addr = BASE + PLT_AT;
	for (i = 0; i < STUBS; i++) {
		add_stub(seed->plt + (size_t)i * 16, BASE + PLT_AT + i * 16u, BASE + 0x1000 + i * 8u);
		seed->relocations[i].r_offset = BASE + 0x1000 + i * 8u;
		seed->relocations[i].r_info = ELF64_R_INFO(i + 1u, R_X86_64_JUMP_SLOT);
		seed->symbols[i + 1].st_name = i ? 6 : 1;
	}
	seed->symtab[1] = (Elf64_Sym){ .st_name = 16, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = PLT, .st_value = BASE + PLT_AT - 16, .st_size = 16 };
}

/* The way into what is tested: without changes the seed is understood. */
static void check_seed(const struct seed *seed)
{
	const uint64_t address = BASE + PLT_AT + 16;
	GStringChunk *chunk = g_string_chunk_new(64);
	struct addr_match *lookup = addr_match_create(&address, 1);
	const struct addr_match_symbol *symbol;
	struct image image;

	FUZZ_CHECK(image_init(&image, seed, sizeof(*seed)) == 0);
	plt_offer(&image, &address, 1, lookup, chunk);
	addr_match_finish(lookup);
	symbol = addr_match_find(lookup, 0);
	FUZZ_CHECK(symbol && strcmp(symbol->name, "_ZSt4stoi@plt") == 0);
	addr_match_destroy(lookup);
	image_fini(&image);
	g_string_chunk_free(chunk);
}

bool fuzz_seed(unsigned int number, GByteArray *out)
{
	struct seed seed = { .gap = { 0 } };

	if (number)
		return false;
	make_seed(&seed);
	check_seed(&seed);
	g_byte_array_append(out, (const guint8 *)&seed, sizeof(seed));
	return true;
}

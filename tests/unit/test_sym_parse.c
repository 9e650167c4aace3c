/* SPDX-License-Identifier: MIT */
/*
 * symbolizerd/parse and the files below it: the answers for each address of functions that are
 * compiled here are those of nm and addr2line.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib.h>

#include "symbolizerd/image.h"
#include "symbolizerd/local.h"
#include "symbolizerd/parse.h"
#include "tests/fixtures/symfixture.h"

static const char program_c[] =
	"#include <unistd.h>\n"
	"#define INLINE static inline __attribute__((always_inline))\n"
	"volatile int sink;\n"
	"INLINE int leaf(int x)\n"
	"{\n"
	"	sink += x;\n"
	"	return x * 3 + sink;\n"
	"}\n"
	"INLINE int middle(int x)\n"
	"{\n"
	"	int y = leaf(x) + 1;\n"
	"	if (y > 7) {\n"
	"		int z = sink;\n"
	"		y += leaf(z);\n"
	"	}\n"
	"	return y;\n"
	"}\n"
	"__attribute__((noinline)) int outer(int x)\n"
	"{\n"
	"	int sum = 0;\n"
	"	for (int i = 0; i < x; i++)\n"
	"		sum += middle(i) * 2;\n"
	"	return sum;\n"
	"}\n"
	"__attribute__((noinline)) static int local(int x)\n"
	"{\n"
	"	return outer(x) + sink;\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	return local(argc) + outer(2);\n"
	"}\n";

static const char program_cpp[] =
	"volatile int sink;\n"
	"namespace ns {\n"
	"template<typename T> struct box {\n"
	"	T value;\n"
	"	inline __attribute__((always_inline)) T twice() const { sink += 1; return value + value; }\n"
	"	__attribute__((noinline)) T thrice(int n) const { T t = twice(); sink += n; "
	"return t + value; }\n"
	"};\n"
	"struct base { virtual int go(int) = 0; };\n"
	"}\n"
	"namespace {\n"
	"struct derived : ns::base {\n"
	"	__attribute__((noinline)) int go(int n) override { sink += n; return n * sink; }\n"
	"};\n"
	"}\n"
	"int main(int argc, char **)\n"
	"{\n"
	"	ns::box<int> i{argc};\n"
	"	ns::box<double> d{1.5 * argc};\n"
	"	derived x;\n"
	"	ns::base &b = x;\n"
	"	auto f = [&](int n) __attribute__((noinline)) { sink += n; return n + i.twice(); };\n"
	"	return i.thrice(3) + (int)d.thrice(4) + b.go(argc) + f(7);\n"
	"}\n";

/* ---- answers --------------------------------------------------------------------------------- */

struct result_wire {
	struct symbols_arena *arena;
	struct symbols_place *places;
	int ret;
};

static void ask(struct result_wire *answers, const struct symfixture *fixture, const char *program,
	const uint64_t *offsets, size_t count, unsigned int flags)
{
	g_autofree char *path = symfixture_path(fixture, program);
	struct symbols_file file = { .kind = SYMBOLS_ELF, .path = path };
	struct symbols_how how = { .flags = flags, .cancel_fd = -1 };
	struct symbols *symbols = symbols_create(&local_source, NULL, 0);

	answers->arena = symbols_arena_create();
	answers->places = g_new0(struct symbols_place, count + 1);
	answers->ret = symbols_resolve(symbols, &file, offsets, count, &how, answers->arena,
		answers->places);
	assert_int_equal(answers->ret, 0);
	symbols_destroy(symbols);
}

static void forget(struct result_wire *answers)
{
	g_free(answers->places);
	symbols_arena_destroy(answers->arena);
}

/* All places of the code of all functions of the program's own files. */
static GArray *list_addresses(const struct symfixture *fixture, const char *program)
{
	g_autoptr(GArray) symbols = symfixture_nm(fixture, program, "");
	GArray *addresses = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	guint i;

	for (i = 0; i < symbols->len; i++) {
		const struct symfixture_symbol *s =
			&g_array_index(symbols, struct symfixture_symbol, i);
		uint64_t at;

		for (at = s->address; at < s->address + s->size; at++)
			g_array_append_val(addresses, at);
	}
	assert_true(addresses->len > 50);
	return addresses;
}

/* ---- functions ------------------------------------------------------------------------------- */

/*
 * Returns whether the list has a symbol of this name that covers the address and begins at the
 * start.
 */
static bool agrees(const GArray *symbols, uint64_t address, const char *name, uint64_t start)
{
	guint i;

	for (i = 0; i < symbols->len; i++) {
		const struct symfixture_symbol *s =
			&g_array_index(symbols, struct symfixture_symbol, i);

		if (address - s->address < s->size && strcmp(s->name, name) == 0 &&
			s->address == start)
			return true;
	}
	return false;
}

static void check_functions(const struct symfixture *fixture, const char *program,
	const char *nm_options)
{
	g_autoptr(GArray) addresses = list_addresses(fixture, program);
	g_autoptr(GArray) symbols = symfixture_nm(fixture, program, nm_options);
	g_autofree uint64_t *offsets = g_new(uint64_t, addresses->len);
	struct result_wire answers;
	uint64_t delta;
	guint i;

	/* one segment has all the code */
	delta = g_array_index(addresses, uint64_t, 0) -
		symfixture_offset(fixture, program, g_array_index(addresses, uint64_t, 0));
	for (i = 0; i < addresses->len; i++)
		offsets[i] = g_array_index(addresses, uint64_t, i) - delta;
	ask(&answers, fixture, program, offsets, addresses->len, 0);
	for (i = 0; i < addresses->len; i++) {
		const struct symbols_place *place = &answers.places[i];

		if (!place->located || place->address != offsets[i] + delta)
			fail_msg("%s: 0x%" PRIx64 " is said to be at 0x%" PRIx64, program,
				offsets[i] + delta, place->address);
		if (place->count != 1 || !agrees(symbols, offsets[i] + delta,
			place->frames[0].function, place->start + delta))
			fail_msg("%s: offset 0x%" PRIx64 ": %s", program, offsets[i],
				place->count ? place->frames[0].function : "-");
	}
	forget(&answers);
}

static void test_functions_match_those_of_nm(void **state)
{
	struct symfixture *fixture = *state;

	check_functions(fixture, "plain", "");
	check_functions(fixture, "no_pie", "");
	check_functions(fixture, "cpp", "-C");
}

/* Without .symtab only the functions of the dynamic table have names. */
static void test_stripped_file_uses_the_dynamic_table(void **state)
{
	struct symfixture *fixture = *state;
	struct symfixture_symbol outer = symfixture_find(fixture, "dynamic", "outer");
	struct symfixture_symbol local = symfixture_find(fixture, "dynamic", "local");
	uint64_t offsets[2];
	struct result_wire answers;

	assert_true(symfixture_run(fixture, NULL, "strip -o dynamic_stripped dynamic"));
	offsets[0] = symfixture_offset(fixture, "dynamic", outer.address + 1);
	offsets[1] = symfixture_offset(fixture, "dynamic", local.address + 1);
	ask(&answers, fixture, "dynamic_stripped", offsets, 2, 0);
	assert_int_equal(answers.places[0].count, 1);
	assert_string_equal(answers.places[0].frames[0].function, "outer");
	assert_int_equal(answers.places[1].count, 0);
	forget(&answers);
}

static void test_offsets_outside_of_functions_have_no_name(void **state)
{
	struct symfixture *fixture = *state;
	struct symfixture_symbol outer = symfixture_find(fixture, "plain", "outer");
	uint64_t offsets[4] = { UINT64_MAX, symfixture_offset(fixture, "plain", outer.address), 0 };
	struct result_wire answers;

	offsets[3] = offsets[1]; /* twice */
	ask(&answers, fixture, "plain", offsets, 4, 0);
	assert_int_equal(answers.places[0].count, 0);
	assert_string_equal(answers.places[1].frames[0].function, "outer");
	assert_int_equal(answers.places[1].start, offsets[1]);
	assert_int_equal(answers.places[1].size, outer.size);
	assert_int_equal(answers.places[2].count, 0);
	assert_string_equal(answers.places[3].frames[0].function, "outer");
	forget(&answers);
}

/* ---- stubs ----------------------------------------------------------------------------------- */

/* All stubs that objdump names: of each byte of them. */
static void check_stubs(const struct symfixture *fixture, const char *program, guint at_least)
{
	g_autofree char *output = NULL;
	g_auto(GStrv) lines = NULL;
	guint i, k, found = 0;

	assert_true(symfixture_run(fixture, &output,
		"objdump -d -j .plt -j .plt.sec -j .plt.got %s 2>/dev/null | grep '@plt>:'; true", program));
	lines = g_strsplit(output, "\n", 0);
	for (i = 0; lines[i] && *lines[i]; i++) {
		uint64_t address = g_ascii_strtoull(lines[i], NULL, 16), offsets[8];
		g_autofree char *name = g_strdup(strchr(lines[i], '<') + 1);
		struct result_wire answers;

		*strchr(name, '>') = '\0';
		for (k = 0; k < G_N_ELEMENTS(offsets); k++)
			offsets[k] = symfixture_offset(fixture, program, address + k);
		ask(&answers, fixture, program, offsets, G_N_ELEMENTS(offsets), SYMBOLS_LINES);
		for (k = 0; k < G_N_ELEMENTS(offsets); k++) {
			if (answers.places[k].count != 1 ||
				strcmp(answers.places[k].frames[0].function, name) != 0)
				fail_msg("%s: %s+%u is %s", program, name, k, answers.places[k].count
					? answers.places[k].frames[0].function : "-");
			assert_int_equal(answers.places[k].start, offsets[0]);
		}
		forget(&answers);
		found++;
	}
	if (found < at_least)
		fail_msg("%s: objdump names %u stubs", program, found);
}

static void test_plt_stubs_have_names(void **state)
{
	struct symfixture *fixture = *state;

#ifndef __x86_64__
	skip();
#endif
	symfixture_write(fixture, "stubs.c", "#include <math.h>\n"
		"#include <stdio.h>\n"
		"#include <stdlib.h>\n"
		"int main(int argc, char **argv)\n"
		"{\n"
		"	int (*volatile also)(const char *) = puts;\n"
		"	puts(argv[0]);\n"
		"	return also(argv[0]) + rand() + (int)lrint(argc * 0.5) + atoi(argv[0]);\n"
		"}\n");
	symfixture_write(fixture, "stubs.cpp", "#include <string>\n"
		"int main(int, char **argv) { return (int)std::stoul(argv[0]) + "
		"(std::string(argv[0]) + argv[1])[0]; }\n");
	assert_true(symfixture_run(fixture, NULL,
		"gcc -O1 -fplt -Wl,-z,lazy -o lazy stubs.c -lm && "
		"gcc -O1 -fplt -Wl,-z,now -o now stubs.c -lm && "
		"gcc -O1 -fplt -fcf-protection -Wl,-z,lazy,-z,ibtplt -o ibt stubs.c -lm && "
		"gcc -O1 -fplt -fno-pie -no-pie -o fixed stubs.c -lm && "
		"strip -o bare lazy && g++ -O1 -fplt -o stubs_cpp stubs.cpp"));
	check_stubs(fixture, "lazy", 3);
	check_stubs(fixture, "now", 3);
	check_stubs(fixture, "ibt", 3);
	check_stubs(fixture, "fixed", 3);
	check_stubs(fixture, "bare", 3);
}

/* Writes a stub of AArch64 for this slot to `code`, as GNU ld and lld do. Returns its size. */
static size_t make_aarch64_stub(uint32_t *code, uint64_t address, uint64_t slot, bool bti, bool pac)
{
	const uint64_t at = address + (bti ? 4 : 0);
	const uint64_t pages = (slot >> 12) - (at >> 12);
	const uint32_t offset = (uint32_t)(slot & 0xfff);
	uint32_t *from = code;

	if (bti)
		*code++ = 0xd503245f; /* bti c */
	*code++ = 0x90000010 | (uint32_t)(pages & 3) << 29 | (uint32_t)(pages >> 2 & 0x7ffff) << 5;
	*code++ = 0xf9400211 | offset / 8 << 10; /* ldr x17, [x16, #offset] */
	*code++ = 0x91000210 | offset << 10;     /* add x16, x16, #offset */
	if (pac)
		*code++ = 0xd503219f; /* autia1716 */
	*code++ = 0xd61f0220;         /* br x17 */
	while ((bti || pac) && code - from < 6)
		*code++ = 0xd503201f; /* nop */
	return (size_t)(code - from) * sizeof(*code);
}

/*
 * A program of this machine whose stubs are replaced by those of AArch64, in a section below and one above
 * the global offset table: the relocations are the same.
 */
static void test_plt_stubs_of_aarch64_have_names(void **state)
{
	static const struct {
		int line;
		const char *section;
		bool bti, pac;
	} rows[] = {
		{ __LINE__, ".plt.below", false, false },
		{ __LINE__, ".plt.below", true, false },
		{ __LINE__, ".plt.below", false, true },
		{ __LINE__, ".plt.above", false, false },
		{ __LINE__, ".plt.above", true, true },
	};
	const uint16_t machine = EM_AARCH64;
	struct symfixture *fixture = *state;
	g_autofree char *output = NULL, *path = NULL;
	g_auto(GStrv) lines = NULL;
	uint64_t address, offset;
	uint32_t code[6];
	char function[64];
	int fd, k;

#ifndef __x86_64__
	skip();
#endif
	symfixture_write(fixture, "room.s", ".section .plt.below,\"ax\",@progbits\n.skip 64\n"
		".section .plt.above,\"awx\",@progbits\n.skip 64\n");
	assert_true(symfixture_run(fixture, &output,
		"gcc -O1 -fplt -fno-pie -no-pie -Wl,-z,lazy,--section-start=.plt.above=0x90000000 "
		"-o aarch64 stubs.c room.s -lm && readelf -rW aarch64 | grep JUMP_SLO"));
	path = g_build_filename(fixture->dir, "aarch64", NULL);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &machine, sizeof(machine), offsetof(Elf64_Ehdr, e_machine)), 2);
	lines = g_strsplit(output, "\n", 0);
	assert_true(g_strv_length(lines) > 3);
	for (size_t row = 0; row < G_N_ELEMENTS(rows); row++) {
		g_autofree char *place = NULL, *expected = NULL;
		uint64_t offsets[24];
		struct result_wire answers;
		size_t size;

		assert_true(symfixture_run(fixture, &place, "readelf -SW aarch64 | "
			"sed -n 's/.* %s *PROGBITS *\\([0-9a-f]*\\) \\([0-9a-f]*\\).*/\\1 \\2/p'",
			rows[row].section));
		assert_int_equal(sscanf(place, "%" SCNx64 " %" SCNx64, &address, &offset), 2);
		assert_int_equal(sscanf(lines[row % 3], "%" SCNx64 " %*s %*s %*s %63[a-z_]",
			offsets, function), 2);
		address += 8; /* behind something else */
		offset += 8;
		size = make_aarch64_stub(code, address, offsets[0], rows[row].bti, rows[row].pac);
		assert_int_equal(pwrite(fd, code, size, (off_t)offset), size);
		for (k = 0; k < (int)size; k++)
			offsets[k] = offset + (uint64_t)k;
		ask(&answers, fixture, "aarch64", offsets, size, SYMBOLS_LINES);
		expected = g_strconcat(function, "@plt", NULL);
		for (k = 0; k < (int)size; k++) {
			if (answers.places[k].count != 1 ||
				strcmp(answers.places[k].frames[0].function, expected) != 0)
				fail_msg("row %d: byte %d is not %s but %s", rows[row].line, k, expected,
					answers.places[k].count
						? answers.places[k].frames[0].function : "-");
			assert_int_equal(answers.places[k].start, offset);
		}
		forget(&answers);
		memset(code, 0, sizeof(code));
		assert_int_equal(pwrite(fd, code, sizeof(code), (off_t)offset), sizeof(code));
	}
	close(fd);
}

/* objdump -C writes them so, too. */
static void test_names_of_plt_stubs_are_demangled(void **state)
{
	struct symfixture *fixture = *state;
	g_autofree char *output = NULL;
	struct result_wire answers;
	uint64_t offset;

#ifndef __x86_64__
	skip();
#endif
	assert_true(symfixture_run(fixture, &output,
		"objdump -d -j .plt -j .plt.sec stubs_cpp | grep '<__cxa_[a-z_]*@plt>:\\|<_ZSt.*@plt>:' | "
		"grep _ZSt | head -n 1"));
	offset = symfixture_offset(fixture, "stubs_cpp", g_ascii_strtoull(output, NULL, 16));
	ask(&answers, fixture, "stubs_cpp", &offset, 1, 0);
	assert_int_equal(answers.places[0].count, 1);
	assert_true(g_str_has_prefix(answers.places[0].frames[0].function, "std::"));
	assert_true(g_str_has_suffix(answers.places[0].frames[0].function, "@plt"));
	forget(&answers);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* "0xADDRESS" / function / file:line, the latter two once for each frame */
static char **run_tool(const struct symfixture *fixture, const char *program,
	const GArray *addresses, const char *tool)
{
	GString *input = g_string_new(NULL);
	g_autofree char *text = NULL;
	guint i;

	for (i = 0; i < addresses->len; i++)
		g_string_append_printf(input, "0x%" PRIx64 "\n",
			g_array_index(addresses, uint64_t, i));
	symfixture_write(fixture, "addresses", input->str);
	g_string_free(input, TRUE);
	assert_true(symfixture_run(fixture, &text, "%s -a -i -f -C -e '%s' < addresses", tool,
		program));
	return g_strsplit(text, "\n", -1);
}

/* Copies that the compiler made of a function are named by the symbol only. */
static void describe(GString *to, const char *function, const char *source, const char *line)
{
	g_autofree char *base = source ? g_path_get_basename(source) : NULL;
	const char *clone = strstr(function, " [clone ");

	g_string_append_len(to, function, clone ? clone - function : (gssize)strlen(function));
	g_string_append_printf(to, " %s:%s;", base && *base != '?' ? base : "-",
		strcmp(line, "?") == 0 ? "0" : line);
}

/* One address's lines of addr2line, from *at on. */
static char *take_expected(char **lines, int *at)
{
	GString *text = g_string_new(NULL);

	while (lines[*at] && !g_str_has_prefix(lines[*at], "0x") && *lines[*at]) {
		const char *function = lines[*at];
		char *place = lines[*at + 1], *colon;

		place[strcspn(place, " ")] = '\0'; /* (discriminator 3) */
		colon = strrchr(place, ':');
		*colon = '\0';
		describe(text, function, place, colon + 1);
		*at += 2;
	}
	return g_string_free(text, FALSE);
}

static char *describe_place(const struct symbols_place *place)
{
	GString *text = g_string_new(NULL);
	uint32_t i;

	for (i = 0; i < place->count; i++) {
		g_autofree char *line = g_strdup_printf("%u", place->frames[i].line);

		describe(text, place->frames[i].function, place->frames[i].source, line);
	}
	return g_string_free(text, FALSE);
}

/*
 * Compares all addresses; at least one must have `deepest` frames. Of code that has no line
 * addr2line does not tell what was inlined there.
 */
static void check_lines(const struct symfixture *fixture, const char *program, uint32_t deepest,
	const char *tool)
{
	g_autoptr(GArray) addresses = list_addresses(fixture, program);
	g_auto(GStrv) lines = run_tool(fixture, program, addresses, tool);
	g_autofree uint64_t *offsets = g_new(uint64_t, addresses->len);
	struct result_wire answers;
	uint32_t deep = 0, without = 0;
	uint64_t delta;
	int at = 0;
	guint i;

	delta = g_array_index(addresses, uint64_t, 0) -
		symfixture_offset(fixture, program, g_array_index(addresses, uint64_t, 0));
	for (i = 0; i < addresses->len; i++)
		offsets[i] = g_array_index(addresses, uint64_t, i) - delta;
	ask(&answers, fixture, program, offsets, addresses->len, SYMBOLS_LINES);
	for (i = 0; i < addresses->len; i++) {
		g_autofree char *expected = NULL, *got = NULL;

		assert_true(g_str_has_prefix(lines[at], "0x"));
		at++;
		expected = take_expected(lines, &at);
		got = describe_place(&answers.places[i]);
		deep = MAX(deep, answers.places[i].count);
		if (g_str_has_suffix(expected, ":0;"))
			without++;
		else if (strcmp(expected, got) != 0)
			fail_msg("%s: 0x%" PRIx64 ": %s, and %s says %s", program,
				offsets[i] + delta, got, tool, expected);
	}
	assert_int_equal(deep, deepest);
	assert_true(without < addresses->len / 2);
	forget(&answers);
}

static void test_lines_match_those_of_addr2line(void **state)
{
	struct symfixture *fixture = *state;

	check_lines(fixture, "plain", 3, "addr2line"); /* leaf in middle in outer */
	check_lines(fixture, "dwarf4", 3, "addr2line");
	check_lines(fixture, "compressed", 3, "addr2line");
	check_lines(fixture, "no_aranges", 3, "addr2line");
	check_lines(fixture, "sections", 3, "addr2line");
	check_lines(fixture, "cpp", 2, "addr2line");
}

/* clang writes no .debug_aranges, and DWARF in an order of its own. */
static void test_files_of_clang_are_parsed(void **state)
{
	struct symfixture *fixture = *state;

	if (!symfixture_can(fixture, "clang --version"))
		skip();
	assert_true(symfixture_run(fixture, NULL, "clang -g -gdwarf-4 -O2 -o clang4 program.c"));
	assert_true(symfixture_run(fixture, NULL, "clang -g -gdwarf-5 -O2 -o clang5 program.c"));
	check_functions(fixture, "clang4", "");
	check_lines(fixture, "clang4", 3, "addr2line");
	/* the lists of ranges in clang's DWARF 5 are beyond binutils 2.40 */
	if (symfixture_can(fixture, "llvm-addr2line --version"))
		check_lines(fixture, "clang5", 3, "llvm-addr2line");
}

/* Lines that were not requested are not there. Where there is no DWARF there are functions. */
static void test_lines_are_given_on_request_only(void **state)
{
	struct symfixture *fixture = *state;
	struct symfixture_symbol outer = symfixture_find(fixture, "plain", "outer");
	uint64_t offset = symfixture_offset(fixture, "plain", outer.address + 8);
	struct result_wire answers;

	ask(&answers, fixture, "plain", &offset, 1, 0);
	assert_int_equal(answers.places[0].count, 1);
	assert_null(answers.places[0].frames[0].source);
	forget(&answers);
	assert_true(symfixture_run(fixture, NULL, "strip -g -o no_dwarf plain"));
	ask(&answers, fixture, "no_dwarf", &offset, 1, SYMBOLS_LINES);
	assert_int_equal(answers.places[0].count, 1);
	assert_string_equal(answers.places[0].frames[0].function, "outer");
	assert_null(answers.places[0].frames[0].source);
	forget(&answers);
}

/* ---- separate files -------------------------------------------------------------------------- */

static int open_file(const struct symfixture *fixture, const char *name)
{
	g_autofree char *path = symfixture_path(fixture, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void take_text(void *arg, size_t i, const struct symbols_place *place)
{
	char **text = arg;

	g_free(*text);
	*text = describe_place(place);
}

static void test_debug_file_is_used(void **state)
{
	struct symfixture *fixture = *state;
	struct symfixture_symbol local = symfixture_find(fixture, "plain", "local");
	uint64_t offset = symfixture_offset(fixture, "plain", local.address + 1);
	struct parse *parse = parse_create();
	g_autofree char *text = NULL;
	struct parse_info info;
	uint8_t id[64];
	size_t length = symfixture_build_id_bytes(fixture, "plain", id, sizeof(id));
	int stripped, debug, other;

	assert_true(length > 0);
	assert_true(symfixture_run(fixture, NULL, "objcopy --only-keep-debug plain plain.debug && "
		"strip -o plain_stripped plain && "
		"objcopy --add-gnu-debuglink=plain.debug plain_stripped"));
	stripped = open_file(fixture, "plain_stripped");
	debug = open_file(fixture, "plain.debug");
	other = open_file(fixture, "dwarf4");
	assert_int_equal(parse_elf(parse, stripped, id, length, SYMBOLS_LINES, &info), 0);
	assert_int_equal(info.flags, 0);
	assert_int_equal(info.build_id_length, length);
	assert_memory_equal(info.build_id, id, length);
	assert_string_equal(info.debuglink, "plain.debug");
	assert_int_equal(parse_resolve(parse, &offset, 1, SYMBOLS_LINES, take_text, &text), 0);
	assert_string_equal(text, ""); /* without a symbol the address is all */
	/* another file's debug file is none */
	assert_int_equal(parse_debug(parse, other, id, length, SYMBOLS_LINES, &info), -ESTALE);
	assert_int_equal(parse_debug(parse, debug, id, length, SYMBOLS_LINES, &info), 0);
	assert_int_equal(info.flags, PROTO_HAS_SYMBOLS | PROTO_HAS_LINES);
	assert_int_equal(parse_resolve(parse, &offset, 1, SYMBOLS_LINES, take_text, &text),
		SYMBOLS_LINES);
	assert_non_null(text);
	assert_true(g_str_has_prefix(text, "local program.c:2")); /* lines 25 to 28 */
	/* the same file, requested with another build-id */
	id[0] ^= 1;
	assert_int_equal(parse_elf(parse, stripped, id, length, 0, &info), -ESTALE);
	assert_int_equal(parse_elf(parse, stripped, id, length - 1, 0, &info), -ESTALE);
	assert_int_equal(parse_resolve(parse, &offset, 1, 0, take_text, &text), -EINVAL);
	parse_destroy(parse);
	close(stripped);
	close(debug);
	close(other);
}

/* What dwz took out of two debug files into a third. */
static void test_file_shared_by_dwz_is_used(void **state)
{
	struct symfixture *fixture = *state;
	struct symfixture_symbol outer = symfixture_find(fixture, "plain", "outer");
	uint64_t offset = symfixture_offset(fixture, "plain", outer.address + outer.size / 2);
	struct parse_info info, alt;
	g_autofree char *text = NULL;
	struct parse *parse;
	int fd, shared;

	if (!symfixture_can(fixture, "dwz --version"))
		skip();
	parse = parse_create();
	assert_true(symfixture_run(fixture, NULL,
		"cp plain one; cp dwarf4 two; cp no_pie three; dwz -L none -m shared one two three"));
	fd = open_file(fixture, "one");
	shared = open_file(fixture, "shared");
	assert_int_equal(parse_elf(parse, fd, NULL, 0, SYMBOLS_LINES, &info), 0);
	assert_true(info.flags & PROTO_WANTS_ALT);
	assert_int_equal(parse_alt(parse, fd, info.build_id, info.build_id_length, &alt), -ESTALE);
	assert_int_equal(parse_alt(parse, shared, info.build_id, info.build_id_length, &alt), 0);
	assert_int_equal(parse_resolve(parse, &offset, 1, SYMBOLS_LINES, take_text, &text),
		SYMBOLS_LINES);
	assert_non_null(text);
	assert_non_null(strstr(text, "outer program.c:"));
	parse_destroy(parse);
	close(fd);
	close(shared);
}

/* ---- no ELF files ---------------------------------------------------------------------------- */

static void test_files_that_are_not_elf_are_refused(void **state)
{
	struct symfixture *fixture = *state;
	static const char *const names[] = { "empty", "text", "short", "big_endian" };
	struct parse *parse = parse_create();
	struct parse_info info;
	uint64_t offset = 0;
	size_t i;

	symfixture_write(fixture, "empty", "");
	symfixture_write(fixture, "text", "#!/bin/sh\n");
	symfixture_write(fixture, "short", ELFMAG "\2\1\1");
	assert_true(symfixture_run(fixture, NULL,
		"cp plain big_endian && printf '\\002' | dd of=big_endian bs=1 seek=5 conv=notrunc "
		"2>/dev/null"));
	for (i = 0; i < G_N_ELEMENTS(names); i++) {
		int fd = open_file(fixture, names[i]);

		assert_int_equal(parse_elf(parse, fd, NULL, 0, SYMBOLS_LINES, &info), -ENOEXEC);
		close(fd);
	}
	assert_int_equal(parse_elf(parse, -1, NULL, 0, 0, &info), -EBADF);
	assert_int_equal(parse_resolve(parse, &offset, 1, 0, take_text, NULL), -EINVAL);
	parse_destroy(parse);
}

/* A 32-bit file, if the compiler can make one that needs no library. */
static void test_file_of_32_bits_is_parsed(void **state)
{
	struct symfixture *fixture = *state;

	symfixture_write(fixture, "tiny.c", "int f(int x) { return x * 3; }\n"
		"int g(int x) { return x + 7 * f(x); }\n"
		"void _start(void) { for (volatile int i = 0;; i++) g(i); }\n");
	if (!symfixture_can(fixture,
		"gcc -m32 -g -O0 -fno-pie -no-pie -nostdlib -o narrow tiny.c"))
		skip();
	check_functions(fixture, "narrow", "");
	check_lines(fixture, "narrow", 1, "addr2line");
}

/* ---- the vdso -------------------------------------------------------------------------------- */

/* The vDSO is in this process's memory; nm reads the expected names from a copy of it. */
static void test_vdso_is_parsed_from_memory(void **state)
{
	struct symfixture *fixture = *state;
	const char *vdso = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	g_autofree char *path = NULL, *text = NULL;
	struct parse *parse;
	g_autoptr(GArray) symbols = NULL;
	const struct symfixture_symbol *first;
	struct parse_info info;
	Elf64_Ehdr head;

	if (!vdso)
		skip();
	path = symfixture_path(fixture, "vdso");
	parse = parse_create();
	memcpy(&head, vdso, sizeof(head));
	assert_true(g_file_set_contents(path, vdso,
		(gssize)(head.e_shoff + (size_t)head.e_shnum * head.e_shentsize), NULL));
	symbols = symfixture_nm(fixture, "vdso", "-D --without-symbol-versions");
	assert_true(symbols->len > 0);
	first = &g_array_index(symbols, struct symfixture_symbol, 0);
	assert_int_equal(parse_vdso(parse, &info), 0);
	assert_int_equal(parse_resolve(parse, &first->address, 1, 0, take_text, &text), 0);
	assert_non_null(text);
	text[strcspn(text, " ")] = '\0';
	assert_true(agrees(symbols, first->address, text, first->address));
	parse_destroy(parse);
}

/* ---- */

static int set_up(void **state)
{
	struct symfixture *fixture = g_new0(struct symfixture, 1);

	symfixture_init(fixture);
	*state = fixture;
	symfixture_write(fixture, "program.c", program_c);
	symfixture_write(fixture, "program.cpp", program_cpp);
	return !(symfixture_run(fixture, NULL, "gcc -g -O2 -Wl,--build-id -o plain program.c") &&
		symfixture_run(fixture, NULL, "gcc -g -O2 -gdwarf-4 -Wl,--build-id=0x0123456789abcdef "
			"-o dwarf4 program.c") &&
		symfixture_run(fixture, NULL, "gcc -g -O2 -gz -o compressed program.c") &&
		symfixture_run(fixture, NULL, "objcopy -R .debug_aranges plain no_aranges") &&
		symfixture_run(fixture, NULL, "gcc -g -O2 -ffunction-sections -o sections program.c") &&
		symfixture_run(fixture, NULL, "gcc -g -O2 -fno-pie -no-pie -o no_pie program.c") &&
		symfixture_run(fixture, NULL, "gcc -g -O2 -rdynamic -o dynamic program.c") &&
		symfixture_run(fixture, NULL, "g++ -g -O2 -o cpp program.cpp"));
}

static int tear_down(void **state)
{
	symfixture_fini(*state);
	g_free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_match_those_of_nm),
		cmocka_unit_test(test_stripped_file_uses_the_dynamic_table),
		cmocka_unit_test(test_offsets_outside_of_functions_have_no_name),
		cmocka_unit_test(test_plt_stubs_have_names),
		cmocka_unit_test(test_plt_stubs_of_aarch64_have_names),
		cmocka_unit_test(test_names_of_plt_stubs_are_demangled),
		cmocka_unit_test(test_lines_match_those_of_addr2line),
		cmocka_unit_test(test_files_of_clang_are_parsed),
		cmocka_unit_test(test_lines_are_given_on_request_only),
		cmocka_unit_test(test_debug_file_is_used),
		cmocka_unit_test(test_file_shared_by_dwz_is_used),
		cmocka_unit_test(test_files_that_are_not_elf_are_refused),
		cmocka_unit_test(test_file_of_32_bits_is_parsed),
		cmocka_unit_test(test_vdso_is_parsed_from_memory),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

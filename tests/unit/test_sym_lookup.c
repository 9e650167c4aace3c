/* SPDX-License-Identifier: MIT */
/*
 * symbolizerd/addr_match and symbolizerd/textsyms: each address gets the symbol that was chosen by
 * hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib.h>

#include "symbolizer/symbols_arena.h"
#include "symbolizerd/addr_match.h"
#include "symbolizerd/jitdump.h"
#include "symbolizerd/textsyms.h"

static const struct addr_match_symbol symbols[] = {
	{0x5010, 0x10, 0, "inner", 0, false, false},
	{0x3000, 0x100, 0, "weaker", 1, false, false},
	{0x6000, 0, UINT64_MAX, "last", 0, false, false},
	{0x1000, 0x10, 0, "sized", 0, false, false},
	{0x4000, 0x10, 0, "__open", 0, false, false},
	{0x4000, 0x10, 0, "open", 0, false, false},
	{0x4000, 0x10, 0, "zopen", 0, false, false},
	{0x2000, 0, 0x2800, "label", 0, false, false},
	{0x3000, 0, 0x3100, "alias", 0, false, false},
	{0x5000, 0x100, 0, "outer", 0, false, false},
	{0x7000, 0x10, 0, "other", 0, true, false},
	{0x8000, 0, UINT64_MAX, "barrier", 0, true, false},
};

struct row {
	int line;
	uint64_t address;
	const char *name; /* NULL if there is none */
};

static const struct row rows[] = {
	{__LINE__, 0, NULL}, {__LINE__, 0xfff, NULL}, {__LINE__, 0x1000, "sized"},
	{__LINE__, 0x100f, "sized"}, {__LINE__, 0x1010, NULL},    /* a gap */
	{__LINE__, 0x2000, "label"}, {__LINE__, 0x27ff, "label"}, /* no size: up to its limit */
	{__LINE__, 0x2800, NULL}, {__LINE__, 0x3000, "alias"}, /* of equals the one of lower rank */
	{__LINE__, 0x30ff, "alias"},                           /* with the size of its twin */
	{__LINE__, 0x3100, NULL}, {__LINE__, 0x4000, "open"}, {__LINE__, 0x500f, "outer"},
	{__LINE__, 0x5010, "inner"},
	{__LINE__, 0x5020, "outer"}, /* behind a function inside of it */
	{__LINE__, 0x50ff, "outer"}, {__LINE__, 0x5100, NULL}, {__LINE__, 0x6000, "last"},
	{__LINE__, 0x6fff, "last"}, {__LINE__, 0x7000, NULL}, /* a foreign one */
	{__LINE__, 0x8000, NULL},                             /* and one without a size */
	{__LINE__, UINT64_MAX, NULL},                         /* not "last" again */
};

/* The results depend neither on the order of the symbols nor on the other requested addresses. */
static void check_rows(const size_t *which, size_t count, bool backwards)
{
	g_autofree uint64_t *addresses = g_new(uint64_t, count);
	struct addr_match *lookup;
	size_t i;

	for (i = 0; i < count; i++)
		addresses[i] = rows[which[i]].address;
	lookup = addr_match_create(addresses, count);
	for (i = 0; i < G_N_ELEMENTS(symbols); i++)
		addr_match_offer(lookup, &symbols[backwards ? G_N_ELEMENTS(symbols) - 1 - i : i]);
	addr_match_finish(lookup);
	for (i = 0; i < count; i++) {
		const struct addr_match_symbol *found = addr_match_find(lookup, i);
		const struct row *row = &rows[which[i]];

		if (g_strcmp0(found ? found->name : NULL, row->name) != 0)
			fail_msg("row of line %d: %s", row->line, found ? found->name : "-");
	}
	addr_match_destroy(lookup);
}

static void test_addresses_are_matched_to_symbols(void **state)
{
	size_t which[G_N_ELEMENTS(rows)], i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		check_rows(&i, 1, false);
		which[i] = i;
	}
	check_rows(which, G_N_ELEMENTS(rows), false);
	check_rows(which, G_N_ELEMENTS(rows), true);
}

/* The start of an alias without a size has the size of its twin. */
static void test_alias_without_size_takes_that_of_its_twin(void **state)
{
	uint64_t address = 0x3050;
	struct addr_match *lookup = addr_match_create(&address, 1);

	(void)state;
	addr_match_offer(lookup, &symbols[1]);
	addr_match_offer(lookup, &symbols[8]);
	addr_match_finish(lookup);
	assert_int_equal(addr_match_find(lookup, 0)->start, 0x3000);
	assert_int_equal(addr_match_find(lookup, 0)->size, 0x100);
	addr_match_destroy(lookup);
}

/* A table that covers everything many times over takes more time, but not quadratic time. */
static void test_overlapping_symbols_take_no_squared_time(void **state)
{
	const size_t count = 100000;
	g_autofree uint64_t *addresses = g_new(uint64_t, count);
	struct addr_match_symbol symbol = {0, UINT64_MAX, 0, "all", 0, false};
	struct addr_match *lookup;
	size_t i;

	(void)state;
	for (i = 0; i < count; i++)
		addresses[i] = i * 16;
	lookup = addr_match_create(addresses, count);
	/* without a limit 10^10 visits: minutes */
	for (i = 0; i < count; i++)
		addr_match_offer(lookup, &symbol);
	addr_match_finish(lookup);
	assert_string_equal(addr_match_find(lookup, count - 1)->name, "all");
	addr_match_destroy(lookup);
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
			       "ffffffff81000000 T _text\n"
			       "ffffffff81000000 t local\n"
			       "ffffffff81000100 T _stext\n"
			       "ffffffff81000200 T do_one\n"
			       "ffffffff81000300 D some_data\n"
			       "ffffffff81000400 W weak_one\n"
			       "ffffffff81000500 T _etext\n"
			       "ffffffffc0000000 t ext4_read\t[ext4]\n"
			       "ffffffffc0001000 t xfs_read\t[xfs]\n"
			       "garbage\n"
			       "\n"
			       "ffffffffc0002000\n"
			       "fffffffffffffffffff T too_long\n"
			       "ffffffffc0003000 T no_newline\t[xfs]";

#define KERNEL "[kernel.kallsyms]"
#define TEXT 0xffffffff81000000

struct kernel_row {
	int line;
	const char *path;
	uint64_t text, start, end; /* the question's */
	uint64_t address;
	bool same;
	const char *name;
};

static const struct kernel_row kernel_rows[] = {
	{ __LINE__, KERNEL, TEXT, 0, 0, TEXT, true, "_text" },
	{ __LINE__, KERNEL, TEXT, 0, 0, TEXT + 0x250, true, "do_one" },
	{ __LINE__, KERNEL, TEXT, 0, 0, TEXT + 0x350, true, "do_one" }, /* no data */
	{ __LINE__, KERNEL, TEXT, 0, 0, TEXT + 0x450, true, "weak_one" },
	{ __LINE__, KERNEL, TEXT + 0x100, 0, 0, TEXT + 0x250, true, "do_one" },
	{ __LINE__, KERNEL, TEXT, 0, 0, TEXT - 1, true, NULL },
	{ __LINE__, KERNEL, TEXT, 0, 0, 0xffffffffc0000010, true, NULL }, /* a module's */
	{ __LINE__, "[ext4]", TEXT, 0, 0, 0xffffffffc0000010, true, "ext4_read" },
	{ __LINE__, "[xfs]", TEXT, 0, 0, 0xffffffffc0003010, true, "no_newline" },
	{ __LINE__, "[xfs]", TEXT, 0, 0, 0xffffffffc0000010, true, NULL },
	{ __LINE__, "[ext]", TEXT, 0, 0, 0xffffffffc0000010, true, NULL },
	{ __LINE__, "[ext4]", TEXT, 0, 0, TEXT + 0x250, true, NULL },
	/* where the module was is not where it is */
	{ __LINE__, "[ext4]", TEXT, 0xffffffffc0000000, 0xffffffffc0000800, 0xffffffffc0000010,
		true, "ext4_read" },
	{ __LINE__, "[ext4]", TEXT, 0xffffffffb0000000, 0xffffffffb0000800, 0xffffffffc0000010,
		true, NULL },
	/* another boot; one that is not known */
	{ __LINE__, KERNEL, TEXT + 0x200, 0, 0, TEXT + 0x250, false, NULL },
	{ __LINE__, KERNEL, 0, 0, 0, TEXT + 0x250, false, NULL },
};

static void check_kernel(const struct kernel_row *row, const char *text, bool same,
	const char *name)
{
	struct textsyms_kernel kernel = { row->path, row->text, row->start, row->end };
	struct addr_match *lookup = addr_match_create(&row->address, 1);
	g_autofree char *copy = g_strdup(text);
	const struct addr_match_symbol *found;

	if (textsyms_offer_kernel(copy, &kernel, lookup) != same)
		fail_msg("row of line %d: the wrong kernel", row->line);
	addr_match_finish(lookup);
	found = same ? addr_match_find(lookup, 0) : NULL;
	if (g_strcmp0(found ? found->name : NULL, name) != 0)
		fail_msg("row of line %d: %s", row->line, found ? found->name : "-");
	addr_match_destroy(lookup);
}

/*
 * Addresses with several names. perf 6.1 takes the last one of kallsyms; a comment has the reason
 * of each difference.
 */
static const char aliases[] = "ffffffff81000000 T _text\n"
			      "ffffffff81000100 t __do_sys_fork\n"
			      "ffffffff81000100 T __ia32_sys_fork\n"
			      "ffffffff81000100 T __x64_sys_fork\n"
			      "ffffffff81000200 T __x64_sys_sync\n"
			      "ffffffff81000200 T __ia32_sys_sync\n"
			      "ffffffff81000300 T memmove\n"
			      "ffffffff81000300 T __memmove\n"
			      "ffffffff81000400 T memcpy\n"
			      "ffffffff81000400 T __memcpy\n"
			      "ffffffff81000400 T __pi_memcpy\n"
			      "ffffffff81000500 T clkdev_hw_create\n"
			      "ffffffff81000500 t __clk_register_clkdev\n"
			      "ffffffff81000600 t hash_ip4_destroy\n"
			      "ffffffff81000600 t hash_ip6_destroy\n"
			      "ffffffff81000700 t show_not_affected\n"
			      "ffffffff81000700 W show_ghostwrite\n"
			      "ffffffff81000800 T __pi_only\n"
			      "ffffffff81000900 t local\n"
			      "ffffffff81000900 T __pi_local\n"
			      "ffffffff81000a00 T __pfx_memset\n"
			      "ffffffff81000a00 T __pfx___pi_memset\n"
			      "ffffffff81000b00 T __pfx___x64_sys_fork\n"
			      "ffffffff81000b00 T __pfx___ia32_sys_fork\n"
			      "ffffffff81000c00 T __ia32_sys_pause\n"
			      "ffffffff81000c00 t __do_sys_pause\n"
			      "ffffffff81000d00 T next\n";

static const struct row alias_rows[] = {
	{__LINE__, TEXT + 0x100, "__x64_sys_fork"},
	{__LINE__, TEXT + 0x110, "__x64_sys_fork"},
	{__LINE__, TEXT + 0x200, "__x64_sys_sync"}, /* never __ia32_ where there is __x64_ */
	{__LINE__, TEXT + 0x300, "__memmove"},
	{__LINE__, TEXT + 0x400, "__memcpy"},         /* not __pi_ */
	{__LINE__, TEXT + 0x500, "clkdev_hw_create"}, /* global before local */
	{__LINE__, TEXT + 0x600, "hash_ip6_destroy"},
	{__LINE__, TEXT + 0x700, "show_ghostwrite"},
	{__LINE__, TEXT + 0x800, "__pi_only"}, /* there is no other */
	{__LINE__, TEXT + 0x900, "local"},     /* not __pi_, global or not */
	{__LINE__, TEXT + 0xa00, "__pfx_memset"},
	{__LINE__, TEXT + 0xb00, "__pfx___x64_sys_fork"},
	{__LINE__, TEXT + 0xc00, "__ia32_sys_pause"}, /* global before local */
	{__LINE__, TEXT + 0xd00, "next"},
};

static void test_last_alias_in_kallsyms_is_taken(void **state)
{
	struct kernel_row row = { .path = KERNEL, .text = TEXT, .same = true };
	size_t i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(alias_rows); i++) {
		row.line = alias_rows[i].line;
		row.address = alias_rows[i].address;
		check_kernel(&row, aliases, true, alias_rows[i].name);
	}
}

static void test_kernel_addresses_are_matched(void **state)
{
	/* processes without the right to addresses read zeros */
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 T do_one\n";
	size_t i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(kernel_rows); i++)
		check_kernel(&kernel_rows[i], kallsyms, kernel_rows[i].same, kernel_rows[i].name);
	check_kernel(&kernel_rows[1], hidden, false, NULL);
}

static const char jit[] = "7f0000001000 100 first\n"
			  "0x7f0000002000 0x10 LazyCompile:~run /a b.js:1:1\n"
			  "7f0000001080 10 moved here\n"
			  "7f0000003000 0 empty\n"
			  "nonsense\n"
			  "7f0000004000 10\n"
			  "7f0000005000 10 \n"
			  "7f0000006000 10 last";

static const struct row jit_rows[] = {
	{__LINE__, 0x7f0000001000, "first"},
	{__LINE__, 0x7f000000107f, "first"},
	{__LINE__, 0x7f0000001080, "moved here"},
	{__LINE__, 0x7f0000001090, "first"},
	{__LINE__, 0x7f0000001100, NULL},
	{__LINE__, 0x7f0000002008, "LazyCompile:~run /a b.js:1:1"},
	{__LINE__, 0x7f0000003000, NULL},
	{__LINE__, 0x7f0000004000, NULL},
	{__LINE__, 0x7f0000005000, NULL},
	{__LINE__, 0x7f000000600f, "last"},
};

static void check_jit(const char *text, const struct row *row, const char *name)
{
	struct addr_match *lookup = addr_match_create(&row->address, 1);
	g_autofree char *copy = g_strdup(text);
	const struct addr_match_symbol *found;

	textsyms_offer_jit(copy, lookup);
	addr_match_finish(lookup);
	found = addr_match_find(lookup, 0);
	if (g_strcmp0(found ? found->name : NULL, name) != 0)
		fail_msg("row of line %d: %s", row->line, found ? found->name : "-");
	addr_match_destroy(lookup);
}

static void test_jit_maps_are_matched(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(jit_rows); i++)
		check_jit(jit, &jit_rows[i], jit_rows[i].name);
	/* a new function around an old one: the later line counts, at any start */
	check_jit("7f0000001080 10 old\n7f0000001000 100 new\n", &jit_rows[2], "new");
}

/* ---- jitdump --------------------------------------------------------------------------------- */

/* A record of these 32-bit values, then bytes; total_size is set. */
static void dump_record(GByteArray *dump, uint32_t id, const uint64_t *words, size_t count,
	const void *tail, size_t size)
{
	uint32_t head[4] = {id, (uint32_t)(16 + 8 * count + size), 0, 0};

	g_byte_array_append(dump, (const guint8 *)head, sizeof(head));
	g_byte_array_append(dump, (const guint8 *)words, (guint)(8 * count));
	g_byte_array_append(dump, tail, (guint)size);
}

static void dump_load(GByteArray *dump, uint64_t address, uint64_t size, uint64_t index,
	const char *name)
{
	/* pid and tid, vma, code_addr, code_size, code_index; then the name and the code */
	const uint64_t words[] = {0x100000001, 0, address, size, index};
	g_autofree char *tail = g_strdup_printf("%s.code", name);
	size_t bytes = strlen(tail);

	tail[strlen(name)] = '\0';
	dump_record(dump, 0, words, 5, tail, bytes);
}

static void dump_move(GByteArray *dump, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	const uint64_t words[] = {0x100000001, 0, from, to, size, index};

	dump_record(dump, 1, words, 6, "", 0);
}

static GByteArray *dump_new(uint32_t magic, uint32_t head_bytes)
{
	const uint32_t head[10] = {magic, 1, head_bytes, 62, 0, 1};
	GByteArray *dump = g_byte_array_new();

	g_byte_array_append(dump, (const guint8 *)head, sizeof(head));
	return dump;
}

/* Frees the dump. */
static void check_dump(int line, GByteArray *dump, const char *expected)
{
	int fd = memfd_create("dump", 0);
	g_autofree char *map = NULL;

	assert_int_equal(write(fd, dump->data, dump->len), dump->len);
	map = jitdump_read(fd);
	if (g_strcmp0(map, expected) != 0)
		fail_msg("line %d: '%s'", line, map ? map : "-");
	close(fd);
	g_byte_array_unref(dump);
}

static void test_jitdumps_are_read(void **state)
{
	static const uint64_t debug[] = {0x1000, 0};
	const uint32_t zero[4] = {0}, longer[4] = {0, 1 << 20, 0, 0};
	GByteArray *dump = dump_new(0x4a695444, 40);
	g_autofree char *name = g_strnfill(5000, 'n'), *cut = NULL;

	(void)state;
	dump_record(dump, 2, debug, 2, "", 0);
	dump_load(dump, 0x7f0000001000, 0x100, 1, "first one");
	dump_load(dump, 0x7f0000002000, 0x20, 2, "a\nb");
	dump_load(dump, 0x7f0000003000, 0, 3, "empty");
	dump_load(dump, 0x7f0000003000, 8, 4, "");
	dump_record(dump, 4, debug, 2, "xyz", 3);
	dump_move(dump, 0x7f0000001000, 0x7f0000004000, 0x100, 1);
	dump_move(dump, 0x7f0000001000, 0x7f0000005000, 0x100, 77);
	dump_record(dump, 3, NULL, 0, "", 0);
	dump_load(dump, 0x1, 1, 5, "behind the close");
	g_byte_array_append(dump, (const guint8 *)zero, sizeof(zero));
	dump_load(dump, 0x2, 1, 6, "behind a bad record");
	check_dump(__LINE__, dump,
		"7f0000001000 100 first one\n7f0000002000 20 a?b\n7f0000004000 100 first one\n"
		"1 1 behind the close\n");

	/* a record that is cut, names that are too long, and what is no dump of this machine */
	dump = dump_new(0x4a695444, 40);
	dump_load(dump, 0x10, 1, 1, "whole");
	g_byte_array_append(dump, (const guint8 *)longer, sizeof(longer));
	check_dump(__LINE__, dump, "10 1 whole\n");
	dump = dump_new(0x4a695444, 40);
	dump_load(dump, 0x10, 1, 1, name);
	cut = g_strdup_printf("10 1 %.*s\n", SYMBOLS_TEXT_MAX, name);
	check_dump(__LINE__, dump, cut);
	dump = dump_new(0x4454694a, 40);
	dump_load(dump, 0x10, 1, 1, "swapped");
	check_dump(__LINE__, dump, NULL);
	dump = dump_new(0x4a695444, 39);
	dump_load(dump, 0x10, 1, 1, "short head");
	check_dump(__LINE__, dump, NULL);
	dump = dump_new(0x4a695444, 48);
	g_byte_array_append(dump, (const guint8 *)zero, 8);
	dump_load(dump, 0x10, 1, 1, "long head");
	check_dump(__LINE__, dump, "10 1 long head\n");
	check_dump(__LINE__, dump_new(0x4a695444, 40), NULL);
	check_dump(__LINE__, g_byte_array_new(), NULL);
}

static void test_growing_text_is_read_whole(void **state)
{
	int fd = memfd_create("text", 0);
	size_t size = 300 * 1024, got = 0;
	g_autofree char *text = g_malloc(size), *read_back = NULL;

	(void)state;
	assert_null(textsyms_read(fd, &got));
	memset(text, 'x', size);
	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	read_back = textsyms_read(fd, &got);
	assert_int_equal(got, size);
	assert_memory_equal(read_back, text, size);
	assert_int_equal(read_back[size], 0);
	close(fd);
	assert_null(textsyms_read(-1, &got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_are_matched_to_symbols),
		cmocka_unit_test(test_alias_without_size_takes_that_of_its_twin),
		cmocka_unit_test(test_overlapping_symbols_take_no_squared_time),
		cmocka_unit_test(test_kernel_addresses_are_matched),
		cmocka_unit_test(test_last_alias_in_kallsyms_is_taken),
		cmocka_unit_test(test_jit_maps_are_matched),
		cmocka_unit_test(test_jitdumps_are_read),
		cmocka_unit_test(test_growing_text_is_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

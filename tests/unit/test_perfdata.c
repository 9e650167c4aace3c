/* SPDX-License-Identifier: MIT */
/*
 * formats/perfdata/perfdata: the files are read again here, by numbers out of Linux's description
 * of the format, and each event is compared as a line of text with what was worked out by hand.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fixtures/gen.h"
#include "tests/fixtures/viewing.h"
#include "formats/perfdata/perfdata.h"

#define KERNEL 0xffffffff81000000ull
#define SAMPLE_TYPE 0x101a7ull /* identifier, period, cpu, callchain, time, tid, ip */

/*
 * ---- a reader of perf.data --------------------------------------------------------------------
 */

struct file {
	uint8_t *data;
	size_t size;
	uint64_t attrs, attr_size, attrs_size, events, events_size;
	uint64_t sample_type; /* of the first event */
};

static uint64_t word(const struct file *f, uint64_t at, unsigned int width)
{
	uint64_t value = 0;

	assert_true(at <= f->size && width <= f->size - at);
	memcpy(&value, f->data + at, width); /* little-endian, as this machine */
	return value;
}

static void open_file(struct file *f, uint8_t *data, size_t size)
{
	f->data = data;
	f->size = size;
	assert_memory_equal(data, "PERFILE2", 8);
	assert_int_equal(word(f, 8, 8), 104);
	f->attr_size = word(f, 16, 8);
	f->attrs = word(f, 24, 8);
	f->attrs_size = word(f, 32, 8);
	f->events = word(f, 40, 8);
	f->events_size = word(f, 48, 8);
	assert_int_equal(f->attrs_size % f->attr_size, 0);
	assert_true(f->events <= size && f->events_size <= size - f->events);
	f->sample_type = word(f, f->attrs + 24, 8);
}

/* A feature section: its offset, 0 where there is none. */
static uint64_t feature(const struct file *f, unsigned int number, uint64_t *size)
{
	uint64_t table = f->events + f->events_size;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		if (!(word(f, 72, 8) >> bit & 1))
			continue;
		*size = word(f, table + 8, 8);
		assert_true(word(f, table, 8) + *size <= f->size);
		if (bit == number)
			return word(f, table, 8);
		table += 16;
	}
	return 0;
}

static void add_id(GString *line, const struct file *f, uint64_t end)
{
	uint64_t at = end - 32;

	g_string_append_printf(line, " [%d/%d t=%" G_GUINT64_FORMAT " cpu=%u id=%u]",
		(int)word(f, at, 4), (int)word(f, at + 4, 4), word(f, at + 8, 8),
		(unsigned int)word(f, at + 16, 4), (unsigned int)word(f, at + 24, 8));
}

static void add_sample(GString *line, const struct file *f, uint64_t at)
{
	uint64_t i;

	g_string_append_printf(line,
		"sample id=%u ip=%#" G_GINT64_MODIFIER "x %d/%d t=%" G_GUINT64_FORMAT
		" cpu=%u period=%" G_GUINT64_FORMAT,
		(unsigned int)word(f, at + 8, 8), word(f, at + 16, 8), (int)word(f, at + 24, 4),
		(int)word(f, at + 28, 4), word(f, at + 32, 8), (unsigned int)word(f, at + 40, 4),
		word(f, at + 48, 8));
	if (!(f->sample_type & 0x20))
		return;
	for (i = 0; i < word(f, at + 56, 8); i++)
		g_string_append_printf(line, " %" G_GINT64_MODIFIER "x",
			word(f, at + 64 + 8 * i, 8));
	assert_int_equal(word(f, at + 6, 2), 64 + 8 * word(f, at + 56, 8));
}

static const char *text_at(const struct file *f, uint64_t at, uint64_t end)
{
	assert_non_null(memchr(f->data + at, '\0', end - at));
	return (const char *)f->data + at;
}

static void add_event(GString *line, const struct file *f, uint64_t at)
{
	uint64_t end = at + word(f, at + 6, 2);
	unsigned int misc = (unsigned int)word(f, at + 4, 2), i;

	switch (word(f, at, 4)) {
	case 1:
		g_string_append_printf(line, "mmap misc=%x %d/%d %#" G_GINT64_MODIFIER
			"x+%#" G_GINT64_MODIFIER "x@%#" G_GINT64_MODIFIER "x %s", misc,
			(int)word(f, at + 8, 4), (int)word(f, at + 12, 4), word(f, at + 16, 8),
			word(f, at + 24, 8), word(f, at + 32, 8), text_at(f, at + 40, end - 32));
		add_id(line, f, end);
		break;
	case 2:
		g_string_append_printf(line, "lost id=%u n=%u", (unsigned int)word(f, at + 8, 8),
			(unsigned int)word(f, at + 16, 8));
		add_id(line, f, end);
		break;
	case 3:
		g_string_append_printf(line, "comm misc=%x %d/%d %s", misc,
			(int)word(f, at + 8, 4), (int)word(f, at + 12, 4),
			text_at(f, at + 16, end - 32));
		add_id(line, f, end);
		break;
	case 4:
	case 7:
		g_string_append_printf(line, "%s %d/%d of %d/%d t=%u",
			word(f, at, 4) == 4 ? "exit" : "fork", (int)word(f, at + 8, 4),
			(int)word(f, at + 16, 4), (int)word(f, at + 12, 4),
			(int)word(f, at + 20, 4), (unsigned int)word(f, at + 24, 8));
		add_id(line, f, end);
		break;
	case 5:
	case 6:
		g_string_append_printf(line, "%sthrottle t=%u id=%u",
			word(f, at, 4) == 5 ? "" : "un", (unsigned int)word(f, at + 8, 8),
			(unsigned int)word(f, at + 16, 8));
		add_id(line, f, end);
		break;
	case 9:
		g_string_append_printf(line, "%c ", misc == 1 ? 'k' : misc == 2 ? 'u' : '?');
		add_sample(line, f, at);
		break;
	case 10:
		g_string_append_printf(line, "mmap2 misc=%x %d/%d %#" G_GINT64_MODIFIER
			"x+%#" G_GINT64_MODIFIER "x@%#" G_GINT64_MODIFIER "x prot=%u %s", misc,
			(int)word(f, at + 8, 4), (int)word(f, at + 12, 4), word(f, at + 16, 8),
			word(f, at + 24, 8), word(f, at + 32, 8), (unsigned int)word(f, at + 64, 4),
			text_at(f, at + 72, end - 32));
		for (i = 0; i < (misc & 0x4000 ? f->data[at + 40] : 0); i++)
			g_string_append_printf(line, "%s%02x", i ? "" : " ", f->data[at + 44 + i]);
		add_id(line, f, end);
		break;
	case 13:
		g_string_append_printf(line, "lost_samples n=%u",
			(unsigned int)word(f, at + 8, 8));
		add_id(line, f, end);
		break;
	case 68:
		g_string_append(line, "round");
		break;
	default:
		fail_msg("an event of type %u", (unsigned int)word(f, at, 4));
	}
	g_string_append_c(line, '\n');
}

static GString *list_events(const struct file *f)
{
	GString *lines = g_string_new(NULL);
	uint64_t at = f->events, size;

	while (at < f->events + f->events_size) {
		size = word(f, at + 6, 2);
		assert_true(size >= 8 && size % 8 == 0);
		assert_true(size <= f->events + f->events_size - at);
		add_event(lines, f, at);
		at += size;
	}
	return lines;
}

/*
 * ---- writing ----------------------------------------------------------------------------------
 */

static void write_file(const struct gen *gen, struct file *f)
{
	struct viewing viewing;
	uint8_t *data;
	size_t size;
	struct err err;

	viewing_init(&viewing, gen->bytes->data, gen->bytes->len);
	assert_int_equal(viewing_write(&viewing, "perf.data", &data, &size, &err), 0);
	viewing_fini(&viewing);
	open_file(f, data, size);
}

static void check_events(const struct gen *gen, const char *expected)
{
	struct file f;
	GString *lines;

	write_file(gen, &f);
	lines = list_events(&f);
	assert_string_equal(lines->str, expected);
	g_string_free(lines, TRUE);
	free(f.data);
}

/* What the view returns for a capture. */
static int write_bounded(const struct gen *gen, bool (*cancelled)(void *arg), size_t bytes_max)
{
	struct viewing viewing;
	struct err err;
	uint8_t *data;
	size_t size;
	int ret;

	viewing_init(&viewing, gen->bytes->data, gen->bytes->len);
	viewing.input.cancel.cancelled = cancelled;
	viewing.input.bytes_max = bytes_max;
	ret = viewing_write(&viewing, "perf.data", &data, &size, &err);
	assert_int_equal(ret == 0, err.text[0] == '\0');
	viewing_fini(&viewing);
	free(data);
	return ret;
}

static int write_status(const struct gen *gen, bool (*cancelled)(void *arg))
{
	return write_bounded(gen, cancelled, 0);
}

/*
 * ---- tests ------------------------------------------------------------------------------------
 */

static void make_all(struct gen *gen)
{
	uint64_t both[] = { KERNEL + 0x110, KERNEL + 0x20, GEN_USER, 0x1310, 0x1111 };
	uint64_t user[] = { 0x1320, 0x1011 };
	uint64_t marked[] = { GEN_USER, 0x1330 };

	gen_clock(gen, 500, 1700000000000000500);
	gen_event(gen, 1, 999, 1, "cycles:freq=999");
	gen_event(gen, 2, 7, 0, "page-faults:period=7");
	gen_kernel_mmap(gen, 0, KERNEL, 0x1000000, "[kernel.kallsyms]");
	gen_build_id(gen, 0, GEN_IDLE, KERNEL, "kernel-build-id-0123", 20);
	gen_kernel_mmap(gen, 0, 0xffffffffc0000000, 0x5000, "[fuse]");
	gen_fork(gen, 50, 10, 10, 1, 1);
	gen_comm(gen, 60, 10, 10, "prog");
	gen_new_process(gen, 60, 10, "/bin/prog");
	gen_mmap(gen, 70, 10, 0x1000, 0x1000, 0x3000, "/bin/a");
	gen_build_id(gen, 70, 10, 0x1000, "\x01\x02\xfe", 3);
	gen_mmap(gen, 71, 10, 0x9000, 0x1000, 0, "/bin/longer-name");
	gen_fork(gen, 80, 10, 11, 10, 10);
	gen_period(gen, 0, 1, 1001001);
	gen_trace(gen, 1, 1, 100, 10, 0, 5, both);
	gen_task(gen, 0, 10, 11);
	gen_trace(gen, 2, 1, 110, 10, 0, 2, user);
	gen_trace(gen, 1, 2, 120, 10, 3, 2, marked);
	gen_trace(gen, 1, 1, 130, GEN_IDLE, 0, 1, both);
	gen_trace(gen, 1, 1, 140, 0xfffffffe, 0, 1, both + 1);
	gen_trace(gen, 2, 2, 150, 10, 3, 0, NULL);
	gen_lost(gen, 3, 2, 1, 41);
	gen_lost(gen, 0, 1, 5, 42);
	gen_throttle(gen, 160, 0, 1, 1);
	gen_throttle(gen, 170, 0, 1, 0);
	gen_exit(gen, 180, 10, 11, 10, 10);
}

#define ALL_EVENTS                                                                               \
	/* nobody has said what the gone task is called */                                       \
	"comm misc=2 -1/-1 [gone] [-1/-1 t=99 cpu=0 id=0]\n"                                     \
	"mmap misc=1 -1/0 0xffffffff81000000+0x1000000@0xffffffff81000000 "                      \
	"[kernel.kallsyms]_stext [-1/0 t=0 cpu=0 id=0]\n"                                        \
	"mmap misc=1 -1/0 0xffffffffc0000000+0x5000@0 [fuse] [-1/0 t=0 cpu=0 id=0]\n"            \
	"fork 10/10 of 1/1 t=50 [1/1 t=50 cpu=0 id=0]\n"                                         \
	"comm misc=2 10/10 prog [10/10 t=60 cpu=0 id=0]\n"                                       \
	"mmap2 misc=4002 10/10 0x1000+0x1000@0x3000 prot=5 /bin/a 0102fe "                       \
	"[10/10 t=70 cpu=0 id=0]\n"                                                              \
	"mmap2 misc=2 10/10 0x9000+0x1000@0 prot=5 /bin/longer-name [10/10 t=71 cpu=0 id=0]\n"   \
	"fork 10/11 of 10/10 t=80 [10/10 t=80 cpu=0 id=0]\n"                                     \
	"k sample id=1 ip=0xffffffff81000110 10/10 t=100 cpu=0 period=1001001 ffffffffffffff80 " \
	"ffffffff81000110 ffffffff81000020 fffffffffffffe00 1310 1111\n"                         \
	"u sample id=1 ip=0x1320 10/11 t=110 cpu=0 period=1001001 fffffffffffffe00 1320 1011\n"  \
	/* no period was told for this CPU: that of the event */                                 \
	"u sample id=2 ip=0x1330 10/10 t=120 cpu=3 period=7 fffffffffffffe00 1330\n"             \
	"k sample id=1 ip=0xffffffff81000110 0/0 t=130 cpu=0 period=1001001 ffffffffffffff80 "   \
	"ffffffff81000110\n"                                                                     \
	"k sample id=1 ip=0xffffffff81000020 -1/-1 t=140 cpu=0 period=1001001 ffffffffffffff80 " \
	"ffffffff81000020\n"                                                                     \
	"u sample id=2 ip=0 10/10 t=150 cpu=3 period=7\n"                                        \
	"lost_samples n=41 [0/0 t=150 cpu=3 id=2]\n"                                             \
	"lost id=1 n=42 [0/0 t=150 cpu=0 id=1]\n"                                                \
	"throttle t=160 id=1 [0/0 t=160 cpu=0 id=1]\n"                                           \
	"unthrottle t=170 id=1 [0/0 t=170 cpu=0 id=1]\n"                                         \
	"exit 10/11 of 10/10 t=180 [10/11 t=180 cpu=0 id=0]\n"                                   \
	"round\n"

static void test_records_become_events_of_perf(void **state)
{
	struct gen gen;

	gen_init(&gen, false);
	make_all(&gen);
	check_events(&gen, ALL_EVENTS);
	gen_fini(&gen);
}

/* A capture of the time when the kernel's mappings were of type 3. */
static void test_old_kernel_mappings_become_events_of_perf(void **state)
{
	struct gen gen;

	gen_init(&gen, false);
	gen.before_75 = true;
	make_all(&gen);
	check_events(&gen, ALL_EVENTS);
	gen_fini(&gen);
}

/* What a machine of the other byte order wrote becomes a file of ours. */
static void test_other_byte_order_becomes_ours(void **state)
{
	struct gen gen;

	gen_init(&gen, true);
	make_all(&gen);
	check_events(&gen, ALL_EVENTS);
	gen_fini(&gen);
}

static void test_attributes_are_written(void **state)
{
	struct gen gen;
	struct file f;

	gen_init(&gen, false);
	make_all(&gen);
	write_file(&gen, &f);
	assert_int_equal(f.attr_size, 128);
	assert_int_equal(f.attrs_size / f.attr_size, 2);
	assert_int_equal(word(&f, f.attrs + 4, 4), 112);
	assert_int_equal(word(&f, f.attrs + 16, 8), 999);
	assert_int_equal(word(&f, f.attrs + 24, 8), SAMPLE_TYPE);
	/* mmap 8, comm 9, freq 10, task 13, sample_id_all 18, mmap2 23, use_clockid 25 */
	assert_int_equal(word(&f, f.attrs + 40, 8), 0x2842700);
	assert_int_equal(word(&f, f.attrs + 92, 4), 1); /* CLOCK_MONOTONIC */
	assert_int_equal(word(&f, f.attrs + 128 + 16, 8), 7);
	assert_int_equal(word(&f, f.attrs + 128 + 40, 8), 0x2842300); /* no freq */
	/* one id each */
	assert_int_equal(word(&f, f.attrs + 112 + 8, 8), 8);
	assert_int_equal(word(&f, word(&f, f.attrs + 112, 8), 8), 1);
	assert_int_equal(word(&f, word(&f, f.attrs + 128 + 112, 8), 8), 2);
	free(f.data);
	gen_fini(&gen);
}

/* Two events that differ in config1 alone, and what a capture says that knows no config1. */
static void check_configs(bool big_endian)
{
	uint64_t ip = 0x1010;
	struct gen gen;
	struct file f;

	gen_init(&gen, big_endian);
	gen_clock(&gen, 500, 1700000000000000500);
	gen_raw_event(&gen, 1, 0x1c6, 0x11, 0x8000000000000022, "one");
	gen_raw_event(&gen, 2, 0x1c6, 0x12, 0, "two");
	gen_event(&gen, 3, 999, 1, "three");
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	write_file(&gen, &f);
	assert_int_equal(f.attrs_size / f.attr_size, 3);
	assert_int_equal(word(&f, f.attrs, 4), 4);
	assert_int_equal(word(&f, f.attrs + 8, 8), 0x1c6);
	assert_int_equal(word(&f, f.attrs + 56, 8), 0x11);
	assert_int_equal(word(&f, f.attrs + 64, 8), 0x8000000000000022);
	assert_int_equal(word(&f, f.attrs + 128 + 8, 8), 0x1c6);
	assert_int_equal(word(&f, f.attrs + 128 + 56, 8), 0x12);
	assert_int_equal(word(&f, f.attrs + 128 + 64, 8), 0);
	assert_int_equal(word(&f, f.attrs + 2 * 128 + 56, 8), 0);
	assert_int_equal(word(&f, f.attrs + 2 * 128 + 64, 8), 0);
	free(f.data);
	gen_fini(&gen);
}

static void test_configs_are_written(void **state)
{
	check_configs(false);
	check_configs(true);
}

static void test_features_are_written(void **state)
{
	uint64_t at, size;
	struct gen gen;
	struct file f;

	gen_init(&gen, false);
	make_all(&gen);
	write_file(&gen, &f);
	/* event names: so many, their size, then attribute, ids, name, id of each */
	at = feature(&f, 12, &size);
	assert_int_not_equal(at, 0);
	assert_int_equal(word(&f, at, 4), 2);
	assert_int_equal(word(&f, at + 4, 4), 112);
	assert_int_equal(word(&f, at + 8 + 112, 4), 1);
	assert_int_equal(word(&f, at + 8 + 116, 4), 64);
	assert_string_equal(text_at(&f, at + 8 + 120, at + size), "cycles:freq=999");
	assert_int_equal(word(&f, at + 8 + 184, 8), 1);
	assert_string_equal(text_at(&f, at + 8 + 192 + 120, at + size), "page-faults:period=7");
	assert_int_equal(size, 8 + 2 * 192);
	/* build-ids: of the kernel and of /bin/a */
	at = feature(&f, 2, &size);
	assert_int_equal(size, 2 * (36 + 64));
	assert_int_equal(word(&f, at + 4, 2), 0x8001);
	assert_int_equal(word(&f, at + 6, 2), 100);
	assert_memory_equal(f.data + at + 12, "kernel-build-id-0123", 20);
	assert_int_equal(f.data[at + 32], 20);
	assert_string_equal(text_at(&f, at + 36, at + 100), "[kernel.kallsyms]");
	assert_int_equal(word(&f, at + 104, 2), 0x8002);
	assert_int_equal(f.data[at + 132], 3);
	assert_string_equal(text_at(&f, at + 136, at + 200), "/bin/a");
	/* first and last sample; the clock and the wall clock */
	at = feature(&f, 21, &size);
	assert_int_equal(word(&f, at, 8), 100);
	assert_int_equal(word(&f, at + 8, 8), 150);
	at = feature(&f, 29, &size);
	assert_int_equal(word(&f, at + 4, 4), 1);
	assert_int_equal(word(&f, at + 8, 8), 1700000000000000500);
	assert_int_equal(word(&f, at + 16, 8), 500);
	/* of the machine nothing is said: the capture is of another one */
	assert_int_equal(feature(&f, 3, &size), 0);
	assert_int_equal(feature(&f, 4, &size), 0);
	assert_int_equal(feature(&f, 7, &size), 0);
	free(f.data);
	gen_fini(&gen);
}

/* Each file with a build-id once; one whose build-id is another is another file. */
static void test_each_build_id_is_written_once(void **state)
{
	static const char *const paths[] = { "/bin/a", "/bin/a", "/bin/b" };
	static const char ids[] = { 1, 2, 1 };
	uint64_t ip = 0x1010, at, size;
	struct gen gen;
	struct file f;
	uint32_t i;

	gen_init(&gen, false);
	gen_build_id(&gen, 1, 0, 0, "\x01", 1); /* of no mapping */
	for (i = 0; i < 2; i++) {
		gen_mmap(&gen, 1, 10 + i, 0x1000, 0x1000, 0, "/bin/a");
		gen_build_id(&gen, 1, 10 + i, 0x1000, "\x01", 1);
		gen_mmap(&gen, 1, 10 + i, 0x2000, 0x1000, 0, "/bin/c");
		gen_build_id(&gen, 1, 10 + i, 0x3000, "\x03", 1); /* of another mapping */
		gen_build_id(&gen, 1, 12, 0x2000, "\x03", 1);	  /* of another process */
		gen_build_id(&gen, 1, 10 + i, 0x2000, "", 0);
		gen_mmap(&gen, 1, 10 + i, 0x4000, 0x1000, 0, "/bin/a");
		gen_build_id(&gen, 1, 10 + i, 0x4000, "\x02", 1);
		gen_mmap(&gen, 1, 10 + i, 0x5000, 0x1000, 0, "/bin/b");
		gen_build_id(&gen, 1, 10 + i, 0x5000, "\x01", 1);
	}
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	write_file(&gen, &f);
	at = feature(&f, 2, &size);
	assert_int_equal(size, G_N_ELEMENTS(paths) * (36 + 64));
	for (i = 0; i < G_N_ELEMENTS(paths); i++, at += 36 + 64) {
		assert_int_equal(f.data[at + 12], ids[i]);
		assert_int_equal(f.data[at + 32], 1);
		assert_string_equal(text_at(&f, at + 36, at + 100), paths[i]);
	}
	free(f.data);
	gen_fini(&gen);
}

/*
 * Without stacks there are no callchains; a tracepoint and an unknown event have no type of their
 * own.
 */
static void test_samples_without_stacks_have_no_callchain(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;
	struct file f;
	GString *lines;

	gen_init(&gen, false);
	gen_begin(&gen);
	gen_u32(&gen, 1);
	gen_u32(&gen, 2); /* PERF_TYPE_TRACEPOINT */
	gen_u64(&gen, 316);
	gen_u64(&gen, 1);
	gen_u32(&gen, 4); /* user space only */
	gen_text(&gen, "sched:sched_switch");
	gen_end(&gen, 64);
	gen_comm(&gen, 1, 10, 10, "p");
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	gen_trace(&gen, 2, 77, 101, 10, 0, 1, &ip);
	write_file(&gen, &f);
	assert_int_equal(f.attrs_size / f.attr_size, 2);
	assert_int_equal(word(&f, f.attrs, 4), 1);
	assert_int_equal(word(&f, f.attrs + 8, 8), 9);
	assert_int_equal(word(&f, f.attrs + 24, 8), SAMPLE_TYPE & ~0x20ull);
	/* exclude_kernel 5, and no use_clockid: there is no CLOCK */
	assert_int_equal(word(&f, f.attrs + 40, 8), 0x842320);
	lines = list_events(&f);
	assert_string_equal(lines->str,
		"comm misc=2 10/10 p [10/10 t=99 cpu=0 id=0]\n"
		"u sample id=1 ip=0x1010 10/10 t=100 cpu=0 period=1\n"
		"u sample id=2 ip=0x1010 10/10 t=101 cpu=0 period=1\n"
		"round\n");
	g_string_free(lines, TRUE);
	free(f.data);
	gen_fini(&gen);
}

/*
 * A process that was there before is announced late: its mappings count from the beginning, but not
 * one that covers an older one; one that was forked has each from its time on.
 */
static void test_late_announcements_count_from_the_beginning(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;

	gen_init(&gen, false);
	gen_fork(&gen, 20, 11, 11, 10, 10);
	gen_comm(&gen, 200, 10, 10, "old");
	gen_comm(&gen, 210, 10, 10, "renamed");
	gen_mmap(&gen, 203, 10, 0x1800, 0x1000, 0, "/bin/over");
	gen_mmap(&gen, 201, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_mmap(&gen, 202, 10, 0x2800, 0x1000, 0, "/bin/beside");
	gen_mmap(&gen, 204, 10, 0x2000, 0x100, 0, "/bin/over-what-was-over");
	gen_comm(&gen, 205, 11, 11, "child");
	gen_mmap(&gen, 206, 11, 0x5000, 0x1000, 0, "/bin/b");
	gen_comm(&gen, 207, 11, 12, "thread-of-child");
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	gen_trace(&gen, 2, 1, 300, 10, 0, 1, &ip);
	check_events(&gen,
		"fork 11/11 of 10/10 t=20 [10/10 t=20 cpu=0 id=0]\n"
		"comm misc=2 10/10 old [10/10 t=99 cpu=0 id=0]\n"
		"comm misc=2 10/10 renamed [10/10 t=210 cpu=0 id=0]\n"
		"mmap2 misc=2 10/10 0x1800+0x1000@0 prot=5 /bin/over [10/10 t=203 cpu=0 id=0]\n"
		"mmap2 misc=2 10/10 0x1000+0x1000@0 prot=5 /bin/a [10/10 t=99 cpu=0 id=0]\n"
		"mmap2 misc=2 10/10 0x2800+0x1000@0 prot=5 /bin/beside [10/10 t=99 cpu=0 id=0]\n"
		"mmap2 misc=2 10/10 0x2000+0x100@0 prot=5 /bin/over-what-was-over "
		"[10/10 t=204 cpu=0 id=0]\n"
		"comm misc=2 11/11 child [11/11 t=205 cpu=0 id=0]\n"
		"mmap2 misc=2 11/11 0x5000+0x1000@0 prot=5 /bin/b [11/11 t=206 cpu=0 id=0]\n"
		/* nobody said when the thread began: with its process */
		"comm misc=2 11/12 thread-of-child [11/12 t=21 cpu=0 id=0]\n"
		"u sample id=1 ip=0x1010 10/10 t=100 cpu=0 period=1\n"
		"u sample id=1 ip=0x1010 10/10 t=300 cpu=0 period=1\n"
		"round\n");
	gen_fini(&gen);
}

/*
 * Threads of which nothing is known are called as their process; thread 0 would be perf's idle
 * task.
 */
static void test_unknown_threads_take_the_name_of_their_process(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;

	gen_init(&gen, false);
	gen_new_process(&gen, 5, 10, "/bin/prog");
	gen_task(&gen, 0, 10, 13);
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	gen_task(&gen, 0, 10, 0);
	gen_trace(&gen, 2, 1, 101, 10, 0, 1, &ip);
	check_events(&gen,
		"comm misc=2 10/13 prog [10/13 t=99 cpu=0 id=0]\n"
		"comm misc=2 10/10 prog [10/10 t=99 cpu=0 id=0]\n"
		"u sample id=1 ip=0x1010 10/13 t=100 cpu=0 period=1\n"
		"u sample id=1 ip=0x1010 10/10 t=101 cpu=0 period=1\n"
		"round\n");
	gen_fini(&gen);
}

/*
 * A capture behind another: later in time, whatever its own times are, and with events of its own.
 */
/*
 * What is said of a CPU or an event holds from there on, until a section ends; CPU 64 is another
 * one.
 */
static void test_periods_and_events_hold_until_the_section_ends(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_new_process(&gen, 5, 10, "/bin/prog");
	gen_event(&gen, 1, 5, 0, "e");
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	gen_period(&gen, 0, 1, 7);
	gen_trace(&gen, 2, 1, 101, 10, 0, 1, &ip);
	gen_trace(&gen, 2, 1, 102, 10, 64, 1, &ip);
	gen_event(&gen, 1, 6, 0, "f");
	gen_trace(&gen, 2, 1, 103, 10, 64, 1, &ip);
	gen_trace(&gen, 2, 2, 104, 10, 64, 1, &ip);
	gen_trace(&gen, 2, 1, 105, 10, 0, 1, &ip);
	gen_clock(&gen, 1, 2);
	gen_trace(&gen, 2, 1, 50, 10, 0, 1, &ip);
	check_events(&gen,
		"comm misc=2 10/10 prog [10/10 t=99 cpu=0 id=0]\n"
		"u sample id=1 ip=0x1010 10/10 t=100 cpu=0 period=5\n"
		"u sample id=1 ip=0x1010 10/10 t=101 cpu=0 period=7\n"
		"u sample id=1 ip=0x1010 10/10 t=102 cpu=64 period=5\n"
		"u sample id=2 ip=0x1010 10/10 t=103 cpu=64 period=6\n"
		"u sample id=3 ip=0x1010 10/10 t=104 cpu=64 period=1\n"
		"u sample id=2 ip=0x1010 10/10 t=105 cpu=0 period=7\n"
		"round\n"
		"u sample id=4 ip=0x1010 10/10 t=107 cpu=0 period=1\n"
		"round\n");
	gen_fini(&gen);
}

static void test_sections_follow_each_other(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 5, 0, "e");
	gen_comm(&gen, 900, 10, 10, "p");
	gen_trace(&gen, 2, 1, 1000, 10, 0, 1, &ip);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 6, 0, "f");
	gen_comm(&gen, 40, 10, 10, "q");
	gen_trace(&gen, 2, 1, 50, 10, 0, 1, &ip);
	gen_trace(&gen, 2, 1, 53, 10, 0, 1, &ip);
	check_events(&gen,
		"comm misc=2 10/10 p [10/10 t=999 cpu=0 id=0]\n"
		"u sample id=1 ip=0x1010 10/10 t=1000 cpu=0 period=5\n"
		"round\n"
		"comm misc=2 10/10 q [10/10 t=1001 cpu=0 id=0]\n"
		"u sample id=2 ip=0x1010 10/10 t=1002 cpu=0 period=6\n"
		"u sample id=2 ip=0x1010 10/10 t=1005 cpu=0 period=6\n"
		"round\n");
	gen_fini(&gen);
}

/*
 * As perf does it: at each round, what is not newer than the newest event at the round before is
 * taken out. Nothing that comes later may be older than that. Returns the rounds.
 */
static unsigned int check_rounds(const struct file *f)
{
	uint64_t at = f->events, newest = 0, limit = 0, out = 0, time;
	unsigned int rounds = 0;

	for (; at < f->events + f->events_size; at += word(f, at + 6, 2)) {
		switch (word(f, at, 4)) {
		case 68:
			out = limit;
			limit = newest;
			rounds++;
			break;
		case 9:
			time = word(f, at + 32, 8);
			assert_true(time >= out);
			newest = MAX(newest, time);
			break;
		default:
			time = word(f, at + word(f, at + 6, 2) - 24, 8);
			assert_true(time == 0 || time >= out);
			newest = MAX(newest, time);
			break;
		}
	}
	return rounds;
}

/* Two CPUs in runs of 1,000 samples, each run of one starting where that of the other started. */
static void test_samples_of_several_cpus_are_sorted_in_rounds(void **state)
{
	uint64_t ip = 0x1010, i, run;
	struct gen gen;
	struct file f;

	gen_init(&gen, false);
	gen_comm(&gen, 1, 10, 10, "p");
	for (run = 0; run < 60; run++) {
		for (i = 0; i < 1000; i++)
			gen_trace(&gen, 2, 1, 1000 + 10 * (run / 2 * 1000 + i), 10,
				(uint16_t)(run % 2), 1, &ip);
	}
	write_file(&gen, &f);
	/* 60,000 records are 15 chunks, and most of them may end a round */
	assert_in_range(check_rounds(&f), 8, 15);
	free(f.data);
	/* one sample that comes much too late: fewer rounds, and still no lie */
	gen_trace(&gen, 2, 1, 100000, 10, 0, 1, &ip);
	write_file(&gen, &f);
	assert_in_range(check_rounds(&f), 1, 7);
	free(f.data);
	gen_fini(&gen);
}

/* Events have 16 bits for their size: the outer frames of a stack that is too deep are cut off. */
static void test_too_deep_stacks_are_cut(void **state)
{
	g_autofree uint64_t *frames = g_new(uint64_t, 65535);
	g_autofree char *path = g_strnfill(6000, 'x');
	struct gen gen;
	struct file f;
	uint64_t i;

	for (i = 0; i < 65535; i++)
		frames[i] = 0x1000 + i;
	frames[1] = 0xfffffffffffff123; /* no address, and no mark that perf knows */
	gen_init(&gen, false);
	gen_comm(&gen, 1, 10, 10, path);
	gen_mmap(&gen, 2, 10, 0x1000, 0x1000, 0, path);
	gen_trace(&gen, 1, 1, 100, 10, 0, 65535, frames);
	write_file(&gen, &f);
	/* 16 + 255 + 1 + 32, then 72 + 4095 + 1 + 32 */
	assert_int_equal(word(&f, f.events + 6, 2), 304);
	assert_int_equal(word(&f, f.events + 304 + 6, 2), 4200);
	i = f.events + 4504;
	assert_int_equal(word(&f, i + 6, 2), 65528);
	assert_int_equal(word(&f, i + 56, 8), 8183);
	assert_int_equal(word(&f, i + 64, 8), 0xffffffffffffff80);
	assert_int_equal(word(&f, i + 72, 8), 0x1000);
	assert_int_equal(word(&f, i + 80, 8), 0);
	assert_int_equal(word(&f, i + 65528 - 8, 8), 0x1000 + 8181);
	free(f.data);
	gen_fini(&gen);
}

static bool always(void *arg)
{
	return true;
}

static void test_empty_and_cancelled_captures_are_refused(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;
	uint32_t i;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_lost(&gen, 0, 1, 1, 5);
	assert_int_equal(write_status(&gen, NULL), -ENODATA);
	for (i = 0; i < 1023; i++)
		gen_trace(&gen, 2, i, 100, 10, 0, 1, &ip);
	assert_int_equal(write_status(&gen, NULL), 0);
	assert_int_equal(write_status(&gen, always), -EINTR);
	gen_trace(&gen, 2, 1023, 100, 10, 0, 1, &ip);
	assert_int_equal(write_status(&gen, NULL), 0);
	gen_trace(&gen, 2, 1024, 100, 10, 0, 1, &ip);
	assert_int_equal(write_status(&gen, NULL), -EFBIG);
	gen_fini(&gen);
}

/* 10,000 processes with a mapping each take more than 30 bytes and less than 10,000 each. */
static void test_too_large_file_is_refused(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;
	uint32_t i;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	for (i = 0; i < 10000; i++)
		gen_mmap(&gen, 5, i, 0x1000, 0x1000, 0, "/bin/a");
	assert_int_equal(write_bounded(&gen, NULL, 30 * 10000), -EFBIG);
	assert_int_equal(write_bounded(&gen, NULL, 10000 * 10000), 0);
	gen_fini(&gen);
}

/* What is readable is written; what follows damage is not there. */
static void test_damaged_capture_is_written_up_to_the_damage(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;

	gen_init(&gen, false);
	gen_comm(&gen, 1, 10, 10, "p");
	gen_begin(&gen); /* a TASK that is too short */
	gen_u32(&gen, 0);
	gen_end(&gen, 65);
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	gen_trace(&gen, 2, 1, 101, 10, 0, 1, &ip);
	g_byte_array_set_size(gen.bytes, gen.bytes->len - 1);
	check_events(&gen,
		"comm misc=2 10/10 p [10/10 t=99 cpu=0 id=0]\n"
		"u sample id=1 ip=0x1010 10/10 t=100 cpu=0 period=1\n"
		"round\n");
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_become_events_of_perf),
		cmocka_unit_test(test_old_kernel_mappings_become_events_of_perf),
		cmocka_unit_test(test_other_byte_order_becomes_ours),
		cmocka_unit_test(test_attributes_are_written),
		cmocka_unit_test(test_configs_are_written),
		cmocka_unit_test(test_features_are_written),
		cmocka_unit_test(test_each_build_id_is_written_once),
		cmocka_unit_test(test_samples_without_stacks_have_no_callchain),
		cmocka_unit_test(test_late_announcements_count_from_the_beginning),
		cmocka_unit_test(test_unknown_threads_take_the_name_of_their_process),
		cmocka_unit_test(test_periods_and_events_hold_until_the_section_ends),
		cmocka_unit_test(test_sections_follow_each_other),
		cmocka_unit_test(test_samples_of_several_cpus_are_sorted_in_rounds),
		cmocka_unit_test(test_too_deep_stacks_are_cut),
		cmocka_unit_test(test_empty_and_cancelled_captures_are_refused),
		cmocka_unit_test(test_too_large_file_is_refused),
		cmocka_unit_test(test_damaged_capture_is_written_up_to_the_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

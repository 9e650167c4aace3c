/* SPDX-License-Identifier: MIT */
/*
 * formats/perfdata/perfdata: each event, printed as a line of text, is the one that was written by
 * hand.
 */
#include "tests/unit/perfdata_fixture.h"

/* ---- a reader of perf.data ------------------------------------------------------------------- */

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

/* ---- writing --------------------------------------------------------------------------------- */

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

/* ---- tests ----------------------------------------------------------------------------------- */

#define ALL_EVENTS                                                                               \
	/* there is no name for the task that had ended */                                       \
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
	/* without a PERIOD record for this CPU: that of the event */                                 \
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

/* A capture of the other byte order becomes a file of this machine's. */
static void test_other_byte_order_becomes_ours(void **state)
{
	struct gen gen;

	gen_init(&gen, true);
	make_all(&gen);
	check_events(&gen, ALL_EVENTS);
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
 * A process that existed before is announced late. Its mappings count from the beginning, except
 * one that covers an older one. A forked process has each mapping from its time on.
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
		/* no record has the start of the thread: with its process */
		"comm misc=2 11/12 thread-of-child [11/12 t=21 cpu=0 id=0]\n"
		"u sample id=1 ip=0x1010 10/10 t=100 cpu=0 period=1\n"
		"u sample id=1 ip=0x1010 10/10 t=300 cpu=0 period=1\n"
		"round\n");
	gen_fini(&gen);
}

/* Threads without records are named as their process. Thread 0 would be perf's idle task. */
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
 * A capture after another one gets later times, whichever its own times are, and separate events.
 */
/*
 * A record about a CPU or an event holds from there on, until a section ends. CPU 64 is another
 * CPU.
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

/* What is readable is written. What follows the damage is left out. */
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
		cmocka_unit_test(test_samples_without_stacks_have_no_callchain),
		cmocka_unit_test(test_late_announcements_count_from_the_beginning),
		cmocka_unit_test(test_unknown_threads_take_the_name_of_their_process),
		cmocka_unit_test(test_periods_and_events_hold_until_the_section_ends),
		cmocka_unit_test(test_sections_follow_each_other),
		cmocka_unit_test(test_damaged_capture_is_written_up_to_the_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

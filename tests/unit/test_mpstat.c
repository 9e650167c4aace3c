/* SPDX-License-Identifier: MIT */
/* acct: mpstat and mpstat-raw have the bytes that the rules of accounting.h demand. */
#include "tests/unit/mpstat_fixture.h"

#define HEADER \
	"  CPU:                     irq                      kern                      user" \
	"                      idle  \n"

/* ---- a source of times set by the test ------------------------------------------------------ */

#define FAKE_CPUS 2

static struct source_cpu fake_cpus[FAKE_CPUS];

static int create_fake(const struct source_paths *paths, struct err *err, void **source)
{
	*source = NULL;
	return 0;
}

static void destroy_fake(void *source)
{
}

static int sample_fake(void *source, GArray *cpus)
{
	g_array_set_size(cpus, 0);
	g_array_append_vals(cpus, fake_cpus, FAKE_CPUS);
	return 0;
}

static const struct source_ops fake_source = {
	.name = "fake",
	.create = create_fake,
	.destroy = destroy_fake,
	.sample = sample_fake,
};

static struct accounting *create_faked(void)
{
	const struct source_paths paths = {NULL, NULL};
	struct accounting *acct;
	struct err err = {""};

	memset(fake_cpus, 0, sizeof(fake_cpus));
	fake_cpus[0].present = fake_cpus[1].present = true;
	fake_cpus[0].online = fake_cpus[1].online = true;
	assert_int_equal(accounting_create_from(&fake_source, &paths, &err, &acct), 0);
	assert_string_equal(err.text, "");
	return acct;
}

static void set_fake(int cpu, uint64_t irq, uint64_t kern, uint64_t user, uint64_t idle)
{
	fake_cpus[cpu].ns[SOURCE_IRQ] = irq;
	fake_cpus[cpu].ns[SOURCE_SYSTEM] = kern;
	fake_cpus[cpu].ns[SOURCE_USER] = user;
	fake_cpus[cpu].ns[SOURCE_IDLE] = idle;
}

/* ---- what comes out ------------------------------------------------------------------------- */

static void check_text(struct accounting *acct, int line, const char *expected)
{
	g_autoptr(GString) out = g_string_new(NULL);
	int ret = accounting_print(acct, out);

	if (ret || strcmp(out->str, expected) != 0)
		fail_msg("line %d: ret %d, got\n%swhere this belongs:\n%s", line, ret, out->str,
			expected);
	assert_int_equal(accounting_bytes(acct), strlen(expected));
}

static void check_stats(struct accounting *acct, int line, int expected_ret, const char *expected)
{
	struct stats *stats = stats_create();
	g_autoptr(GString) out = g_string_new(NULL);
	int ret = accounting_print_stats(acct, stats);

	stats_render(stats, out);
	stats_destroy(stats);
	if (ret != expected_ret || strcmp(out->str, expected) != 0)
		fail_msg("line %d: ret %d, got\n%swhere this belongs:\n%s", line, ret, out->str,
			expected);
}

/* ---- the layouts ---------------------------------------------------------------------------- */

/*
 * The worked example of Akaros: two cores at 2.4 GHz with 4097126400, 59948781600, 390828000 and
 * 33254961381600 ticks, and 24000, 240000000, 7200000000 and 2400000000. Akaros's conversion of
 * ticks to ns truncates early and shows up to 6 us less than that; these ns are what it shows, so
 * its text must come out byte for byte (with the aligned header of 2014 to 2019).
 */
static void test_text_matches_the_worked_example(void **state)
{
	struct accounting *acct = create_faked();

	assert_int_equal(strlen(HEADER), 111);
	set_fake(0, 1707135999, 24978658999, 162844999, 13856233903999);
	set_fake(1, 9999, 99999999, 2999999999, 999999999);
	check_text(acct, __LINE__, HEADER
		"    0:          1.707135 (  0%),         24.978658 (  0%),          0.162844 (  0%), "
		"     13856.233903 ( 99%) \n"
		"    1:          0.000009 (  0%),          0.099999 (  2%),          2.999999 ( 73%), "
		"         0.999999 ( 24%) \n");
	accounting_destroy(acct);
}

/*
 * The same ticks in exact ns (ticks * 10 / 24). Akaros's raw file shows ticks, f4353000 for the
 * first; ours shows ns, so the header names 1000000000 and the first is 1707136000 = 65c0d400.
 */
static void test_raw_text_matches_the_worked_example(void **state)
{
	struct accounting *acct = create_faked();
	g_autoptr(GString) out = g_string_new(NULL);

	set_fake(0, 1707136000, 24978659000, 162845000, 13856233909000);
	set_fake(1, 10000, 100000000, 3000000000, 1000000000);
	check_raw(acct, __LINE__, HEADER_RAW("    2")
		"    0:         65c0d400        5d0d816b8          9b4d148      c9a27e66b08\n"
		"    1:             2710          5f5e100         b2d05e00         3b9aca00\n");
	check_text(acct, __LINE__, HEADER
		"    0:          1.707136 (  0%),         24.978659 (  0%),          0.162845 (  0%), "
		"     13856.233909 ( 99%) \n"
		"    1:          0.000010 (  0%),          0.100000 (  2%),          3.000000 ( 73%), "
		"         1.000000 ( 24%) \n");
	assert_int_equal(accounting_print_raw(acct, out), 0);
	assert_int_equal(out->len, 56 + 75 * 2);
	accounting_destroy(acct);
}

struct percent_row {
	int line;
	uint64_t kern, idle; /* ns; the other two are 0 */
	const char *kern_percent, *idle_percent;
};

static const struct percent_row percent_rows[] = {
	{__LINE__, 0, 0, "  0%", "  0%"},
	{__LINE__, 1, 0, "100%", "  0%"},
	{__LINE__, 1, 1, " 50%", " 50%"},
	{__LINE__, 1, 2, " 33%", " 66%"},
	{__LINE__, 1, 99, "  1%", " 99%"},
	{__LINE__, 1, 100, "  0%", " 99%"},
	{__LINE__, 29, 71, " 29%", " 71%"},
	{__LINE__, 57, 43, " 57%", " 43%"},
	/* 2^63-1 and 2^63: 49.99... and 50.00... % */
	{__LINE__, 9223372036854775807, 9223372036854775808U, " 49%", " 50%"},
	/* 28 % of 184467440737095516 * 100, and one ns less */
	{__LINE__, 5165088340638674448, 13281655733070877152U, " 28%", " 72%"},
	{__LINE__, 5165088340638674447, 13281655733070877153U, " 27%", " 72%"},
	{__LINE__, 1, 18446744073709551614U, "  0%", " 99%"},
	{__LINE__, UINT64_MAX, 0, "100%", "  0%"},
};

static void test_percentages_are_rounded_as_akaros_does(void **state)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(percent_rows); i++) {
		const struct percent_row *row = &percent_rows[i];
		struct accounting *acct = create_faked();
		g_autoptr(GString) out = g_string_new(NULL);
		g_auto(GStrv) parts = NULL;

		set_fake(0, 0, row->kern, 0, row->idle);
		assert_int_equal(accounting_print(acct, out), 0);
		/* the header has none: "...(", irq, "..." */
		parts = g_strsplit(out->str, "(", 6);
		if (!g_str_has_prefix(parts[2], row->kern_percent) ||
			!g_str_has_prefix(parts[4], row->idle_percent))
			fail_msg("row of line %d: %s", row->line, out->str);
		accounting_destroy(acct);
	}
}

/* 584 years: seconds have one digit more than the column, and widen the row as printf does */
static void test_widest_values_widen_the_row(void **state)
{
	struct accounting *acct = create_faked();

	set_fake(0, UINT64_MAX, 0, UINT64_MAX, 0);
	check_raw(acct, __LINE__, HEADER_RAW("    2")
		"    0: ffffffffffffffff                0 ffffffffffffffff                0\n"
		"    1:                0                0                0                0\n");
	check_text(acct, __LINE__, HEADER
		"    0: 18446744073.709551 (100%),          0.000000 (  0%), 18446744073.709551 (100%), "
		"         0.000000 (  0%) \n"
		"    1:          0.000000 (  0%),          0.000000 (  0%),          0.000000 (  0%), "
		"         0.000000 (  0%) \n");
	/* two counters that make up one column stop at the largest number as well */
	fake_cpus[1].ns[SOURCE_USER] = UINT64_MAX - 5;
	fake_cpus[1].ns[SOURCE_NICE] = 7;
	check_raw(acct, __LINE__, HEADER_RAW("    2")
		"    0: ffffffffffffffff                0 ffffffffffffffff                0\n"
		"    1:                0                0 ffffffffffffffff                0\n");
	accounting_destroy(acct);
}

/* ---- /proc/stat ----------------------------------------------------------------------------- */

static void test_each_time_goes_into_its_column(void **state)
{
	const struct files *files = *state;
	struct accounting *acct;

	put_text(files->present, "0\n");
	put_stat(files, "cpu0 1000 1000 1000 1000 1000 1000 1000 1000 1000 1000\n");
	acct = create_on(files);
	check_text(acct, __LINE__, HEADER
		"    0:          0.000000 (  0%),          0.000000 (  0%),          0.000000 (  0%), "
		"         0.000000 (  0%) \n");
	/* user nice system idle iowait irq softirq steal guest guest_nice: powers of two */
	put_stat(files, "cpu0 1001 1002 1004 1008 1016 1032 1064 1128 1256 1512\n");
	/* irq 32+64, kern 4, user 1+2, idle 8+16 of 127 ticks: 75.59, 3.15, 2.36, 18.90 % */
	check_text(acct, __LINE__, HEADER
		"    0:          0.960000 ( 75%),          0.040000 (  3%),          0.030000 (  2%), "
		"         0.240000 ( 18%) \n");
	/* 960000000, 40000000, 30000000, 240000000 */
	check_raw(acct, __LINE__, HEADER_RAW("    1")
		"    0:         39387000          2625a00          1c9c380          e4e1c00\n");
	check_stats(acct, __LINE__, 0, "cpu.0.steal_ns 1280000000\nmpstat.accounting on\n"
		"mpstat.backward_steps 0\nmpstat.ipi on\nmpstat.source procstat\n");
	accounting_destroy(acct);
}

static void test_reset_begins_a_new_baseline(void **state)
{
	const struct files *files = *state;
	struct accounting *acct;

	put_text(files->present, "0\n");
	put_stat(files, "cpu0 10 0 0 0 0 0 0 0 0 0\n");
	acct = create_on(files);
	put_stat(files, "cpu0 15 0 2 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 0, 0, 2, 5, 0);
	put_stat(files, "cpu0 16 0 2 0 0 0 0 0 0 0\n"); /* passes before the reset: forgotten */
	assert_int_equal(accounting_reset(acct), 0);
	check_ticks(acct, __LINE__, 0, 0, 0, 0, 0);
	put_stat(files, "cpu0 19 0 2 1 0 0 0 4 0 0\n");
	check_ticks(acct, __LINE__, 0, 0, 0, 3, 1);
	check_stats(acct, __LINE__, 0, "cpu.0.steal_ns 40000000\nmpstat.accounting on\n"
		"mpstat.backward_steps 0\nmpstat.ipi on\nmpstat.source procstat\n");
	accounting_destroy(acct);
}

static void test_pause_counts_nothing(void **state)
{
	const struct files *files = *state;
	struct accounting *acct;

	put_text(files->present, "0\n");
	put_stat(files, "cpu0 10 0 0 0 0 0 0 0 0 0\n");
	acct = create_on(files);
	put_stat(files, "cpu0 11 0 0 0 0 0 0 0 0 0\n");
	assert_int_equal(accounting_set_on(acct, true), 0); /* already on */
	put_stat(files, "cpu0 12 0 0 0 0 0 0 0 0 0\n");
	assert_int_equal(accounting_set_on(acct, false), 0);
	put_stat(files, "cpu0 112 0 0 0 0 0 0 100 0 0\n");
	check_ticks(acct, __LINE__, 0, 0, 0, 2, 0);
	assert_int_equal(accounting_set_on(acct, false), 0); /* already off */
	put_stat(files, "cpu0 212 0 0 0 0 0 0 100 0 0\n");
	check_stats(acct, __LINE__, 0, "cpu.0.steal_ns 0\nmpstat.accounting off\n"
		"mpstat.backward_steps 0\nmpstat.ipi on\nmpstat.source procstat\n");
	put_stat(files, "cpu0 312 0 0 0 0 0 0 100 0 0\n");
	assert_int_equal(accounting_set_on(acct, true), 0);
	check_ticks(acct, __LINE__, 0, 0, 0, 2, 0);
	put_stat(files, "cpu0 315 0 0 7 0 0 0 101 0 0\n");
	check_ticks(acct, __LINE__, 0, 0, 0, 5, 7);
	/* a reset while paused is a baseline, and stays paused */
	assert_int_equal(accounting_set_on(acct, false), 0);
	assert_int_equal(accounting_reset(acct), 0);
	put_stat(files, "cpu0 320 0 0 7 0 0 0 101 0 0\n");
	check_ticks(acct, __LINE__, 0, 0, 0, 0, 0);
	accounting_destroy(acct);
}

static void test_falling_counters_are_counted_as_backward_steps(void **state)
{
	const struct files *files = *state;
	struct accounting *acct;

	put_text(files->present, "0\n");
	put_stat(files, "cpu0 0 0 0 100 50 0 0 9 0 0\n");
	acct = create_on(files);
	put_stat(files, "cpu0 0 0 0 90 50 0 0 9 0 0\n"); /* idle falls */
	check_ticks(acct, __LINE__, 0, 0, 0, 0, 0);
	put_stat(files, "cpu0 0 0 0 95 53 0 0 9 0 0\n"); /* iowait grows all the same */
	check_ticks(acct, __LINE__, 0, 0, 0, 0, 3);
	put_stat(files, "cpu0 0 0 0 100 53 0 0 9 0 0\n"); /* back at its old value */
	check_ticks(acct, __LINE__, 0, 0, 0, 0, 3);
	put_stat(files, "cpu0 0 0 0 102 40 0 0 1 0 0\n"); /* beyond; iowait and steal fall */
	check_ticks(acct, __LINE__, 0, 0, 0, 0, 5);
	/* a reset is no way back: the old value still has to be passed */
	assert_int_equal(accounting_reset(acct), 0);
	put_stat(files, "cpu0 0 0 0 102 52 0 0 10 0 0\n");
	check_ticks(acct, __LINE__, 0, 0, 0, 0, 0);
	put_stat(files, "cpu0 0 0 0 102 54 0 0 10 0 0\n");
	check_ticks(acct, __LINE__, 0, 0, 0, 0, 1);
	/* idle at 2 looks; iowait and steal at one and at the reset; iowait once more: 7 */
	check_stats(acct, __LINE__, 0, "cpu.0.steal_ns 10000000\nmpstat.accounting on\n"
		"mpstat.backward_steps 7\nmpstat.ipi on\nmpstat.source procstat\n");
	accounting_destroy(acct);
}

/* ---- CPUs that come and go ------------------------------------------------------------------ */

static void test_extreme_times_saturate(void **state)
{
	const struct files *files = *state;
	struct accounting *acct;

	put_text(files->present, "0\n");
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\n");
	acct = create_on(files);
	/* 1844674407370 ticks are 2^64 - 9551616 ns; one more doesn't fit, nor does the largest */
	put_stat(files, "cpu0 1844674407370 0 1844674407371 18446744073709551615 0 0 0 0 0 0\n");
	check_raw(acct, __LINE__, HEADER_RAW("    1")
		"    0:                0 ffffffffffffffff ffffffffff6e4100 ffffffffffffffff\n");
	accounting_destroy(acct);
}

/* ---- what can go wrong ---------------------------------------------------------------------- */

struct bad_row {
	int line;
	const char *text;
};

static const struct bad_row bad_rows[] = {
	{__LINE__, ""},
	{__LINE__, "\n"},
	{__LINE__, "intr 1 2 3\n"},
	{__LINE__, "cpu  1 2 3 4\nintr 1\n"},
	{__LINE__, "cpu  1 2 3 4"},
	{__LINE__, "cpu0 1 2 3\nintr 1\n"},
	{__LINE__, "cpu0 1 2 3 4"},
	{__LINE__, "cpu0 1 2 3 4\ncpu1 1 2 3"},
	{__LINE__, "cpu0 1 2 3 4\ncpu\n"},
	{__LINE__, "cpu0 1 2 3 4\ncpu0 1 2 3 4\n"},
	{__LINE__, "cpu1 1 2 3 4\ncpu0 1 2 3 4\n"},
	{__LINE__, "cpu-1 1 2 3 4\n"},
	{__LINE__, "cpu0x 1 2 3 4\n"},
	{__LINE__, "cpu0 1 2 -3 4\n"},
	{__LINE__, "cpu0 1 2 3 4x\n"},
	{__LINE__, "cpu0 1 2 3 4 \n"},
	{__LINE__, "cpu0 1 2 3\t4\n"},
	{__LINE__, "cpu0 1 2 3 18446744073709551616\n"},
	{__LINE__, "cpu0 1 2 3 4 5 6 7 8 9 99999999999999999999\n"},
	{__LINE__, "cpu16384 1 2 3 4\n"},
	{__LINE__, "cpu99999999999999999999 1 2 3 4\n"},
};

static void test_malformed_files_are_refused(void **state)
{
	const struct files *files = *state;
	size_t i;

	put_text(files->present, "0\n");
	for (i = 0; i < G_N_ELEMENTS(bad_rows); i++) {
		const struct bad_row *row = &bad_rows[i];
		g_autoptr(GString) out = g_string_new("before");
		struct accounting *acct;

		put_stat(files, "cpu0 100 0 0 0 0 0 0 0 0 0\n");
		acct = create_on(files);
		put_stat(files, "cpu0 101 0 0 0 0 0 0 0 0 0\n");
		check_ticks(acct, row->line, 0, 0, 0, 1, 0);
		put_text(files->stat, row->text);
		if (accounting_print(acct, out) != -EBADMSG ||
			accounting_print_raw(acct, out) != -EBADMSG ||
			accounting_reset(acct) != -EBADMSG ||
			accounting_set_on(acct, false) != -EBADMSG ||
			strcmp(out->str, "before") != 0)
			fail_msg("row of line %d", row->line);
		check_stats(acct, row->line, -EBADMSG, "mpstat.accounting on\nmpstat.backward_steps 0\n"
			"mpstat.ipi on\nmpstat.source procstat\n");
		/* nothing has happened: neither the reset nor the pause */
		put_stat(files, "cpu0 103 0 0 0 0 0 0 0 0 0\n");
		check_ticks(acct, row->line, 0, 0, 0, 3, 0);
		accounting_destroy(acct);
	}
}

static void test_missing_files_are_reported_at_each_print(void **state)
{
	const struct files *files = *state;
	g_autoptr(GString) out = g_string_new(NULL);
	struct accounting *acct;
	struct err err;
	int round;

	for (round = 0; round < 2; round++) {
		err.text[0] = '\0';
		assert_int_equal(accounting_create(files->stat, files->present, &err, &acct), 0);
		assert_non_null(strstr(err.text, "no CPU times: "));
		assert_non_null(strstr(err.text, round ? "message" : "No such file"));
		assert_int_equal(accounting_print(acct, out), -EOPNOTSUPP);
		assert_int_equal(accounting_print_raw(acct, out), -EOPNOTSUPP);
		assert_int_equal(accounting_reset(acct), -EOPNOTSUPP);
		assert_int_equal(accounting_set_on(acct, false), -EOPNOTSUPP);
		assert_string_equal(out->str, "");
		accounting_set_ipi(acct, false);
		check_stats(acct, __LINE__, -EOPNOTSUPP, "mpstat.accounting on\nmpstat.backward_steps 0\n"
			"mpstat.ipi off\nmpstat.source none\n");
		accounting_destroy(acct);
		put_text(files->stat, "no such thing\n"); /* exists, but is another file */
	}
	/* the sentence is optional */
	assert_int_equal(accounting_create(files->stat, files->present, NULL, &acct), 0);
	accounting_destroy(acct);
	accounting_destroy(NULL);
}

static void test_ipi_setting_is_printed(void **state)
{
	struct accounting *acct = create_faked();

	accounting_set_ipi(acct, false);
	check_stats(acct, __LINE__, 0, "cpu.0.steal_ns 0\ncpu.1.steal_ns 0\nmpstat.accounting on\n"
		"mpstat.backward_steps 0\nmpstat.ipi off\nmpstat.source fake\n");
	accounting_set_ipi(acct, true);
	check_stats(acct, __LINE__, 0, "cpu.0.steal_ns 0\ncpu.1.steal_ns 0\nmpstat.accounting on\n"
		"mpstat.backward_steps 0\nmpstat.ipi on\nmpstat.source fake\n");
	accounting_destroy(acct);
}

/* ---- this machine, and many threads --------------------------------------------------------- */

/* the kernel's own files: a row for each CPU of the list, and neither NULL path is forgotten */
static void test_this_machine_has_a_row_for_each_cpu(void **state)
{
	g_autoptr(GString) out = g_string_new(NULL);
	struct accounting *acct;
	struct err err = {""};
	unsigned char bitmap[CPU_BITMAP_BYTES];
	unsigned int cpu, cpus = 0;

	if (access(PROCSTAT_PATH, R_OK) != 0 || cpu_read_list(CPU_PRESENT_PATH, bitmap) != 0)
		skip();
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++)
		cpus += cpu_in_bitmap(bitmap, cpu);
	assert_int_equal(accounting_create(NULL, NULL, &err, &acct), 0);
	/* also before there was a text */
	assert_int_equal(accounting_bytes(acct), 111 * (cpus + 1));
	assert_int_equal(accounting_bytes_raw(acct), 56 + 75 * cpus);
	assert_int_equal(accounting_print(acct, out), 0);
	assert_int_equal(out->len, 111 * (cpus + 1));
	g_string_truncate(out, 0);
	assert_int_equal(accounting_print_raw(acct, out), 0);
	assert_int_equal(out->len, 56 + 75 * cpus);
	accounting_destroy(acct);
}

#define ROUNDS 300

/* gives the line that failed */
static gpointer use_accounting(gpointer data)
{
	struct accounting *acct = data;
	g_autoptr(GString) out = g_string_new(NULL);
	struct stats *stats;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		g_string_truncate(out, 0);
		if (accounting_print(acct, out) || out->len != 111 * 3)
			return GINT_TO_POINTER(__LINE__);
		g_string_truncate(out, 0);
		if (accounting_print_raw(acct, out) || out->len != 56 + 75 * 2)
			return GINT_TO_POINTER(__LINE__);
		if (accounting_reset(acct) || accounting_set_on(acct, i % 2))
			return GINT_TO_POINTER(__LINE__);
		accounting_set_ipi(acct, i % 2);
		stats = stats_create();
		if (accounting_print_stats(acct, stats))
			return GINT_TO_POINTER(__LINE__);
		stats_destroy(stats);
	}
	return NULL;
}

static void test_threads_may_use_it_at_once(void **state)
{
	const struct files *files = *state;
	struct accounting *acct;
	GThread *threads[4];
	size_t i;

	put_text(files->present, "0-1\n");
	put_stat(files, "cpu0 1 2 3 4 5 6 7 8\ncpu1 1 2 3 4 5 6 7 8\n");
	acct = create_on(files);
	for (i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("user", use_accounting, acct);
	for (i = 0; i < G_N_ELEMENTS(threads); i++)
		assert_int_equal(GPOINTER_TO_INT(g_thread_join(threads[i])), 0);
	accounting_destroy(acct);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_matches_the_worked_example),
		cmocka_unit_test(test_raw_text_matches_the_worked_example),
		cmocka_unit_test(test_percentages_are_rounded_as_akaros_does),
		cmocka_unit_test(test_widest_values_widen_the_row),
		cmocka_unit_test(test_ipi_setting_is_printed),
		cmocka_unit_test(test_this_machine_has_a_row_for_each_cpu),
		cmocka_unit_test_setup_teardown(test_each_time_goes_into_its_column,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_reset_begins_a_new_baseline,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pause_counts_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_falling_counters_are_counted_as_backward_steps,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_extreme_times_saturate, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_malformed_files_are_refused,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_missing_files_are_reported_at_each_print,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_threads_may_use_it_at_once, set_up, tear_down),
	};

	if (sysconf(_SC_CLK_TCK) != 100) {
		print_message("USER_HZ is not 100 here: the figures of this test are for 100\n");
		return 77;
	}
	return cmocka_run_group_tests_name("acct", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* acct: an offline CPU keeps its times, and each present CPU has a row. */
#include "tests/unit/mpstat_fixture.h"

/* ---- what comes out ------------------------------------------------------------------------- */

static bool has_row(struct accounting *acct, unsigned int cpu)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autofree char *label = g_strdup_printf("\n%5u: ", cpu);

	assert_int_equal(accounting_print(acct, out), 0);
	return strstr(out->str, label) != NULL;
}

/* ---- CPUs that come and go ------------------------------------------------------------------ */

static void test_offline_cpu_keeps_its_times(void **state)
{
	const struct files *files = *state;
	struct accounting *acct;

	put_text(files->present, "0-1\n");
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\n");
	acct = create_on(files);
	put_stat(files, "cpu0 1 0 0 0 0 0 0 0 0 0\ncpu1 102 0 0 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 1, 0, 0, 2, 0);
	put_stat(files, "cpu0 5 0 0 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 0, 0, 0, 5, 0);
	check_ticks(acct, __LINE__, 1, 0, 0, 2, 0);
	put_stat(files, "cpu0 5 0 0 0 0 0 0 0 0 0\ncpu1 103 0 0 4 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 1, 0, 0, 3, 4);
	accounting_destroy(acct);
}

/*
 * A CPU that is offline while a baseline is taken has an unknown past. It is counted from when it
 * is seen.
 */
static void test_cpu_offline_at_the_baseline_counts_from_its_return(void **state)
{
	const struct files *files = *state;
	struct accounting *acct;

	put_text(files->present, "0-1\n");
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\n");
	acct = create_on(files);
	check_ticks(acct, __LINE__, 1, 0, 0, 0, 0);
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 1, 0, 0, 0, 0);
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 104 0 0 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 1, 0, 0, 4, 0);

	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\n");
	assert_int_equal(accounting_reset(acct), 0);
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 110 0 0 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 1, 0, 0, 0, 0);
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 111 0 0 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 1, 0, 0, 1, 0);

	assert_int_equal(accounting_set_on(acct, false), 0);
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\n"); /* ran on, then left, all while paused */
	assert_int_equal(accounting_set_on(acct, true), 0);
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 200 0 0 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 1, 0, 0, 1, 0);
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 206 0 0 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 1, 0, 0, 7, 0);
	accounting_destroy(acct);
}

static void test_each_present_cpu_has_a_row(void **state)
{
	const struct files *files = *state;
	struct accounting *acct;

	put_text(files->present, "0,3\n"); /* numbers need not be dense */
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\n");
	acct = create_on(files);
	check_raw(acct, __LINE__, HEADER_RAW("    2")
		"    0:                0                0                0                0\n"
		"    3:                0                0                0                0\n");
	put_text(files->present, "0,3-4\n"); /* one is plugged in */
	assert_true(has_row(acct, 4));
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu4 9 0 0 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 4, 0, 0, 0, 0);
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu4 11 0 0 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 4, 0, 0, 2, 0);
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\n");
	put_text(files->present, "0\n"); /* both are taken out */
	check_raw(acct, __LINE__, HEADER_RAW("    1")
		"    0:                0                0                0                0\n");
	/* a CPU that was removed and added again begins anew if there was a baseline in between */
	assert_int_equal(accounting_reset(acct), 0);
	put_text(files->present, "0,4\n");
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu4 20 0 0 0 0 0 0 0 0 0\n");
	check_ticks(acct, __LINE__, 4, 0, 0, 0, 0);
	/* gaps of any width */
	put_text(files->present, "0,16,40\n");
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\n");
	check_raw(acct, __LINE__, HEADER_RAW("    3")
		"    0:                0                0                0                0\n"
		"   16:                0                0                0                0\n"
		"   40:                0                0                0                0\n");
	/* online before the list has it */
	put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 9 0 0 0 0 0 0 0 0 0\n");
	assert_true(has_row(acct, 1));
	accounting_destroy(acct);
}

/* without a usable list, a CPU that was online once keeps a row */
static void test_every_cpu_seen_keeps_a_row_without_a_list(void **state)
{
	static const char *const lists[] = {NULL, "", "junk\n", "0-99999999\n"};
	const struct files *files = *state;
	struct accounting *acct;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(lists); i++) {
		if (lists[i])
			put_text(files->present, lists[i]);
		put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0 0 0\n");
		acct = create_on(files);
		assert_true(has_row(acct, 2));
		assert_false(has_row(acct, 1));
		put_stat(files, "cpu0 0 0 0 0 0 0 0 0 0 0\n");
		/* an empty list is a list: only CPUs that are online */
		if (has_row(acct, 2) != (!lists[i] || lists[i][0]))
			fail_msg("list %zu", i);
		accounting_destroy(acct);
	}
}

#define MANY_CPUS 4096

static void test_all_of_4096_cpus_have_rows(void **state)
{
	const struct files *files = *state;
	g_autoptr(GString) stat = g_string_new("cpu  1 2 3 4 5 6 7 8 9 10\n");
	g_autoptr(GString) out = g_string_new(NULL);
	struct accounting *acct = NULL;
	char head[57];
	int cpu, round;

	put_text(files->present, "0-4095\n");
	for (round = 0; round < 2; round++) {
		g_string_truncate(stat, 26);
		for (cpu = 0; cpu < MANY_CPUS; cpu++)
			g_string_append_printf(stat,
				"cpu%d %d 0 0 184467440737 0 0 0 0 0 0\n", cpu, 1000 + round * cpu);
		g_string_append(stat, "intr 1");
		for (cpu = 0; cpu < 200000; cpu++)
			g_string_append(stat, " 0");
		g_string_append(stat, "\n");
		put_file(files->stat, stat->str, stat->len);
		if (round == 0)
			acct = create_on(files);
	}
	assert_int_equal(accounting_print(acct, out), 0);
	assert_int_equal(out->len, 111 * (MANY_CPUS + 1));
	g_string_truncate(out, 0);
	assert_int_equal(accounting_print_raw(acct, out), 0);
	assert_int_equal(out->len, 56 + 75 * MANY_CPUS);
	g_strlcpy(head, out->str, sizeof(head));
	assert_string_equal(head, HEADER_RAW(" 4096"));
	/* 4095 ticks are 40950000000 ns */
	assert_string_equal(out->str + 56 + 75 * 4095,
		" 4095:                0                0        988cf6980                0\n");
	accounting_destroy(acct);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_offline_cpu_keeps_its_times,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cpu_offline_at_the_baseline_counts_from_its_return,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_each_present_cpu_has_a_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_every_cpu_seen_keeps_a_row_without_a_list,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_all_of_4096_cpus_have_rows, set_up, tear_down),
	};

	if (sysconf(_SC_CLK_TCK) != 100) {
		print_message("USER_HZ is not 100 here: the figures of this test are for 100\n");
		return 77;
	}
	return cmocka_run_group_tests_name("acct", tests, NULL, NULL);
}

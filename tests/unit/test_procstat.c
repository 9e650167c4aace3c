/* SPDX-License-Identifier: MIT */
/*
 * sys/procstat, sys/cpu and sys/clock: files are read correctly at any size of the buffer, and ticks
 * are converted to ns. test_mpstat.c has malformed files.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/clock.h"
#include "sys/cpu.h"
#include "sys/procstat.h"

static int set_up(void **state)
{
	char *path = g_strdup("/tmp/procstat.XXXXXX");
	int fd = g_mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	*state = path;
	return 0;
}

static int tear_down(void **state)
{
	g_unlink(*state);
	g_free(*state);
	return 0;
}

static void put_file(const char *path, const char *text, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), length);
	close(fd);
}

/* ---- procstat ------------------------------------------------------------------------------- */

static void test_fields_are_read(void **state)
{
	static const uint64_t first[] = {2107, 1, 2397, 287893, 361, 3, 38, 11};
	static const uint64_t second[] = {5, 6, 7, UINT64_MAX, 0, 0, 0, 0};
	const char *text = "cpu  9 9 9 9 9 9 9 9 9 9\n"
			   "cpu0 2107 1 2397 287893 361 3 38 11 77 88\n"
			   "cpu17 5 6 7 18446744073709551615\n"
			   "intr 1 2 3\ncpu3 1 1 1 1\n"; /* behind the end of the CPU lines */
	const struct procstat_cpu *cpus;
	struct procstat *procstat;
	size_t count;

	put_file(*state, text, strlen(text));
	assert_int_equal(procstat_open(*state, &procstat), 0);
	assert_int_equal(procstat_read(procstat, &cpus, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(cpus[0].cpu, 0);
	assert_memory_equal(cpus[0].ticks, first, sizeof(first));
	assert_int_equal(cpus[1].cpu, 17);
	assert_memory_equal(cpus[1].ticks, second, sizeof(second));
	procstat_close(procstat);
}

static void test_unreadable_file_is_an_error(void **state)
{
	const struct procstat_cpu *cpus;
	struct procstat *procstat = NULL;
	size_t count;

	assert_int_equal(procstat_open("/nonexistent/stat", &procstat), -ENOENT);
	assert_null(procstat);
	assert_int_equal(procstat_open("/", &procstat), 0); /* opens, and can't be read */
	assert_int_equal(procstat_read(procstat, &cpus, &count), -EISDIR);
	procstat_close(procstat);
	procstat_close(NULL);
}

/*
 * A file whose CPU lines end exactly `total` bytes into it. With what follows it reaches beyond the
 * first buffer (4096), or ends at it, or one byte before or after, or in the middle of a word.
 */
static void check_length(const char *path, size_t total, const char *behind)
{
	g_autoptr(GString) text = g_string_new("cpu  1 2 3 4\n");
	const struct procstat_cpu *cpus;
	struct procstat *procstat;
	size_t count, expected = 0, i;

	for (; total - text->len > 60; expected++)
		g_string_append_printf(text, "cpu%zu %zu 0 0 7\n", expected, 10 + expected);
	/* leading blanks before a number are allowed: they fill up the last line */
	g_string_append_printf(text, "cpu%zu ", expected++);
	while (text->len < total - strlen("1 0 0 7\n"))
		g_string_append_c(text, ' ');
	g_string_append(text, "1 0 0 7\n");
	assert_int_equal(text->len, total);
	g_string_append(text, behind);
	put_file(path, text->str, text->len);

	assert_int_equal(procstat_open(path, &procstat), 0);
	for (i = 0; i < 2; i++) { /* the second time with the larger buffer */
		if (procstat_read(procstat, &cpus, &count) || count != expected ||
			cpus[count - 2].ticks[0] != 10 + count - 2 ||
			cpus[count - 1].ticks[0] != 1 || cpus[count - 1].ticks[3] != 7)
			fail_msg("%zu bytes of CPU lines and \"%.10s\"", total, behind);
	}
	procstat_close(procstat);
}

static void test_lines_across_buffer_ends_are_read(void **state)
{
	g_autofree char *intr = g_strnfill(100000, '1');
	g_autofree char *behind = g_strconcat("intr ", intr, "\n", NULL);
	size_t total;

	for (total = 4040; total < 4150; total++) {
		check_length(*state, total, "");
		check_length(*state, total, "i");
		check_length(*state, total, "intr 1\n");
		check_length(*state, total, behind);
	}
	check_length(*state, 8192, behind);
	check_length(*state, 8191, behind);
	check_length(*state, 100000, behind);
}

/* A file of CPU lines without end is not /proc/stat, and is not read for ever. */
static void test_endless_file_is_refused(void **state)
{
	g_autoptr(GString) text = g_string_sized_new(5 << 20);
	const struct procstat_cpu *cpus;
	struct procstat *procstat;
	size_t count;

	while (text->len < 5 << 20)
		g_string_append(text, "cpu0 1 2 3 4 5 6 7 8 9 10\n");
	put_file(*state, text->str, text->len);
	assert_int_equal(procstat_open(*state, &procstat), 0);
	assert_int_equal(procstat_read(procstat, &cpus, &count), -EFBIG);
	procstat_close(procstat);
}

static void test_nul_byte_is_refused(void **state)
{
	static const char text[] = "cpu0 1 2 3 4\ncpu1 1 \0 2 3 4\nintr\n";
	const struct procstat_cpu *cpus;
	struct procstat *procstat;
	size_t count;

	put_file(*state, text, sizeof(text) - 1);
	assert_int_equal(procstat_open(*state, &procstat), 0);
	assert_int_equal(procstat_read(procstat, &cpus, &count), -EBADMSG);
	procstat_close(procstat);
}

/* the kernel's own file, against a plain count of its lines */
static void test_file_of_the_kernel_has_all_its_lines(void **state)
{
	const struct procstat_cpu *cpus;
	struct procstat *procstat;
	g_autofree char *text = NULL;
	const char *line = NULL;
	size_t count, lines = 0;

	if (!g_file_get_contents(PROCSTAT_PATH, &text, NULL, NULL))
		skip();
	while ((line = strstr(line ? line + 1 : text, "\ncpu")))
		lines++;
	assert_int_equal(procstat_open(NULL, &procstat), 0);
	assert_int_equal(procstat_read(procstat, &cpus, &count), 0);
	assert_int_equal(count, lines);
	assert_true(cpus[0].ticks[PROCSTAT_IDLE] + cpus[0].ticks[PROCSTAT_USER] > 0);
	procstat_close(procstat);
}

/* ---- cpu ------------------------------------------------------------------------------------ */

struct list_row {
	int line;
	const char *text;
	int ret;
	const char *cpus; /* the first eight, from 0 */
};

static const struct list_row list_rows[] = {
	{__LINE__, "0-1\n", 0, "11000000"},
	{__LINE__, "0-1", 0, "11000000"},
	{__LINE__, "0,2-4,7\n", 0, "10111001"},
	{__LINE__, "\n", 0, "00000000"},
	{__LINE__, "", 0, "00000000"},
	{__LINE__, "0-16383\n", 0, "11111111"},
	{__LINE__, "0-16384\n", -ERANGE, NULL},
	{__LINE__, "0-1\n\n", -EINVAL, NULL},
	{__LINE__, "none\n", -EINVAL, NULL},
};

static void check_list(const char *path, const struct list_row *row)
{
	unsigned char bitmap[CPU_BITMAP_BYTES];
	unsigned int cpu;
	int ret;

	memset(bitmap, 0x55, sizeof(bitmap));
	ret = cpu_read_list(path, bitmap);
	if (ret != row->ret)
		fail_msg("row of line %d: ret %d", row->line, ret);
	for (cpu = 0; row->cpus && cpu < 8; cpu++)
		if (cpu_in_bitmap(bitmap, cpu) != (row->cpus[cpu] == '1'))
			fail_msg("row of line %d: CPU %u", row->line, cpu);
}

static void test_cpu_lists_are_read(void **state)
{
	const struct list_row nul = {__LINE__, NULL, -EINVAL, NULL};
	const struct list_row big = {__LINE__, NULL, -EFBIG, NULL};
	g_autofree char *zeros = g_strnfill(16384, '0');
	unsigned char bitmap[CPU_BITMAP_BYTES];
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(list_rows); i++) {
		put_file(*state, list_rows[i].text, strlen(list_rows[i].text));
		check_list(*state, &list_rows[i]);
	}
	put_file(*state, "0\0001", 3);
	check_list(*state, &nul);
	put_file(*state, zeros, 16384);
	check_list(*state, &big);
	assert_int_equal(cpu_read_list("/nonexistent/present", bitmap), -ENOENT);
	assert_int_equal(cpu_read_list("/", bitmap), -EISDIR);
}

static void test_current_cpu_is_below_their_number(void **state)
{
	assert_true((long)cpu_current() < sysconf(_SC_NPROCESSORS_CONF));
}

/* ---- clock ---------------------------------------------------------------------------------- */

struct ticks_row {
	int line;
	uint64_t ticks, hz, ns;
};

static const struct ticks_row ticks_rows[] = {
	{__LINE__, 0, 100, 0},
	{__LINE__, 1, 100, 10000000},
	{__LINE__, 287893, 100, 2878930000000},
	{__LINE__, 1844674407370, 100, 18446744073700000000U},
	{__LINE__, 1844674407371, 100, UINT64_MAX},
	{__LINE__, UINT64_MAX, 100, UINT64_MAX},
	{__LINE__, 1, 1024, 976562}, /* 976562.5 */
	{__LINE__, 1025, 1024, 1000976562},
	{__LINE__, 18446744073709551615U, 1000000000, 18446744073709551615U},
	{__LINE__, 18446744073, 1, 18446744073000000000U},
	{__LINE__, 18446744074, 1, UINT64_MAX},
};

static void test_ticks_become_nanoseconds(void **state)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(ticks_rows); i++) {
		const struct ticks_row *row = &ticks_rows[i];
		uint64_t ns = clock_ticks_to_ns(row->ticks, row->hz);

		if (ns != row->ns)
			fail_msg("row of line %d: %" PRIu64, row->line, ns);
	}
	assert_int_equal(clock_ticks_per_second(), sysconf(_SC_CLK_TCK));
}

static void test_clock_is_monotonic(void **state)
{
	struct timespec before, after;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &before);
	ns = clock_monotonic_ns();
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_in_range(ns, (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec,
		(uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fields_are_read, set_up, tear_down),
		cmocka_unit_test(test_unreadable_file_is_an_error),
		cmocka_unit_test_setup_teardown(test_lines_across_buffer_ends_are_read,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_endless_file_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nul_byte_is_refused, set_up, tear_down),
		cmocka_unit_test(test_file_of_the_kernel_has_all_its_lines),
		cmocka_unit_test_setup_teardown(test_cpu_lists_are_read, set_up, tear_down),
		cmocka_unit_test(test_current_cpu_is_below_their_number),
		cmocka_unit_test(test_ticks_become_nanoseconds),
		cmocka_unit_test(test_clock_is_monotonic),
	};

	return cmocka_run_group_tests_name("procstat", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Two sources of CPU times. One gives times in nanoseconds, for the layouts and the arithmetic. The
 * other one is files in place of /proc/stat and the list of present CPUs, which are rewritten between
 * two reads and count USER_HZ: one tick is 10 ms.
 */
#ifndef KPROFS_TESTS_UNIT_MPSTAT_FIXTURE_H
#define KPROFS_TESTS_UNIT_MPSTAT_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "acct/accounting.h"
#include "acct/source.h"
#include "sys/cpu.h"
#include "sys/procstat.h"

#define HEADER_RAW(rows) "v001 " rows "       1000000000    irq   kern   user   idle\n"

/* ---- files that stand for the kernel's ------------------------------------------------------ */

struct files {
	char *dir, *stat, *present;
};

static inline int set_up(void **state)
{
	struct files *files = g_new0(struct files, 1);

	files->dir = g_dir_make_tmp("mpstat.XXXXXX", NULL);
	assert_non_null(files->dir);
	files->stat = g_build_filename(files->dir, "stat", NULL);
	files->present = g_build_filename(files->dir, "present", NULL);
	*state = files;
	return 0;
}

static inline int tear_down(void **state)
{
	struct files *files = *state;

	g_unlink(files->stat);
	g_unlink(files->present);
	g_rmdir(files->dir);
	g_free(files->stat);
	g_free(files->present);
	g_free(files->dir);
	g_free(files);
	return 0;
}

/* in place, since the accounting keeps its descriptors */
static inline void put_file(const char *path, const char *text, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), length);
	close(fd);
}

static inline void put_text(const char *path, const char *text)
{
	put_file(path, text, strlen(text));
}

/* the CPU lines within what the kernel writes around them */
static inline void put_stat(const struct files *files, const char *cpu_lines)
{
	g_autofree char *text = g_strconcat("cpu  1 2 3 4 5 6 7 8 9 10\n", cpu_lines,
		"intr 161406 0 0 7\nctxt 349536\nbtime 1\n", NULL);

	put_text(files->stat, text);
}

static inline struct accounting *create_on(const struct files *files)
{
	struct accounting *acct;
	struct err err = {""};

	assert_int_equal(accounting_create(files->stat, files->present, &err, &acct), 0);
	assert_string_equal(err.text, "");
	return acct;
}

/* ---- what comes out ------------------------------------------------------------------------- */

static inline void check_raw(struct accounting *acct, int line, const char *expected)
{
	g_autoptr(GString) out = g_string_new(NULL);
	int ret = accounting_print_raw(acct, out);

	if (ret || strcmp(out->str, expected) != 0)
		fail_msg("line %d: ret %d, got\n%swhere this belongs:\n%s", line, ret, out->str,
			expected);
}

/* one row's four times, in ticks of 10 ms, out of mpstat-raw; fails where there is no such row */
static inline void check_ticks(struct accounting *acct, int line, unsigned int cpu, uint64_t irq,
	uint64_t kern, uint64_t user, uint64_t idle)
{
	const uint64_t expected[] = {irq, kern, user, idle};
	g_autoptr(GString) out = g_string_new(NULL);
	g_autofree char *label = g_strdup_printf("\n%5u: ", cpu);
	const char *at;
	char *end;
	int i, ret;

	ret = accounting_print_raw(acct, out);
	if (ret)
		fail_msg("line %d: ret %d", line, ret);
	at = strstr(out->str, label);
	if (!at)
		fail_msg("line %d: no row for CPU %u in\n%s", line, cpu, out->str);
	end = (char *)at + strlen(label);
	for (i = 0; i < 4; i++) {
		uint64_t ns = g_ascii_strtoull(end, &end, 16);

		if (ns != expected[i] * 10000000)
			fail_msg("line %d: column %d is %" PRIu64 " ns, not %" PRIu64 " ticks",
				line, i, ns, expected[i]);
	}
}

#endif

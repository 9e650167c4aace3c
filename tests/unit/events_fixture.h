/* SPDX-License-Identifier: MIT */
/*
 * A folder in place of /proc/sys and tracefs, with the events of a known machine.
 */
#ifndef KPROFS_TESTS_UNIT_EVENTS_FIXTURE_H
#define KPROFS_TESTS_UNIT_EVENTS_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/nearest.h"
#include "kprof/records.h"
#include "prof/events.h"
#include "sys/tracefs.h"

/* ---- a tracefs and a /proc of our own -------------------------------------------------------- */

static char root[32]; /* of the fixture */
static struct events_paths paths;

struct fixture_file {
	const char *path; /* a directory where content is NULL */
	const char *content;
};

/* directories before their contents */
static const struct fixture_file fixture_files[] = {
	{ "sys", NULL },
	{ "sys/kernel", NULL },
	{ "sys/kernel/perf_event_max_sample_rate", "20000\n" },
	{ "events", NULL },
	{ "events/enable", "0\n" },
	{ "events/sched", NULL },
	{ "events/sched/enable", "0\n" },
	{ "events/sched/sched_switch", NULL },
	{ "events/sched/sched_switch/id", "314\n" },
	{ "events/sched/sched_wakeup", NULL },
	{ "events/sched/sched_wakeup/id", "316\n" },
	{ "events/sched/sched_broken", NULL },
	{ "events/sched/sched_broken/id", "many\n" },
	{ "events/rcu", NULL },
	{ "events/rcu/rcu_utilization", NULL },
	{ "events/rcu/rcu_utilization/id", "417\n" },
	/* named like a libpfm4 event with a modifier */
	{ "events/instructions", NULL },
	{ "events/instructions/u", NULL },
	{ "events/instructions/u/id", "999\n" },
	{ "events/ftrace", NULL },
	{ "events/ftrace/bprint", NULL }, /* a format without an id */
	{ "events/ftrace/bprint/format", "name: bprint\n" },
	{ "events/ftrace/print", NULL },
	{ "events/ftrace/print/id", "5\n" },
	{ "id", "1\n" },
};

#define FIXTURE_FILES (sizeof(fixture_files) / sizeof(fixture_files[0]))

static inline int make_fixture(void **state)
{
	char path[128];
	size_t i;

	(void)state;
	strcpy(root, "/tmp/test_events.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	for (i = 0; i < FIXTURE_FILES; i++) {
		const struct fixture_file *file = &fixture_files[i];
		FILE *out;

		snprintf(path, sizeof(path), "%s/%s", root, file->path);
		if (!file->content) {
			if (mkdir(path, 0700))
				return -1;
			continue;
		}
		out = fopen(path, "w");
		if (!out)
			return -1;
		fputs(file->content, out);
		fclose(out);
	}
	paths.proc = paths.tracefs = root;
	return 0;
}

static inline int remove_fixture(void **state)
{
	char path[128];
	size_t i;

	(void)state;
	for (i = FIXTURE_FILES; i > 0; i--) {
		snprintf(path, sizeof(path), "%s/%s", root, fixture_files[i - 1].path);
		remove(path);
	}
	return rmdir(root);
}

#endif

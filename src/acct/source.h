/* SPDX-License-Identifier: MIT */
/*
 * The sources of the accounting's times: one table of functions for each kind of source. One of
 * them stands for "not available", so that accounting.c never checks which one it uses.
 *
 * Private to src/acct and its tests. accounting.c calls a source under its mutex.
 */
#ifndef KPROFS_ACCT_SOURCE_H
#define KPROFS_ACCT_SOURCE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The kinds of time that Linux counts separately; each counter should only increase. */
enum source_time {
	SOURCE_USER,
	SOURCE_NICE,
	SOURCE_SYSTEM,
	SOURCE_IDLE,
	SOURCE_IOWAIT,
	SOURCE_IRQ,
	SOURCE_SOFTIRQ,
	SOURCE_STEAL,
	SOURCE_TIMES
};

struct exact;

struct source_cpu {
	bool present;              /* has a row */
	bool online;               /* `ns` is valid */
	uint64_t ns[SOURCE_TIMES]; /* since some fixed time in the past */
};

struct source_paths {
	const char *proc_stat; /* NULL for PROCSTAT_PATH */
	const char *present;   /* NULL for CPU_PRESENT_PATH */
	/*
	 * ns, for rows that add up to the time that passed; NULL if the counters of a row are taken
	 * as they are
	 */
	uint64_t (*clock)(void);
	struct exact *exact; /* NULL if nothing is measured */
};

struct source_ops {
	const char *name; /* as kpstat shows it */
	/* returns -errno with a sentence if this machine does not have the source */
	int (*create)(const struct source_paths *paths, struct err *err, void **source);
	void (*destroy)(void *source);
	/*
	 * Reads the current times: sets `cpus` (of struct source_cpu) to one entry for each number
	 * up to that of the highest CPU. Its content is undefined after a failure.
	 */
	int (*sample)(void *source, GArray *cpus);
};

/* /proc/stat: in steps of 1/USER_HZ s, without offline CPUs. */
extern const struct source_ops source_procstat;

/* No times at all: create never fails, each sample returns -EOPNOTSUPP. */
extern const struct source_ops source_none;

struct accounting;

/*
 * accounting_create() with a given source, for tests. A source that cannot be created or sampled is
 * replaced by source_none.
 */
int accounting_create_from(const struct source_ops *ops, const struct source_paths *paths,
	struct err *err, struct accounting **acct);

#endif

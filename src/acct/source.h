/* SPDX-License-Identifier: MIT */
/*
 * Where the accounting gets its times from: one table of functions for each kind of source, with
 * one for "not available here", so that accounting.c never asks which it has.
 *
 * Private to src/acct and its tests. accounting.c calls a source under its mutex.
 */
#ifndef KPROFS_ACCT_SOURCE_H
#define KPROFS_ACCT_SOURCE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* The kinds of time that Linux tells apart; each is a counter of its own that should only grow. */
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

struct source_cpu {
	bool present;              /* gets a row */
	bool online;               /* `ns` says something */
	uint64_t ns[SOURCE_TIMES]; /* since some fixed moment of the past */
};

struct source_paths {
	const char *proc_stat; /* NULL: PROCSTAT_PATH */
	const char *present;   /* NULL: CPU_PRESENT_PATH */
};

struct source_ops {
	const char *name; /* as kpstat shows it */
	/* -errno with a sentence where this source doesn't exist on this machine */
	int (*create)(const struct source_paths *paths, struct err *err, void **source);
	void (*destroy)(void *source);
	/*
	 * The times of now: sets `cpus` (of struct source_cpu) to one entry for each number up to
	 * the highest CPU's. Content undefined on failure.
	 */
	int (*sample)(void *source, GArray *cpus);
};

/* /proc/stat: in steps of 1/USER_HZ s, offline CPUs missing. */
extern const struct source_ops source_procstat;

/* No times at all: create never fails, each sample is -EOPNOTSUPP. */
extern const struct source_ops source_none;

struct accounting;

/*
 * accounting_create with the source of one's choice; tests bring their own. A source that can't be
 * created or sampled is replaced by source_none.
 */
int accounting_create_from(const struct source_ops *ops, const struct source_paths *paths,
	struct err *err, struct accounting **acct);

#endif

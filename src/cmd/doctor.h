/* SPDX-License-Identifier: MIT */
/*
 * What a machine allows, and what would make it allow more: facts in, findings out. Looking and
 * judging are apart, so that tests can judge machines that are not at hand.
 */
#ifndef KPROFS_CMD_DOCTOR_H
#define KPROFS_CMD_DOCTOR_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/limits.h"
#include "sys/perf.h"

#define DOCTOR_NO_SYSCTL INT64_MIN

struct doctor_facts {
	int perf; /* of perf_probe(): 0 or -errno */
	struct perf_features features; /* where that is 0 */
	int whole_machine; /* whether all tasks of a CPU can be sampled: 0 or -errno */
	struct limits limits;
	int64_t paranoid, kptr_restrict, mlock_kb, max_rate, max_stack, nmi_watchdog; /* sysctls */
	uint32_t cpus;	   /* online */
	int fuse;	   /* opening /dev/fuse to read and write: 0 or -errno */
	bool is_root;
	bool has_fusermount; /* fusermount3, without which only root can mount */
	int tracefs;	   /* 0 or -errno */
	bool sees_kernel;  /* addresses in /proc/kallsyms are not hidden */
	bool has_server;   /* kprofs was found */
	bool has_symbols;  /* a function of this very program could be named */
	bool has_objdump;
	char *mounts;	   /* where kprofs is mounted, "" nowhere */
};

enum doctor_verdict {
	DOCTOR_FINE,
	DOCTOR_LIMITED, /* it works, with less */
	DOCTOR_MISSING, /* kprofs can't work without */
	DOCTOR_NOTE,	/* nothing that could be looked at, but good to know */
};

struct doctor_finding {
	const char *name; /* a word, for programs */
	enum doctor_verdict verdict;
	char *text;   /* what there is */
	char *remedy; /* NULL: none is needed */
};

/* All members; some tens of ms. Frees what it points at: doctor_forget(). */
void doctor_look(struct doctor_facts *facts);
void doctor_forget(struct doctor_facts *facts);

/* struct doctor_finding, in the order in which a person should read them; the caller's. */
GArray *doctor_judge(const struct doctor_facts *facts);

/* "fine", "limited", "missing", "note" */
extern const char *const doctor_verdicts[];

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Computes from the facts of a machine what it allows a user, and the remedy for each restriction.
 * Reading the facts is separate from judging them, so that tests can use the facts of other
 * machines.
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
	struct perf_features features; /* if `perf` is 0 */
	int whole_machine;             /* can all tasks of a CPU be sampled? 0 or -errno */
	struct limits limits;
	int64_t paranoid, kptr_restrict, mlock_kb, max_rate, max_stack, nmi_watchdog; /* sysctls */
	uint32_t cpus;	   /* online */
	int fuse;	   /* opening /dev/fuse to read and write: 0 or -errno */
	bool is_root;
	bool has_fusermount; /* fusermount3, without which only root can mount */
	int tracefs;	   /* 0 or -errno */
	int bpf;	   /* loading an empty BPF program: 0 or -errno */
	int types;	   /* reading the kernel's types (BTF): 0 or -errno */
	bool is_confidential; /* kernel lockdown is "confidentiality" */
	bool sees_kernel;  /* addresses in /proc/kallsyms are not hidden */
	bool has_server;   /* the program kprofs was found */
	bool has_symbols;  /* a function of this program was symbolized */
	bool has_objdump;
	bool has_pfm;      /* libpfm4 can be loaded */
	char *mounts; /* where kprofs is mounted; "": nowhere */
};

enum doctor_verdict {
	DOCTOR_FINE,
	DOCTOR_LIMITED, /* works with restrictions */
	DOCTOR_MISSING, /* kprofs can't work without it */
	DOCTOR_NOTE,    /* for information */
};

struct doctor_finding {
	const char *name; /* an identifier for programs */
	enum doctor_verdict verdict;
	char *text;   /* the finding */
	char *remedy; /* NULL if none is needed */
};

/* Reads all members; takes some tens of ms. doctor_forget() frees them. */
void doctor_look(struct doctor_facts *facts);
void doctor_forget(struct doctor_facts *facts);

/*
 * Returns an array of struct doctor_finding, in the order in which they are printed. The caller
 * frees it.
 */
GArray *doctor_judge(const struct doctor_facts *facts);

/* "fine", "limited", "missing", "note" */
extern const char *const doctor_verdicts[];

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What of BPF works on this machine, tried out once, with a sentence for what does not.
 *
 * Trying takes some ms and needs a few descriptors: not under a lock that workers take. A struct
 * machine does not change afterwards.
 */
#ifndef KPROFS_BPF_MACHINE_H
#define KPROFS_BPF_MACHINE_H

#include <stdbool.h>

#include "base/err.h"
#include "bpf/types.h"

enum machine_part {
	MACHINE_MAPS,        /* bpf(2) is there and allowed; without it nothing else works */
	MACHINE_TYPES,       /* the kernel describes its types */
	MACHINE_SHARED_MAPS, /* arrays that the server maps into its memory (Linux 5.5) */
	MACHINE_TRACEPOINTS, /* programs with typed arguments at tracepoints (tp_btf, Linux 5.5) */
	MACHINE_FUNCTIONS,   /* programs at kernel functions (fentry and fexit) */
	MACHINE_MANY_FUNCTIONS, /* programs at many kernel functions at once (kprobe_multi, Linux 5.18) */
	MACHINE_KERNEL_MEMORY,  /* programs may read the kernel's memory; lockdown forbids it */
	MACHINE_PARTS,
};

struct machine {
	bool has[MACHINE_PARTS];
	int error[MACHINE_PARTS];       /* -errno where it does not work */
	struct err why[MACHINE_PARTS];  /* the sentence where it does not work */
};

/* Tries everything; `types` may be NULL, if opening them failed with `types_error` and `types_why`. */
void machine_look(struct machine *machine, const struct types *types, int types_error,
	const struct err *types_why);

/* 0 if a part works; else the errno, usually as EOPNOTSUPP or EPERM, with the sentence. */
int machine_needs(const struct machine *machine, enum machine_part part, struct err *err);

/* Whether a program that traces the kernel can be loaded, in some 1 ms: 0 or -errno with the sentence. */
int machine_try_program(struct err *err);

/* A short name of a part, for probes/list: "functions". */
const char *machine_part_name(enum machine_part part);

#endif

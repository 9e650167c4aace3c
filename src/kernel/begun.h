/* SPDX-License-Identifier: MIT */
/*
 * Calls under way: a program that lists what the one at the entry of system calls keeps for each thread until
 * the call returns (begun_code.h). A thread that has ended is not listed, whatever it has left.
 */
#ifndef KPROFS_KERNEL_BEGUN_H
#define KPROFS_KERNEL_BEGUN_H

#include <glib.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/rings.h"
#include "bpf/types.h"
#include "kernel/callmachine.h"

struct begun_call {
	uint64_t time_ns;
	uint32_t number;
	uint32_t flags; /* KERNEL_RECORD_COMPAT or 0 */
	uint64_t args[KERNEL_CALL_ARGS];
};

/* The same with the thread. */
struct begun_thread {
	struct begun_call call;
	uint32_t tgid, tid;
	char comm[KERNEL_COMM_BYTES];
};

/*
 * Makes the program that lists the calls of the maps; begun_list() needs its link, which the caller closes.
 * -EOPNOTSUPP: this kernel has no programs that list tasks (Linux 5.8).
 */
int begun_attach(const struct call_machine *maps, const struct types *types, int *link, struct err *err);
/* Appends each thread that is in a call, as struct begun_thread. -errno, after some of them perhaps. */
int begun_list(int link, GArray *threads);

/*
 * Makes records of calls without results, in the order of their times, as if a ring of the CPU
 * KPROF_CPU_UNKNOWN had them. -ENOMEM. rings_copy_clear() frees it.
 */
int begun_copy(GArray *threads, struct rings_copy *copy);
/* The memory that begun_copy() takes for so many. */
size_t begun_copy_bytes(uint32_t count);

#endif

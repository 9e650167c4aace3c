/* SPDX-License-Identifier: MIT */
/*
 * The memory that the profilers of one server may use together: for what their captures hold, and for
 * the rings of their runs; and how many of them may look at each switch of tasks (offcpu, wall). Each
 * profiler takes its part before it uses it and gives it back. What the runs of one ordinary user take is
 * bounded in addition.
 *
 * Thread-safe; never blocks.
 */
#ifndef KPROFS_PROF_BUDGET_H
#define KPROFS_PROF_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct budget;

enum budget_kind {
	BUDGET_CAPTURES, /* the prof_qlimit of each profiler */
	BUDGET_RINGS,	 /* the rings of each run */
	BUDGET_KINDS
};

/*
 * Runs with offcpu or wall at a time. Each slows all switches of the machine by some 300 ns, takes 3 MB
 * in the kernel, and samples what the threads of the others wait for. 44 at a time were tried: a machine with
 * two CPUs did nothing else.
 */
#define BUDGET_OFFCPU_RUNS 8u

/* kb: KiB of each kind that all profilers may take together. */
struct budget *budget_create(uint64_t kb);
/* NULL is allowed. */
void budget_destroy(struct budget *budget);

uint64_t budget_total_kb(const struct budget *budget);
uint64_t budget_left_kb(struct budget *budget, enum budget_kind kind);

/* Takes all of it, or nothing and returns false. */
bool budget_take(struct budget *budget, enum budget_kind kind, uint64_t kb);
/*
 * Exchanges an amount that was taken for another one. Returns false, and changes nothing, if the
 * difference is not left.
 */
bool budget_change(struct budget *budget, enum budget_kind kind, uint64_t from_kb, uint64_t to_kb);
void budget_return(struct budget *budget, enum budget_kind kind, uint64_t kb);

/* What the runs of one user, or of all ordinary users, take together. */
struct budget_share {
	uint64_t rate;	      /* samples a second of each CPU */
	uint64_t descriptors; /* of perf events */
	uint64_t rings_kb;
};

struct budget_limits {
	struct budget_share user; /* for all runs of one user */
	struct budget_share all;  /* and for those of all ordinary users */
};

/*
 * Exchanges what one run of a user has taken for something else, within the limits. Returns false, and
 * changes nothing, if that exceeds one of them. *left: what the other runs leave.
 */
bool budget_change_user(struct budget *budget, uid_t uid, const struct budget_limits *limits,
	const struct budget_share *from, const struct budget_share *to, struct budget_share *left);
void budget_return_user(struct budget *budget, uid_t uid, const struct budget_share *from);

/* One of BUDGET_OFFCPU_RUNS; false if none is left. */
bool budget_take_offcpu(struct budget *budget);
void budget_return_offcpu(struct budget *budget);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The programs that see tasks leave the CPU and come back: their memory, which the server maps, and their
 * instructions, made for the running kernel.
 *
 * A task that leaves gets an entry with the time. When it comes back and was away long enough, the slot of
 * its CPU is filled: with the time, and with the stack in the kernel, which has not moved since. Its user
 * stack can't be read at that moment, since the memory of the task before it is still mapped. So the slot
 * stays pending, and the sample is written in the task's own context, where perf takes the user stack: as
 * it returns to user space (tracepoint rseq_update, for tasks that use restartable sequences, as the C
 * library does), or at the latest as it leaves the CPU again. A slot is enough for a CPU, since a pending
 * task can't move to another one without leaving.
 *
 * If the task leaves again elsewhere than it came back to, its user stack is another one. Then only the
 * instruction at which it had left user space is known, and the sample has that one frame.
 *
 * Private to src/prof.
 */
#ifndef KPROFS_PROF_OFFCPU_CODE_H
#define KPROFS_PROF_OFFCPU_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/code.h"
#include "bpf/types.h"
#include "prof/only.h"

/* Frames of the kernel in one sample, and of a waker in the kernel and in user space. */
#define OFFCPU_FRAMES_MAX 127u
#define OFFCPU_WAKER_FRAMES_MAX 32u
#define OFFCPU_COMM_BYTES 16u

/*
 * A task that leaves takes its place in an array, found by the low bits of its number, until it comes back:
 * two lookups in a table at each switch were a fifth of the cost. Where another task is away with the same
 * low bits, it is in the table. A power of two.
 */
#define OFFCPU_PLACES 16384u
/* The tasks in the table; beyond that those that changed longest ago are forgotten. */
#define OFFCPU_TASKS_MAX 16384u
/* The same for their wakers. */
#define OFFCPU_WAKERS_MAX 2048u

/* A task that is away: a place in the array, or an entry of the table. */
struct offcpu_entry {
	uint64_t left_ns; /* of the table 0: it is on a CPU */
	uint64_t state;   /* of the task when it left, 0 if it could have gone on (TASK_RUNNING) */
	uint32_t owner;	  /* of a place: the thread that is away, 0 if it is free */
	uint32_t reserved[3];
};

_Static_assert(sizeof(struct offcpu_entry) == 32, "no place is in two cache lines");

/* Who made a task runnable: an entry of the table of wakers, and a part of samples. */
struct offcpu_wake {
	uint64_t woken_ns; /* 0: not known */
	uint32_t tgid, tid;
	char comm[OFFCPU_COMM_BYTES];
	uint32_t kernel_bytes, user_bytes; /* of the frames, innermost first; 0 if no stack was taken */
	uint64_t kernel[OFFCPU_WAKER_FRAMES_MAX];
	uint64_t user[OFFCPU_WAKER_FRAMES_MAX];
};

enum offcpu_flags {
	OFFCPU_OWN = 1 << 0,   /* perf's process and thread of the sample are those of the task */
	OFFCPU_USER = 1 << 1,  /* and its user stack and registers are those with which it had left */
	OFFCPU_WAKER = 1 << 2, /* a struct offcpu_wake is before the frames */
};

/* A sample: the raw data that perf copies begins behind its first member. */
struct offcpu_sample {
	uint32_t raw_bytes; /* in perf's record its size; in a slot whether the sample is pending */
	uint32_t flags;
	uint64_t left_ns;
	uint64_t back_ns;
	uint64_t state;     /* as in struct offcpu_entry */
	uint32_t tgid, tid; /* in the first pid namespace */
	uint64_t user_ip;   /* where it had left user space; 0: it has none */
	uint64_t user_sp;
	uint64_t kernel_bytes;
	/* with OFFCPU_WAKER a struct offcpu_wake, then the frames of the kernel, innermost first */
	uint64_t rest[];
};

/* Of the array of slots: a power of two, for the verifier, and room for more than OFFCPU_FRAMES_MAX. */
#define OFFCPU_KERNEL_BYTES_MAX 1024u
#define OFFCPU_REST_BYTES (sizeof(struct offcpu_wake) + OFFCPU_KERNEL_BYTES_MAX)

/* Of one CPU; each has its own cache lines. The rest of the sample follows. */
struct offcpu_slot {
	uint64_t taken;   /* samples, also those that did not fit into the ring */
	uint64_t shorter; /* times that a task was away for less than the minimum */
	/*
	 * Times that a task came back without having been seen to leave, or left again without having been
	 * seen to come back: virtual machines do not report all switches of some tasks.
	 */
	uint64_t unseen;
	uint64_t refused; /* samples that `only` does not want */
	uint64_t reserved[4];
	struct offcpu_sample sample;
};

/* Bytes of a slot with its sample. */
#define OFFCPU_SLOT_BYTES ((uint32_t)((sizeof(struct offcpu_slot) + OFFCPU_REST_BYTES + 63) / 64 * 64))

/* What the instructions need to know of the kernel and of the maps. */
struct offcpu_code {
	int slots;     /* array with one value: OFFCPU_SLOT_BYTES for each CPU */
	uint32_t cpus; /* how many */
	int places;    /* array of OFFCPU_PLACES entries */
	int tasks;     /* table of entries, by thread */
	int wakers;    /* table of wakers, by thread; -1 without :waker */
	int scratch;   /* with :waker, array of one struct offcpu_wake for each CPU */
	int outputs;   /* perf events by CPU */
	uint64_t min_ns;
	bool user;     /* user stacks are wanted */
	uint32_t frames; /* of the kernel, at most OFFCPU_FRAMES_MAX */
	int pid, tgid, comm, flags, state; /* offsets in task_struct */
	int ip, sp;			   /* offsets in pt_regs */
	const struct only *only; /* NULL: all tasks */
	struct only_fields only_fields; /* with `only` */
	bool has_prev_state; /* sched_switch has it as an argument, Linux 5.18 */
};

/* -EOPNOTSUPP with a sentence if the kernel lacks something. The caller sets all but the offsets. */
int offcpu_code_init(struct offcpu_code *env, const struct types *types, struct err *err);

/* Each appends one program for the tracepoints that its name says. */
void offcpu_code_switch(const struct offcpu_code *env, struct code *code);
void offcpu_code_return(const struct offcpu_code *env, struct code *code);
void offcpu_code_waking(const struct offcpu_code *env, struct code *code);

#endif

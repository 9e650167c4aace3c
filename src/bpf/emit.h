/* SPDX-License-Identifier: MIT */
/*
 * The parts that all programs that record have: whose event it is, and the writing of a record (record.h).
 * They append instructions to a struct code. Registers: R6 is the context, R7 the id, R8 the task, R9
 * the record while one is written; R0 to R5 are lost.
 */
#ifndef KPROFS_BPF_EMIT_H
#define KPROFS_BPF_EMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/code.h"
#include "bpf/types.h"
#include "bpf/record.h"
#include "bpf/rings.h"

enum emit_enabled {
	EMIT_NOTHING, /* no event is recorded */
	EMIT_ALL,
	EMIT_ONLY_CHOSEN, /* those of threads in the map of chosen ones */
};

enum emit_choice {
	EMIT_CHOSEN = 1,
	EMIT_CHOSEN_AT_EXEC, /* from the next program on that the thread executes */
};

/* The machine, as programs need it. Invariant once it is made. */
struct emit_machine {
	const struct rings *rings;
	int control;     /* an array map with one value, shared with the server, which has */
	uint32_t enabled; /* at this offset a byte: enum emit_enabled */
	int chosen; /* a map by thread, of a u32: enum emit_choice; -1 if there is none */
	uint32_t own;    /* the server's process, in the first pid namespace */
	int task_pid, task_tgid, task_comm; /* offsets in struct task_struct */
	int task_status; /* of the flags that say that a call is a 32-bit one; -1 if there are none */
	int regs_nr;     /* of the number of a system call in struct pt_regs */
	int regs_args[KERNEL_CALL_ARGS];
};

/*
 * Finds what the types tell; the rest is the caller's to set. -ENOENT with a sentence if the kernel lacks
 * a field.
 */
int emit_machine_init(struct emit_machine *machine, const struct types *types, struct err *err);
/* Finds the server's process, which only a program of the kernel can tell. */
int emit_machine_find_own(struct emit_machine *machine, struct err *err);

struct emit {
	struct code code;
	const struct emit_machine *machine;
	int out;      /* label: the end of the program */
	int key;      /* on the stack, as offsets from R10: keys of maps, */
	int now;      /* the time, */
	int bytes;    /* the size of the record, */
	int flags;    /* its flags, */
	int seq, pos; /* and its number and position */
	/* set before emit_task(): */
	bool begins; /* the program is at the begin of what is recorded later */
	const int *threads; /* fields of the context that name threads: one that is chosen is enough */
	uint32_t thread_count;
};

void emit_init(struct emit *emit, const struct emit_machine *machine);
void emit_fini(struct emit *emit);

/*
 * R8 = the task; the server's own threads go to the end, as all do while the switch above all is off,
 * and those that are not chosen if only chosen ones are recorded.
 */
void emit_task(struct emit *emit);
/* Stores the time on the stack. */
void emit_now(struct emit *emit);
/*
 * Reserves `bytes` of the stack's member and writes what precedes the fields: R9 is the record, with room
 * for KERNEL_RECORD_MAX. Without a ring of this CPU it goes to the end.
 */
void emit_begin(struct emit *emit);
/* Finishes the record with the id in R7. */
void emit_commit(struct emit *emit);
/* Places the end of the program and resolves the labels. */
int emit_finish(struct emit *emit, struct err *err);

/* Offset of a field of the record from R9. */
#define EMIT_AT(member) ((int)offsetof(struct kernel_record, member))
#define EMIT_BODY ((int)sizeof(struct kernel_record))

#endif

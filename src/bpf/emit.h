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

/* Parameters of a function that are in registers, at most. */
#define EMIT_PARAMS 6
/* What a return from a function adds to the stack pointer. */
#if defined(__x86_64__)
#define EMIT_RETURN_SHIFT 8
#else
#define EMIT_RETURN_SHIFT 0
#endif

/* The machine, as programs need it. Invariant once it is made. */
struct emit_machine {
	const struct rings *rings;
	int control;     /* an array map with one value, shared with the server, which has */
	uint32_t enabled; /* at this offset a byte: enum emit_enabled */
	/* at this offset a byte for each id of a tracepoint or function: the generation that records it */
	uint32_t points;
	int chosen; /* a map by thread, of a u32: enum emit_choice; -1 if there is none */
	uint32_t own;    /* the server's process, in the first pid namespace */
	int stacks;      /* a map for emit_stack.c: stacks before they are copied; -1 until it is needed */
	int task_pid, task_tgid, task_comm; /* offsets in struct task_struct */
	int task_status; /* of the flags that say that a call is a 32-bit one; -1 if there are none */
	int regs_nr;     /* of the number of a system call in struct pt_regs, */
	int regs_nr_size; /* and how it is loaded: BPF_DW, or BPF_W for an int */
	int regs_args[KERNEL_CALL_ARGS];
	int regs_compat[KERNEL_CALL_ARGS]; /* of 32-bit calls; where there is task_status */
	/* of a function: its arguments in registers, its result, and the stack pointer */
	int regs_params[EMIT_PARAMS], regs_result, regs_sp;
	bool links_tell; /* program_link_missed() */
	bool memory_refused; /* programs may not read the kernel's memory (MACHINE_KERNEL_MEMORY) */
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
	uint32_t id; /* of a program of a tracepoint or function, */
	uint8_t generation; /* and its generation; 0 if it is none */
	bool begins; /* the program is at the begin of what is recorded later */
	/*
	 * Of a tracepoint where its record is: a register and an offset. That is the context, R6 and 0,
	 * unless the program has made it on its stack. Then it is R10, since before Linux 6.8 the verifier
	 * takes what is read of the stack by other registers for constants, and removes code as dead that
	 * is not.
	 */
	int record, record_at;
	const int *threads; /* fields of the record that name threads: one that is chosen is enough */
	uint32_t thread_count;
};

void emit_init(struct emit *emit, const struct emit_machine *machine);
void emit_fini(struct emit *emit);

/*
 * R8 = the task; the server's own threads go to the end, as all do while the switch above all is off or
 * another generation records, and those that are not chosen if only chosen ones are recorded.
 */
void emit_task(struct emit *emit);
/* Stores the time on the stack. */
void emit_now(struct emit *emit);
/*
 * Reserves `bytes` of the stack's member and writes what precedes the fields: R9 is the record, with room
 * for KERNEL_RECORD_MAX. Without a ring of this CPU it goes to the end.
 */
void emit_begin(struct emit *emit);
/*
 * Copies R2 bytes, at most `most`, from R3 to R4 in steps of 8, without a function of the kernel. R1 is lost;
 * what is behind the bytes is copied up to the next multiple of 8.
 */
void emit_copy(struct emit *emit, int most);
/* Counts an event as missed; takes that back, perhaps on another CPU. */
void emit_count_missed(struct emit *emit);
void emit_uncount_missed(struct emit *emit);

/*
 * The stacks of kernel and program (emit_stack.c), as offsets from R10. A record gets them in three steps:
 * at first there are none; after the filter they are taken, for which R6 is the context; when the record
 * has begun, they are written at R6, the end of what precedes them.
 */
struct emit_stack {
	int scratch; /* where they are until then; 0 if there are none */
	int bytes;
};
int emit_stack_create_map(uint32_t cpus, int *map, struct err *err);
void emit_stack_init(struct emit *emit, struct emit_stack *stack);
/* Leaves out the innermost `skip` frames, where these are those of the program itself. */
void emit_stack_take(struct emit *emit, const struct emit_stack *stack, int skip);
void emit_stack_write(struct emit *emit, const struct emit_stack *stack);

/* Finishes the record with the id in R7. */
void emit_commit(struct emit *emit);
/* Places the end of the program and resolves the labels. */
int emit_finish(struct emit *emit, struct err *err);

/* Offset of a field of the record from R9. */
#define EMIT_AT(member) ((int)offsetof(struct kernel_record, member))
#define EMIT_BODY ((int)sizeof(struct kernel_record))

#endif

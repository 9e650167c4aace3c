/* SPDX-License-Identifier: MIT */
/*
 * The texts, and addresses of sockets, that arguments of system calls point to: instructions that read them
 * and write them behind a struct kernel_call. They are read when the call returns, except the path of a
 * program that is executed, which is kept from the entry on.
 */
#ifndef KPROFS_KERNEL_CALLTEXT_CODE_H
#define KPROFS_KERNEL_CALLTEXT_CODE_H

#include <stdint.h>

#include "bpf/emit.h"
#include "bpf/record.h"
#include "kernel/callmachine.h"

/* What the program at the return has on its stack, as offsets from R10. */
struct calltext_frame {
	int args, result; /* of the call, set by the caller */
	int wanted;	  /* bits of arguments that are texts and were not copied yet, as in callnames.h */
	int strings;	  /* bits of those that were copied */
	int lengths[KERNEL_CALL_STRINGS];
	int scratch; /* the address of the texts until they are written */
};

/* The map for texts before their length is known, and that of paths of programs. -ENOMEM, -EPERM */
int calltext_code_create_maps(int *texts_map, int *execs_map, uint32_t cpus, struct err *err);

/*
 * For the entry: keeps the path of a program that the call in R7 executes for the thread. The registers are
 * in R6. R9 is lost.
 */
void calltext_code_keep_exec(struct emit *emit, const struct call_machine *maps);

/* Takes room on the stack for all but `args` and `result`. */
void calltext_code_take_stack(struct emit *emit, struct calltext_frame *frame);
/*
 * For the return, before the record: reads the texts of the arguments whose bits are in R1 (callnames.h), and
 * adds them to the size of the record, which is set here.
 */
void calltext_code_read(struct emit *emit, const struct call_machine *maps,
	const struct calltext_frame *frame);
/* Writes `strings` and the texts to the record at R9. R6 is then behind them. */
void calltext_code_write(struct emit *emit, const struct calltext_frame *frame);

#endif

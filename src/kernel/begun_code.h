/* SPDX-License-Identifier: MIT */
/*
 * The calls that threads have begun: what the program at the entry keeps for the one at the return.
 *
 * A lookup in a hash map takes 35 ns of the CPU time of a busy machine, so that each thread has a slot in
 * an array, found by the low bits of its number. The slot stays with the thread that has used it. Of two
 * threads with the same low bits the other one takes it only from a thread that has changed nothing in it
 * for a second, with the call that is under way there moved to the hash map; until then the other one's
 * calls are in the hash map themselves. So no two threads write to a slot at the same time.
 */
#ifndef KPROFS_KERNEL_BEGUN_CODE_H
#define KPROFS_KERNEL_BEGUN_CODE_H

#include <stdint.h>

#include "bpf/emit.h"
#include "bpf/record.h"
#include "kernel/callmachine.h"

/* A power of two. */
#define BEGUN_SLOTS 16384

/* The value of both maps. */
struct begun_slot {
	uint64_t state; /* time of the entry, shifted by 1, and 1; when it has returned that time, and 0 */
	uint32_t owner; /* the thread, as in the first pid namespace; 0 is none */
	uint16_t number;
	uint16_t flags; /* KERNEL_RECORD_COMPAT or 0 */
	uint64_t args[KERNEL_CALL_ARGS];
};

/* The array and the hash map. -ENOMEM, -EPERM */
int begun_code_create_maps(int *slots_map, int *others_map, struct err *err);

/*
 * Instructions that store the arguments of a call at reg + at: of its registers at R6, those that its flags
 * say. R1 is lost.
 */
void begun_code_args(struct emit *emit, int reg, int at);

/*
 * Instructions for the entry: keep the call with the number in R7 and the registers at R6. `value` is room
 * for a struct begun_slot on the stack. R9 is lost.
 */
void begun_code_keep(struct emit *emit, const struct call_machine *maps, int value);
/*
 * For the return: put duration and arguments of the call into the stack, and forget it. Goes to `unknown`
 * if the entry was not seen, and to the end of the program if another one has recorded this return just
 * now. R9 is lost.
 */
void begun_code_take(struct emit *emit, const struct call_machine *maps, int duration, int args,
	int unknown);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The two programs that record system calls: one at the entry, which keeps time and arguments for the
 * thread, one at the return, which writes the record.
 */
#ifndef KPROFS_KERNEL_CALLPROGRAM_H
#define KPROFS_KERNEL_CALLPROGRAM_H

#include "base/err.h"
#include "bpf/emit.h"
#include "bpf/types.h"
#include "kernel/callnames.h"
#include "kernel/filter.h"

struct callprogram;

/* What the server sets and programs read, in one array map that is shared: one byte each. */
struct call_control {
	uint8_t calls[CALLNAMES_NUMBERS]; /* whether this system call is recorded */
	uint8_t texts[CALLNAMES_NUMBERS]; /* which of its arguments are texts, as in callnames.h */
	uint8_t stacks[CALLNAMES_NUMBERS]; /* whether its records have stacks */
	uint8_t compat;                   /* whether calls of 32-bit programs are */
	uint8_t enabled;                  /* the switch above all */
	uint8_t generation; /* the programs of system calls that record; the others do nothing */
	uint8_t reserved[5];
	uint32_t threads_lost; /* of those that are chosen, not followed for want of room */
	uint32_t reserved2;
};

/* The machine, as these programs need it. Invariant once it is made. */
struct call_machine {
	struct emit_machine emit; /* first */
	int control; /* the array map with the struct call_control */
	int begun;   /* a map with the calls that threads have begun */
	int texts;   /* a map for texts of arguments before their length is known */
	int execs;   /* a map with the paths of programs that threads begin to execute */
};

/* The maps that all programs share, for so many CPUs. -ENOMEM, -EPERM */
int callprogram_create_maps(struct call_machine *machine, uint32_t cpus, struct err *err);

/*
 * Loads and attaches both: some ms. `filters` is NULL, or a filter for each system call by number, some
 * NULL; they are only needed during the call. With `stacks` they take the stacks of those for which the
 * control map says so. The programs record while the control map has their
 * generation, so that new ones can take over from old ones with no call lost or recorded twice. -ENOMEM,
 * -EPERM, or what the kernel says.
 */
int callprogram_attach(const struct call_machine *machine, const struct types *types,
	const struct filter *const *filters, bool stacks, uint8_t generation, struct callprogram **program,
	struct err *err);
/* Detaches them: up to 65 ms. NULL is allowed. */
void callprogram_detach(struct callprogram *program);
/* Times that the kernel did not run them, since they were running on that CPU. */
uint64_t callprogram_missed(const struct callprogram *program);

#endif

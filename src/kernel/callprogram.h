/* SPDX-License-Identifier: MIT */
/*
 * The two programs that record system calls: one at the entry, which keeps time and arguments for the
 * thread, one at the return, which writes the record.
 */
#ifndef KPROFS_KERNEL_CALLPROGRAM_H
#define KPROFS_KERNEL_CALLPROGRAM_H

#include "base/err.h"
#include "bpf/types.h"
#include "kernel/callmachine.h"
#include "kernel/filter.h"

struct callprogram;

/* The maps that all programs share, for so many CPUs. -ENOMEM, -EPERM */
int callprogram_create_maps(struct call_machine *machine, uint32_t cpus, struct err *err);

/*
 * Loads and attaches both: some ms. `filters` is NULL, or a filter for each system call by number, some
 * NULL; they are only needed during the call. With `stacks` they take the stacks of those for which the
 * control map says so. The programs record those calls for which the control map has their generation, so
 * that new ones can take over from old ones with no call lost or recorded twice. -ENOMEM, -EPERM, or what
 * the kernel says.
 */
int callprogram_attach(const struct call_machine *machine, const struct types *types,
	const struct filter *const *filters, bool stacks, uint8_t generation, struct callprogram **program,
	struct err *err);
/* What attaches them, for pinning: that at the entry and that at the return. */
void callprogram_links(const struct callprogram *program, int links[2]);
/* Detaches them: up to 65 ms. NULL is allowed. */
void callprogram_detach(struct callprogram *program);
/* Times that the kernel did not run them, since they were running on that CPU. */
uint64_t callprogram_missed(const struct callprogram *program);

#endif

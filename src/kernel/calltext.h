/* SPDX-License-Identifier: MIT */
/*
 * Records of system calls (record.h) as events of the trace: a format, and the arguments that it takes in the
 * form of ring_abi.h, so that whatever reads the trace writes the same line and has the same fields:
 *
 *	dfd=AT_FDCWD filename="/etc/passwd" flags=O_RDONLY = 3 (4.2 us)
 *
 * A call has several formats: with a result, with an error, without either; with a text, with its first
 * bytes, or with the address of a text that was not readable. A key stands for one of them. The tables do
 * not change once they are made, so that any threads may use them at the same time.
 */
#ifndef KPROFS_KERNEL_CALLTEXT_H
#define KPROFS_KERNEL_CALLTEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/callargs.h"
#include "bpf/record.h"

struct calltext;

struct calltext *calltext_create(void);
void calltext_destroy(struct calltext *calltext);

/*
 * The key of a record of a system call. `bytes` bounds the record, whose bytes need not be valid; they must
 * hold a struct kernel_call.
 */
uint32_t calltext_key(const struct calltext *calltext, const struct kernel_record *record, size_t bytes);

/* "syscall:NAME", or "syscall:NUMBER" for a call that has no name here. To be freed. */
char *calltext_label(const struct calltext *calltext, uint32_t key);
/* To be freed. */
char *calltext_format(const struct calltext *calltext, uint32_t key);
/* Appends the arguments of the key's format. `key` is that of the record. */
void calltext_args(const struct calltext *calltext, uint32_t key, const struct kernel_record *record,
	size_t bytes, GString *args);

#endif

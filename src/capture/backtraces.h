/* SPDX-License-Identifier: MIT */
/*
 * Names for addresses that programs recorded themselves, in the events of kprof_backtrace.
 *
 * The mappings of a process are those that a capture announces, so that a process may have ended;
 * for a process that the capture does not have, those that it has now. First the mappings are added,
 * then backtraces_finish(), then all addresses, then backtraces_resolve(). One thread at a time.
 */
#ifndef KPROFS_CAPTURE_BACKTRACES_H
#define KPROFS_CAPTURE_BACKTRACES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "capture/decode.h"
#include "symbolizer/symbols.h"
#include "sys/proc_maps.h"

/* Addresses that get names, at most: any user's programs may write events. */
#define BACKTRACES_ADDRESSES_MAX 65536u

struct backtraces;

struct backtraces *backtraces_create(void);
/* Harmless for NULL. */
void backtraces_destroy(struct backtraces *backtraces);

/* Adds the processes of a capture. Damaged records are skipped. -EINTR: cancelled; or of reading. */
int backtraces_learn(
	struct backtraces *backtraces, struct decoder *decoder, const struct cancel *cancel);
/* Whether the capture has the mappings of the process. */
bool backtraces_has_process(const struct backtraces *backtraces, uint32_t pid);
/* Adds a mapping that a process has now, at CLOCK_MONOTONIC time_ns. */
void backtraces_add_mapping(struct backtraces *backtraces, const struct proc_mapping *mapping,
	uint64_t time_ns);
void backtraces_finish(struct backtraces *backtraces);

/* Adds a return address, as it was recorded by the process at this time. */
void backtraces_add_address(
	struct backtraces *backtraces, uint32_t pid, uint64_t time_ns, uint64_t address);
/* Finds the names of all of them. Blocks while files are read. -ECANCELED: some have none. */
int backtraces_resolve(
	struct backtraces *backtraces, struct symbols *symbols, const struct symbols_how *how);

/*
 * Appends "FUNCTION+0xN (FILE)" with the distance of the address from the start of the function, or
 * "[unknown]".
 */
void backtraces_append_name(struct backtraces *backtraces, uint32_t pid, uint64_t time_ns,
	uint64_t address, GString *out);

#endif

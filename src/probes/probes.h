/* SPDX-License-Identifier: MIT */
/*
 * The programs of probes/ of one session, by name.
 *
 * probes_set() attaches and detaches, which takes up to some seconds: one thread at a time, which may
 * block. All other functions answer from memory and from maps of the kernel, in any thread. A thread of
 * its own, kp-probes, exists from the first program on: it detaches removed programs, and does what
 * programs ask for (exit(), print(@map), clear(), ...).
 */
#ifndef KPROFS_PROBES_PROBES_H
#define KPROFS_PROBES_PROBES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/stats.h"
#include "probes/probe.h"

struct probes;

#define PROBES_MAX 256u	      /* programs */
#define PROBES_PLACES_MAX 4096u /* that they attach to, together */
#define PROBES_NAME_MAX 64u
/* The maps of all programs may have this part of memory. */
#define PROBES_MEMORY_PART 32u

struct probes_options {
	struct probe_hooks hooks;
	uint64_t memory_bytes;	     /* of the machine */
	uint32_t keys, string_bytes; /* 0: the defaults */
};

struct probes *probes_create(const struct probes_options *options);
/* Ends the thread and detaches all programs; before the kernel events are destroyed. NULL is allowed. */
void probes_close(struct probes *probes);
void probes_destroy(struct probes *probes);

/* Whether a name is one that a program can have. */
bool probes_is_name(const char *name);
bool probes_has(struct probes *probes, const char *name);
/* Appends the names, which are to be freed. */
void probes_list(struct probes *probes, GPtrArray *names);

/*
 * Sets a program to a text, and starts it, or carries out one of the words clear, off, on (*is_word).
 * Returns -EAGAIN if the text ends too early: more may make it whole. After another error the program
 * that was there goes on: -EINVAL, -EOPNOTSUPP, -ENOENT, -E2BIG, -ENOSPC (too many programs or probes),
 * -ENOMEM, -EPERM, with the sentence.
 */
int probes_set(struct probes *probes, const char *name, const char *text, size_t bytes, bool *is_word,
	struct err *err);
/* The text of a program is complete: runs what BEGIN says. */
void probes_begin(struct probes *probes, const char *name);
/* Removes it; kp-probes detaches it. -ENOENT */
int probes_remove(struct probes *probes, const char *name);
/* Appends the answer, with these names of addresses. -ENOENT */
int probes_print(struct probes *probes, const char *name, const struct value_names *names, GString *out);

/* probes.NAME.{state,events,missed,filtered,keys,keys_dropped,run_ns} */
void probes_print_stats(struct probes *probes, struct stats *stats);

#endif

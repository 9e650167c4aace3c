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
#include "base/units.h"
#include "probes/probe.h"

struct probes;

#define PROBES_MAX 256u	      /* programs */
#define PROBES_PLACES_MAX 4096u /* that they attach to, together */
#define PROBES_NAME_MAX 64u
/* What programs take is measured for so long behind the last probes_measure(). */
#define PROBES_MEASURED_S 60u
/* The maps of all programs may have this part of memory. */
#define PROBES_MEMORY_PART 32u

struct probes_options {
	struct probe_hooks hooks;
	uint64_t memory_bytes;	     /* of the machine */
	/* the last number that a program has: records name their program by it, so all sessions share it */
	_Atomic uint32_t *serials;
	struct file_links *links;    /* must outlive it */
	uint32_t keys, string_bytes; /* 0: the defaults */
	uint32_t pid;		     /* only this process is seen; 0: all */
	bool as_json;		     /* answers, and what is printed */
};

struct probes *probes_create(const struct probes_options *options);
/* Ends the thread and detaches all programs; before the kernel events are destroyed. NULL is allowed. */
void probes_close(struct probes *probes);
void probes_destroy(struct probes *probes);

/* Whether a name is one that a program can have. */
bool probes_is_name(const char *name);
bool probes_has(struct probes *probes, const char *name);
bool probes_exist(struct probes *probes); /* at least one */
/* Appends the names, which are to be freed. */
void probes_list(struct probes *probes, GPtrArray *names);

/*
 * Sets a program to a text, and starts it, or carries out clear or a word of switch_word.h (*is_word).
 * Returns -EAGAIN if the text ends too early: more may make it whole. After another error the program
 * that was there goes on: -EINVAL, -EOPNOTSUPP, -ENOENT, -E2BIG, -ENOSPC (too many programs or probes),
 * -ENOMEM, -EPERM, with the sentence.
 */
int probes_set(struct probes *probes, const char *name, const char *text, size_t bytes, bool *is_word,
	struct err *err);
/* The text of a program is complete: runs what BEGIN says. */
void probes_begin(struct probes *probes, const char *name);
/* A program with libkprof has come: kp-probes attaches what wants its events. Any thread; never blocks. */
void probes_look(struct probes *probes);
/* Waits until what programs have asked for before is done, at most until this time (clock.h). Any thread. */
void probes_settle(struct probes *probes, uint64_t until_ns);
/* A reader of the trace waits no longer for texts: what a program asks for may take as long as it likes. */
#define PROBES_SETTLE_NS (50 * NSEC_PER_MSEC)
/* Removes it; kp-probes detaches it. -ENOENT */
int probes_remove(struct probes *probes, const char *name);
/* Appends the answer, with these names of addresses; pieces may be NULL. -ENOENT */
int probes_print(struct probes *probes, const char *name, const struct value_names *names,
	const struct answer_pieces *pieces, GString *out);

/* Adds the maps of all programs. */
void probes_add_metrics(struct probes *probes, const struct value_names *names, struct openmetrics *metrics);

/*
 * From now on the kernel measures what programs take, if there are some, which takes some ms; until this was
 * not called for PROBES_MEASURED_S. Any thread.
 */
void probes_measure(struct probes *probes);
/* probes.NAME.{state,events,missed,filtered,keys,keys_dropped,run_ns,runs_measured} */
void probes_print_stats(struct probes *probes, struct stats *stats);

#endif

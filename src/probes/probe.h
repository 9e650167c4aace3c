/* SPDX-License-Identifier: MIT */
/*
 * One program of probes/: a checked text with its maps and what it is attached to. probe_create(),
 * _attach(), _detach(), _begin() and _destroy() take up to some seconds, and are for one thread at a
 * time; the others for any thread meanwhile.
 */
#ifndef KPROFS_PROBES_PROBE_H
#define KPROFS_PROBES_PROBE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/emit.h"
#include "probes/answer.h"
#include "probes/attach.h"
#include "probes/check.h"
#include "probes/map_metrics.h"
#include "probes/targets.h"
#include "probes/value.h"

struct probe;

struct gen_action;

/* What the rest of the server does for probes. */
struct probe_hooks {
	struct attach_hooks attach;
	struct check_events events; /* each() NULL: not known */
	void *arg;
	/* makes the rings of the trace, until the release */
	int (*hold)(void *arg, const struct emit_machine **machine, struct err *err);
	void (*release)(void *arg);
	/* what records with this number mean: it takes a reference of the outputs; and the program's end */
	void (*add_outputs)(void *arg, uint32_t serial, const char *label, struct outputs *outputs);
	void (*end_outputs)(void *arg, uint32_t serial);
	/* appends a text to the trace, as of the event `label`, with the time and the CPU of the action */
	void (*message)(void *arg, const char *label, const struct gen_action *action, const char *text,
		size_t bytes);
	/*
	 * What sample() of a program writes to, until the end: each `begin` that succeeds has an `end`.
	 * NULL if there is no profiler.
	 */
	int (*begin_samples)(void *arg, const char *label, const struct samples **samples, struct err *err);
	void (*end_samples)(void *arg, const char *label);
	/* asks for a snapshot of the session, which is taken later; NULL: that is not possible here */
	void (*snapshot)(void *arg, const char *label, const char *name);
	/*
	 * The first bytes of a regular file that cat() names, as a file in memory, from its beginning; or
	 * -errno. What answers reads of the file may never do so: blocks for some 200 ms at most. NULL:
	 * files are not read here.
	 */
	int (*open_file)(void *arg, const char *path, size_t bytes);
	/* names of addresses that print() of a map prints; NULL: they are numbers */
	const struct value_names_ops *names;
	/* a sentence for kperr and the log, about a program that goes on */
	void (*note)(void *arg, const char *name, const char *text);
};

struct probe_options {
	const char *name;
	const struct probe_hooks *hooks; /* must outlive the probe */
	const struct emit_machine *machine;
	const struct targets *targets; /* for the call only */
	int actions;		   /* the map of a queue of struct gen_action */
	_Atomic uint32_t *serials; /* the last number that a program has, of all sessions, */
	struct file_links *links;  /* and their links in files: must outlive the probe; NULL: none are made */
	uint32_t keys, string_bytes; /* 0: the defaults */
	uint32_t pid;		     /* only this process is seen; 0: all */
	bool as_json;		     /* answers, and what is printed */
	uint64_t bytes_most;	   /* that its maps may have; 0: no limit */
	uint64_t ready_most;	   /* that they may take before they have keys (store.h) */
	uint32_t probes_most;	   /* places that it may attach to; 0: no limit */
};

/* Checks the tree, which it takes, makes the maps and attaches; it does not count yet. */
int probe_create(const struct probe_options *options, struct ast *ast, const char *text, struct probe **probe,
	struct err *err);
/* Detaches. NULL is allowed. */
void probe_destroy(struct probe *probe);

/* Lets it count, and runs what BEGIN says if that was not done. */
void probe_run(struct probe *probe);
void probe_begin(struct probe *probe);
/* It counts and prints no more; any thread. */
void probe_stop(struct probe *probe);
/* Runs END, and detaches; what the maps hold stays. */
void probe_off(struct probe *probe);
/* Attaches it again. */
int probe_on(struct probe *probe, const struct targets *targets, struct err *err);
void probe_clear(struct probe *probe);
/* Turns it off if it has lost its links in files, since the process that had them has ended. */
void probe_check_links(struct probe *probe);
/*
 * Attaches it to programs that have come, if it wants events of them. Some may be left then, or after it was
 * created or turned on: it is to be called again.
 */
void probe_look(struct probe *probe);
bool probe_has_more(const struct probe *probe);

/* Whether it is attached; a program that called exit() is, until the server has detached it. */
bool probe_is_on(const struct probe *probe);
uint32_t probe_serial(const struct probe *probe);
uint64_t probe_bytes(const struct probe *probe);
uint64_t probe_ready_bytes(const struct probe *probe);
uint32_t probe_places(const struct probe *probe);

/* Does what a program has asked for; the key of an entry of a map, else 0 bytes. */
void probe_act(struct probe *probe, const struct gen_action *action, const void *key, size_t key_bytes);

/*
 * Appends the answer: the maps, the counts, and the text as comments. names: those of addresses; pieces
 * may be NULL.
 */
void probe_print(struct probe *probe, const struct value_names *names, const struct answer_pieces *pieces,
	GString *out);

/* Adds the maps. */
void probe_add_metrics(struct probe *probe, const struct value_names *names, struct map_metrics *metrics);

struct probe_counts {
	uint64_t events, missed, filtered, keys_dropped, lost, keys, run_ns, runs_measured;
	/* whether the kernel counts what it leaves out for any program of it, and for all */
	bool knows_missed, knows_all_missed;
};
void probe_count(struct probe *probe, struct probe_counts *counts);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * One program of probes/: a checked text with its maps and what it is attached to. probe_create(),
 * _attach(), _detach(), _begin() and _destroy() take up to some seconds, and are for one thread at a
 * time; the others for any thread meanwhile.
 */
#ifndef KPROFS_PROBES_PROBE_H
#define KPROFS_PROBES_PROBE_H

#include <glib.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/emit.h"
#include "probes/attach.h"
#include "probes/targets.h"
#include "probes/value.h"

struct probe;

/* What the rest of the server does for probes. */
struct probe_hooks {
	struct attach_hooks attach;
	void *arg;
	/* makes the rings of the trace, until the release */
	int (*hold)(void *arg, const struct emit_machine **machine, struct err *err);
	void (*release)(void *arg);
	/* what records with this number mean: it takes the outputs */
	void (*add_outputs)(void *arg, uint32_t serial, const char *label, struct outputs *outputs);
	/* appends a text to the trace, as of the event `label` */
	void (*message)(void *arg, const char *label, uint64_t time_ns, const char *text, size_t bytes);
	/* a sentence for kperr and the log, about a program that goes on */
	void (*note)(void *arg, const char *name, const char *text);
};

struct probe_options {
	const char *name;
	const struct probe_hooks *hooks; /* must outlive the probe */
	const struct emit_machine *machine;
	const struct targets *targets; /* for the call only */
	int actions;		   /* the map of a queue of struct gen_action */
	uint32_t *serials;	   /* the last number that a program has; for the thread that attaches */
	uint32_t keys, string_bytes; /* 0: the defaults */
	uint64_t bytes_most;	   /* that its maps may have; 0: no limit */
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

/* Whether it is attached; a program that called exit() is, until the server has detached it. */
bool probe_is_on(const struct probe *probe);
uint32_t probe_serial(const struct probe *probe);
uint64_t probe_bytes(const struct probe *probe);
uint32_t probe_places(const struct probe *probe);

/* Does what a program has asked for. */
void probe_act(struct probe *probe, uint32_t output, uint64_t time_ns);

/* Appends the answer: the maps, the counts, and the text as comments. names: those of addresses. */
void probe_print(struct probe *probe, const struct value_names *names, GString *out);

struct probe_counts {
	uint64_t events, missed, filtered, keys_dropped, lost, keys, run_ns;
};
void probe_count(struct probe *probe, struct probe_counts *counts);

#endif

/* SPDX-License-Identifier: MIT */
/* What the files probe*.c share: one program of probes/. */
#ifndef KPROFS_PROBES_PROBE_STATE_H
#define KPROFS_PROBES_PROBE_STATE_H

#include <pthread.h>

#include "probes/probe.h"
#include "probes/store.h"

/* i: invariant; l: under the lock; t: of the one thread that changes it */
struct probe {
	const struct probe_hooks *hooks;   /* i */
	const struct emit_machine *machine; /* i */
	char *name, *label, *text;	   /* i */
	struct ast *ast;		   /* i */
	struct store *store;		   /* i: what it holds changes by itself */
	int actions;			   /* i */
	_Atomic uint32_t *serials;	   /* i */
	struct file_links *links;	   /* i: NULL without any */
	uint32_t serial;		   /* t */
	struct outputs *outputs;	   /* l, written by t: of the last time that it was attached */
	bool begun;			   /* t: BEGIN was run */
	void *found;			   /* t: names for print(), of the hooks; NULL */
	pthread_mutex_t lock;		   /* a leaf */
	struct attached *attached;	   /* l: by unit; NULL while it is off */
	struct attached_counts former;	   /* l: of programs that were detached */
	uint32_t places;		   /* t: that it attaches to, or did last */
	uint32_t places_most;		   /* i */
	uint32_t pid;			   /* i */
	bool as_json;			   /* i */
};

/* Where names come from while something is printed. */
struct naming {
	const struct probe *probe;
	const struct value_names *addresses; /* of the kernel and processes */
};

/* Completes the names of addresses by those that the program has. */
struct value_names probe_names_of(const struct naming *naming, const struct outputs *outputs);

#endif

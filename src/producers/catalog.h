/* SPDX-License-Identifier: MIT */
/*
 * The events of all programs, by name: one switch for each provider:name, whoever has it, and the
 * switches above them all.
 *
 * What a name means is settled by the first program that has it. As long as a program lives that
 * has it, another format for the name is refused. An event (a name with a format) has a number, 1,
 * 2, ..., which means that event for as long as anybody knows it, and is never used again.
 *
 * A program that is attached holds its events (catalog_add, catalog_leave): these have files in
 * events/. Memory of programs that have ended refers to them (catalog_put): these have numbers
 * still. A setting outlives both, when it is not what all would have (`all`), up to
 * CATALOG_SETTINGS_MAX.
 *
 * Texts of kprof_printf and its kin are kept here too, so that many programs share one copy; they
 * have no name, number or switch of their own.
 *
 * All functions are thread-safe and don't block: one mutex, a leaf. catalog_is_on takes none.
 */
#ifndef KPROFS_PRODUCERS_CATALOG_H
#define KPROFS_PRODUCERS_CATALOG_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <kprof/attach_abi.h>

struct catalog;

/* "provider:name" */
#define CATALOG_LABEL_MAX (2 * KPROF_NAME_MAX + 1)
/* Settings of names that no program has at the moment. */
#define CATALOG_SETTINGS_MAX 16384u
/* What names and formats may occupy, in all and for the programs of one user. */
#define CATALOG_BYTES_MAX ((size_t)64 << 20)
#define CATALOG_USER_BYTES_MAX ((size_t)32 << 20)

/* Never changed while somebody refers to it. */
struct catalog_event {
	uint32_t number;    /* 0: a text */
	uint8_t kind;	    /* enum kprof_event_kind */
	const char *label;  /* "" for texts */
	const char *format; /* NUL-terminated */
};

/* `changed`: called after a switch changed, without a lock, in the thread that changed it. */
struct catalog_hooks {
	void (*changed)(void *arg);
	void *arg;
};

/* The master switch is on, kprintx off, all events off. */
struct catalog *catalog_create(const struct catalog_hooks *hooks);
/* Nobody refers to an event any more. */
void catalog_destroy(struct catalog *catalog);

/* Is this text provider:name, each [A-Za-z0-9_.-]{1,100}? */
bool catalog_is_label(const char *label);

/*
 * A program of `uid` has this event: gives the event with a hold and a reference. The label is
 * checked, the format is not looked into. -EINVAL: no name; -EEXIST: a program that is attached has
 * the name with another format; -EDQUOT: CATALOG_USER_BYTES_MAX; -ENOSPC: others leave no
 * more of CATALOG_BYTES_MAX (fair_share_quota).
 */
int catalog_add(struct catalog *catalog, uid_t uid, uint8_t kind, const char *label,
	const char *format, const struct catalog_event **event);
/* Another hold of an event that one refers to. -EEXIST as above. */
int catalog_hold(struct catalog *catalog, const struct catalog_event *event);
/* Ends a hold; the reference stays. */
void catalog_leave(struct catalog *catalog, const struct catalog_event *event);
void catalog_put(struct catalog *catalog, const struct catalog_event *event);

/* What its programs are to test: its own switch and those above it. */
bool catalog_is_on(struct catalog *catalog, const struct catalog_event *event);
/* The same for a text without an event of its own. kind: KPROF_KIND_PRINTF, KPROF_KIND_PRINTX. */
bool catalog_text_is_on(struct catalog *catalog, uint8_t kind);

/* The master switch. */
bool catalog_enabled(struct catalog *catalog);
void catalog_set_enabled(struct catalog *catalog, bool on);

/* The switch that kprof_printx() obeys. */
bool catalog_printx(struct catalog *catalog);
void catalog_set_printx(struct catalog *catalog, bool on);
void catalog_toggle_printx(struct catalog *catalog);

/* What was said last to all events, present and future. */
bool catalog_all(struct catalog *catalog);
void catalog_set_all(struct catalog *catalog, bool on);

/*
 * One event's own switch. A name is known while a program that is attached has it, or when it was
 * set before any program had it. -ENOENT: not known.
 */
int catalog_get(struct catalog *catalog, const char *label, bool *on);
/* Known or not. -EINVAL: no name; -ENOSPC: CATALOG_SETTINGS_MAX. */
int catalog_set(struct catalog *catalog, const char *label, bool on);

/* Appends the names known, as char * to be g_freed, sorted. */
void catalog_list(struct catalog *catalog, GPtrArray *labels);

#define CATALOG_INFO_VERSION 1
/*
 * What events/info says. A line "version CATALOG_INFO_VERSION", which changes when the lines behind
 * it mean something else or look otherwise; then one for each event that has a number, by number:
 *	name 'N' format 'F' id I enabled|disabled
 * quotes, backslashes and control characters as \xNN.
 */
void catalog_print_info(struct catalog *catalog, GString *out);

struct catalog_counts {
	uint64_t events;   /* that programs which are attached have */
	uint64_t kept;	   /* others that have a number still */
	uint64_t settings; /* of names that no program has at the moment */
	uint64_t bytes;	   /* as they count against the bounds */
};
void catalog_count(struct catalog *catalog, struct catalog_counts *counts);

#endif

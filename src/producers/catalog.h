/* SPDX-License-Identifier: MIT */
/*
 * The events of all producers, by name. Each provider:name has one switch, whichever producers have
 * it; the master switch and kprintx are above them.
 *
 * The first producer that defines a name decides its format. While a producer with that name is
 * attached, another format for it is refused. An event (a name with a format) has a number: 1, 2,
 * ... A number means the same event for as long as anything refers to that event, and is never used
 * again.
 *
 * An attached producer holds its events (catalog_add, catalog_leave): these have files in events/.
 * The pool of an exited producer refers to its events (catalog_put): these still have numbers. The
 * switch of a name outlives both if it differs from the default (`all`), up to CATALOG_SETTINGS_MAX
 * names.
 *
 * Formats of kprof_printf, kprof_printx and kprof_backtrace are kept here too, so that producers
 * share one copy; they have no name, number or switch.
 *
 * All functions are thread-safe and do not block: one mutex, a leaf. catalog_is_on takes no lock.
 */
#ifndef KPROFS_PRODUCERS_CATALOG_H
#define KPROFS_PRODUCERS_CATALOG_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <kprof/attach_abi.h>

#include "base/switch_word.h"

struct catalog;

/* "provider:name" */
#define CATALOG_LABEL_MAX (2 * KPROF_NAME_MAX + 1)
/* The number of names without an attached producer that may have a setting. */
#define CATALOG_SETTINGS_MAX 16384u
/* Bytes of names and formats: in all, and of the producers of one user. */
#define CATALOG_BYTES_MAX ((size_t)64 << 20)
#define CATALOG_USER_BYTES_MAX ((size_t)32 << 20)

/* Never changed while there is a reference to it. */
struct catalog_event {
	uint32_t number;    /* 0 for a format of kprof_printf */
	uint8_t kind;	    /* enum kprof_event_kind */
	const char *label;  /* "" for formats of kprof_printf */
	const char *format; /* NUL-terminated */
	const char *shown;  /* the same as readers of the trace show it: of a span with "begin " before it */
};

/* `changed` is called after a switch changed, without a lock, in the thread that changed it. */
struct catalog_hooks {
	void (*changed)(void *arg);
	void *arg;
};

/* The master switch is on, kprintx off, all events off. */
struct catalog *catalog_create(const struct catalog_hooks *hooks);
/* Called when there is no reference to an event any more. */
void catalog_destroy(struct catalog *catalog);

/* Whether events of this kind (enum kprof_event_kind) have a name and a switch. */
bool catalog_has_name(uint8_t kind);
/* Returns whether this text is provider:name, each [A-Za-z0-9_.-]{1,100}. */
bool catalog_is_label(const char *label);

/*
 * Defines an event of a producer of `uid`: sets the event, with a hold and a reference. The label
 * is checked, the format is not parsed.
 *
 * Returns -EINVAL if it is not provider:name; -EEXIST if an attached producer has the name with
 * another format; -EDQUOT if the user would have more than CATALOG_USER_BYTES_MAX; -ENOSPC if other
 * users leave no more of CATALOG_BYTES_MAX (fair_share_quota).
 */
int catalog_add(struct catalog *catalog, uid_t uid, uint8_t kind, const char *label,
	const char *format, const struct catalog_event **event);
/* Takes another hold of an event to which the caller has a reference. Returns -EEXIST as above. */
int catalog_hold(struct catalog *catalog, const struct catalog_event *event);
/* Ends a hold; the reference stays. */
void catalog_leave(struct catalog *catalog, const struct catalog_event *event);
void catalog_put(struct catalog *catalog, const struct catalog_event *event);

/* Whether producers write this event: its own switch and those above it. */
bool catalog_is_on(struct catalog *catalog, const struct catalog_event *event);
/* The same for kprof_printf, which has no event. kind: KPROF_KIND_PRINTF, KPROF_KIND_PRINTX. */
bool catalog_text_is_on(struct catalog *catalog, uint8_t kind);

/*
 * Programs of probes/ that want events of this name, also of producers to come: `more` is 1, or -1 for one
 * that wants it no more. Returns -EINVAL if it is not provider:name.
 */
int catalog_probe(struct catalog *catalog, const char *label, int more);
/* Whether one of them wants it, whatever its switch. */
bool catalog_is_probed(const struct catalog_event *event);
/*
 * The format of the event that a name means: of one that a producer has, or has had and to which a pool
 * refers; to be freed. NULL if there is none.
 */
char *catalog_format(struct catalog *catalog, const char *label);

/* The master switch. */
bool catalog_enabled(struct catalog *catalog);
void catalog_set_enabled(struct catalog *catalog, enum switch_word to);

/* The switch of kprof_printx(). */
bool catalog_printx(struct catalog *catalog);
void catalog_set_printx(struct catalog *catalog, enum switch_word to);

/* The last value set for all events; events that are defined later have it too. */
bool catalog_all(struct catalog *catalog);
void catalog_set_all(struct catalog *catalog, enum switch_word to);

/*
 * Reads the switch of one event. A name is known while an attached producer has it, or if it was
 * set before any producer had it. Returns -ENOENT if it is not known.
 */
int catalog_get(struct catalog *catalog, const char *label, bool *on);
/*
 * Sets the switch of one event; the name need not be known. Returns -EINVAL if it is not
 * provider:name, -ENOSPC beyond CATALOG_SETTINGS_MAX.
 */
int catalog_set(struct catalog *catalog, const char *label, enum switch_word to);

/* Appends the known names, sorted, as char * that the caller frees with g_free(). */
void catalog_list(struct catalog *catalog, GPtrArray *labels);

/* The same for the spans that have a number: also those of exited programs. */
void catalog_list_spans(struct catalog *catalog, GPtrArray *labels);

#define CATALOG_INFO_VERSION 1
/*
 * Appends the text of events/info: a line "version CATALOG_INFO_VERSION", which changes when the
 * syntax or the meaning of the following lines changes; then one line for each event that has a
 * number, by number:
 *
 *	name 'N' format 'F' id I enabled|disabled
 *
 * Quotes, backslashes and control characters are written as \xNN.
 */
void catalog_print_info(struct catalog *catalog, GString *out);

struct catalog_counts {
	uint64_t events;   /* of attached producers */
	uint64_t kept;	   /* events without an attached producer, to which a pool refers */
	uint64_t settings; /* of names without an attached producer */
	uint64_t bytes;	   /* as counted against CATALOG_BYTES_MAX */
};
void catalog_count(struct catalog *catalog, struct catalog_counts *counts);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The last refusals, for people: what kperr shows.
 *
 * Thread-safe; never blocks longer than a copy of a line takes.
 */
#ifndef KPROFS_FS_KPERR_H
#define KPROFS_FS_KPERR_H

#include <glib.h>
#include <stdint.h>
#include <sys/types.h>

struct kperr;

#define KPERR_LINES 16	     /* refusals kept */
#define KPERR_WRITTEN_MAX 200 /* bytes of what was written that are shown */

/* One refusal, or something worth a note. */
struct kperr_entry {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	pid_t pid;
	uid_t uid;
	const char *file;
	unsigned int line; /* of the write, from 1; 0: it was no write */
	const char *written;
	size_t written_size;
	const char *reason;
	const char *usage;
};

struct kperr *kperr_create(void);
void kperr_destroy(struct kperr *kperr);

/* Keeps a line made of the entry and returns a copy of it, which is the caller's to g_free. */
char *kperr_add(struct kperr *kperr, const struct kperr_entry *entry);

/* Appends the lines held, newest last. */
void kperr_print(struct kperr *kperr, GString *out);

/* Lines ever added. */
uint64_t kperr_count(struct kperr *kperr);

#endif

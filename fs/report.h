/* SPDX-License-Identifier: MIT */
/*
 * Reports: writes a refusal, or a success with a note, as one line of kperr and one line of the
 * log. Thread-safe; blocks at most for the write to the log.
 */
#ifndef KPROFS_FS_REPORT_H
#define KPROFS_FS_REPORT_H

struct kperr;
struct kperr_entry;
struct log;
struct report;

/*
 * The most lines a second in the log, so that a writer in a loop does not fill it. kperr has all of
 * them.
 */
#define REPORT_LOG_PER_SECOND 10

/* Both must outlive it. */
struct report *report_create(struct kperr *kperr, struct log *log);
/* Harmless for NULL. */
void report_destroy(struct report *report);

/* Sets the time of the entry. */
void report_add(struct report *report, struct kperr_entry *entry);

#endif

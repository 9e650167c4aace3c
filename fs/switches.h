/* SPDX-License-Identifier: MIT */
/*
 * Writes to the switches of events, and those that clear, are answered when the attached programs
 * have applied the change, at the latest after SYNC_ROUNDS_WAIT_MS (producers/sync_rounds.h). A
 * program that has not applied it by then is named in kperr; the write succeeds.
 *
 * No thread waits for it: the request is parked, and the listener's thread answers it. Thread-safe;
 * nothing here blocks.
 */
#ifndef KPROFS_FS_SWITCHES_H
#define KPROFS_FS_SWITCHES_H

#include <stddef.h>

struct fuse_req;
struct listener;
struct openfile;
struct origin;
struct switches;

struct switches *switches_create(void);
/* Called when nothing is parked, after the listener has been stopped. */
void switches_destroy(struct switches *switches);

/*
 * Called from any thread after a change that the listener sends to producers. listener is NULL if
 * there are no producers.
 */
void switches_changed(struct switches *switches, struct listener *listener);

/*
 * Carries out a write to a file with DIRTAB_SWITCH and answers it, now or later. listener is NULL
 * if there are no programs. If a signal that ends the writer interrupts it, it is answered at once,
 * and the change stays in effect.
 */
void switches_write(struct switches *switches, struct listener *listener, struct fuse_req *req,
	struct openfile *file, const struct origin *origin, const char *data, size_t size);

#endif

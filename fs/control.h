/* SPDX-License-Identifier: MIT */
/*
 * The control thread, "kp-control": it alone gives commands to the profiler, one at a time, in the
 * order in which they came. Workers only copy what was written and queue it.
 *
 * It also owns `hold`: which open file of kpctl the run is tied to, the opens that wait for that
 * file's close, and what happens at the close. Everything here is thread-safe and does not block,
 * but for control_hold().
 */
#ifndef KPROFS_FS_CONTROL_H
#define KPROFS_FS_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct control;
struct fuse_req;
struct openfile;
struct origin;
struct profiler;

/* What an open that meets a holder waits for the close that may be on its way. */
#define CONTROL_OPEN_WAIT_MS 1000
/* After the last command memory that the next start would use is kept for so long. */
#define CONTROL_SPARE_KEPT_MS 2000

/* akaros: every open file holds the run, for reading too. The profiler must outlive the thread. */
int control_create(struct profiler *profiler, bool akaros, struct control **control);

/* After control_close(); no request may come any more. */
void control_destroy(struct control *control);

/*
 * Finishes the open of a file with DIRTAB_CONTROL, now or when the holder has closed; -EBUSY after
 * CONTROL_OPEN_WAIT_MS. Takes the caller's reference.
 */
void control_open(struct control *control, struct fuse_req *req, struct openfile *file,
	const struct origin *origin);

/*
 * Queues a write and answers it when it has been carried out. Interrupted before it is begun:
 * EINTR; while it is under way, a start gives up.
 */
void control_write(struct control *control, struct fuse_req *req, struct openfile *file,
	const struct origin *origin, const char *data, size_t size);

/* The kernel closed the file. Takes the caller's reference. */
void control_release(struct control *control, struct openfile *file);

/* Ties the run to the file (the word `hold`); in the control thread. -EBUSY: another file has it. */
int control_hold(struct control *control, struct openfile *file, struct err *err);

/* CPUs came or went: the profiler will be told from the control thread. */
void control_cpus_changed(struct control *control);

/* Commands queued behind the one at hand, and opens that wait for a holder's close. */
unsigned int control_waiting(struct control *control);

/*
 * Answers what waits (ESHUTDOWN), stops a run and ends the thread; waits for the command at hand,
 * a start under way gives up. Later requests get ESHUTDOWN.
 */
void control_close(struct control *control);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Reads of streams, and the thread that answers those that wait.
 *
 * Thread-safe. A read that finds nothing is parked and the worker goes on; the thread "kp-stream"
 * answers them and notifies polls. It sleeps without timeout until streams_wake().
 */
#ifndef KPROFS_FS_STREAMS_H
#define KPROFS_FS_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fuse_pollhandle;
struct fuse_req;
struct openfile;
struct streams;

int streams_create(struct streams **streams);
/* Called after streams_close(), when no further request can arrive. */
void streams_destroy(struct streams *streams);

/* Answers the read by this thread, now or later. */
void streams_read(struct streams *streams, struct fuse_req *req, struct openfile *file, pid_t reader,
	size_t size, bool nonblock);

/*
 * Returns whether a read would return without waiting. Takes ownership of the handle, which may be
 * NULL, and notifies it when that changes.
 */
bool streams_poll(struct streams *streams, struct openfile *file, struct fuse_pollhandle *handle);

/* Called when the kernel has closed the file; forgets its poll handle. */
void streams_forget(struct streams *streams, struct openfile *file);

/*
 * Called from any thread when data became readable or a stream ended. Takes no lock, and is fast
 * while no read waits.
 */
void streams_wake(struct streams *streams);

/*
 * The same, but if a single reader waits, the calling thread answers it. Called by a thread that
 * holds no lock and has just made the data. Not to be called in a request, whose file may be the
 * one to be read.
 */
void streams_serve(struct streams *streams);

/*
 * Makes reads stop waiting: parked reads are answered, with end of file if there are no more data.
 * Returns at once.
 */
void streams_close(struct streams *streams);

/* Reads parked now. */
uint64_t streams_waiting(struct streams *streams);

#endif

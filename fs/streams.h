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

struct fuse_pollhandle;
struct fuse_req;
struct openfile;
struct streams;

int streams_create(struct streams **streams);
/* After streams_close(); no request may come any more. */
void streams_destroy(struct streams *streams);

/* Answers the read, now or later. */
void streams_read(struct streams *streams, struct fuse_req *req, struct openfile *file, size_t size,
	bool nonblock);

/*
 * Returns whether a read would return without waiting. Takes ownership of the handle, which may be
 * NULL, and notifies it when that changes.
 */
bool streams_poll(struct streams *streams, struct openfile *file, struct fuse_pollhandle *handle);

/* The kernel closed the file: forgets its poll handle. */
void streams_forget(struct streams *streams, struct openfile *file);

/* Something became readable, or ended. Cheap while no read waits; any thread, no lock is taken. */
void streams_wake(struct streams *streams);

/*
 * The same, and where a single reader waits, the calling thread answers it. For a thread that holds no
 * lock and has just made the data; not from a request, whose file may be the one to be read.
 */
void streams_serve(struct streams *streams);

/*
 * From now on no read waits: parked reads are answered, at the end of what is held with end of file.
 * Returns at once.
 */
void streams_close(struct streams *streams);

/* Reads parked now. */
uint64_t streams_waiting(struct streams *streams);

#endif

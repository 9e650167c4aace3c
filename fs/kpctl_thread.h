/* SPDX-License-Identifier: MIT */
/*
 * The control thread, "kp-control": it alone gives commands to the profiler, one at a time, in the
 * order in which they came. Workers only copy what was written and queue it.
 *
 * It also owns `hold`: the open file of kpctl that holds the run, the opens that wait for the close
 * of that file, and the actions at the close. All functions are thread-safe, and only
 * kpctl_thread_hold() blocks.
 */
#ifndef KPROFS_FS_KPCTL_THREAD_H
#define KPROFS_FS_KPCTL_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct kpctl_thread;
struct fuse_req;
struct openfile;
struct origin;
struct profiler;

/*
 * The longest time that an open waits for the close of the holding file, which the kernel may
 * already have sent.
 */
#define KPCTL_THREAD_OPEN_WAIT_MS 1000
/* The time for which memory is kept for the next start, after the last command. */
#define KPCTL_THREAD_SPARE_KEPT_MS 2000

struct kpctl_thread_options {
	struct profiler *profiler; /* it outlives the thread */
	bool akaros;		   /* every open file holds the run, also one for reading */
	/* does what is due, in the control thread; returns when the next is, or 0. May be NULL */
	uint64_t (*serve)(void *arg);
	void (*hold_ended)(void *arg); /* the file that held the run was closed; in the control thread */
	void *arg;
};

int kpctl_thread_create(const struct kpctl_thread_options *options, struct kpctl_thread **kpctl);

/* Called after kpctl_thread_close(), when no further request can arrive. */
void kpctl_thread_destroy(struct kpctl_thread *kpctl);

/*
 * Finishes the open of a file with DIRTAB_CONTROL, now or when the holder has closed; -EBUSY after
 * KPCTL_THREAD_OPEN_WAIT_MS. Takes the caller's reference.
 */
void kpctl_thread_open(struct kpctl_thread *kpctl, struct fuse_req *req, struct openfile *file,
	const struct origin *origin);

/*
 * Queues a write and answers it when it has been carried out. If it is interrupted before it is
 * begun, it is answered with EINTR; if it is interrupted later, only a `start` is cancelled.
 */
void kpctl_thread_write(struct kpctl_thread *kpctl, struct fuse_req *req, struct openfile *file,
	const struct origin *origin, const char *data, size_t size);

/* The same for a close of a descriptor of a file with a writer. */
void kpctl_thread_flush(struct kpctl_thread *kpctl, struct fuse_req *req, struct openfile *file,
	const struct origin *origin);

/* Called when the kernel has closed the file. Takes the caller's reference. */
void kpctl_thread_release(struct kpctl_thread *kpctl, struct openfile *file);

/* Makes the file hold the run (the word `hold`). Called in the control thread. Returns -EBUSY if
 * another file holds it.
 */
int kpctl_thread_hold(struct kpctl_thread *kpctl, struct openfile *file, struct err *err);

/* Called when CPUs went online or offline: the control thread will call profiler_cpus_changed(). */
void kpctl_thread_cpus_changed(struct kpctl_thread *kpctl);

/* The control thread will call `serve`. */
void kpctl_thread_wake(struct kpctl_thread *kpctl);

/*
 * The number of commands queued behind the current one, and of opens that wait for the close of the
 * holding file.
 */
unsigned int kpctl_thread_waiting(struct kpctl_thread *kpctl);

/*
 * Answers waiting requests with ESHUTDOWN, stops a run and ends the thread; waits for the current
 * command, and cancels it if it is a `start`. Later requests get ESHUTDOWN.
 */
void kpctl_thread_close(struct kpctl_thread *kpctl);

#endif

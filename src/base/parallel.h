/* SPDX-License-Identifier: MIT */
/*
 * One piece of work that several threads do together. The work divides itself: each thread takes the
 * next part of it until nothing is left. So it is also complete with fewer threads than wanted.
 */
#ifndef KPROFS_BASE_PARALLEL_H
#define KPROFS_BASE_PARALLEL_H

/*
 * More threads do not help: the work is mostly bound by the memory then, and a server has several
 * readers at the same time.
 */
#define PARALLEL_THREADS_MAX 4

/* Returns the number of threads that this machine can run at the same time, at most PARALLEL_THREADS_MAX. */
unsigned int parallel_threads(void);

/*
 * Calls work(arg, n) in the calling thread with n = 0, and in `threads` - 1 more threads with n = 1,
 * 2, ..., which get `name` (15 characters at most). Returns when all calls have returned. If a
 * thread cannot be started, the others do its part. Blocks for as long as the work takes; any
 * thread.
 */
void parallel_run(const char *name, unsigned int threads, void (*work)(void *arg, unsigned int n),
	void *arg);

#endif

/* SPDX-License-Identifier: MIT */
/* Freed memory that the C library keeps: see trim.h. */
#include "base/trim.h"

#include <malloc.h>
#include <pthread.h>

/*
 * One thread at a time: glibc prepares its allocator at the first call of malloc_trim(3) if nothing was
 * allocated from it before, which is so where a sanitizer has its own allocator. Two threads that prepare it
 * at the same time crash.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void trim_memory(void)
{
	pthread_mutex_lock(&lock);
#ifdef __GLIBC__
	malloc_trim(0);
#endif
	pthread_mutex_unlock(&lock);
}

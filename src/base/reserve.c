/* SPDX-License-Identifier: MIT */
/* Memory for small allocations when malloc(3) fails: see reserve.h. */
#include "base/reserve.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "config.h"

/*
 * Each failed allocation gives back one piece and tries again; the C library takes at least 132
 * KiB at a time. A few pieces are enough for all requests that are being answered at that time,
 * and for a walk of /proc.
 */
#define PIECES 16u
#define PIECE_BYTES ((size_t)4 << 20)

/* Global, since malloc(3) has no argument for it. */
static struct {
	void *_Atomic pieces[PIECES];  /* NULL if it was given back, or never reserved */
	_Atomic unsigned int missing;  /* number of pieces given back */
} reserve;

static void *map_piece(void)
{
	void *piece = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return piece == MAP_FAILED ? NULL : piece;
}

int reserve_init(void)
{
	unsigned int i;

	for (i = 0; i < PIECES; i++) {
		void *piece = map_piece();

		if (!piece)
			return -ENOMEM;
		atomic_write_release(&reserve.pieces[i], piece);
	}
	return 0;
}

bool reserve_is_whole(void)
{
	unsigned int i;

	/*
	 * relaxed, here and below: the count is a hint only; a piece itself changes hands by its
	 * own exchange
	 */
	if (!atomic_read_relaxed(&reserve.missing))
		return true;
	for (i = 0; i < PIECES && atomic_read_relaxed(&reserve.missing); i++) {
		void *none = NULL, *piece;

		if (atomic_read_relaxed(&reserve.pieces[i]))
			continue;
		piece = map_piece();
		if (!piece)
			return false;
		if (atomic_cas_acq_rel(&reserve.pieces[i], &none, piece))
			atomic_add_relaxed(&reserve.missing, -1u);
		else
			munmap(piece, PIECE_BYTES);
	}
	return true;
}

/* The sanitizers have their own malloc, which ends the process when it fails. */
#if defined(HAVE___LIBC_MALLOC) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/*
 * The C library's own functions: malloc(3) and the others in a process that does not replace
 * them.
 */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

/* True: the allocation should be tried again. */
static bool give_back(size_t bytes)
{
	unsigned int i;

	if (bytes > RESERVE_SMALL_BYTES)
		return false;
	for (i = 0; i < PIECES; i++) {
		void *piece = atomic_swap_acq_rel(&reserve.pieces[i], NULL);

		if (!piece)
			continue;
		atomic_add_relaxed(&reserve.missing, 1u);
		munmap(piece, PIECE_BYTES);
		return true;
	}
	return false;
}

void *malloc(size_t bytes)
{
	void *memory;

	do
		memory = __libc_malloc(bytes);
	while (!memory && give_back(bytes));
	return memory;
}

void *calloc(size_t count, size_t bytes)
{
	size_t all;
	void *memory;

	if (__builtin_mul_overflow(count, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	do
		memory = __libc_calloc(count, bytes);
	while (!memory && give_back(all));
	return memory;
}

void *realloc(void *memory, size_t bytes)
{
	void *moved;

	do
		moved = __libc_realloc(memory, bytes);
	while (!moved && bytes && give_back(bytes)); /* of no bytes: freed, which is no failure */
	return moved;
}

void *memalign(size_t alignment, size_t bytes)
{
	void *memory;

	do
		memory = __libc_memalign(alignment, bytes);
	while (!memory && give_back(bytes));
	return memory;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
	int saved = errno;
	void *found;

	if (alignment % sizeof(void *) || !alignment || (alignment & (alignment - 1)))
		return EINVAL;
	found = memalign(alignment, bytes);
	errno = saved;
	if (!found)
		return ENOMEM;
	*memory = found;
	return 0;
}

#endif

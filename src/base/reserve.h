/* SPDX-License-Identifier: MIT */
/*
 * Memory set aside at the start of the server, from which small allocations are served when there is
 * no other.
 *
 * GLib ends the process when an allocation fails, and so would the server with its capture. So it
 * allocates in three ways, of which HACKING says more ("Memory"):
 *
 *	- what may become larger than RESERVE_SMALL_BYTES is allocated so that it can fail (g_try_malloc,
 *	  malloc, mmap, growing.h), and who asked is told -ENOMEM;
 *	- what is smaller is taken from the reserve when malloc(3) has nothing left (RLIMIT_AS, strict
 *	  overcommit): the process's malloc is a small wrapper around the C library's. From then on
 *	  requests that would need memory are refused with ENOMEM, until the reserve is whole again;
 *	- what takes much in many small pieces, a view, is made in another process (fs/viewproc.h).
 *
 * The reserve is address space: it takes no memory before it is used. All functions are thread-safe.
 */
#ifndef KPROFS_BASE_RESERVE_H
#define KPROFS_BASE_RESERVE_H

#include <stdbool.h>

/* A larger allocation does not get any of the reserve. */
#define RESERVE_SMALL_BYTES (2u << 20)

/* Sets the reserve aside; -ENOMEM. Without this call, or in a process that has none, malloc just fails. */
int reserve_init(void);

/*
 * Whether the reserve is whole; takes back what is missing where that can be had now. For who is about
 * to begin something that needs memory: false means -ENOMEM. A read of one variable while nothing is
 * missing. True where there never was a reserve.
 */
bool reserve_is_whole(void);

#endif

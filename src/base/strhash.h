/* SPDX-License-Identifier: MIT */
/*
 * A hash of texts that other processes choose, for GHashTable in place of g_str_hash(). Its key is random
 * in each process, so no other process can choose texts that all collide, by which a table with
 * thousands of them would take quadratic time. So the order of a table's entries differs in each process.
 *
 * SipHash-1-3. Thread-safe; allocates nothing.
 */
#ifndef KPROFS_BASE_STRHASH_H
#define KPROFS_BASE_STRHASH_H

#include <stddef.h>
#include <stdint.h>

/* Returns the hash of a text that ends with a NUL. */
unsigned int strhash(const void *text);

/* The hash itself, with `key` of 16 bytes. */
uint64_t strhash_bytes(const unsigned char *key, const void *data, size_t bytes);

#endif

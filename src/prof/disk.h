/* SPDX-License-Identifier: MIT */
/*
 * The directory of the mount option state=: captures in files, from which the next server has them back.
 *
 *	arena.N          blocks, as they are in memory: what their records need, and nothing else
 *	index:NAME       which blocks a session holds (disk_index.h); index of the session at the top
 *	journal:NAME     the records that come before those of its blocks (disk_journal.h)
 *	settings:NAME    its settings, as text; written by another room
 *
 * Files are written and read, not mapped: a write to a mapping costs a fault for each page that the kernel
 * has written to the disk, and ends the process if the disk has an error. Space for blocks is reserved. No
 * other process writes there: the directory is its owner's alone, has no other files, and one server at a
 * time has it. Thread-safe.
 */
#ifndef KPROFS_PROF_DISK_H
#define KPROFS_PROF_DISK_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/stats.h"

struct disk;

/* Raised when a file has another form. */
#define DISK_VERSION 3
/* Before the name of a file that is being written and replaces the one with this name when it is whole. */
#define DISK_NEW_PREFIX "new."

/*
 * Opens the directory, which is made if it is missing. Returns -EPERM if others may write there, -ENOTEMPTY
 * if it has files and none of a server, -EBUSY if another server has it, -EOPNOTSUPP if its file system
 * cannot reserve space.
 */
int disk_open(const char *path, struct disk **disk, struct err *err);
/* NULL is allowed. */
void disk_close(struct disk *disk);
/* A descriptor of the directory, for openat(2). */
int disk_directory(const struct disk *disk);

/* Whether a session may have this name in the directory; NULL: that at the top. The name of its file. */
char *disk_file_name(const char *kind, const char *session);
/* Appends the names of the sessions that have such a file, "" for that at the top; to be freed. */
void disk_list(struct disk *disk, const char *kind, GPtrArray *names);
/* Reads a file of at most `most` bytes; NULL with -errno, -EFBIG if it is longer. */
int disk_read(struct disk *disk, const char *file, size_t most, GByteArray **content);
/* Replaces a file as a whole. */
int disk_write(struct disk *disk, const char *file, const void *data, size_t len);
/* Gives a file that can't be read another name, false if it is not there; and whether there are such ones. */
bool disk_set_aside(struct disk *disk, const char *kind, const char *session);
bool disk_has_old(struct disk *disk);
void disk_remove(struct disk *disk, const char *kind, const char *session);
/* The same for all files of a session; the settings first, without which there is none. */
void disk_set_session_aside(struct disk *disk, const char *session);
void disk_remove_session(struct disk *disk, const char *session);

/* ---- arenas ---------------------------------------------------------------------------------- */

/* A new arena, with reserved space. -ENOSPC or another error, which is counted. */
int disk_add_arena(struct disk *disk, size_t bytes, uint32_t *number);
/* Whether one is there, which the last process made. */
bool disk_take_arena(struct disk *disk, uint32_t number, size_t bytes);
/* Returns false if it does not have all these bytes. */
bool disk_read_arena(struct disk *disk, uint32_t number, size_t at, uint8_t *data, size_t len);
/* It is not used any more; and removed. */
void disk_drop_arena(struct disk *disk, uint32_t number, size_t bytes, bool keep);

/* The arena that was written to last, so that it is not opened for each write; fd -1: none. */
struct disk_file {
	int fd;
	uint32_t number;
};

/* Returns false after an error, which is counted. */
bool disk_write_arena(struct disk *disk, struct disk_file *file, uint32_t number, size_t at,
	const uint8_t *data, size_t len);
void disk_file_close(struct disk_file *file);

/* Removes the files of arenas that do not have these numbers (uint32_t). */
void disk_remove_arenas(struct disk *disk, GHashTable *numbers);

/* ---- counts ---------------------------------------------------------------------------------- */

/* There was no room, or another error, for something. */
void disk_count_error(struct disk *disk, int code);
void disk_count_damaged(struct disk *disk, uint64_t blocks);
uint64_t disk_damaged(struct disk *disk);
/* Writes that the end of the last process cut off. */
void disk_count_unfinished(struct disk *disk, uint64_t writes);
/* Whether errors are to be said: there was one, and none was said for ten seconds. *code: the last one's. */
bool disk_take_error(struct disk *disk, int *code);
void disk_print_stats(struct disk *disk, struct stats *stats);

/* ---- checksums ------------------------------------------------------------------------------- */

/* Of bytes that grow: what was summed up, in whole lines of 32 bytes. All 0 at first. */
struct disk_sum {
	uint64_t a[4], b[4];
	size_t upto;
};

/* The sum of the first `len` bytes, of which the first sum->upto are in *sum; updates it. */
uint64_t disk_sum_update(struct disk_sum *sum, const uint8_t *data, size_t len);
uint64_t disk_sum_of(const void *data, size_t len);

#endif

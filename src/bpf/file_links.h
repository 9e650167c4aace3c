/* SPDX-License-Identifier: MIT */
/*
 * Programs at places in files (uprobes). To attach or detach one the kernel waits for each process that
 * maps the file, for as long as such a process keeps its mmap lock (sys/held.h). So the links are those of
 * another process, kp-links, which attaches and detaches them while no process is found held: the server
 * waits for its answers only, for a limited time. When the server has ended, in whatever way, that process
 * detaches what is left, and ends.
 *
 * The process exists while there are links, and for FILE_LINKS_IDLE_MS after that; a thread of the server
 * reads what it sends. Any thread may call these functions.
 */
#ifndef KPROFS_BPF_FILE_LINKS_H
#define KPROFS_BPF_FILE_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct file_links;

/* The server waits so long for an answer: to attach takes some 20 ms. */
#define FILE_LINKS_WAIT_MS 10000
#define FILE_LINKS_IDLE_MS 2000

/* lost(): the process has ended, and all links with it. It is called in the thread, without a lock. */
struct file_links *file_links_create(void (*lost)(void *arg), void *arg);
/*
 * Detaches all, and waits until that is done, unless a process is held, or nothing happens for
 * FILE_LINKS_WAIT_MS: then kp-links, which *process becomes, does the rest later. *process is 0 otherwise.
 */
void file_links_destroy(struct file_links *links, int *process);

struct file_links_place {
	int file;	  /* opened for reading */
	uint64_t offset;  /* in the file */
	uint64_t counter; /* the offset of a semaphore of USDT, which is counted up meanwhile, or 0 */
	bool at_return;
	int pid;	  /* -1: all processes */
};

/*
 * Attaches a BPF_PROG_TYPE_KPROBE program at a place, as a part of the group, a number that the caller
 * chooses. -EBUSY if a process is held, or if the kernel has not answered the request before. -ETIMEDOUT if
 * it has not answered in time: the program is attached as soon as the kernel goes on, unless the group is
 * detached. Errors of perf_link_uprobe().
 */
int file_links_attach(struct file_links *links, uint64_t group, int program,
	const struct file_links_place *place, struct err *err);
/* -EBUSY if a process is held, so that nothing could be attached now. */
int file_links_check(struct file_links *links, struct err *err);

/* What the kernel keeps of programs until they are detached. */
struct file_links_size {
	uint32_t places;
	uint64_t bytes, ready_bytes; /* of their maps, as probes/store.h has them */
};

/*
 * Detaches a group, later if a process is held; until then `size` counts as left, with the places that
 * the group has. A group that does not exist is no error. Never blocks.
 */
void file_links_detach(struct file_links *links, uint64_t group, const struct file_links_size *size);
/* Adds up what is to be detached and still attached. */
void file_links_left(struct file_links *links, struct file_links_size *size);
/* Whether something was asked for the group since it was detached, and kp-links has not ended since. */
bool file_links_has(struct file_links *links, uint64_t group);

/* The process: whether the command line asks for it, and what it does instead of all else. */
bool file_links_is_asked(int argc, char **argv);
int file_links_main(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The executable mappings of one process, from its /proc/PID/maps: by PROCMAP_QUERY where the kernel
 * has it (6.11), which skips what is not executable and knows build-ids; else by its text. Private to
 * proc*.c, one thread at a time.
 */
#ifndef KPROFS_SYS_PROC_MAPS_H
#define KPROFS_SYS_PROC_MAPS_H

#include "sys/proc.h"

/* Holds a line with a path of PATH_MAX bytes in which each is written as four (\012). */
#define PROC_BUFFER_BYTES 65536

/*
 * To tell a build-id the kernel may have to read the file, and a file on a file system that a user
 * serves (FUSE) or that sits behind a network can make it wait for ever. So it is asked only for files
 * on a device with a driver, and on those device-less file systems that this many entries name: local
 * ones of the mount table that we see. What a user mounts in a namespace of his own is not in it.
 */
#define PROC_DEVICES_MAX 1024

struct proc_maps {
	bool no_query;		/* this kernel lacks PROCMAP_QUERY */
	unsigned int device_count;
	uint32_t devices[PROC_DEVICES_MAX]; /* minors (major 0) whose files may be read */
	unsigned char build_id[PROC_BUILD_ID_MAX];
	char buf[PROC_BUFFER_BYTES];
};

/* Reads the mount table of this process below `proc`; without one no device-less one is trusted. */
void proc_maps_init(struct proc_maps *maps, const char *proc);

/*
 * All executable mappings behind fd, an open maps file. 0 (also when the process ends meanwhile) or
 * what the callback returned when that was not 0.
 */
int proc_maps_read(struct proc_maps *maps, int fd, pid_t pid,
	int (*mapping)(void *arg, const struct proc_mapping *mapping), void *arg);

#endif

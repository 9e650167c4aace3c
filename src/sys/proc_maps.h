/* SPDX-License-Identifier: MIT */
/*
 * The executable mappings of one process, from its /proc/PID/maps: by PROCMAP_QUERY if the kernel
 * has it (6.11), which skips mappings that are not executable and returns build-ids, otherwise from
 * its text. Private to proc*.c. One thread at a time.
 */
#ifndef KPROFS_SYS_PROC_MAPS_H
#define KPROFS_SYS_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_BUILD_ID_MAX 20 /* bytes; what the kernel reports */

/* An executable mapping, named as perf's MMAP2 records name it: "//anon", "[vdso]", raw bytes. */
struct proc_mapping {
	pid_t pid;
	uint64_t start;
	uint64_t size;	 /* bytes */
	uint64_t offset; /* bytes into the file */
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	const char *path;
	const unsigned char *build_id;
	uint8_t build_id_length; /* 0 if there is none, or not known */
	bool build_id_known;	 /* was read, or must not be read: it will not become known later */
};

/* Holds a line with a path of PATH_MAX bytes in which each is written as four (\012). */
#define PROC_BUFFER_BYTES 65536

/*
 * To return a build-id the kernel may have to read the file. On a file system that a user serves
 * (FUSE) or that is behind a network that can block forever. So build-ids are read only for files
 * on a device with a driver, and on those file systems without a device that are in this list:
 * local ones in the mount table that we see. What a user mounts in a namespace of his own is not
 * in it.
 */
#define PROC_DEVICES_MAX 1024

/* Their mount points, with NULs: about what a machine with hundreds of containers needs. */
#define PROC_POINTS_BYTES 32768
#define PROC_POINT_MAX 4096

/* The request number of PROCMAP_QUERY, for filters of system calls. */
#define PROC_MAPS_QUERY 0xc0686611u

struct proc_maps {
	bool no_query;		/* this kernel lacks PROCMAP_QUERY */
	bool network;		/* network file systems are trusted, too */
	unsigned int device_count;
	uint32_t devices[PROC_DEVICES_MAX]; /* minors (major 0) whose files may be read */
	size_t points_used;
	char points[PROC_POINTS_BYTES]; /* where trusted ones are mounted; each ends in a NUL */
	unsigned char build_id[PROC_BUILD_ID_MAX];
	char buf[PROC_BUFFER_BYTES];
};

/*
 * Reads the mount table of this process below `proc`; without one no file system without a device
 * is trusted.
 */
void proc_maps_init(struct proc_maps *maps, const char *proc);

/* The same, with network file systems: they may hang, but users cannot mount them. */
void proc_maps_init_network(struct proc_maps *maps, const char *proc);

/*
 * All executable mappings of fd, an open maps file. 0 (also if the process ends meanwhile) or the
 * value of the callback if not 0.
 */
int proc_maps_read(struct proc_maps *maps, int fd, pid_t pid,
	int (*mapping)(void *arg, const struct proc_mapping *mapping), void *arg);

/* Whether files on this device may be read: see PROC_DEVICES_MAX. */
bool proc_maps_trusts(const struct proc_maps *maps, uint32_t dev_major, uint32_t dev_minor);
/*
 * The part of an absolute path behind the mount point that leads to it, of those of trusted
 * devices. A mount in between may be of any type, so it must not be entered. NULL if there is none.
 */
const char *proc_maps_mount_of(const struct proc_maps *maps, const char *path);

/*
 * Finds the mapping that begins at this address, with its build-id and without its name. Returns
 * -ENOENT if there is none, -ENOTTY if this kernel has no PROCMAP_QUERY.
 */
int proc_maps_query(struct proc_maps *maps, int fd, uint64_t start, struct proc_mapping *found);

#endif

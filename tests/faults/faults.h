/* SPDX-License-Identifier: MIT */
/*
 * What the library that makes calls fail (faults.c) and the driver (faults.py) say to each other, in a file
 * that both have mapped. The driver knows the layout: struct.pack("<...").
 */
#ifndef KPROFS_TESTS_FAULTS_H
#define KPROFS_TESTS_FAULTS_H

#include <stdatomic.h>
#include <stdint.h>

/* Which calls count: bits of `kinds`. */
enum fault_kind {
	FAULT_ALLOC = 1 << 0, /* malloc, calloc, realloc, memalign */
	FAULT_MAP = 1 << 1,   /* mmap, mremap */
	FAULT_OPEN = 1 << 2,  /* open, fopen, opendir, memfd_create, eventfd, timerfd, pipe, socket, dup */
	FAULT_TASK = 1 << 3,  /* pthread_create, posix_spawn */
	FAULT_CALL = 1 << 4,  /* syscall (perf_event_open), ioctl, pread, pwrite, sendmsg, recvmsg, fcntl */
};

/* The processes that are meant: the server, and the one that makes its views. */
#define FAULTS_PROCESSES 2

struct fault_plan {
	_Atomic uint64_t kinds;	  /* the driver's; 0 if nothing is counted */
	_Atomic uint64_t at;	  /* the driver's: the first call that fails, from 1; 0 if none */
	_Atomic uint64_t burst;	  /* the driver's: how many fail from there on */
	_Atomic uint64_t bytes;	  /* the driver's: allocations of at least so many count */
	_Atomic uint64_t verbose; /* the driver's: where a call fails its stack goes to standard error */
	_Atomic uint64_t count;	  /* calls that counted */
	_Atomic uint64_t failed;  /* of them that failed */
	_Atomic uint64_t unused;
};

struct faults {
	struct fault_plan plans[FAULTS_PROCESSES];
};

#endif

/* SPDX-License-Identifier: MIT */
/* This machine, as uname(2) and the clocks describe it. Thread-safe; nothing blocks. */
#ifndef KPROFS_SYS_HOST_H
#define KPROFS_SYS_HOST_H

#include <stdint.h>

#define HOST_CLOCK_MONOTONIC 1 /* the kernel's number of that clock, in files too */

struct host {
	char name[65]; /* the lengths are the kernel's (__NEW_UTS_LEN) */
	char release[65];
	char arch[65];
	uint32_t cpus_present; /* at least 1 */
	uint32_t cpus_online;
	uint64_t boot_wall_ns; /* the wall clock's time when CLOCK_MONOTONIC was 0 */
};

void host_read(struct host *host);

#endif

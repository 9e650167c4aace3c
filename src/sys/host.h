/* SPDX-License-Identifier: MIT */
/* This machine, as uname(2), the clocks and files describe it. Thread-safe; nothing blocks. */
#ifndef KPROFS_SYS_HOST_H
#define KPROFS_SYS_HOST_H

#include <stdint.h>

#include "kprof/records.h"

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

#define HOST_MACHINE_ID_PATH "/etc/machine-id"
#define HOST_BOOT_ID_FILE "/sys/kernel/random/boot_id" /* in /proc */

/*
 * Reads an id of 32 hexadecimal digits, with hyphens between them or not. Without the file, or if it has
 * something else, all bytes are 0.
 */
void host_read_id(const char *path, uint8_t id[KPROF_HOST_ID_BYTES]);
/* As 32 digits; "" if all bytes are 0. */
void host_format_id(const uint8_t id[KPROF_HOST_ID_BYTES], char text[2 * KPROF_HOST_ID_BYTES + 1]);

#endif

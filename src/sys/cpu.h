/* SPDX-License-Identifier: MIT */
/* Lists of CPUs, from /sys/devices/system/cpu. Thread-safe; reads block only as sysfs does. */
#ifndef KPROFS_SYS_CPU_H
#define KPROFS_SYS_CPU_H

#include <stdbool.h>

#define CPU_PRESENT_PATH "/sys/devices/system/cpu/present"
#define CPU_ONLINE_PATH "/sys/devices/system/cpu/online"

/* CPU numbers are below this: twice what Linux can be built for today (8192, on x86). */
#define CPU_NUMBERS 16384
#define CPU_BITMAP_BYTES (CPU_NUMBERS / 8)

/*
 * Reads the CPUs in a list file into `bitmap` (CPU_BITMAP_BYTES). An empty list ("\n", as when no
 * CPU is offline) sets all bits to 0. Returns -errno of open and read, -EINVAL if the file is not a
 * list, -ERANGE if a number is not below CPU_NUMBERS, -EFBIG if it is longer than a list can be.
 * The bitmap's content is undefined on failure.
 */
int cpu_read_list(const char *path, unsigned char *bitmap);

/*
 * The same for frequent reads: one function returns a descriptor of the list or -errno, the other
 * reads its current content. A read takes a tenth of the time of opening the file again. Closed
 * with close(2).
 */
int cpu_open_list(const char *path);
int cpu_reread_list(int fd, unsigned char *bitmap);

static inline bool cpu_in_bitmap(const unsigned char *bitmap, unsigned int cpu)
{
	return bitmap[cpu / 8] >> (cpu % 8) & 1;
}

static inline void cpu_set_in_bitmap(unsigned char *bitmap, unsigned int cpu)
{
	bitmap[cpu / 8] |= (unsigned char)(1 << (cpu % 8));
}

static inline void cpu_clear_in_bitmap(unsigned char *bitmap, unsigned int cpu)
{
	bitmap[cpu / 8] &= (unsigned char)~(1 << (cpu % 8));
}

/* Returns the CPU on which the calling thread runs, or 0 if it is not known. */
unsigned int cpu_current(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The per-CPU lines of /proc/stat.
 *
 * The kernel makes the whole file for every read, so one read of just the needed lines is the
 * cheapest way: the descriptor stays open, one pread() reads as many bytes as the CPU lines had
 * so far, and nothing behind them is copied or parsed (the interrupt line is the longest). The
 * buffer grows when CPUs are added; it never shrinks.
 *
 * One thread at a time for each struct procstat.
 */
#ifndef KPROFS_SYS_PROCSTAT_H
#define KPROFS_SYS_PROCSTAT_H

#include <stddef.h>
#include <stdint.h>

#define PROCSTAT_PATH "/proc/stat"

/*
 * The columns in the file's order. The later ones (guest and guest_nice) are part of user and
 * nice already and not read.
 */
enum procstat_field {
	PROCSTAT_USER,
	PROCSTAT_NICE,
	PROCSTAT_SYSTEM,
	PROCSTAT_IDLE,
	PROCSTAT_IOWAIT,
	PROCSTAT_IRQ,
	PROCSTAT_SOFTIRQ,
	PROCSTAT_STEAL,
	PROCSTAT_FIELDS
};

struct procstat_cpu {
	unsigned int cpu;                /* its number, below CPU_NUMBERS */
	uint64_t ticks[PROCSTAT_FIELDS]; /* in USER_HZ; columns that an old kernel lacks are 0 */
};

struct procstat;

/* `path` NULL for the real file. -errno of open. Reads nothing yet. */
int procstat_open(const char *path, struct procstat **procstat);
void procstat_close(struct procstat *procstat);

/*
 * Reads the current content: one entry for each online CPU, in ascending order. The array belongs
 * to `procstat` and is valid until the next call for it. Returns -errno of pread, -EBADMSG if the
 * file is not what the kernel writes (a truncated line, a column that is not a number or is beyond
 * 64 bits, CPUs out of order, no CPU at all), or -EFBIG if it has more CPU lines than CPUs can
 * exist.
 */
int procstat_read(struct procstat *procstat, const struct procstat_cpu **cpus, size_t *count);

#endif

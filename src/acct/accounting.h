/* SPDX-License-Identifier: MIT */
/*
 * The accounting behind mpstat and mpstat-raw: how long each CPU was in Akaros's four states
 * since a baseline.
 *
 *	irq  = irq + softirq	kern = system
 *	idle = idle + iowait	user = user + nice (guest time is in these already)
 *
 * Steal is in no state, since the machine did not have that time; it is kept separately. Nothing
 * runs in the background: the source of times (/proc/stat) is read when a file is read.
 *
 * Each number follows these rules:
 * - There is one row for each present CPU, in ascending order. While a CPU is offline its times
 *   stand still.
 * - Times never decrease. A kernel counter that decreases adds nothing until it has exceeded its
 *   old value; each counter is checked by itself, before they are summed.
 * - Time that may lie outside the accounted time is not counted: a CPU that is offline while a
 *   baseline is taken (at create, reset, or when resumed) is counted from the first sample in
 *   which it is online.
 *
 * All functions are thread-safe (one mutex, no other lock is taken inside) and block only to read
 * two small files of the kernel, about ten microseconds. If reading fails they return -errno,
 * change nothing and append nothing: -EOPNOTSUPP if there is no source of times, -EBADMSG if the
 * file is not what the kernel writes, otherwise the errno of pread.
 */
#ifndef KPROFS_ACCT_ACCOUNTING_H
#define KPROFS_ACCT_ACCOUNTING_H

#include <glib.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/switch_word.h"

struct accounting;
struct exact;

/*
 * Begins accounting, resumed, with the current times as the baseline and ipi on. Paths that are
 * NULL stand for the real files. Both files stay open and are read again for each sample. If
 * /proc/stat can't be used, this call still succeeds, with a sentence in *err, and all later calls
 * return -EOPNOTSUPP.
 */
int accounting_create(const char *proc_stat, const char *present, struct err *err,
	struct accounting **acct);
/*
 * The same for this machine, with rows that add up to the time that passed, and exact times while
 * `exact` measures them; it outlives the accounting. NULL is allowed.
 */
int accounting_create_exact(struct exact *exact, struct err *err, struct accounting **acct);
void accounting_destroy(struct accounting *acct);

/* Appends the table for users: a line of names, and one of 111 bytes for each present CPU. */
int accounting_print(struct accounting *acct, GString *out);

/*
 * Appends the table for programs: 56 bytes with version, number of rows and units a second
 * (1000000000: ns), then 75 bytes for each present CPU, so row i is at 56 + 75 * i.
 */
int accounting_print_raw(struct accounting *acct, GString *out);

/*
 * Appends the times of each present CPU since the baseline to an array of struct kprof_rec_cpu_times,
 * of which it sets the number of the CPU and the times; the other members are 0.
 */
int accounting_read(struct accounting *acct, GArray *times);

/* Return the length of the newest table of each kind, without reading the source. */
size_t accounting_bytes(struct accounting *acct);
size_t accounting_bytes_raw(struct accounting *acct);

/* Sets a new baseline: all times begin at 0 again. */
int accounting_reset(struct accounting *acct);

/*
 * Resumes or pauses. Time while paused is in no column. Setting the same state again does
 * nothing.
 */
int accounting_set_on(struct accounting *acct, enum switch_word to);
bool accounting_is_on(struct accounting *acct);

/* Whether readings of exact times interrupt CPUs that have changed no state since the last one. */
void accounting_set_ipi(struct accounting *acct, enum switch_word to);

/*
 * Adds mpstat.ipi and mpstat.accounting (on or off), mpstat.source, mpstat.backward_steps (how
 * often a counter of the kernel was below an earlier value of itself), with exact times mpstat.asked and
 * mpstat.split, and cpu.N.steal_ns (under the rules above, so since the baseline). On failure the cpu rows
 * are missing, the others are there.
 */
int accounting_print_stats(struct accounting *acct, struct stats *stats);

#endif

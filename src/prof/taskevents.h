/* SPDX-License-Identifier: MIT */
/*
 * The kernel's records about tasks (fork, exit, comm, mmap), from the rings of all CPUs, sorted
 * by time and applied to the state in tasks.h. Owned by the thread that drains the rings.
 */
#ifndef KPROFS_PROF_TASKEVENTS_H
#define KPROFS_PROF_TASKEVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "prof/tasks.h"

struct taskevents;

struct taskevents *taskevents_create(void);
void taskevents_destroy(struct taskevents *events);

/*
 * Copies one record of a task ring, as task_attr() of rings.c requests them. Records of other
 * types, and those whose content contradicts their size, are skipped. False: it is lost for lack
 * of memory, as if its ring had been full.
 */
bool taskevents_add(struct taskevents *events, const struct perf_event_header *header);

/*
 * Applies records up to until_ns, in order of time. Later ones wait for the next call, since an
 * earlier one of another CPU may not have been added yet.
 */
void taskevents_apply(struct taskevents *events, struct tasks *tasks, uint64_t until_ns);

#endif

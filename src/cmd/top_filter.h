/* SPDX-License-Identifier: MIT */
/* The samples that `kprof top` shows: of some processes, threads, CPUs, files, functions. One thread. */
#ifndef KPROFS_CMD_TOP_FILTER_H
#define KPROFS_CMD_TOP_FILTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "capture/functions.h"
#include "capture/profile.h"
#include "cmd/record_target.h"
#include "sys/cpu.h"

struct top_filter {
	struct record_target target;
	char **comms, **dsos, **symbols; /* owned; NULL for all */
	bool has_cpus;
	unsigned char cpus[CPU_BITMAP_BYTES];
	bool own;  /* keep the samples of kprofs, of this process and of what they started */
	pid_t pid; /* this process */
};

void top_filter_init(struct top_filter *filter);
void top_filter_fini(struct top_filter *filter);

/* A list as in "0-3,8". Returns -EINVAL or -ERANGE if it is none. */
int top_filter_set_cpus(struct top_filter *filter, const char *list, struct err *err);
/* Names with commas in between; the list replaces *names. */
void top_filter_set_names(char ***names, const char *list);

/* Removes the cells of all other samples. The counts of the events stay as they are. */
void top_filter_apply(struct top_filter *filter, struct profile *profile, const struct functions *names);

#endif

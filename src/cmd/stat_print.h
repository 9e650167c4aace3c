/* SPDX-License-Identifier: MIT */
/* The output of `kprof stat`: counts as text, as separated values (as perf stat -x), or as JSON. */
#ifndef KPROFS_CMD_STAT_PRINT_H
#define KPROFS_CMD_STAT_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmd/counters.h"

struct stat_value {
	uint64_t count;	   /* scaled to the whole time; of several runs the mean */
	double deviation;  /* of the mean, in percent; below 0 for one run */
	unsigned int runs; /* in which it was counted; `count` is their mean */
	struct perf_counted counted;
};

struct stat_result {
	const struct counters *counters;
	const struct stat_value *values; /* one for each event */
	char **argv;	  /* the command; NULL if there is none */
	const char *what; /* what was counted, if there is no command */
	unsigned int runs;
	uint64_t elapsed_ns, user_ns, sys_ns; /* of several runs the means */
	double elapsed_deviation;
	bool no_pmu; /* so there are fewer default events */
	int status;
};

void stat_print_text(const struct stat_result *result, FILE *out);
void stat_print_json(const struct stat_result *result, FILE *out);
/* value, unit, event, deviation (of several runs), running_ns, percent of the time counted */
void stat_print_separated(const struct stat_result *result, const char *separator, FILE *out);

/* The lines of one interval, which ended at time_ns after the begin. separator is NULL for text. */
void stat_print_interval(const struct stat_result *result, uint64_t time_ns, const char *separator,
	FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
/* The mean and its deviation over the runs of a command in which an event was counted. One thread. */
#ifndef KPROFS_CMD_STAT_SUM_H
#define KPROFS_CMD_STAT_SUM_H

#include "sys/perf_count.h"

/* To be begun as zeroes. */
struct stat_sum {
	double sum, squares;
	unsigned int runs;
};

void stat_sum_add(struct stat_sum *sum, double value);
/* The scaled count of a run; a run in which nothing was counted, or that failed (error), is left out. */
void stat_sum_add_count(struct stat_sum *sum, int error, const struct perf_counted *counted);
/* 0 if there is no run. */
double stat_sum_mean(const struct stat_sum *sum);
/* The standard deviation of the mean, in percent of it; below 0 if there are fewer than two runs. */
double stat_sum_deviation(const struct stat_sum *sum);

#endif

/* SPDX-License-Identifier: MIT */
/* The mean and its deviation over several runs: see stat_sum.h. */
#include "cmd/stat_sum.h"

#include <math.h>

void stat_sum_add(struct stat_sum *sum, double value)
{
	sum->sum += value;
	sum->squares += value * value;
	sum->runs++;
}

void stat_sum_add_count(struct stat_sum *sum, int error, const struct perf_counted *counted)
{
	if (!error && counted->running_ns)
		stat_sum_add(sum, (double)perf_count_scale(counted));
}

double stat_sum_mean(const struct stat_sum *sum)
{
	return sum->runs ? sum->sum / sum->runs : 0;
}

double stat_sum_deviation(const struct stat_sum *sum)
{
	const double mean = stat_sum_mean(sum);
	double variance;

	if (sum->runs < 2)
		return -1;
	variance = (sum->squares - sum->sum * mean) / (sum->runs - 1);
	return mean > 0 && variance > 0 ? 100 * sqrt(variance / sum->runs) / mean : 0;
}

/* SPDX-License-Identifier: MIT */
/* Intervals of threads, sorted and joined where they overlap: see intervals.h. */
#include "capture/intervals.h"

#include <glib.h>
#include <stdlib.h>

#include "base/bisect.h"

struct intervals {
	size_t count;
	struct interval at[]; /* by thread and begin; those of one thread do not overlap */
};

/* By process and thread. */
static int compare_threads(const struct interval *a, const struct interval *b)
{
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int compare(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	int threads = compare_threads(x, y);

	if (threads)
		return threads;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

static void join(struct intervals *intervals)
{
	struct interval *last = intervals->at;
	size_t i;

	for (i = 1; i < intervals->count; i++) {
		const struct interval *next = &intervals->at[i];

		if (compare_threads(last, next) == 0 && next->begin_ns <= last->end_ns)
			last->end_ns = MAX(last->end_ns, next->end_ns);
		else
			*++last = *next;
	}
	if (intervals->count)
		intervals->count = (size_t)(last - intervals->at) + 1;
}

struct intervals *intervals_create(const struct interval *array, size_t count)
{
	struct intervals *intervals = g_try_malloc(sizeof(*intervals) + count * sizeof(*array));

	if (!intervals)
		return NULL;
	intervals->count = count;
	for (size_t i = 0; i < count; i++)
		intervals->at[i] = array[i];
	if (count)
		qsort(intervals->at, count, sizeof(*array), compare);
	join(intervals);
	return intervals;
}

void intervals_destroy(struct intervals *intervals)
{
	g_free(intervals);
}

static bool is_not_after(const void *element, const void *key)
{
	return compare(element, key) <= 0;
}

bool intervals_have(const struct intervals *intervals, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	const struct interval wanted = { .pid = pid, .tid = tid, .begin_ns = time_ns };
	/* behind the last one that does not begin after the moment */
	size_t next = bisect(intervals->at, intervals->count, sizeof(wanted), is_not_after, &wanted);

	return next && compare_threads(&intervals->at[next - 1], &wanted) == 0 &&
	       time_ns <= intervals->at[next - 1].end_ns;
}

/* SPDX-License-Identifier: MIT */
/* The memory that profilers share: see budget.h. */
#include "prof/budget.h"

#include <glib.h>
#include <pthread.h>

struct budget {
	uint64_t total_kb;	      /* invariant */
	pthread_mutex_t lock;	      /* a leaf */
	uint64_t taken_kb[BUDGET_KINDS]; /* (lock) */
	unsigned int offcpu_runs;     /* (lock) */
};

struct budget *budget_create(uint64_t kb)
{
	struct budget *budget = g_new0(struct budget, 1);

	budget->total_kb = kb;
	pthread_mutex_init(&budget->lock, NULL);
	return budget;
}

void budget_destroy(struct budget *budget)
{
	if (!budget)
		return;
	pthread_mutex_destroy(&budget->lock);
	g_free(budget);
}

uint64_t budget_total_kb(const struct budget *budget)
{
	return budget->total_kb;
}

uint64_t budget_left_kb(struct budget *budget, enum budget_kind kind)
{
	uint64_t left;

	pthread_mutex_lock(&budget->lock);
	left = budget->total_kb - budget->taken_kb[kind];
	pthread_mutex_unlock(&budget->lock);
	return left;
}

bool budget_change(struct budget *budget, enum budget_kind kind, uint64_t from_kb, uint64_t to_kb)
{
	uint64_t *taken = &budget->taken_kb[kind];
	bool fits;

	pthread_mutex_lock(&budget->lock);
	fits = to_kb <= budget->total_kb - (*taken - from_kb);
	if (fits)
		*taken = *taken - from_kb + to_kb;
	pthread_mutex_unlock(&budget->lock);
	return fits;
}

bool budget_take(struct budget *budget, enum budget_kind kind, uint64_t kb)
{
	return budget_change(budget, kind, 0, kb);
}

void budget_return(struct budget *budget, enum budget_kind kind, uint64_t kb)
{
	(void)budget_change(budget, kind, kb, 0);
}

bool budget_take_offcpu(struct budget *budget)
{
	bool fits;

	pthread_mutex_lock(&budget->lock);
	fits = budget->offcpu_runs < BUDGET_OFFCPU_RUNS;
	budget->offcpu_runs += fits;
	pthread_mutex_unlock(&budget->lock);
	return fits;
}

void budget_return_offcpu(struct budget *budget)
{
	pthread_mutex_lock(&budget->lock);
	budget->offcpu_runs--;
	pthread_mutex_unlock(&budget->lock);
}

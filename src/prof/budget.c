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
	GHashTable *users;	      /* (lock) uid -> struct budget_share, of those that have runs */
	struct budget_share of_users; /* (lock) their sum */
};

struct budget *budget_create(uint64_t kb)
{
	struct budget *budget = g_new0(struct budget, 1);

	budget->total_kb = kb;
	budget->users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	pthread_mutex_init(&budget->lock, NULL);
	return budget;
}

void budget_destroy(struct budget *budget)
{
	if (!budget)
		return;
	g_hash_table_destroy(budget->users);
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

/* Both sums are what was taken before. */
static struct budget_share without(const struct budget_share *sum, const struct budget_share *from)
{
	return (struct budget_share){ sum->rate - from->rate, sum->descriptors - from->descriptors,
		sum->rings_kb - from->rings_kb };
}

static struct budget_share with(const struct budget_share *sum, const struct budget_share *to)
{
	return (struct budget_share){ sum->rate + to->rate, sum->descriptors + to->descriptors,
		sum->rings_kb + to->rings_kb };
}

static uint64_t rest_of(uint64_t limit, uint64_t taken)
{
	return limit > taken ? limit - taken : 0;
}

/* Makes what is left no more than this limit leaves. */
static void bound(struct budget_share *left, const struct budget_share *limit,
	const struct budget_share *taken)
{
	left->rate = MIN(left->rate, rest_of(limit->rate, taken->rate));
	left->descriptors = MIN(left->descriptors, rest_of(limit->descriptors, taken->descriptors));
	left->rings_kb = MIN(left->rings_kb, rest_of(limit->rings_kb, taken->rings_kb));
}

/* Under the lock. */
static void set_user(struct budget *budget, uid_t uid, const struct budget_share *others,
	const struct budget_share *to)
{
	const struct budget_share sum = with(others, to);

	if (sum.rate || sum.descriptors || sum.rings_kb)
		g_hash_table_insert(budget->users, GUINT_TO_POINTER(uid), g_memdup2(&sum, sizeof(sum)));
	else
		g_hash_table_remove(budget->users, GUINT_TO_POINTER(uid));
}

bool budget_change_user(struct budget *budget, uid_t uid, const struct budget_limits *limits,
	const struct budget_share *from, const struct budget_share *to, struct budget_share *left)
{
	const struct budget_share *known;
	struct budget_share others, of_users;
	bool fits;

	pthread_mutex_lock(&budget->lock);
	known = g_hash_table_lookup(budget->users, GUINT_TO_POINTER(uid));
	others = known ? without(known, from) : (struct budget_share){ 0 };
	of_users = without(&budget->of_users, from);
	*left = (struct budget_share){ UINT64_MAX, UINT64_MAX, UINT64_MAX };
	bound(left, &limits->user, &others);
	bound(left, &limits->all, &of_users);
	fits = to->rate <= left->rate && to->descriptors <= left->descriptors &&
	       to->rings_kb <= left->rings_kb;
	if (fits) {
		set_user(budget, uid, &others, to);
		budget->of_users = with(&of_users, to);
	}
	pthread_mutex_unlock(&budget->lock);
	return fits;
}

void budget_return_user(struct budget *budget, uid_t uid, const struct budget_share *from)
{
	const struct budget_share *known, none = { 0 };
	struct budget_share others;

	pthread_mutex_lock(&budget->lock);
	known = g_hash_table_lookup(budget->users, GUINT_TO_POINTER(uid));
	if (known) {
		others = without(known, from);
		set_user(budget, uid, &others, &none);
		budget->of_users = without(&budget->of_users, from);
	}
	pthread_mutex_unlock(&budget->lock);
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

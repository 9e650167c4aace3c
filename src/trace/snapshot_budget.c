/* SPDX-License-Identifier: MIT */
/* The bound on copies of the trace: see snapshot_budget.h. */
#include "trace/snapshot_budget.h"

#include <glib.h>
#include <pthread.h>
#include <stdbool.h>

/*
 * What users other than root and the owner may use of the budget: one of them half, all together
 * three fourths, so that no reader keeps root or another user out.
 */
#define USER_BYTES(max) ((max) / 2)
#define OTHERS_BYTES(max) ((max) / 4 * 3)

struct snapshot_budget {
	pthread_mutex_t lock; /* a leaf */
	uint64_t max;	      /* invariant */
	uid_t owner;	      /* invariant: bounded, like root, by max only */
	uint64_t used;	      /* (lock) */
	uint64_t others_used; /* (lock) of that, by users other than root and the owner */
	GHashTable *users;    /* (lock) uid -> struct snapshot_user, of users that use some */
};

struct snapshot_user {
	uint64_t used;
};

struct snapshot_budget *snapshot_budget_create(uint64_t max_bytes, uid_t owner)
{
	struct snapshot_budget *budget = g_new0(struct snapshot_budget, 1);

	pthread_mutex_init(&budget->lock, NULL);
	budget->max = max_bytes;
	budget->owner = owner;
	budget->users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	return budget;
}

void snapshot_budget_destroy(struct snapshot_budget *budget)
{
	if (!budget)
		return;
	g_hash_table_unref(budget->users);
	pthread_mutex_destroy(&budget->lock);
	g_free(budget);
}

uint64_t snapshot_budget_max(const struct snapshot_budget *budget)
{
	return budget->max;
}

uint64_t snapshot_budget_used(struct snapshot_budget *budget)
{
	uint64_t used;

	pthread_mutex_lock(&budget->lock);
	used = budget->used;
	pthread_mutex_unlock(&budget->lock);
	return used;
}

static bool is_bounded(const struct snapshot_budget *budget, uid_t reader)
{
	return reader != 0 && reader != budget->owner;
}

/* With the lock held. */
static struct snapshot_user *find_user(struct snapshot_budget *budget, uid_t reader)
{
	struct snapshot_user *user = g_hash_table_lookup(budget->users, GUINT_TO_POINTER(reader));

	if (!user) {
		user = g_new0(struct snapshot_user, 1);
		g_hash_table_insert(budget->users, GUINT_TO_POINTER(reader), user);
	}
	return user;
}

/* With the lock held: counts bytes that are taken, or given back if `bytes` is below 0. */
static void count_reader(struct snapshot_budget *budget, uid_t reader, int64_t bytes)
{
	struct snapshot_user *user;

	budget->used += (uint64_t)bytes;
	if (!is_bounded(budget, reader))
		return;
	user = find_user(budget, reader);
	user->used += (uint64_t)bytes;
	budget->others_used += (uint64_t)bytes;
	if (!user->used)
		g_hash_table_remove(budget->users, GUINT_TO_POINTER(reader));
}

/* With the lock held. */
static uint64_t find_room(struct snapshot_budget *budget, uid_t reader)
{
	uint64_t room = budget->max - budget->used;
	const struct snapshot_user *user;

	if (!is_bounded(budget, reader))
		return room;
	user = g_hash_table_lookup(budget->users, GUINT_TO_POINTER(reader));
	room = MIN(room, OTHERS_BYTES(budget->max) - budget->others_used);
	return MIN(room, USER_BYTES(budget->max) - (user ? user->used : 0));
}

uint64_t snapshot_budget_take(
	struct snapshot_budget *budget, uid_t reader, uint64_t bytes)
{
	uint64_t taken;

	pthread_mutex_lock(&budget->lock);
	taken = MIN(bytes, find_room(budget, reader));
	if (taken)
		count_reader(budget, reader, (int64_t)taken);
	pthread_mutex_unlock(&budget->lock);
	return taken;
}

void snapshot_budget_return(struct snapshot_budget *budget, uid_t reader, uint64_t bytes)
{
	pthread_mutex_lock(&budget->lock);
	if (bytes)
		count_reader(budget, reader, -(int64_t)bytes);
	pthread_mutex_unlock(&budget->lock);
}

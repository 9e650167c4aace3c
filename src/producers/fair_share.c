/* SPDX-License-Identifier: MIT */
/* Max-min fair division: see fair_share.h. */
#include "producers/fair_share.h"

#include <glib.h>

/* This fraction of what other users leave stays free: 1/QUOTA_SPARED. */
#define QUOTA_SPARED 4

static int compare_users(gconstpointer a, gconstpointer b)
{
	const struct fair_share *const *x = a, *const *y = b;

	return ((*x)->uid > (*y)->uid) - ((*x)->uid < (*y)->uid);
}

static int compare_sizes(gconstpointer a, gconstpointer b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * The largest equal bound such that the demands, each cut to it, sum to at most `room`. Sorts
 * `wants`.
 */
static uint64_t find_level(GArray *wants, uint64_t room)
{
	guint i;

	g_array_sort(wants, compare_sizes);
	for (i = 0; i < wants->len; i++) {
		uint64_t want = g_array_index(wants, uint64_t, i), part = room / (wants->len - i);

		if (want > part)
			return part;
		room -= want;
	}
	return UINT64_MAX;
}

/* Where the producers of the user that begins at `begin` end, and the sum of their demands. */
static size_t end_of_user(
	struct fair_share *const *sorted, size_t count, size_t begin, uint64_t *wants)
{
	size_t end = begin;

	for (*wants = 0; end < count && sorted[end]->uid == sorted[begin]->uid; end++)
		*wants += sorted[end]->wants;
	return end;
}

static void divide_user(struct fair_share **programs, size_t count, uint64_t room)
{
	g_autoptr(GArray) wants = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	uint64_t level;
	size_t i;

	for (i = 0; i < count; i++)
		g_array_append_val(wants, programs[i]->wants);
	level = find_level(wants, room);
	for (i = 0; i < count; i++)
		programs[i]->gets = MIN(programs[i]->wants, level);
}

/*
 * The level of all users' parts, and what root gets, *roots. Root is the first of `users`, which are
 * the demands, if it wants anything.
 */
static uint64_t find_user_level(GArray *users, uint64_t room, uint64_t *roots)
{
	const uint64_t wanted = *roots, part = MIN(wanted, room / FAIR_SHARE_ROOT);
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	uint64_t level;

	g_array_append_vals(all, users->data, users->len);
	level = find_level(all, room);
	*roots = MIN(wanted, level);
	if (part <= level)
		return level;
	*roots = part;
	g_array_remove_index(users, 0);
	return find_level(users, room - part);
}

void fair_share_divide(struct fair_share *shares, size_t count, uint64_t room)
{
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();
	g_autoptr(GArray) users = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	struct fair_share **all;
	uint64_t level, wants, roots = 0;
	size_t i, end;

	for (i = 0; i < count; i++)
		g_ptr_array_add(sorted, &shares[i]);
	g_ptr_array_sort(sorted, compare_users);
	all = (struct fair_share **)sorted->pdata;
	for (i = 0; i < count; i = end) {
		end = end_of_user(all, count, i, &wants);
		g_array_append_val(users, wants);
		if (all[i]->uid == 0)
			roots = wants;
	}
	level = find_user_level(users, room, &roots);
	for (i = 0; i < count; i = end) {
		end = end_of_user(all, count, i, &wants);
		divide_user(all + i, end - i, all[i]->uid == 0 ? roots : MIN(wants, level));
	}
}

uint64_t fair_share_limit(uid_t uid, uint64_t all)
{
	return uid == 0 ? all : all - all / FAIR_SHARE_ROOT;
}

uint64_t fair_share_quota(uid_t uid, uint64_t all, uint64_t user_most, uint64_t others)
{
	const uint64_t limit = fair_share_limit(uid, all);
	const uint64_t left = limit - MIN(others, limit);

	return MIN(user_most, uid == 0 ? left : left - left / QUOTA_SPARED);
}

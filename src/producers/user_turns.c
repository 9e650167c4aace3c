/* SPDX-License-Identifier: MIT */
/* Selects the connection that is served next: see user_turns.h. */
#include "producers/user_turns.h"

#include "base/units.h"

/* When there are so many users, those without connections and with a full budget are freed. */
#define USERS_SWEPT 256

struct turns_user {
	uid_t uid;
	unsigned int connections;
	GQueue ready;	  /* of struct user_turn, which have work */
	GList link;	  /* in turns.waiting, while something is in ready */
	int64_t left_ns;  /* the budget; may be negative */
	uint64_t seen_ns; /* when it was refilled last, CLOCK_MONOTONIC */
};

struct user_turns {
	struct user_turns_limits limits;
	GHashTable *users; /* uid to struct turns_user */
	GQueue waiting;	   /* of struct turns_user: users with work, the next one first */
};

struct user_turns *user_turns_create(const struct user_turns_limits *limits)
{
	struct user_turns *turns = g_new0(struct user_turns, 1);

	turns->limits = *limits;
	turns->users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	g_queue_init(&turns->waiting);
	return turns;
}

void user_turns_destroy(struct user_turns *turns)
{
	if (!turns)
		return;
	g_hash_table_destroy(turns->users);
	g_free(turns);
}

/* ---- users ----------------------------------------------------------------------------------- */

static void refill(const struct user_turns *turns, struct turns_user *user, uint64_t now_ns)
{
	const int64_t full_ns = (int64_t)turns->limits.burst_ns;
	double gained_ns = (double)(now_ns - MIN(user->seen_ns, now_ns)) *
		(double)turns->limits.per_s_ns / (double)NSEC_PER_SEC;

	/*
	 * in floating point, since the product of two times does not fit; after a long time it is
	 * full
	 */
	user->left_ns = gained_ns >= (double)(full_ns - user->left_ns) ?
		full_ns : user->left_ns + (int64_t)gained_ns;
	user->seen_ns = now_ns;
}

static gboolean is_unused(gpointer key, gpointer value, gpointer arg)
{
	const struct turns_user *user = value;

	return !user->connections && user->left_ns == *(const int64_t *)arg;
}

/* A new user has a full budget. */
static struct turns_user *get_user(struct user_turns *turns, uid_t uid, uint64_t now_ns)
{
	struct turns_user *user = g_hash_table_lookup(turns->users, GUINT_TO_POINTER(uid));
	int64_t full_ns = (int64_t)turns->limits.burst_ns;
	GHashTableIter iter;
	gpointer value;

	if (user)
		return user;
	if (g_hash_table_size(turns->users) >= USERS_SWEPT) {
		g_hash_table_iter_init(&iter, turns->users);
		while (g_hash_table_iter_next(&iter, NULL, &value))
			refill(turns, value, now_ns);
		g_hash_table_foreach_remove(turns->users, is_unused, &full_ns);
	}
	user = g_new0(struct turns_user, 1);
	user->uid = uid;
	user->left_ns = full_ns;
	user->seen_ns = now_ns;
	user->link.data = user;
	g_hash_table_insert(turns->users, GUINT_TO_POINTER(uid), user);
	return user;
}

/* ---- connections ----------------------------------------------------------------------------- */

void user_turns_join(struct user_turns *turns, struct user_turn *turn, uid_t uid, void *connection)
{
	*turn = (struct user_turn){ .user = get_user(turns, uid, 0), .connection = connection };
	turn->user->connections++;
}

static void take_out(struct user_turns *turns, struct user_turn *turn)
{
	g_queue_unlink(&turn->user->ready, &turn->link);
	turn->link.data = NULL;
	if (!turn->user->ready.length)
		g_queue_unlink(&turns->waiting, &turn->user->link);
}

void user_turns_leave(struct user_turns *turns, struct user_turn *turn)
{
	if (turn->link.data)
		take_out(turns, turn);
	turn->user->connections--;
	turn->user = NULL;
}

void user_turns_add(struct user_turns *turns, struct user_turn *turn)
{
	if (turn->link.data)
		return;
	turn->link.data = turn;
	if (!turn->user->ready.length)
		g_queue_push_tail_link(&turns->waiting, &turn->user->link);
	g_queue_push_tail_link(&turn->user->ready, &turn->link);
}

void *user_turns_next(struct user_turns *turns, uint64_t now_ns)
{
	for (guint i = turns->waiting.length; i > 0; i--) {
		GList *link = g_queue_pop_head_link(&turns->waiting);
		struct turns_user *user = link->data;
		struct user_turn *turn = user->ready.head->data;

		g_queue_push_tail_link(&turns->waiting, link);
		refill(turns, user, now_ns);
		if (user->left_ns <= 0)
			continue;
		take_out(turns, turn);
		return turn->connection;
	}
	return NULL;
}

bool user_turns_charge(struct user_turns *turns, uid_t uid, uint64_t used_ns, uint64_t now_ns)
{
	struct turns_user *user = get_user(turns, uid, now_ns);
	bool had;

	refill(turns, user, now_ns);
	had = user->left_ns > 0;
	/* bounded below: no user waits longer than it takes to refill this */
	user->left_ns = MAX(user->left_ns - (int64_t)used_ns, -(int64_t)turns->limits.burst_ns);
	return had && user->left_ns <= 0;
}

uint64_t user_turns_wait_ns(const struct user_turns *turns, uint64_t now_ns)
{
	uint64_t wait_ns = UINT64_MAX;

	for (GList *link = turns->waiting.head; link; link = link->next) {
		struct turns_user *user = link->data;
		double missing_ns;

		refill(turns, user, now_ns);
		if (user->left_ns > 0)
			return 0;
		missing_ns = (double)(1 - user->left_ns) * (double)NSEC_PER_SEC /
			(double)turns->limits.per_s_ns;
		wait_ns = MIN(wait_ns, (uint64_t)missing_ns + 1);
	}
	return wait_ns;
}

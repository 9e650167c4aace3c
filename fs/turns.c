/* SPDX-License-Identifier: MIT */
/* Jobs of several users for few threads: see turns.h. */
#include "fs/turns.h"

/* Users with waiting or current jobs. */
struct turns_user {
	uid_t uid;
	bool privileged;
	unsigned int running;
	GQueue jobs; /* that wait, oldest first */
};

void turns_init(struct turns *turns, unsigned int threads)
{
	turns->threads = threads;
	turns->others = 0;
	g_queue_init(&turns->users);
}

static void free_user(void *data)
{
	struct turns_user *user = data;

	g_queue_clear(&user->jobs);
	g_free(user);
}

void turns_fini(struct turns *turns)
{
	g_queue_clear_full(&turns->users, free_user);
}

static GList *find_user(const struct turns *turns, uid_t uid)
{
	GList *link;

	for (link = turns->users.head; link; link = link->next)
		if (((struct turns_user *)link->data)->uid == uid)
			return link;
	return NULL;
}

static void forget_idle_user(struct turns *turns, GList *link)
{
	struct turns_user *user = link->data;

	if (user->running || user->jobs.length)
		return;
	g_queue_delete_link(&turns->users, link);
	free_user(user);
}

void turns_add(struct turns *turns, uid_t uid, bool privileged, void *job)
{
	GList *link = find_user(turns, uid);
	struct turns_user *user;

	if (link) {
		user = link->data;
	} else {
		user = g_new0(struct turns_user, 1);
		user->uid = uid;
		user->privileged = privileged;
		g_queue_init(&user->jobs);
		g_queue_push_tail(&turns->users, user);
	}
	g_queue_push_tail(&user->jobs, job);
}

/* Returns whether one more job of the user may begin, if there is a thread for it. */
static bool may_begin(const struct turns *turns, const struct turns_user *user)
{
	if (user->privileged)
		return true;
	return turns->others < turns->threads && user->running < MAX(turns->threads - 1, 1);
}

/*
 * Returns, of the users whose job may begin, one with the fewest current jobs, and of these the
 * first in turn.
 */
static GList *find_next(const struct turns *turns)
{
	GList *link, *next = NULL;
	unsigned int fewest = 0;

	for (link = turns->users.head; link; link = link->next) {
		const struct turns_user *user = link->data;

		if (!user->jobs.length || !may_begin(turns, user) || (next && user->running >= fewest))
			continue;
		next = link;
		fewest = user->running;
	}
	return next;
}

void *turns_take(struct turns *turns, uid_t *uid)
{
	GList *link = find_next(turns);
	struct turns_user *user;

	if (!link)
		return NULL;
	g_queue_unlink(&turns->users, link);
	g_queue_push_tail_link(&turns->users, link);
	user = link->data;
	user->running++;
	turns->others += !user->privileged;
	*uid = user->uid;
	return g_queue_pop_head(&user->jobs);
}

void turns_done(struct turns *turns, uid_t uid)
{
	GList *link = find_user(turns, uid);
	struct turns_user *user = link->data;

	user->running--;
	turns->others -= !user->privileged;
	forget_idle_user(turns, link);
}

void turns_remove(struct turns *turns, void *job)
{
	GList *link;

	for (link = turns->users.head; link; link = link->next) {
		struct turns_user *user = link->data;

		if (g_queue_remove(&user->jobs, job)) {
			forget_idle_user(turns, link);
			return;
		}
	}
}

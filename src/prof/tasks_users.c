/* SPDX-License-Identifier: MIT */
/*
 * Tasks: the real users of processes. A walk of /proc tells what they are, and the kernel's reports when they
 * change (userwatch.h), earlier or later than perf reports a fork of that time. A reader finds the user of a
 * forked process by the FORK record as that of its parent, as long as the parent is known.
 */
#include "prof/tasks_state.h"

#include "prof/record.h"

/* Changes that are kept of one process: a program that changes its user all the time fills no memory. */
#define CHANGES_MAX 64u
/* Changes that are kept of processes of which perf has reported nothing yet. */
#define EARLY_MAX 1024u
/* So many drains later perf has reported the fork of such a process, or never will. */
#define EARLY_DRAINS 3u

struct early_user {
	uint32_t pid;
	uint32_t uid;
	uint64_t time_ns;
	unsigned int drains; /* since it was told */
};

void tasks_init_users(struct tasks *t)
{
	t->early_users = g_array_new(FALSE, FALSE, sizeof(struct early_user));
	t->forked = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	t->forked_before = g_array_new(FALSE, FALSE, sizeof(uint64_t));
}

void tasks_clear_users(struct tasks *t)
{
	g_array_set_size(t->early_users, 0);
	g_array_set_size(t->forked, 0);
	g_array_set_size(t->forked_before, 0);
}

void tasks_fini_users(struct tasks *t)
{
	g_array_free(t->early_users, TRUE);
	g_array_free(t->forked, TRUE);
	g_array_free(t->forked_before, TRUE);
}

/* ---- changes --------------------------------------------------------------------------------- */

static struct user_change *change_at(const struct process *p, guint i)
{
	return &g_array_index(p->users, struct user_change, i);
}

static guint count_changes(const struct process *p)
{
	return p->users ? p->users->len : 0;
}

/*
 * The user that p had at time_ns, as far as it is known; TASKS_NO_USER: it is not. A change before its fork
 * is one of an earlier process with its number.
 */
static uint32_t user_at(const struct process *p, uint64_t time_ns)
{
	guint i;

	for (i = count_changes(p); i-- > 0 && change_at(p, i)->time_ns >= p->fork_ns;)
		if (change_at(p, i)->time_ns <= time_ns)
			return change_at(p, i)->uid;
	return p->born_uid;
}

static void drop_change(struct tasks *t)
{
	/* relaxed: a count for kpstat */
	atomic_add_relaxed(&t->users_dropped, 1);
}

static void add_change(struct tasks *t, struct process *p, struct user_change change)
{
	guint i;

	if (!p->users)
		p->users = g_array_new(FALSE, FALSE, sizeof(struct user_change));
	for (i = p->users->len; i && change_at(p, i - 1)->time_ns > change.time_ns; i--) {
		/* the walk has found this one, or one after it */
		if (change_at(p, i - 1)->walked)
			g_array_remove_index(p->users, i - 1);
	}
	change.stamp = tasks_touch(t, p);
	g_array_insert_val(p->users, i, change);
	if (p->users->len > CHANGES_MAX) {
		g_array_remove_index(p->users, 0);
		drop_change(t);
	}
}

static void add_early(struct tasks *t, uint64_t time_ns, uint32_t pid, uint32_t uid)
{
	const struct early_user early = { .pid = pid, .uid = uid, .time_ns = time_ns };

	if (t->early_users->len == EARLY_MAX) {
		g_array_remove_index(t->early_users, 0);
		drop_change(t);
	}
	g_array_append_val(t->early_users, early);
}

void tasks_user_changed(struct tasks *t, uint64_t time_ns, uint32_t pid, uint32_t uid)
{
	struct process *p;

	pthread_mutex_lock(&t->lock);
	p = tasks_find_process(t, pid);
	if (p && user_at(p, time_ns) != uid)
		add_change(t, p, (struct user_change){ .time_ns = time_ns, .uid = uid });
	else if (!p)
		add_early(t, time_ns, pid, uid);
	pthread_mutex_unlock(&t->lock);
}

uint64_t tasks_users_dropped(struct tasks *t)
{
	return atomic_read_relaxed(&t->users_dropped);
}

/* Whether the kernel has reported a change since this walk began: the walk may have read before it. */
static bool was_told(const struct tasks *t, const struct process *p)
{
	const guint count = count_changes(p);

	return count && !change_at(p, count - 1)->walked && change_at(p, count - 1)->stamp > t->walk_stamp;
}

void tasks_begin_users(struct tasks *t)
{
	pthread_mutex_lock(&t->lock);
	t->walk_stamp = atomic_read_relaxed(&t->stamp);
	pthread_mutex_unlock(&t->lock);
}

void tasks_add_user(struct tasks *t, uint64_t time_ns, uint32_t pid, uint64_t start_ns, uint32_t uid)
{
	struct process *p;

	pthread_mutex_lock(&t->lock);
	p = tasks_find_process(t, pid);
	if (p && (p->start_ns || p->fork_ns) && start_ns && !tasks_is_same(p, start_ns))
		p = NULL;
	if (p && user_at(p, UINT64_MAX) != uid && !was_told(t, p))
		add_change(t, p, (struct user_change){ .time_ns = time_ns, .uid = uid, .walked = true });
	pthread_mutex_unlock(&t->lock);
}

/* ---- new processes --------------------------------------------------------------------------- */

void tasks_adopt_user(struct tasks *t, struct process *p)
{
	guint i;

	p->born_uid = TASKS_NO_USER;
	for (i = 0; i < t->early_users->len;) {
		const struct early_user early = g_array_index(t->early_users, struct early_user, i);

		if (early.pid != p->pid) {
			i++;
			continue;
		}
		g_array_remove_index(t->early_users, i);
		add_change(t, p, (struct user_change){ .time_ns = early.time_ns, .uid = early.uid });
	}
}

void tasks_inherit_user(struct tasks *t, struct process *p)
{
	const struct process *parent = g_hash_table_lookup(t->by_id, &p->parent_id);

	if (!parent)
		return;
	p->born_uid = user_at(parent, p->fork_ns);
	g_array_append_val(t->forked, p->id);
}

/* A process that is not known by then is not sampled; another one may get its number. */
static void forget_early(struct tasks *t)
{
	guint i, old = 0;

	for (i = 0; i < t->early_users->len; i++)
		old += ++g_array_index(t->early_users, struct early_user, i).drains >= EARLY_DRAINS;
	if (old)
		g_array_remove_range(t->early_users, 0, old); /* the oldest are first */
}

/*
 * A change that the parent made before the fork may have come after it: what was inherited is looked up once
 * more, a drain later, while the parent is still known.
 */
void tasks_settle_users(struct tasks *t)
{
	GArray *settled = t->forked_before;
	guint i;

	forget_early(t);
	for (i = 0; i < settled->len; i++) {
		struct process *p = g_hash_table_lookup(t->by_id, &g_array_index(settled, uint64_t, i));
		const struct process *parent = p ? g_hash_table_lookup(t->by_id, &p->parent_id) : NULL;

		if (parent)
			p->born_uid = user_at(parent, p->fork_ns);
	}
	g_array_set_size(settled, 0);
	t->forked_before = t->forked;
	t->forked = settled;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Whether the reader finds the user of p at its fork by that of its parent. */
static bool parent_tells_user(struct tasks *t, const struct process *p)
{
	/* of hidden tasks each reader gets another part, and without its record no FORK names the parent */
	return !t->by_pid && !p->fork_missing && g_hash_table_contains(t->by_id, &p->parent_id);
}

void tasks_encode_users(
	struct tasks *t, const struct process *p, uint64_t since, struct record_buf *buf)
{
	const struct program *first = g_ptr_array_index(p->programs, 0);
	const bool shown = p->show_stamp > since; /* more of it may be shown now */
	guint i;

	if (p->fork_ns && p->born_uid != TASKS_NO_USER && (first->born_stamp > since || shown) &&
		!parent_tells_user(t, p) && tasks_shows_thread(t, p, p->fork_ns))
		record_user(buf, p->fork_ns, p->pid, p->born_uid);
	for (i = 0; i < count_changes(p); i++) {
		const struct user_change *change = change_at(p, i);

		if ((change->stamp > since || shown) && tasks_shows_thread(t, p, change->time_ns))
			record_user(buf, change->time_ns, p->pid, change->uid);
	}
}

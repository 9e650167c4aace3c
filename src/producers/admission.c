/* SPDX-License-Identifier: MIT */
/* Connection limits: see admission.h. */
#include "producers/admission.h"

#include "sys/clock.h"
#include "producers/fair_share.h"

struct admission {
	struct admission_limits limits;
	unsigned int count, attached;
	GHashTable *users;          /* uid to number of connections */
	GHashTable *attached_users; /* uid to number of those that are attached */
	GHashTable *processes;        /* pid to number of connections */
	GQueue pending; /* of struct admission_entry, the oldest first */
};

struct admission *admission_create(const struct admission_limits *limits)
{
	struct admission *admission = g_new0(struct admission, 1);

	admission->limits = *limits;
	admission->users = g_hash_table_new(g_direct_hash, g_direct_equal);
	admission->attached_users = g_hash_table_new(g_direct_hash, g_direct_equal);
	admission->processes = g_hash_table_new(g_direct_hash, g_direct_equal);
	g_queue_init(&admission->pending);
	return admission;
}

void admission_destroy(struct admission *admission)
{
	g_hash_table_destroy(admission->users);
	g_hash_table_destroy(admission->attached_users);
	g_hash_table_destroy(admission->processes);
	g_free(admission);
}

/* ---- counting -------------------------------------------------------------------------------- */

static unsigned int count(GHashTable *numbers, unsigned int of, int change)
{
	gpointer key = GUINT_TO_POINTER(of);
	unsigned int number = GPOINTER_TO_UINT(g_hash_table_lookup(numbers, key));

	number += (unsigned int)change;
	if (number)
		g_hash_table_insert(numbers, key, GUINT_TO_POINTER(number));
	else
		g_hash_table_remove(numbers, key);
	return number;
}

static void count_entry(
	struct admission *admission, const struct admission_entry *entry, int change)
{
	admission->count += (unsigned int)change;
	count(admission->users, entry->uid, change);
	count(admission->processes, (unsigned int)entry->pid, change);
}

static void count_attached(
	struct admission *admission, const struct admission_entry *entry, int change)
{
	admission->attached += (unsigned int)change;
	count(admission->attached_users, entry->uid, change);
}

void admission_add(
	struct admission *admission, struct admission_entry *entry, const struct ucred *cred)
{
	*entry = (struct admission_entry){
		.pid = cred->pid,
		.uid = cred->uid,
		.since_ns = clock_monotonic_ns(),
		.link.data = entry,
	};
	count_entry(admission, entry, 1);
	g_queue_push_tail_link(&admission->pending, &entry->link);
}

void admission_hello(struct admission *admission, struct admission_entry *entry)
{
	entry->attached = true;
	g_queue_unlink(&admission->pending, &entry->link);
	count_attached(admission, entry, 1);
}

void admission_remove(struct admission *admission, struct admission_entry *entry)
{
	if (entry->attached)
		count_attached(admission, entry, -1);
	else
		g_queue_unlink(&admission->pending, &entry->link);
	count_entry(admission, entry, -1);
}

struct admission_entry *admission_oldest_pending(struct admission *admission)
{
	return admission->pending.head ? admission->pending.head->data : NULL;
}

/* ---- which connection is evicted ------------------------------------------------------------- */

static bool is_of_process(const struct admission_entry *entry, const struct ucred *cred)
{
	return entry->pid == cred->pid;
}

static bool is_of_user(const struct admission_entry *entry, const struct ucred *cred)
{
	return entry->uid == cred->uid;
}

static bool is_any(const struct admission_entry *entry, const struct ucred *cred)
{
	return true;
}

/* The oldest pending connection that matches. */
static struct admission_entry *find_pending(struct admission *admission, const struct ucred *cred,
	bool (*matches)(const struct admission_entry *entry, const struct ucred *cred))
{
	for (GList *link = admission->pending.head; link; link = link->next)
		if (matches(link->data, cred))
			return link->data;
	return NULL;
}

/* Only attached connections of other users reduce a user's quota: pending ones can be evicted. */
static bool is_at_user_limit(struct admission *admission, const struct ucred *cred)
{
	unsigned int others = admission->attached - count(admission->attached_users, cred->uid, 0);

	return count(admission->users, cred->uid, 0) >=
	       fair_share_quota(
		       cred->uid, admission->limits.all, admission->limits.user, others);
}

const char *admission_check(
	struct admission *admission, const struct ucred *cred, struct admission_entry **pending)
{
	*pending = NULL;
	if (cred->pid && count(admission->processes, (unsigned int)cred->pid, 0) >=
				 admission->limits.process) {
		*pending = find_pending(admission, cred, is_of_process);
		return *pending ? NULL : "the connection limit of this process is reached";
	}
	if (is_at_user_limit(admission, cred)) {
		*pending = find_pending(admission, cred, is_of_user);
		if (!*pending)
			return admission->attached >=
						fair_share_limit(cred->uid, admission->limits.all)
				       ? "the connection limit is reached"
				       : "the connection limit of this user is reached";
	} else if (admission->count >= admission->limits.all) { /* some of these are pending */
		*pending = find_pending(admission, cred, is_any);
	}
	return NULL;
}

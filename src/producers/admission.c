/* SPDX-License-Identifier: MIT */
/* Who may connect, and who makes way: see places.h. */
#include "producers/admission.h"

#include "sys/clock.h"
#include "producers/fair_share.h"

struct admission {
	struct admission_limits limits;
	unsigned int taken, greeted;
	GHashTable *users, *greeters; /* uid to number of places: all, and where somebody greeted */
	GHashTable *processes;        /* pid to number of places */
	GQueue late; /* of struct admission_entry, who have not greeted; oldest first */
};

struct admission *admission_create(const struct admission_limits *limits)
{
	struct admission *places = g_new0(struct admission, 1);

	places->limits = *limits;
	places->users = g_hash_table_new(g_direct_hash, g_direct_equal);
	places->greeters = g_hash_table_new(g_direct_hash, g_direct_equal);
	places->processes = g_hash_table_new(g_direct_hash, g_direct_equal);
	g_queue_init(&places->late);
	return places;
}

void admission_destroy(struct admission *places)
{
	g_hash_table_destroy(places->users);
	g_hash_table_destroy(places->greeters);
	g_hash_table_destroy(places->processes);
	g_free(places);
}

/*
 * ---- counting ---------------------------------------------------------------------------------
 */

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

static void count_place(struct admission *places, const struct admission_entry *place, int change)
{
	places->taken += (unsigned int)change;
	count(places->users, place->uid, change);
	count(places->processes, (unsigned int)place->pid, change);
}

static void count_greeting(
	struct admission *places, const struct admission_entry *place, int change)
{
	places->greeted += (unsigned int)change;
	count(places->greeters, place->uid, change);
}

void admission_take(
	struct admission *places, struct admission_entry *place, const struct ucred *who)
{
	*place = (struct admission_entry){
		.pid = who->pid,
		.uid = who->uid,
		.since_ns = clock_monotonic_ns(),
		.link.data = place,
	};
	count_place(places, place, 1);
	g_queue_push_tail_link(&places->late, &place->link);
}

void admission_greet(struct admission *places, struct admission_entry *place)
{
	place->greeted = true;
	g_queue_unlink(&places->late, &place->link);
	count_greeting(places, place, 1);
}

void admission_leave(struct admission *places, struct admission_entry *place)
{
	if (place->greeted)
		count_greeting(places, place, -1);
	else
		g_queue_unlink(&places->late, &place->link);
	count_place(places, place, -1);
}

struct admission_entry *admission_first_late(struct admission *places)
{
	return places->late.head ? places->late.head->data : NULL;
}

/*
 * ---- who makes way ----------------------------------------------------------------------------
 */

static bool is_of_process(const struct admission_entry *place, const struct ucred *who)
{
	return place->pid == who->pid;
}

static bool is_of_user(const struct admission_entry *place, const struct ucred *who)
{
	return place->uid == who->uid;
}

static bool is_anybodys(const struct admission_entry *place, const struct ucred *who)
{
	return true;
}

/* The oldest who has not greeted, of those that are asked for. */
static struct admission_entry *find_late(struct admission *places, const struct ucred *who,
	bool (*is_asked)(const struct admission_entry *place, const struct ucred *who))
{
	for (GList *link = places->late.head; link; link = link->next)
		if (is_asked(link->data, who))
			return link->data;
	return NULL;
}

/* Of what others have, those who have not greeted are in nobody's way. */
static bool has_all_of_a_user(struct admission *places, const struct ucred *who)
{
	unsigned int others = places->greeted - count(places->greeters, who->uid, 0);

	return count(places->users, who->uid, 0) >=
	       fair_share_quota(places->limits.all, places->limits.user, others);
}

const char *admission_find(
	struct admission *places, const struct ucred *who, struct admission_entry **late)
{
	*late = NULL;
	if (who->pid &&
		count(places->processes, (unsigned int)who->pid, 0) >= places->limits.process) {
		*late = find_late(places, who, is_of_process);
		return *late ? NULL : "this process is attached too often";
	}
	if (has_all_of_a_user(places, who)) {
		*late = find_late(places, who, is_of_user);
		if (!*late)
			return places->greeted >= places->limits.all
				       ? "all places for programs are taken"
				       : "this user's places for programs are taken";
	} else if (places->taken >= places->limits.all) { /* by who said nothing, some of them */
		*late = find_late(places, who, is_anybodys);
	}
	return NULL;
}

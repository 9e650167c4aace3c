/* SPDX-License-Identifier: MIT */
/* Writes that wait for producers: see sync_rounds.h. */
#include "producers/sync_rounds.h"

#include <pthread.h>

#include "base/units.h"
#include "sys/clock.h"

struct sync_round {
	uint64_t number;
	uint64_t deadline_ns;
	unsigned int unanswered; /* producers that got the SYNC and have not answered */
	GList link;
};

/* l: under the lock; all others are the listener's */
struct sync_rounds {
	pthread_mutex_t lock; /* a leaf */
	GQueue waiters;	      /* l: of struct sync_waiter, the oldest first */
	bool closed;	      /* l */
	uint64_t newest;
	GQueue rounds; /* of struct sync_round that have not ended, the oldest first */
};

struct sync_rounds *sync_rounds_create(void)
{
	struct sync_rounds *rounds = g_new0(struct sync_rounds, 1);

	pthread_mutex_init(&rounds->lock, NULL);
	g_queue_init(&rounds->waiters);
	g_queue_init(&rounds->rounds);
	return rounds;
}

void sync_rounds_destroy(struct sync_rounds *rounds)
{
	GList *link;

	if (!rounds)
		return;
	while ((link = g_queue_pop_head_link(&rounds->rounds)))
		g_free(link->data);
	pthread_mutex_destroy(&rounds->lock);
	g_free(rounds);
}

/* ---- from any thread ------------------------------------------------------------------------- */

bool sync_rounds_add(struct sync_rounds *rounds, struct sync_waiter *waiter)
{
	bool added;

	waiter->since_ns = clock_monotonic_ns();
	waiter->round = 0;
	waiter->link.data = waiter;
	pthread_mutex_lock(&rounds->lock);
	added = !rounds->closed;
	if (added)
		g_queue_push_tail_link(&rounds->waiters, &waiter->link);
	pthread_mutex_unlock(&rounds->lock);
	return added;
}

bool sync_rounds_cancel(struct sync_rounds *rounds, struct sync_waiter *waiter)
{
	bool waits;

	pthread_mutex_lock(&rounds->lock);
	waits = g_queue_link_index(&rounds->waiters, &waiter->link) >= 0;
	if (waits)
		g_queue_unlink(&rounds->waiters, &waiter->link);
	pthread_mutex_unlock(&rounds->lock);
	return waits;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/*
 * Puts the waiters without a round into this one. Returns when the first of them came, or 0 if
 * there is none.
 */
static uint64_t take_new(struct sync_rounds *rounds, uint64_t number)
{
	uint64_t since_ns = 0;

	pthread_mutex_lock(&rounds->lock);
	for (GList *link = rounds->waiters.head; link; link = link->next) {
		struct sync_waiter *waiter = link->data;

		if (waiter->round)
			continue;
		waiter->round = number;
		if (!since_ns)
			since_ns = waiter->since_ns;
	}
	pthread_mutex_unlock(&rounds->lock);
	return since_ns;
}

uint64_t sync_rounds_begin(struct sync_rounds *rounds)
{
	uint64_t since_ns = take_new(rounds, rounds->newest + 1);
	struct sync_round *round;

	if (!since_ns)
		return 0;
	round = g_new0(struct sync_round, 1);
	round->number = ++rounds->newest;
	round->deadline_ns = since_ns + SYNC_ROUNDS_WAIT_MS * NSEC_PER_MSEC;
	round->link.data = round;
	g_queue_push_tail_link(&rounds->rounds, &round->link);
	return round->number;
}

uint64_t sync_rounds_newest(const struct sync_rounds *rounds)
{
	return rounds->newest;
}

void sync_rounds_ask(struct sync_rounds *rounds)
{
	struct sync_round *round = g_queue_peek_tail(&rounds->rounds);

	round->unanswered++;
}

void sync_rounds_answered(struct sync_rounds *rounds, uint64_t from, uint64_t to)
{
	for (GList *link = rounds->rounds.head; link; link = link->next) {
		struct sync_round *round = link->data;

		if (round->number > from && round->number <= to)
			round->unanswered--;
	}
}

uint64_t sync_rounds_due(struct sync_rounds *rounds, uint64_t now_ns, bool *late)
{
	for (GList *link = rounds->rounds.head; link; link = link->next) {
		const struct sync_round *round = link->data;

		*late = round->unanswered != 0;
		if (!*late || now_ns >= round->deadline_ns)
			return round->number;
	}
	return 0;
}

uint64_t sync_rounds_deadline_ns(const struct sync_rounds *rounds)
{
	const struct sync_round *oldest = rounds->rounds.head ? rounds->rounds.head->data : NULL;

	return oldest ? oldest->deadline_ns : 0;
}

static struct sync_waiter *take_waiter(struct sync_rounds *rounds, uint64_t number)
{
	struct sync_waiter *found = NULL;

	pthread_mutex_lock(&rounds->lock);
	for (GList *link = rounds->waiters.head; link && !found; link = link->next) {
		struct sync_waiter *waiter = link->data;

		if (waiter->round == number)
			found = waiter;
	}
	if (found)
		g_queue_unlink(&rounds->waiters, &found->link);
	pthread_mutex_unlock(&rounds->lock);
	return found;
}

void sync_rounds_end(struct sync_rounds *rounds, uint64_t number, const char *late)
{
	struct sync_waiter *waiter;

	for (GList *link = rounds->rounds.head; link; link = link->next) {
		struct sync_round *round = link->data;

		if (round->number == number) {
			g_queue_unlink(&rounds->rounds, link);
			g_free(round);
			break;
		}
	}
	while ((waiter = take_waiter(rounds, number)))
		waiter->done(waiter, late);
}

void sync_rounds_close(struct sync_rounds *rounds)
{
	struct sync_round *round;

	pthread_mutex_lock(&rounds->lock);
	rounds->closed = true;
	pthread_mutex_unlock(&rounds->lock);
	sync_rounds_begin(rounds);
	while ((round = g_queue_peek_head(&rounds->rounds)))
		sync_rounds_end(rounds, round->number, NULL);
}

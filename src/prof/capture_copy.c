/* SPDX-License-Identifier: MIT */
/* Another capture of the same blocks: see capture.h. */
#include "prof/capture_state.h"

/* Appends a block with the records that b has now. Under the lock of the capture that has b. */
static void add_copy(struct capture *copy, const struct capture_block *b)
{
	struct capture_block *own;

	own = capture_create_block(b->segment ? NULL : capture_pool_share(copy->pool, b->memory), b->seq);
	own->used = b->used;
	if (b->segment)
		capture_copy_packed(copy, own, b);
	else
		copy->memory_bytes += b->used;
	own->counts = b->counts;
	own->first_ns = b->first_ns;
	own->stored_ns = b->stored_ns;
	own->written = b->written;
	own->sum = b->sum;
	own->packed_written = b->packed_written;
	own->shared = true;
	if (copy->tail)
		copy->tail->next = own;
	else
		copy->head = own;
	copy->tail = own;
}

struct capture *capture_copy(struct capture *c)
{
	struct capture *copy = g_new0(struct capture, 1);
	const struct capture_block *b;

	pthread_mutex_init(&copy->lock, NULL);
	pthread_mutex_lock(&c->lock);
	copy->pool = capture_pool_ref(c->pool);
	copy->limit = c->limit;
	copy->packs = c->packs;
	copy->next_seq = c->next_seq;
	copy->runs = c->runs;
	copy->stats = c->stats;
	capture_init_files(copy);
	tally_merge(&copy->pending, &c->pending);
	tally_merge(&copy->overwritten, &c->overwritten);
	tally_merge(&copy->totals, &c->totals);
	for (b = c->head; b; b = b->next)
		add_copy(copy, b);
	pthread_mutex_unlock(&c->lock);
	capture_settle(copy, true);
	return copy;
}

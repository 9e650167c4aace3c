/* SPDX-License-Identifier: MIT */
/* Two call trees compared: see difference.h. */
#include "formats/difference.h"

#include <errno.h>
#include <string.h>

#include "formats/summary.h"

/* Cancellation is checked once for this many nodes: less than a ms of work. */
#define CANCEL_NODES 1024

struct difference {
	const struct calltree *before, *after;
	uint32_t *before_of;  /* of each node of `after` */
	uint8_t *is_matched;  /* of each node of `before` */
	uint32_t *event_of;   /* of each node of `after`: its event's node */
	double *gone;	      /* of each event of `after` */
};

/* A node as its parent's children know it. */
struct key {
	uint32_t parent; /* in the earlier tree; CALLTREE_NO_NODE for an event */
	enum calltree_kind kind;
	bool away;
	const char *name;
};

static guint hash_key(gconstpointer data)
{
	const struct key *key = data;

	return g_str_hash(key->name) ^ key->parent * 2654435761u ^ (guint)key->kind << 1 ^ key->away;
}

static gboolean equal_keys(gconstpointer a, gconstpointer b)
{
	const struct key *x = a, *y = b;

	return x->parent == y->parent && x->kind == y->kind && x->away == y->away &&
		!strcmp(x->name, y->name);
}

static struct key key_of(const struct calltree *tree, uint32_t number, uint32_t parent)
{
	const struct calltree_node *node = calltree_node(tree, number);

	return (struct key){ parent, node->kind, node->away, calltree_name(tree, node) };
}

static uint32_t parent_in(const struct calltree *tree, uint32_t number)
{
	const struct calltree_node *node = calltree_node(tree, number);

	return node->kind == CALLTREE_EVENT ? CALLTREE_NO_NODE : node->parent;
}

static bool is_cancelled(const struct cancel *cancel, uint32_t node)
{
	return node % CANCEL_NODES == 0 && cancel_requested(cancel);
}

/* The counterpart of a node; that of its parent is known, since a parent has a smaller number. */
static void match_node(struct difference *d, GHashTable *numbers, uint32_t i)
{
	const uint32_t parent = parent_in(d->after, i);
	uint32_t above = CALLTREE_NO_NODE;
	struct key key;
	guint found;

	d->event_of[i] = parent == CALLTREE_NO_NODE ? i : d->event_of[parent];
	d->before_of[i] = CALLTREE_NO_NODE;
	if (parent != CALLTREE_NO_NODE) {
		above = d->before_of[parent];
		if (above == CALLTREE_NO_NODE)
			return;
	}
	key = key_of(d->after, i, above);
	found = GPOINTER_TO_UINT(g_hash_table_lookup(numbers, &key));
	if (found) {
		d->before_of[i] = found - 1;
		d->is_matched[found - 1] = true;
	}
}

static int match(struct difference *d, const struct cancel *cancel)
{
	const uint32_t count = d->before->nodes->len;
	g_autofree struct key *keys = g_new(struct key, count + 1);
	g_autoptr(GHashTable) numbers = g_hash_table_new(hash_key, equal_keys);
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (is_cancelled(cancel, i))
			return -EINTR;
		keys[i] = key_of(d->before, i, parent_in(d->before, i));
		g_hash_table_insert(numbers, &keys[i], GUINT_TO_POINTER(i + 1));
	}
	for (i = 0; i < d->after->nodes->len; i++) {
		if (is_cancelled(cancel, i))
			return -EINTR;
		match_node(d, numbers, i);
	}
	return 0;
}

static uint64_t whole_of(const struct calltree *tree, uint32_t event)
{
	return event == CALLTREE_NO_NODE ? 0 : calltree_node(tree, event)->total.weight;
}

/* Adds the share of the children of a matched node that have no counterpart. */
static void add_gone(struct difference *d, uint32_t i)
{
	const uint32_t old = d->before_of[i], event = d->event_of[i];
	const struct calltree_node *node;
	uint64_t weight = 0;
	uint32_t child;

	if (old == CALLTREE_NO_NODE)
		return;
	node = calltree_node(d->before, old);
	for (child = 0; child < node->count; child++)
		if (!d->is_matched[calltree_child(d->before, node, child)])
			weight += calltree_node(d->before, calltree_child(d->before, node, child))
					  ->total.weight;
	d->gone[event] += summary_share(weight, whole_of(d->before, d->before_of[event]));
}

int difference_create(const struct calltree *before, const struct calltree *after,
	const struct cancel *cancel, struct difference **difference)
{
	struct difference *d = g_new0(struct difference, 1);
	uint32_t i;
	int ret;

	d->before = before;
	d->after = after;
	d->before_of = g_new(uint32_t, after->nodes->len + 1);
	d->event_of = g_new(uint32_t, after->nodes->len + 1);
	d->is_matched = g_new0(uint8_t, before->nodes->len + 1);
	d->gone = g_new0(double, after->profile->events->len + 1);
	ret = match(d, cancel);
	for (i = 0; !ret && i < after->nodes->len; i++) {
		if (is_cancelled(cancel, i))
			ret = -EINTR;
		else
			add_gone(d, i);
	}
	if (ret)
		difference_destroy(d);
	else
		*difference = d;
	return ret;
}

void difference_destroy(struct difference *d)
{
	if (!d)
		return;
	g_free(d->before_of);
	g_free(d->event_of);
	g_free(d->is_matched);
	g_free(d->gone);
	g_free(d);
}

uint32_t difference_before(const struct difference *d, uint32_t node)
{
	return d->before_of[node];
}

void difference_shares(const struct difference *d, uint32_t number, struct difference_shares *shares)
{
	const struct calltree_node *node = calltree_node(d->after, number);
	const uint32_t event = d->event_of[number], old = d->before_of[number];
	const uint64_t whole = whole_of(d->after, event);
	const uint64_t whole_before = whole_of(d->before, d->before_of[event]);

	*shares = (struct difference_shares){
		.total = summary_share(node->total.weight, whole),
		.self = summary_share(node->self.weight, whole),
	};
	if (old == CALLTREE_NO_NODE)
		return;
	shares->total_before = summary_share(calltree_node(d->before, old)->total.weight, whole_before);
	shares->self_before = summary_share(calltree_node(d->before, old)->self.weight, whole_before);
}

uint32_t difference_gone(const struct difference *d, uint32_t number,
	void (*each)(void *arg, uint32_t before, double share), void *arg)
{
	const uint32_t old = d->before_of[number];
	const struct calltree_node *node;
	uint32_t i, count = 0;
	uint64_t whole;

	if (old == CALLTREE_NO_NODE)
		return 0;
	node = calltree_node(d->before, old);
	whole = whole_of(d->before, d->before_of[d->event_of[number]]);
	for (i = 0; i < node->count; i++) {
		const uint32_t child = calltree_child(d->before, node, i);

		if (d->is_matched[child])
			continue;
		count++;
		if (each)
			each(arg, child, summary_share(calltree_node(d->before, child)->total.weight, whole));
	}
	return count;
}

double difference_gone_share(const struct difference *d, uint32_t event)
{
	return d->gone[event];
}

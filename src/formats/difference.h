/* SPDX-License-Identifier: MIT */
/*
 * Two call trees compared: which node of an earlier capture a node of the later one corresponds to. Nodes
 * correspond if the names from the event down to them are equal; both trees are made with
 * calltree_options.by_name, since files and addresses change between captures.
 *
 * Shares are of the event's samples in each capture, so that captures of different lengths compare.
 * Thread-safe once created.
 */
#ifndef KPROFS_FORMATS_DIFFERENCE_H
#define KPROFS_FORMATS_DIFFERENCE_H

#include <stdint.h>

#include "base/cancel.h"
#include "formats/calltree.h"

struct difference;

/* Both trees must outlive it. Returns -EINTR if it was cancelled. */
int difference_create(const struct calltree *before, const struct calltree *after,
	const struct cancel *cancel, struct difference **difference);
/* NULL is allowed. */
void difference_destroy(struct difference *difference);

/* The node of the earlier tree for one of the later; CALLTREE_NO_NODE if there is none. */
uint32_t difference_before(const struct difference *difference, uint32_t node);

/* Percent of all samples of its event, in the earlier capture and in the later one. */
struct difference_shares {
	double total_before, self_before;
	double total, self;
};
void difference_shares(const struct difference *difference, uint32_t node, struct difference_shares *shares);

/*
 * The children of a node in the earlier tree that have no counterpart in the later one, hottest first:
 * returns how many there are, and calls `each`, which may be NULL, with the number and share of each.
 */
uint32_t difference_gone(const struct difference *difference, uint32_t node,
	void (*each)(void *arg, uint32_t before, double share), void *arg);

/* Percent of the event's samples in the earlier capture that are in nodes without a counterpart. */
double difference_gone_share(const struct difference *difference, uint32_t event);

#endif

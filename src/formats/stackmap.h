/* SPDX-License-Identifier: MIT */
/*
 * The maps with stacks as keys in an answer of probes/, or in what bpftrace prints, as a tree of functions:
 *
 *	@bytes[
 *	    innermost+12
 *	    caller+34
 *	, comm]: 56
 *
 * Other keys of an entry are together what stands above its functions. One thread at a time.
 */
#ifndef KPROFS_FORMATS_STACKMAP_H
#define KPROFS_FORMATS_STACKMAP_H

#include <stddef.h>

#include "base/err.h"
#include "capture/profile.h"
#include "formats/calltree.h"

/* The most bytes of a text: those of some 65,536 stacks. */
#define STACKMAP_BYTES_MAX (256u << 20)

struct stackmap {
	struct profile profile; /* its events are the maps */
	struct calltree *tree;
};

/*
 * Takes apart a text, which is changed. -ENODATA if no map has a stack as a key and a number above 0 as its
 * value, with the sentence.
 */
int stackmap_create(char *text, struct stackmap **map, struct err *err);
void stackmap_destroy(struct stackmap *map);

#endif

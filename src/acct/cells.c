/* SPDX-License-Identifier: MIT */
/* Reading of cells: see cells.h. */
#include "acct/cells.h"

#include <string.h>

#include "base/atomic.h"
#include "sys/clock.h"

/* Tries that find a change under way, which takes some ns unless the hypervisor stops the CPU in it. */
#define TRIES 1000

#define STATE_MASK (CELL_STATES - 1)

/* One copy; false if a change was under way. `end_ns` is the time up to which the sums go. */
static bool copy(const struct cell *cell, uint64_t *last, uint64_t *ns, uint64_t *end_ns)
{
	uint64_t sum = 0;
	int s;

	/* acquire: the sums are read between the two reads of `last`; the pair is the program's exchange */
	*last = atomic_plain_read_acquire(&cell->last);
	for (s = 0; s < CELL_STATES; s++) {
		ns[s] = atomic_plain_read_acquire(&cell->ns[s]);
		sum += ns[s];
	}
	/* relaxed: the acquire reads above come first */
	*end_ns = atomic_plain_read_relaxed(&cell->base) + sum;
	return *last == atomic_plain_read_relaxed(&cell->last) && *end_ns == *last >> CELL_STATE_BITS;
}

void cells_read(const struct cell *cell, bool online, bool divided, struct exact_times *times)
{
	uint64_t ns[CELL_STATES], last, now_ns;
	bool whole = false;
	int try;

	for (try = 0; try < TRIES && !whole; try++)
		whole = copy(cell, &last, ns, &times->at_ns);
	times->divided = divided;
	now_ns = clock_monotonic_ns();
	if (whole && online && now_ns > times->at_ns) {
		ns[last & STATE_MASK] += now_ns - times->at_ns;
		times->at_ns = now_ns;
	}
	memcpy(times->ns, ns, sizeof(times->ns));
}

void cells_begin(struct cell *cell, uint64_t now_ns)
{
	memset(cell, 0, sizeof(*cell));
	cell->base = now_ns;
	cell->under = EXACT_TASK;
	atomic_plain_write_release(&cell->last, now_ns << CELL_STATE_BITS | EXACT_TASK);
}

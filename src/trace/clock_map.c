/* SPDX-License-Identifier: MIT */
/* Converts the CPU's time counter to CLOCK_MONOTONIC: see clock_map.h. */
#include "trace/clock_map.h"

#include <glib.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/bisect.h"
#include "base/units.h"
#include "sys/clock.h"

/* Reads of both clocks for one anchor: the one that was interrupted least is taken. */
#define ANCHOR_TRIES 8
/*
 * The line is corrected when it is further from an anchor: several times what reading the clocks
 * costs.
 */
#define TOLERANCE_NS 500
/* A correction is spread over this time. A line that is late by more than half of it jumps. */
#define CORRECTION_NS NSEC_PER_SEC
/* Slopes are ns a tick, in units of 2^-40. */
#define SLOPE_BITS 40

__extension__ typedef unsigned __int128 wide; /* a product of two 64-bit numbers */

struct clock_map_piece {
	uint64_t counter, ns; /* of its beginning */
	uint64_t slope;
};

/* i: invariant; l: under the lock, a leaf */
struct clock_map {
	struct clock_map_source source; /* i */
	bool usable;                    /* i: there is a counter */
	pthread_mutex_t lock;
	GArray *pieces;                 /* l: of struct piece, by counter; never empty */
	struct clock_map_anchor base;   /* l: the current slope is measured from this anchor */
	struct clock_map_anchor newest; /* l */
	bool shown;                     /* l: the line was copied, so its times must not change */
};

struct clock_map_copy {
	size_t count;
	uint64_t frequency;
	struct clock_map_anchor anchor;
	struct clock_map_piece pieces[];
};

static bool read_no_counter(void *arg, struct clock_map_anchor *anchor)
{
	anchor->monotonic_ns = clock_monotonic_ns();
	anchor->realtime_ns = clock_realtime_ns();
	anchor->counter = 0;
	return false;
}

static bool read_counter(void *arg, struct clock_map_anchor *anchor)
{
	uint64_t narrowest = UINT64_MAX;
	int i;

	for (i = 0; i < ANCHOR_TRIES; i++) {
		uint64_t before = clock_counter();
		uint64_t monotonic_ns = clock_monotonic_ns();
		uint64_t after = clock_counter();

		if (after - before >= narrowest)
			continue;
		narrowest = after - before;
		anchor->counter = before + narrowest / 2;
		anchor->monotonic_ns = monotonic_ns;
		anchor->realtime_ns = clock_realtime_ns();
	}
	return true;
}

/*
 * Returns the slope from one anchor to a later one, or 0 if one of the clocks did not advance or
 * the slope is too steep.
 */
static uint64_t slope_between(
	const struct clock_map_anchor *from, const struct clock_map_anchor *to)
{
	wide slope;

	if (to->counter <= from->counter || to->monotonic_ns <= from->monotonic_ns)
		return 0;
	slope = ((wide)(to->monotonic_ns - from->monotonic_ns) << SLOPE_BITS) /
		(to->counter - from->counter);
	return slope > UINT64_MAX ? 0 : (uint64_t)slope;
}

static uint64_t piece_ns(const struct clock_map_piece *piece, uint64_t counter)
{
	wide distance;

	if (counter >= piece->counter) {
		distance = ((wide)(counter - piece->counter) * piece->slope) >> SLOPE_BITS;
		return distance > UINT64_MAX - piece->ns ? UINT64_MAX
							 : piece->ns + (uint64_t)distance;
	}
	distance = ((wide)(piece->counter - counter) * piece->slope) >> SLOPE_BITS;
	return distance > piece->ns ? 0 : piece->ns - (uint64_t)distance;
}

static bool begins_by(const void *piece, const void *counter)
{
	return ((const struct clock_map_piece *)piece)->counter <= *(const uint64_t *)counter;
}

static uint64_t pieces_ns(const struct clock_map_piece *pieces, size_t count, uint64_t counter)
{
	size_t begun = bisect(pieces, count, sizeof(*pieces), begins_by, &counter);

	return piece_ns(&pieces[begun ? begun - 1 : 0], counter);
}

static struct clock_map_piece *last_piece(struct clock_map *clock_map)
{
	return &g_array_index(
		clock_map->pieces, struct clock_map_piece, clock_map->pieces->len - 1);
}

/* As long as no time was shown, the line goes through the first anchor and the newest. */
static void set_first_slope(struct clock_map *clock_map)
{
	uint64_t slope = slope_between(&clock_map->base, &clock_map->newest);

	if (slope)
		last_piece(clock_map)->slope = slope;
}

/*
 * Adds two pieces: one that leads the line back to the clock, and one that continues at its rate.
 */
static void bend(struct clock_map *clock_map, const struct clock_map_anchor *now)
{
	uint64_t slope = slope_between(&clock_map->base, now), line, spread;
	struct clock_map_piece back = {.counter = now->counter}, on;

	line = pieces_ns((struct clock_map_piece *)(void *)clock_map->pieces->data,
		clock_map->pieces->len, now->counter);
	if (!slope || (line < now->monotonic_ns + TOLERANCE_NS &&
			      now->monotonic_ns < line + TOLERANCE_NS))
		return;
	back.ns = line;
	spread = CORRECTION_NS;
	if (now->monotonic_ns > line + CORRECTION_NS / 2)
		back.ns = now->monotonic_ns;
	else if (line > now->monotonic_ns + CORRECTION_NS / 2)
		spread = 2 * (line - now->monotonic_ns); /* the slope is at least halved */
	on.counter = now->counter + (uint64_t)(((wide)spread << SLOPE_BITS) / slope);
	if (on.counter <= back.counter)
		return;
	on.slope = slope;
	/* the clock's time at the end of the correction, less the line's time now */
	back.slope = (uint64_t)(((wide)(now->monotonic_ns + spread - back.ns) << SLOPE_BITS) /
				(on.counter - back.counter));
	on.ns = piece_ns(&back, on.counter);
	g_array_append_val(clock_map->pieces, back);
	g_array_append_val(clock_map->pieces, on);
	clock_map->base = *now;
}

void clock_map_refresh(struct clock_map *clock_map, bool force)
{
	struct clock_map_anchor now;

	pthread_mutex_lock(&clock_map->lock);
	clock_map->source.read(clock_map->source.arg, &now);
	if (force || now.monotonic_ns - clock_map->newest.monotonic_ns >= NSEC_PER_SEC) {
		clock_map->newest = now;
		if (clock_map->usable && !clock_map->shown)
			set_first_slope(clock_map);
		else if (clock_map->usable && clock_map->pieces->len + 2 <= CLOCK_MAP_PIECES &&
			 now.counter > last_piece(clock_map)->counter)
			bend(clock_map, &now);
	}
	pthread_mutex_unlock(&clock_map->lock);
}

struct clock_map *clock_map_create_from(const struct clock_map_source *source)
{
	struct clock_map *clock_map = g_new0(struct clock_map, 1);
	struct clock_map_piece first = {.slope = (uint64_t)1 << SLOPE_BITS};

	pthread_mutex_init(&clock_map->lock, NULL);
	clock_map->source = *source;
	clock_map->usable = source->read(source->arg, &clock_map->base);
	clock_map->newest = clock_map->base;
	clock_map->pieces = g_array_new(FALSE, FALSE, sizeof(struct clock_map_piece));
	if (clock_map->usable) {
		first.counter = clock_map->base.counter;
		first.ns = clock_map->base.monotonic_ns;
	}
	g_array_append_val(clock_map->pieces, first);
	return clock_map;
}

struct clock_map *clock_map_create(void)
{
	const bool counter = clock_has_counter(CLOCK_SOURCE_PATH);
	const struct clock_map_source machine = {counter ? read_counter : read_no_counter, NULL};
	const struct timespec baseline = {.tv_nsec = 2 * NSEC_PER_MSEC};
	struct clock_map *clock_map = clock_map_create_from(&machine);

	if (counter) {
		nanosleep(&baseline, NULL);
		clock_map_refresh(clock_map, true);
	}
	return clock_map;
}

void clock_map_destroy(struct clock_map *clock_map)
{
	if (!clock_map)
		return;
	g_array_free(clock_map->pieces, TRUE);
	pthread_mutex_destroy(&clock_map->lock);
	g_free(clock_map);
}

struct clock_map_copy *clock_map_copy(struct clock_map *clock_map)
{
	struct clock_map_copy *copy;
	size_t count;

	pthread_mutex_lock(&clock_map->lock);
	count = clock_map->pieces->len;
	copy = g_malloc(sizeof(*copy) + count * sizeof(struct clock_map_piece));
	copy->count = count;
	memcpy(copy->pieces, clock_map->pieces->data, count * sizeof(struct clock_map_piece));
	copy->anchor = clock_map->newest;
	copy->frequency = 0;
	if (clock_map->usable)
		copy->frequency = (uint64_t)(((wide)NSEC_PER_SEC << SLOPE_BITS) /
					    MAX(last_piece(clock_map)->slope, 1));
	clock_map->shown = true;
	pthread_mutex_unlock(&clock_map->lock);
	return copy;
}

void clock_map_copy_free(struct clock_map_copy *copy)
{
	g_free(copy);
}

uint64_t clock_map_copy_ns(const struct clock_map_copy *copy, uint64_t counter)
{
	return pieces_ns(copy->pieces, copy->count, counter);
}

uint64_t clock_map_copy_frequency(const struct clock_map_copy *copy)
{
	return copy->frequency;
}

void clock_map_copy_anchor(const struct clock_map_copy *copy, struct clock_map_anchor *anchor)
{
	*anchor = copy->anchor;
}

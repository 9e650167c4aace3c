/* SPDX-License-Identifier: MIT */
/* The time counter brought onto CLOCK_MONOTONIC: see stamps.h. */
#include "trace/clock_map.h"

#include <glib.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "sys/clock.h"

/* Reads of both clocks for one anchor: the one that was interrupted least is taken. */
#define ANCHOR_TRIES 8
/* How far the line may be from an anchor before it is bent: several times what reading costs. */
#define TOLERANCE_NS 500
/* A correction is spread over so much; a line that is too late by more than half of it jumps. */
#define CORRECTION_NS NSEC_PER_SEC
/* Slopes are ns a tick, in units of 2^-40. */
#define SLOPE_BITS 40

__extension__ typedef unsigned __int128 wide; /* a product of two 64-bit numbers */

struct piece {
	uint64_t counter, ns; /* where it begins */
	uint64_t slope;
};

/* i: invariant; l: under the lock, a leaf */
struct clock_map {
	struct clock_map_source source; /* i */
	bool usable;                    /* i: there is a counter */
	pthread_mutex_t lock;
	GArray *pieces;                 /* l: of struct piece, by counter; never empty */
	struct clock_map_anchor base;   /* l: the anchor from which the present slope is measured */
	struct clock_map_anchor newest; /* l */
	bool shown;                     /* l: somebody has the line: what it says stands */
};

struct clock_map_map {
	size_t count;
	uint64_t frequency;
	struct clock_map_anchor anchor;
	struct piece pieces[];
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

/* From one anchor to a later one; 0: they don't make a line. */
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

static uint64_t piece_ns(const struct piece *piece, uint64_t counter)
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

static uint64_t pieces_ns(const struct piece *pieces, size_t count, uint64_t counter)
{
	size_t low = 0, high = count - 1;

	if (counter >= pieces[high].counter || count == 1)
		return piece_ns(&pieces[high], counter);
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (counter >= pieces[middle].counter)
			low = middle;
		else
			high = middle;
	}
	return piece_ns(&pieces[low], counter);
}

static struct piece *last_piece(struct clock_map *stamps)
{
	return &g_array_index(stamps->pieces, struct piece, stamps->pieces->len - 1);
}

/* Nobody has seen a stamp yet: the line goes through the first anchor and the newest. */
static void lay_first(struct clock_map *stamps)
{
	uint64_t slope = slope_between(&stamps->base, &stamps->newest);

	if (slope)
		last_piece(stamps)->slope = slope;
}

/* Bends the line so that it meets the clock again, and goes on from there at the clock's rate. */
static void bend(struct clock_map *stamps, const struct clock_map_anchor *now)
{
	uint64_t slope = slope_between(&stamps->base, now), line, spread;
	struct piece back = {.counter = now->counter}, on;

	line = pieces_ns(
		(struct piece *)(void *)stamps->pieces->data, stamps->pieces->len, now->counter);
	if (!slope || (line < now->monotonic_ns + TOLERANCE_NS &&
			      now->monotonic_ns < line + TOLERANCE_NS))
		return;
	back.ns = line;
	spread = CORRECTION_NS;
	if (now->monotonic_ns > line + CORRECTION_NS / 2)
		back.ns = now->monotonic_ns;
	else if (line > now->monotonic_ns + CORRECTION_NS / 2)
		spread = 2 * (line - now->monotonic_ns); /* half as fast is as slow as it gets */
	on.counter = now->counter + (uint64_t)(((wide)spread << SLOPE_BITS) / slope);
	if (on.counter <= back.counter)
		return;
	on.slope = slope;
	/* what the clock will say there, less what the line says here */
	back.slope = (uint64_t)(((wide)(now->monotonic_ns + spread - back.ns) << SLOPE_BITS) /
				(on.counter - back.counter));
	on.ns = piece_ns(&back, on.counter);
	g_array_append_val(stamps->pieces, back);
	g_array_append_val(stamps->pieces, on);
	stamps->base = *now;
}

void clock_map_refresh(struct clock_map *stamps, bool force)
{
	struct clock_map_anchor now;

	pthread_mutex_lock(&stamps->lock);
	stamps->source.read(stamps->source.arg, &now);
	if (force || now.monotonic_ns - stamps->newest.monotonic_ns >= NSEC_PER_SEC) {
		stamps->newest = now;
		if (stamps->usable && !stamps->shown)
			lay_first(stamps);
		else if (stamps->usable && stamps->pieces->len + 2 <= CLOCK_MAP_PIECES &&
			 now.counter > last_piece(stamps)->counter)
			bend(stamps, &now);
	}
	pthread_mutex_unlock(&stamps->lock);
}

struct clock_map *clock_map_create_from(const struct clock_map_source *source)
{
	struct clock_map *stamps = g_new0(struct clock_map, 1);
	struct piece first = {.slope = (uint64_t)1 << SLOPE_BITS};

	pthread_mutex_init(&stamps->lock, NULL);
	stamps->source = *source;
	stamps->usable = source->read(source->arg, &stamps->base);
	stamps->newest = stamps->base;
	stamps->pieces = g_array_new(FALSE, FALSE, sizeof(struct piece));
	if (stamps->usable) {
		first.counter = stamps->base.counter;
		first.ns = stamps->base.monotonic_ns;
	}
	g_array_append_val(stamps->pieces, first);
	return stamps;
}

struct clock_map *clock_map_create(void)
{
	const bool counter = clock_has_counter(CLOCK_SOURCE_PATH);
	const struct clock_map_source machine = {counter ? read_counter : read_no_counter, NULL};
	const struct timespec baseline = {.tv_nsec = 2 * NSEC_PER_MSEC};
	struct clock_map *stamps = clock_map_create_from(&machine);

	if (counter) {
		nanosleep(&baseline, NULL);
		clock_map_refresh(stamps, true);
	}
	return stamps;
}

void clock_map_destroy(struct clock_map *stamps)
{
	if (!stamps)
		return;
	g_array_free(stamps->pieces, TRUE);
	pthread_mutex_destroy(&stamps->lock);
	g_free(stamps);
}

struct clock_map_map *clock_map_map(struct clock_map *stamps)
{
	struct clock_map_map *map;
	size_t count;

	pthread_mutex_lock(&stamps->lock);
	count = stamps->pieces->len;
	map = g_malloc(sizeof(*map) + count * sizeof(struct piece));
	map->count = count;
	memcpy(map->pieces, stamps->pieces->data, count * sizeof(struct piece));
	map->anchor = stamps->newest;
	map->frequency = 0;
	if (stamps->usable)
		map->frequency = (uint64_t)(((wide)NSEC_PER_SEC << SLOPE_BITS) /
					    MAX(last_piece(stamps)->slope, 1));
	stamps->shown = true;
	pthread_mutex_unlock(&stamps->lock);
	return map;
}

void clock_map_map_free(struct clock_map_map *map)
{
	g_free(map);
}

uint64_t clock_map_map_ns(const struct clock_map_map *map, uint64_t counter)
{
	return pieces_ns(map->pieces, map->count, counter);
}

uint64_t clock_map_map_frequency(const struct clock_map_map *map)
{
	return map->frequency;
}

void clock_map_map_anchor(const struct clock_map_map *map, struct clock_map_anchor *anchor)
{
	*anchor = map->anchor;
}

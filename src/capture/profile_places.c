/* SPDX-License-Identifier: MIT */
/* The places of addresses, with a cache: see profile_places.h. */
#include "capture/profile_places.h"

#include "capture/table.h"

/* Cached places of addresses; a power of two, small enough for a CPU's second-level cache. */
#define CACHE_ENTRIES 16384

struct profile_cached {
	uint64_t address;
	uint64_t from, to; /* times for which the entry is valid; from == to: free */
	uint32_t space;	   /* the life, or the section for addresses of the kernel */
	bool kernel;
	uint32_t place;
};

struct profile_places {
	struct processes *processes;
	GArray *list;
	struct table table; /* of the list */
	struct profile_cached cache[CACHE_ENTRIES];
};

struct profile_places *profile_places_create(struct processes *processes, GArray *list)
{
	struct profile_places *p = g_new0(struct profile_places, 1);

	p->processes = processes;
	p->list = list;
	return p;
}

void profile_places_destroy(struct profile_places *p)
{
	table_fini(&p->table);
	g_free(p);
}

static bool equal_place(const void *items, uint32_t i, const void *key)
{
	const struct profile_place *a = (const struct profile_place *)items + i, *b = key;

	return a->offset == b->offset && a->file == b->file && a->kernel == b->kernel &&
	       a->waker == b->waker && a->text == b->text;
}

static uint32_t intern(struct profile_places *p, const struct profile_place *key)
{
	const uint64_t what = key->offset ^ (uintptr_t)key->text;

	return table_intern(&p->table, p->list,
		table_hash(what, (uint64_t)key->file << 2 | (uint64_t)key->waker << 1 | key->kernel),
		equal_place, key);
}

uint32_t profile_places_find(struct profile_places *p, uint32_t space, bool kernel, uint64_t address,
	uint64_t time)
{
	uint32_t at = table_hash(address, (uint64_t)space << 1 | kernel) % CACHE_ENTRIES;
	struct profile_cached *c = &p->cache[at];
	struct processes_hit hit;

	if (c->address == address && c->space == space && c->kernel == kernel && time >= c->from &&
		time < c->to)
		return c->place;
	if (kernel)
		processes_find_kernel(p->processes, space, address, time, &hit);
	else
		processes_find_user(p->processes, space, address, time, &hit);
	*c = (struct profile_cached){
		.address = address,
		.from = hit.from,
		.to = hit.to,
		.space = space,
		.kernel = kernel,
	};
	c->place = intern(p,
		&(struct profile_place){ .file = hit.file, .kernel = kernel, .offset = hit.offset });
	return c->place;
}

uint32_t profile_places_waker(struct profile_places *p, uint32_t place)
{
	struct profile_place key = g_array_index(p->list, struct profile_place, place);

	key.waker = true;
	return intern(p, &key);
}

uint32_t profile_places_text(struct profile_places *p, const char *text)
{
	const struct profile_place key = { .file = PROCESSES_NONE, .waker = true, .text = text };

	return intern(p, &key);
}

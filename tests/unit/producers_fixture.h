/* SPDX-License-Identifier: MIT */
/*
 * Producers without connections: pools that are attached, written to and ended.
 */
#ifndef KPROFS_TESTS_UNIT_PRODUCERS_FIXTURE_H
#define KPROFS_TESTS_UNIT_PRODUCERS_FIXTURE_H

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/race/fixture.h"
#include "producers/catalog.h"
#include "producers/producers.h"

#define POOL_BYTES 65536u

struct world {
	struct catalog *catalog;
	struct producers *producers;
};

static const struct producers_limits roomy = {
	.programs = 8, .user_programs = 6,
	.bytes = 16 * POOL_BYTES, .user_bytes = 12 * POOL_BYTES,
	.ids = 20, .user_ids = 10,
	.exited_programs = 4, .exited_bytes = 100 * POOL_BYTES,
};

static inline struct world create(const struct producers_limits *limits)
{
	struct world world;

	world.catalog = catalog_create(NULL);
	world.producers = producers_create(world.catalog, limits);
	return world;
}

static inline void destroy(struct world *world)
{
	struct catalog_counts counts;

	producers_destroy(world->producers);
	catalog_count(world->catalog, &counts);
	assert_int_equal(counts.events + counts.kept + counts.bytes, 0); /* everything was released */
	catalog_destroy(world->catalog);
}

static inline int attach(struct world *world, pid_t pid, uid_t uid, const char *program, int fd,
	struct producer **producer, struct err *err)
{
	const struct producer_identity identity = {pid, uid, program};

	int own = dup(fd), ret = producers_attach(world->producers, &identity, own, producer, err);

	if (ret)
		close(own); /* ours still: EBADF if not */
	return ret;
}

static inline struct producer *attached(struct world *world, pid_t pid, uid_t uid, int fd)
{
	char program[KPROF_PROGRAM_MAX] = "prog";
	struct producer *producer = NULL;
	struct err err = {""};

	if (attach(world, pid, uid, program, fd, &producer, &err))
		fail_msg("%s", err.text);
	return producer;
}

static inline struct producers_totals total(struct world *world)
{
	struct producers_totals totals;

	producers_total(world->producers, &totals);
	return totals;
}

static inline void write_events(struct fixture *f, struct ring_writer *writer, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		fixture_write(f, writer, KPROF_ID_FIRST, &i, 1);
}

static inline void end(struct producer *producer)
{
	producer_end(producer, false);
	producer_put(producer);
}

/* One producer of `uid` that wrote `count` events and exited. */
static inline void live_and_die(struct world *world, pid_t pid, uid_t uid, uint64_t count)
{
	struct producer *producer;
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	producer = attached(world, pid, uid, f.fd);
	write_events(&f, ring_writer_begin(&f.pool), count);
	end(producer);
	fixture_close(&f);
}

static inline void check_pids(struct world *world, int line, const char *expected)
{
	g_autoptr(GString) found = g_string_new(NULL);
	GPtrArray *all = producers_all(world->producers);

	for (guint i = 0; i < all->len; i++) {
		const struct producer *producer = g_ptr_array_index(all, i);

		g_string_append_printf(found, "%s%d", i ? " " : "", (int)producer->pid);
	}
	g_ptr_array_free(all, TRUE);
	if (strcmp(found->str, expected) != 0)
		fail_msg("line %d: '%s' and not '%s'", line, found->str, expected);
}

#endif

/* SPDX-License-Identifier: MIT */
/* src/trace/producers: who is attached, what is kept of the dead, bounds and sums. */
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
	.kept_programs = 4, .kept_bytes = 100 * POOL_BYTES,
};

static struct world create(const struct producers_limits *limits)
{
	struct world world;

	world.catalog = catalog_create(NULL);
	world.producers = producers_create(world.catalog, limits);
	return world;
}

static void destroy(struct world *world)
{
	struct catalog_counts counts;

	producers_destroy(world->producers);
	catalog_count(world->catalog, &counts);
	assert_int_equal(counts.events + counts.kept + counts.bytes, 0); /* all was put */
	catalog_destroy(world->catalog);
}

static int attach(struct world *world, pid_t pid, uid_t uid, const char *program, int fd,
	struct producer **producer, struct err *err)
{
	const struct producer_identity identity = {pid, uid, program};

	int own = dup(fd), ret = producers_attach(world->producers, &identity, own, producer, err);

	if (ret)
		close(own); /* ours still: EBADF if not */
	return ret;
}

static struct producer *attached(struct world *world, pid_t pid, uid_t uid, int fd)
{
	char program[KPROF_PROGRAM_MAX] = "prog";
	struct producer *producer = NULL;
	struct err err = {""};

	if (attach(world, pid, uid, program, fd, &producer, &err))
		fail_msg("%s", err.text);
	return producer;
}

static struct producers_totals total(struct world *world)
{
	struct producers_totals totals;

	producers_total(world->producers, &totals);
	return totals;
}

static void write_events(struct fixture *f, struct ring_writer *writer, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		fixture_write(f, writer, KPROF_ID_FIRST, &i, 1);
}

static void end(struct producer *producer)
{
	producer_end(producer, false);
	producer_put(producer);
}

static void test_program_names_are_made_printable(void **state)
{
	struct world world = create(&roomy);
	struct producer *producer = NULL;
	struct err err = {""};
	char text[KPROF_PROGRAM_MAX];
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	memset(text, 'a', sizeof(text)); /* no NUL */
	memcpy(text, "a b\x1b[2J]\n'\xff", 11);
	assert_int_equal(attach(&world, 10, 1, text, f.fd, &producer, &err), 0);
	assert_int_equal(strlen(producer->program), KPROF_PROGRAM_MAX - 1);
	assert_memory_equal(producer->program, "a_b__2J____a", 12);
	end(producer);
	memset(text, 0, sizeof(text));
	assert_int_equal(attach(&world, 10, 1, text, f.fd, &producer, &err), 0);
	assert_string_equal(producer->program, "?");
	assert_int_equal(producer->serial, 2);
	end(producer);
	fixture_close(&f);
	destroy(&world);
}

static void test_file_that_is_not_a_pool_is_refused(void **state)
{
	struct world world = create(&roomy);
	struct producer *producer = NULL;
	struct err err = {""};
	int fd = memfd_create("x", MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, POOL_BYTES), 0);
	assert_int_equal(attach(&world, 10, 1, "prog", fd, &producer, &err), -EINVAL);
	assert_non_null(strstr(err.text, "its memory is not taken: not a memfd sealed"));
	assert_int_equal(total(&world).refused, 1);
	assert_int_equal(total(&world).pool_bytes, 0);
	close(fd);
	destroy(&world);
}

static void test_events_are_defined_and_counted(void **state)
{
	struct world world = create(&roomy);
	const struct producer_event *event;
	struct err err = {""};
	struct producer *producer, *second;
	struct fixture f, g;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	fixture_open(&g, POOL_BYTES, KPROF_MODE_OVERWRITE);
	producer = attached(&world, 10, 1, f.fd);
	second = attached(&world, 11, 1, g.fd);
	assert_null(producer_event(producer, 2));
	assert_null(producer_event(producer, UINT16_MAX));
	assert_int_equal(producer_event(producer, 1)->kind, KPROF_KIND_PRINTX);
	assert_false(producer_event(producer, 1)->show_provisional);
	assert_true(producer_event(producer, 0)->show_provisional);

	assert_int_equal(producer_define(producer, 2, KPROF_KIND_EVENT, "p:a", "%d", &err), 0);
	event = producer_event(producer, 2);
	assert_int_equal(event->number, 1);
	assert_string_equal(event->label, "p:a");
	assert_string_equal(event->format, "%d");
	assert_false(event->show_provisional);
	assert_false(producer_is_on(producer, 2));
	assert_true(producer_is_on(producer, 0));
	assert_int_equal(catalog_set(world.catalog, "p:a", true), 0);
	assert_true(producer_is_on(producer, 2));
	assert_false(event->show_provisional); /* it was not, when the program began */

	/* the same name means the same event in every program */
	assert_int_equal(producer_define(second, 900, KPROF_KIND_EVENT, "p:a", "%d", &err), 0);
	assert_int_equal(producer_event(second, 900)->number, 1);
	assert_true(producer_event(second, 900)->show_provisional);
	assert_int_equal(producer_define(second, 3, KPROF_KIND_EVENT, "p:a", "%u", &err), -EEXIST);
	assert_null(producer_event(second, 3));
	assert_false(producer_is_on(second, 3));
	assert_int_equal(total(&world).refused, 1);

	/* gone and back, and a lie */
	producer_undefine(producer, 2);
	producer_undefine(producer, 2);
	producer_undefine(producer, 77);
	assert_false(producer_is_on(producer, 2));
	assert_ptr_equal(producer_event(producer, 2), event);
	assert_int_equal(producer_define(producer, 2, KPROF_KIND_EVENT, "p:a", "%d", &err), 0);
	assert_true(producer_is_on(producer, 2));
	assert_int_equal(producer_define(producer, 2, KPROF_KIND_EVENT, "p:b", "%d", &err), -EPROTO);
	assert_int_equal(producer_define(producer, 2, KPROF_KIND_PRINTF, "", "%d", &err), -EPROTO);
	assert_int_equal(producer_define(producer, 1, KPROF_KIND_PRINTF, "", "%d", &err), -EPROTO);
	assert_int_equal(producer_define(producer, KPROF_ID_LIMIT, KPROF_KIND_PRINTF, "", "", &err),
		-EPROTO);
	assert_int_equal(producer_define(producer, 3, 0, "", "%d", &err), -EPROTO);
	assert_int_equal(producer_define(producer, 3, 5, "", "%d", &err), -EPROTO);
	assert_int_equal(producer_define(producer, 3, KPROF_KIND_PRINTF, "", "%n", &err), -EINVAL);
	assert_int_equal(producer_define(producer, 3, KPROF_KIND_EVENT, "p b:c", "", &err), -EINVAL);
	assert_int_equal(total(&world).refused, 3);
	assert_int_equal(producer_define(producer, KPROF_ID_LIMIT - 1, KPROF_KIND_PRINTX, "x", "%d",
		&err), 0);
	assert_int_equal(producer_event(producer, KPROF_ID_LIMIT - 1)->number, 0);

	end(producer);
	end(second);
	fixture_close(&f);
	fixture_close(&g);
	destroy(&world);
}

/* A user's events are bounded, those that are refused cost nothing for long. */
static void test_ids_of_a_user_are_bounded(void **state)
{
	struct world world = create(&roomy);
	struct err err = {""};
	struct producer *producer;
	struct fixture f;
	uint16_t id;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	producer = attached(&world, 10, 1, f.fd);
	for (id = 2; id < 12; id++)
		assert_int_equal(producer_define(producer, id, KPROF_KIND_PRINTF, "", "", &err), 0);
	assert_int_equal(producer_define(producer, id, KPROF_KIND_PRINTF, "", "", &err), -EDQUOT);
	end(producer);
	producer = attached(&world, 10, 1, f.fd);
	assert_int_equal(producer_define(producer, id, KPROF_KIND_PRINTF, "", "", &err), 0);
	end(producer);
	fixture_close(&f);
	destroy(&world);
}

/* How many ids from `id` on the program gets. */
static uint16_t define_all(struct producer *producer, uint16_t id, int error)
{
	struct err err = {""};
	uint16_t next = id;
	int ret;

	while ((ret = producer_define(producer, next, KPROF_KIND_PRINTF, "", "", &err)) == 0)
		next++;
	assert_int_equal(ret, error);
	return next - id;
}

/*
 * What the dead have makes way for the events of the living: the user's own first, then anybody's.
 */
static void test_ids_of_exited_producers_are_freed(void **state)
{
	struct world world = create(&roomy);
	struct producer *producer;
	struct fixture f[3];

	for (int i = 0; i < 3; i++) {
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		producer = attached(&world, 10 + i, i == 2 ? 2 : 1, f[i].fd);
		assert_int_equal(define_all(producer, 2, -EDQUOT), 10);
		write_events(&f[i], ring_writer_begin(&f[i].pool), 1);
		end(producer);
		fixture_close(&f[i]);
	}
	destroy(&world);
}

/* Users who take all that they can get, of whatever there is, leave some for the next. */
static void test_users_who_take_all_leave_a_share_for_others(void **state)
{
	const struct producers_limits limits = {
		.programs = 64, .user_programs = 48,
		.bytes = 64 * POOL_BYTES, .user_bytes = 32 * POOL_BYTES,
		.ids = 64, .user_ids = 32,
		.kept_programs = 4, .kept_bytes = 100 * POOL_BYTES,
	};
	static const struct {
		int line;
		unsigned int programs, ids;
	} rows[] = {
		{__LINE__, 32, 32}, /* its pools are what is bounded first */
		{__LINE__, 24, 24}, /* three fourths of 32, and of 8, and of 2 */
		{__LINE__, 6, 6},
		{__LINE__, 1, 2},
		{__LINE__, 0, 0},
	};
	struct producer *programs[64], *more;
	struct world world = create(&limits);
	struct fixture f[64];
	struct err err;
	unsigned int n = 0;
	int ret;

	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		unsigned int first = n;

		do {
			fixture_open(&f[n], POOL_BYTES, KPROF_MODE_OVERWRITE);
			ret = attach(&world, (pid_t)(100 + n), (uid_t)i, "prog", f[n].fd, &more, &err);
			if (!ret)
				programs[n++] = more;
		} while (!ret);
		fixture_close(&f[n]);
		if (n - first != rows[i].programs)
			fail_msg("line %d: %u programs", rows[i].line, n - first);
		if (n > first)
			assert_int_equal(define_all(programs[first], 2, i ? -ENOSPC : -EDQUOT),
				rows[i].ids);
	}
	while (n--) {
		end(programs[n]);
		fixture_close(&f[n]);
	}
	destroy(&world);
}

/* A slot of 8 KiB chunks in 64 KiB: 7 chunks. What the numbers must be is counted beside them. */
static void test_written_and_lost_events_add_up(void **state)
{
	struct world world = create(&roomy);
	struct producers_totals totals;
	struct producer *producer;
	struct ring_writer *writer;
	struct ring_room room;
	struct fixture f;
	uint64_t overwritten;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	producer = attached(&world, 10, 1, f.fd);
	write_events(&f, writer, 100);
	totals = total(&world);
	assert_int_equal(totals.written, 100);
	assert_int_equal(totals.overwritten + totals.dropped + totals.torn, 0);
	assert_int_equal(totals.attached, 1);
	assert_int_equal(totals.slow_clocks, 1); /* as the fixture makes them */
	assert_int_equal(totals.pool_bytes, POOL_BYTES);
	write_events(&f, writer, 10000); /* 24 bytes each: more than it holds */
	totals = total(&world);
	assert_int_equal(totals.written, 10100);
	assert_in_range(totals.overwritten, 10100 - 7 * 8192 / 24, 10100 - 6 * 8100 / 24);
	overwritten = totals.overwritten;
	assert_true(ring_reserve(writer, 3, &room)); /* and killed in the middle of it */
	assert_int_equal(total(&world).torn, 0);
	producer_end(producer, false);
	producer_end(producer, false);
	assert_true(atomic_read_acquire(&producer->ended));
	totals = total(&world);
	assert_int_equal(totals.written, 10101);
	assert_int_equal(totals.torn, 1);
	assert_int_equal(totals.overwritten, overwritten);
	assert_int_equal(totals.attached, 0);
	assert_int_equal(totals.kept, 1);
	assert_in_range(totals.kept_bytes, POOL_BYTES / 4, POOL_BYTES);
	producer_put(producer);

	/* the pool comes again: the same events, not twice as many */
	producer = attached(&world, 10, 1, f.fd);
	write_events(&f, writer, 9);
	totals = total(&world);
	assert_int_equal(totals.written, 10110);
	assert_int_equal(totals.kept, 0);
	assert_int_equal(totals.kept_bytes, 0);
	assert_int_equal(totals.pool_bytes, POOL_BYTES);
	end(producer);

	producers_clear(world.producers);
	totals = total(&world);
	assert_int_equal(totals.written, 10110);
	assert_int_equal(totals.kept, 0);
	assert_int_equal(totals.pool_bytes, 0);
	assert_int_equal(totals.cleared + totals.overwritten, 10110);
	assert_int_equal(totals.overwritten, overwritten);
	fixture_close(&f);
	destroy(&world);
}

/*
 * Killed behind the commit and before it was counted as done: that event is whole, others may be
 * torn.
 */
static void test_record_committed_before_a_kill_is_whole(void **state)
{
	struct world world = create(&roomy);
	struct producers_totals totals;
	struct producer *producer;
	struct ring_writer *writers[2];
	struct ring_room room;
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	producer = attached(&world, 10, 1, f.fd);
	for (int i = 0; i < 2; i++) {
		writers[i] = ring_writer_begin(&f.pool);
		write_events(&f, writers[i], 100);
	}
	assert_true(ring_reserve(writers[0], 3, &room)); /* torn */
	for (int i = 0; i < 2; i++) {
		write_events(&f, writers[i], 1);
		writers[i]->slot->done--;
	}
	producer_end(producer, false);
	totals = total(&world);
	assert_int_equal(totals.written, 203);
	assert_int_equal(totals.torn, 1);
	assert_int_equal(totals.overwritten + totals.dropped, 0);
	producer_put(producer);
	destroy(&world);
	fixture_close(&f);
}

/* The process comes again before its old connection's end was seen; another process may not. */
static void test_same_process_may_attach_its_pool_again(void **state)
{
	struct world world = create(&roomy);
	struct producer *first, *second, *third = NULL;
	struct ring_writer *writer;
	struct err err = {""};
	GPtrArray *all;
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	first = attached(&world, 10, 1, f.fd);
	assert_int_equal(producer_define(first, 2, KPROF_KIND_EVENT, "p:a", "%d", &err), 0);
	write_events(&f, writer, 5);
	assert_int_equal(attach(&world, 11, 1, "prog", f.fd, &third, &err), -EBUSY);
	assert_non_null(strstr(err.text, "process 10"));
	second = attached(&world, 10, 1, f.fd);
	assert_true(atomic_read_acquire(&first->ended));
	assert_int_equal(producer_define(second, 2, KPROF_KIND_EVENT, "p:a", "%u", &err), 0);
	assert_int_equal(total(&world).written, 5);
	assert_int_equal(total(&world).attached, 1);
	all = producers_all(world.producers);
	assert_int_equal(all->len, 1);
	assert_ptr_equal(g_ptr_array_index(all, 0), second);
	g_ptr_array_free(all, TRUE);
	end(first);
	assert_int_equal(total(&world).attached, 1);
	end(second);
	/*
	 * its memory alone is still here: whoever has it may bring it back, also where room is
	 * short
	 */
	third = attached(&world, 11, 1, f.fd);
	assert_int_equal(total(&world).written, 5);
	end(third);
	fixture_close(&f);
	destroy(&world);
}

static void test_producers_and_their_memory_are_limited(void **state)
{
	struct world world = create(&roomy);
	struct producer *programs[8], *more = NULL;
	struct fixture f[9];
	struct err err = {""};

	for (int i = 0; i < 9; i++)
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
	for (int i = 0; i < 6; i++)
		programs[i] = attached(&world, 10 + i, 1, f[i].fd);
	assert_int_equal(attach(&world, 20, 1, "prog", f[6].fd, &more, &err), -EDQUOT);
	programs[6] = attached(&world, 21, 2, f[6].fd);
	programs[7] = attached(&world, 22, 2, f[7].fd);
	assert_int_equal(attach(&world, 23, 3, "prog", f[8].fd, &more, &err), -ENOSPC);
	assert_int_equal(total(&world).refused, 2);
	assert_int_equal(total(&world).pool_bytes, 8 * POOL_BYTES);
	end(programs[7]);
	programs[7] = attached(&world, 23, 3, f[8].fd);
	for (int i = 0; i < 8; i++)
		end(programs[i]);
	for (int i = 0; i < 9; i++)
		fixture_close(&f[i]);
	assert_int_equal(total(&world).pool_bytes, 0); /* nobody had written anything */
	destroy(&world);
}

/* One program of `uid` that wrote `count` events and died. */
static void live_and_die(struct world *world, pid_t pid, uid_t uid, uint64_t count)
{
	struct producer *producer;
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	producer = attached(world, pid, uid, f.fd);
	write_events(&f, ring_writer_begin(&f.pool), count);
	end(producer);
	fixture_close(&f);
}

static void check_pids(struct world *world, int line, const char *expected)
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

/* Room is made by the oldest dead of the user who keeps most; their events are overwritten then. */
static void test_oldest_exited_producer_of_the_largest_user_is_evicted(void **state)
{
	struct world world = create(&roomy);
	struct producers_totals totals;
	GPtrArray *held;

	live_and_die(&world, 1, 100, 10);
	live_and_die(&world, 2, 200, 20);
	live_and_die(&world, 3, 200, 40);
	live_and_die(&world, 4, 200, 80);
	check_pids(&world, __LINE__, "1 2 3 4");
	assert_int_equal(total(&world).overwritten, 0);
	held = producers_all(world.producers);
	live_and_die(&world, 5, 300, 160);
	check_pids(&world, __LINE__, "1 3 4 5");
	totals = total(&world);
	assert_int_equal(totals.written, 310);
	assert_int_equal(totals.overwritten, 20);
	assert_int_equal(totals.kept, 4);
	/* a reader has it still, and may read it */
	assert_int_equal(((struct producer *)g_ptr_array_index(held, 1))->pid, 2);
	assert_int_equal(totals.pool_bytes, 5 * POOL_BYTES);
	g_ptr_array_free(held, TRUE);
	assert_int_equal(total(&world).pool_bytes, 4 * POOL_BYTES);
	/* one that wrote nothing takes nobody's place */
	live_and_die(&world, 6, 300, 0);
	check_pids(&world, __LINE__, "1 3 4 5");
	destroy(&world);
}

static void test_memory_of_exited_producers_is_bounded(void **state)
{
	struct producers_limits limits = roomy;
	struct world world;

	limits.kept_bytes = 2 * POOL_BYTES; /* each counts for a fourth at least, for all at most */
	limits.kept_programs = 100;
	world = create(&limits);
	for (int i = 1; i < 10; i++) {
		live_and_die(&world, i, 100, 1);
		assert_in_range(total(&world).kept_bytes, POOL_BYTES / 4, 2 * POOL_BYTES);
	}
	assert_in_range(total(&world).kept, 2, 8);
	destroy(&world);
}

/* The dead make way for the living. */
static void test_exited_producers_are_evicted_for_new_ones(void **state)
{
	struct producers_limits limits = roomy;
	struct producer *programs[3], *more = NULL;
	struct err err = {""};
	struct fixture f[4];
	struct world world;

	limits.user_bytes = 3 * POOL_BYTES;
	limits.bytes = 5 * POOL_BYTES;
	world = create(&limits);
	for (int i = 0; i < 4; i++)
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
	live_and_die(&world, 1, 100, 1);
	live_and_die(&world, 2, 100, 1);
	live_and_die(&world, 3, 200, 1);
	programs[0] = attached(&world, 10, 100, f[0].fd);
	check_pids(&world, __LINE__, "1 2 3 10");
	programs[1] = attached(&world, 11, 100, f[1].fd); /* its own user's oldest goes */
	check_pids(&world, __LINE__, "2 3 10 11");
	programs[2] = attached(&world, 12, 300, f[2].fd); /* anybody's oldest */
	check_pids(&world, __LINE__, "3 10 11 12");
	assert_int_equal(attach(&world, 13, 100, "prog", f[3].fd, &more, &err), 0);
	check_pids(&world, __LINE__, "10 11 12 13");
	end(more);
	for (int i = 0; i < 3; i++)
		end(programs[i]);
	for (int i = 0; i < 4; i++)
		fixture_close(&f[i]);
	destroy(&world);
}

/* The same memory again takes no more room, and nobody has to make way for it. */
static void test_pool_attached_again_evicts_no_other(void **state)
{
	struct producers_limits limits = roomy;
	struct producer *again;
	struct ring_writer *writer;
	struct world world;
	struct fixture f;

	limits.user_bytes = 2 * POOL_BYTES;
	limits.bytes = 3 * POOL_BYTES;
	world = create(&limits);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	write_events(&f, writer, 3);
	end(attached(&world, 10, 100, f.fd));
	live_and_die(&world, 11, 100, 1);
	again = attached(&world, 10, 100, f.fd);
	check_pids(&world, __LINE__, "11 10");
	assert_int_equal(total(&world).written, 4);
	assert_int_equal(total(&world).overwritten, 0);
	assert_int_equal(total(&world).pool_bytes, 2 * POOL_BYTES);
	end(again);
	fixture_close(&f);
	destroy(&world);
}

/*
 * One that closed its descriptors before it wrote anything, and writes then, is read and counted.
 * Its memory is the first to make way.
 */
static void test_producer_that_closed_its_connection_is_still_read(void **state)
{
	struct world world = create(&roomy);
	struct producer *producer;
	struct fixture f[2];

	live_and_die(&world, 1, 100, 1);
	for (int i = 0; i < 2; i++) {
		fixture_open(&f[i], POOL_BYTES, KPROF_MODE_OVERWRITE);
		producer = attached(&world, 10 + i, 200, f[i].fd);
		producer_end(producer, true);
		producer_put(producer);
	}
	check_pids(&world, __LINE__, "1 10 11");
	write_events(&f[0], ring_writer_begin(&f[0].pool), 3);
	assert_int_equal(total(&world).written, 4);
	live_and_die(&world, 2, 300, 1);
	check_pids(&world, __LINE__, "1 10 11 2");
	write_events(&f[1], ring_writer_begin(&f[1].pool), 5); /* nobody has looked since */
	live_and_die(&world, 3, 400, 1);
	check_pids(&world, __LINE__, "1 10 2 3");
	assert_int_equal(total(&world).written, 11);
	assert_int_equal(total(&world).overwritten, 5);
	for (int i = 0; i < 2; i++)
		fixture_close(&f[i]);
	destroy(&world);
}

static void test_clear_hides_events_and_keeps_counting(void **state)
{
	struct world world = create(&roomy);
	struct ring_writer *writer;
	struct producer *producer;
	struct fixture f;

	assert_int_equal(producers_cleared_ns(world.producers), 0);
	fixture_open(&f, POOL_BYTES, KPROF_MODE_DISCARD);
	writer = ring_writer_begin(&f.pool);
	producer = attached(&world, 10, 1, f.fd);
	write_events(&f, writer, 10000);
	assert_true(total(&world).dropped > 0);
	assert_int_equal(total(&world).written + total(&world).dropped, 10000);
	assert_int_equal(producer_clear_ticket(producer), 0);
	producers_clear(world.producers);
	assert_true(producers_cleared_ns(world.producers) > 0);
	assert_int_equal(producer_clear_ticket(producer), f.pool.layout.chunk_count);
	end(producer);
	fixture_close(&f);
	destroy(&world);
}

/*
 * It closes the server's descriptor, as daemons do, and writes on in the memory that it has mapped.
 */
static void test_producer_writes_after_its_connection_ended(void **state)
{
	struct world world = create(&roomy);
	struct producer *producer;
	struct ring_writer *writer;
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	producer = attached(&world, 10, 1, f.fd);
	write_events(&f, writer, 5);
	end(producer);
	assert_int_equal(total(&world).written, 5);
	write_events(&f, writer, 7);
	assert_int_equal(total(&world).written, 12);
	assert_int_equal(total(&world).kept, 1);

	/* not looked at between its last event and the end of its memory */
	write_events(&f, writer, 11);
	producers_clear(world.producers);
	assert_int_equal(total(&world).written, 23);
	assert_int_equal(total(&world).cleared, 23);
	assert_int_equal(total(&world).overwritten, 0);
	fixture_close(&f);

	/* the same where room is made, and where the pool attaches again */
	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&f.pool);
	producer = attached(&world, 11, 1, f.fd);
	write_events(&f, writer, 100);
	end(producer);
	write_events(&f, writer, 200);
	producer = attached(&world, 11, 1, f.fd);
	assert_int_equal(total(&world).written, 323);
	end(producer);
	write_events(&f, writer, 400);
	for (int i = 0; i < 4; i++)
		live_and_die(&world, 20 + i, 2 + i, 1);
	assert_int_equal(total(&world).written, 727);
	assert_int_equal(total(&world).overwritten, 700);
	assert_int_equal(total(&world).cleared, 23);
	fixture_close(&f);
	destroy(&world);
}

/*
 * ---- memory that lies ---------------------------------------------------------------------------
 */

static void lie_reserved(struct fixture *f)
{
	f->pool.slots[0].base += 1u << 20;
	f->pool.slots[0].done = 0;
}

static void lie_wrap(struct fixture *f) /* 2^64 together */
{
	for (int i = 0; i < 2; i++) {
		f->pool.slots[i].state = KPROF_SLOT_ENDED;
		f->pool.slots[i].base = 1ull << 63;
		f->pool.slots[i].pos = 0;
	}
}

static void lie_done(struct fixture *f)
{
	f->pool.slots[0].done++;
}

static void lie_dropped(struct fixture *f)
{
	f->pool.slots[0].dropped = (1ull << 48) + 1;
}

static void lie_starved(struct fixture *f)
{
	f->pool.shared->starved = UINT64_MAX;
}

/* What 79 seconds of 1000 CPUs could count, in a pool that was just made. */
static void lie_aged(struct fixture *f)
{
	f->pool.slots[0].dropped = 79000000000000;
}

static void lie_tickets(struct fixture *f)
{
	f->pool.shared->tickets = (1ull << 40) + 1;
}

static void lie_fewer(struct fixture *f)
{
	f->pool.slots[0].state = KPROF_SLOT_FREE;
}

static void lie_punched(struct fixture *f)
{
	assert_int_equal(fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				 f->pool.layout.pool_bytes), 0);
}

static const struct {
	int line;
	void (*lie)(struct fixture *f);
	const char *reason;
} lies[] = {
	{__LINE__, lie_reserved, "more events than can be"},
	{__LINE__, lie_wrap, "more events than can be"},
	{__LINE__, lie_done, "more finished events than begun"},
	{__LINE__, lie_dropped, "more dropped events than can be"},
	{__LINE__, lie_starved, "more dropped events than can be"},
	{__LINE__, lie_aged, "more events than its age allows"},
	{__LINE__, lie_tickets, "more parts than can be"},
	{__LINE__, lie_fewer, "fewer events than before"},
	{__LINE__, lie_punched, "fewer events than before"},
};

static void count_call(void *arg)
{
	++*(int *)arg;
}

static void check_sums(struct world *world, int line, uint64_t liars)
{
	struct producers_totals totals = total(world);

	if (totals.written != 100 || totals.overwritten + totals.cleared > 100 || totals.dropped ||
		totals.torn || totals.liars != liars)
		fail_msg("line %d: written %" PRIu64 ", overwritten %" PRIu64 ", dropped %" PRIu64
			", torn %" PRIu64 ", liars %" PRIu64, line, totals.written,
			totals.overwritten, totals.dropped, totals.torn, totals.liars);
}

/* What was counted before stands, and nothing else, also when the pool goes. */
static void test_counts_of_a_corrupt_producer_stay_as_they_were(void **state)
{
	for (size_t i = 0; i < G_N_ELEMENTS(lies); i++) {
		struct world world = create(&roomy);
		struct producer *producer;
		const char *reason;
		struct fixture f;
		int called = 0;

		fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
		producer = attached(&world, 10, 1, f.fd);
		producers_on_liar(world.producers, count_call, &called);
		write_events(&f, ring_writer_begin(&f.pool), 100);
		check_sums(&world, lies[i].line, 0);
		assert_null(producer_take_lie(producer));
		lies[i].lie(&f);
		check_sums(&world, lies[i].line, 1);
		check_sums(&world, lies[i].line, 1); /* seen once */
		assert_int_equal(called, 1);
		reason = producer_take_lie(producer);
		if (!reason || !strstr(reason, lies[i].reason))
			fail_msg("line %d: %s", lies[i].line, reason ? reason : "no lie");
		assert_null(producer_take_lie(producer));
		end(producer);
		check_sums(&world, lies[i].line, 1);
		producers_clear(world.producers);
		check_sums(&world, lies[i].line, 1);
		fixture_close(&f);
		destroy(&world);
	}
}

#define WRITERS 4
#define ROUNDS 2000
#define STRETCH 500 /* events; more than a chunk holds */

static void *write_much(void *arg)
{
	struct fixture *f = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct ring_writer *writer = ring_writer_begin(&f->pool);

		assert_non_null(writer);
		write_events(f, writer, STRETCH);
		ring_writer_end(&f->pool, writer);
	}
	return NULL;
}

/* However the numbers move while they are read: none is a lie, none goes back. */
static void test_moving_counters_are_not_taken_for_corruption(void **state)
{
	struct world world = create(&roomy);
	uint64_t all = (uint64_t)WRITERS * ROUNDS * STRETCH, seen = 0;
	pthread_t threads[WRITERS];
	struct producers_totals totals;
	struct producer *producer;
	struct fixture f;

	fixture_open(&f, POOL_BYTES, KPROF_MODE_OVERWRITE);
	producer = attached(&world, 10, 1, f.fd);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_much, &f), 0);
	do {
		totals = total(&world);
		assert_int_equal(totals.liars, 0);
		assert_true(totals.written + totals.dropped >= seen);
		assert_true(totals.written + totals.dropped <= all);
		seen = totals.written + totals.dropped;
	} while (seen < all);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	end(producer);
	assert_int_equal(total(&world).liars, 0);
	fixture_close(&f);
	destroy(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program_names_are_made_printable),
		cmocka_unit_test(test_file_that_is_not_a_pool_is_refused),
		cmocka_unit_test(test_events_are_defined_and_counted),
		cmocka_unit_test(test_ids_of_a_user_are_bounded),
		cmocka_unit_test(test_ids_of_exited_producers_are_freed),
		cmocka_unit_test(test_users_who_take_all_leave_a_share_for_others),
		cmocka_unit_test(test_written_and_lost_events_add_up),
		cmocka_unit_test(test_record_committed_before_a_kill_is_whole),
		cmocka_unit_test(test_same_process_may_attach_its_pool_again),
		cmocka_unit_test(test_producers_and_their_memory_are_limited),
		cmocka_unit_test(test_oldest_exited_producer_of_the_largest_user_is_evicted),
		cmocka_unit_test(test_memory_of_exited_producers_is_bounded),
		cmocka_unit_test(test_exited_producers_are_evicted_for_new_ones),
		cmocka_unit_test(test_pool_attached_again_evicts_no_other),
		cmocka_unit_test(test_producer_that_closed_its_connection_is_still_read),
		cmocka_unit_test(test_clear_hides_events_and_keeps_counting),
		cmocka_unit_test(test_producer_writes_after_its_connection_ended),
		cmocka_unit_test(test_counts_of_a_corrupt_producer_stay_as_they_were),
		cmocka_unit_test(test_moving_counters_are_not_taken_for_corruption),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * The ring's protocol, step by step: every order in which a reader, a signal handler or death can
 * meet a writer, as far as the test points tell the steps apart.
 *
 *	look	a reader looks at every step of a writer
 *	nest	at every step at which a handler can run, one writes; and one into that one's steps
 *	leave	a handler leaves an event by longjmp
 *	die	a writer's process ends at a step; what it leaves is read
 *	weave	a reader is itself held up at each of its steps while the writer goes on
 *
 * An event carries its own name and the complement of it, so that halves of two events are seen.
 */
#include "fixture.h"

#include <setjmp.h>
#include <sys/wait.h>
#include <ucontext.h>

#define ID 5u
#define EVENTS_A_CHUNK 254u /* 56 + 254 * 32 = 8184, of 8192 */
#define CHUNKS 7u
#define NAMES 70000u

/* What the test knows of each event, by its name: in memory that outlives the writer's process. */
enum fate { UNBORN, BEGUN, COMMITTED };
struct ledger {
	uint32_t next; /* name of the next event */
	uint8_t fate[NAMES];
};

static struct fixture f;
static struct ring_writer *writer;
static struct ledger *ledger;
static uint64_t checks;

static void set_up(uint32_t mode)
{
	fixture_open(&f, 1 << 16, mode);
	FIXTURE_CHECK(f.pool.layout.chunk_count == CHUNKS);
	ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	FIXTURE_CHECK(ledger != MAP_FAILED);
#if defined(__x86_64__)
	f.pool.layout.clock = KPROF_CLOCK_COUNTER; /* of the writers, for ring_look */
#endif
	writer = ring_writer_begin(&f.pool);
	FIXTURE_CHECK(writer);
}

static void tear_down(void)
{
	ring_test_hook = NULL;
	munmap(ledger, sizeof(*ledger));
	fixture_close(&f);
}

/* Two events of three: so that either way meets itself and the other. */
static bool take_quickly(uint32_t name, struct ring_room *room)
{
	struct kprof_slot *slot = writer->slot;

	if (writer->clock != KPROF_CLOCK_COUNTER || name % 3 == 0 || !slot)
		return false;
	ring_look(slot, room);
	return ring_take(writer, slot, 4, room);
}

static void write_one(void)
{
	struct ring_room room;
	uint32_t name = ledger->next++;

	FIXTURE_CHECK(name < NAMES);
	ledger->fate[name] = BEGUN;
	while (!take_quickly(name, &room) && !ring_reserve(writer, 4, &room))
		if (!ring_writer_switch(&f.pool, writer, 4))
			return;
	room.words[2] = name;
	room.words[3] = ~(uint64_t)name;
	ring_commit(writer, &room, 0, ID, 0);
}

static void write_many(uint32_t n)
{
	while (n-- > 0)
		write_one();
}

/* ---- reading and judging --------------------------------------------------------------------- */

struct findings {
	uint64_t events, gaps, stale;
	uint8_t seen[NAMES];
};

static struct ring_index ring_index_memory;
static char copy_memory[2 * KPROF_CHUNK_BYTES_MAX];

/* Each event whole, once, and in the order of its time within a chunk. */
static void read_chunk(const struct ring_extent *extent, struct findings *found)
{
	struct ring_record record;
	struct ring_walk walk;
	enum ring_item item;
	uint64_t stamp = 0;

	if (ring_extent_copy(&f.reader, extent, 0, copy_memory) != 0) {
		found->stale++;
		return;
	}
	ring_walk_begin(&walk, extent, copy_memory, 0);
	while ((item = ring_walk_next(&walk, &record)) != RING_END) {
		uint64_t words[2];

		found->gaps += item == RING_GAP;
		if (item != RING_EVENT)
			continue;
		FIXTURE_CHECK(record.id == ID && record.args_bytes == sizeof(words));
		memcpy(words, record.args, sizeof(words));
		FIXTURE_CHECK(words[1] == ~words[0] && words[0] < NAMES);
		FIXTURE_CHECK(ledger->fate[words[0]] != UNBORN && !found->seen[words[0]]);
		FIXTURE_CHECK(record.stamp >= stamp);
		stamp = record.stamp;
		found->seen[words[0]] = 1;
		found->events++;
	}
	checks++;
}

static void forget(struct findings *found)
{
	found->events = found->gaps = found->stale = 0;
	memset(found->seen, 0, ledger->next < NAMES ? ledger->next + 1 : NAMES);
}

static void read_all(struct findings *found)
{
	forget(found);
	FIXTURE_CHECK(ring_index_copy(&f.reader, &ring_index_memory) == 0);
	for (uint32_t i = 0; i < CHUNKS; i++) {
		struct ring_extent extent;

		if (ring_extent_find(&f.reader, &ring_index_memory, i, &extent))
			read_chunk(&extent, found);
	}
}

static struct ring_totals sums(void)
{
	struct ring_totals totals;

	FIXTURE_CHECK(ring_index_copy(&f.reader, &ring_index_memory) == 0);
	FIXTURE_CHECK(ring_totals(&f.reader, &ring_index_memory, &totals) == 0);
	return totals;
}

static struct findings found_now;

/* No thread writes now: what is held is read or torn, to the last event. */
static void balance(uint64_t torn)
{
	struct ring_totals totals = sums();

	read_all(&found_now);
	FIXTURE_CHECK(found_now.stale == 0);
	FIXTURE_CHECK(found_now.events + torn == totals.held);
	FIXTURE_CHECK(totals.held + totals.overwritten == totals.reserved);
}

/* ---- look: a reader at every step ------------------------------------------------------------ */

static bool looking;
static uint32_t looked_at[POINT_WRITER_COUNT];

static void look(enum ring_test_point point)
{
	static struct findings found;
	uint32_t now = ledger->next - 1, oldest = NAMES;

	if (point >= POINT_WRITER_COUNT || looking)
		return;
	looking = true;
	looked_at[point]++;
	if (point == POINT_COMMITTED || point == POINT_DONE)
		ledger->fate[now] = COMMITTED;
	read_all(&found);
	FIXTURE_CHECK(found.stale == 0); /* nothing moves while we look */
	for (uint32_t name = 0; name < NAMES && ledger->fate[name] != UNBORN; name++)
		if (found.seen[name] && oldest == NAMES)
			oldest = name;
	/* from the oldest that is held on, all that is committed is there, and nothing else */
	for (uint32_t name = oldest; name <= now && oldest != NAMES; name++)
		FIXTURE_CHECK((ledger->fate[name] == COMMITTED) == found.seen[name]);
	/* and what is held is six full chunks at least, once there were as many */
	if (now >= CHUNKS * EVENTS_A_CHUNK)
		FIXTURE_CHECK(now - oldest >= (CHUNKS - 1) * EVENTS_A_CHUNK - 1);
	looking = false;
}

static void test_look(void)
{
	set_up(KPROF_MODE_OVERWRITE);
	ring_test_hook = look;
	write_many(9 * EVENTS_A_CHUNK);
	balance(0);
	for (int i = 0; i < POINT_WRITER_COUNT; i++)
		FIXTURE_CHECK(looked_at[i] > 0);
	tear_down();
}

/* ---- nest: handlers -------------------------------------------------------------------------- */

/* Steps of an event; in between signals are blocked. */
static const enum ring_test_point steps[] = {POINT_POS_SEEN, POINT_RESERVED, POINT_VALUES_STORED,
	POINT_COMMITTED, POINT_DONE};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static struct {
	enum ring_test_point at[2];
	uint32_t writes[2];
	int depth, fired;
} nest;

static void interrupt(enum ring_test_point point)
{
	int depth = nest.depth;

	if (depth >= nest.fired + 1 || depth > 1 || point != nest.at[depth] || nest.fired > depth)
		return;
	nest.fired++;
	nest.depth++;
	write_many(nest.writes[depth]);
	nest.depth--;
}

/* How much a handler writes: one event; into the next chunk; round the whole pool, twice. */
static const uint32_t bursts[] = {1, EVENTS_A_CHUNK, 15 * EVENTS_A_CHUNK};
/* where the outer event is: the first, in a chunk's middle, the last, the one that needs another */
static const uint32_t places[] = {0, 100, EVENTS_A_CHUNK - 1, EVENTS_A_CHUNK,
	8 * EVENTS_A_CHUNK - 1};

static void nest_once(uint32_t place, size_t outer, size_t inner, uint32_t burst, uint32_t burst2)
{
	uint32_t outer_name;
	uint8_t still_there;

	set_up(KPROF_MODE_OVERWRITE);
	write_many(place);
	nest.at[0] = steps[outer];
	nest.at[1] = inner < STEPS ? steps[inner] : POINT_WRITER_COUNT;
	nest.writes[0] = burst;
	nest.writes[1] = burst2;
	nest.depth = nest.fired = 0;
	outer_name = ledger->next;
	ring_test_hook = interrupt;
	write_one();
	ring_test_hook = NULL;
	FIXTURE_CHECK(nest.fired >= 1);
	balance(0);
	still_there = found_now.seen[outer_name];
	/*
	 * an uncommitted event pins its chunk; once committed the chunk may be overwritten like any
	 * other
	 */
	if (nest.at[0] == POINT_RESERVED || nest.at[0] == POINT_VALUES_STORED)
		FIXTURE_CHECK(still_there);
	write_many(3 * EVENTS_A_CHUNK);
	balance(0);
	FIXTURE_CHECK(found_now.seen[ledger->next - 1]);
	tear_down();
}

static void test_nest(void)
{
	for (size_t place = 0; place < sizeof(places) / sizeof(places[0]); place++)
		for (size_t outer = 0; outer < STEPS; outer++)
			for (size_t inner = 0; inner <= STEPS; inner++)
				for (int burst = 0; burst < 3; burst++)
					for (int second = 0; second < (inner < STEPS ? 3 : 1);
						second++)
						nest_once(places[place], outer, inner,
							bursts[burst], bursts[second]);
}

/* ---- leave: a handler does not come back ----------------------------------------------------- */

static jmp_buf way_out;

static void leave(enum ring_test_point point)
{
	if (point == nest.at[0])
		longjmp(way_out, 1);
}

static void test_leave(void)
{
	for (size_t step = 1; step < 3; step++) { /* reserved, not committed */
		uint64_t held;

		set_up(KPROF_MODE_OVERWRITE);
		write_many(10);
		nest.at[0] = steps[step];
		ring_test_hook = leave;
		if (!setjmp(way_out))
			write_one();
		ring_test_hook = NULL;
		balance(1);
		write_many(30 * EVENTS_A_CHUNK);
		balance(1);
		FIXTURE_CHECK(found_now.seen[0]); /* its chunk waits for the thread's end */
		FIXTURE_CHECK(!found_now.seen[10]);
		held = found_now.events;
		FIXTURE_CHECK(held >= (CHUNKS - 2) * EVENTS_A_CHUNK);
		/* the thread ends: the next thread may take the chunk */
		ring_writer_end(&f.pool, writer);
		writer = ring_writer_begin(&f.pool);
		FIXTURE_CHECK(writer);
		write_many(30 * EVENTS_A_CHUNK);
		balance(0);
		FIXTURE_CHECK(!found_now.seen[0]);
		tear_down();
	}
}

/* ---- die ------------------------------------------------------------------------------------- */

static uint32_t to_live;

static void die(enum ring_test_point point)
{
	if (point == POINT_COMMITTED)
		ledger->fate[ledger->next - 1] = COMMITTED;
	if (point == nest.at[0] && to_live-- == 0)
		_exit(0);
}

static void die_once(enum ring_test_point point, uint32_t after)
{
	struct ring_totals totals;
	uint64_t committed = 0;
	int status;
	pid_t child;

	set_up(KPROF_MODE_OVERWRITE);
	nest.at[0] = point;
	to_live = after;
	child = fork();
	FIXTURE_CHECK(child >= 0);
	if (child == 0) {
		ring_test_hook = die;
		write_many(100 * EVENTS_A_CHUNK);
		_exit(1);
	}
	FIXTURE_CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	FIXTURE_CHECK(WEXITSTATUS(status) == 0);
	read_all(&found_now);
	totals = sums();
	for (uint32_t name = 0; name < ledger->next; name++)
		committed += ledger->fate[name] == COMMITTED;
	/* reserved and never committed: torn, one at most here */
	FIXTURE_CHECK(totals.reserved - committed <= 1);
	FIXTURE_CHECK(totals.reserved - committed ==
		(point == POINT_RESERVED || point == POINT_VALUES_STORED));
	/* every committed event that is not overwritten is read: the newest `events` of them */
	FIXTURE_CHECK(found_now.events + totals.overwritten == committed);
	for (uint64_t name = totals.overwritten; name < committed; name++)
		FIXTURE_CHECK(found_now.seen[name]);
	tear_down();
}

static void test_die(void)
{
	static const uint32_t event_steps[] = {0, 1, 100, EVENTS_A_CHUNK - 1, EVENTS_A_CHUNK,
		EVENTS_A_CHUNK + 1, CHUNKS * EVENTS_A_CHUNK - 1, CHUNKS * EVENTS_A_CHUNK,
		11 * EVENTS_A_CHUNK + 7};

	for (int point = 0; point < POINT_WRITER_COUNT; point++) {
		bool of_event = point <= POINT_DONE;

		/* changes of chunk come once in so many events: the first twenty of them */
		for (uint32_t i = 0; i < (of_event ? 9 : 20); i++)
			die_once((enum ring_test_point)point, of_event ? event_steps[i] : i);
	}
}

/* ---- weave: reader and writer in turns ------------------------------------------------------- */

static ucontext_t main_context, writer_context, reader_context;
static char writer_stack[256 << 10], reader_stack[256 << 10];
static ucontext_t *running;
static bool reader_done;
static struct findings woven;
/* The writer's points until it gives the turn back: a switch of contexts is a system call. */
static uint32_t writer_points;

static void yield(enum ring_test_point point)
{
	if (running == &writer_context && point < POINT_WRITER_COUNT) {
		if (point == POINT_COMMITTED)
			ledger->fate[ledger->next - 1] = COMMITTED;
		if (--writer_points == 0)
			swapcontext(&writer_context, &main_context);
	} else if (running == &reader_context && point >= POINT_INDEX_COPIED) {
		swapcontext(&reader_context, &main_context);
	}
}

static void run_writer(void)
{
	for (;;)
		write_one();
}

/* One chunk of the pool: that the writer is in, or is about to take. */
static uint32_t woven_chunk;

static void run_reader(void)
{
	struct ring_extent extent;

	forget(&woven);
	FIXTURE_CHECK(ring_index_copy(&f.reader, &ring_index_memory) == 0);
	if (ring_extent_find(&f.reader, &ring_index_memory, woven_chunk, &extent))
		read_chunk(&extent, &woven);
	reader_done = true;
	for (;;)
		swapcontext(&reader_context, &main_context);
}

static void resume(ucontext_t *context)
{
	running = context;
	FIXTURE_CHECK(swapcontext(&main_context, context) == 0);
}

static void resume_writer(uint32_t points)
{
	writer_points = points;
	if (points)
		resume(&writer_context);
}

static void make(ucontext_t *context, char *stack, size_t bytes, void (*run)(void))
{
	FIXTURE_CHECK(getcontext(context) == 0);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = bytes;
	context->uc_link = NULL;
	makecontext(context, run, 0);
}

/* The writer's steps before the reader begins, and between each two of the reader's steps. */
static void weave_once(uint32_t before, const uint32_t between[3], uint32_t chunk)
{
	static uint8_t committed_before[NAMES];
	struct ring_totals totals;
	uint32_t names;

	set_up(KPROF_MODE_OVERWRITE);
	woven_chunk = chunk;
	reader_done = false;
	make(&writer_context, writer_stack, sizeof(writer_stack), run_writer);
	make(&reader_context, reader_stack, sizeof(reader_stack), run_reader);
	ring_test_hook = yield;
	resume_writer(before);
	names = ledger->next;
	memcpy(committed_before, ledger->fate, names);
	totals = sums();
	for (int i = 0; !reader_done; i++) {
		resume(&reader_context);
		if (i < 3 && !reader_done)
			resume_writer(between[i]);
	}
	/* what the chunk held, committed, when the reader began: all of it, or it is stale */
	if (!woven.stale && woven.events)
		for (uint64_t name = totals.overwritten; name < names; name++)
			if ((name / EVENTS_A_CHUNK) % CHUNKS == chunk)
				FIXTURE_CHECK(woven.seen[name] ||
					committed_before[name] != COMMITTED);
	tear_down();
}

static void test_weave(void)
{
	/* an event has 5 points, a change of chunk 6 more */
	const uint32_t round = EVENTS_A_CHUNK * 5 + 6;
	static const uint32_t pauses[] = {0, 1, 2, 3, 4, 6, 8, 11};
	const uint32_t far[] = {0, round - 5, 7 * round - 3, 7 * round + 8};

	/* a writer in mid-chunk, and one about to leave chunk 0 for the first and the eighth time */
	const uint32_t starts[] = {31, round - 12, 7 * round - 6};

	for (size_t start = 0; start < sizeof(starts) / sizeof(starts[0]); start++)
		for (uint32_t ahead = 0; ahead < 18; ahead++)
			for (size_t a = 0; a < sizeof(pauses) / sizeof(pauses[0]); a++)
				for (size_t b = 0; b < sizeof(pauses) / sizeof(pauses[0]); b++) {
					uint32_t between[3] = {pauses[a], pauses[b], b};

					weave_once(starts[start] + ahead, between, 0);
					if (start == 1 && b < 3)
						weave_once(starts[start] + ahead, between, 1);
				}
	for (size_t start = 0; start < sizeof(starts) / sizeof(starts[0]); start++)
		for (size_t a = 0; a < sizeof(far) / sizeof(far[0]); a++)
			for (size_t b = 0; b < sizeof(far) / sizeof(far[0]); b++)
				for (size_t c = 0; c < sizeof(far) / sizeof(far[0]); c++) {
					uint32_t between[3] = {far[a], far[b], far[c]};

					for (uint32_t ahead = 0; ahead < 5; ahead++)
						weave_once(starts[start] + ahead, between, 0);
				}
}

int main(void)
{
	test_look();
	test_nest();
	test_leave();
	test_die();
	test_weave();
	printf("%llu chunks judged\n", (unsigned long long)checks);
	return 0;
}

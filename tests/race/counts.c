/* SPDX-License-Identifier: MIT */
/*
 * Every event that a thread began is counted once: as read, torn, overwritten or dropped.
 *
 *	reserved + dropped = read + torn + overwritten + dropped
 *
 * for each slot and each chunk, in processes with as many threads as the pool has slots, which
 * start and end while a reader reads, and which are killed. Half of the processes are stopped
 * first, each thread at its next test point: then every number is exact. The others are killed at
 * any point, and the last event of a thread may be before or after a step.
 */
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define ID 5u
#define WRITERS 7u    /* at a time: all slots of a pool of 64 KiB */
#define THREADS 4096u /* in the life of a process */
#define PASSES 12u    /* of the reader, at most, before the end */
#define ROUNDS 25u    /* of each kind */

/* What a thread says of itself, in memory that outlives it. */
struct account {
	uint64_t begun, reserved, committed, dropped;
	uint32_t slot; /* and 1; 0 if it never was a writer */
	bool living;
	uint32_t parked; /* a point, and 1 */
};

static struct ledger {
	uint32_t threads; /* that have begun */
	bool stop;
	uint32_t no_slot;
	uint64_t events; /* committed, by all */
	struct account of[THREADS];
} *ledger;

static struct fixture f;
static __thread struct account *account;

/* ---- the process that is traced -------------------------------------------------------------- */

static void step(enum ring_test_point point)
{
	if (!account || point >= POINT_WRITER_COUNT)
		return;
	account->reserved += point == POINT_RESERVED;
	account->committed += point == POINT_COMMITTED;
	if (point == POINT_COMMITTED)
		__atomic_fetch_add(&ledger->events, 1, __ATOMIC_RELAXED);
	if (!__atomic_load_n(&ledger->stop, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&account->parked, (uint32_t)point + 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void live(uint32_t thread, uint32_t events)
{
	struct account *mine = &ledger->of[thread];
	struct ring_writer *writer = ring_writer_begin(&f.pool);

	if (!writer) {
		__atomic_fetch_add(&ledger->no_slot, 1, __ATOMIC_RELAXED);
		return;
	}
	mine->slot = writer->index + 1;
	__atomic_store_n(&mine->living, true, __ATOMIC_RELEASE);
	account = mine;
	for (uint32_t i = 0; i < events; i++) {
		uint64_t name = (uint64_t)thread << 32 | mine->begun;
		uint64_t words[3] = {name, mine->dropped, ~name};

		mine->begun++;
		mine->dropped += !fixture_write(&f, writer, ID, words, 3);
	}
	account = NULL;
	ring_writer_end(&f.pool, writer);
	__atomic_store_n(&mine->living, false, __ATOMIC_RELEASE);
}

/* One thread after the other: to the pool each is a new one. */
static void *write_on(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg;

	for (;;) {
		uint32_t thread = __atomic_fetch_add(&ledger->threads, 1, __ATOMIC_RELAXED);

		if (thread >= THREADS || __atomic_load_n(&ledger->stop, __ATOMIC_RELAXED))
			for (;;)
				pause();
		live(thread, 1 + next_random(&seed) % (next_random(&seed) % 4 ? 30 : 3000));
	}
	return NULL;
}

static void run_process(uint32_t seed)
{
	pthread_t id;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a check that fails takes it along */
	ring_test_hook = step;
	for (uint32_t i = 1; i < WRITERS; i++)
		FIXTURE_CHECK(pthread_create(&id, NULL, write_on,
				      (void *)(uintptr_t)(seed * 100 + i)) == 0);
	write_on((void *)(uintptr_t)(seed * 100));
}

/* ---- the reader ------------------------------------------------------------------------------ */

struct reading {
	uint64_t read, held, stale;
};

static struct ring_index ring_index_memory;
static char copy_memory[2 * KPROF_CHUNK_BYTES_MAX];

static void check_event(const struct ring_walk *walk, const struct ring_record *record, bool gap)
{
	const struct account *of;
	uint64_t words[3];

	FIXTURE_CHECK(record->id == ID && record->args_bytes == sizeof(words));
	memcpy(words, record->args, sizeof(words));
	FIXTURE_CHECK(words[2] == ~words[0] && words[0] >> 32 < THREADS);
	of = &ledger->of[words[0] >> 32];
	FIXTURE_CHECK(of->slot == walk->run.slot + 1);
	/* it is called as it calls itself: the numbers count what was reserved */
	FIXTURE_CHECK(gap ||
		record->number - walk->run.first == (uint32_t)words[0] - words[1]);
}

static void read_chunk(const struct ring_extent *extent, struct reading *reading)
{
	struct ring_record record;
	struct ring_walk walk;
	enum ring_item item;
	bool gap = false; /* since the RUN */

	if (ring_extent_copy(&f.reader, extent, 0, copy_memory) != 0) {
		reading->stale++;
		return;
	}
	reading->held += extent->count;
	ring_walk_begin(&walk, extent, copy_memory, 0);
	while ((item = ring_walk_next(&walk, &record)) != RING_END) {
		gap = item == RING_GAP || (gap && item != RING_RUN);
		if (item != RING_EVENT)
			continue;
		FIXTURE_CHECK(walk.run.serial != 0);
		check_event(&walk, &record, gap);
		reading->read++;
	}
}

static struct reading read_all(void)
{
	struct reading reading = {0};

	FIXTURE_CHECK(ring_index_copy(&f.reader, &ring_index_memory) == 0);
	for (uint32_t i = 0; i < f.reader.layout.chunk_count; i++) {
		struct ring_extent extent;

		if (ring_extent_find(&f.reader, &ring_index_memory, i, &extent))
			read_chunk(&extent, &reading);
	}
	return reading;
}

/* ---- the end --------------------------------------------------------------------------------- */

static uint32_t threads_begun(void)
{
	uint32_t threads = __atomic_load_n(&ledger->threads, __ATOMIC_RELAXED);

	return threads < THREADS ? threads : THREADS;
}

static bool all_parked(void)
{
	for (uint32_t i = 0; i < threads_begun(); i++) {
		const struct account *of = &ledger->of[i];

		if (__atomic_load_n(&of->living, __ATOMIC_ACQUIRE) &&
			!__atomic_load_n(&of->parked, __ATOMIC_ACQUIRE))
			return false;
	}
	return true;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Each slot's sums are those of the threads that had it; where not exact, but for one of the living. */
static void check_slots(bool exact, uint32_t mode, uint64_t torn_found)
{
	uint64_t reserved[WRITERS] = {0}, dropped[WRITERS] = {0}, torn = 0;
	uint32_t living[WRITERS] = {0};

	for (uint32_t i = 0; i < threads_begun(); i++) {
		const struct account *of = &ledger->of[i];

		if (!of->slot)
			continue;
		reserved[of->slot - 1] += of->reserved;
		dropped[of->slot - 1] += of->dropped;
		living[of->slot - 1] += of->living;
		torn += of->reserved - of->committed;
		FIXTURE_CHECK(of->reserved - of->committed <= of->living);
		/* in the middle of one: not reserved yet, or not counted yet as dropped */
		FIXTURE_CHECK(of->begun - of->reserved - of->dropped <= of->living);
		FIXTURE_CHECK(mode == KPROF_MODE_DISCARD || of->dropped == 0);
	}
	for (uint32_t i = 0; i < WRITERS; i++) {
		const struct kprof_slot *slot = &ring_index_memory.slots[i];
		uint64_t loose = exact ? 0 : living[i];

		FIXTURE_CHECK(KPROF_RESERVED(slot->base, slot->pos) - reserved[i] <= loose);
		FIXTURE_CHECK(slot->dropped - dropped[i] <= living[i]);
	}
	FIXTURE_CHECK(exact ? torn_found == torn : torn_found <= WRITERS);
}

static void balance(bool exact, uint32_t mode)
{
	struct reading reading = read_all();
	struct ring_totals totals;

	FIXTURE_CHECK(reading.stale == 0 && reading.read <= reading.held);
	check_slots(exact, mode, reading.held - reading.read);
	FIXTURE_CHECK(ring_totals(&f.reader, &ring_index_memory, &totals) == 0);
	FIXTURE_CHECK(totals.held == reading.held);
	FIXTURE_CHECK(totals.reserved == totals.held + totals.overwritten);
	FIXTURE_CHECK(mode == KPROF_MODE_OVERWRITE || totals.overwritten == 0);
	/* there is a slot for each thread, always */
	FIXTURE_CHECK(ledger->no_slot == 0);
}

static void one_process(uint32_t seed, uint32_t mode, bool park)
{
	int64_t until = now_ms() + 20000;
	uint64_t enough = (uint64_t)seed * 997 % 60000;
	int status;
	pid_t child;

	fixture_open(&f, 1 << 16, mode);
	FIXTURE_CHECK(f.pool.layout.slot_count == WRITERS);
	ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	FIXTURE_CHECK(ledger != MAP_FAILED);
	child = fork();
	FIXTURE_CHECK(child >= 0);
	if (child == 0)
		run_process(seed);
	/* a discarding pool fills; the others go round as often as it takes */
	for (uint32_t pass = 0; pass < PASSES ||
		__atomic_load_n(&ledger->events, __ATOMIC_RELAXED) <
			(mode == KPROF_MODE_DISCARD ? enough % 900 : enough);
		pass++) {
		read_all();
		if (seed % 3)
			sched_yield();
		FIXTURE_CHECK(now_ms() < until);
	}
	if (park) {
		__atomic_store_n(&ledger->stop, true, __ATOMIC_RELAXED);
		while (!all_parked()) {
			FIXTURE_CHECK(now_ms() < until);
			sched_yield();
		}
	}
	FIXTURE_CHECK(kill(child, SIGKILL) == 0);
	FIXTURE_CHECK(waitpid(child, &status, 0) == child);
	FIXTURE_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	balance(park, mode);
	munmap(ledger, sizeof(*ledger));
	fixture_close(&f);
}

int main(void)
{
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		one_process(round, KPROF_MODE_OVERWRITE, true);
		one_process(round, KPROF_MODE_OVERWRITE, false);
		one_process(round, KPROF_MODE_DISCARD, round % 2);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* When exact times are measured, and the thread that attaches and detaches: see exact.h. */
#include "acct/exact.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>

#include "acct/attach.h"
#include "base/atomic.h"
#include "base/trim.h"
#include "base/units.h"
#include "sys/clock.h"

/*
 * exact_wait() gives up after this: attaching takes 50 ms, and was seen to take 10 s on a virtual machine
 * that its host did not run.
 */
#define WAIT_NS (30 * NSEC_PER_SEC)

struct listener {
	void (*sample)(void *arg);
	void *arg;
};

/*
 * l: under `lock`; s: under `listeners_lock`, which is taken first; i: invariant. The cells of `attach` are
 * read under `lock`, and it is published and withdrawn under it, but opened and closed without.
 */
struct exact {
	pthread_mutex_t listeners_lock;
	GArray *listeners; /* s: of struct listener */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* of what is marked l */
	uint64_t hold_ns;       /* i */
	enum exact_source source; /* l */
	enum exact_split split;   /* l */
	struct attach *attach;    /* l: NULL while nothing is measured */
	uint64_t attachment;      /* l: counts them */
	uint64_t until_ns;        /* l: the end of the newest wish, CLOCK_MONOTONIC; 0 if there is none */
	uint64_t tries;           /* l: how often attaching was tried */
	struct err failed;        /* l: why the newest attempt failed; "" if it did not */
	int error;                /* l: its errno */
	uint64_t epoch;           /* l: counts exact_begin_epoch(), of this attachment */
	bool again;               /* l: attach anew, since the split has changed */
	bool ending;              /* l: `attach` is being withdrawn */
	bool runs;                /* l: the thread has not ended its work */
	bool started;             /* l: `thread` is to be joined */
	pthread_t thread;         /* l */
};

struct exact *exact_create(enum exact_source source, unsigned int hold_s)
{
	struct exact *exact = g_new0(struct exact, 1);

	pthread_mutex_init(&exact->listeners_lock, NULL);
	pthread_mutex_init(&exact->lock, NULL);
	pthread_cond_init(&exact->changed, NULL);
	exact->listeners = g_array_new(FALSE, FALSE, sizeof(struct listener));
	exact->hold_ns = (uint64_t)hold_s * NSEC_PER_SEC;
	exact->source = source;
	return exact;
}

void exact_destroy(struct exact *exact)
{
	if (!exact)
		return;
	exact_off(exact);
	if (exact->started)
		pthread_join(exact->thread, NULL);
	g_array_free(exact->listeners, TRUE);
	pthread_cond_destroy(&exact->changed);
	pthread_mutex_destroy(&exact->lock);
	pthread_mutex_destroy(&exact->listeners_lock);
	g_free(exact);
}

void exact_listen(struct exact *exact, void (*sample)(void *arg), void *arg)
{
	const struct listener listener = { sample, arg };

	pthread_mutex_lock(&exact->listeners_lock);
	g_array_append_val(exact->listeners, listener);
	pthread_mutex_unlock(&exact->listeners_lock);
}

void exact_unlisten(struct exact *exact, void *arg)
{
	guint i;

	pthread_mutex_lock(&exact->listeners_lock);
	for (i = exact->listeners->len; i > 0; i--) {
		if (g_array_index(exact->listeners, struct listener, i - 1).arg == arg)
			g_array_remove_index(exact->listeners, i - 1);
	}
	pthread_mutex_unlock(&exact->listeners_lock);
}

static void sample_all(struct exact *exact)
{
	const struct listener *listener;
	guint i;

	pthread_mutex_lock(&exact->listeners_lock);
	for (i = 0; i < exact->listeners->len; i++) {
		listener = &g_array_index(exact->listeners, struct listener, i);
		listener->sample(listener->arg);
	}
	pthread_mutex_unlock(&exact->listeners_lock);
}

/* ---- the thread ------------------------------------------------------------------------------- */

/* Attaches. With the lock held, which is released in between. */
static void begin(struct exact *exact)
{
	const enum exact_split split = exact->split;
	struct attach *attach = NULL;
	struct err err = { "" };
	int ret;

	exact->again = false;
	pthread_mutex_unlock(&exact->lock);
	ret = attach_open(split == EXACT_SPLIT_CALLS, split == EXACT_SPLIT_CYCLES, &attach, &err);
	trim_memory(); /* the kernel's types, of which much was read, are not needed any more */
	pthread_mutex_lock(&exact->lock);
	exact->failed = err;
	exact->error = ret;
	if (ret) {
		exact->until_ns = 0;
	} else {
		exact->attach = attach;
		exact->attachment++;
		exact->epoch = 0;
		pthread_mutex_unlock(&exact->lock);
		sample_all(exact); /* what has passed was counted by /proc/stat */
		pthread_mutex_lock(&exact->lock);
	}
	/* if the split was changed meanwhile, it is attached once more, and those who wait go on waiting */
	exact->tries += !exact->again;
	pthread_cond_broadcast(&exact->changed);
}

/* Detaches; the same. */
static void end(struct exact *exact)
{
	struct attach *attach = exact->attach;

	exact->ending = true;
	pthread_mutex_unlock(&exact->lock);
	sample_all(exact); /* while the times of the programs can still be read */
	pthread_mutex_lock(&exact->lock);
	exact->attach = NULL;
	exact->ending = false;
	pthread_mutex_unlock(&exact->lock);
	attach_close(attach);
	pthread_mutex_lock(&exact->lock);
	pthread_cond_broadcast(&exact->changed);
}

/* Whether it is wished now. */
static bool is_wanted(const struct exact *exact)
{
	return exact->until_ns > clock_monotonic_ns();
}

static void *run_times(void *arg)
{
	struct exact *exact = arg;

	pthread_setname_np(pthread_self(), "kp-times");
	pthread_mutex_lock(&exact->lock);
	while (is_wanted(exact)) {
		if (!exact->attach)
			begin(exact);
		while (exact->attach && is_wanted(exact) && !exact->again)
			clock_wait_until(&exact->changed, &exact->lock, exact->until_ns);
		if (exact->attach)
			end(exact);
	}
	exact->runs = false;
	pthread_cond_broadcast(&exact->changed);
	pthread_mutex_unlock(&exact->lock);
	return NULL;
}

/* With the lock held. A former thread has ended its work, so that joining it takes no time. */
static void start_thread(struct exact *exact)
{
	int ret;

	if (exact->runs)
		return;
	if (exact->started)
		pthread_join(exact->thread, NULL);
	ret = pthread_create(&exact->thread, NULL, run_times, exact);
	exact->started = exact->runs = !ret;
	if (ret) {
		exact->until_ns = 0;
		exact->error = -ret;
		err_set(&exact->failed, ret, "no thread can be started: %s", g_strerror(ret));
		exact->tries++;
	}
}

/* ---- wishes ----------------------------------------------------------------------------------- */

/* With the lock held. */
static void want(struct exact *exact)
{
	if (exact->source == EXACT_PROCSTAT)
		return;
	exact->until_ns = clock_monotonic_ns() + exact->hold_ns;
	start_thread(exact);
}

void exact_want(struct exact *exact)
{
	pthread_mutex_lock(&exact->lock);
	if (!exact->error)
		want(exact);
	pthread_mutex_unlock(&exact->lock);
}

void exact_retry(struct exact *exact)
{
	pthread_mutex_lock(&exact->lock);
	exact->error = 0;
	want(exact);
	pthread_mutex_unlock(&exact->lock);
}

int exact_wait(struct exact *exact, struct err *err)
{
	const uint64_t give_up_ns = clock_monotonic_ns() + WAIT_NS;
	uint64_t tries;
	int ret = 0;

	pthread_mutex_lock(&exact->lock);
	tries = exact->tries;
	exact->error = 0;
	want(exact);
	while (exact->runs && (!exact->attach || exact->ending || exact->again) && exact->tries == tries &&
		clock_wait_until(&exact->changed, &exact->lock, give_up_ns))
		;
	if (exact->source != EXACT_PROCSTAT && !exact->attach) {
		ret = exact->error ? exact->error : -ETIMEDOUT;
		err_set(err, -ret, "the times can't be measured: %s",
			exact->error ? exact->failed.text : "attaching took too long");
	}
	pthread_mutex_unlock(&exact->lock);
	return ret;
}

void exact_off(struct exact *exact)
{
	pthread_mutex_lock(&exact->lock);
	exact->until_ns = 0;
	pthread_cond_broadcast(&exact->changed);
	while (exact->runs && !exact->until_ns)
		pthread_cond_wait(&exact->changed, &exact->lock);
	pthread_mutex_unlock(&exact->lock);
}

void exact_set_source(struct exact *exact, enum exact_source source)
{
	pthread_mutex_lock(&exact->lock);
	exact->source = source;
	exact->error = 0;
	pthread_mutex_unlock(&exact->lock);
	if (source == EXACT_PROCSTAT)
		exact_off(exact);
}

enum exact_source exact_source(struct exact *exact)
{
	enum exact_source source;

	pthread_mutex_lock(&exact->lock);
	source = exact->source;
	pthread_mutex_unlock(&exact->lock);
	return source;
}

void exact_set_split(struct exact *exact, enum exact_split split)
{
	pthread_mutex_lock(&exact->lock);
	exact->error = 0;
	if (exact->split != split) {
		exact->split = split;
		exact->again = true;
		pthread_cond_broadcast(&exact->changed);
	}
	pthread_mutex_unlock(&exact->lock);
}

/* ---- reading ---------------------------------------------------------------------------------- */

uint64_t exact_begin(struct exact *exact)
{
	pthread_mutex_lock(&exact->lock);
	if (exact->attach)
		return exact->attachment;
	pthread_mutex_unlock(&exact->lock);
	return 0;
}

bool exact_read(struct exact *exact, unsigned int cpu, bool online, struct exact_times *times)
{
	unsigned int cpus;
	const struct cell *cells = attach_cells(exact->attach, &cpus);

	if (cpu >= cpus)
		return false;
	cells_read(&cells[cpu], online, attach_is_divided(exact->attach), times);
	attach_read_cycles(exact->attach, cpu, online, times);
	return true;
}

bool exact_ask(struct exact *exact, unsigned int cpu)
{
	unsigned int cpus;

	attach_cells(exact->attach, &cpus);
	return cpu < cpus && attach_ask(exact->attach, cpu);
}

void exact_end(struct exact *exact)
{
	pthread_mutex_unlock(&exact->lock);
}

bool exact_is_attached(struct exact *exact)
{
	const bool attached = exact_begin(exact) != 0;

	if (attached)
		exact_end(exact);
	return attached;
}

enum exact_split exact_split(struct exact *exact)
{
	enum exact_split split = EXACT_SPLIT_TICKS;

	if (!exact_begin(exact))
		return split;
	if (attach_is_divided(exact->attach))
		split = EXACT_SPLIT_CALLS;
	else if (attach_is_counted(exact->attach))
		split = EXACT_SPLIT_CYCLES;
	exact_end(exact);
	return split;
}

const char *exact_split_name(enum exact_split split)
{
	static const char *const names[] = {
		[EXACT_SPLIT_TICKS] = "ticks",
		[EXACT_SPLIT_CALLS] = "calls",
		[EXACT_SPLIT_CYCLES] = "cycles",
	};

	return names[split];
}

/* ---- tasks ------------------------------------------------------------------------------------ */

struct exact_tasks *exact_open_tasks(struct exact *exact)
{
	const uint64_t attachment = exact_begin(exact);
	struct exact_tasks *tasks;
	const struct cell *cells;
	unsigned int cpus, i;

	if (!attachment)
		return NULL;
	tasks = g_new0(struct exact_tasks, 1);
	tasks->fd = fcntl(attach_tasks(exact->attach), F_DUPFD_CLOEXEC, 0);
	tasks->attachment = attachment;
	cells = attach_cells(exact->attach, &cpus);
	tasks->since_ns = attach_since_ns(exact->attach);
	for (i = 0; i < cpus; i++) {
		tasks->added += atomic_plain_read_relaxed(&cells[i].added);
		tasks->replaced += atomic_plain_read_relaxed(&cells[i].replaced);
		tasks->dropped += atomic_plain_read_relaxed(&cells[i].dropped);
	}
	tasks->epoch = exact->epoch;
	exact_end(exact);
	return tasks;
}

void exact_begin_epoch(struct exact *exact)
{
	struct cell *cells;
	unsigned int cpus, i;

	if (!exact_begin(exact))
		return;
	exact->epoch++;
	cells = attach_cells(exact->attach, &cpus);
	/* relaxed: a wait that ends now may count to either side */
	for (i = 0; i < cpus; i++)
		atomic_plain_write_relaxed(&cells[i].epoch, exact->epoch);
	exact_end(exact);
}

/* ---- counters --------------------------------------------------------------------------------- */

static void print_waits(struct stats *stats, const struct cell *cell, unsigned int cpu)
{
	int i, last = 0;

	for (i = 0; i < CELL_WAIT_SLOTS; i++)
		if (atomic_plain_read_relaxed(&cell->wait_slots[i]))
			last = i;
	stats_u64(stats, atomic_plain_read_relaxed(&cell->waits), "cpu.%u.runqueue.waits", cpu);
	stats_u64(stats, atomic_plain_read_relaxed(&cell->wait_ns), "cpu.%u.runqueue.wait_ns", cpu);
	/* one slot for all waits from 2^N ns to twice that */
	for (i = 0; i <= last; i++)
		stats_u64(stats, atomic_plain_read_relaxed(&cell->wait_slots[i]), "cpu.%u.runqueue.log2.%d",
			cpu, i);
	stats_u64(stats, atomic_plain_read_relaxed(&cell->switches), "cpu.%u.switches", cpu);
	stats_u64(stats, atomic_plain_read_relaxed(&cell->migrations), "cpu.%u.migrations", cpu);
}

void exact_print_stats(struct exact *exact, struct stats *stats)
{
	static const char *const sources[] = { "auto", "procstat", "bpf" };
	const struct cell *cells;
	unsigned int cpus, i;

	stats_text(stats, sources[exact_source(exact)], "mpstat.source_wanted");
	if (!exact_begin(exact))
		return;
	cells = attach_cells(exact->attach, &cpus);
	for (i = 0; i < cpus; i++) {
		/* a possible CPU that was never there has switched nothing */
		if (atomic_plain_read_relaxed(&cells[i].switches))
			print_waits(stats, &cells[i], i);
	}
	exact_end(exact);
}

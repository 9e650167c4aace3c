/* SPDX-License-Identifier: MIT */
/* The sampler's thread, its CPUs and its counters: see sampler.h. */
#include "prof/sampler_state.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bell.h"
#include "base/units.h"
#include "sys/clock.h"
#include "sys/proc.h"
#include "sys/uevent.h"

/* Without uevents: how often the list of online CPUs is read. */
#define CPU_LOOK_NS NSEC_PER_SEC

static struct sampler_cpu *find_cpu(struct sampler *s, unsigned int cpu)
{
	return g_hash_table_lookup(s->cpus, GUINT_TO_POINTER(cpu));
}

/* ---- draining -------------------------------------------------------------------------------- */

static bool drain_rings(struct sampler *s, bool last)
{
	bool news;

	pthread_mutex_lock(&s->drain);
	news = sampler_drain_all(s, last);
	pthread_mutex_unlock(&s->drain);
	return news;
}

void sampler_drain(struct sampler *s, bool last)
{
	if (drain_rings(s, last))
		s->hooks.data_ready(s->hooks.arg);
}

void sampler_hold(struct sampler *s)
{
	pthread_mutex_lock(&s->drain);
	sampler_drain_all(s, false);
}

void sampler_drain_held(struct sampler *s)
{
	sampler_drain_all(s, false);
}

struct rings *sampler_held_rings(struct sampler *s, unsigned int cpu)
{
	struct sampler_cpu *c = find_cpu(s, cpu);

	return c ? c->rings : NULL;
}

void sampler_release(struct sampler *s)
{
	pthread_mutex_unlock(&s->drain);
	s->hooks.data_ready(s->hooks.arg);
}

void sampler_clear(struct sampler *s)
{
	struct sampler_cpu *c;
	GHashTableIter iter;

	pthread_mutex_lock(&s->drain);
	/*
	 * stopped, drained, emptied, started again: each sample is counted either before or after
	 */
	g_hash_table_iter_init(&iter, s->cpus);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&c))
		rings_disable(s->config, c->rings);
	sampler_drain_all(s, true);
	capture_clear(s->capture);
	g_hash_table_remove_all(s->cpu_stats);
	s->stats = (struct sampler_stats){ 0 };
	g_hash_table_iter_init(&iter, s->cpus);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&c)) {
		encoder_clear_counts(c->encoder);
		rings_reset(s->config, c->rings);
		rings_enable(s->config, c->rings);
	}
	tasks_settle(s->tasks, capture_newest_seq(s->capture), capture_runs(s->capture),
		capture_oldest_seq(s->capture));
	pthread_mutex_unlock(&s->drain);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void take_uevents(struct sampler *s)
{
	struct uevent_cpu event;
	bool news = false;
	int ret;

	while ((ret = uevent_read(s->uevent_fd, &event)) == 0) {
		news = true;
		if (event.online)
			continue;
		pthread_mutex_lock(&s->drain);
		g_hash_table_add(s->offline, GUINT_TO_POINTER(event.cpu));
		pthread_mutex_unlock(&s->drain);
	}
	if (news || ret == -ENOBUFS)
		s->hooks.cpus_changed(s->hooks.arg);
}

/*
 * Linux wakes a poller for each half ring that was written, whether it was drained meanwhile or
 * not. At a rate that fills half a ring in about SAMPLER_WAKE_MS every drain would be followed by
 * an unneeded one for each ring. A ring with less than a quarter is left: at the next wake it is
 * at most three quarters full. One that fills fast has more, since its last drain came soon after
 * a wake.
 */
static bool is_worth_it(const struct perf_ring *ring)
{
	return perf_ring_fill(ring) >= ring->size / 4;
}

static bool has_work(struct sampler *s)
{
	const struct sampler_cpu *c;
	GHashTableIter iter;
	bool found = false;
	unsigned int i;

	pthread_mutex_lock(&s->drain);
	s->stats.wakeups++;
	g_hash_table_iter_init(&iter, s->cpus);
	while (!found && g_hash_table_iter_next(&iter, NULL, (gpointer *)&c)) {
		found = is_worth_it(&c->rings->tasks);
		for (i = 0; i < c->rings->count; i++)
			found |= is_worth_it(&c->rings->samples[i].ring);
	}
	pthread_mutex_unlock(&s->drain);
	return found;
}

/* Sleeps until a ring fills or until the time is reached. False: the thread must end. */
static bool wait_for_work(struct sampler *s, uint64_t until_ns)
{
	struct epoll_event events[16];
	uint64_t now_ns;
	int i, n;

	do {
		now_ns = clock_monotonic_ns();
		if (now_ns >= until_ns)
			return true;
		n = epoll_wait(s->epoll_fd, events, (int)G_N_ELEMENTS(events),
			(int)((until_ns - now_ns + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC));
		for (i = 0; i < n; i++) {
			if (events[i].data.fd == s->quit_fd)
				return false;
			if (events[i].data.fd == s->uevent_fd)
				take_uevents(s);
		}
	} while (!has_work(s));
	return true;
}

/* Whether the control thread is needed: it walks /proc after a loss, and opens and closes CPUs. */
static bool needs_control(struct sampler *s, bool *reported, uint64_t *looked_ns)
{
	const uint64_t now_ns = clock_monotonic_ns();
	bool needs;

	pthread_mutex_lock(&s->drain);
	needs = s->tasks_lost && !*reported;
	*reported = s->tasks_lost;
	pthread_mutex_unlock(&s->drain);
	if (s->uevent_fd < 0 && now_ns - *looked_ns > CPU_LOOK_NS) {
		*looked_ns = now_ns;
		needs = true;
	}
	return needs;
}

static void *run_thread(void *arg)
{
	struct sampler *s = arg;
	uint64_t looked_ns = clock_monotonic_ns();
	uint64_t until_ns = looked_ns + SAMPLER_FIRST_WAKE_MS * NSEC_PER_MSEC;
	bool reported = false;

	pthread_setname_np(pthread_self(), "kp-sampler");
	while (wait_for_work(s, until_ns)) {
		until_ns = clock_monotonic_ns() + SAMPLER_WAKE_MS * NSEC_PER_MSEC;
		if (drain_rings(s, false))
			s->hooks.data_drained(s->hooks.arg);
		if (needs_control(s, &reported, &looked_ns))
			s->hooks.cpus_changed(s->hooks.arg);
	}
	return NULL;
}

static int watch(struct sampler *s, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data = { .fd = fd } };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int sampler_start(struct sampler *s, struct err *err)
{
	int ret = s->unusable ? -s->unusable : pthread_create(&s->thread, NULL, run_thread, s);

	if (ret)
		return err_set(err, ret, "cannot start the sampler thread: %s", strerror(ret));
	s->thread_runs = true;
	return 0;
}

void sampler_stop(struct sampler *s)
{
	if (!s->thread_runs)
		return;
	bell_ring(s->quit_fd);
	pthread_join(s->thread, NULL);
	s->thread_runs = false;
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

static int ring_fd(const GArray *fds)
{
	return g_array_index(fds, int, 0);
}

void sampler_add(struct sampler *s, struct rings *rings)
{
	struct sampler_cpu *c = g_new0(struct sampler_cpu, 1);
	unsigned int i;

	c->rings = rings;
	c->encoder = encoder_create(s->config, rings->cpu, s->foreign,
		capture_runs(s->capture) > 0);
	pthread_mutex_lock(&s->drain);
	g_hash_table_insert(s->cpus, GUINT_TO_POINTER(rings->cpu), c);
	pthread_mutex_unlock(&s->drain);
	/*
	 * Edge-triggered: a ring whose tasks all ended reports a hang-up forever. A ring that
	 * cannot be polled is drained each SAMPLER_WAKE_MS all the same.
	 */
	for (i = 0; i < rings->count; i++)
		watch(s, rings->samples[i].fd, EPOLLIN | EPOLLET);
	watch(s, ring_fd(rings->task_fds), EPOLLIN | EPOLLET);
}

struct sampler_cpu_stats *sampler_cpu_stats_of(struct sampler *s, unsigned int cpu)
{
	struct sampler_cpu_stats *stats =
		g_hash_table_lookup(s->cpu_stats, GUINT_TO_POINTER(cpu));

	if (!stats) {
		stats = g_new0(struct sampler_cpu_stats, 1);
		g_hash_table_insert(s->cpu_stats, GUINT_TO_POINTER(cpu), stats);
	}
	return stats;
}

/* Of a CPU that is being removed. */
static void count_stacks(struct sampler *s, const struct sampler_cpu *c)
{
	const struct encoder_counts *counts = encoder_get_counts(c->encoder);

	s->stats.stacks += counts->stacks;
	s->stats.stacks_cut += counts->stacks_cut;
	sampler_cpu_stats_of(s, c->rings->cpu)->stacks_cut += counts->stacks_cut;
}

struct rings *sampler_remove(struct sampler *s, unsigned int cpu)
{
	struct sampler_cpu *c = find_cpu(s, cpu);
	struct rings *rings;
	unsigned int i;

	if (!c)
		return NULL;
	for (i = 0; i < c->rings->count; i++)
		epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, c->rings->samples[i].fd, NULL);
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, ring_fd(c->rings->task_fds), NULL);
	pthread_mutex_lock(&s->drain);
	sampler_drain_all(s, true);
	g_hash_table_steal(s->cpus, GUINT_TO_POINTER(cpu));
	count_stacks(s, c);
	pthread_mutex_unlock(&s->drain);
	rings = c->rings;
	encoder_destroy(c->encoder);
	g_free(c);
	return rings;
}

struct rings *sampler_rings(struct sampler *s, unsigned int cpu)
{
	struct sampler_cpu *c = find_cpu(s, cpu);

	return c ? c->rings : NULL;
}

bool sampler_take_offline(struct sampler *s, unsigned int cpu)
{
	bool went;

	pthread_mutex_lock(&s->drain);
	went = g_hash_table_remove(s->offline, GUINT_TO_POINTER(cpu));
	pthread_mutex_unlock(&s->drain);
	return went;
}

bool sampler_take_tasks_lost(struct sampler *s)
{
	bool lost;

	pthread_mutex_lock(&s->drain);
	lost = s->tasks_lost;
	s->tasks_lost = false;
	pthread_mutex_unlock(&s->drain);
	return lost;
}

/* ---- queries --------------------------------------------------------------------------------- */

void sampler_get_stats(struct sampler *s, struct sampler_stats *stats)
{
	struct sampler_cpu *c;
	GHashTableIter iter;

	pthread_mutex_lock(&s->drain);
	*stats = s->stats;
	g_hash_table_iter_init(&iter, s->cpus);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&c)) {
		stats->stacks += encoder_get_counts(c->encoder)->stacks;
		stats->stacks_cut += encoder_get_counts(c->encoder)->stacks_cut;
	}
	pthread_mutex_unlock(&s->drain);
}

void sampler_add_cpu_stats(struct sampler *s, GHashTable *sums)
{
	const struct sampler_cpu_stats *stats;
	struct sampler_cpu_stats *sum;
	GHashTableIter iter;
	gpointer cpu;

	pthread_mutex_lock(&s->drain);
	g_hash_table_iter_init(&iter, s->cpu_stats);
	while (g_hash_table_iter_next(&iter, &cpu, (gpointer *)&stats)) {
		sum = g_hash_table_lookup(sums, cpu);
		if (!sum) {
			sum = g_new0(struct sampler_cpu_stats, 1);
			g_hash_table_insert(sums, cpu, sum);
		}
		sum->throttled += stats->throttled;
		sum->throttled_ns += stats->throttled_ns;
		sum->stacks_cut += stats->stacks_cut;
	}
	pthread_mutex_unlock(&s->drain);
}

void sampler_get_cpu_stats(struct sampler *s, unsigned int cpu, struct sampler_cpu_stats *stats)
{
	const struct sampler_cpu_stats *found;
	const struct sampler_cpu *c;

	pthread_mutex_lock(&s->drain);
	found = g_hash_table_lookup(s->cpu_stats, GUINT_TO_POINTER(cpu));
	*stats = found ? *found : (struct sampler_cpu_stats){ 0 };
	c = g_hash_table_lookup(s->cpus, GUINT_TO_POINTER(cpu));
	if (c)
		stats->stacks_cut += encoder_get_counts(c->encoder)->stacks_cut;
	pthread_mutex_unlock(&s->drain);
}

/* ---- create, destroy ------------------------------------------------------------------------- */

struct sampler *sampler_create(const struct rings_config *config, struct capture *capture,
	struct tasks *tasks, const struct profiler_hooks *hooks)
{
	struct sampler *s = g_new0(struct sampler, 1);

	s->config = config;
	s->capture = capture;
	s->tasks = tasks;
	s->hooks = *hooks;
	s->foreign = !proc_in_first_pid_namespace(config->proc);
	pthread_mutex_init(&s->drain, NULL);
	s->cpus = g_hash_table_new(NULL, NULL);
	s->cpu_stats = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	s->offline = g_hash_table_new(NULL, NULL);
	s->taskevents = taskevents_create();
	s->scratch = g_malloc(PERF_RECORD_MAX);
	tally_init(&s->run_samples);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->unusable = s->epoll_fd < 0 ? -errno : 0;
	s->quit_fd = bell_open();
	if (!s->unusable)
		s->unusable = s->quit_fd < 0 ? s->quit_fd : watch(s, s->quit_fd, EPOLLIN);
	if (uevent_open(&s->uevent_fd))
		s->uevent_fd = -1;
	else
		watch(s, s->uevent_fd, EPOLLIN);
	return s;
}

static void close_cpus(struct sampler *s)
{
	struct sampler_cpu *c;
	GHashTableIter iter;

	g_hash_table_iter_init(&iter, s->cpus);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&c)) {
		rings_close(s->config, c->rings);
		encoder_destroy(c->encoder);
		g_free(c);
	}
	g_hash_table_destroy(s->cpus);
}

void sampler_destroy(struct sampler *s)
{
	if (!s)
		return;
	sampler_stop(s);
	close_cpus(s);
	if (s->uevent_fd >= 0)
		close(s->uevent_fd);
	close(s->quit_fd);
	close(s->epoll_fd);
	g_free(s->scratch);
	tally_fini(&s->run_samples);
	taskevents_destroy(s->taskevents);
	g_hash_table_destroy(s->cpu_stats);
	g_hash_table_destroy(s->offline);
	pthread_mutex_destroy(&s->drain);
	g_free(s);
}

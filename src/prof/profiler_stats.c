/* SPDX-License-Identifier: MIT */
/*
 * The profiler's rows of kpstat. Every number is read when kpstat is rendered. The balance of
 * each event and CPU is computed from the kernel's counts and the capture's totals.
 */
#include "prof/profiler_state.h"

struct balance {
	uint64_t received, lost;
};

static const uint32_t lost_reasons[] = {
	KPROF_LOST_RING, KPROF_LOST_QUEUE, KPROF_LOST_OVERWRITE, KPROF_LOST_INVALID,
	KPROF_LOST_RING_RECORDS,
};

static struct balance get_balance(const struct tally *totals, uint32_t cpu, uint32_t event)
{
	struct balance b = { .received = tally_get(totals, cpu, event, CAPTURE_RECEIVED) };
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(lost_reasons); i++)
		b.lost += tally_get(totals, cpu, event, lost_reasons[i]);
	return b;
}

/*
 * The kernel's count since counting began, the samples that follow, and those of them that `only` refused:
 * of closed and open descriptors.
 */
static void kernel_count(const struct profiler *p, unsigned int cpu, uint32_t number,
	uint64_t *count, uint64_t *due, uint64_t *refused)
{
	struct profiler_counts now;
	unsigned int i;

	*count = tally_get(&p->counts, cpu, number, COUNT_KERNEL);
	*due = tally_get(&p->counts, cpu, number, COUNT_DUE);
	*refused = tally_get(&p->counts, cpu, number, COUNT_REFUSED);
	if (!p->run || !cpu_in_bitmap(p->run->cpus, cpu))
		return;
	for (i = 0; i < p->run->config.events.count; i++) {
		if (p->run->config.numbers[i] != number)
			continue;
		profiler_read_counts(p->run, sampler_rings(p->run->sampler, cpu), i, &now);
		*refused += now.refused;
		*count += now.value;
		*due += now.due;
	}
}

static void print_balance(const struct profiler *p, const struct tally *totals, uint32_t number,
	unsigned int cpu, struct stats *stats)
{
	const struct known_event *known =
		&g_array_index(p->known, struct known_event, number - 1);
	const struct balance b = get_balance(totals, cpu, number);
	uint64_t count, due, refused;

	kernel_count(p, cpu, number, &count, &due, &refused);
	if (known->count_unknown)
		stats_text(stats, "unknown", "event.%u.cpu.%u.count", number, cpu);
	else
		stats_u64(stats, count, "event.%u.cpu.%u.count", number, cpu);
	stats_u64(stats, b.received - b.lost, "event.%u.cpu.%u.delivered", number, cpu);
	stats_u64(stats, b.lost, "event.%u.cpu.%u.lost", number, cpu);
	stats_u64(stats, refused, "event.%u.cpu.%u.filtered", number, cpu);
	if (!known->due_unknown)
		stats_i64(stats, (int64_t)(due - refused - b.received),
			"event.%u.cpu.%u.undelivered", number, cpu);
	else
		stats_text(stats, "unknown", "event.%u.cpu.%u.undelivered", number, cpu);
}

/* How often tasks came back without a sample. */
static void print_offcpu(const struct profiler *p, uint32_t number, unsigned int cpu, struct stats *stats)
{
	uint64_t shorter = tally_get(&p->counts, cpu, number, COUNT_SHORTER);
	uint64_t unseen = tally_get(&p->counts, cpu, number, COUNT_UNSEEN);
	const bool runs = p->run && cpu_in_bitmap(p->run->cpus, cpu);
	struct offcpu_counts now;
	unsigned int i;

	for (i = 0; runs && i < p->run->config.events.count; i++) {
		if (p->run->config.numbers[i] != number ||
			!rings_read_offcpu(sampler_rings(p->run->sampler, cpu), i, &now))
			continue;
		shorter += now.shorter;
		unseen += now.unseen;
	}
	stats_u64(stats, shorter, "event.%u.cpu.%u.shorter", number, cpu);
	stats_u64(stats, unseen, "event.%u.cpu.%u.unseen", number, cpu);
}

/* How often the program of a tracepoint did not run, in this run or the last one. */
static uint64_t points_missed(const struct profiler *p, uint32_t number)
{
	unsigned int i;

	for (i = 0; p->run && i < p->run->config.events.count; i++)
		if (p->run->config.numbers[i] == number)
			return only_points_missed(p->run->config.points, i);
	return p->points_missed[number - 1];
}

static bool cpu_was_sampled(const struct profiler *p, const struct tally *totals,
	unsigned int cpu, uint32_t number)
{
	return (p->run && cpu_in_bitmap(p->run->cpus, cpu)) ||
	       tally_get(&p->counts, cpu, number, COUNT_KERNEL) ||
	       tally_get(totals, cpu, number, CAPTURE_RECEIVED);
}

static void print_event(const struct profiler *p, const struct tally *totals, uint32_t number,
	struct stats *stats)
{
	const struct known_event *known =
		&g_array_index(p->known, struct known_event, number - 1);
	const struct event *event = &known->event;
	unsigned int cpu;

	stats_text(stats, event->text, "event.%u.text", number);
	stats_u64(stats, event->attr.type, "event.%u.type", number);
	stats_u64(stats, event->attr.config, "event.%u.config", number);
	stats_u64(stats, event->attr.config1, "event.%u.config1", number);
	stats_u64(stats, event->attr.config2, "event.%u.config2", number);
	stats_u64(stats, event_rate(event),
		event->flags & KPROF_EVENT_FREQ ? "event.%u.freq" : "event.%u.period", number);
	stats_text(stats, event->flags & KPROF_EVENT_FALLBACK ? "cpu-clock" : "no",
		"event.%u.fallback", number);
	stats_text(stats, known->was_run ? scope_name(known->scope) : "none", "event.%u.scope", number);
	if (only_points_takes(event))
		stats_u64(stats, points_missed(p, number), "event.%u.missed", number);
	if (event->away.source != EVENT_PERF)
		stats_u64(stats, p->run && p->run->config.offcpu ? offcpu_missed(p->run->config.offcpu)
			: p->offcpu_missed, "event.%u.missed", number);
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++) {
		if (!cpu_was_sampled(p, totals, cpu, number))
			continue;
		print_balance(p, totals, number, cpu, stats);
		if (event->away.source != EVENT_PERF)
			print_offcpu(p, number, cpu, stats);
	}
}

static void print_cpu(struct profiler *p, const struct tally *totals, unsigned int cpu,
	struct stats *stats)
{
	struct sampler_cpu_stats now = { 0 };
	const struct sampler_cpu_stats *past;
	struct balance sum = { 0 };
	uint32_t number;

	for (number = 1; number <= p->known->len; number++) {
		const struct balance b = get_balance(totals, cpu, number);

		sum.received += b.received;
		sum.lost += b.lost;
	}
	if (p->run)
		sampler_get_cpu_stats(p->run->sampler, cpu, &now);
	past = g_hash_table_lookup(p->past_cpus, GUINT_TO_POINTER(cpu));
	if (past) {
		now.throttled += past->throttled;
		now.throttled_ns += past->throttled_ns;
		now.stacks_cut += past->stacks_cut;
		now.refused += past->refused;
	}
	stats_u64(stats, sum.received - sum.lost, "cpu.%u.samples", cpu);
	stats_u64(stats, sum.lost, "cpu.%u.lost", cpu);
	stats_u64(stats, tally_sum_cpu(totals, cpu, KPROF_LOST_INVALID) + now.refused,
		"cpu.%u.samples.invalid", cpu);
	stats_u64(stats, now.stacks_cut, "cpu.%u.backtraces.aborted", cpu);
	stats_u64(stats, now.throttled, "cpu.%u.throttled", cpu);
	stats_u64(stats, now.throttled_ns, "cpu.%u.throttled_ns", cpu);
}

static void print_sums(const struct profiler *p, const struct tally *totals, struct stats *stats)
{
	const struct sampler_cpu_stats *past;
	GHashTableIter iter;
	uint64_t refused = 0;

	g_hash_table_iter_init(&iter, p->past_cpus);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&past))
		refused += past->refused;
	stats_u64(stats, tally_sum(totals, CAPTURE_RECEIVED), "samples.received");
	stats_u64(stats,
		tally_sum(totals, KPROF_LOST_RING) + tally_sum(totals, KPROF_LOST_RING_RECORDS),
		"samples.lost_ring");
	stats_u64(stats, tally_sum(totals, KPROF_LOST_QUEUE) + tally_sum(totals, KPROF_LOST_OVERWRITE),
		"samples.lost_queue");
	stats_u64(stats, tally_sum(totals, KPROF_LOST_INVALID) + refused, "samples.invalid");
}

static void print_capture(const struct profiler *p, struct stats *stats)
{
	struct capture_stats c;

	capture_get_stats(p->capture, &c);
	stats_u64(stats, c.held_bytes, "bytes.held");
	stats_u64(stats, c.memory_bytes, "bytes.memory");
	stats_u64(stats, c.written_bytes, "bytes.written");
	stats_u64(stats, c.dropped_bytes, "bytes.dropped");
	stats_u64(stats, c.filled, "buffers.filled");
	stats_u64(stats, c.dropped, "buffers.dropped");
	stats_u64(stats, c.readers, "readers");
	stats_u64(stats, tasks_bytes(p->tasks), "bytes.tasks");
}

static uint64_t count_missing_users(const struct profiler *p)
{
	const uint64_t lost = p->hooks.userwatch ? userwatch_lost(p->hooks.userwatch) : 0;

	return lost + tasks_users_dropped(p->tasks);
}

static void print_sampler(const struct profiler *p, struct stats *stats)
{
	struct sampler_stats s = { 0 };
	struct taskreader_counts read;

	if (p->run)
		sampler_get_stats(p->run->sampler, &s);
	stats_u64(stats, s.wakeups + p->past.wakeups, "wakeups");
	stats_u64(stats, s.empty + p->past.empty, "buffers.empty");
	stats_u64(stats, s.stacks + p->past.stacks, "backtraces.taken");
	stats_u64(stats, s.stacks_cut + p->past.stacks_cut, "backtraces.aborted");
	stats_u64(stats, s.tasks_lost + p->past.tasks_lost, "tasks.lost");
	stats_u64(stats, s.damaged + p->past.damaged, "rings.damaged");
	taskreader_count(p->reader, &read);
	stats_u64(stats, read.unreadable, "tasks.unreadable");
	stats_u64(stats, read.waiting, "tasks.unreadable.waiting");
	stats_u64(stats, read.missing, "tasks.build_ids_missing");
	stats_u64(stats, count_missing_users(p), "tasks.users_missing");
	stats_u64(stats, p->hooks.userwatch ? userwatch_readings(p->hooks.userwatch) : 0,
		"tasks.users_read");
	stats_u64(stats, read.started, "tasks.helpers.started");
	stats_u64(stats, read.killed, "tasks.helpers.killed");
	stats_u64(stats, read.hung, "tasks.helpers.hung");
}

void profiler_print_stats(struct profiler *p, struct stats *stats)
{
	unsigned char online[CPU_BITMAP_BYTES];
	struct tally totals;
	unsigned int cpu;
	uint32_t number;

	profiler_online_cpus(p, online);
	tally_init(&totals);
	pthread_mutex_lock(&p->lock);
	capture_get_totals(p->capture, &totals);
	stats_text(stats, atomic_read_acquire(&p->running) ? "running" : "stopped", "profiler.state");
	stats_u64(stats, p->since_ns, "profiler.since_ns");
	stats_u64(stats, profiler_times_length(p), "profiler.runs_ns");
	stats_text(stats, p->run ? scope_name(p->run->config.scope) : "none", "profiler.scope");
	for (number = 1; number <= p->known->len; number++)
		print_event(p, &totals, number, stats);
	for (cpu = 0; cpu < CPU_NUMBERS; cpu++)
		if (cpu_in_bitmap(online, cpu))
			print_cpu(p, &totals, cpu, stats);
	print_sums(p, &totals, stats);
	print_capture(p, stats);
	print_sampler(p, stats);
	readers_print(&p->readers, p->capture, stats);
	pthread_mutex_unlock(&p->lock);
	tally_fini(&totals);
}

/* SPDX-License-Identifier: MIT */
/*
 * The drain of all rings.
 *
 * It has this order, so that a process comes before its samples in kpdata:
 *
 * 1. note the fill level of each sample ring
 * 2. read the time T
 * 3. apply the task records up to T, of all CPUs in order of time: these are all records that are
 *    in the rings now and are older than a sample of step 1
 * 4. read the samples up to the level of step 1
 * 5. read the kernel's count of losses, if the ring was ever nearly full, so that LOST is at the
 *    right position
 */
#include <errno.h>
#include <string.h>

#include "prof/sampler_state.h"
#include "sys/clock.h"

/* ---- runs ------------------------------------------------------------------------------------ */

/* The number of samples in the current run, by event. Few events have any, nearly always one. */
static const struct tally *count_run(struct sampler *s, const struct sampler_cpu *c)
{
	unsigned int i;
	uint64_t n;

	tally_clear(&s->run_samples);
	for (i = 0; i < s->config->events.count; i++) {
		n = encoder_run_samples(c->encoder, i);
		if (n)
			tally_add(&s->run_samples, c->rings->cpu, s->config->numbers[i],
				CAPTURE_RECEIVED, n);
	}
	return &s->run_samples;
}

/* Readers get what is known of the process whose samples came last. */
static void show_seen(struct sampler *s, struct sampler_cpu *c)
{
	if (c->seen_ns)
		tasks_show(s->tasks, c->seen_pid, c->seen_ns);
	c->seen_ns = 0;
}

static void publish_run(struct sampler *s, struct sampler_cpu *c)
{
	const uint8_t *run;
	size_t len;

	show_seen(s, c);

	run = encoder_run(c->encoder, &len);
	if (len) {
		capture_append(s->capture, run, len, count_run(s, c), tasks_bytes(s->tasks));
		perf_ring_end(&c->samples->ring);
	} else {
		capture_release(s->capture);
	}
	encoder_next_run(c->encoder);
}

/* The next run is written into the capture in place, if possible. */
static void place_run(struct sampler *s, struct sampler_cpu *c)
{
	uint8_t *place;
	size_t size;

	place = capture_reserve(s->capture, &size);
	if (place)
		encoder_place_run(c->encoder, place, size);
}

/* ---- records --------------------------------------------------------------------------------- */

static void count_invalid(struct sampler *s, struct sampler_cpu *c, unsigned int index)
{
	capture_lost(s->capture, c->rings->cpu, s->config->numbers[index], KPROF_LOST_INVALID, 1);
}

/* A sample was encoded. */
static void note_seen(struct sampler *s, struct sampler_cpu *c)
{
	uint64_t time_ns;
	uint32_t pid;

	encoder_last(c->encoder, &pid, &time_ns);
	if (pid != c->seen_pid)
		show_seen(s, c);
	c->seen_pid = pid;
	c->seen_ns = time_ns;
}

static void take_sample(struct sampler *s, struct sampler_cpu *c,
	const struct perf_event_header *header)
{
	uint64_t id;
	int index, ret;

	if (header->size < sizeof(*header) + sizeof(id)) {
		count_invalid(s, c, 0);
		return;
	}
	memcpy(&id, header + 1, sizeof(id));
	index = rings_find(c->rings, c->samples, id);
	if (index < 0) {
		count_invalid(s, c, 0);
		return;
	}
	ret = encoder_sample(c->encoder, (unsigned int)index, header);
	if (ret == -ENOSPC) {
		publish_run(s, c);
		ret = encoder_sample(c->encoder, (unsigned int)index, header);
	}
	if (ret)
		count_invalid(s, c, (unsigned int)index);
	else if (s->config->hides_tasks)
		note_seen(s, c);
}

/* The kernel's layout of PERF_RECORD_THROTTLE and UNTHROTTLE. */
struct throttle_record {
	struct perf_event_header header;
	uint64_t time_ns;
	uint64_t id;
	uint64_t stream_id;
};

static void take_throttle(struct sampler *s, struct sampler_cpu *c,
	const struct perf_event_header *header)
{
	const bool throttled = header->type == PERF_RECORD_THROTTLE;
	struct sampler_cpu_stats *stats = sampler_cpu_stats_of(s, c->rings->cpu);
	struct throttle_record record;
	uint64_t *since;
	int index;

	if (header->size < sizeof(record))
		return;
	memcpy(&record, header, sizeof(record));
	index = rings_find(c->rings, c->samples, record.id);
	if (index < 0)
		return;
	since = &c->throttled_since[index];
	if (throttled) {
		stats->throttled++;
		*since = record.time_ns;
	} else if (*since) {
		stats->throttled_ns += record.time_ns - *since;
		*since = 0;
	}
	if (encoder_throttle(c->encoder, (unsigned int)index, record.time_ns, throttled)) {
		publish_run(s, c);
		encoder_throttle(c->encoder, (unsigned int)index, record.time_ns, throttled);
	}
}

/* The kernel's layout of PERF_RECORD_LOST; used only without PERF_FORMAT_LOST. */
struct lost_record {
	struct perf_event_header header;
	uint64_t id;
	uint64_t lost;
};

static void take_lost(struct sampler *s, struct sampler_cpu *c,
	const struct perf_event_header *header)
{
	struct lost_record record;
	int index;

	if (s->config->features.has_lost || header->size < sizeof(record))
		return;
	memcpy(&record, header, sizeof(record));
	index = rings_find(c->rings, c->samples, record.id);
	publish_run(s, c);
	capture_lost(s->capture, c->rings->cpu, s->config->numbers[index < 0 ? 0 : index],
		KPROF_LOST_RING_RECORDS, record.lost);
}

static void take_record(struct sampler *s, struct sampler_cpu *c,
	const struct perf_event_header *header)
{
	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		take_sample(s, c, header);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		take_throttle(s, c, header);
		break;
	case PERF_RECORD_LOST:
		take_lost(s, c, header);
		break;
	}
}

/* ---- rings ----------------------------------------------------------------------------------- */

/*
 * Whether a record may have found the ring full since it was drained up to `from`. Only then the
 * kernel's count of losses is read: each read interrupts the CPU of the event.
 */
static bool may_have_lost(const struct perf_ring *ring, uint64_t from)
{
	const uint64_t written = ring->tail + perf_ring_fill(ring) - from;

	return written + PERF_RECORD_MAX >= ring->size;
}

static void take_losses(struct sampler *s, struct sampler_cpu *c)
{
	struct rings_count count;
	unsigned int i;

	for (i = 0; i < s->config->events.count; i++) {
		rings_read(c->rings, i, &count);
		if (count.lost == c->rings->lost[i])
			continue;
		capture_lost(s->capture, c->rings->cpu, s->config->numbers[i], KPROF_LOST_RING,
			count.lost - c->rings->lost[i]);
		c->rings->lost[i] = count.lost;
	}
}

/* Steps 4 and 5 for one ring. True if there was a record. */
static bool drain_ring(struct sampler *s, struct sampler_cpu *c, bool last)
{
	const struct perf_event_header *header;
	struct perf_ring *ring = &c->samples->ring;
	const uint64_t damaged = ring->damaged, from = ring->tail;
	bool any = false;
	size_t len = 0;

	while ((header = perf_ring_next(ring, s->scratch))) {
		if (!len)
			place_run(s, c);
		any = true;
		take_record(s, c, header);
		encoder_run(c->encoder, &len);
		if (len >= ENCODER_RUN_BYTES) {
			publish_run(s, c);
			len = 0;
		}
	}
	publish_run(s, c);
	perf_ring_end(ring);
	s->stats.damaged += ring->damaged - damaged;
	if (!any)
		s->stats.empty++;
	if (last || may_have_lost(ring, from))
		take_losses(s, c);
	return any;
}

static bool drain_samples(struct sampler *s, struct sampler_cpu *c, bool last)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < c->rings->count; i++) {
		c->samples = &c->rings->samples[i];
		any |= drain_ring(s, c, last);
	}
	return any;
}

static void begin_samples(struct sampler_cpu *c)
{
	unsigned int i;

	for (i = 0; i < c->rings->count; i++)
		perf_ring_begin(&c->rings->samples[i].ring);
}

/* Returns whether records may have been lost since the last drain. */
static bool drain_tasks(struct sampler *s, struct sampler_cpu *c)
{
	const struct perf_event_header *header;
	const uint64_t from = c->rings->tasks.tail;
	bool any = false;
	uint64_t lost;

	perf_ring_begin(&c->rings->tasks);
	while ((header = perf_ring_next(&c->rings->tasks, s->scratch)))
		if (!taskevents_add(s->taskevents, header)) {
			s->stats.tasks_lost++;
			s->tasks_lost = any = true;
		}
	perf_ring_end(&c->rings->tasks);
	if (!may_have_lost(&c->rings->tasks, from))
		return any;
	lost = rings_tasks_lost(c->rings);
	if (lost != c->rings->lost_tasks) {
		s->stats.tasks_lost += lost - c->rings->lost_tasks;
		c->rings->lost_tasks = lost;
		s->tasks_lost = any = true;
	}
	/* a kernel that does not count them may have lost some */
	return any || !s->config->features.has_lost;
}

/* Step 3 up to the records of tasks. */
static void drain_all_tasks(struct sampler *s, uint64_t now_ns)
{
	struct sampler_cpu *c;
	GHashTableIter iter;
	bool lost = false;

	g_hash_table_iter_init(&iter, s->cpus);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&c))
		lost |= drain_tasks(s, c);
	if (lost && s->config->hides_tasks)
		tasks_lose(s->tasks, s->drained_ns, clock_monotonic_ns());
	s->drained_ns = now_ns;
}

bool sampler_drain_all(struct sampler *s, bool last)
{
	const uint64_t stamp = tasks_stamp(s->tasks);
	struct sampler_cpu *c;
	GHashTableIter iter;
	uint64_t now_ns, until;
	bool any = false;

	g_hash_table_iter_init(&iter, s->cpus);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&c))
		begin_samples(c);
	now_ns = clock_monotonic_ns();
	until = last ? UINT64_MAX : now_ns;
	drain_all_tasks(s, now_ns);
	taskevents_apply(s->taskevents, s->tasks, until);
	if (s->hooks.tasks_known)
		s->hooks.tasks_known(s->hooks.profiler);
	g_hash_table_iter_init(&iter, s->cpus);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&c))
		any |= drain_samples(s, c, last);
	capture_settle(s->capture, last);
	capture_write_files(s->capture);
	tasks_settle(s->tasks, capture_newest_seq(s->capture), capture_runs(s->capture),
		capture_oldest_seq(s->capture));
	return any || last || tasks_stamp(s->tasks) != stamp;
}

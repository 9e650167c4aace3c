/* SPDX-License-Identifier: MIT */
/*
 * The events of a profiler: their numbers in the capture, and the number of samples that follows
 * from their counts. Members that other threads read are changed under profiler.lock.
 */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "prof/profiler_state.h"

static bool same_event(const struct event *a, const struct event *b)
{
	return !strcmp(a->text, b->text) && a->attr.type == b->attr.type &&
	       a->attr.config == b->attr.config && a->attr.config1 == b->attr.config1 &&
	       a->attr.config2 == b->attr.config2 && a->flags == b->flags &&
	       event_rate(a) == event_rate(b);
}

/* The number of the event, a new one if it has none. 0 if there are no more numbers. */
static uint32_t number_event(struct profiler *p, const struct event *event)
{
	struct known_event known = { .event = *event, .flags = event->flags };
	guint i;

	for (i = 0; i < p->known->len; i++)
		if (same_event(&g_array_index(p->known, struct known_event, i).event, event))
			return i + 1;
	if (p->known->len >= KNOWN_EVENTS_MAX)
		return 0;
	g_array_append_val(p->known, known);
	atomic_add_relaxed(&p->header_stamp, 1);
	return p->known->len;
}

/* Numbers the events of a run; the sides of a wall have one number. Returns false if there are no more. */
static bool number_events(struct profiler *p, struct rings_config *config)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < config->events.count; i++) {
		config->numbers[i] = config->events.events[i].away.source == EVENT_WALL_OFFCPU
			? config->numbers[i - 1] : number_event(p, &config->events.events[i]);
		all = all && config->numbers[i];
	}
	return all;
}

/* ---- events of programs ------------------------------------------------------------------------ */

/* Under lock. */
static struct program_event *find_program(const struct profiler *p, const char *text)
{
	for (guint i = 0; i < p->programs->len; i++) {
		struct program_event *program = g_ptr_array_index(p->programs, i);

		if (!strcmp(program->text, text))
			return program;
	}
	return NULL;
}

/* What checks `only` belongs to the samples. */
static void emit_only(const void *arg, struct code *code, int refused)
{
	only_steps_emit(arg, code, refused);
}

static void destroy_only(void *arg)
{
	only_steps_destroy(arg);
}

static int create_samples(struct program_event *program, struct err *err)
{
	struct samples_condition condition = { .emit = emit_only, .destroy = destroy_only };
	int ret = samples_create(&program->samples, err);

	if (ret)
		return ret;
	ret = only_steps_create(&program->steps, err);
	if (ret) {
		samples_put(program->samples);
		return ret;
	}
	condition.arg = program->steps;
	samples_set_condition(program->samples, &condition);
	return 0;
}

struct program_event *profiler_program(struct profiler *p, const char *text, struct err *err)
{
	struct program_event *program = find_program(p, text);

	if (program)
		return program;
	program = g_new0(struct program_event, 1);
	if (create_samples(program, err)) {
		g_free(program);
		return NULL;
	}
	g_strlcpy(program->text, text, sizeof(program->text));
	pthread_mutex_lock(&p->lock);
	g_ptr_array_add(p->programs, program);
	pthread_mutex_unlock(&p->lock);
	return program;
}

int profiler_choose_programs(struct profiler *p, const struct only *only, struct err *err)
{
	int ret = 0;

	/* the list changes in this thread only */
	for (guint i = 0; !ret && i < p->programs->len; i++) {
		const struct program_event *program = g_ptr_array_index(p->programs, i);

		if (program->users)
			ret = only_steps_set(program->steps, only, err);
	}
	return ret;
}

bool profiler_has_programs(struct profiler *p)
{
	bool has = false;

	pthread_mutex_lock(&p->lock);
	for (guint i = 0; i < p->programs->len; i++)
		has |= ((struct program_event *)g_ptr_array_index(p->programs, i))->users > 0;
	pthread_mutex_unlock(&p->lock);
	return has;
}

void profiler_remove_program(struct profiler *p, const char *text)
{
	bool is_last;

	pthread_mutex_lock(&p->lock);
	is_last = !--find_program(p, text)->users && p->run;
	pthread_mutex_unlock(&p->lock);
	/* the control thread ends a run that has no other events */
	if (is_last)
		p->hooks.cpus_changed(p->hooks.arg);
}

/* Appends the events of programs, and forgets those that are not used. Under lock. False: it is full. */
static bool add_programs(struct profiler *p, struct rings_config *config)
{
	memset(config->programs, 0, sizeof(config->programs));
	for (guint i = 0; i < p->programs->len;) {
		struct program_event *program = g_ptr_array_index(p->programs, i);
		struct event *event = &config->events.events[config->events.count];

		if (!program->users) {
			samples_put(program->samples);
			g_free(program);
			g_ptr_array_remove_index(p->programs, i);
			continue;
		}
		if (config->events.count == EVENTS_MAX)
			return false;
		*event = (struct event){ .attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(event->attr),
			.config = PERF_COUNT_SW_BPF_OUTPUT, .sample_period = 1 } };
		g_strlcpy(event->text, program->text, sizeof(event->text));
		config->programs[config->events.count++] = program->samples;
		i++;
	}
	return true;
}

int profiler_resolve(struct profiler *p, struct err *err)
{
	struct rings_config *config = &p->resolved;
	struct perf_features features;
	unsigned int i;
	int ret = 0;

	/* if not even a counter of our own can be opened, start will fail and report why */
	if (perf_probe(&features))
		features = (struct perf_features){ .has_cycles = true };
	pthread_mutex_lock(&p->lock);
	/* nothing was sampled yet, so no number is used yet */
	if (!capture_has_totals(p->capture))
		g_array_set_size(p->known, 0);
	config->events = p->settings.events;
	if (p->programs_only)
		config->events.count = 0;
	config->features = features;
	events_expand(&config->events);
	for (i = 0; !features.has_cycles && i < config->events.count; i++)
		event_fallback(&config->events.events[i]);
	if (!add_programs(p, config))
		ret = err_set(err, ENOSPC, "with those of probes/ there would be more than %d events",
			EVENTS_MAX);
	else if (!number_events(p, config))
		ret = err_set(err, ENOSPC, "one capture has numbers for %d events: `clear` frees them",
			KNOWN_EVENTS_MAX);
	pthread_mutex_unlock(&p->lock);
	return ret;
}

void profiler_renumber(struct profiler *p)
{
	pthread_mutex_lock(&p->lock);
	g_array_set_size(p->known, 0);
	atomic_add_relaxed(&p->header_stamp, 1);
	number_events(p, &p->resolved);
	pthread_mutex_unlock(&p->lock);
}

bool profiler_is_clock(const struct event *event)
{
	return event->attr.type == PERF_TYPE_SOFTWARE && (event->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
		event->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

uint64_t profiler_fixed_period(const struct event *event, enum scope scope)
{
	if (!(event->flags & KPROF_EVENT_FREQ))
		/*
		 * each task has its own period counter, and the rest of the period is lost with
		 * the task
		 */
		return scope == SCOPE_OWN && event_rate(event) != 1 ? 0 : event_rate(event);
	/* the software clocks count ns, which is how they keep a frequency */
	if (scope != SCOPE_OWN && profiler_is_clock(event))
		return NSEC_PER_SEC / event_rate(event);
	return 0;
}

uint64_t profiler_due(const struct event *event, enum scope scope, const struct rings_count *count)
{
	const uint64_t period = profiler_fixed_period(event, scope);

	/* the kernel's periods begin where the event was enabled, not where counting began */
	return period ? (count->base + count->value) / period - count->base / period : 0;
}

void profiler_read_counts(const struct run *run, const struct rings *rings, unsigned int index,
	struct profiler_counts *counts)
{
	const struct event *event = &run->config.events.events[index];
	const uint64_t period = profiler_fixed_period(event, run->config.scope);
	const uint64_t others = rings_others(rings, index); /* first: the count has all of them then */
	struct rings_count count;
	uint64_t of_others;

	counts->refused = rings_refused(rings, index);
	rings_read(rings, index, &count);
	counts->due = profiler_due(event, run->config.scope, &count);
	counts->due -= MIN(others, counts->due);
	if (__builtin_mul_overflow(others, period, &of_others))
		of_others = UINT64_MAX;
	counts->value = count.value - MIN(of_others, count.value);
}

/* SPDX-License-Identifier: MIT */
/* A capture as a model in memory: see profile.h. */
#include "capture/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/strhash.h"
#include "base/units.h"
#include "capture/pair_map.h"
#include "capture/profile_frames.h"
#include "capture/table.h"
#include "sys/host.h"

/* The server's name, which identifies it if the capture does not have its pid. */
#define SERVER_NAME "kprofs"

#define CPUS_MAX 65536 /* the range of a sample's cpu */

#define NOT_THROTTLED UINT64_MAX

/* The size is checked once for this many records. */
#define SIZE_RECORDS 4096

/* The most that a table (table.h) takes for each entry. */
#define SLOT_BYTES (8 * 8 / 3)

/*
 * What functions.c takes for a place: two indexes, and if it has no symbol a function with the name
 * of its file.
 */
#define PLACE_NAMES_BYTES 128

struct profile_loader {
	struct profile *profile;
	size_t bytes_max; /* SIZE_MAX: any */
	bool no_samples, no_stacks, leaves;
	uint32_t section;
	uint64_t section_records;
	GArray *writers;	 /* uint32_t: the server's pid in each section, 0 if not known */
	/* valid until the section ends: */
	struct pair_map numbers;   /* 0, number -> event */
	struct pair_map tasks;     /* cpu, process -> thread */
	struct pair_map periods;   /* cpu, number -> period */
	struct pair_map throttled; /* cpu, number -> since when */
	struct kprof_rec_away away; /* the last one, */
	bool has_away;		    /* if its sample is next */
	GHashTable *machines;	    /* by the pointer of a host's name the machine-id of the first one */
	GHashTable *away_names;	    /* by the pointer of the name without the suffix */
	struct table event_table, cell_table;
	struct profile_places *places;
	uint64_t first_ns, last_ns; /* of this section's samples */
	bool sampled;		    /* this section has samples */
	uint8_t cpus[CPUS_MAX / 8]; /* with samples, in this section: */
	GHashTable *cpus_of_boots;  /* its boot and CPU are among these */
	struct profile_frames frames; /* of the current sample */
	struct profile_wakers wakers;
};

/* ---- sections -------------------------------------------------------------------------------- */

static struct profile_event *event_at(struct profile_loader *l, uint32_t event)
{
	return &g_array_index(l->profile->events, struct profile_event, event);
}

static void end_throttle(struct profile_loader *l, uint64_t number, uint64_t since, uint64_t until)
{
	const uint64_t *event = pair_map_find(&l->numbers, 0, number);

	if (event && until > since)
		event_at(l, (uint32_t)*event)->throttled_ns += until - since;
}

static void end_section(struct profile_loader *l)
{
	uint32_t i;

	/* events that are throttled at the end were so until the last sample, at least */
	for (i = 0; l->sampled && i < pair_map_count(&l->throttled); i++) {
		const struct pair_map_entry *pair = pair_map_at(&l->throttled, i);

		if (pair->value != NOT_THROTTLED)
			end_throttle(l, pair->b, pair->value, l->last_ns);
	}
	if (l->sampled) {
		l->profile->duration_ns += l->last_ns - l->first_ns;
		memset(l->cpus, 0, sizeof(l->cpus));
	}
	l->sampled = false;
	l->section_records = 0;
	pair_map_clear(&l->numbers);
	pair_map_clear(&l->tasks);
	pair_map_clear(&l->periods);
	pair_map_clear(&l->throttled);
}

/* Each CLOCK begins a section, except for one at the very beginning. */
static void enter_record(struct profile_loader *l, const struct decode_record *record)
{
	if (record->type == KPROF_REC_CLOCK && l->section_records) {
		end_section(l);
		l->section++;
	}
	l->section_records++;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static size_t count_bytes(const struct profile *p)
{
	return p->places->len * (sizeof(struct profile_place) + SLOT_BYTES + PLACE_NAMES_BYTES) +
		p->cells->len * (sizeof(struct profile_cell) + SLOT_BYTES) +
		p->stacks.nodes->len * (sizeof(struct stacks_node) + SLOT_BYTES) +
		p->events->len * sizeof(struct profile_event) +
		p->wakers->len * (sizeof(struct profile_waker) + SLOT_BYTES) +
		(p->moments ? p->moments->len * sizeof(struct profile_moment) : 0) +
		processes_bytes(p->processes);
}

/* Called for each record. */
static bool is_too_large(const struct profile_loader *l, const struct decoder *decoder)
{
	return decoder->records % SIZE_RECORDS == 0 && count_bytes(l->profile) > l->bytes_max;
}

static int refuse_size(const struct profile_loader *l, struct err *err)
{
	return err_set(err, EFBIG,
		"the stacks and processes of the capture need more than %zu MiB: record for a shorter"
		" time, or with a smaller DEPTH",
		(size_t)(l->bytes_max / MIB));
}

/* ---- first pass: processes ------------------------------------------------------------------- */

static void take_clock(struct profile_loader *l, const struct decode_record *r)
{
	if (l->writers->len <= l->section)
		g_array_set_size(l->writers, l->section + 1); /* cleared */
	g_array_index(l->writers, uint32_t, l->section) = r->writer_pid;
}

/* Of machines with the same name all but the first have their machine-id behind it. */
static void take_host(struct profile_loader *l, const struct decode_record *r)
{
	GPtrArray *hosts = l->profile->hosts;
	char id[2 * KPROF_HOST_ID_BYTES + 1];
	const char *name, *known;
	g_autofree char *both = NULL;

	if (!*r->text)
		return;
	name = g_string_chunk_insert_const(l->profile->strings, r->text);
	host_format_id(r->host.machine_id, id);
	known = g_hash_table_lookup(l->machines, name);
	if (!known) {
		g_hash_table_insert(l->machines, (gpointer)name,
			g_string_chunk_insert_const(l->profile->strings, id));
	} else if (strcmp(known, id) != 0) {
		both = g_strdup_printf("%s %s", name, id);
		name = g_string_chunk_insert_const(l->profile->strings, both);
	}
	if (hosts->len <= l->section)
		g_ptr_array_set_size(hosts, (gint)l->section + 1); /* with NULL */
	hosts->pdata[l->section] = (gpointer)name;
}

static void learn_file_id(struct processes *p, uint32_t section, const struct decode_record *r)
{
	const struct symbols_file_id id = {
		.dev_major = r->file_id.dev_major,
		.dev_minor = r->file_id.dev_minor,
		.inode = r->file_id.inode,
		.generation = r->file.generation,
		.size = r->file.size,
		.mtime_ns = r->file.mtime_ns,
	};

	processes_add_file_id(p, section, &r->file_id, &id);
}

void profile_learn(struct processes *p, uint32_t section, const struct decode_record *r)
{
	switch (r->type) {
	case KPROF_REC_MMAP:
	case KPROF_REC_KERNEL_MMAP:
		processes_add_mapping(p, section, &r->mmap, r->text);
		break;
	case KPROF_REC_BUILD_ID:
		processes_add_build_id(p, section, &r->build_id, r->bytes);
		break;
	case KPROF_REC_FILE_ID:
		learn_file_id(p, section, r);
		break;
	case KPROF_REC_CLOCK:
		processes_add_clock(p, section, &r->clock);
		break;
	case KPROF_REC_NEW_PROCESS:
		processes_add_program(p, section, &r->new_process, r->text);
		break;
	case KPROF_REC_COMM:
		processes_add_name(p, section, &r->comm, r->text);
		break;
	case KPROF_REC_FORK:
		processes_add_fork(p, section, &r->fork);
		break;
	case KPROF_REC_USER:
		processes_add_user(p, section, &r->user);
		break;
	default:
		break;
	}
}

static void note_damage(struct profile *profile, const struct err *err)
{
	profile->damaged++;
	if (profile->damage->len < PROFILE_DAMAGE_MAX)
		g_ptr_array_add(profile->damage, g_strdup(err->text));
}

static int read_processes(struct profile_loader *l, struct decoder *decoder, struct err *why)
{
	struct decode_record record;
	struct err err;
	int ret;

	while ((ret = decode_next(decoder, &record, &err)) > 0 || ret == -EBADMSG) {
		if (is_too_large(l, decoder))
			return refuse_size(l, why);
		if (ret < 0) {
			note_damage(l->profile, &err);
			continue;
		}
		enter_record(l, &record);
		if (record.type == KPROF_REC_CLOCK) {
			take_clock(l, &record);
			boots_add_clock(l->profile->boots, l->section, &record.clock);
		} else if (record.type == KPROF_REC_HOST) {
			take_host(l, &record);
			boots_add_host(l->profile->boots, l->section, &record.host);
		}
		profile_learn(l->profile->processes, l->section, &record);
	}
	if (ret == -ENOMEM)
		return err_set(why, ENOMEM, "%s", err.text);
	if (ret < 0)
		note_damage(l->profile, &err);
	l->profile->records = decoder->records;
	l->profile->unknown = decoder->unknown;
	if (count_bytes(l->profile) > l->bytes_max)
		return refuse_size(l, why);
	processes_finish(l->profile->processes);
	boots_finish(l->profile->boots);
	return 0;
}

/* ---- second pass: events --------------------------------------------------------------------- */

static bool equal_event(const void *items, uint32_t i, const void *key)
{
	return strcmp(((const struct profile_event *)items + i)->text, key) == 0;
}

static uint32_t intern_event(struct profile_loader *l, const char *text)
{
	GArray *events = l->profile->events;
	uint32_t hash = strhash(text);
	uint32_t i = table_find(&l->event_table, hash, equal_event, events->data, text);
	struct profile_event event = { .text = NULL };

	if (i == TABLE_NONE) {
		i = events->len;
		event.text = g_string_chunk_insert(l->profile->strings, text);
		g_array_append_val(events, event);
		table_add(&l->event_table, hash, i);
	}
	return i;
}

static uint32_t find_event(struct profile_loader *l, uint64_t number)
{
	const uint64_t *known = pair_map_find(&l->numbers, 0, number);
	char text[32];
	uint32_t event;

	if (known)
		return (uint32_t)*known;
	g_snprintf(text, sizeof(text), "event %" PRIu64, number);
	event = intern_event(l, text);
	pair_map_set(&l->numbers, 0, number, event);
	return event;
}

static void take_event(struct profile_loader *l, const struct decode_record *r)
{
	uint32_t event = intern_event(l, r->event_name);
	const uint32_t before = event_at(l, event)->flags;

	/* runs with `default` and with the event that it stands for are one event: it is what any was */
	event_at(l, event)->is_default |= strcmp(r->text, DECODE_EVENT_DEFAULT) == 0;
	event_at(l, event)->perf_type = r->event.perf_type;
	event_at(l, event)->config = r->event.config;
	event_at(l, event)->rate = r->event.rate;
	event_at(l, event)->flags = r->event.flags | (before & KPROF_EVENT_FALLBACK);
	pair_map_set(&l->numbers, 0, r->event.number, event);
}

static void take_lost(struct profile_loader *l, const struct decode_record *r)
{
	uint32_t reason = r->lost.reason < PROFILE_LOST_REASONS ? r->lost.reason : 0;
	uint64_t *lost = &event_at(l, find_event(l, r->lost.event))->lost[reason];

	if (__builtin_add_overflow(*lost, r->lost.count, lost))
		*lost = UINT64_MAX;
}

static void take_throttle(struct profile_loader *l, const struct decode_record *r)
{
	uint64_t cpu = r->throttle.cpu, number = r->throttle.event, now = r->throttle.time_ns;
	const uint64_t *since = pair_map_find(&l->throttled, cpu, number);
	uint32_t event = find_event(l, number);

	if (since && *since != NOT_THROTTLED)
		end_throttle(l, number, *since, now);
	if (r->throttle.throttled)
		event_at(l, event)->throttles++;
	pair_map_set(&l->throttled, cpu, number, r->throttle.throttled ? now : NOT_THROTTLED);
}

/*
 * The period of a sample: the last PERIOD record, else the period that the event was opened with.
 */
static uint64_t find_period(const struct profile_loader *l, const struct kprof_rec_trace *trace,
	const struct profile_event *event)
{
	const uint64_t *period = pair_map_find(&l->periods, trace->cpu, trace->info);

	if (period)
		return *period;
	return event->flags & KPROF_EVENT_FREQ || !event->rate ? 1 : event->rate;
}

/* ---- second pass: samples -------------------------------------------------------------------- */

/* The stack of a sample as a node. */
static uint32_t take_stack(struct profile_loader *l, const struct decode_record *r, uint32_t life,
	struct profile_event *event)
{
	const struct profile_frames_task task = {
		.places = l->places,
		.list = l->profile->places,
		.processes = l->profile->processes,
		.section = l->section,
		.life = life,
		.time_ns = r->trace.time_ns,
	};
	uint32_t node = STACKS_ROOT, n;

	profile_frames_read(&l->frames, &task, r, r->trace.num_traces, r->type == KPROF_REC_USER_TRACE,
		l->leaves);
	event->cut_stacks += l->frames.cut;
	for (n = l->frames.count; n > 0;)
		node = stacks_push(&l->profile->stacks, node, l->frames.places[--n]);
	return node;
}

static bool equal_cell(const void *items, uint32_t i, const void *key)
{
	const struct profile_cell *a = (const struct profile_cell *)items + i, *b = key;

	return a->node == b->node && a->flags == b->flags && a->life == b->life && a->tid == b->tid &&
		a->cpu == b->cpu && a->event == b->event && a->name == b->name;
}

/* The cell's index. */
static uint32_t count_cell(struct profile_loader *l, const struct profile_cell *key)
{
	GArray *cells = l->profile->cells;
	uint32_t hash = table_hash((uint64_t)key->node << 32 | key->life,
		(uint64_t)key->tid << 32 | (uint64_t)key->event << 16 | key->cpu);
	uint32_t known = cells->len;
	uint32_t i = table_intern(&l->cell_table, cells, hash, equal_cell, key);

	if (i < known)
		profile_add(&g_array_index(cells, struct profile_cell, i).count, key->count.samples,
			key->count.weight);
	return i;
}

/* The CLOCK record has the server's pid; if a capture lacks it, the process name decides. */
static bool is_own(const struct profile_loader *l, uint32_t pid, const char *name)
{
	uint32_t writer = l->section < l->writers->len
		? g_array_index(l->writers, uint32_t, l->section) : 0;

	return writer ? pid == writer : strcmp(name, SERVER_NAME) == 0;
}

static void note_cpu(struct profile_loader *l, uint16_t cpu)
{
	const uint8_t bit = (uint8_t)(1 << cpu % 8);
	uint64_t both;

	if (l->cpus[cpu / 8] & bit)
		return;
	l->cpus[cpu / 8] |= bit;
	both = (uint64_t)boots_of(l->profile->boots, l->section) << 16 | cpu;
	g_hash_table_add(l->cpus_of_boots, g_memdup2(&both, sizeof(both)));
}

static void note_moment(struct profile_loader *l, uint64_t time, uint64_t weight, uint32_t cell,
	uint32_t waker)
{
	const struct profile_moment moment = { time + boots_shift_ns(l->profile->boots, l->section),
		weight, cell, waker };

	if (l->profile->moments)
		g_array_append_val(l->profile->moments, moment);

	if (!l->sampled || time < l->first_ns)
		l->first_ns = time;
	if (!l->sampled || time > l->last_ns)
		l->last_ns = time;
	l->sampled = true;
}

/* Whether a sample is that of the AWAY before it. */
static bool is_away(const struct profile_loader *l, const struct kprof_rec_trace *trace)
{
	return l->has_away && l->away.time_ns == trace->time_ns && l->away.pid == trace->pid &&
	       l->away.cpu == trace->cpu;
}

/*
 * The name of a process for the samples of `wall` that it was away, so that every view divides both sides.
 * Equal names are one pointer.
 */
static const char *name_away(struct profile_loader *l, const char *name)
{
	char *away = g_hash_table_lookup(l->away_names, name);
	g_autofree char *text = NULL;

	if (away)
		return away;
	text = g_strconcat(name, PROFILE_AWAY_SUFFIX, NULL);
	away = g_string_chunk_insert(l->profile->strings, text);
	g_hash_table_insert(l->away_names, (gpointer)name, away);
	return away;
}

static void take_sample(struct profile_loader *l, const struct decode_record *r)
{
	const struct kprof_rec_trace *trace = &r->trace;
	struct profile_cell cell = { .event = find_event(l, trace->info), .cpu = trace->cpu };
	struct profile_event *event = event_at(l, cell.event);
	const uint64_t *tid = pair_map_find(&l->tasks, trace->cpu, trace->pid);
	uint64_t weight = find_period(l, trace, event);
	uint32_t waker = 0;

	cell.life = processes_find_life(l->profile->processes, l->section, trace->pid,
		trace->time_ns);
	cell.name = processes_find_name(l->profile->processes, cell.life, trace->time_ns);
	cell.tid = tid ? (uint32_t)*tid : trace->pid;
	cell.node = l->no_stacks ? STACKS_ROOT : take_stack(l, r, cell.life, event);
	profile_add(&cell.count, 1, weight);
	profile_add(&event->all, 1, weight);
	if (trace->pid == KPROF_PID_KERNEL) {
		cell.flags = PROFILE_IDLE;
		profile_add(&event->idle, 1, weight);
	} else if (is_own(l, trace->pid, cell.name)) {
		cell.flags = PROFILE_OWN;
		profile_add(&event->own, 1, weight);
	}
	if (is_away(l, trace)) {
		cell.flags |= PROFILE_AWAY;
		waker = l->wakers.last;
		cell.node = profile_wakers_push(&l->wakers, cell.node, l->frames.count);
		if (event->flags & KPROF_EVENT_WALL)
			cell.name = name_away(l, cell.name);
		profile_add(&event->away, 1, weight);
	}
	l->has_away = false;
	note_moment(l, trace->time_ns, weight, count_cell(l, &cell), waker);
	note_cpu(l, trace->cpu);
	l->profile->samples++;
}

static void take_sample_record(struct profile_loader *l, const struct decode_record *r)
{
	switch (r->type) {
	case KPROF_REC_KERN_TRACE:
	case KPROF_REC_USER_TRACE:
		take_sample(l, r);
		break;
	case KPROF_REC_AWAY:
		l->away = r->away;
		l->has_away = true;
		profile_wakers_take(&l->wakers, l->section, r);
		break;
	case KPROF_REC_EVENT:
		take_event(l, r);
		break;
	case KPROF_REC_TASK:
		pair_map_set(&l->tasks, r->task.cpu, r->task.pid, r->task.tid);
		break;
	case KPROF_REC_PERIOD:
		pair_map_set(&l->periods, r->period.cpu, r->period.event, r->period.period);
		break;
	case KPROF_REC_LOST:
		take_lost(l, r);
		break;
	case KPROF_REC_THROTTLE:
		take_throttle(l, r);
		break;
	case KPROF_REC_CPU_TIMES:
		cputimes_add(&l->profile->cpu_times, l->section, &r->cpu_times);
		break;
	default:
		break;
	}
}

/* Reads as far as the first pass did, even if the file has grown since. */
static int read_samples(
	struct profile_loader *l, struct decoder *decoder, uint64_t end, struct err *err)
{
	struct decode_record record;
	int ret;

	l->section = 0;
	l->section_records = 0;
	while (decoder->offset < end) {
		ret = decode_next(decoder, &record, NULL);
		if (ret == -EBADMSG)
			continue;
		if (ret == -ENOMEM)
			return err_set(
				err, ENOMEM, "there is not enough memory to read the capture");
		if (ret <= 0)
			break;
		if (is_too_large(l, decoder))
			return refuse_size(l, err);
		enter_record(l, &record);
		take_sample_record(l, &record);
	}
	end_section(l);
	l->profile->cpus = g_hash_table_size(l->cpus_of_boots);
	return count_bytes(l->profile) > l->bytes_max ? refuse_size(l, err) : 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static struct profile_loader *create_loader(
	struct profile *profile, const struct profile_options *options)
{
	struct profile_loader *l = g_new0(struct profile_loader, 1);

	l->profile = profile;
	l->no_samples = options->no_samples;
	l->no_stacks = options->no_stacks;
	l->leaves = options->leaves;
	l->bytes_max = options->bytes_max ? options->bytes_max : SIZE_MAX;
	l->writers = g_array_new(FALSE, TRUE, sizeof(uint32_t));
	l->places = profile_places_create(profile->processes, profile->places);
	l->wakers.list = profile->wakers;
	l->wakers.strings = profile->strings;
	l->wakers.places = l->places;
	l->wakers.place_list = profile->places;
	l->wakers.processes = profile->processes;
	l->wakers.stacks = profile->waker_stacks ? &profile->stacks : NULL;
	pair_map_init(&l->numbers);
	pair_map_init(&l->tasks);
	pair_map_init(&l->periods);
	l->machines = g_hash_table_new(NULL, NULL);
	l->cpus_of_boots = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	l->away_names = g_hash_table_new(NULL, NULL);
	pair_map_init(&l->throttled);
	return l;
}

static void destroy_loader(struct profile_loader *l)
{
	g_array_free(l->writers, TRUE);
	pair_map_fini(&l->numbers);
	pair_map_fini(&l->tasks);
	pair_map_fini(&l->periods);
	g_hash_table_destroy(l->machines);
	g_hash_table_destroy(l->cpus_of_boots);
	g_hash_table_destroy(l->away_names);
	pair_map_fini(&l->throttled);
	table_fini(&l->event_table);
	profile_places_destroy(l->places);
	table_fini(&l->cell_table);
	profile_wakers_fini(&l->wakers);
	g_free(l);
}

static struct profile *create_profile(const struct profile_options *options)
{
	struct profile *profile = g_new0(struct profile, 1);

	profile->events = g_array_new(FALSE, FALSE, sizeof(struct profile_event));
	profile->places = g_array_new(FALSE, FALSE, sizeof(struct profile_place));
	profile->cells = g_array_new(FALSE, FALSE, sizeof(struct profile_cell));
	profile->wakers = g_array_new(FALSE, TRUE, sizeof(struct profile_waker));
	g_array_set_size(profile->wakers, 1); /* none */
	profile->waker_stacks = options->wakers;
	if (options->moments)
		profile->moments = g_array_new(FALSE, FALSE, sizeof(struct profile_moment));
	profile->hosts = g_ptr_array_new();
	profile->boots = boots_create();
	profile->damage = g_ptr_array_new_with_free_func(g_free);
	profile->strings = g_string_chunk_new(1024);
	profile->processes = processes_create();
	stacks_init(&profile->stacks);
	cputimes_init(&profile->cpu_times);
	return profile;
}

void profile_destroy(struct profile *profile)
{
	if (!profile)
		return;
	g_array_free(profile->events, TRUE);
	g_array_free(profile->places, TRUE);
	g_array_free(profile->cells, TRUE);
	g_array_free(profile->wakers, TRUE);
	if (profile->moments)
		g_array_free(profile->moments, TRUE);
	g_ptr_array_free(profile->damage, TRUE);
	g_ptr_array_free(profile->hosts, TRUE);
	boots_destroy(profile->boots);
	g_string_chunk_free(profile->strings);
	processes_destroy(profile->processes);
	stacks_fini(&profile->stacks);
	cputimes_fini(&profile->cpu_times);
	g_free(profile);
}

static int read_capture(struct profile_loader *l, struct decoder *decoder, struct err *err)
{
	int ret = read_processes(l, decoder, err);
	uint64_t end = decoder->offset;

	if (ret || l->no_samples)
		return ret;
	ret = decode_rewind(decoder);
	if (ret)
		return err_set(err, -ret, "the capture can't be read twice: %s", strerror(-ret));
	return read_samples(l, decoder, end, err);
}

int profile_load_with(struct decoder *decoder, const struct profile_options *options,
	struct profile **result, struct err *err)
{
	struct profile *profile = create_profile(options);
	struct profile_loader *loader = create_loader(profile, options);
	int ret = read_capture(loader, decoder, err);

	destroy_loader(loader);
	table_fini(&profile->stacks.table); /* no more stacks are added */
	if (ret)
		profile_destroy(profile);
	else
		*result = profile;
	return ret;
}

const char *profile_host(const struct profile *p, const struct profile_cell *cell)
{
	const uint32_t section = processes_section(p->processes, cell->life);

	return section < p->hosts->len ? p->hosts->pdata[section] : NULL;
}

uint32_t profile_boot(const struct profile *p, const struct profile_cell *cell)
{
	return boots_of(p->boots, processes_section(p->processes, cell->life));
}

int profile_load(struct decoder *decoder, struct profile **profile, struct err *err)
{
	static const struct profile_options plain;

	return profile_load_with(decoder, &plain, profile, err);
}

/* SPDX-License-Identifier: MIT */
/*
 * The part of a capture that belongs to a query: see query_filter.h.
 *
 * Three passes over the records, since kpdata is not sorted: the first learns the times and names,
 * the second decides about the samples and so finds their processes, the third copies.
 */
#include "capture/query_filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/pair_map.h"
#include "capture/processes.h"
#include "capture/profile.h"
#include "sys/host.h"
#include "sys/memfile.h"

/* Cancellation is checked once for this many records: less than a ms of work. */
#define CANCEL_RECORDS 4096

struct query_section {
	uint64_t newest_ns;	       /* of its samples */
	uint64_t monotonic_ns, wall_ns; /* of its CLOCK */
};

struct query_filter {
	const struct query *query;
	const struct intervals *spans; /* NULL: the query has none */
	const struct cancel *cancel;
	struct processes *processes; /* NULL if no name is compared */
	GArray *sections;	     /* struct query_section */
	/* of the pass */
	uint32_t section;
	uint64_t section_records;
	struct query now;	/* the query as it applies to the section */
	struct pair_map tasks;	/* (cpu, pid) -> tid of the current task */
	GHashTable *numbers;	/* event number -> its text, of the section */
	GStringChunk *strings;
	const char *host;	/* the name of the section's machine; NULL: not known */
	char machine[2 * KPROF_HOST_ID_BYTES + 1]; /* and its id; "": not known */
	bool within;		/* the last sample's time fits; of the losses behind it */
	uint64_t ordinal;	/* of the next sample */
	/* of the second pass, for the third */
	GByteArray *kept;	/* a bit for each sample */
	GHashTable *members;	/* pids whose records are copied */
	GHashTable *parents;	/* pid -> GSList of pids that forked one with it */
	GHashTable *values;	/* of `key`; NULL if none are wanted */
	GHashTable *seen;	/* numbers and names that are in `values` or can't be */
	enum query_key key;
	uint64_t samples, lost;
	/* of the third */
	GByteArray *stack;	/* the last AWAY and USER_STACK, if they were the last records */
	uint32_t waker;		/* of the next sample, KPROF_PID_GONE: not known */
	uint64_t last_type;	/* of the record before */
	FILE *out;
};

static void free_list(gpointer list)
{
	g_slist_free(list);
}

static void init_filter(struct query_filter *f, const struct query *query, const struct intervals *spans,
	const struct cancel *cancel, enum query_key key, GHashTable *values)
{
	memset(f, 0, sizeof(*f));
	f->query = query;
	f->spans = spans;
	f->cancel = cancel;
	f->key = key;
	f->values = values;
	if (query_has(query, QUERY_COMM) || query_has(query, QUERY_EXE) || query_has(query, QUERY_UID) ||
		(values && (key == QUERY_COMM || key == QUERY_EXE || key == QUERY_UID)))
		f->processes = processes_create();
	f->sections = g_array_new(FALSE, TRUE, sizeof(struct query_section));
	pair_map_init(&f->tasks);
	f->numbers = g_hash_table_new(NULL, NULL);
	f->strings = g_string_chunk_new(1024);
	f->kept = g_byte_array_new();
	f->members = g_hash_table_new(NULL, NULL);
	f->seen = g_hash_table_new(NULL, NULL);
	f->parents = g_hash_table_new_full(NULL, NULL, NULL, free_list);
	f->stack = g_byte_array_new();
}

static void fini_filter(struct query_filter *f)
{
	processes_destroy(f->processes);
	g_array_free(f->sections, TRUE);
	pair_map_fini(&f->tasks);
	g_hash_table_destroy(f->numbers);
	g_string_chunk_free(f->strings);
	g_byte_array_free(f->kept, TRUE);
	g_hash_table_destroy(f->members);
	g_hash_table_destroy(f->seen);
	g_hash_table_destroy(f->parents);
	g_byte_array_free(f->stack, TRUE);
}

/* ---- sections -------------------------------------------------------------------------------- */

static struct query_section *section_of(struct query_filter *f)
{
	if (f->sections->len <= f->section)
		g_array_set_size(f->sections, f->section + 1); /* cleared */
	return &g_array_index(f->sections, struct query_section, f->section);
}

/* Called at the beginning of each section of the second and third pass. */
static void begin_section(struct query_filter *f)
{
	const struct query_section *section = section_of(f);

	f->now = *f->query;
	query_settle_wall(&f->now, section->monotonic_ns, section->wall_ns);
	query_settle_last(&f->now, section->newest_ns);
	pair_map_clear(&f->tasks);
	g_hash_table_remove_all(f->numbers);
	f->host = NULL;
	f->machine[0] = '\0';
	/* what was lost before the first sample was lost before it */
	f->within = !query_has(&f->now, QUERY_SINCE);
}

static void enter_record(struct query_filter *f, const struct decode_record *record)
{
	if (record->type == KPROF_REC_CLOCK && f->section_records) {
		f->section++;
		begin_section(f);
	}
	f->section_records++;
}

static void begin_pass(struct query_filter *f)
{
	f->section = 0;
	f->section_records = 0;
	f->ordinal = 0;
	begin_section(f);
}

/* ---- first pass: times and names -------------------------------------------------------------- */

static bool is_sample(const struct decode_record *r)
{
	return r->type == KPROF_REC_KERN_TRACE || r->type == KPROF_REC_USER_TRACE;
}

static void add_parent(struct query_filter *f, uint32_t pid, uint32_t parent)
{
	GSList *list = g_hash_table_lookup(f->parents, GUINT_TO_POINTER(pid));

	if (pid == parent || g_slist_find(list, GUINT_TO_POINTER(parent)))
		return;
	g_hash_table_steal(f->parents, GUINT_TO_POINTER(pid));
	g_hash_table_insert(f->parents, GUINT_TO_POINTER(pid),
		g_slist_prepend(list, GUINT_TO_POINTER(parent)));
}

static int learn_record(struct query_filter *f, const struct decode_record *r)
{
	struct query_section *section = section_of(f);

	if (is_sample(r)) {
		section->newest_ns = MAX(section->newest_ns, r->trace.time_ns);
		return 0;
	}
	if (r->type == KPROF_REC_CLOCK) {
		section->monotonic_ns = r->clock.time_ns;
		section->wall_ns = r->clock.wall_ns;
	}
	if (r->type == KPROF_REC_FORK)
		add_parent(f, r->fork.pid, r->fork.parent_pid);
	if (f->processes && (r->type == KPROF_REC_FORK || r->type == KPROF_REC_COMM ||
				    r->type == KPROF_REC_NEW_PROCESS || r->type == KPROF_REC_USER))
		profile_learn(f->processes, f->section, r);
	return 0;
}

/* ---- second pass: samples --------------------------------------------------------------------- */

static uint32_t thread_of(const struct query_filter *f, const struct kprof_rec_trace *sample)
{
	const uint64_t *tid = pair_map_find(&f->tasks, sample->cpu, sample->pid);

	return tid ? (uint32_t)*tid : sample->pid;
}

static const char *event_of(const struct query_filter *f, uint64_t number)
{
	return g_hash_table_lookup(f->numbers, GSIZE_TO_POINTER((gsize)number));
}

/* The name or program of its process; NULL if it is not known. */
static const char *text_of(
	const struct query_filter *f, enum query_key key, const struct kprof_rec_trace *sample)
{
	uint32_t life;

	if (sample->pid == KPROF_PID_KERNEL || sample->pid == KPROF_PID_GONE)
		return NULL;
	life = processes_find_life(f->processes, f->section, sample->pid, sample->time_ns);
	return key == QUERY_COMM ? processes_find_name(f->processes, life, sample->time_ns) :
				   processes_program(f->processes, life);
}

/* PROCESSES_NO_USER if it is not known. */
static uint32_t user_of(const struct query_filter *f, const struct kprof_rec_trace *sample)
{
	if (sample->pid == KPROF_PID_KERNEL || sample->pid == KPROF_PID_GONE)
		return PROCESSES_NO_USER;
	return processes_user(f->processes,
		processes_find_life(f->processes, f->section, sample->pid, sample->time_ns), sample->time_ns);
}

static bool has_text(const char *found, const char *wanted)
{
	return found && !strcmp(found, wanted);
}

static bool fits_cpu(const struct query_filter *f, uint32_t cpu)
{
	return !query_has(f->query, QUERY_CPU) || f->query->cpu == cpu;
}

static bool fits_event(const struct query_filter *f, uint64_t number)
{
	return !query_has(f->query, QUERY_EVENT) || has_text(event_of(f, number), f->query->event);
}

static bool fits_host(const struct query_filter *f)
{
	return !query_has(f->query, QUERY_HOST) || has_text(f->host, f->query->host) ||
	       (f->machine[0] && !strcmp(f->machine, f->query->host));
}

static bool fits_span(const struct query_filter *f, const struct kprof_rec_trace *sample)
{
	return !query_has(f->query, QUERY_SPAN) ||
	       (f->spans && intervals_have(f->spans, sample->pid, thread_of(f, sample), sample->time_ns));
}

static bool fits(const struct query_filter *f, const struct kprof_rec_trace *sample)
{
	const struct query *q = f->query;

	return query_has_time(&f->now, sample->time_ns) && fits_cpu(f, sample->cpu) && fits_host(f) &&
	       !(query_has(q, QUERY_PID) && q->pid != sample->pid) &&
	       !(query_has(q, QUERY_TID) && q->tid != thread_of(f, sample)) &&
	       fits_event(f, sample->info) && fits_span(f, sample) &&
	       !(query_has(q, QUERY_UID) && user_of(f, sample) != q->uid) &&
	       !(query_has(q, QUERY_COMM) && !has_text(text_of(f, QUERY_COMM, sample), q->comm)) &&
	       !(query_has(q, QUERY_EXE) && !has_text(text_of(f, QUERY_EXE, sample), q->exe));
}

static const char *name_of_number(uint32_t value, char number[16])
{
	g_snprintf(number, 16, "%" PRIu32, value);
	return number;
}

static const char *name_of_task(uint32_t pid, char number[16])
{
	if (pid == KPROF_PID_KERNEL)
		return QUERY_IDLE;
	if (pid == KPROF_PID_GONE)
		return QUERY_GONE;
	return name_of_number(pid, number);
}

/* What a value is made of: its number, or a text that is the same pointer for equal texts. */
static gpointer source_of(const struct query_filter *f, const struct kprof_rec_trace *sample)
{
	switch (f->key) {
	case QUERY_PID:
		return GUINT_TO_POINTER(sample->pid);
	case QUERY_TID:
		return GUINT_TO_POINTER(thread_of(f, sample));
	case QUERY_CPU:
		return GUINT_TO_POINTER((guint)sample->cpu);
	case QUERY_UID:
		return GUINT_TO_POINTER(user_of(f, sample));
	case QUERY_EVENT:
		return (gpointer)event_of(f, sample->info);
	case QUERY_HOST:
		return (gpointer)f->host;
	default:
		return (gpointer)text_of(f, f->key, sample);
	}
}

/* Most samples have a value that is noted already. */
static void note_value(struct query_filter *f, const struct kprof_rec_trace *sample)
{
	const gpointer source = source_of(f, sample);
	char number[16];
	struct query none = { 0 };
	const char *value = source;

	if (!g_hash_table_add(f->seen, source))
		return;
	if (f->key == QUERY_PID || f->key == QUERY_TID)
		value = name_of_task(GPOINTER_TO_UINT(source), number);
	else if (f->key == QUERY_CPU || f->key == QUERY_UID)
		value = name_of_number(GPOINTER_TO_UINT(source), number);
	if (value && !query_add(&none, f->key, value, NULL))
		g_hash_table_add(f->values, g_strdup(value));
}

/* A query may call an event as it was given to kpctl, or by its name in views. */
static const char *name_of_event(const struct query_filter *f, const struct decode_record *r)
{
	const bool is_given = query_has(f->query, QUERY_EVENT) && !strcmp(f->query->event, r->text);

	return is_given ? r->text : r->event_name;
}

static void follow_host(struct query_filter *f, const struct decode_record *r)
{
	f->host = *r->text ? g_string_chunk_insert_const(f->strings, r->text) : NULL;
	host_format_id(r->host.machine_id, f->machine);
}

/* Follows the state to which samples refer. */
static void follow(struct query_filter *f, const struct decode_record *r)
{
	if (r->type == KPROF_REC_TASK)
		pair_map_set(&f->tasks, r->task.cpu, r->task.pid, r->task.tid);
	else if (r->type == KPROF_REC_EVENT)
		g_hash_table_insert(f->numbers, GSIZE_TO_POINTER((gsize)r->event.number),
			g_string_chunk_insert_const(f->strings, name_of_event(f, r)));
	else if (r->type == KPROF_REC_HOST)
		follow_host(f, r);
}

/* The processes of a sample that is kept: its own, and that of its waker, whose stack needs its mappings. */
static void add_members(struct query_filter *f, uint32_t pid)
{
	g_hash_table_add(f->members, GUINT_TO_POINTER(pid));
	if (f->waker != KPROF_PID_GONE)
		g_hash_table_add(f->members, GUINT_TO_POINTER(f->waker));
}

static int decide(struct query_filter *f, const struct decode_record *r)
{
	follow(f, r);
	if (r->type == KPROF_REC_AWAY)
		f->waker = r->away.waker_pid;
	if (!is_sample(r))
		return 0;
	if (f->ordinal / 8 >= f->kept->len) {
		static const uint8_t none;

		if (f->kept->len == G_MAXINT)
			return -EFBIG;
		g_byte_array_append(f->kept, &none, 1);
	}
	if (fits(f, &r->trace)) {
		f->kept->data[f->ordinal / 8] |= (uint8_t)(1 << f->ordinal % 8);
		f->samples++;
		if (f->values)
			note_value(f, &r->trace);
		else
			add_members(f, r->trace.pid);
	}
	f->waker = KPROF_PID_GONE;
	f->ordinal++;
	return 0;
}

/* Ancestors too: a process has the name and the mappings of its parent until it changes them. */
static void add_ancestors(struct query_filter *f)
{
	GQueue left = G_QUEUE_INIT;
	GHashTableIter iter;
	const GSList *parent;
	gpointer pid;

	g_hash_table_iter_init(&iter, f->members);
	while (g_hash_table_iter_next(&iter, &pid, NULL))
		g_queue_push_tail(&left, pid);
	while (!g_queue_is_empty(&left)) {
		pid = g_queue_pop_head(&left);
		parent = g_hash_table_lookup(f->parents, pid);
		for (; parent; parent = parent->next)
			if (g_hash_table_add(f->members, parent->data))
				g_queue_push_tail(&left, parent->data);
	}
}

/* ---- third pass: the copy --------------------------------------------------------------------- */

static bool is_member(const struct query_filter *f, uint32_t pid)
{
	return pid == KPROF_PID_KERNEL || g_hash_table_contains(f->members, GUINT_TO_POINTER(pid));
}

static bool take_loss(struct query_filter *f, const struct kprof_rec_lost *lost)
{
	if (!f->within || !fits_cpu(f, lost->cpu) || !fits_event(f, lost->event))
		return false;
	if (__builtin_add_overflow(f->lost, lost->count, &f->lost))
		f->lost = UINT64_MAX;
	return true;
}

static bool take_sample(struct query_filter *f, const struct kprof_rec_trace *sample)
{
	const uint64_t i = f->ordinal++;

	f->within = query_has_time(&f->now, sample->time_ns);
	/* a file that has grown since the second pass may have more */
	return i / 8 < f->kept->len && f->kept->data[i / 8] >> i % 8 & 1;
}

static bool is_copied(struct query_filter *f, const struct decode_record *r)
{
	follow(f, r);
	if (!fits_host(f) && !is_sample(r))
		return r->type == KPROF_REC_CLOCK || r->type == KPROF_REC_HOST;
	switch (r->type) {
	case KPROF_REC_KERN_TRACE:
	case KPROF_REC_USER_TRACE:
		return take_sample(f, &r->trace);
	case KPROF_REC_LOST:
		return take_loss(f, &r->lost);
	case KPROF_REC_THROTTLE:
		return query_has_time(&f->now, r->throttle.time_ns) && fits_cpu(f, r->throttle.cpu) &&
		       fits_event(f, r->throttle.event);
	case KPROF_REC_EVENT:
		return fits_event(f, r->event.number);
	case KPROF_REC_TASK:
		return fits_cpu(f, r->task.cpu) && is_member(f, r->task.pid);
	case KPROF_REC_PERIOD:
		return fits_cpu(f, r->period.cpu) && fits_event(f, r->period.event);
	case KPROF_REC_MMAP:
	case KPROF_REC_KERNEL_MMAP:
		return is_member(f, r->mmap.pid);
	case KPROF_REC_NEW_PROCESS:
		return is_member(f, r->new_process.pid);
	case KPROF_REC_COMM:
		return is_member(f, r->comm.pid);
	case KPROF_REC_USER:
		return is_member(f, r->user.pid);
	case KPROF_REC_FORK:
	case KPROF_REC_EXIT:
		return is_member(f, r->fork.pid);
	case KPROF_REC_BUILD_ID:
		return is_member(f, r->build_id.pid);
	case KPROF_REC_FILE_ID:
		return is_member(f, r->file_id.pid);
	default:
		return true;
	}
}

/* One thread has the stream: without its lock a record is copied in less time. */
static int copy_record(struct query_filter *f, const struct decode_record *r, size_t size)
{
	const uint8_t *bytes = r->payload + r->size - size;
	const bool begins = r->type == KPROF_REC_AWAY || f->last_type != KPROF_REC_AWAY;

	f->last_type = r->type;
	if (r->type == KPROF_REC_USER_STACK || r->type == KPROF_REC_AWAY) {
		/* both are copied if the sample behind them is */
		if (begins)
			g_byte_array_set_size(f->stack, 0);
		g_byte_array_append(f->stack, bytes, (guint)size);
		return 0;
	}
	if (is_copied(f, r)) {
		if (is_sample(r) && f->stack->len)
			(void)!fwrite_unlocked(f->stack->data, 1, f->stack->len, f->out);
		(void)!fwrite_unlocked(bytes, 1, size, f->out);
	}
	g_byte_array_set_size(f->stack, 0);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Reads all records and goes back. `copies`: malformed bytes are copied too. */
static int pass(struct query_filter *f, struct decoder *decoder,
	int (*take)(struct query_filter *f, const struct decode_record *r), bool copies)
{
	uint64_t taken = 0, count = 0;
	struct decode_record record;
	int ret;

	begin_pass(f);
	while ((ret = decode_next(decoder, &record, NULL)) > 0 || ret == -EBADMSG) {
		const size_t size = (size_t)(decoder->offset - taken);
		int failed = 0;

		taken = decoder->offset;
		if (++count % CANCEL_RECORDS == 0 && cancel_requested(f->cancel))
			return -EINTR;
		if (ret > 0) {
			enter_record(f, &record);
			failed = take ? take(f, &record) : copy_record(f, &record, size);
		} else if (copies) {
			(void)!fwrite_unlocked(record.payload + record.size - size, 1, size, f->out);
		}
		if (failed)
			return failed;
	}
	/* after bytes that are no record nothing can be decoded: copying a part of them is enough */
	if (ret < 0 && copies)
		(void)!fwrite_unlocked(
			decoder->window + decoder->pos, 1, decoder->filled - decoder->pos, f->out);
	return decode_rewind(decoder);
}

static int select_samples(struct query_filter *f, struct decoder *decoder)
{
	int ret = pass(f, decoder, learn_record, false);

	if (f->processes)
		processes_finish(f->processes);
	return ret ? ret : pass(f, decoder, decide, false);
}

static int copy_part(struct query_filter *f, struct decoder *decoder, int fd)
{
	int other = dup(fd), ret;

	f->out = other < 0 ? NULL : fdopen(other, "w");
	if (!f->out) {
		if (other >= 0)
			close(other);
		return -ENOMEM;
	}
	add_ancestors(f);
	ret = pass(f, decoder, NULL, true);
	if (!ret && (fflush(f->out) || ferror(f->out)))
		ret = -ENOSPC;
	fclose(f->out);
	return ret;
}

static int explain(int ret, struct err *err)
{
	return ret == -EINTR ? ret : err_set(err, -ret, "the part of the capture: %s", strerror(-ret));
}

int query_filter_make(struct decoder *decoder, const struct query *query, const struct intervals *spans,
	const struct cancel *cancel, struct query_filter_result *result, struct err *err)
{
	int fd = memfile_create_sealable("part"), ret;
	struct query_filter f;

	if (fd < 0)
		return explain(fd, err);
	init_filter(&f, query, spans, cancel, QUERY_KEYS, NULL);
	ret = select_samples(&f, decoder);
	if (!ret)
		ret = copy_part(&f, decoder, fd);
	*result = (struct query_filter_result){
		.fd = fd, .samples = f.samples, .lost = f.lost, .query = f.now
	};
	fini_filter(&f);
	decode_seal(fd);
	if (!ret && lseek(fd, 0, SEEK_SET) < 0)
		ret = -errno;
	if (!ret)
		return 0;
	close(fd);
	return explain(ret, err);
}

/* ---- values ---------------------------------------------------------------------------------- */

struct query_values {
	struct query query;
	struct query_filter filter;
	bool learned;
};

struct query_values *query_values_create(
	const struct query *query, const struct intervals *spans, enum query_key key)
{
	struct query_values *v = g_new0(struct query_values, 1);

	v->query = *query;
	init_filter(&v->filter, &v->query, spans, NULL, key,
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL));
	begin_pass(&v->filter);
	return v;
}

bool query_values_must_learn(const struct query_values *v)
{
	return v->filter.processes || query_has(&v->query, QUERY_LAST) ||
	       v->query.since_wall || v->query.until_wall;
}

void query_values_learn(struct query_values *v, const struct decode_record *record)
{
	enter_record(&v->filter, record);
	(void)learn_record(&v->filter, record);
}

void query_values_add(struct query_values *v, const struct decode_record *record)
{
	if (!v->learned) {
		v->learned = true;
		if (v->filter.processes)
			processes_finish(v->filter.processes);
		begin_pass(&v->filter);
	}
	enter_record(&v->filter, record);
	(void)decide(&v->filter, record);
}

GHashTable *query_values_finish(struct query_values *v)
{
	GHashTable *values = v->filter.values;

	fini_filter(&v->filter);
	g_free(v);
	return values;
}

/* SPDX-License-Identifier: MIT */
/* The second pass over a capture: see perfdata_stream.h. */
#include "formats/perfdata/perfdata_stream.h"

#include <errno.h>
#include <string.h>

#include "formats/perfdata/perfdata_format.h"

/* Cancellation is checked once for this many records, which take about 0.3 ms. */
#define CANCEL_RECORDS 1024

/*
 * A cache of what samples of one CPU in one process have in common; CPUs may share an entry.
 */
#define LASTS 64
struct perfdata_last {
	uint64_t number; /* of the event */
	uint64_t period;
	uint32_t pid, tid; /* tid as perf has it */
	uint16_t cpu;
	bool known;
};

struct perfdata_writer {
	struct perfdata_survey *survey;
	struct perfdata_out *out;
	struct perfdata_position position;
	struct pair_map tasks;   /* cpu, process -> thread */
	struct pair_map periods; /* cpu, number -> period */
	struct perfdata_last lasts[LASTS];
	uint64_t now;	      /* of the last sample, in the file's time */
	uint32_t mappings;    /* of processes, so far */
	/* the last mapping: the next record may have its build-id */
	struct kprof_rec_mmap last;
	size_t pending; /* bytes of its event, at the buffer's end; 0 if there is none */
};

/* ---- parts ----------------------------------------------------------------------------------- */

static void set_head(struct perfdata_event *head, uint32_t type, uint16_t misc, size_t size)
{
	head->type = type;
	head->misc = misc;
	head->size = (uint16_t)size;
}

static struct perfdata_sample_id make_id(uint32_t pid, uint32_t tid, uint64_t time, uint32_t cpu,
	uint64_t id)
{
	return (struct perfdata_sample_id){
		.pid = pid,
		.tid = tid,
		.time = time,
		.cpu = cpu,
		.id = id,
	};
}

/* Text, padded with zeros to `bytes`. */
static uint8_t *put_text(uint8_t *at, const char *text, size_t bytes)
{
	size_t length = strnlen(text, bytes - 1);

	memcpy(at, text, length);
	memset(at + length, 0, bytes - length);
	return at + bytes;
}

static uint64_t time_of(const struct perfdata_writer *w, uint64_t time_ns)
{
	return perfdata_survey_time(w->survey, w->position.section, time_ns);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void put_comm(struct perfdata_out *out, uint32_t pid, uint32_t tid, const char *name,
	uint64_t time)
{
	size_t text = perfdata_text_bytes(name, PERFDATA_NAME_MAX),
	       bytes = perfdata_name_bytes(name);
	struct perfdata_sample_id id = make_id(pid, tid, time, 0, 0);
	struct perfdata_comm comm = { .pid = pid, .tid = tid };
	uint8_t *at = perfdata_out_take(out, bytes);

	set_head(&comm.head, PERFDATA_RECORD_COMM, PERFDATA_MISC_USER, bytes);
	memcpy(at, &comm, sizeof(comm));
	at = put_text(at + sizeof(comm), name, text);
	memcpy(at, &id, sizeof(id));
}

static void write_comm(struct perfdata_writer *w, const struct decode_record *r)
{
	put_comm(w->out, perfdata_pid(r->comm.pid), perfdata_tid(r->comm.pid, r->comm.tid), r->text,
		perfdata_survey_name(w->survey, w->position.section, &r->comm));
}

static void write_kernel_mapping(struct perfdata_writer *w, const struct decode_record *r)
{
	const char *path = perfdata_kernel_path(r->text);
	size_t text = perfdata_text_bytes(path, PERFDATA_PATH_MAX);
	size_t bytes = sizeof(struct perfdata_mmap) + text + sizeof(struct perfdata_sample_id);
	uint64_t time = time_of(w, r->mmap.time_ns);
	struct perfdata_sample_id id = make_id(UINT32_MAX, 0, time, 0, 0);
	struct perfdata_mmap mmap = {
		.pid = UINT32_MAX,
		.addr = r->mmap.addr,
		.length = r->mmap.size,
		/* for the kernel itself: the address of the symbol at the end of its path */
		.offset = path == r->text ? 0 : r->mmap.addr,
	};
	uint8_t *at = perfdata_out_take(w->out, bytes);

	set_head(&mmap.head, PERFDATA_RECORD_MMAP, PERFDATA_MISC_KERNEL, bytes);
	memcpy(at, &mmap, sizeof(mmap));
	at = put_text(at + sizeof(mmap), path, text);
	memcpy(at, &id, sizeof(id));
}

static void write_mapping(struct perfdata_writer *w, const struct decode_record *r)
{
	uint32_t section = w->position.section;
	uint64_t time = perfdata_early_has(&w->survey->early, w->mappings++)
		? perfdata_survey_early(w->survey, section) : time_of(w, r->mmap.time_ns);
	uint32_t pid = perfdata_pid(r->mmap.pid);
	struct perfdata_sample_id id = make_id(pid, pid, time, 0, 0);
	size_t text = perfdata_text_bytes(r->text, PERFDATA_PATH_MAX);
	size_t bytes = sizeof(struct perfdata_mmap2) + text + sizeof(id);
	struct perfdata_mmap2 mmap2 = {
		.mmap = {
			.pid = pid,
			.tid = pid,
			.addr = r->mmap.addr,
			.length = r->mmap.size,
			.offset = r->mmap.offset,
		},
		.prot = PERFDATA_PROT_READ | PERFDATA_PROT_EXEC,
		.flags = PERFDATA_MAP_PRIVATE,
	};
	uint8_t *at = perfdata_out_take(w->out, bytes);

	set_head(&mmap2.mmap.head, PERFDATA_RECORD_MMAP2, PERFDATA_MISC_USER, bytes);
	memcpy(at, &mmap2, sizeof(mmap2));
	at = put_text(at + sizeof(mmap2), r->text, text);
	memcpy(at, &id, sizeof(id));
	w->last = r->mmap;
	w->pending = bytes;
}

/* Writes the build-id into the event of its mapping, which is still in the buffer. */
static void write_build_id(struct perfdata_writer *w, size_t pending, const struct decode_record *r)
{
	struct perfdata_mmap2 mmap2;
	uint8_t *at = w->out->buffer + w->out->used - pending;

	if (!pending || r->build_id.pid != w->last.pid || r->build_id.addr != w->last.addr ||
		!r->build_id.length)
		return;
	memcpy(&mmap2, at, sizeof(mmap2));
	mmap2.mmap.head.misc |= PERFDATA_MISC_MMAP_BUILD_ID;
	mmap2.build_id_length = r->build_id.length;
	memcpy(mmap2.build_id, r->bytes, r->build_id.length);
	memcpy(at, &mmap2, sizeof(mmap2));
}

static void write_fork(struct perfdata_writer *w, const struct decode_record *r)
{
	bool fork = r->type == KPROF_REC_FORK;
	struct perfdata_fork event = {
		.pid = perfdata_pid(r->fork.pid),
		.parent_pid = perfdata_pid(r->fork.parent_pid),
		.tid = perfdata_pid(r->fork.tid),
		.parent_tid = perfdata_pid(r->fork.parent_tid),
		.time = time_of(w, r->fork.time_ns),
	};

	set_head(&event.head, fork ? PERFDATA_RECORD_FORK : PERFDATA_RECORD_EXIT,
		PERFDATA_MISC_USER, sizeof(event));
	event.sample_id = make_id(fork ? event.parent_pid : event.pid,
		fork ? event.parent_tid : event.tid, event.time, 0, 0);
	perfdata_out_add(w->out, &event, sizeof(event));
}

/* ---- losses ---------------------------------------------------------------------------------- */

static uint64_t id_of(struct perfdata_writer *w, uint64_t number)
{
	return perfdata_stream_id(perfdata_sources_find(&w->survey->sources, &w->position, number));
}

static void write_lost(struct perfdata_writer *w, const struct decode_record *r)
{
	uint64_t id = id_of(w, r->lost.event);
	struct perfdata_lost lost = { .id = id, .lost = r->lost.count };
	struct perfdata_lost_samples samples = { .lost = r->lost.count };

	/* a LOST record has no time: its position in the stream counts */
	lost.sample_id = samples.sample_id = make_id(0, 0, w->now, r->lost.cpu, id);
	set_head(&lost.head, PERFDATA_RECORD_LOST, 0, sizeof(lost));
	set_head(&samples.head, PERFDATA_RECORD_LOST_SAMPLES, 0, sizeof(samples));
	if (r->lost.reason == KPROF_LOST_RING_RECORDS)
		perfdata_out_add(w->out, &lost, sizeof(lost));
	else
		perfdata_out_add(w->out, &samples, sizeof(samples));
}

static void write_throttle(struct perfdata_writer *w, const struct decode_record *r)
{
	uint64_t id = id_of(w, r->throttle.event), time = time_of(w, r->throttle.time_ns);
	struct perfdata_throttle event = {
		.time = time,
		.id = id,
		.stream_id = id,
		.sample_id = make_id(0, 0, time, r->throttle.cpu, id),
	};

	set_head(&event.head,
		r->throttle.throttled ? PERFDATA_RECORD_THROTTLE : PERFDATA_RECORD_UNTHROTTLE, 0,
		sizeof(event));
	perfdata_out_add(w->out, &event, sizeof(event));
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The instruction pointer: the first word that is a frame. */
static uint64_t find_ip(const struct decode_record *r, bool *user)
{
	uint64_t ip = r->trace.num_traces ? decode_frame(r, 0) : 0;

	*user = r->type == KPROF_REC_USER_TRACE;
	if (ip == KPROF_CONTEXT_USER) {
		*user = true;
		ip = r->trace.num_traces > 1 ? decode_frame(r, 1) : 0;
	}
	return ip < PERFDATA_CONTEXT_FIRST ? ip : 0;
}

static void put_chain(uint64_t *to, const struct decode_record *r, uint32_t words)
{
	uint32_t i = 0;
	uint16_t frame;

	if (words && decode_frame(r, 0) != KPROF_CONTEXT_USER)
		to[i++] = r->type == KPROF_REC_USER_TRACE ? PERFDATA_CONTEXT_USER
							  : PERFDATA_CONTEXT_KERNEL;
	for (frame = 0; i < words; i++, frame++) {
		to[i] = decode_frame(r, frame);
		/* perf drops a whole chain because of a context marker that it does not know */
		if (to[i] >= PERFDATA_CONTEXT_FIRST && to[i] != KPROF_CONTEXT_USER)
			to[i] = 0;
	}
}

/*
 * The period of a sample: the last PERIOD record, else the period that the event was opened with.
 */
static uint64_t find_period(const struct perfdata_writer *w, const struct kprof_rec_trace *trace,
	uint32_t source)
{
	const struct perfdata_source *s =
		&g_array_index(w->survey->sources.all, struct perfdata_source, source);
	const uint64_t *period = pair_map_find(&w->periods, trace->cpu, trace->info);

	if (period)
		return *period;
	return s->flags & KPROF_EVENT_FREQ || !s->rate ? 1 : s->rate;
}

/* Most samples are of the same process and event as the one before on their CPU. */
static const struct perfdata_last *find_last(
	struct perfdata_writer *w, const struct kprof_rec_trace *trace, uint32_t source)
{
	struct perfdata_last *last = &w->lasts[trace->cpu % LASTS];
	const uint64_t *tid;

	if (last->known && last->pid == trace->pid && last->cpu == trace->cpu &&
		last->number == trace->info)
		return last;
	tid = pair_map_find(&w->tasks, trace->cpu, trace->pid);
	*last = (struct perfdata_last){
		.number = trace->info,
		.period = find_period(w, trace, source),
		.pid = trace->pid,
		.tid = tid ? perfdata_tid(trace->pid, (uint32_t)*tid) : perfdata_pid(trace->pid),
		.cpu = trace->cpu,
		.known = true,
	};
	return last;
}

static void forget_last(struct perfdata_writer *w, uint32_t cpu)
{
	w->lasts[cpu % LASTS].known = false;
}

static void write_sample(struct perfdata_writer *w, const struct decode_record *r)
{
	uint32_t words = w->survey->stacks ? perfdata_words(r) : 0;
	size_t bytes = sizeof(struct perfdata_sample) +
		(w->survey->stacks ? sizeof(uint64_t) * (1 + (size_t)words) : 0);
	uint32_t source = perfdata_sources_find(&w->survey->sources, &w->position, r->trace.info);
	const struct perfdata_last *last = find_last(w, &r->trace, source);
	uint64_t *at;
	bool user;
	struct perfdata_sample sample = {
		.id = perfdata_stream_id(source),
		.ip = find_ip(r, &user),
		.pid = perfdata_pid(r->trace.pid),
		.tid = last->tid,
		.time = time_of(w, r->trace.time_ns),
		.cpu = r->trace.cpu,
		.period = last->period,
	};

	w->now = sample.time;
	set_head(&sample.head, PERFDATA_RECORD_SAMPLE,
		user ? PERFDATA_MISC_USER : PERFDATA_MISC_KERNEL, bytes);
	at = perfdata_out_take(w->out, bytes); /* all events are multiples of 8: it is aligned */
	memcpy(at, &sample, sizeof(sample));
	if (!w->survey->stacks)
		return;
	at += sizeof(sample) / sizeof(*at);
	*at = words;
	put_chain(at + 1, r, words);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void write_record(struct perfdata_writer *w, const struct decode_record *r)
{
	size_t pending = w->pending;

	w->pending = 0;
	switch (r->type) {
	case KPROF_REC_KERN_TRACE:
	case KPROF_REC_USER_TRACE:
		write_sample(w, r);
		break;
	case KPROF_REC_EVENT:
		perfdata_sources_describe(&w->survey->sources, &w->position, r);
		memset(w->lasts, 0, sizeof(w->lasts)); /* it may have another rate */
		break;
	case KPROF_REC_TASK:
		forget_last(w, r->task.cpu);
		pair_map_set(&w->tasks, r->task.cpu, r->task.pid, r->task.tid);
		break;
	case KPROF_REC_PERIOD:
		forget_last(w, r->period.cpu);
		pair_map_set(&w->periods, r->period.cpu, r->period.event, r->period.period);
		break;
	case KPROF_REC_MMAP:
	case KPROF_REC_KERNEL_MMAP:
		if (r->mmap.pid == KPROF_PID_KERNEL)
			write_kernel_mapping(w, r);
		else
			write_mapping(w, r);
		break;
	case KPROF_REC_BUILD_ID:
		write_build_id(w, pending, r);
		break;
	case KPROF_REC_COMM:
		write_comm(w, r);
		break;
	case KPROF_REC_FORK:
	case KPROF_REC_EXIT:
		write_fork(w, r);
		break;
	case KPROF_REC_LOST:
		write_lost(w, r);
		break;
	case KPROF_REC_THROTTLE:
		write_throttle(w, r);
		break;
	default:
		break;
	}
}

static void end_chunk(struct perfdata_writer *w, uint32_t chunk)
{
	struct perfdata_event round;

	if (!g_array_index(w->survey->chunks, struct perfdata_chunk, chunk).round)
		return;
	set_head(&round, PERFDATA_RECORD_FINISHED_ROUND, 0, sizeof(round));
	perfdata_out_add(w->out, &round, sizeof(round));
	w->pending = 0;
}

static void begin_section(struct perfdata_writer *w)
{
	pair_map_clear(&w->tasks);
	pair_map_clear(&w->periods);
	memset(w->lasts, 0, sizeof(w->lasts));
	w->now = perfdata_survey_early(w->survey, w->position.section);
}

static int changed(struct err *err)
{
	return err_set(err, EIO, "the capture changed while it was read");
}

static int write_records(struct perfdata_writer *w, const struct view_input *input,
	struct decoder *decoder, struct err *err)
{
	const struct perfdata_survey *survey = w->survey;
	struct decode_record record;
	uint64_t count = 0;
	uint32_t ended;
	int ret;

	while (decoder->offset < survey->end) {
		ret = decode_next(decoder, &record, err);
		if (++count % CANCEL_RECORDS == 0 && view_cancelled(input))
			return err_set(err, EINTR, "the view was cancelled");
		if (ret == -EBADMSG)
			continue;
		if (ret <= 0)
			return ret == -EPROTO || ret == -ENODATA || !ret ? changed(err) : ret;
		if (perfdata_position_enter(&w->position, &record, &ended)) {
			if (w->position.section >= survey->sections->len)
				return changed(err);
			begin_section(w);
		}
		if (w->position.chunk >= survey->chunks->len)
			return changed(err);
		if (ended != UINT32_MAX)
			end_chunk(w, ended);
		write_record(w, &record);
	}
	end_chunk(w, w->position.chunk);
	return 0;
}

static void name_threads(const struct perfdata_survey *survey, struct perfdata_out *out)
{
	uint32_t i;

	for (i = 0; i < survey->threads->len; i++) {
		const struct perfdata_thread *t =
			&g_array_index(survey->threads, struct perfdata_thread, i);

		put_comm(out, t->pid, t->tid, t->name, t->time_ns);
	}
}

uint64_t perfdata_stream_bytes(const struct perfdata_survey *survey)
{
	uint64_t bytes = survey->bytes + survey->samples * sizeof(struct perfdata_sample);

	if (survey->stacks)
		bytes += sizeof(uint64_t) * (survey->samples + survey->words);
	return bytes;
}

int perfdata_stream_write(struct perfdata_survey *survey, const struct view_input *input,
	struct perfdata_out *out, struct err *err)
{
	uint64_t end = out->written + perfdata_stream_bytes(survey);
	struct perfdata_writer w = { .survey = survey, .out = out };
	struct decoder decoder;
	int ret;

	name_threads(survey, out);
	perfdata_position_init(&w.position);
	pair_map_init(&w.tasks);
	pair_map_init(&w.periods);
	begin_section(&w);
	decode_init_pread(&decoder, input->capture_fd, 0);
	ret = write_records(&w, input, &decoder, err);
	decode_fini(&decoder);
	pair_map_fini(&w.tasks);
	pair_map_fini(&w.periods);
	perfdata_position_fini(&w.position);
	if (!ret && out->written != end)
		return changed(err);
	return ret;
}

/* SPDX-License-Identifier: MIT */
/* The first pass over a capture: see perfdata_survey.h. */
#include "formats/perfdata/perfdata_survey.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "formats/perfdata/perfdata_format.h"

/* Cancellation is checked once for this many records, which take about 0.1 ms. */
#define CANCEL_RECORDS 1024

/* The size is checked once for this many records. */
#define SIZE_RECORDS 4096

/* Memory of a pair with its two slots of the table. */
#define PAIR_BYTES (sizeof(struct pair_map_entry) + 2 * sizeof(struct table_slot))

static uint64_t process_key(uint32_t section, uint32_t pid)
{
	return (uint64_t)section << 32 | pid;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

size_t perfdata_text_bytes(const char *text, size_t max)
{
	return (strnlen(text, max) + 1 + 7) & ~(size_t)7;
}

size_t perfdata_name_bytes(const char *name)
{
	return sizeof(struct perfdata_comm) + perfdata_text_bytes(name, PERFDATA_NAME_MAX) +
		sizeof(struct perfdata_sample_id);
}

uint32_t perfdata_words(const struct decode_record *r)
{
	uint32_t words = r->trace.num_traces;

	/* a context marker comes first, unless there is one already */
	if (words && decode_frame(r, 0) != KPROF_CONTEXT_USER)
		words++;
	return MIN(words, PERFDATA_WORDS_MAX);
}

const char *perfdata_kernel_path(const char *path)
{
	/* the mapping begins at this symbol, from which perf computes the kernel's relocation */
	return strcmp(path, KPROF_PATH_KERNEL) ? path : KPROF_PATH_KERNEL "_stext";
}

static size_t mapping_bytes(const struct decode_record *r)
{
	if (r->mmap.pid == KPROF_PID_KERNEL)
		return sizeof(struct perfdata_mmap) + sizeof(struct perfdata_sample_id) +
			perfdata_text_bytes(perfdata_kernel_path(r->text), PERFDATA_PATH_MAX);
	return sizeof(struct perfdata_mmap2) + sizeof(struct perfdata_sample_id) +
		perfdata_text_bytes(r->text, PERFDATA_PATH_MAX);
}

/* ---- times ----------------------------------------------------------------------------------- */

static struct perfdata_section_times *section_at(const struct perfdata_survey *survey, uint32_t i)
{
	return &g_array_index(survey->sections, struct perfdata_section_times, i);
}

uint64_t perfdata_survey_time(const struct perfdata_survey *survey, uint32_t section,
	uint64_t time_ns)
{
	const struct perfdata_section_times *times = section_at(survey, section);
	uint64_t time;

	if (section == 0)
		return time_ns;
	if (time_ns < times->first_ns)
		return times->base_ns;
	if (__builtin_add_overflow(time_ns - times->first_ns, times->base_ns + 1, &time))
		return UINT64_MAX - 1;
	return time;
}

uint64_t perfdata_survey_early(const struct perfdata_survey *survey, uint32_t section)
{
	const struct perfdata_section_times *times = section_at(survey, section);

	if (section || times->first_ns == UINT64_MAX)
		return times->base_ns;
	return times->first_ns ? times->first_ns - 1 : 0;
}

static void begin_section(struct perfdata_survey *survey)
{
	struct perfdata_section_times times = { .first_ns = UINT64_MAX };

	perfdata_threads_begin_section(&survey->sampled);
	g_array_append_val(survey->sections, times);
}

static void begin_chunk(struct perfdata_survey *survey, uint32_t section)
{
	struct perfdata_chunk chunk = { .section = section, .oldest_ns = UINT64_MAX };

	g_array_append_val(survey->chunks, chunk);
}

/* Enters a time of the capture into the last chunk and section. */
static void note_time(struct perfdata_survey *survey, uint64_t time_ns)
{
	struct perfdata_chunk *chunk =
		&g_array_index(survey->chunks, struct perfdata_chunk, survey->chunks->len - 1);
	struct perfdata_section_times *times = section_at(survey, survey->sections->len - 1);

	/* perf handles events with time 0 at once: they wait for no round */
	if (time_ns)
		chunk->oldest_ns = MIN(chunk->oldest_ns, time_ns);
	chunk->newest_ns = MAX(chunk->newest_ns, time_ns);
	times->newest_ns = MAX(times->newest_ns, time_ns);
}

/* Enters the time of an event that may be moved before all others of its section. */
static void note_early(struct perfdata_survey *survey, uint64_t time_ns)
{
	note_time(survey, time_ns);
	note_time(survey, 1);
}

/* Moves the sections in time: each begins when the one before has ended. */
static void place_sections(struct perfdata_survey *survey)
{
	uint64_t end = 0;
	uint32_t i;

	for (i = 0; i < survey->sections->len; i++) {
		struct perfdata_section_times *times = section_at(survey, i);

		times->base_ns = MIN(end, UINT64_MAX - 3) + 1;
		if (i == 0)
			times->base_ns = 0;
		end = MAX(end, perfdata_survey_time(survey, i, times->newest_ns));
	}
}

/*
 * The first loop, from the end, finds the oldest time after each chunk. The second loop, from the
 * beginning, ends a round where that is not older than the newest time at the end of the last
 * round.
 */
static void place_rounds(struct perfdata_survey *survey)
{
	struct perfdata_chunk *chunks = (struct perfdata_chunk *)survey->chunks->data;
	uint32_t count = survey->chunks->len, i;
	g_autofree uint64_t *following = g_new(uint64_t, count + 1);
	uint64_t newest = 0, promised = 0;

	for (i = 0; i < survey->threads->len; i++)
		newest = MAX(newest,
			g_array_index(survey->threads, struct perfdata_thread, i).time_ns);
	following[count] = UINT64_MAX;
	for (i = count; i-- > 0;) {
		uint64_t oldest = perfdata_survey_time(survey, chunks[i].section,
			chunks[i].oldest_ns);

		following[i] = MIN(following[i + 1], oldest);
	}
	for (i = 0; i < count; i++) {
		newest = MAX(newest, perfdata_survey_time(survey, chunks[i].section,
			chunks[i].newest_ns));
		if (following[i + 1] < promised)
			continue;
		chunks[i].round = true;
		promised = newest;
		survey->bytes += sizeof(struct perfdata_event);
	}
}

/* ---- names ----------------------------------------------------------------------------------- */

static uint64_t find_birth(const struct perfdata_survey *survey, uint32_t section,
	uint32_t pid)
{
	const uint64_t *forked = pair_map_find(&survey->forked, process_key(section, pid), pid);

	/*
	 * not before the fork: it makes a new process, and threads seen earlier are of another one
	 */
	if (forked && *forked < UINT64_MAX)
		return perfdata_survey_time(survey, section, *forked + 1);
	return perfdata_survey_early(survey, section);
}

uint64_t perfdata_survey_name(const struct perfdata_survey *survey, uint32_t section,
	const struct kprof_rec_comm *comm)
{
	uint64_t process = process_key(section, comm->pid);
	const uint64_t *first = pair_map_find(&survey->called, process, comm->tid);

	if (first && *first == comm->time_ns && !pair_map_find(&survey->forked, process, comm->tid))
		return find_birth(survey, section, comm->pid);
	return perfdata_survey_time(survey, section, comm->time_ns);
}

/* If there are several captures, the name and the fork are looked up in the first one. */
static void name_thread(struct perfdata_survey *survey, const struct perfdata_threads_first *first)
{
	uint32_t life = processes_find_life(survey->processes, first->section, first->pid,
		first->time_ns);
	struct perfdata_thread thread = {
		.pid = perfdata_pid(first->pid),
		.tid = perfdata_tid(first->pid, first->tid),
		.name = processes_find_name(survey->processes, life, first->time_ns),
		.time_ns = find_birth(survey, 0, first->pid),
	};

	survey->bytes += perfdata_name_bytes(thread.name);
	g_array_append_val(survey->threads, thread);
}

static void name_threads(struct perfdata_survey *survey)
{
	const struct perfdata_threads *sampled = &survey->sampled;
	struct pair_map done; /* two threads of a capture may have one pid and tid in the file */
	uint32_t i;

	pair_map_init(&done);
	for (i = 0; i < sampled->firsts->len; i++) {
		const struct perfdata_threads_first *first =
			&g_array_index(sampled->firsts, struct perfdata_threads_first, i);
		uint32_t tid = perfdata_tid(first->pid, first->tid);

		/* perf itself names the idle task */
		if (first->pid == KPROF_PID_KERNEL ||
			pair_map_find(&survey->named, first->pid, tid) ||
			pair_map_find(&done, first->pid, tid))
			continue;
		pair_map_set(&done, first->pid, tid, 1);
		name_thread(survey, first);
	}
	pair_map_fini(&done);
}

/* ---- the records ----------------------------------------------------------------------------- */

static void take_clock(struct perfdata_survey *survey, const struct decode_record *r)
{
	/* only if there is one capture: further ones are moved in time */
	survey->clocked = survey->sections->len == 1 && strcmp(r->text, "CLOCK_MONOTONIC") == 0;
	survey->clock_ns = r->clock.time_ns;
	survey->wall_ns = r->clock.wall_ns;
}

static void take_mapping(struct perfdata_survey *survey, uint32_t section,
	const struct decode_record *r)
{
	uint64_t process = process_key(section, r->mmap.pid);

	survey->bytes += mapping_bytes(r);
	perfdata_files_take_mapping(&survey->files, &r->mmap, r->text);
	if (r->mmap.pid == KPROF_PID_KERNEL) {
		note_time(survey, r->mmap.time_ns);
		return;
	}
	if (pair_map_find(&survey->forked, process, r->mmap.pid)) {
		perfdata_early_pass(&survey->early);
		note_time(survey, r->mmap.time_ns);
	} else {
		perfdata_early_add(&survey->early, process, &r->mmap);
		note_early(survey, r->mmap.time_ns);
	}
}

static void take_name(struct perfdata_survey *survey, uint32_t section,
	const struct decode_record *r)
{
	uint64_t process = process_key(section, r->comm.pid);
	const uint64_t *first = pair_map_find(&survey->called, process, r->comm.tid);

	survey->bytes += perfdata_name_bytes(r->text);
	pair_map_set(&survey->named, r->comm.pid, r->comm.tid, 1);
	if (!first || *first > r->comm.time_ns)
		pair_map_set(&survey->called, process, r->comm.tid, r->comm.time_ns);
	if (pair_map_find(&survey->forked, process, r->comm.tid))
		note_time(survey, r->comm.time_ns);
	else
		note_early(survey, r->comm.time_ns);
}

static void take_fork(struct perfdata_survey *survey, uint32_t section,
	const struct decode_record *r)
{
	uint64_t process = process_key(section, r->fork.pid);
	const uint64_t *first = pair_map_find(&survey->forked, process, r->fork.tid);

	survey->bytes += sizeof(struct perfdata_fork);
	note_time(survey, r->fork.time_ns);
	if (r->type == KPROF_REC_EXIT)
		return;
	pair_map_set(&survey->named, r->fork.pid, r->fork.tid, 1);
	if (!first || *first > r->fork.time_ns)
		pair_map_set(&survey->forked, process, r->fork.tid, r->fork.time_ns);
}

static void take_sample(struct perfdata_survey *survey, struct perfdata_position *position,
	const struct decode_record *r)
{
	struct perfdata_section_times *times = section_at(survey, position->section);

	perfdata_sources_find(&survey->sources, position, r->trace.info);
	perfdata_threads_take_sample(&survey->sampled, position->section, &r->trace);
	times->first_ns = MIN(times->first_ns, r->trace.time_ns);
	times->last_ns = MAX(times->last_ns, r->trace.time_ns);
	note_time(survey, r->trace.time_ns);
	survey->samples++;
	survey->words += perfdata_words(r);
	survey->stacks |= r->trace.num_traces > 1;
}

static void take_record(struct perfdata_survey *survey, struct perfdata_position *position,
	const struct decode_record *r)
{
	switch (r->type) {
	case KPROF_REC_KERN_TRACE:
	case KPROF_REC_USER_TRACE:
		take_sample(survey, position, r);
		break;
	case KPROF_REC_CLOCK:
		take_clock(survey, r);
		break;
	case KPROF_REC_EVENT:
		perfdata_sources_describe(&survey->sources, position, r);
		break;
	case KPROF_REC_TASK:
		perfdata_threads_take_task(&survey->sampled, &r->task);
		break;
	case KPROF_REC_MMAP:
	case KPROF_REC_KERNEL_MMAP:
		take_mapping(survey, position->section, r);
		break;
	case KPROF_REC_BUILD_ID:
		perfdata_files_take_build_id(&survey->files, &r->build_id, r->bytes);
		break;
	case KPROF_REC_COMM:
		take_name(survey, position->section, r);
		break;
	case KPROF_REC_FORK:
	case KPROF_REC_EXIT:
		take_fork(survey, position->section, r);
		break;
	case KPROF_REC_LOST:
		perfdata_sources_find(&survey->sources, position, r->lost.event);
		survey->bytes += r->lost.reason == KPROF_LOST_RING_RECORDS
			? sizeof(struct perfdata_lost) : sizeof(struct perfdata_lost_samples);
		break;
	case KPROF_REC_THROTTLE:
		perfdata_sources_find(&survey->sources, position, r->throttle.event);
		survey->bytes += sizeof(struct perfdata_throttle);
		note_time(survey, r->throttle.time_ns);
		break;
	default:
		break;
	}
}

static bool is_too_large(const struct perfdata_survey *survey, const struct view_input *input)
{
	size_t bytes =
		processes_bytes(survey->processes) + perfdata_early_bytes(&survey->early) +
		perfdata_files_bytes(&survey->files) +
		survey->sections->len * sizeof(struct perfdata_section_times) +
		survey->chunks->len * sizeof(struct perfdata_chunk) +
		survey->sampled.firsts->len * (sizeof(struct perfdata_threads_first) +
						      sizeof(struct perfdata_thread) + PAIR_BYTES) +
		PAIR_BYTES *
			((size_t)pair_map_count(&survey->named) + pair_map_count(&survey->forked) +
				pair_map_count(&survey->called));

	return input->bytes_max && bytes > input->bytes_max;
}

static int refuse_size(const struct view_input *input, struct err *err)
{
	return err_set(err, EFBIG,
		"the processes of the capture need more than %zu MiB: record for a shorter time",
		(size_t)(input->bytes_max / MIB));
}

static int read_records(struct perfdata_survey *survey, const struct view_input *input,
	struct decoder *decoder, struct err *err)
{
	struct perfdata_position position;
	struct decode_record record;
	uint64_t count = 0;
	uint32_t ended;
	int ret;

	perfdata_position_init(&position);
	begin_section(survey);
	begin_chunk(survey, 0);
	while ((ret = decode_next(decoder, &record, err)) > 0 || ret == -EBADMSG) {
		if (++count % CANCEL_RECORDS == 0 && view_cancelled(input)) {
			ret = err_set(err, EINTR, "the view was cancelled");
			break;
		}
		if (ret < 0)
			continue;
		if (perfdata_position_enter(&position, &record, &ended))
			begin_section(survey);
		if (count % SIZE_RECORDS == 0 && is_too_large(survey, input)) {
			ret = refuse_size(input, err);
			break;
		}
		if (ended != UINT32_MAX)
			begin_chunk(survey, position.section);
		take_record(survey, &position, &record);
		/* only the names of processes are needed, and mappings would be most of the work */
		if (record.type != KPROF_REC_MMAP && record.type != KPROF_REC_KERNEL_MMAP &&
			record.type != KPROF_REC_BUILD_ID)
			profile_learn(survey->processes, position.section, &record);
	}
	survey->end = decoder->offset;
	perfdata_position_fini(&position);
	if ((ret == 0 || ret == -EPROTO || ret == -ENODATA) && is_too_large(survey, input))
		ret = refuse_size(input, err);
	/* the view has what is readable; damage is reported elsewhere */
	return ret == -EPROTO || ret == -ENODATA ? 0 : ret;
}

int perfdata_survey_make(struct perfdata_survey *survey, const struct view_input *input,
	struct err *err)
{
	struct decoder decoder;
	int ret;

	memset(survey, 0, sizeof(*survey));
	perfdata_sources_init(&survey->sources);
	survey->sections = g_array_new(FALSE, FALSE, sizeof(struct perfdata_section_times));
	survey->chunks = g_array_new(FALSE, FALSE, sizeof(struct perfdata_chunk));
	survey->threads = g_array_new(FALSE, FALSE, sizeof(struct perfdata_thread));
	perfdata_early_init(&survey->early);
	perfdata_files_init(&survey->files);
	survey->processes = processes_create();
	perfdata_threads_init(&survey->sampled);
	pair_map_init(&survey->named);
	pair_map_init(&survey->forked);
	pair_map_init(&survey->called);
	decode_init_pread(&decoder, input->capture_fd, 0);
	ret = read_records(survey, input, &decoder, err);
	decode_fini(&decoder);
	if (ret)
		return ret;
	if (survey->sources.all->len > PERFDATA_EVENTS_MAX)
		return err_set(err, EFBIG,
			"the capture has more than %u events, the limit of perf.data",
			PERFDATA_EVENTS_MAX);
	processes_finish(survey->processes);
	perfdata_early_find(&survey->early, &survey->forked);
	place_sections(survey);
	name_threads(survey);
	place_rounds(survey);
	return 0;
}

void perfdata_survey_fini(struct perfdata_survey *survey)
{
	perfdata_sources_fini(&survey->sources);
	g_array_free(survey->sections, TRUE);
	g_array_free(survey->chunks, TRUE);
	g_array_free(survey->threads, TRUE);
	perfdata_early_fini(&survey->early);
	perfdata_files_fini(&survey->files);
	processes_destroy(survey->processes);
	perfdata_threads_fini(&survey->sampled);
	pair_map_fini(&survey->named);
	pair_map_fini(&survey->forked);
	pair_map_fini(&survey->called);
}

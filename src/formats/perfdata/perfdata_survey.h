/* SPDX-License-Identifier: MIT */
/*
 * A survey of a whole capture, which is needed before the first byte of its perf.data file can be
 * written: its events, the size of the data, and its times. It is made by one pass over the
 * records. For perfdata.c and perfdata_stream.c only. One thread at a time.
 *
 * Times: kpdata is not sorted over CPUs. perf sorts what it reads, and holds it in memory until an
 * event FINISHED_ROUND. That event guarantees that nothing after it is older than the newest event
 * before the previous FINISHED_ROUND. The survey divides the records into chunks and finds the
 * chunks after which this is true.
 *
 * Concatenated captures (sections: see processes.h) are moved in time so that each begins when the
 * one before has ended.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_SURVEY_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_SURVEY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/decode.h"
#include "capture/pair_map.h"
#include "capture/processes.h"
#include "formats/perfdata/perfdata_early.h"
#include "formats/perfdata/perfdata_files.h"
#include "formats/perfdata/perfdata_sources.h"
#include "formats/perfdata/perfdata_threads.h"
#include "formats/view_input.h"

struct perfdata_section_times {
	uint64_t first_ns;  /* of its samples, in the capture's time; UINT64_MAX: none */
	uint64_t last_ns;   /* of its samples */
	uint64_t newest_ns; /* of all its records */
	uint64_t base_ns;   /* in the file's time: before its samples, after the previous section */
};

struct perfdata_chunk {
	uint32_t section;
	bool round; /* FINISHED_ROUND follows it */
	uint64_t oldest_ns, newest_ns; /* in the capture's time */
};

/* A thread without COMM and FORK records: it gets the name of its process. */
struct perfdata_thread {
	uint32_t pid, tid; /* as in the file */
	const char *name;  /* owned by the survey */
	uint64_t time_ns;  /* in the file's time */
};

struct perfdata_survey {
	struct perfdata_sources sources; /* the events */
	GArray *sections; /* struct perfdata_section_times */
	GArray *chunks;	  /* struct perfdata_chunk */
	GArray *threads;  /* struct perfdata_thread: named before all other events */
	struct perfdata_early early;
	struct perfdata_files files;
	uint64_t end;	  /* offset at which the pass stopped, where the second one stops too */
	uint64_t bytes;	  /* of all events but samples */
	uint64_t samples;
	uint64_t words;	 /* of their callchains */
	bool stacks;	 /* there are samples with more than one frame */
	bool clocked;	 /* the two times below are known */
	uint64_t clock_ns, wall_ns; /* one moment, on CLOCK_MONOTONIC and the wall clock */

	/* private to the survey */
	struct perfdata_threads sampled;
	struct pair_map named;       /* pid, tid: a COMM or FORK gives it a name */
	struct pair_map forked;      /* section and pid, tid: time of the first FORK */
	struct pair_map called;      /* section and pid, tid: time of the first COMM */
	struct processes *processes; /* for names */
};

/*
 * Reads the whole capture. Returns -EINTR if it was cancelled, -EFBIG if there are more events than
 * PERFDATA_EVENTS_MAX or the survey needs more than bytes_max of the input, or an error of reading.
 */
int perfdata_survey_make(struct perfdata_survey *survey, const struct view_input *input,
	struct err *err);
void perfdata_survey_fini(struct perfdata_survey *survey);

/* Converts a time of the capture to the file's time. */
uint64_t perfdata_survey_time(const struct perfdata_survey *survey, uint32_t section,
	uint64_t time_ns);

/* The file's time before the first sample of a section. */
uint64_t perfdata_survey_early(const struct perfdata_survey *survey, uint32_t section);

/*
 * The file's time from which a name is valid. The first name of a thread without a FORK is valid
 * from the same time as its process.
 */
uint64_t perfdata_survey_name(const struct perfdata_survey *survey, uint32_t section,
	const struct kprof_rec_comm *comm);

/* ---- numbers --------------------------------------------------------------------------------- */

/* perf's pids: the idle task is 0, a task that had exited is -1. */
static inline uint32_t perfdata_pid(uint32_t pid)
{
	if (pid == KPROF_PID_KERNEL)
		return 0;
	return pid == KPROF_PID_GONE ? UINT32_MAX : pid;
}

/*
 * perf identifies threads by their tid alone. A thread outside of the pid namespace in which the
 * capture was taken has tid 0, which would be the idle task.
 */
static inline uint32_t perfdata_tid(uint32_t pid, uint32_t tid)
{
	if (pid == KPROF_PID_KERNEL || pid == KPROF_PID_GONE || !tid)
		return perfdata_pid(pid);
	return tid;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Bytes of a string in an event: with its NUL, padded, cut to `max`. */
#define PERFDATA_NAME_MAX 255
size_t perfdata_text_bytes(const char *text, size_t max);
size_t perfdata_name_bytes(const char *name); /* of a whole COMM event */

/*
 * The most words of a callchain: the size of an event has 16 bits. Longer stacks (by default Linux
 * takes at most 127 frames) lose their outermost frames.
 */
#define PERFDATA_WORDS_MAX 8183u

/* The words of a sample's callchain, with context markers. */
uint32_t perfdata_words(const struct decode_record *record);

/* The path of a kernel's mapping as perf writes it. */
const char *perfdata_kernel_path(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What has to be known of a whole capture before the first byte of a perf.data file of it can be
 * written: its events, how long the data will be, and where times stand. Made by one pass over the
 * records; for perfdata.c and perfdata_stream.c only. One thread at a time.
 *
 * Times. kpdata is not sorted over CPUs. perf sorts what it reads, and holds all of it until an
 * event FINISHED_ROUND promises something: nothing that follows is older than the newest event
 * before the FINISHED_ROUND before this one. The survey cuts the records into chunks and finds
 * behind which of them the promise holds.
 *
 * Captures put one behind another (sections: see processes.h) are moved in time so that each begins
 * when the former has ended.
 */
#ifndef KPROFS_FORMATS_PERFDATA_PERFDATA_SURVEY_H
#define KPROFS_FORMATS_PERFDATA_PERFDATA_SURVEY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/decode.h"
#include "capture/pair_map.h"
#include "formats/perfdata/perfdata_early.h"
#include "formats/perfdata/perfdata_files.h"
#include "formats/perfdata/perfdata_sources.h"
#include "formats/perfdata/perfdata_threads.h"
#include "capture/processes.h"
#include "formats/view.h"

struct perfdata_section_times {
	uint64_t first_ns;  /* of its samples, in the capture's time; UINT64_MAX: none */
	uint64_t last_ns;   /* of its samples */
	uint64_t newest_ns; /* of all its records */
	uint64_t base_ns;   /* in the file's time: before all its samples, after the section before */
};

struct perfdata_chunk {
	uint32_t section;
	bool round; /* FINISHED_ROUND behind it */
	uint64_t oldest_ns, newest_ns; /* in the capture's time */
};

/* A thread that no COMM and no FORK told of: it is called as its process is. */
struct perfdata_thread {
	uint32_t pid, tid; /* as perf has them */
	const char *name;  /* the survey's */
	uint64_t time_ns;  /* in the file's time */
};

struct perfdata_survey {
	struct perfdata_sources sources; /* the events */
	GArray *sections; /* struct perfdata_section_times */
	GArray *chunks;	  /* struct perfdata_chunk */
	GArray *threads;  /* struct perfdata_thread: what comes before all records */
	struct perfdata_early early;
	struct perfdata_files files;
	uint64_t end;	  /* where the pass stopped, for the others to stop there too */
	uint64_t bytes;	  /* of all events but samples */
	uint64_t samples;
	uint64_t words;	 /* of their callchains */
	bool stacks;	 /* there are samples with more than one frame */
	bool clocked;	 /* the two times are one moment, of CLOCK_MONOTONIC and the wall clock */
	uint64_t clock_ns, wall_ns;

	/* the survey's own */
	struct perfdata_threads sampled;
	struct pair_map named;       /* pid, tid: a COMM or FORK tells what it is called */
	struct pair_map forked;      /* section and pid, tid: time of the first FORK */
	struct pair_map called;      /* section and pid, tid: time of the first COMM */
	struct processes *processes; /* what they are called */
};

/* Reads all of it. -EINTR, -EFBIG, and what can't be read. */
int perfdata_survey_make(struct perfdata_survey *survey, const struct view_input *input,
	struct err *err);
void perfdata_survey_fini(struct perfdata_survey *survey);

/* A time of the capture in the file. */
uint64_t perfdata_survey_time(const struct perfdata_survey *survey, uint32_t section,
	uint64_t time_ns);

/* Before the first sample of a section, in the file. */
uint64_t perfdata_survey_early(const struct perfdata_survey *survey, uint32_t section);

/*
 * When a name is known, in the file: the first one of a thread that no FORK told of as soon as its
 * process is.
 */
uint64_t perfdata_survey_name(const struct perfdata_survey *survey, uint32_t section,
	const struct kprof_rec_comm *comm);

/*
 * ---- numbers ----------------------------------------------------------------------------------
 */

/* perf's names for those who are nobody: the idle task is process 0, who was gone -1. */
static inline uint32_t perfdata_pid(uint32_t pid)
{
	if (pid == KPROF_PID_KERNEL)
		return 0;
	return pid == KPROF_PID_GONE ? UINT32_MAX : pid;
}

/*
 * perf knows threads by their number alone: 0, which a thread has that can't be seen from where the
 * capture was taken, would be the idle task.
 */
static inline uint32_t perfdata_tid(uint32_t pid, uint32_t tid)
{
	if (pid == KPROF_PID_KERNEL || pid == KPROF_PID_GONE || !tid)
		return perfdata_pid(pid);
	return tid;
}

/*
 * ---- sizes ------------------------------------------------------------------------------------
 */

/* Bytes of a string in an event: with its NUL, padded, cut where it is longer than `max`. */
#define PERFDATA_NAME_MAX 255
size_t perfdata_text_bytes(const char *text, size_t max);
size_t perfdata_name_bytes(const char *name); /* of a whole event that tells a name */

/*
 * The most words of a callchain: the size of an event has 16 bits. What a stack has more (Linux
 * takes 127 frames unless told otherwise) is cut off outside.
 */
#define PERFDATA_WORDS_MAX 8183u

/* The words of a sample's callchain, marks included. */
uint32_t perfdata_words(const struct decode_record *record);

/* The path of a kernel's mapping as perf wants it. */
const char *perfdata_kernel_path(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Queries: which part of a capture is meant. A query is a set of conditions, each given at most
 * once, and a sample belongs to it if all of them hold. The folders below views/ and the options
 * of kprof are made from the same texts.
 *
 *	last DURATION		the time before the newest sample, or before now
 *	since TIME, until TIME	from TIME on; before TIME
 *	by KEY VALUE		the process, thread, name, CPU, event, program, user or machine of a
 *				sample, or a span of libkprof that was open in its thread
 *
 * A struct query is plain memory: it is copied, and sent between processes of the same program. All
 * functions are thread-safe.
 */
#ifndef KPROFS_CAPTURE_QUERY_H
#define KPROFS_CAPTURE_QUERY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum query_key {
	QUERY_LAST,
	QUERY_SINCE,
	QUERY_UNTIL,
	QUERY_PID, /* the first of those below by/ */
	QUERY_TID,
	QUERY_COMM,
	QUERY_CPU,
	QUERY_EVENT,
	QUERY_EXE,
	QUERY_UID,
	QUERY_HOST,
	QUERY_SPAN, /* open in the thread of a sample: known to the trace, not to the capture */
	QUERY_KEYS,
};

/* As they are called in paths and options. */
extern const char *const query_names[QUERY_KEYS];

/* The longest texts with their NUL: of names of processes, events as given to kpctl, and paths. */
#define QUERY_COMM_MAX 256
#define QUERY_EVENT_MAX 512
#define QUERY_EXE_MAX 1024
#define QUERY_HOST_MAX 256
#define QUERY_SPAN_MAX 256
#define QUERY_VALUE_MAX QUERY_EXE_MAX

struct query {
	unsigned int keys; /* 1 << enum query_key for each condition */
	bool since_wall, until_wall; /* the time is since 1970, not CLOCK_MONOTONIC */
	uint64_t last_ns, since_ns, until_ns;
	uint32_t pid, tid, cpu, uid;
	char comm[QUERY_COMM_MAX];
	char event[QUERY_EVENT_MAX];
	char exe[QUERY_EXE_MAX];
	char host[QUERY_HOST_MAX]; /* its name, or its machine-id in hexadecimal digits */
	char span[QUERY_SPAN_MAX]; /* "provider:name" */
};

static inline bool query_has(const struct query *query, enum query_key key)
{
	return query->keys & 1u << key;
}

static inline bool query_is_empty(const struct query *query)
{
	return !query->keys;
}

/* The key of a name; QUERY_KEYS if there is none. */
enum query_key query_find(const char *name);

/*
 * Adds a condition. The value is plain text; the texts are in kprof(5). Returns -EEXIST if the query
 * has a condition of this key, -EINVAL or -ENAMETOOLONG for a value that is none, each with a
 * sentence. QUERY_SINCE and QUERY_UNTIL take no marks here: a caller that knows the trace finds
 * their times.
 */
int query_add(struct query *query, enum query_key key, const char *value, struct err *err);

/* Adds since or until a time of CLOCK_MONOTONIC. Returns -EEXIST as above. */
int query_add_time(struct query *query, enum query_key key, uint64_t time_ns, struct err *err);

/* A number with ns, us, ms, s, m or h. Returns -EINVAL if it is none, or -ERANGE. */
int query_parse_duration(const char *text, uint64_t *ns);

/* Whether a text is a time for since and until, and not the text of a mark. */
bool query_is_time(const char *value);

/* Turns times since 1970 into those of CLOCK_MONOTONIC by the two times of one moment. */
void query_settle_wall(struct query *query, uint64_t monotonic_ns, uint64_t wall_ns);

/* Replaces `last` by `since`, as seen from this moment. Does nothing for a query without it. */
void query_settle_last(struct query *query, uint64_t now_ns);

/* Whether a time fits. `last` and times since 1970 must have been settled before. */
static inline bool query_has_time(const struct query *query, uint64_t time_ns)
{
	return !(query_has(query, QUERY_SINCE) && time_ns < query->since_ns) &&
	       !(query_has(query, QUERY_UNTIL) && time_ns >= query->until_ns);
}

/* Appends the conditions as words: "pid 10, last 2.5 s". Values are plain text, not escaped. */
void query_append(GString *text, const struct query *query);

/*
 * Values as names of files: '/' is %2F, '%' is %25, "." and ".." are %2E and %2E%2E, and an empty
 * value is "%".
 */
void query_escape(const char *value, GString *name);
/* Returns -EINVAL if `name` is not made so; value has QUERY_VALUE_MAX bytes: -ENAMETOOLONG. */
int query_unescape(const char *name, char value[QUERY_VALUE_MAX]);

/* The values of pid and tid for samples without a process: the idle task, and tasks that had exited. */
#define QUERY_IDLE "idle"
#define QUERY_GONE "gone"

#endif

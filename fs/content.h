/* SPDX-License-Identifier: MIT */
/*
 * Content: what a reader of an open file sees, a text or a stream. There are five ways in which
 * rows of the dirtab produce it, each a const struct of functions; the row has the functions and
 * values that differ between files (dirtab.h).
 */
#ifndef KPROFS_FS_CONTENT_H
#define KPROFS_FS_CONTENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "fs/quota.h"

struct dirtab_row;
struct filetext;
struct session;

/* A lazy text up to this size is rendered as a whole at its open. */
#define CONTENT_WHOLE_MAX (1024 * 1024)

/* The thread that answers an open. */
enum content_thread {
	CONTENT_IN_WORKER,
	CONTENT_IN_VIEW_THREAD,	 /* one of those for views (slow_ops.h) */
	CONTENT_IN_TRACE_THREAD, /* the same for the trace */
};

/* An open that reads. */
struct content_call {
	struct session *session;
	const struct dirtab_row *row;
	uid_t reader;
	void *job; /* for slow_ops_cancel(); NULL in a worker */
	struct quotas *quotas;
	struct quota_share *share; /* where the bytes of a text are counted */
};

/* Exactly one of the two members is set. */
struct content {
	struct filetext *text;
	void *cursor; /* of the row's stream_ops */
};

struct content_ops {
	enum content_thread (*thread)(struct session *session, const struct dirtab_row *row);
	/* the kind that an open takes from the quota, besides a file; NULL if it takes none */
	enum quota_kind (*quota)(const struct dirtab_row *row);
	/*
	 * Makes the content. Returns -EINTR if the job was cancelled, or another -errno, with or
	 * without a sentence.
	 */
	int (*fill)(const struct content_call *call, struct content *content, struct err *err);
	/*
	 * Bytes of a text that is not open, which are found by making it, or 0 if that takes long; NULL if
	 * the row has `size`
	 */
	uint64_t (*measure)(struct session *session, const struct dirtab_row *row, uid_t reader);
};

/* row->render: a text in memory, made in the worker, or if it is long in a thread for the trace. */
extern const struct content_ops content_rendered;
/* row->make: a text in an unnamed file, made in a thread for views. */
extern const struct content_ops content_made;
/*
 * row->share: a text of which several files are parts, and which several openers share; made in
 * such a thread.
 */
extern const struct content_ops content_shared;
/* row->lazy: a text that is made when it is read, if it is long. */
extern const struct content_ops content_lazy;
/* row->stream: a stream. */
extern const struct content_ops content_stream;

/* May be called for content that was not filled. */
void content_clear(struct content *content, const struct dirtab_row *row);

#endif

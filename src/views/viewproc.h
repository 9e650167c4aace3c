/* SPDX-License-Identifier: MIT */
/*
 * The process that makes views.
 *
 * A view needs memory in proportion to its capture, in millions of small pieces, and GLib ends the
 * process when an allocation fails. So views are not made in the process that holds the capture, but
 * in another one: the same program with the argument VIEWPROC_WORD. It is started for the first view
 * and ended when no view was made for VIEWPROC_SECONDS. All views are made in the same process, each
 * in a thread, so that they share models (viewmodel.h) and names. If a memory limit makes the kernel
 * end a process of the server, it chooses this one first.
 *
 * One view is one connection: the request is sent to the process with one end of a socket pair and
 * the descriptors, and the answer is received from the other end. To cancel the view, the server
 * closes its end or shuts it down.
 */
#ifndef KPROFS_VIEWS_VIEWPROC_H
#define KPROFS_VIEWS_VIEWPROC_H

#include <stdbool.h>

#include <sys/types.h>

#include "base/cancel.h"
#include "base/err.h"
#include "base/stats.h"
#include "capture/query.h"

struct viewproc;

/*
 * The first argument of the process. The second has the URLs of debuginfod servers, or is "". The third and
 * the fourth, if there are any, are the user and group whose rights it takes.
 */
#define VIEWPROC_WORD "--make-views"

/* Bytes of the largest view: as many as root may have open (fs/quota.c). */
#define VIEWPROC_BYTES_MAX (256 * 1024 * 1024)

/* Its descriptor of the socket from which it receives requests. */
#define VIEWPROC_FD 3

/* The time that it waits for the next view, which its cached symbols make some 100 ms faster. */
#define VIEWPROC_SECONDS 60

/* One descriptor each, or -1 if there is none. The caller keeps their ownership. */
enum viewproc_file {
	VIEWPROC_CAPTURE,
	VIEWPROC_OUT, /* the view is written to it, from its position on */
	VIEWPROC_MARKS, /* the trace beside the samples (viewmarks.h) */
	VIEWPROC_SPANS, /* the times of the span of the query, an array of struct interval */
	VIEWPROC_BEFORE, /* another capture, from which the view shows the difference */
	VIEWPROC_FILES,
};

#define VIEWPROC_FORMAT_MAX 32
#define VIEWPROC_SOURCE_MAX 1024

/* The request, sent with one end of a pair and the descriptors other than -1, in this order. */
struct viewproc_request {
	char format[VIEWPROC_FORMAT_MAX]; /* of view.h */
	bool copied_stacks;		  /* there may be copied stacks, which are unwound first */
	bool has_marks, has_spans, has_before; /* whether these files are sent */
	bool wakers;			  /* stacks go on with those of wakers, as of view_load() */
	bool copied_before;		  /* there may be copied stacks in VIEWPROC_BEFORE */
	struct query query; /* of which part; empty: of all */
	/* of the captures, for headings: one line, cut if it is longer */
	char source[VIEWPROC_SOURCE_MAX], source_before[VIEWPROC_SOURCE_MAX];
};

/* The rows of kpstat that the process counts: symbols_stats(). */
#define VIEWPROC_COUNTS 7
extern const char *const viewproc_counts[VIEWPROC_COUNTS];
#define VIEWPROC_GAUGE 2 /* this one is a current value; the others only grow */

/* The answer. */
struct viewproc_answer {
	int ret; /* 0 or -errno */
	struct err err;
	uint64_t counts[VIEWPROC_COUNTS];
};

/* ---- in the server ---------------------------------------------------------------------------- */

/* urls are those of debuginfod servers, or NULL for none. Returns 0 or -errno. */
int viewproc_create(const char *urls, struct viewproc **viewproc);
/*
 * The same for views of the captures of one user: the process and its helpers have that user's rights and no
 * others, so that they name addresses only from files that the user may read. It ends by itself when no view
 * was made for VIEWPROC_SECONDS, so it has no timer.
 */
struct viewproc *viewproc_create_as(uid_t uid, gid_t gid);
/* Called when no thread is in viewproc_make(). Waits a short time for the end of the process. */
void viewproc_destroy(struct viewproc *viewproc);

/*
 * Sends a request for a view; blocks until the view is made or cancelled. Thread-safe. Returns
 * -EINTR if it was cancelled, -ENOMEM if the process ended because it had too little memory, -EIO
 * if it ended for another reason, otherwise the result that it sent.
 */
int viewproc_make(struct viewproc *viewproc, const struct viewproc_request *request,
	const int files[VIEWPROC_FILES], const struct cancel *cancel, struct err *err);

/*
 * For the main thread: a descriptor that is readable when the process may be no longer needed, and
 * the function that is then called.
 */
int viewproc_timer(const struct viewproc *viewproc);
void viewproc_expire(struct viewproc *viewproc);

/* symbols.* rows of kpstat, as of the last view that ended. */
void viewproc_stats(struct viewproc *viewproc, struct stats *stats);

/* ---- in the process: viewmaker.c -------------------------------------------------------------- */

/* Returns whether this process was started to make views. */
bool viewproc_is_asked(int argc, char **argv);
/* Runs it; returns its exit status. */
int viewproc_main(char **argv);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Transfers the annotations of a view from the server, which has the trace, to the process that
 * makes the view, in an unnamed file that is written sequentially and then read. One thread at a
 * time.
 */
#ifndef KPROFS_VIEWS_VIEWMARKS_H
#define KPROFS_VIEWS_VIEWMARKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cancel.h"
#include "capture/backtraces.h"
#include "capture/intervals.h"
#include "capture/query.h"
#include "formats/view.h"

struct readings;

/*
 * Called in the server. Sets *fd to the file, which the caller closes. uid is the user who reads
 * it. Returns -ENODATA if the trace is empty, -EINTR if it was cancelled, or -errno of writing.
 * Blocks for as long as it takes to go through the trace.
 */
int viewmarks_write(struct readings *readings, uid_t uid, const struct cancel *cancel,
	int *fd);

/* In the process. *marks->arg is for viewmarks_close(). -errno; fd stays the caller's */
int viewmarks_open(int fd, struct view_annotations *marks);
/*
 * From now on only those that fit the query are given: by time and CPU, and by the thread, user and program
 * that wrote them; for a query with a span those in `spans`, its times, which are handed over. An annotation
 * has no event and no path of a program. The query must outlive them; its times must have been settled.
 */
void viewmarks_select(struct view_annotations *marks, const struct query *query, struct intervals *spans);
/*
 * Calls address() for each address of the stacks of all marks, also of those that are not selected.
 * Returns whether there is any. Afterwards they are given from the first one again.
 */
bool viewmarks_each_address(struct view_annotations *marks,
	void (*address)(void *arg, uint32_t pid, uint64_t time_ns, uint64_t address), void *arg);
/* Gives the addresses names. Takes ownership. Without names the stacks are not given. */
void viewmarks_set_names(struct view_annotations *marks, struct backtraces *names);
/* Harmless for NULL. */
void viewmarks_close(struct view_annotations *marks);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Gives names to the addresses of kprof_backtrace in the annotations of a view. In the process that
 * makes views.
 */
#ifndef KPROFS_VIEWS_VIEWSTACKS_H
#define KPROFS_VIEWS_VIEWSTACKS_H

#include "base/cancel.h"
#include "formats/view.h"
#include "views/viewmodel.h"

/*
 * Does nothing if no mark has a stack. The mappings are those in the capture; those of other
 * processes that still run are read by the reader of the helpers, for a second at most. Returns -EINTR
 * if it was cancelled. Blocks as viewmodels_resolve().
 */
int viewstacks_name(struct view_annotations *marks, int capture_fd, struct viewmodels *models,
	const struct cancel *cancel);

#endif

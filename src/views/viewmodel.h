/* SPDX-License-Identifier: MIT */
/*
 * The model from which a view is written: a copy of the capture, its profile, and the names of its
 * places.
 *
 * Views of the same records that are open at the same time share one model, since the models of
 * several views would need more memory than anything else in the server. Used by the threads kp-make
 * (viewmaker.c).
 */
#ifndef KPROFS_VIEWS_VIEWMODEL_H
#define KPROFS_VIEWS_VIEWMODEL_H

#include "base/cancel.h"
#include "base/err.h"
#include "capture/backtraces.h"
#include "formats/view.h"

/* Invariant once made; several threads may write views of it. */
struct viewmodel {
	int capture_fd;
	bool wakers; /* as it was asked for */
	struct profile *profile;
	struct functions *names; /* NULL if the format needs none */
	unsigned int users;  /* private to viewmodel.c */
};

/* Makes models, and symbolizes for all views of a server. */
struct viewmodels;

/*
 * Creates the models. Debug files are requested from the debuginfod servers of these URLs, as the
 * user who mounts; urls may be NULL. helper: the path of kprof-symbols, or NULL for the usual one.
 */
struct viewmodels *viewmodels_create(const char *debuginfod_urls, const char *helper);
void viewmodels_destroy(struct viewmodels *models);

/* The symbolizer of the views; thread-safe. */
struct symbols *viewmodels_symbols(struct viewmodels *models);

/* The options of the symbolizer, for further helpers. */
const struct helpers_options *viewmodels_options(const struct viewmodels *models);

/*
 * Finds the names of these addresses. Blocks while files are read, and while another view symbolizes.
 * Returns -EINTR if it was cancelled.
 */
int viewmodels_resolve(
	struct viewmodels *models, struct backtraces *backtraces, const struct cancel *cancel);

/* What the model of a view of this capture may take, bytes. */
size_t viewmodel_bytes(int capture_fd);

/*
 * Finds or makes the model of a capture for a format. Takes ownership of the descriptor in any
 * case. Blocks while records and files are read, and while another view's model is made or
 * symbolized. Returns -EINTR if it was cancelled, -EFBIG, or an error of reading. wakers: as of view_load().
 */
int viewmodel_get(struct viewmodels *models, const struct view_format *format, int capture_fd, bool wakers,
	const struct cancel *cancel, struct viewmodel **model, struct err *err);
void viewmodel_put(struct viewmodels *models, struct viewmodel *model);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The shares that rows had in an earlier capture. Rows at the top correspond if their processes and functions
 * have the same names, since files and addresses change between captures. One thread.
 */
#ifndef KPROFS_TUI_BEFORE_H
#define KPROFS_TUI_BEFORE_H

#include <stdbool.h>

#include "capture/functions.h"
#include "capture/profile.h"
#include "tui/rows.h"

struct before;

/* Both must outlive it. own: count the samples of the server itself, too. */
struct before *before_create(const struct profile *profile, const struct functions *functions, bool own);
/* NULL is allowed. */
void before_destroy(struct before *before);

/*
 * The event of these rows has this text, or is the only one of both captures: shares are those of it from now
 * on. Returns false if the earlier capture has no samples of it.
 */
bool before_set(struct before *before, const struct rows *rows, const char *event);
/*
 * Two columns for a row: its share in percent of the samples, as rows_count() counts them, and the change
 * since then; +++ if no row corresponds although the earlier capture has samples of the event.
 */
void before_append(const struct before *before, const struct rows *rows, const struct row *row,
	GString *line);
#define BEFORE_TITLES " before    change  "

#endif

/* SPDX-License-Identifier: MIT */
/* Declarations that only the files of rows share. */
#ifndef KPROFS_TUI_ROWS_STATE_H
#define KPROFS_TUI_ROWS_STATE_H

#include "tui/rows.h"

/* A node of the tree, and how much of its row it counts. */
struct rows_part {
	uint32_t node;
	struct profile_count count;
};

void rows_make_top(struct rows *rows);

/* Makes row->below. */
void rows_make_below(struct rows *rows, struct row *row);

void rows_free_row(gpointer row);

/* Whether the text contains the other one, in upper or lower case. */
bool rows_contains(const char *text, const char *part);

#endif

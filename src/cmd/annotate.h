/* SPDX-License-Identifier: MIT */
/*
 * The code of one function, disassembled by objdump, with the share of samples beside each
 * instruction. If the code is not available, the addresses with samples are shown. One thread.
 */
#ifndef KPROFS_CMD_ANNOTATE_H
#define KPROFS_CMD_ANNOTATE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/functions.h"
#include "capture/profile.h"

struct annotate {
	/* set by the caller */
	const struct profile *profile;
	const struct functions *names;
	const char *source;  /* where the samples are from */
	const char *pattern; /* a name, or fnmatch(3); NULL if `function` was set */
	const char *event;   /* NULL for that with the largest share */
	bool no_source, own;
	bool is_exact; /* the pattern is a name, whatever its characters are */
	/* beside which it is shown: its file and the place in it are preferred; NULL: all are equal */
	const struct annotate *like;
	const struct annotate *before; /* an earlier capture whose shares are shown too; NULL: none */

	/* the selection */
	uint32_t shown, function; /* event, of names */
	uint64_t start, end;      /* of the function, as file offsets */
	uint32_t file;            /* index in processes; PROCESSES_NONE at first */
	uint64_t whole;           /* weight of all samples of the event: 100 % */
	struct profile_count all; /* of the function */
	GArray *hits;             /* struct annotate_hit: addresses with samples */
	GArray *lines;            /* struct disasm_line, in the order of the code */
};

/* Returns false if no samples were taken in such a function itself. */
bool annotate_choose(struct annotate *a);

/*
 * Counts the samples of the chosen function, for one that is `before` of another one. The caller calls
 * annotate_fini().
 */
void annotate_count(struct annotate *a);
/* Whether both are of the same code, so that their addresses correspond. */
bool annotate_is_same_code(const struct annotate *a, const struct annotate *before);

/*
 * Reads the code of the chosen function. Returns a negative value if there is no code, with the
 * reason in *err; then the lines are its addresses with samples. The caller calls annotate_fini()
 * in both cases.
 */
int annotate_read(struct annotate *a, struct err *err);
void annotate_fini(struct annotate *a);

void annotate_text(const struct annotate *a, bool colours, GString *out);
void annotate_json(const struct annotate *a, GString *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The capture that a subcommand reads: a saved copy, standard input, or the kpdata of a mount. If
 * the arguments name none, input_source.h chooses it.
 *
 * From the kpdata of a running profiler it reads what is held and does not wait; on pipes and
 * terminals it waits.
 */
#ifndef KPROFS_CMD_INPUT_H
#define KPROFS_CMD_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/decode.h"
#include "capture/query.h"
#include "formats/summary.h"

struct command;

struct input {
	char *name; /* for messages */
	char *source; /* the name, the age and the part, for headings */
	char *named;  /* the same without the age */
	char *control; /* the path of kpctl if it is kpdata of a mount, or NULL */
	struct summary_source origin; /* the same three */
	int fd;
	bool damaged;  /* a part of one of several files could not be read, which was printed */
	uint8_t *data; /* what was read ahead, of a stream that is read twice */
	struct decoder decoder;
};

struct input_choice {
	const char *file;  /* "-": standard input */
	char *const *more; /* further files, which are merged with it */
	int more_count;
	const char *mount; /* directory: its kpdata. Both NULL: see input_source.h */
	struct query query; /* only this part of it; needs `twice` */
};

/*
 * Takes the FILE that remains of the arguments, if there is one. Returns CMD_OK, or the status of a
 * message if there is another argument, or both FILE and --mount.
 */
int input_choose(const struct command *command, int argc, char **argv, struct input_choice *choice);
/* The same with any number of FILEs, which are merged: needs `twice`. */
int input_choose_several(const struct command *command, int argc, char **argv, struct input_choice *choice);

/*
 * Opens the input. With `twice` the decoder can be rewound, also on streams. Returns -errno of
 * open(2) and read(2), or -ENOENT if neither file nor mount is given, there is no kprof.data and
 * nothing is mounted, -ENODATA if the part has no sample.
 */
int input_open(struct input *input, const struct input_choice *choice, bool twice,
	struct err *err);
/*
 * Unwinds the copied stacks (capture/unwinding.h), if there are any: the decoder then continues at
 * the start of a copy with complete stacks. Needs `twice`; nothing may have been read yet. Returns
 * -errno as unwinding_make().
 */
int input_unwind(struct input *input, struct err *err);
/*
 * For commands whose output has no heading: prints a line on standard error if the source is a mount
 * without samples; and on a terminal one with the source, if the arguments did not name it.
 */
void input_print_source(const struct input *input, const struct input_choice *choice);
void input_close(struct input *input);

#endif

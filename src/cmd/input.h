/* SPDX-License-Identifier: MIT */
/*
 * The capture that a subcommand reads: a saved copy, standard input, or the kpdata of a mount.
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

struct input {
	char *name; /* for messages */
	int fd;
	uint8_t *data; /* what was read ahead, of a stream that is read twice */
	struct decoder decoder;
};

struct input_choice {
	const char *file;  /* NULL: the kpdata of a mount; "-": standard input */
	const char *mount; /* directory; NULL: the only mount */
};

/*
 * The directory of the only mount, to be freed. -ENOENT: nothing is mounted; -EEXIST: there are
 * several.
 */
int input_find_mount(char **dir, struct err *err);

/*
 * Opens it. With `twice` the decoder can be rewound, also on streams. -errno of open(2) and
 * read(2); without file and mount -ENOENT: nothing is mounted, -EEXIST: there are several mounts.
 */
int input_open(struct input *input, const struct input_choice *choice, bool twice,
	struct err *err);
/*
 * The path of a file in a mount (NULL: the only one); to be freed. Errors as above.
 */
int input_path(const char *mount, const char *name, char **path, struct err *err);
/*
 * Unwinds the copied stacks (capture/unwinding.h), if there are any: the decoder then continues at
 * the start of a copy with complete stacks. Needs `twice`, and nothing read yet. -errno, as
 * unwinding_make().
 */
int input_unwind(struct input *input, struct err *err);
void input_close(struct input *input);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The capture that a subcommand reads: a saved copy, standard input, or the kpdata of a mount.
 *
 * Of a live kpdata it takes what is held and does not wait; pipes and terminals are waited for.
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
	uint8_t *data; /* what was read ahead, of a stream that has to be read twice */
	struct decoder decoder;
};

struct input_choice {
	const char *file;  /* NULL: a mount's; "-": standard input */
	const char *mount; /* directory, NULL: the one that is mounted */
};

/*
 * The directory of the one mount that there is, to be freed. -ENOENT where nothing is mounted,
 * -EEXIST where several are.
 */
int input_find_mount(char **dir, struct err *err);

/*
 * Opens it; with `twice` the decoder can be rewound, whatever is read. -errno of open(2) and
 * read(2); without file and mount -ENOENT where nothing is mounted, -EEXIST where several are.
 */
int input_open(struct input *input, const struct input_choice *choice, bool twice,
	struct err *err);
/*
 * The path of a file below a mount, or where that is NULL below the one that is mounted; to be
 * freed. Errors as above.
 */
int input_path(const char *mount, const char *name, char **path, struct err *err);
/*
 * Makes copied stacks whole (capture/unwinding.h), where there are any: the decoder then begins
 * with a copy that has them. Opened with `twice`, nothing read yet. -errno, as unwinding_make().
 */
int input_unwind(struct input *input, struct err *err);
void input_close(struct input *input);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Chooses the source of the capture that a command reads, and finds its age. Without FILE and
 * --mount a command reads ./kprof.data, the default output of `kprof record`, if that is newer than
 * the run of the mount, otherwise the mount.
 */
#ifndef KPROFS_CMD_INPUT_SOURCE_H
#define KPROFS_CMD_INPUT_SOURCE_H

#include <stdint.h>

#include "base/err.h"

#define INPUT_SOURCE_FILE "kprof.data"

/*
 * Sets *path to the path to read if the arguments name none; the caller frees it. Returns the
 * errors of mount_choice_find().
 */
int input_source_find(char **path, struct err *err);

/* The end of the description of a mount without samples. */
#define INPUT_SOURCE_EMPTY ", empty"

/*
 * The path and the age of the capture as one line, to be freed: "kprof.data, written 3 s ago",
 * "/mnt/kprof/kpdata, stopped 3 s ago". Strings: see base/text.h.
 */
char *input_source_describe(const char *path);

/*
 * The whole path of kpctl beside this kpdata of a mount, to be freed, and the length of its runs; NULL if
 * it is another file.
 */
char *input_source_control(const char *path, uint64_t *run_ns);

#endif

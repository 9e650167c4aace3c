/* SPDX-License-Identifier: MIT */
/*
 * Chooses the mount of kprofs that a command uses if its arguments name none: the mount that the
 * working folder is in, or the session of it (sessions/NAME), otherwise $KPROF_MOUNT, otherwise the
 * only one that this user may read, otherwise the oldest one of this user, with a note on standard error.
 */
#ifndef KPROFS_CMD_MOUNT_CHOICE_H
#define KPROFS_CMD_MOUNT_CHOICE_H

#include "base/err.h"

/*
 * Sets *dir to the directory; the caller frees it. Returns -ENOENT if nothing is mounted that this
 * user may read. A mount of another ordinary user is accessed only if neither this user nor root
 * has one, since its server may never answer.
 */
int mount_choice_find(char **dir, struct err *err);
/* The same without the note. */
int mount_choice_find_quietly(char **dir, struct err *err);

/*
 * The path of a file in a mount or session (NULL for the one above), or of the mount of the session if the
 * session has no such file; to be freed. Errors as above.
 */
int mount_choice_path(const char *mount, const char *name, char **path, struct err *err);

#endif

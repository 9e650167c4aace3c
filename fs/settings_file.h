/* SPDX-License-Identifier: MIT */
/*
 * The settings of a session in the directory of state=: a text with its owner and mode, and the words of
 * kpctl that restore it. The caller serializes all calls for one session.
 */
#ifndef KPROFS_FS_SETTINGS_FILE_H
#define KPROFS_FS_SETTINGS_FILE_H

#include <stdbool.h>

#include "fs/dirtab.h"

struct disk;
struct profiler;

struct settings_file_head {
	struct dirtab_owner owner;
	uid_t maker; /* to whose programs it may be restricted */
	gid_t maker_group;
	bool is_numbered;
};

#define SETTINGS_FILE_KIND "settings"

/*
 * Writes them if they differ from *last, which it replaces; *last is NULL at first, and to be freed. session:
 * its name, NULL at the top.
 */
void settings_file_write(struct disk *disk, const char *session, const struct settings_file_head *head,
	struct profiler *profiler, char **last);

/*
 * Reads them. *words: the lines for kpctl, to be freed. Returns -ENOENT if there are none, or -EPROTO if they
 * are damaged or another version's.
 */
int settings_file_read(struct disk *disk, const char *session, struct settings_file_head *head, char **words);

#endif

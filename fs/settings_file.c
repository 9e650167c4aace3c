/* SPDX-License-Identifier: MIT */
/* Settings of a session in a file: see settings_file.h. */
#include "fs/settings_file.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "prof/disk.h"
#include "prof/profiler.h"

#define FORM "kprofs %d sum %" PRIx64 "\n"
#define HEAD "owner %u %u mode %o maker %u %u numbered %u\n"
/* More than the longest list of events and CPUs. */
#define BYTES_MAX (64u << 10)

void settings_file_write(struct disk *disk, const char *session, const struct settings_file_head *head,
	struct profiler *profiler, char **last)
{
	g_autofree char *file = disk_file_name(SETTINGS_FILE_KIND, session);
	GString *text = g_string_new(NULL), *whole = g_string_new(NULL);

	g_string_append_printf(text, HEAD, head->owner.uid, head->owner.gid, (unsigned int)head->owner.mode,
		head->maker, head->maker_group, (unsigned int)head->is_numbered);
	profiler_print_settings(profiler, text);
	if (!*last || strcmp(*last, text->str) != 0) {
		g_string_append_printf(whole, FORM, DISK_VERSION, disk_sum_of(text->str, text->len));
		g_string_append_len(whole, text->str, (gssize)text->len);
		/* an error is counted there, and tried again with the next command */
		if (!disk_write(disk, file, whole->str, whole->len)) {
			g_free(*last);
			*last = g_string_free(g_steal_pointer(&text), FALSE);
		}
	}
	if (text)
		g_string_free(text, TRUE);
	g_string_free(whole, TRUE);
}

static int parse(const char *text, struct settings_file_head *head, char **words)
{
	unsigned int uid, gid, mode, maker, group, numbered;
	const char *line = strchr(text, '\n');
	uint64_t sum;
	int version;

	if (!line || sscanf(text, FORM, &version, &sum) != 2 || version != DISK_VERSION)
		return -EPROTO;
	line++;
	if (sum != disk_sum_of(line, strlen(line)) ||
		sscanf(line, HEAD, &uid, &gid, &mode, &maker, &group, &numbered) != 6 ||
		!strchr(line, '\n'))
		return -EPROTO;
	*head = (struct settings_file_head){ .maker = maker, .maker_group = group, .is_numbered = numbered };
	head->owner = (struct dirtab_owner){
		.uid = uid, .gid = gid, .mode_given = true, .mode = mode & 0777
	};
	*words = g_strdup(strchr(line, '\n') + 1);
	return 0;
}

int settings_file_read(struct disk *disk, const char *session, struct settings_file_head *head, char **words)
{
	g_autofree char *file = disk_file_name(SETTINGS_FILE_KIND, session);
	GByteArray *content;
	int ret = disk_read(disk, file, BYTES_MAX, &content);

	if (ret)
		return ret;
	g_byte_array_append(content, (const guint8 *)"", 1);
	ret = parse((const char *)content->data, head, words);
	g_byte_array_unref(content);
	return ret;
}

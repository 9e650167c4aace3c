/* SPDX-License-Identifier: MIT */
/* The files of a capture whose build-ids are known: see perfdata_files.h. */
#include "formats/perfdata/perfdata_files.h"

#include <string.h>

#include "base/strhash.h"

void perfdata_files_init(struct perfdata_files *files)
{
	memset(files, 0, sizeof(*files));
	files->files = g_array_new(FALSE, FALSE, sizeof(struct perfdata_file));
	files->strings = g_string_chunk_new(4096);
}

void perfdata_files_fini(struct perfdata_files *files)
{
	g_array_free(files->files, TRUE);
	g_string_chunk_free(files->strings);
	table_fini(&files->table);
}

void perfdata_files_take_mapping(struct perfdata_files *files, const struct kprof_rec_mmap *mmap,
	const char *path)
{
	size_t length = strnlen(path, PERFDATA_PATH_MAX);

	memcpy(files->path, path, length);
	files->path[length] = '\0';
	files->addr = mmap->addr;
	files->pid = mmap->pid;
}

static bool equal_file(const void *items, uint32_t i, const void *key)
{
	const struct perfdata_file *a = (const struct perfdata_file *)items + i, *b = key;

	return a->kernel == b->kernel && a->build_id_length == b->build_id_length &&
		memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0 &&
		strcmp(a->path, b->path) == 0;
}

void perfdata_files_take_build_id(struct perfdata_files *files,
	const struct kprof_rec_build_id *build_id, const uint8_t *bytes)
{
	struct perfdata_file file = {
		.path = files->path,
		.build_id_length = build_id->length,
		.kernel = build_id->pid == KPROF_PID_KERNEL,
	};
	uint64_t word;
	uint32_t hash;

	if (!*files->path || !build_id->length || build_id->pid != files->pid ||
		build_id->addr != files->addr)
		return;
	memcpy(file.build_id, bytes, build_id->length);
	memcpy(&word, file.build_id, sizeof(word));
	hash = table_hash(word, strhash(file.path));
	if (table_find(&files->table, hash, equal_file, files->files->data, &file) != TABLE_NONE)
		return;
	file.path = g_string_chunk_insert(files->strings, file.path);
	table_add(&files->table, hash, files->files->len);
	g_array_append_val(files->files, file);
}

const struct perfdata_file *perfdata_files_kernel(const struct perfdata_files *files)
{
	uint32_t i;

	for (i = 0; i < files->files->len; i++) {
		const struct perfdata_file *file =
			&g_array_index(files->files, struct perfdata_file, i);

		if (file->kernel && strcmp(file->path, KPROF_PATH_KERNEL) == 0)
			return file;
	}
	return NULL;
}

size_t perfdata_files_bytes(const struct perfdata_files *files)
{
	return files->files->len * (sizeof(struct perfdata_file) + 2 * sizeof(struct table_slot));
}

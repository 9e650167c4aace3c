/* SPDX-License-Identifier: MIT */
/* A directory of state= in which captures are, and its files. Include after cmocka.h. */
#ifndef KPROFS_TESTS_DISK_FIXTURE_H
#define KPROFS_TESTS_DISK_FIXTURE_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_streams.h"
#include "prof/disk.h"

struct world {
	char path[32];
	struct disk *disk;
	struct capture_pool *pool;
};

static inline void open_world(struct world *w)
{
	struct err err = { "" };

	assert_int_equal(disk_open(w->path, &w->disk, &err), 0);
	w->pool = capture_pool_create(w->disk);
}

static inline void close_world(struct world *w)
{
	capture_pool_unref(w->pool);
	disk_close(w->disk);
}

static inline int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->path, "/tmp/test_disk.XXXXXX");
	assert_non_null(mkdtemp(w->path));
	open_world(w);
	*state = w;
	return 0;
}

static inline int tear_down(void **state)
{
	struct world *w = *state;
	GDir *dir;
	const char *name;

	close_world(w);
	dir = g_dir_open(w->path, 0, NULL);
	while ((name = g_dir_read_name(dir))) {
		g_autofree char *file = g_build_filename(w->path, name, NULL);

		unlink(file);
	}
	g_dir_close(dir);
	rmdir(w->path);
	free(w);
	return 0;
}

static inline uint64_t count_of(struct world *w, const char *name)
{
	struct stats *stats = stats_create();
	uint64_t value;

	disk_print_stats(w->disk, stats);
	assert_int_equal(stats_find_u64(stats, name, &value), 0);
	stats_destroy(stats);
	return value;
}

/* A capture that is in files, with some blocks of BIG samples. */
static inline struct capture *create_limited(struct world *w, const char *session, int blocks, uint64_t limit)
{
	struct capture *c;
	int i;

	assert_int_equal(capture_create_in(w->pool, limit, &c), 0);
	assert_true(capture_keep_files(c, w->disk, session));
	for (i = 0; i < blocks; i++)
		assert_true(append(c, BIG));
	assert_true(append(c, 7));
	return c;
}

static inline struct capture *create_kept(struct world *w, const char *session, int blocks)
{
	return create_limited(w, session, blocks, 64 * MIB);
}

/* With blocks that are packed: nine tenths of the limit are used by as many as there are. */
static inline struct capture *create_packed(struct world *w, const char *session, int blocks)
{
	struct capture *c = create_limited(w, session, blocks, blocks * (uint64_t)BIG_BYTES * 10 / 9);

	assert_true(capture_memory_bytes(c) < capture_held_bytes(c));
	return c;
}

static inline int read_files(struct world *w, const char *session, struct capture **c)
{
	bool is_loaded = true;
	int ret = capture_read_files(w->pool, session, c, &is_loaded);

	assert_true(ret || !is_loaded);
	return ret;
}

static inline void read_capture(struct capture *c, struct bytes *out)
{
	struct capture_pos pos;

	capture_attach(c, &pos);
	read_all(c, &pos, out);
	capture_detach(c, &pos);
}

struct file {
	char name[32];
	struct bytes content;
};

static inline void put_file(const struct world *w, const struct file *file, const uint8_t *data, size_t len)
{
	g_autofree char *path = g_build_filename(w->path, file->name, NULL);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

static inline void get_file(const struct world *w, struct file *file, const char *name)
{
	g_autofree char *path = g_build_filename(w->path, name, NULL);
	gchar *data;
	gsize len;

	assert_true(g_file_get_contents(path, &data, &len, NULL));
	g_strlcpy(file->name, name, sizeof(file->name));
	add_bytes(&file->content, data, len);
	g_free(data);
}

#endif

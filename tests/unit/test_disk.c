/* SPDX-License-Identifier: MIT */
/*
 * prof/disk: a capture in files is read back as it was appended, whatever was left unfinished; damaged files
 * are left out and counted, and nothing else is.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_streams.h"
#include "prof/disk.h"
#include "prof/disk_index.h"
#include "prof/disk_journal.h"
#include "prof/profiler.h"

#define MUTATIONS 2000

struct world {
	char path[32];
	struct disk *disk;
	struct capture_pool *pool;
};

static void open_world(struct world *w)
{
	struct err err = { "" };

	assert_int_equal(disk_open(w->path, &w->disk, &err), 0);
	w->pool = capture_pool_create(w->disk);
}

static void close_world(struct world *w)
{
	capture_pool_unref(w->pool);
	disk_close(w->disk);
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	strcpy(w->path, "/tmp/test_disk.XXXXXX");
	assert_non_null(mkdtemp(w->path));
	open_world(w);
	*state = w;
	return 0;
}

static int tear_down(void **state)
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

static uint64_t count_of(struct world *w, const char *name)
{
	struct stats *stats = stats_create();
	uint64_t value;

	disk_print_stats(w->disk, stats);
	assert_int_equal(stats_find_u64(stats, name, &value), 0);
	stats_destroy(stats);
	return value;
}

/* A capture that is in files, with some blocks of BIG samples. */
static struct capture *create_limited(struct world *w, const char *session, int blocks, uint64_t limit)
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

static struct capture *create_kept(struct world *w, const char *session, int blocks)
{
	return create_limited(w, session, blocks, 64 * MIB);
}

/* With blocks that are packed: nine tenths of the limit are used by as many as there are. */
static struct capture *create_packed(struct world *w, const char *session, int blocks)
{
	struct capture *c = create_limited(w, session, blocks, blocks * (uint64_t)BIG_BYTES * 10 / 9);

	assert_true(capture_memory_bytes(c) < capture_held_bytes(c));
	return c;
}

static int read_files(struct world *w, const char *session, struct capture **c)
{
	bool is_loaded = true;
	int ret = capture_read_files(w->pool, session, c, &is_loaded);

	assert_true(ret || !is_loaded);
	return ret;
}

static void read_capture(struct capture *c, struct bytes *out)
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

static void put_file(const struct world *w, const struct file *file, const uint8_t *data, size_t len)
{
	g_autofree char *path = g_build_filename(w->path, file->name, NULL);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

static void get_file(const struct world *w, struct file *file, const char *name)
{
	g_autofree char *path = g_build_filename(w->path, name, NULL);
	gchar *data;
	gsize len;

	assert_true(g_file_get_contents(path, &data, &len, NULL));
	g_strlcpy(file->name, name, sizeof(file->name));
	add_bytes(&file->content, data, len);
	g_free(data);
}

static void test_what_was_appended_is_read_back(void **state)
{
	struct world *w = *state;
	struct capture *c = create_kept(w, "one", 20), *copy, *back;
	struct bytes before = { 0 }, after = { 0 };

	read_capture(c, &before);
	copy = capture_copy(c);
	capture_keep_files(copy, w->disk, "two");
	assert_true(append(c, 3)); /* not in the copy */
	capture_destroy(c);
	capture_destroy(copy);
	close_world(w);

	open_world(w);
	assert_int_equal(read_files(w, "none", &back), -ENOENT);
	assert_int_equal(read_files(w, "two", &back), 0);
	read_capture(back, &after);
	assert_int_equal(after.used, before.used);
	assert_memory_equal(after.data, before.data, before.used);
	assert_int_equal(book(back, CAPTURE_RECEIVED), 20 * BIG + 7);
	capture_destroy(back);
	free_bytes(&after);
	assert_int_equal(read_files(w, "one", &back), 0);
	read_capture(back, &after);
	assert_int_equal(after.used, before.used + 3 * 34);
	capture_set_limit(back, 64 * MIB);
	assert_true(append(back, 5));
	assert_int_equal(capture_held_bytes(back), after.used + 5 * 34);
	capture_destroy(back);
	free_bytes(&before);
	free_bytes(&after);
	assert_int_equal(count_of(w, "state.damaged"), 0);
}

static void test_packed_blocks_are_read_back(void **state)
{
	struct world *w = *state;
	struct capture *c = create_packed(w, "one", 20), *copy, *back;
	struct bytes before = { 0 }, after = { 0 };
	const uint64_t memory = capture_memory_bytes(c);
	struct capture_pos pos;

	read_capture(c, &before);
	copy = capture_copy(c);
	capture_keep_files(copy, w->disk, "two");
	capture_destroy(copy);
	capture_destroy(c);
	close_world(w);

	open_world(w);
	assert_int_equal(read_files(w, "two", &copy), 0);
	assert_int_equal(read_files(w, "one", &back), 0);
	capture_pool_settle(w->pool);
	assert_true(capture_memory_bytes(back) < memory + 2 * 128 * KIB); /* two segments had room */
	read_capture(back, &after);
	assert_int_equal(after.used, before.used);
	assert_memory_equal(after.data, before.data, before.used);
	/* what is overwritten unread is counted, by what was read of packed blocks */
	capture_attach(copy, &pos);
	capture_set_overwrite(copy, true);
	capture_set_limit(copy, 3 * BIG_BYTES);
	assert_int_equal(take_missed(copy, &pos) + read_sums(copy, &pos).samples, 20 * BIG + 7);
	capture_detach(copy, &pos);
	capture_destroy(copy);
	/* and the memory that both had is still the other's */
	free_bytes(&after);
	read_capture(back, &after);
	assert_memory_equal(after.data, before.data, before.used);
	capture_destroy(back);
	free_bytes(&before);
	free_bytes(&after);
	assert_int_equal(count_of(w, "state.damaged"), 0);
}

/* A kill loses nothing that was counted, or appended before the end of a drain. */
static void test_the_files_have_all_that_is_counted(void **state)
{
	struct world *w = *state, other = { .disk = NULL };
	struct capture *c = create_kept(w, "one", 1), *back;
	struct file index = { .name = "" };

	assert_int_equal(book(c, CAPTURE_RECEIVED), BIG + 7);
	get_file(w, &index, "index:one");
	g_strlcpy(index.name, "index:counted", sizeof(index.name));
	put_file(w, &index, index.content.data, index.content.used);
	assert_true(append(c, 3));
	capture_write_files(c);
	free_bytes(&index.content);
	get_file(w, &index, "index:one");
	g_strlcpy(index.name, "index:drained", sizeof(index.name));
	put_file(w, &index, index.content.data, index.content.used);
	/* as the next process, while this one still has its memory */
	other.disk = w->disk;
	other.pool = capture_pool_create(w->disk);
	assert_int_equal(read_files(&other, "drained", &back), 0);
	assert_int_equal(book(back, CAPTURE_RECEIVED), BIG + 10);
	capture_destroy(back);
	capture_pool_unref(other.pool);
	other.pool = capture_pool_create(w->disk);
	/* the older commit of the block is of fewer bytes of the same place */
	assert_int_equal(read_files(&other, "counted", &back), 0);
	assert_int_equal(book(back, CAPTURE_RECEIVED), BIG + 7);
	capture_destroy(back);
	capture_pool_unref(other.pool);
	assert_int_equal(count_of(w, "state.damaged"), 0);
	capture_destroy(c);
	free_bytes(&index.content);
}

/* Killed while it takes over what it has read: the next one finds all of it. */
static void test_an_index_is_replaced_as_a_whole(void **state)
{
	struct world *w = *state;
	struct capture *c = create_kept(w, "one", 2);
	struct file rest = { .name = "new.index:two" };
	g_autofree char *path = g_build_filename(w->path, rest.name, NULL);
	struct disk_index *index;

	capture_destroy(c);
	close_world(w);
	put_file(w, &rest, (const uint8_t *)"rest", 4);
	open_world(w);
	assert_int_equal(access(path, F_OK), -1);
	index = disk_index_create(w->disk, "one");
	assert_non_null(index);
	assert_int_equal(read_files(w, "one", &c), 0);
	assert_int_equal(book(c, CAPTURE_RECEIVED), 2 * BIG + 7);
	disk_index_close(index);
	capture_destroy(c);
	assert_int_equal(read_files(w, "one", &c), 0);
	assert_true(capture_keep_files(c, w->disk, "one"));
	capture_destroy(c);
	assert_int_equal(read_files(w, "one", &c), 0);
	assert_int_equal(book(c, CAPTURE_RECEIVED), 2 * BIG + 7);
	capture_destroy(c);
	assert_int_equal(count_of(w, "state.errors"), 0);
}

static void test_readers_need_no_space(void **state)
{
	struct world *w = *state;
	struct capture *c = create_packed(w, "one", 20);
	const uint64_t bytes = count_of(w, "state.bytes");
	struct capture_pos pos[40]; /* more than a file has blocks */
	struct bytes some = { 0 };
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(pos); i++) {
		capture_attach(c, &pos[i]);
		assert_true(read_some(c, &pos[i], 100, true, true, &some) > 0);
	}
	assert_int_equal(count_of(w, "state.bytes"), bytes);
	for (i = 0; i < G_N_ELEMENTS(pos); i++)
		capture_detach(c, &pos[i]);
	free_bytes(&some);
	capture_destroy(c);
}

static void test_what_was_cleared_or_forgotten_takes_no_space(void **state)
{
	struct world *w = *state;
	struct capture *c = create_kept(w, NULL, 40), *back;

	capture_clear(c);
	capture_destroy(c);
	close_world(w);
	open_world(w);
	assert_int_equal(read_files(w, NULL, &back), 0);
	capture_pool_settle(w->pool);
	assert_int_equal(capture_held_bytes(back), 0);
	capture_destroy(back);
	c = create_kept(w, "one", 40);
	assert_true(count_of(w, "state.bytes") >= 40 * 128 * KIB);
	capture_forget_files(c);
	capture_destroy(c);
	disk_remove(w->disk, "index", "one");
	assert_true(count_of(w, "state.bytes") <= 4 * MIB); /* that of free blocks, and a spare one */
	assert_int_equal(read_files(w, "one", &back), -ENOENT);
}

/* ---- damaged files ------------------------------------------------------------------------------- */

/* Changes some bytes, or cuts the file off. */
static size_t mutate(uint8_t *data, size_t len, unsigned int *seed)
{
	int n = 1 + rand_r(seed) % 8;

	if (rand_r(seed) % 8 == 0)
		return (size_t)rand_r(seed) % len;
	while (n--)
		data[(size_t)rand_r(seed) % len] = (uint8_t)rand_r(seed);
	return len;
}

static void read_mutated(struct world *w, uint64_t samples)
{
	GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct disk_journal_part));
	struct capture *back;
	struct capture_pos pos;
	GByteArray *journal;
	struct sums sums;

	open_world(w);
	if (!read_files(w, "one", &back)) {
		capture_attach(back, &pos);
		sums = read_sums(back, &pos);
		capture_detach(back, &pos);
		assert_true(sums.samples <= samples);
		assert_true(sums.samples == samples || count_of(w, "state.damaged"));
		capture_forget_files(back);
		capture_destroy(back);
	}
	if (!disk_read(w->disk, "journal:one", DISK_JOURNAL_BYTES_MAX, &journal)) {
		(void)disk_journal_parse(journal->data, journal->len, parts);
		assert_true(parts->len <= 3);
		g_byte_array_unref(journal);
	}
	g_array_free(parts, TRUE);
	close_world(w);
}

static void check_mutations(struct world *w, struct capture *c)
{
	static const char *const names[] = { "index:one", "arena.0", "journal:one" };
	static const uint8_t records[300] = { 0 };
	const struct disk_journal_part part = { DISK_PART_RECORDS, sizeof(records), records };
	struct disk_journal *journal = disk_journal_create(w->disk, "one");
	struct file files[G_N_ELEMENTS(names)] = { 0 };
	unsigned int seed = 5;
	int i;
	size_t k;

	disk_journal_write(journal, &part, 1);
	disk_journal_append(journal, &part);
	disk_journal_append(journal, &part);
	disk_journal_close(journal);
	capture_destroy(c);
	close_world(w);
	for (k = 0; k < G_N_ELEMENTS(names); k++)
		get_file(w, &files[k], names[k]);
	for (i = 0; i < MUTATIONS; i++) {
		const struct file *file = &files[rand_r(&seed) % G_N_ELEMENTS(names)];
		/* of a block that is used, and of records that are */
		const size_t used = MIN(file->content.used, 8 * 128 * KIB);
		uint8_t *data = g_memdup2(file->content.data, file->content.used);
		size_t len = mutate(data, file == &files[0] ? MIN(used, 128 * 9) : used, &seed);

		put_file(w, file, data, len < used ? len : file->content.used);
		g_free(data);
		read_mutated(w, 4 * BIG + 7);
		put_file(w, file, file->content.data, file->content.used);
	}
	read_mutated(w, 4 * BIG + 7);
	open_world(w);
	assert_int_equal(read_files(w, "one", &c), 0);
	assert_int_equal(book(c, CAPTURE_RECEIVED), 4 * BIG + 7);
	capture_destroy(c);
	for (k = 0; k < G_N_ELEMENTS(names); k++)
		free_bytes(&files[k].content);
}

static void test_damaged_files_are_left_out_and_counted(void **state)
{
	check_mutations(*state, create_kept(*state, "one", 4));
}

static void test_damaged_packed_blocks_too(void **state)
{
	check_mutations(*state, create_packed(*state, "one", 4));
}

/* A record of an index: they follow a header of the same size. */
struct index_record {
	struct disk_place place;
	uint64_t zero[3];
	struct disk_commit commits[2];
};

static struct index_record *record_of(struct file *index, size_t record)
{
	return (struct index_record *)(void *)(index->content.data + (1 + record) * 128);
}

static uint64_t check_of(const struct index_record *record, const struct disk_commit *commit)
{
	uint8_t bytes[sizeof(record->place) + offsetof(struct disk_commit, check)];

	memcpy(bytes, &record->place, sizeof(record->place));
	memcpy(bytes + sizeof(record->place), commit, offsetof(struct disk_commit, check));
	return disk_sum_of(bytes, sizeof(bytes));
}

/* The same as if its block had other bytes. */
static void change_sums(struct index_record *record)
{
	for (int i = 0; i < 2; i++) {
		record->commits[i].sum ^= 1;
		record->commits[i].check = check_of(record, &record->commits[i]);
	}
}

/* Gives a record that was removed the number of its block again. */
static bool restore_record(struct index_record *record)
{
	if (record->place.seq != UINT64_MAX)
		return false;
	for (record->place.seq = 1; record->place.seq < 10; record->place.seq++)
		if (record->commits[0].check == check_of(record, &record->commits[0]))
			return true;
	return false;
}

/* Likewise, but they were written as they are, and packed later. */
static struct capture *create_packed_later(struct world *w, const char *session, int blocks)
{
	struct capture *c;
	int i;

	assert_int_equal(capture_create_in(w->pool, 64 * MIB, &c), 0);
	assert_true(capture_keep_files(c, w->disk, session));
	for (i = 0; i < blocks; i++)
		assert_true(append(c, BIG));
	capture_write_files(c); /* so that the last record that is removed is not used again */
	capture_set_limit(c, blocks * (uint64_t)BIG_BYTES * 10 / 9);
	for (i = 0; i < 7; i++)
		assert_true(append(c, 1));
	assert_true(capture_memory_bytes(c) < capture_held_bytes(c));
	return c;
}

/* Killed while the index had a block both as it was and packed; damaged: the first of them is. */
static void check_twice(struct world *w, bool damaged)
{
	struct capture *c = create_packed_later(w, "one", 4);
	struct file index = { .name = "" };
	int removed = 0;

	capture_destroy(c);
	close_world(w);
	get_file(w, &index, "index:one");
	for (size_t i = 0; i < 10; i++) {
		struct index_record *record = record_of(&index, i);

		if (!restore_record(record))
			continue;
		if (damaged)
			change_sums(record);
		removed++;
	}
	assert_true(removed > 0);
	put_file(w, &index, index.content.data, index.content.used);
	open_world(w);
	assert_int_equal(read_files(w, "one", &c), 0);
	assert_int_equal(book(c, CAPTURE_RECEIVED), 4 * BIG + 7);
	assert_int_equal(count_of(w, "state.damaged"), 0);
	capture_destroy(c);
	free_bytes(&index.content);
}

static void test_a_block_that_was_being_packed_is_there_once(void **state)
{
	check_twice(*state, false);
}

static void test_a_damaged_block_that_is_there_twice_is_read(void **state)
{
	check_twice(*state, true);
}

/* Adds a block with a commit of so many bytes. */
static void add_entry(struct disk_index *index, uint64_t seq, uint32_t slot, uint64_t used)
{
	const struct disk_place place = { .seq = seq, .slot = slot };
	const struct disk_commit commit = { .used = used };

	disk_index_commit(index, disk_index_add(index, &place), &commit);
}

static void test_entries_are_sorted_and_the_longer_one_is_first(void **state)
{
	struct world *w = *state;
	GArray *entries = g_array_new(FALSE, FALSE, sizeof(struct disk_index_entry));
	struct disk_index *index = disk_index_create(w->disk, "one");
	GByteArray *content;
	uint64_t damaged;

	add_entry(index, 4, 0, 100);
	add_entry(index, 3, 1, 100);
	add_entry(index, 3, 2, 200);
	add_entry(index, 3, 3, 150);
	add_entry(index, UINT64_MAX - 1, 4, 100); /* none could follow it */
	assert_true(disk_index_publish(index));
	disk_index_close(index);
	assert_int_equal(disk_read(w->disk, "index:one", DISK_INDEX_BYTES_MAX, &content), 0);
	assert_int_equal(disk_index_parse(content->data, content->len, entries, &damaged), 0);
	assert_int_equal(damaged, 1);
	assert_int_equal(entries->len, 4);
	for (guint i = 0; i < entries->len; i++)
		assert_int_equal(g_array_index(entries, struct disk_index_entry, i).place.slot,
			((const uint32_t[]){ 2, 3, 1, 0 })[i]);
	g_byte_array_unref(content);
	g_array_free(entries, TRUE);
}

/* After a crash of the machine: the file is there, and nothing was written to it. */
static void test_an_index_without_a_header_is_damaged(void **state)
{
	static const uint8_t zeros[1000] = { 0 };
	struct world *w = *state;
	struct file file = { .name = "index:one" };
	struct capture *c;

	for (size_t len = 0; len <= sizeof(zeros); len += sizeof(zeros)) {
		put_file(w, &file, zeros, len);
		assert_int_equal(read_files(w, "one", &c), 0);
		assert_int_equal(capture_held_bytes(c), 0);
		capture_destroy(c);
	}
	assert_int_equal(count_of(w, "state.damaged"), 2);
	assert_false(disk_has_old(w->disk));
}

/* What was loaded describes at its beginning what follows: nothing behind a damaged block is read. */
static void test_of_what_was_loaded_the_beginning_is_kept(void **state)
{
	struct world *w = *state;
	struct capture *c;
	struct record_buf clock;
	struct file arena = { .name = "" };
	bool is_loaded = false;
	struct tally totals;
	uint64_t held;

	record_buf_init(&clock);
	assert_int_equal(record_clock(&clock, 1, 2, 3), 0);
	assert_int_equal(capture_create_in(w->pool, 64 * MIB, &c), 0);
	capture_keep_files(c, w->disk, "one");
	assert_true(capture_append(c, clock.data, clock.used, NULL, 0));
	for (int i = 0; i < 4; i++)
		assert_true(append(c, BIG));
	held = clock.used + BIG_BYTES;
	record_buf_fini(&clock);
	capture_destroy(c);
	close_world(w);
	get_file(w, &arena, "arena.0");
	/* the first slot is kept in reserve, and the second block is in the third */
	arena.content.data[2 * 128 * KIB + 1000] ^= 1;
	put_file(w, &arena, arena.content.data, arena.content.used);
	open_world(w);
	assert_int_equal(capture_read_files(w->pool, "one", &c, &is_loaded), 0);
	assert_true(is_loaded);
	assert_int_equal(capture_held_bytes(c), held);
	/* of no CPU and no event of this machine, as when it was loaded */
	tally_init(&totals);
	capture_get_totals(c, &totals);
	assert_int_equal(tally_get(&totals, UINT32_MAX, 0, CAPTURE_RECEIVED), BIG);
	assert_int_equal(tally_total(&totals), BIG);
	tally_fini(&totals);
	assert_int_equal(count_of(w, "state.damaged"), 3);
	capture_destroy(c);
	free_bytes(&arena.content);
}

static void test_an_index_of_another_version_is_set_aside(void **state)
{
	struct world *w = *state;
	struct capture *c = create_kept(w, "one", 2), *back, *other = create_kept(w, "other", 1);
	struct file file = { .name = "" };
	g_autofree char *arena = g_build_filename(w->path, "arena.0", NULL);

	capture_destroy(c);
	capture_destroy(other);
	close_world(w);
	get_file(w, &file, "index:one");
	file.content.data[8]++;
	put_file(w, &file, file.content.data, file.content.used);
	open_world(w);
	/* which is in the same arena */
	assert_int_equal(read_files(w, "other", &other), 0);
	assert_int_equal(read_files(w, "one", &back), -EPROTO);
	capture_forget_files(other);
	capture_destroy(other);
	capture_pool_settle(w->pool);
	assert_int_equal(access(arena, F_OK), 0); /* what it refers to stays */
	assert_int_equal(count_of(w, "state.files"), 0); /* and takes no memory */
	c = create_kept(w, "one", 20); /* and so do the file, and the blocks to which it refers */
	capture_destroy(c);
	free_bytes(&file.content);
	get_file(w, &file, "old.index:one");
	close_world(w);
	file.content.data[8]--;
	g_strlcpy(file.name, "index:two", sizeof(file.name));
	put_file(w, &file, file.content.data, file.content.used);
	open_world(w);
	assert_int_equal(read_files(w, "one", &c), 0);
	assert_int_equal(read_files(w, "two", &back), 0);
	assert_int_equal(book(c, CAPTURE_RECEIVED), 20 * BIG + 7);
	assert_int_equal(book(back, CAPTURE_RECEIVED), 2 * BIG + 7);
	assert_int_equal(count_of(w, "state.damaged"), 0);
	capture_destroy(c);
	capture_destroy(back);
	free_bytes(&file.content);
}

/* ---- events -------------------------------------------------------------------------------------- */

/* A journal of another build, with two events; the samples have a third one. */
static void put_journal(struct world *w)
{
	static const uint8_t boot[KPROF_HOST_ID_BYTES] = { 0 };
	const struct kprof_rec_event_configs configs = { 0 };
	const struct kprof_rec_event first = { .number = 1, .perf_type = 1, .config = 2, .rate = 1 };
	const struct kprof_rec_event second = { .number = 2, .perf_type = 1, .config = 5, .rate = 99,
		.flags = KPROF_EVENT_FREQ };
	const uint32_t row_bytes = 1;
	struct disk_journal *journal = disk_journal_create(w->disk, "one");
	struct record_buf records;

	record_buf_init(&records);
	assert_int_equal(record_event(&records, &first, "page-faults:period=1", &configs), 0);
	assert_int_equal(record_event(&records, &second, "minor-faults:freq=99", &configs), 0);
	disk_journal_write(journal, (const struct disk_journal_part[]){
		{ DISK_PART_BOOT, sizeof(boot), boot },
		{ DISK_PART_EVENTS, sizeof(row_bytes), (const uint8_t *)&row_bytes },
		{ DISK_PART_RECORDS, (uint32_t)records.used, records.data },
	}, 3);
	disk_journal_close(journal);
	record_buf_fini(&records);
}

static void test_events_of_another_build_keep_their_numbers(void **state)
{
	static const struct { const char *name; uint64_t value; } rows[] = {
		{ "event.1.config", 2 }, { "event.1.cpu.0.delivered", BIG + 7 },
		{ "event.2.config", 5 }, { "event.2.freq", 99 },
		{ "event.3.cpu.0.delivered", 5 },
	};
	const struct profiler_hooks hooks = { .arg = NULL };
	const struct profiler_paths paths = { .memory = NULL };
	struct world *w = *state;
	struct capture *c = create_kept(w, "one", 1);
	struct budget *budget = profiler_budget_create();
	struct stats *stats = stats_create();
	struct profiler_image *image;
	struct profiler *profiler;
	struct err err = { "" };
	uint64_t value;

	assert_true(append_beside(c, 0, 3, 5, 0));
	capture_destroy(c);
	put_journal(w);
	close_world(w);
	open_world(w);
	assert_int_equal(profiler_read_image(w->pool, w->disk, "one", budget, &image, &err), 0);
	assert_string_equal(err.text, "");
	assert_int_equal(profiler_create_of_image(&hooks, &paths, image, &profiler, &err), 0);
	profiler_print_stats(profiler, stats);
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
		assert_int_equal(stats_find_u64(stats, rows[i].name, &value), 0);
		assert_int_equal(value, rows[i].value);
	}
	stats_destroy(stats);
	profiler_destroy(profiler);
	budget_destroy(budget);
}

/* ---- the directory ------------------------------------------------------------------------------- */

static void test_one_server_has_a_directory_of_its_own(void **state)
{
	struct world *w = *state;
	struct err err = { "" };
	struct disk *disk;

	assert_int_equal(disk_open(w->path, &disk, &err), -EBUSY);
	assert_non_null(strstr(err.text, "another kprofs has this directory"));
	assert_int_equal(chmod(w->path, 0750), 0);
	assert_int_equal(disk_open(w->path, &disk, &err), -EPERM);
	assert_int_equal(chmod(w->path, 0700), 0);
}

/* Files there may have the names of those that are replaced and removed. */
static void test_a_directory_with_other_files_is_refused(void **state)
{
	struct world *w = *state;
	g_autofree char *home = g_build_filename(w->path, "home", NULL);
	g_autofree char *file = g_build_filename(home, "new", NULL);
	struct err err = { "" };
	struct disk *disk;

	assert_int_equal(mkdir(home, 0700), 0);
	assert_true(g_file_set_contents(file, "mine", -1, NULL));
	assert_int_equal(disk_open(home, &disk, &err), -ENOTEMPTY);
	assert_non_null(strstr(err.text, "has other files"));
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(home), 0);
}

static void test_the_sum_is_of_all_bytes_in_any_steps(void **state)
{
	uint8_t data[1000];
	uint64_t sum;
	size_t i, at;

	(void)state;
	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	sum = disk_sum_of(data, sizeof(data));
	for (i = 1; i < 100; i += 7) {
		struct disk_sum steps = { .upto = 0 };

		for (at = i; at < sizeof(data); at += i)
			disk_sum_update(&steps, data, at);
		assert_int_equal(disk_sum_update(&steps, data, sizeof(data)), sum);
	}
	for (i = 0; i < sizeof(data); i++) {
		data[i] ^= 1;
		assert_int_not_equal(disk_sum_of(data, sizeof(data)), sum);
		data[i] ^= 1;
	}
	assert_int_not_equal(disk_sum_of(data, sizeof(data) - 1), sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_was_appended_is_read_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_packed_blocks_are_read_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_files_have_all_that_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_index_is_replaced_as_a_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_readers_need_no_space, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_was_cleared_or_forgotten_takes_no_space, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_files_are_left_out_and_counted, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_packed_blocks_too, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_block_that_was_being_packed_is_there_once, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_a_damaged_block_that_is_there_twice_is_read, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_entries_are_sorted_and_the_longer_one_is_first, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_an_index_without_a_header_is_damaged, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_of_what_was_loaded_the_beginning_is_kept, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_an_index_of_another_version_is_set_aside, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_events_of_another_build_keep_their_numbers, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_one_server_has_a_directory_of_its_own, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_a_directory_with_other_files_is_refused, set_up,
			tear_down),
		cmocka_unit_test(test_the_sum_is_of_all_bytes_in_any_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* prof/disk: files that are damaged, or of another version, are left out and counted, and nothing else is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "disk_fixture.h"
#include "prof/disk_index.h"
#include "prof/disk_journal.h"
#include "prof/profiler.h"
#include "rounds.h"

/* of each of two captures */
#define MUTATIONS 1000

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
	unsigned int seed = 5, i;
	size_t k;

	disk_journal_write(journal, &part, 1);
	disk_journal_append(journal, &part);
	disk_journal_append(journal, &part);
	disk_journal_close(journal);
	capture_destroy(c);
	close_world(w);
	for (k = 0; k < G_N_ELEMENTS(names); k++)
		get_file(w, &files[k], names[k]);
	for (i = 0; i < rounds(MUTATIONS); i++) {
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

/* ---- the journal ---------------------------------------------------------------------------------- */

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

/* Killed while it appended the last part: that is not damage, and the others are there. */
static void test_a_part_that_was_being_appended_is_unfinished(void **state)
{
	static const uint8_t bytes[50] = "names of processes";
	const struct disk_journal_part part = { DISK_PART_RECORDS, sizeof(bytes), bytes };
	GArray *parts = g_array_new(FALSE, FALSE, sizeof(struct disk_journal_part));
	struct world *w = *state;
	struct disk_journal *journal = disk_journal_create(w->disk, "one");
	struct file file = { .name = "" };
	size_t first, len;

	disk_journal_write(journal, &part, 1);
	get_file(w, &file, "journal:one");
	first = file.content.used;
	free_bytes(&file.content);
	disk_journal_append(journal, &part);
	disk_journal_close(journal);
	get_file(w, &file, "journal:one");
	for (len = first; len <= file.content.used; len++) {
		g_array_set_size(parts, 0);
		assert_int_equal(disk_journal_parse(file.content.data, len, parts),
			len == first || len == file.content.used ? DISK_JOURNAL_WHOLE :
								   DISK_JOURNAL_UNFINISHED);
		assert_int_equal(parts->len, len == file.content.used ? 2 : 1);
	}
	/* a changed bit anywhere in it, the length in its header too, is damage */
	for (len = first; len < file.content.used; len++) {
		g_array_set_size(parts, 0);
		file.content.data[len] ^= 0x40;
		assert_int_equal(disk_journal_parse(file.content.data, file.content.used, parts),
			DISK_JOURNAL_DAMAGED);
		assert_int_equal(parts->len, 1);
		file.content.data[len] ^= 0x40;
	}
	free_bytes(&file.content);
	g_array_free(parts, TRUE);
}

/* The same as it is counted for the session. */
static void test_what_is_unfinished_is_counted_apart(void **state)
{
	struct world *w = *state;
	struct capture *c = create_kept(w, "one", 1);
	struct budget *budget = profiler_budget_create();
	struct profiler_image *image;
	struct file file = { .name = "" };
	struct err err = { "" };

	capture_destroy(c);
	put_journal(w);
	get_file(w, &file, "journal:one");
	put_file(w, &file, file.content.data, file.content.used - 1);
	close_world(w);
	open_world(w);
	assert_int_equal(profiler_read_image(w->pool, w->disk, "one", budget, &image, &err), 0);
	assert_string_equal(err.text, "");
	profiler_image_free(image);
	assert_int_equal(count_of(w, "state.damaged"), 0);
	assert_int_equal(count_of(w, "state.unfinished"), 1);
	budget_destroy(budget);
	free_bytes(&file.content);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
		cmocka_unit_test_setup_teardown(test_a_part_that_was_being_appended_is_unfinished, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_unfinished_is_counted_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_events_of_another_build_keep_their_numbers, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

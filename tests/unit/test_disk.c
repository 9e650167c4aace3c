/* SPDX-License-Identifier: MIT */
/* prof/disk: a capture in files is read back as it was appended, whatever was left unfinished. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "disk_fixture.h"
#include "prof/disk_index.h"

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
		cmocka_unit_test_setup_teardown(test_one_server_has_a_directory_of_its_own, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_a_directory_with_other_files_is_refused, set_up,
			tear_down),
		cmocka_unit_test(test_the_sum_is_of_all_bytes_in_any_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

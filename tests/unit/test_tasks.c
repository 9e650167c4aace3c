/* SPDX-License-Identifier: MIT */
/*
 * prof/tasks: what readers are told of processes, when it is told, and how long it is kept. The last
 * test runs a small machine at random and asks readers of every age for the file behind each sample.
 */
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "told.h"

/* Anonymous and file mappings of pages of 0x1000 bytes. */
static void map(struct tasks *t, uint64_t time_ns, uint32_t pid, uint64_t page, uint64_t pages,
	const char *path)
{
	const struct tasks_mapping m = {
		.addr = page * 0x1000, .size = pages * 0x1000, .path = path
	};

	tasks_add_mapping(t, time_ns, pid, &m);
}

/* What a reader that asked at `since` is told now. */
static void check_told(struct tasks *t, int line, struct told *told, const char *expected)
{
	g_autoptr(GString) text = NULL;

	g_array_set_size(told->rows, 0);
	told_ask(told, t);
	text = told_text(told);
	if (strcmp(text->str, expected))
		fail_msg("line %d: told\n%sexpected\n%s", line, text->str, expected);
	assert_int_equal(told->stamp, tasks_stamp(t));
}

static void check_all_told(struct tasks *t, int line, const char *expected)
{
	struct told fresh;

	told_init(&fresh);
	check_told(t, line, &fresh, expected);
	told_fini(&fresh);
}

/* A drain in which one run was stored into block `newest`. */
static uint64_t runs;

static void drain(struct tasks *t, uint64_t newest, uint64_t oldest)
{
	tasks_settle(t, newest, ++runs, oldest);
}

/* Drains until all that ended before is forgotten where block `oldest` is the first held. */
static void drain_past(struct tasks *t, uint64_t seq)
{
	drain(t, seq - 1, 1);
	drain(t, seq - 1, 1);
	drain(t, seq, seq);
}

/* ---- what is told -------------------------------------------------------------------------------- */

static void test_walk_is_told_as_records(void **state)
{
	struct tasks *t = tasks_create();
	const uint8_t id[3] = { 1, 2, 3 };
	const struct tasks_mapping with_id = {
		.addr = 0x1000,
		.size = 0x2000,
		.offset = 0x3000,
		.path = "/bin/a",
		.build_id = id,
		.build_id_length = sizeof(id),
	};
	struct told reader;

	(void)state;
	told_init(&reader);
	check_told(t, __LINE__, &reader, "");
	tasks_add_process(t, 100, 42, 0, "/bin/a");
	tasks_add_thread(t, 101, 42, 42, "a");
	tasks_add_thread(t, 102, 42, 43, "worker");
	tasks_add_mapping(t, 103, 42, &with_id);
	check_told(t, __LINE__, &reader,
		"comm 101 42/42 a\ncomm 102 42/43 worker\nnew 100 42 /bin/a\n"
		"mmap 103 42 1000+2000 /bin/a\nid 103 42 1000 3\n");
	/* announced twice: nothing new */
	tasks_add_process(t, 200, 42, 0, "/bin/a");
	tasks_add_thread(t, 201, 42, 42, "a");
	tasks_add_mapping(t, 203, 42, &with_id);
	check_told(t, __LINE__, &reader, "");
	/* a thread without a process before it, as kernel threads have none */
	tasks_add_thread(t, 300, 2, 2, "kthreadd");
	check_told(t, __LINE__, &reader, "comm 300 2/2 kthreadd\n");
	map(t, 400, 42, 8, 1, "/lib/b");
	check_told(t, __LINE__, &reader, "mmap 400 42 8000+1000 /lib/b\n");
	told_fini(&reader);
	tasks_destroy(t);
}

static void test_fork_exec_and_exit_are_told(void **state)
{
	struct tasks *t = tasks_create();
	struct told reader;

	(void)state;
	told_init(&reader);
	tasks_add_process(t, 100, 10, 0, "/bin/sh");
	tasks_add_thread(t, 100, 10, 10, "sh");
	map(t, 100, 10, 1, 2, "/bin/sh");
	check_told(t, __LINE__, &reader,
		"comm 100 10/10 sh\nnew 100 10 /bin/sh\nmmap 100 10 1000+2000 /bin/sh\n");
	tasks_fork(t, 200, 11, 11, 10, 10);
	/* its mappings are its parent's, which are told */
	check_told(t, __LINE__, &reader,
		"fork 200 11/11 of 10/10\ncomm 200 11/11 sh\nnew 200 11 /bin/sh\n");
	tasks_comm(t, 300, 11, 11, "ls", true);
	map(t, 301, 11, 5, 1, "/bin/ls");
	map(t, 302, 11, 9, 1, "//anon");
	check_told(t, __LINE__, &reader,
		"fork 200 11/11 of 10/10\ncomm 300 11/11 ls\nnew 300 11 /bin/ls\n"
		"mmap 301 11 5000+1000 /bin/ls\nmmap 302 11 9000+1000 //anon\n");
	tasks_comm(t, 310, 11, 11, "renamed", false);
	check_told(t, __LINE__, &reader, "fork 200 11/11 of 10/10\ncomm 310 11/11 renamed\n");
	tasks_exit(t, 400, 11, 11, 10, 10);
	check_told(t, __LINE__, &reader,
		"fork 200 11/11 of 10/10\ncomm 310 11/11 renamed\nexit 400 11/11 of 10/10\n");
	/* of a process that is not known */
	tasks_exit(t, 500, 77, 77, 1, 1);
	check_told(t, __LINE__, &reader, "");
	told_fini(&reader);
	tasks_destroy(t);
}

/* A parent that is gone, or has other mappings since, does not tell the child's. */
static void test_child_of_a_gone_parent_keeps_its_mappings(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/sh");
	tasks_add_thread(t, 100, 10, 10, "sh");
	map(t, 100, 10, 1, 2, "/bin/sh");
	tasks_fork(t, 200, 11, 11, 10, 10);
	tasks_exit(t, 300, 10, 10, 1, 1);
	drain_past(t, 5);
	check_all_told(t, __LINE__,
		"fork 200 11/11 of 10/10\ncomm 200 11/11 sh\nnew 200 11 /bin/sh\n"
		"mmap 200 11 1000+2000 /bin/sh\n");
	/* and its own child in turn */
	tasks_fork(t, 400, 12, 12, 11, 11);
	tasks_exit(t, 500, 11, 11, 10, 10);
	drain_past(t, 9);
	check_all_told(t, __LINE__,
		"fork 400 12/12 of 11/11\ncomm 400 12/12 sh\nnew 400 12 /bin/sh\n"
		"mmap 400 12 1000+2000 /bin/sh\n");
	tasks_destroy(t);
}

static void test_mappings_of_parent_and_child_part(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/sh");
	map(t, 100, 10, 1, 1, "/bin/sh");
	tasks_fork(t, 200, 11, 11, 10, 10);
	map(t, 300, 10, 2, 1, "/lib/parent");
	map(t, 301, 11, 2, 1, "/lib/child");
	check_all_told(t, __LINE__,
		"new 100 10 /bin/sh\nmmap 100 10 1000+1000 /bin/sh\n"
		"mmap 300 10 2000+1000 /lib/parent\n"
		"fork 200 11/11 of 10/10\nnew 200 11 /bin/sh\nmmap 200 11 1000+1000 /bin/sh\n"
		"mmap 301 11 2000+1000 /lib/child\n");
	/* what the child maps over is the parent's still */
	map(t, 400, 11, 1, 1, "/lib/other");
	drain_past(t, 5);
	check_all_told(t, __LINE__,
		"new 100 10 /bin/sh\nmmap 100 10 1000+1000 /bin/sh\n"
		"mmap 300 10 2000+1000 /lib/parent\n"
		"fork 200 11/11 of 10/10\nnew 200 11 /bin/sh\n"
		"mmap 301 11 2000+1000 /lib/child\nmmap 400 11 1000+1000 /lib/other\n");
	assert_int_equal(tasks_bytes(t), 0);
	/* and is replaced there in its own time */
	map(t, 500, 10, 1, 1, "/lib/third");
	drain_past(t, 9);
	check_all_told(t, __LINE__,
		"fork 200 11/11 of 10/10\nnew 200 11 /bin/sh\n"
		"mmap 301 11 2000+1000 /lib/child\nmmap 400 11 1000+1000 /lib/other\n"
		"new 100 10 /bin/sh\nmmap 300 10 2000+1000 /lib/parent\n"
		"mmap 500 10 1000+1000 /lib/third\n");
	tasks_destroy(t);
}

/* The thread that was forked may end before its process: then no FORK says where mappings are. */
static void test_mappings_outlive_the_first_thread(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/sh");
	map(t, 100, 10, 1, 1, "/bin/sh");
	tasks_fork(t, 200, 11, 11, 10, 10);
	tasks_fork(t, 201, 11, 12, 11, 11);
	tasks_exit(t, 300, 11, 11, 10, 10);
	drain_past(t, 5);
	check_all_told(t, __LINE__,
		"new 100 10 /bin/sh\nmmap 100 10 1000+1000 /bin/sh\n"
		"fork 201 11/12 of 11/11\nnew 200 11 /bin/sh\nmmap 200 11 1000+1000 /bin/sh\n");
	tasks_destroy(t);
}

/* ---- in which order things become known ---------------------------------------------------------- */

/* A walk meets the child, then its fork is applied: it is one process, and keeps its mappings. */
static void test_child_met_before_its_fork_is_one_process(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 200, 11, 0, "/bin/ls");
	tasks_add_thread(t, 200, 11, 11, "ls");
	map(t, 200, 11, 1, 1, "/bin/ls");
	tasks_fork(t, 100, 11, 11, 10, 10); /* of a parent that the walk has not met yet */
	tasks_add_process(t, 201, 10, 0, "/bin/sh");
	check_all_told(t, __LINE__,
		"fork 100 11/11 of 10/10\ncomm 200 11/11 ls\nnew 200 11 /bin/ls\n"
		"mmap 200 11 1000+1000 /bin/ls\nnew 201 10 /bin/sh\n");
	/* one that was walked long before is another process */
	tasks_fork(t, 300, 11, 11, 10, 10);
	drain_past(t, 5);
	check_all_told(t, __LINE__,
		"new 201 10 /bin/sh\nfork 300 11/11 of 10/10\nnew 300 11 /bin/sh\n");
	tasks_destroy(t);
}

/* A process that was walked and never forked while we watched, whose pid comes again. */
static void test_reused_pid_met_by_a_walk_is_another_process(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 100, 1, 0, "/sbin/init");
	tasks_add_process(t, 200, 11, 0, "/bin/ls");
	map(t, 200, 11, 1, 1, "/bin/ls");
	tasks_fork(t, 300, 11, 11, 1, 1);
	drain_past(t, 5);
	check_all_told(t, __LINE__,
		"new 100 1 /sbin/init\nfork 300 11/11 of 1/1\nnew 300 11 /sbin/init\n");
	tasks_destroy(t);
}

/* Forked behind the walk by a process that the walk has not met yet: it must be visited too. */
static void test_child_of_an_unmet_parent_is_visited(void **state)
{
	struct tasks *t = tasks_create();
	uint32_t pid = 0;

	(void)state;
	tasks_add_process(t, 100, 1, 0, "/sbin/init");
	tasks_fork(t, 150, 7, 7, 1, 1);
	assert_false(tasks_take_orphan(t, &pid));
	tasks_fork(t, 200, 11, 11, 10, 10);
	tasks_fork(t, 210, 12, 12, 10, 10);
	tasks_add_process(t, 220, 12, 0, "/bin/met"); /* by the walk itself */
	assert_true(tasks_take_orphan(t, &pid));
	assert_int_equal(pid, 11);
	assert_false(tasks_take_orphan(t, &pid));
	tasks_destroy(t);
}

/* A path that becomes known late is no reason to tell what came by fork again. */
static void test_late_path_tells_nothing_again(void **state)
{
	struct tasks *t = tasks_create();
	struct told reader;

	(void)state;
	told_init(&reader);
	map(t, 100, 10, 1, 1, "//anon");
	tasks_fork(t, 200, 11, 11, 10, 10);
	map(t, 300, 10, 2, 1, "//anon");
	check_told(t, __LINE__, &reader,
		"fork 200 11/11 of 10/10\nmmap 200 11 1000+1000 //anon\n"
		"mmap 100 10 1000+1000 //anon\nmmap 300 10 2000+1000 //anon\n");
	tasks_add_process(t, 400, 11, 0, "/bin/x");
	check_told(t, __LINE__, &reader, "new 200 11 /bin/x\n");
	told_fini(&reader);
	tasks_destroy(t);
}

/* A fork older than the walk that met its parent's mappings: the child has them all the same. */
static void test_older_fork_inherits_walked_mappings(void **state)
{
	struct tasks *t = tasks_create();
	struct told reader;

	(void)state;
	told_init(&reader);
	tasks_add_process(t, 50, 10, 0, "/bin/sh");
	map(t, 201, 10, 1, 1, "/bin/sh");
	check_told(t, __LINE__, &reader, "new 50 10 /bin/sh\nmmap 201 10 1000+1000 /bin/sh\n");
	tasks_fork(t, 100, 11, 11, 10, 10);
	map(t, 202, 10, 2, 1, "/lib/x"); /* of the parent alone */
	check_told(t, __LINE__, &reader,
		"fork 100 11/11 of 10/10\nnew 100 11 /bin/sh\nmmap 100 11 1000+1000 /bin/sh\n"
		"mmap 202 10 2000+1000 /lib/x\n");
	told_fini(&reader);
	tasks_destroy(t);
}

/*
 * A fork older than the walk's meeting with the parent, which may have been another program then: what
 * the child has it tells when it is visited.
 */
static void test_fork_before_parent_was_met(void **state)
{
	struct tasks *t = tasks_create();
	struct told reader;
	uint32_t pid;

	(void)state;
	told_init(&reader);
	tasks_add_process(t, 200, 10, 0, "/bin/sh");
	map(t, 201, 10, 1, 1, "/bin/sh");
	check_told(t, __LINE__, &reader, "new 200 10 /bin/sh\nmmap 201 10 1000+1000 /bin/sh\n");
	tasks_fork(t, 100, 11, 11, 10, 10);
	tasks_fork(t, 101, 12, 12, 11, 11); /* its child's child likewise */
	check_told(t, __LINE__, &reader, "fork 100 11/11 of 10/10\nfork 101 12/12 of 11/11\n");
	assert_true(tasks_take_orphan(t, &pid));
	tasks_add_process(t, 300, pid, 0, "/bin/before");
	assert_true(tasks_take_orphan(t, &pid));
	tasks_add_process(t, 300, pid, 0, "/bin/before");
	assert_false(tasks_take_orphan(t, &pid));
	check_told(t, __LINE__, &reader,
		"new 100 11 /bin/before\nnew 101 12 /bin/before\n");
	told_fini(&reader);
	tasks_destroy(t);
}

/* An exec that perf lost: the walk that follows finds another program. */
static void test_walk_after_lost_exec(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/sh");
	map(t, 100, 10, 1, 1, "/bin/sh");
	tasks_add_process(t, 200, 10, 0, "/bin/ls");
	map(t, 200, 10, 7, 1, "/bin/ls");
	check_all_told(t, __LINE__,
		"new 100 10 /bin/sh\nmmap 100 10 1000+1000 /bin/sh\n"
		"new 200 10 /bin/ls\nmmap 200 10 7000+1000 /bin/ls\n");
	drain_past(t, 5);
	check_all_told(t, __LINE__, "new 200 10 /bin/ls\nmmap 200 10 7000+1000 /bin/ls\n");
	tasks_destroy(t);
}

static void test_reused_pid_is_another_process(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 10, 1, 0, "/sbin/init");
	tasks_fork(t, 100, 11, 11, 1, 1);
	tasks_exit(t, 200, 11, 11, 1, 1);
	tasks_fork(t, 300, 11, 11, 1, 1); /* again */
	tasks_comm(t, 310, 11, 11, "b", true);
	map(t, 311, 11, 1, 1, "/bin/b");
	tasks_fork(t, 400, 11, 11, 1, 1); /* and with the end missed */
	check_all_told(t, __LINE__,
		"new 10 1 /sbin/init\n"
		"fork 100 11/11 of 1/1\nnew 100 11 /sbin/init\nexit 200 11/11 of 1/1\n"
		"fork 300 11/11 of 1/1\ncomm 310 11/11 b\nnew 300 11 /sbin/init\nnew 310 11 /bin/b\n"
		"mmap 311 11 1000+1000 /bin/b\n"
		"fork 400 11/11 of 1/1\nnew 400 11 /sbin/init\n");
	drain_past(t, 5);
	check_all_told(t, __LINE__,
		"new 10 1 /sbin/init\nfork 400 11/11 of 1/1\nnew 400 11 /sbin/init\n");
	assert_int_equal(tasks_bytes(t), 0);
	tasks_destroy(t);
}

/* A tid that belongs to another process now: whoever had it has ended unseen. */
static void test_reused_tid_ends_its_former_thread(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/a");
	tasks_add_thread(t, 100, 10, 10, "a");
	tasks_add_thread(t, 100, 10, 50, "a1");
	tasks_add_process(t, 100, 20, 0, "/bin/b");
	tasks_add_thread(t, 100, 20, 20, "b");
	tasks_fork(t, 200, 20, 50, 20, 20);
	tasks_exit(t, 300, 20, 50, 20, 20);
	tasks_exit(t, 301, 10, 10, 1, 1); /* then it was the last */
	check_all_told(t, __LINE__,
		"comm 100 20/20 b\nfork 200 20/50 of 20/20\ncomm 200 20/50 b\nnew 100 20 /bin/b\n"
		"exit 300 20/50 of 20/20\ncomm 100 10/50 a1\ncomm 100 10/10 a\nnew 100 10 /bin/a\n"
		"exit 200 10/50 of 0/0\nexit 301 10/10 of 1/1\n");
	drain_past(t, 5);
	check_all_told(t, __LINE__, "comm 100 20/20 b\nnew 100 20 /bin/b\n");
	/* its only one: the process has ended with it */
	tasks_fork(t, 400, 30, 30, 20, 20);
	tasks_fork(t, 500, 40, 40, 1, 1);
	tasks_fork(t, 600, 40, 30, 40, 40);
	drain_past(t, 9);
	check_all_told(t, __LINE__,
		"comm 100 20/20 b\nnew 100 20 /bin/b\nfork 500 40/40 of 1/1\n"
		"fork 600 40/30 of 40/40\n");
	tasks_destroy(t);
}

/* An exec by another thread than the first: it takes the process's number, the others are gone. */
static void test_exec_of_a_thread_ends_the_others(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/a");
	tasks_add_thread(t, 100, 10, 10, "a");
	tasks_add_thread(t, 100, 10, 11, "b");
	tasks_add_thread(t, 100, 10, 12, "c");
	tasks_exit(t, 200, 10, 10, 1, 1);
	tasks_exit(t, 201, 10, 12, 1, 1);
	tasks_comm(t, 202, 10, 10, "new", true); /* tid 11 until now */
	map(t, 203, 10, 1, 1, "/bin/new");
	drain_past(t, 5);
	check_all_told(t, __LINE__,
		"comm 202 10/10 new\nnew 202 10 /bin/new\nmmap 203 10 1000+1000 /bin/new\n");
	tasks_exit(t, 300, 10, 10, 1, 1);
	drain_past(t, 9);
	check_all_told(t, __LINE__, "");
	assert_int_equal(tasks_bytes(t), 0);
	tasks_destroy(t);
}

/* ---- mappings ------------------------------------------------------------------------------------ */

struct over_row {
	int line;
	uint64_t page, pages;
	const char *path;
	const char *left; /* pages 0 to 9: whose they are once the blocks are gone, and what is told */
};

/* /a on pages 2 to 5, /b on 4 and 5 of it, then the row's */
static const struct over_row over_rows[] = {
	{ __LINE__, 7, 2, "/c", "/a /b /c" },
	{ __LINE__, 2, 4, "/c", "/c" },	   /* covers both */
	{ __LINE__, 0, 9, "/c", "/c" },
	{ __LINE__, 4, 2, "/c", "/a /c" }, /* the second alone */
	{ __LINE__, 3, 2, "/c", "/a /b /c" },
	{ __LINE__, 2, 4, "/a", "/a" },	   /* the first again, over the second: told again */
	{ __LINE__, 4, 2, "/b", "/a /b" }, /* the second again: nothing new */
	{ __LINE__, 4, 1, "/b", "/a /b /b" },
};

static void test_new_mapping_cuts_those_it_covers(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(over_rows) / sizeof(over_rows[0]); i++) {
		const struct over_row *row = &over_rows[i];
		struct tasks *t = tasks_create();
		g_autoptr(GString) left = g_string_new(NULL);
		struct told told;
		uint64_t page;
		guint j;

		tasks_add_process(t, 100, 10, 0, "/bin/a");
		map(t, 100, 10, 2, 4, "/a");
		map(t, 110, 10, 4, 2, "/b");
		map(t, 120, 10, row->page, row->pages, row->path);
		told_init(&told);
		told_ask(&told, t);
		for (page = row->page; page < row->page + row->pages; page++)
			assert_string_equal(told_find(&told, 10, 130, page * 0x1000), row->path);
		told_fini(&told);
		drain_past(t, 5);
		told_init(&told);
		told_ask(&told, t);
		for (j = 0; j < told.rows->len; j++)
			if (told_row(&told, j)->type == KPROF_REC_MMAP)
				g_string_append_printf(left, "%s%s", left->len ? " " : "",
					told_row(&told, j)->text);
		if (strcmp(left->str, row->left))
			fail_msg("line %d: %s are left", row->line, left->str);
		for (page = row->page; page < row->page + row->pages; page++)
			assert_string_equal(told_find(&told, 10, 130, page * 0x1000), row->path);
		told_fini(&told);
		tasks_destroy(t);
	}
}

/* The highest pages there are: no sum of address and size fits 64 bits. */
static void test_highest_addresses_do_not_wrap(void **state)
{
	const struct tasks_mapping top = {
		.addr = UINT64_MAX - 0xfff, .size = 0x1000, .path = "/top"
	};
	const struct tasks_mapping all = { .addr = 0, .size = UINT64_MAX, .path = "/all" };
	struct tasks *t = tasks_create();
	struct told told;

	(void)state;
	tasks_add_process(t, 1, 10, 0, "/bin/a");
	tasks_add_mapping(t, 2, 10, &top);
	tasks_add_mapping(t, 3, 10, &top);
	tasks_add_mapping(t, 4, 10, &all);
	tasks_add_mapping(t, 5, 10, &top);
	told_init(&told);
	told_ask(&told, t);
	assert_int_equal(told.rows->len, 4);
	told_fini(&told);
	tasks_destroy(t);
}

/* Code that is made anew for ever leaves room for the program itself. */
static void test_endless_mappings_leave_room_for_the_program(void **state)
{
	struct tasks *t = tasks_create();
	struct told told;
	bool found = false;
	guint i;

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/jit");
	map(t, 100, 10, 1, 1, "/bin/jit");
	/* far apart: none covers another */
	for (i = 0; i < 66000; i++) {
		map(t, 200 + i, 10, 100 + i * 2, 1, "//anon");
	}
	told_init(&told);
	told_ask(&told, t);
	for (i = 0; i < told.rows->len; i++)
		found |= told_row(&told, i)->type == KPROF_REC_MMAP &&
			 !strcmp(told_row(&told, i)->text, "/bin/jit");
	assert_true(found);
	assert_in_range(told.rows->len, 1000, 10000);
	told_fini(&told);
	tasks_destroy(t);
}

/* ---- how long it is kept ------------------------------------------------------------------------- */

/*
 * A process that ended is needed until the rings have been drained from where they stood after its
 * end, and then as long as the block that the last of that drain went into is held.
 */
static void test_ended_tasks_are_kept_as_long_as_needed(void **state)
{
	struct tasks *t = tasks_create();
	const char *all = "comm 100 10/10 a\nnew 100 10 /bin/a\nmmap 100 10 1000+1000 /bin/a\n"
			  "exit 200 10/10 of 1/1\n";

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/a");
	tasks_add_thread(t, 100, 10, 10, "a");
	map(t, 100, 10, 1, 1, "/bin/a");
	drain(t, 5, 1);
	tasks_exit(t, 200, 10, 10, 1, 1);
	/* its last sample came after the rings were looked at, so the next drain takes it: block 7 */
	drain(t, 6, 1);
	drain(t, 7, 1);
	assert_true(tasks_bytes(t) > 0);
	drain(t, 9, 6);
	check_all_told(t, __LINE__, all);
	drain(t, 9, 7);
	check_all_told(t, __LINE__, all);
	drain(t, 9, 8);
	check_all_told(t, __LINE__, "");
	assert_int_equal(tasks_bytes(t), 0);
	tasks_destroy(t);
}

/* What is kept for what is over is counted as it is: the queue's limit rests on it. */
static void test_bytes_of_ended_tasks_are_counted(void **state)
{
	struct tasks *t = tasks_create();
	uint64_t before;
	int i;

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/a");
	tasks_add_thread(t, 100, 10, 10, "a");
	for (i = 0; i <= 1000; i++)
		map(t, 200 + (uint64_t)i, 10, 1, 1, i % 2 ? "/lib/x" : "/lib/y");
	/* times, stamp, place, path and build-id of each at the least */
	assert_in_range(tasks_bytes(t), 1000 * 80, 1000 * 400);
	before = tasks_bytes(t);
	for (i = 0; i < 1000; i++)
		tasks_fork(t, 2000 + (uint64_t)i, 10, 100 + (uint32_t)i, 10, 10);
	assert_int_equal(tasks_bytes(t), before);
	for (i = 0; i < 1000; i++)
		tasks_exit(t, 4000 + (uint64_t)i, 10, 100 + (uint32_t)i, 10, 10);
	assert_in_range(tasks_bytes(t) - before, 1000 * 120, 1000 * 400);
	tasks_destroy(t);
}

/* What nothing stored can refer to is not kept: a full capture in mode discard stores nothing more. */
static void test_events_without_stored_samples_are_not_kept(void **state)
{
	struct tasks *t = tasks_create();
	uint32_t i;

	(void)state;
	tasks_add_process(t, 1, 1, 0, "/sbin/init");
	tasks_add_thread(t, 1, 1, 1, "init");
	map(t, 1, 1, 1, 1, "/sbin/init");
	runs = 10;
	tasks_settle(t, 3, runs, 1);
	for (i = 0; i < 100000; i++) {
		tasks_fork(t, 10 + i, 100 + i % 1000, 100 + i % 1000, 1, 1);
		tasks_comm(t, 10 + i, 100 + i % 1000, 100 + i % 1000, "x", true);
		map(t, 10 + i, 100 + i % 1000, 1, 1, "/bin/x");
		tasks_exit(t, 10 + i, 100 + i % 1000, 100 + i % 1000, 1, 1);
		/* and init's threads, programs and mappings that come and go */
		tasks_fork(t, 10 + i, 1, 2000 + i % 50, 1, 1);
		tasks_exit(t, 10 + i, 1, 2000 + i % 50, 1, 1);
		map(t, 10 + i, 1, 9, 1, i % 2 ? "/lib/x" : "/lib/y");
		if (i % 100 == 0)
			tasks_comm(t, 10 + i, 1, 1, "init", true);
		if (i % 10 == 0)
			tasks_settle(t, 3, runs, 1);
		assert_true(tasks_bytes(t) < 100000);
	}
	tasks_settle(t, 3, runs, 1);
	tasks_settle(t, 3, runs, 1);
	tasks_settle(t, 3, runs, 1);
	assert_true(tasks_bytes(t) < 2000); /* the program and mapping that init began with */
	tasks_destroy(t);
}

/* Short lives while samples are stored and blocks leave: as much as the blocks held can refer to. */
static void test_short_lives_are_kept_as_long_as_their_blocks(void **state)
{
	struct tasks *t = tasks_create();
	struct told told;
	uint64_t seq = 5;
	uint32_t i;

	(void)state;
	tasks_add_process(t, 1, 1, 0, "/sbin/init");
	map(t, 1, 1, 1, 1, "/sbin/init");
	for (i = 0; i < 100000; i++) {
		const uint32_t pid = 100 + i % 30000;

		tasks_fork(t, 10 + i, pid, pid, 1, 1);
		tasks_exit(t, 10 + i, pid, pid, 1, 1);
		if (i % 10 == 0)
			drain(t, seq, seq - 4); /* 4 blocks of 100 processes */
		if (i % 100 == 0)
			seq++;
		assert_true(tasks_bytes(t) < 600 * 2000);
	}
	drain_past(t, seq + 10);
	assert_int_equal(tasks_bytes(t), 0);
	told_init(&told);
	told_ask(&told, t);
	assert_int_equal(told.rows->len, 2);
	told_fini(&told);
	tasks_destroy(t);
}

/* A process whose threads come and go by the thousand: each event takes no longer than the first. */
static void test_many_threads_take_constant_time_each(void **state)
{
	struct tasks *t = tasks_create();
	struct told reader;
	uint32_t i;

	(void)state;
	told_init(&reader);
	tasks_add_process(t, 1, 1, 0, "/bin/server");
	tasks_add_thread(t, 1, 1, 1, "server");
	for (i = 0; i < 200000; i++) {
		tasks_fork(t, 10 + i, 1, 100 + i, 1, 1);
		tasks_exit(t, 10 + i, 1, 100 + i, 1, 1);
		if (i % 100 == 0) {
			drain(t, 5, 1);
			g_array_set_size(reader.rows, 0);
			told_ask(&reader, t);
			assert_true(reader.rows->len <= 100 * 3 + 3);
		}
	}
	drain_past(t, 9);
	assert_int_equal(tasks_bytes(t), 0);
	told_fini(&reader);
	tasks_destroy(t);
}

#define SECOND 1000000000ull

static void add_file(struct tasks *t, uint64_t time_ns, uint32_t pid, uint64_t addr, const char *path)
{
	const struct tasks_mapping mapping = { .addr = addr, .size = 0x1000, .path = path };

	tasks_add_mapping(t, time_ns, pid, &mapping);
}

/* Process 10 of a run's walk: as it is, with its library at `addr`. */
static void walk_ten(struct tasks *t, uint64_t time_ns, uint64_t start_ns, const char *path,
	uint64_t addr)
{
	tasks_begin_walk(t);
	tasks_add_process(t, time_ns, 10, start_ns, path);
	tasks_add_thread(t, time_ns, 10, 10, "a");
	add_file(t, time_ns, 10, 0x1000, path);
	add_file(t, time_ns, 10, addr, "/lib/c");
}

/* What a second walk finds as it was is not told again, and not one byte is kept for it. */
static void test_unchanged_tasks_are_told_once_for_two_runs(void **state)
{
	struct tasks *t = tasks_create();
	uint64_t time_ns = 100;
	struct told reader;
	int run;

	(void)state;
	told_init(&reader);
	walk_ten(t, time_ns, 5 * SECOND, "/bin/a", 0x8000);
	tasks_end_walk(t, time_ns);
	drain(t, 5, 1);
	check_told(t, __LINE__, &reader,
		"comm 100 10/10 a\nnew 100 10 /bin/a\n"
		"mmap 100 10 1000+1000 /bin/a\nmmap 100 10 8000+1000 /lib/c\n");
	for (run = 0; run < 50; run++) {
		time_ns += 100;
		/* a clock that counts in ticks, and another one beside it */
		walk_ten(t, time_ns, 5 * SECOND + (run % 20) * 1000000ull, "/bin/a", 0x8000);
		tasks_end_walk(t, time_ns);
		drain(t, 5, 2);
		check_told(t, __LINE__, &reader, "");
		assert_int_equal(tasks_bytes(t), 0);
	}
	told_fini(&reader);
	tasks_destroy(t);
}

/* What changed between two runs: a mapping, the program, the process itself; and what is gone. */
static void test_changes_between_two_runs_are_told(void **state)
{
	struct tasks *t = tasks_create();
	struct told reader;

	(void)state;
	told_init(&reader);
	walk_ten(t, 100, 5 * SECOND, "/bin/a", 0x8000);
	tasks_add_thread(t, 100, 10, 11, "second");
	tasks_add_process(t, 100, 20, 5 * SECOND, "/bin/b");
	tasks_end_walk(t, 100);
	drain(t, 5, 1);
	check_told(t, __LINE__, &reader,
		"comm 100 10/10 a\ncomm 100 10/11 second\nnew 100 10 /bin/a\n"
		"mmap 100 10 1000+1000 /bin/a\nmmap 100 10 8000+1000 /lib/c\n"
		"new 100 20 /bin/b\n");
	/* another place of its library, a thread less, and the other process is gone */
	walk_ten(t, 200, 5 * SECOND, "/bin/a", 0x9000);
	tasks_end_walk(t, 201);
	check_told(t, __LINE__, &reader,
		"comm 100 10/11 second\nmmap 200 10 9000+1000 /lib/c\nexit 201 10/11 of 0/0\n");
	drain_past(t, 9);
	check_all_told(t, __LINE__,
		"comm 100 10/10 a\nnew 100 10 /bin/a\n"
		"mmap 100 10 1000+1000 /bin/a\nmmap 200 10 9000+1000 /lib/c\n");
	/* an exec */
	walk_ten(t, 300, 5 * SECOND, "/bin/x", 0x9000);
	tasks_end_walk(t, 300);
	check_told(t, __LINE__, &reader,
		"new 300 10 /bin/x\nmmap 300 10 1000+1000 /bin/x\nmmap 300 10 9000+1000 /lib/c\n");
	/* the pid came again, of the same program at the same places */
	walk_ten(t, 400, 7 * SECOND, "/bin/x", 0x9000);
	tasks_end_walk(t, 400);
	check_told(t, __LINE__, &reader,
		"comm 400 10/10 a\nnew 400 10 /bin/x\n"
		"mmap 400 10 1000+1000 /bin/x\nmmap 400 10 9000+1000 /lib/c\n");
	/* and where nobody can tell whether it is the same */
	walk_ten(t, 500, 0, "/bin/x", 0x9000);
	tasks_end_walk(t, 500);
	check_told(t, __LINE__, &reader,
		"comm 500 10/10 a\nnew 500 10 /bin/x\n"
		"mmap 500 10 1000+1000 /bin/x\nmmap 500 10 9000+1000 /lib/c\n");
	told_fini(&reader);
	tasks_destroy(t);
}

/* A process that perf told of is the one that a later walk meets; another one with its pid is not. */
static void test_forked_process_is_the_one_walked_later(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_begin_walk(t);
	tasks_add_process(t, 1, 1, 1, "/sbin/init");
	tasks_end_walk(t, 1);
	tasks_fork(t, 9 * SECOND + 4000000, 30, 30, 1, 1);
	drain(t, 5, 1);
	tasks_begin_walk(t);
	tasks_add_process(t, 20 * SECOND, 1, 1, "/sbin/init");
	tasks_add_process(t, 20 * SECOND, 30, 9 * SECOND, "/sbin/init");
	tasks_add_thread(t, 20 * SECOND, 30, 30, "init");
	tasks_end_walk(t, 20 * SECOND);
	assert_int_equal(tasks_bytes(t), 0);
	tasks_begin_walk(t);
	tasks_add_process(t, 30 * SECOND, 1, 1, "/sbin/init");
	tasks_add_process(t, 30 * SECOND, 30, 25 * SECOND, "/sbin/init");
	tasks_end_walk(t, 30 * SECOND);
	assert_true(tasks_bytes(t) > 0);
	tasks_destroy(t);
}

static void test_clear_keeps_living_processes_only(void **state)
{
	struct tasks *t = tasks_create();
	struct told reader;

	(void)state;
	told_init(&reader);
	tasks_add_process(t, 100, 10, 0, "/bin/a");
	tasks_add_thread(t, 100, 10, 10, "a");
	drain(t, 5, 1);
	tasks_exit(t, 300, 10, 10, 1, 1);
	tasks_clear(t);
	check_all_told(t, __LINE__, "");
	assert_int_equal(tasks_bytes(t), 0);
	drain_past(t, 12);
	tasks_add_process(t, 400, 10, 0, "/bin/c");
	g_array_set_size(reader.rows, 0);
	check_told(t, __LINE__, &reader, "new 400 10 /bin/c\n");
	told_fini(&reader);
	tasks_destroy(t);
}

/* ---- build-ids that are found out later ------------------------------------------------------------ */

static void map_file(struct tasks *t, uint64_t time_ns, uint32_t pid, uint64_t page, uint64_t inode)
{
	const struct tasks_mapping m = {
		.addr = page * 0x1000, .size = 0x1000, .path = "/lib/a", .file = { 8, 1, inode, 7 },
	};

	tasks_add_mapping(t, time_ns, pid, &m);
}

/* One file is asked for once for all that have it; who was told of it is told again, also of the dead. */
static void test_build_ids_are_told_later(void **state)
{
	const uint8_t id[3] = { 1, 2, 3 };
	struct tasks *t = tasks_create();
	struct tasks_wanted *wanted;
	struct told reader;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	eventfd_t count;

	(void)state;
	told_init(&reader);
	map_file(t, 50, 5, 1, 9); /* nobody asks yet */
	assert_null(tasks_take_wanted(t));
	tasks_watch_wanted(t, fd);
	map_file(t, 100, 10, 1, 11);
	map_file(t, 101, 11, 2, 11);
	map_file(t, 102, 10, 3, 12);
	tasks_add_thread(t, 100, 10, 10, "a");
	assert_int_equal(eventfd_read(fd, &count), 0);
	tasks_exit(t, 110, 10, 10, 1, 1);
	told_ask(&reader, t);

	wanted = tasks_take_wanted(t);
	assert_non_null(wanted);
	assert_int_equal(wanted->file.inode, 11);
	assert_int_equal(wanted->pid, 10);
	assert_int_equal(wanted->time_ns, 100);
	assert_string_equal(wanted->path, "/lib/a");
	/* mapped meanwhile: the answer may be older than that, so it is asked for again */
	map_file(t, 120, 12, 4, 11);
	check_told(t, __LINE__, &reader, "new 120 12 /lib/a\nmmap 120 12 4000+1000 /lib/a\n"
		"file 120 12 4000 11 of 8:1 generation 7\n");
	tasks_settle_wanted(t, wanted, id, sizeof(id), false);
	check_told(t, __LINE__, &reader, "mmap 100 10 1000+1000 /lib/a\nid 100 10 1000 3\n"
		"mmap 101 11 2000+1000 /lib/a\nid 101 11 2000 3\n");

	wanted = tasks_take_wanted(t);
	assert_int_equal(wanted->file.inode, 12);
	tasks_settle_wanted(t, wanted, NULL, 0, true);
	assert_int_equal(tasks_missing_build_ids(t), 1);
	check_told(t, __LINE__, &reader, "");
	wanted = tasks_take_wanted(t);
	assert_int_equal(wanted->time_ns, 120);
	tasks_settle_wanted(t, wanted, NULL, 0, false); /* it has none */
	assert_int_equal(tasks_missing_build_ids(t), 1);
	assert_null(tasks_take_wanted(t));

	/* what waits is forgotten with the run, and is bounded */
	map_file(t, 130, 12, 5, 13);
	assert_true(tasks_has_wanted(t));
	tasks_watch_wanted(t, fd);
	assert_false(tasks_has_wanted(t));
	for (count = 0; count < 3000; count++)
		map_file(t, 200 + count, 12, 10 + count, 100 + count);
	assert_true(tasks_missing_build_ids(t) > 1);
	close(fd);
	told_fini(&reader);
	tasks_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk_is_told_as_records),
		cmocka_unit_test(test_fork_exec_and_exit_are_told),
		cmocka_unit_test(test_child_of_a_gone_parent_keeps_its_mappings),
		cmocka_unit_test(test_mappings_of_parent_and_child_part),
		cmocka_unit_test(test_mappings_outlive_the_first_thread),
		cmocka_unit_test(test_child_met_before_its_fork_is_one_process),
		cmocka_unit_test(test_reused_pid_met_by_a_walk_is_another_process),
		cmocka_unit_test(test_child_of_an_unmet_parent_is_visited),
		cmocka_unit_test(test_late_path_tells_nothing_again),
		cmocka_unit_test(test_older_fork_inherits_walked_mappings),
		cmocka_unit_test(test_fork_before_parent_was_met),
		cmocka_unit_test(test_walk_after_lost_exec),
		cmocka_unit_test(test_reused_pid_is_another_process),
		cmocka_unit_test(test_reused_tid_ends_its_former_thread),
		cmocka_unit_test(test_exec_of_a_thread_ends_the_others),
		cmocka_unit_test(test_new_mapping_cuts_those_it_covers),
		cmocka_unit_test(test_highest_addresses_do_not_wrap),
		cmocka_unit_test(test_endless_mappings_leave_room_for_the_program),
		cmocka_unit_test(test_ended_tasks_are_kept_as_long_as_needed),
		cmocka_unit_test(test_bytes_of_ended_tasks_are_counted),
		cmocka_unit_test(test_events_without_stored_samples_are_not_kept),
		cmocka_unit_test(test_short_lives_are_kept_as_long_as_their_blocks),
		cmocka_unit_test(test_many_threads_take_constant_time_each),
		cmocka_unit_test(test_unchanged_tasks_are_told_once_for_two_runs),
		cmocka_unit_test(test_changes_between_two_runs_are_told),
		cmocka_unit_test(test_forked_process_is_the_one_walked_later),
		cmocka_unit_test(test_clear_keeps_living_processes_only),
		cmocka_unit_test(test_build_ids_are_told_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

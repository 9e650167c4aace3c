/* SPDX-License-Identifier: MIT */
/*
 * prof/tasks: readers get the right records about processes in whichever order the facts become known.
 */
#include "tests/unit/tasks_fixture.h"

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
	struct task_stream reader;

	(void)state;
	task_stream_init(&reader);
	check_stream(t, __LINE__, &reader, "");
	tasks_add_process(t, 100, 42, 0, "/bin/a");
	tasks_add_thread(t, 101, 42, 42, "a");
	tasks_add_thread(t, 102, 42, 43, "worker");
	tasks_add_mapping(t, 103, 42, &with_id);
	check_stream(t, __LINE__, &reader,
		"comm 101 42/42 a\ncomm 102 42/43 worker\nnew 100 42 /bin/a\n"
		"mmap 103 42 1000+2000 /bin/a\nid 103 42 1000 3\n");
	/* announced twice: nothing new */
	tasks_add_process(t, 200, 42, 0, "/bin/a");
	tasks_add_thread(t, 201, 42, 42, "a");
	tasks_add_mapping(t, 203, 42, &with_id);
	check_stream(t, __LINE__, &reader, "");
	/* a thread without a process before it, as kernel threads have none */
	tasks_add_thread(t, 300, 2, 2, "kthreadd");
	check_stream(t, __LINE__, &reader, "comm 300 2/2 kthreadd\n");
	map(t, 400, 42, 8, 1, "/lib/b");
	check_stream(t, __LINE__, &reader, "mmap 400 42 8000+1000 /lib/b\n");
	task_stream_fini(&reader);
	tasks_destroy(t);
}

static void test_fork_exec_and_exit_are_told(void **state)
{
	struct tasks *t = tasks_create();
	struct task_stream reader;

	(void)state;
	task_stream_init(&reader);
	tasks_add_process(t, 100, 10, 0, "/bin/sh");
	tasks_add_thread(t, 100, 10, 10, "sh");
	map(t, 100, 10, 1, 2, "/bin/sh");
	check_stream(t, __LINE__, &reader,
		"comm 100 10/10 sh\nnew 100 10 /bin/sh\nmmap 100 10 1000+2000 /bin/sh\n");
	tasks_fork(t, 200, 11, 11, 10, 10);
	/* its mappings are its parent's, which are recorded */
	check_stream(t, __LINE__, &reader,
		"fork 200 11/11 of 10/10\ncomm 200 11/11 sh\nnew 200 11 /bin/sh\n");
	tasks_comm(t, 300, 11, 11, "ls", true);
	map(t, 301, 11, 5, 1, "/bin/ls");
	map(t, 302, 11, 9, 1, "//anon");
	check_stream(t, __LINE__, &reader,
		"fork 200 11/11 of 10/10\ncomm 300 11/11 ls\nnew 300 11 /bin/ls\n"
		"mmap 301 11 5000+1000 /bin/ls\nmmap 302 11 9000+1000 //anon\n");
	tasks_comm(t, 310, 11, 11, "renamed", false);
	check_stream(t, __LINE__, &reader, "fork 200 11/11 of 10/10\ncomm 310 11/11 renamed\n");
	tasks_exit(t, 400, 11, 11, 10, 10);
	check_stream(t, __LINE__, &reader,
		"fork 200 11/11 of 10/10\ncomm 310 11/11 renamed\nexit 400 11/11 of 10/10\n");
	/* of a process that is not known */
	tasks_exit(t, 500, 77, 77, 1, 1);
	check_stream(t, __LINE__, &reader, "");
	task_stream_fini(&reader);
	tasks_destroy(t);
}

/* The child's records do not depend on a parent that is gone or has other mappings since. */
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
	check_whole_stream(t, __LINE__,
		"fork 200 11/11 of 10/10\ncomm 200 11/11 sh\nnew 200 11 /bin/sh\n"
		"mmap 200 11 1000+2000 /bin/sh\n");
	/* and its own child in turn */
	tasks_fork(t, 400, 12, 12, 11, 11);
	tasks_exit(t, 500, 11, 11, 10, 10);
	drain_past(t, 9);
	check_whole_stream(t, __LINE__,
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
	check_whole_stream(t, __LINE__,
		"new 100 10 /bin/sh\nmmap 100 10 1000+1000 /bin/sh\n"
		"mmap 300 10 2000+1000 /lib/parent\n"
		"fork 200 11/11 of 10/10\nnew 200 11 /bin/sh\nmmap 200 11 1000+1000 /bin/sh\n"
		"mmap 301 11 2000+1000 /lib/child\n");
	/* what the child maps over is the parent's still */
	map(t, 400, 11, 1, 1, "/lib/other");
	drain_past(t, 5);
	check_whole_stream(t, __LINE__,
		"new 100 10 /bin/sh\nmmap 100 10 1000+1000 /bin/sh\n"
		"mmap 300 10 2000+1000 /lib/parent\n"
		"fork 200 11/11 of 10/10\nnew 200 11 /bin/sh\n"
		"mmap 301 11 2000+1000 /lib/child\nmmap 400 11 1000+1000 /lib/other\n");
	assert_int_equal(tasks_bytes(t), 0);
	/* and is replaced there in its own time */
	map(t, 500, 10, 1, 1, "/lib/third");
	drain_past(t, 9);
	check_whole_stream(t, __LINE__,
		"fork 200 11/11 of 10/10\nnew 200 11 /bin/sh\n"
		"mmap 301 11 2000+1000 /lib/child\nmmap 400 11 1000+1000 /lib/other\n"
		"new 100 10 /bin/sh\nmmap 300 10 2000+1000 /lib/parent\n"
		"mmap 500 10 1000+1000 /lib/third\n");
	tasks_destroy(t);
}

/* The forked thread may end before its process. Then no FORK leads to the mappings. */
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
	check_whole_stream(t, __LINE__,
		"new 100 10 /bin/sh\nmmap 100 10 1000+1000 /bin/sh\n"
		"fork 201 11/12 of 11/11\nnew 200 11 /bin/sh\nmmap 200 11 1000+1000 /bin/sh\n");
	tasks_destroy(t);
}

/* ---- in which order things become known ---------------------------------------------------------- */

/* A walk meets the child before its fork is applied: it is one process, and keeps its mappings. */
static void test_child_met_before_its_fork_is_one_process(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 200, 11, 0, "/bin/ls");
	tasks_add_thread(t, 200, 11, 11, "ls");
	map(t, 200, 11, 1, 1, "/bin/ls");
	tasks_fork(t, 100, 11, 11, 10, 10); /* of a parent that the walk has not met yet */
	tasks_add_process(t, 201, 10, 0, "/bin/sh");
	check_whole_stream(t, __LINE__,
		"fork 100 11/11 of 10/10\ncomm 200 11/11 ls\nnew 200 11 /bin/ls\n"
		"mmap 200 11 1000+1000 /bin/ls\nnew 201 10 /bin/sh\n");
	/* one that was walked long before is another process */
	tasks_fork(t, 300, 11, 11, 10, 10);
	drain_past(t, 5);
	check_whole_stream(t, __LINE__,
		"new 201 10 /bin/sh\nfork 300 11/11 of 10/10\nnew 300 11 /bin/sh\n");
	tasks_destroy(t);
}

/* A process that was walked and whose fork was not recorded, whose pid is reused. */
static void test_reused_pid_met_by_a_walk_is_another_process(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 100, 1, 0, "/sbin/init");
	tasks_add_process(t, 200, 11, 0, "/bin/ls");
	map(t, 200, 11, 1, 1, "/bin/ls");
	tasks_fork(t, 300, 11, 11, 1, 1);
	drain_past(t, 5);
	check_whole_stream(t, __LINE__,
		"new 100 1 /sbin/init\nfork 300 11/11 of 1/1\nnew 300 11 /sbin/init\n");
	tasks_destroy(t);
}

/* Forked by a process that the walk has not met yet: it must be visited too. */
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

/* A path that becomes known late does not repeat the records that came by fork. */
static void test_late_path_tells_nothing_again(void **state)
{
	struct tasks *t = tasks_create();
	struct task_stream reader;

	(void)state;
	task_stream_init(&reader);
	map(t, 100, 10, 1, 1, "//anon");
	tasks_fork(t, 200, 11, 11, 10, 10);
	map(t, 300, 10, 2, 1, "//anon");
	check_stream(t, __LINE__, &reader,
		"fork 200 11/11 of 10/10\nmmap 200 11 1000+1000 //anon\n"
		"mmap 100 10 1000+1000 //anon\nmmap 300 10 2000+1000 //anon\n");
	tasks_add_process(t, 400, 11, 0, "/bin/x");
	check_stream(t, __LINE__, &reader, "new 200 11 /bin/x\n");
	task_stream_fini(&reader);
	tasks_destroy(t);
}

/* A fork older than the walk that met its parent's mappings: the child still has them. */
static void test_older_fork_inherits_walked_mappings(void **state)
{
	struct tasks *t = tasks_create();
	struct task_stream reader;

	(void)state;
	task_stream_init(&reader);
	tasks_add_process(t, 50, 10, 0, "/bin/sh");
	map(t, 201, 10, 1, 1, "/bin/sh");
	check_stream(t, __LINE__, &reader, "new 50 10 /bin/sh\nmmap 201 10 1000+1000 /bin/sh\n");
	tasks_fork(t, 100, 11, 11, 10, 10);
	map(t, 202, 10, 2, 1, "/lib/x"); /* of the parent alone */
	check_stream(t, __LINE__, &reader,
		"fork 100 11/11 of 10/10\nnew 100 11 /bin/sh\nmmap 100 11 1000+1000 /bin/sh\n"
		"mmap 202 10 2000+1000 /lib/x\n");
	task_stream_fini(&reader);
	tasks_destroy(t);
}

/*
 * A fork older than the walk's visit of the parent, which may have run another program then: the
 * child's mappings are recorded when it is visited.
 */
static void test_fork_before_parent_was_met(void **state)
{
	struct tasks *t = tasks_create();
	struct task_stream reader;
	uint32_t pid;

	(void)state;
	task_stream_init(&reader);
	tasks_add_process(t, 200, 10, 0, "/bin/sh");
	map(t, 201, 10, 1, 1, "/bin/sh");
	check_stream(t, __LINE__, &reader, "new 200 10 /bin/sh\nmmap 201 10 1000+1000 /bin/sh\n");
	tasks_fork(t, 100, 11, 11, 10, 10);
	tasks_fork(t, 101, 12, 12, 11, 11); /* its child's child likewise */
	check_stream(t, __LINE__, &reader, "fork 100 11/11 of 10/10\nfork 101 12/12 of 11/11\n");
	assert_true(tasks_take_orphan(t, &pid));
	tasks_add_process(t, 300, pid, 0, "/bin/before");
	assert_true(tasks_take_orphan(t, &pid));
	tasks_add_process(t, 300, pid, 0, "/bin/before");
	assert_false(tasks_take_orphan(t, &pid));
	check_stream(t, __LINE__, &reader,
		"new 100 11 /bin/before\nnew 101 12 /bin/before\n");
	task_stream_fini(&reader);
	tasks_destroy(t);
}

/* An exec that perf lost: the walk that follows finds another program. */
static void test_walk_after_a_lost_exec_replaces_mappings(void **state)
{
	struct tasks *t = tasks_create();

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/sh");
	map(t, 100, 10, 1, 1, "/bin/sh");
	tasks_add_process(t, 200, 10, 0, "/bin/ls");
	map(t, 200, 10, 7, 1, "/bin/ls");
	check_whole_stream(t, __LINE__,
		"new 100 10 /bin/sh\nmmap 100 10 1000+1000 /bin/sh\n"
		"new 200 10 /bin/ls\nmmap 200 10 7000+1000 /bin/ls\n");
	drain_past(t, 5);
	check_whole_stream(t, __LINE__, "new 200 10 /bin/ls\nmmap 200 10 7000+1000 /bin/ls\n");
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
	tasks_fork(t, 400, 11, 11, 1, 1); /* and its end was not recorded */
	check_whole_stream(t, __LINE__,
		"new 10 1 /sbin/init\n"
		"fork 100 11/11 of 1/1\nnew 100 11 /sbin/init\nexit 200 11/11 of 1/1\n"
		"fork 300 11/11 of 1/1\ncomm 310 11/11 b\nnew 300 11 /sbin/init\nnew 310 11 /bin/b\n"
		"mmap 311 11 1000+1000 /bin/b\n"
		"fork 400 11/11 of 1/1\nnew 400 11 /sbin/init\n");
	drain_past(t, 5);
	check_whole_stream(t, __LINE__,
		"new 10 1 /sbin/init\nfork 400 11/11 of 1/1\nnew 400 11 /sbin/init\n");
	assert_int_equal(tasks_bytes(t), 0);
	tasks_destroy(t);
}

/* A tid that belongs to another process now: the thread that had it has ended unrecorded. */
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
	check_whole_stream(t, __LINE__,
		"comm 100 20/20 b\nfork 200 20/50 of 20/20\ncomm 200 20/50 b\nnew 100 20 /bin/b\n"
		"exit 300 20/50 of 20/20\ncomm 100 10/50 a1\ncomm 100 10/10 a\nnew 100 10 /bin/a\n"
		"exit 200 10/50 of 0/0\nexit 301 10/10 of 1/1\n");
	drain_past(t, 5);
	check_whole_stream(t, __LINE__, "comm 100 20/20 b\nnew 100 20 /bin/b\n");
	/* its only one: the process has ended with it */
	tasks_fork(t, 400, 30, 30, 20, 20);
	tasks_fork(t, 500, 40, 40, 1, 1);
	tasks_fork(t, 600, 40, 30, 40, 40);
	drain_past(t, 9);
	check_whole_stream(t, __LINE__,
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
	check_whole_stream(t, __LINE__,
		"comm 202 10/10 new\nnew 202 10 /bin/new\nmmap 203 10 1000+1000 /bin/new\n");
	tasks_exit(t, 300, 10, 10, 1, 1);
	drain_past(t, 9);
	check_whole_stream(t, __LINE__, "");
	assert_int_equal(tasks_bytes(t), 0);
	tasks_destroy(t);
}

/* ---- mappings ------------------------------------------------------------------------------------ */

struct over_row {
	int line;
	uint64_t page, pages;
	const char *path;
	const char *left; /* pages 0 to 9: the file of each once the blocks are gone, and the records */
};

/* /a on pages 2 to 5, /b on 4 and 5 of it, then the row's */
static const struct over_row over_rows[] = {
	{ __LINE__, 7, 2, "/c", "/a /b /c" },
	{ __LINE__, 2, 4, "/c", "/c" },	   /* covers both */
	{ __LINE__, 0, 9, "/c", "/c" },
	{ __LINE__, 4, 2, "/c", "/a /c" }, /* the second alone */
	{ __LINE__, 3, 2, "/c", "/a /b /c" },
	{ __LINE__, 2, 4, "/a", "/a" },	   /* the first again, over the second: recorded again */
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
		struct task_stream stream;
		uint64_t page;
		guint j;

		tasks_add_process(t, 100, 10, 0, "/bin/a");
		map(t, 100, 10, 2, 4, "/a");
		map(t, 110, 10, 4, 2, "/b");
		map(t, 120, 10, row->page, row->pages, row->path);
		task_stream_init(&stream);
		task_stream_read(&stream, t);
		for (page = row->page; page < row->page + row->pages; page++)
			assert_string_equal(task_stream_find(&stream, 10, 130, page * 0x1000), row->path);
		task_stream_fini(&stream);
		drain_past(t, 5);
		task_stream_init(&stream);
		task_stream_read(&stream, t);
		for (j = 0; j < stream.rows->len; j++)
			if (task_stream_row(&stream, j)->type == KPROF_REC_MMAP)
				g_string_append_printf(left, "%s%s", left->len ? " " : "",
					task_stream_row(&stream, j)->text);
		if (strcmp(left->str, row->left))
			fail_msg("line %d: %s are left", row->line, left->str);
		for (page = row->page; page < row->page + row->pages; page++)
			assert_string_equal(task_stream_find(&stream, 10, 130, page * 0x1000), row->path);
		task_stream_fini(&stream);
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
	struct task_stream stream;

	(void)state;
	tasks_add_process(t, 1, 10, 0, "/bin/a");
	tasks_add_mapping(t, 2, 10, &top);
	tasks_add_mapping(t, 3, 10, &top);
	tasks_add_mapping(t, 4, 10, &all);
	tasks_add_mapping(t, 5, 10, &top);
	task_stream_init(&stream);
	task_stream_read(&stream, t);
	assert_int_equal(stream.rows->len, 4);
	task_stream_fini(&stream);
	tasks_destroy(t);
}

/* A program that makes code without end keeps the mapping of its own file. */
static void test_endless_mappings_leave_room_for_the_program(void **state)
{
	struct tasks *t = tasks_create();
	struct task_stream stream;
	bool found = false;
	guint i;

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/jit");
	map(t, 100, 10, 1, 1, "/bin/jit");
	/* far apart: none covers another */
	for (i = 0; i < 66000; i++) {
		map(t, 200 + i, 10, 100 + i * 2, 1, "//anon");
	}
	task_stream_init(&stream);
	task_stream_read(&stream, t);
	for (i = 0; i < stream.rows->len; i++)
		found |= task_stream_row(&stream, i)->type == KPROF_REC_MMAP &&
			 !strcmp(task_stream_row(&stream, i)->text, "/bin/jit");
	assert_true(found);
	assert_in_range(stream.rows->len, 1000, 10000);
	task_stream_fini(&stream);
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

/*
 * One file is requested once for all processes that map it. A reader that has its record gets a new
 * one, also for ended processes.
 */
static void test_build_ids_are_told_later(void **state)
{
	const uint8_t id[3] = { 1, 2, 3 };
	struct tasks *t = tasks_create();
	struct tasks_wanted *wanted;
	struct task_stream reader;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	eventfd_t count;

	(void)state;
	task_stream_init(&reader);
	map_file(t, 50, 5, 1, 9); /* not requested yet */
	assert_null(tasks_take_wanted(t));
	tasks_watch_wanted(t, fd);
	map_file(t, 100, 10, 1, 11);
	map_file(t, 101, 11, 2, 11);
	map_file(t, 102, 10, 3, 12);
	tasks_add_thread(t, 100, 10, 10, "a");
	assert_int_equal(eventfd_read(fd, &count), 0);
	tasks_exit(t, 110, 10, 10, 1, 1);
	task_stream_read(&reader, t);

	wanted = tasks_take_wanted(t);
	assert_non_null(wanted);
	assert_int_equal(wanted->file.inode, 11);
	assert_int_equal(wanted->pid, 10);
	assert_int_equal(wanted->time_ns, 100);
	assert_string_equal(wanted->path, "/lib/a");
	/* mapped meanwhile: the reply may be older than that, so it is requested again */
	map_file(t, 120, 12, 4, 11);
	check_stream(t, __LINE__, &reader, "new 120 12 /lib/a\nmmap 120 12 4000+1000 /lib/a\n"
		"file 120 12 4000 11 of 8:1 generation 7\n");
	tasks_settle_wanted(t, wanted, id, sizeof(id), false);
	check_stream(t, __LINE__, &reader, "mmap 100 10 1000+1000 /lib/a\nid 100 10 1000 3\n"
		"mmap 101 11 2000+1000 /lib/a\nid 101 11 2000 3\n");

	wanted = tasks_take_wanted(t);
	assert_int_equal(wanted->file.inode, 12);
	tasks_settle_wanted(t, wanted, NULL, 0, true);
	assert_int_equal(tasks_missing_build_ids(t), 1);
	check_stream(t, __LINE__, &reader, "");
	wanted = tasks_take_wanted(t);
	assert_int_equal(wanted->time_ns, 120);
	wanted->file.size = 77;
	wanted->file.mtime_ns = 88;
	tasks_settle_wanted(t, wanted, NULL, 0, false); /* it has none */
	assert_int_equal(tasks_missing_build_ids(t), 1);
	check_stream(t, __LINE__, &reader, "mmap 120 12 4000+1000 /lib/a\n"
		"file 120 12 4000 11 of 8:1 generation 7 size 77 time 88\n");
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
	task_stream_fini(&reader);
	tasks_destroy(t);
}

/* A part of a capture announces the processes of its samples, with their ancestors, and no others. */
static void test_processes_of_a_part_are_told_with_their_ancestors(void **state)
{
	struct tasks *t = tasks_create();
	GHashTable *pids = g_hash_table_new(NULL, NULL);
	struct task_stream stream;
	g_autoptr(GString) text = NULL;
	struct record_buf buf;
	struct decoded r;
	size_t at = 0;

	(void)state;
	tasks_add_process(t, 100, 10, 0, "/bin/sh");
	map(t, 100, 10, 1, 2, "/bin/sh");
	tasks_add_process(t, 100, 20, 0, "/bin/other");
	map(t, 100, 20, 1, 2, "/bin/other");
	tasks_fork(t, 200, 11, 11, 10, 10);
	tasks_fork(t, 210, 12, 12, 11, 11);
	tasks_fork(t, 220, 13, 13, 10, 10);
	g_hash_table_add(pids, GUINT_TO_POINTER(12));
	record_buf_init(&buf);
	tasks_encode_of(t, pids, &buf);
	task_stream_init(&stream);
	while (decode_next(buf.data, buf.used, &at, &r))
		task_stream_add(&stream, &r);
	text = task_stream_text(&stream);
	assert_non_null(strstr(text->str, "mmap 100 10 1000+2000 /bin/sh\n")); /* 12 has it from there */
	assert_non_null(strstr(text->str, "fork 200 11/11 of 10/10\n"));
	assert_non_null(strstr(text->str, "fork 210 12/12 of 11/11\n"));
	assert_null(strstr(text->str, "13/13"));
	assert_null(strstr(text->str, "/bin/other"));
	task_stream_fini(&stream);
	record_buf_fini(&buf);
	g_hash_table_destroy(pids);
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
		cmocka_unit_test(test_walk_after_a_lost_exec_replaces_mappings),
		cmocka_unit_test(test_reused_pid_is_another_process),
		cmocka_unit_test(test_reused_tid_ends_its_former_thread),
		cmocka_unit_test(test_exec_of_a_thread_ends_the_others),
		cmocka_unit_test(test_new_mapping_cuts_those_it_covers),
		cmocka_unit_test(test_highest_addresses_do_not_wrap),
		cmocka_unit_test(test_endless_mappings_leave_room_for_the_program),
		cmocka_unit_test(test_build_ids_are_told_later),
		cmocka_unit_test(test_processes_of_a_part_are_told_with_their_ancestors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

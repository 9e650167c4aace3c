/* SPDX-License-Identifier: MIT */
/*
 * prof/tasks_users and capture/processes: the real user that a process had at a time, in whichever order
 * walks, reports of the kernel and records of perf come.
 */
#include "capture/processes.h"
#include "tests/unit/tasks_fixture.h"

/* When the process began. */
#define STARTED 50

/* What a reader of all records finds. */
static uint32_t user_in(struct tasks *t, uint32_t pid, uint64_t time_ns)
{
	struct processes *processes = processes_create();
	struct task_stream stream;
	uint32_t uid;

	task_stream_init(&stream);
	task_stream_read(&stream, t);
	for (guint i = 0; i < stream.rows->len; i++) {
		const struct task_stream_row *r = task_stream_row(&stream, i);
		const struct kprof_rec_user user = { r->time_ns, r->pid, r->tid };
		const struct kprof_rec_new_process program = { r->time_ns, r->pid };
		const struct kprof_rec_fork fork = {
			r->time_ns, r->pid, r->tid, r->parent_pid, r->parent_tid
		};

		if (r->type == KPROF_REC_USER)
			processes_add_user(processes, 0, &user);
		else if (r->type == KPROF_REC_FORK)
			processes_add_fork(processes, 0, &fork);
		else if (r->type == KPROF_REC_NEW_PROCESS)
			processes_add_program(processes, 0, &program, r->text);
	}
	task_stream_fini(&stream);
	processes_finish(processes);
	uid = processes_user(processes, processes_find_life(processes, 0, pid, time_ns), time_ns);
	processes_destroy(processes);
	return uid;
}

static void check_user(struct tasks *t, int line, uint32_t pid, uint64_t time_ns, uint32_t expected)
{
	const uint32_t uid = user_in(t, pid, time_ns);

	if (uid != expected)
		fail_msg("line %d: process %u has user %u at %d", line, pid, uid, (int)time_ns);
}

static struct tasks *create_walked(void)
{
	struct tasks *t = tasks_create();

	tasks_begin_walk(t);
	tasks_add_process(t, 100, 10, STARTED, "/bin/a");
	tasks_add_thread(t, 100, 10, 10, "a");
	tasks_add_user(t, 100, 10, STARTED, 0);
	tasks_end_walk(t, 110);
	return t;
}

static void test_each_change_is_told_once(void **state)
{
	struct tasks *t = create_walked();
	struct task_stream reader;

	task_stream_init(&reader);
	check_stream(t, __LINE__, &reader, "comm 100 10/10 a\nuser 100 10 0\nnew 100 10 /bin/a\n");
	tasks_user_changed(t, 200, 10, 33);
	check_stream(t, __LINE__, &reader, "user 200 10 33\n");
	tasks_user_changed(t, 210, 10, 33); /* another id changed */
	tasks_add_user(t, 220, 10, STARTED, 33);
	check_stream(t, __LINE__, &reader, "");
	check_user(t, __LINE__, 10, 50, 0); /* before the walk */
	check_user(t, __LINE__, 10, 199, 0);
	check_user(t, __LINE__, 10, 200, 33);
	check_user(t, __LINE__, 11, 200, PROCESSES_NO_USER);
	task_stream_fini(&reader);
	tasks_destroy(t);
}

static void test_child_has_the_user_of_its_parent_at_the_fork(void **state)
{
	const struct tasks_mapping of_b = { .addr = 0x1000, .size = 0x1000, .path = "/bin/b" };
	struct tasks *t = create_walked();

	tasks_fork(t, 200, 11, 11, 10, 10);
	tasks_user_changed(t, 300, 10, 33);
	tasks_fork(t, 400, 12, 12, 10, 10);
	tasks_comm(t, 450, 12, 12, "b", true); /* an exec changes no user */
	tasks_add_mapping(t, 451, 12, &of_b);
	tasks_user_changed(t, 500, 12, 44);
	check_user(t, __LINE__, 11, 250, 0);
	check_user(t, __LINE__, 11, 350, 0);
	check_user(t, __LINE__, 12, 410, 33);
	check_user(t, __LINE__, 12, 460, 33);
	check_user(t, __LINE__, 12, 500, 44);
	tasks_destroy(t);
}

static void test_report_may_come_after_the_fork_and_the_end_of_the_parent(void **state)
{
	struct tasks *t = create_walked();

	tasks_fork(t, 300, 11, 11, 10, 10);
	tasks_exit(t, 310, 10, 10, 1, 1);
	tasks_user_changed(t, 200, 11, 99); /* of an earlier process with this number, that was not known */
	check_user(t, __LINE__, 11, 305, 0);
	tasks_destroy(t);

	t = create_walked();
	tasks_fork(t, 300, 11, 11, 10, 10);
	tasks_user_changed(t, 200, 10, 33);
	tasks_exit(t, 310, 10, 10, 1, 1);
	check_user(t, __LINE__, 11, 305, 33);
	drain_past(t, 12);
	drain_past(t, 13);
	check_user(t, __LINE__, 10, 300, PROCESSES_NO_USER); /* it is forgotten */
	check_user(t, __LINE__, 11, 305, 33);
	tasks_destroy(t);
}

static void test_report_may_come_before_the_fork(void **state)
{
	struct tasks *t = create_walked();

	tasks_user_changed(t, 350, 11, 33);
	tasks_fork(t, 300, 11, 11, 10, 10);
	check_user(t, __LINE__, 11, 320, 0);
	check_user(t, __LINE__, 11, 360, 33);
	tasks_destroy(t);
}

/* A number is used again: a change of the process that had it before says nothing about the next one. */
static void test_earlier_process_with_the_number_does_not_count(void **state)
{
	struct tasks *t = create_walked();

	/* the process ended before its change was told */
	tasks_fork(t, 200, 11, 11, 10, 10);
	tasks_exit(t, 220, 11, 11, 10, 10);
	tasks_user_changed(t, 210, 11, 33);
	tasks_fork(t, 300, 11, 11, 10, 10);
	check_user(t, __LINE__, 11, 310, 0);
	/* it is the parent of others, and gets the same user later */
	tasks_fork(t, 320, 12, 12, 11, 11);
	tasks_user_changed(t, 350, 11, 33);
	check_user(t, __LINE__, 11, 340, 0);
	check_user(t, __LINE__, 11, 360, 33);
	check_user(t, __LINE__, 12, 360, 0);
	/* its record is its own when its parent is forgotten */
	tasks_exit(t, 400, 11, 11, 10, 10);
	drain_past(t, 12);
	drain_past(t, 13);
	check_user(t, __LINE__, 12, 360, 0);
	tasks_destroy(t);

	/* of one that no fork tells */
	t = create_walked();
	tasks_user_changed(t, 210, 11, 33);
	drain_past(t, 12);
	tasks_comm(t, 300, 11, 11, "b", false);
	check_user(t, __LINE__, 11, 310, PROCESSES_NO_USER);
	assert_int_equal(tasks_users_dropped(t), 0);
	tasks_destroy(t);
}

/* The walk reads /proc before it adds, so what it has may be older than a report. */
static void test_reports_are_right_where_a_walk_differs(void **state)
{
	struct tasks *t = create_walked();

	tasks_begin_walk(t);
	tasks_user_changed(t, 200, 10, 33);
	tasks_add_process(t, 210, 10, STARTED, "/bin/a");
	tasks_add_user(t, 210, 10, STARTED, 0);
	check_user(t, __LINE__, 10, 300, 33);
	tasks_destroy(t);

	t = create_walked();
	tasks_begin_walk(t);
	tasks_add_process(t, 210, 10, STARTED, "/bin/a");
	tasks_add_user(t, 210, 10, STARTED, 44); /* a change between two runs */
	check_user(t, __LINE__, 10, 300, 44);
	tasks_user_changed(t, 205, 10, 33);
	check_user(t, __LINE__, 10, 300, 33);
	tasks_destroy(t);
}

static void test_many_changes_take_bounded_memory(void **state)
{
	struct tasks *t = create_walked();
	struct task_stream stream;
	guint users = 0;

	for (uint32_t i = 0; i < 1000; i++)
		tasks_user_changed(t, 200 + i, 10, 1000 + i);
	for (uint32_t i = 0; i < 2000; i++)
		tasks_user_changed(t, 200 + i, 100 + i, 1000);
	task_stream_init(&stream);
	task_stream_read(&stream, t);
	for (guint i = 0; i < stream.rows->len; i++)
		users += task_stream_row(&stream, i)->type == KPROF_REC_USER;
	assert_int_equal(users, 64);
	assert_int_equal(tasks_users_dropped(t), 1001 - 64 + 2000 - 1024);
	check_user(t, __LINE__, 10, 2000, 1999);
	task_stream_fini(&stream);
	tasks_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_change_is_told_once),
		cmocka_unit_test(test_child_has_the_user_of_its_parent_at_the_fork),
		cmocka_unit_test(test_report_may_come_after_the_fork_and_the_end_of_the_parent),
		cmocka_unit_test(test_report_may_come_before_the_fork),
		cmocka_unit_test(test_earlier_process_with_the_number_does_not_count),
		cmocka_unit_test(test_reports_are_right_where_a_walk_differs),
		cmocka_unit_test(test_many_changes_take_bounded_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * prof/tasks_show: of hidden tasks a reader gets what was reported before a sample, in the program that was
 * sampled, and nothing of others.
 */
#include "tests/unit/tasks_fixture.h"

static struct tasks *create(void)
{
	struct tasks *t = tasks_create();

	tasks_hide(t);
	return t;
}

static void start_process(struct tasks *t)
{
	tasks_add_process(t, 100, 10, 1, "/bin/a");
	tasks_add_thread(t, 100, 10, 10, "a");
	map(t, 100, 10, 1, 1, "/bin/a");
}

/* The records of start_process(). */
#define WHOLE "comm 100 10/10 a\nnew 100 10 /bin/a\nmmap 100 10 1000+1000 /bin/a\n"

/* The start of /proc is in ticks of 10 ms. */
#define LATER 20000000ull

static void test_nothing_is_shown_without_a_sample(void **state)
{
	struct tasks *t = create();

	(void)state;
	start_process(t);
	check_whole_stream(t, __LINE__, "");
	tasks_show(t, 11, LATER);
	check_whole_stream(t, __LINE__, "");
	tasks_show(t, 10, LATER);
	check_whole_stream(t, __LINE__, WHOLE);
	tasks_destroy(t);
}

static void test_what_comes_after_the_last_sample_is_hidden(void **state)
{
	struct tasks *t = create();
	struct task_stream stream;

	(void)state;
	task_stream_init(&stream);
	start_process(t);
	map(t, LATER + 20, 10, 5, 1, "/lib/late");
	tasks_show(t, 10, LATER + 10);
	check_stream(t, __LINE__, &stream, WHOLE);
	/* a reader that has the others gets it with the next sample */
	tasks_show(t, 10, LATER + 30);
	check_stream(t, __LINE__, &stream, "comm 100 10/10 a\nmmap 20000020 10 5000+1000 /lib/late\n");
	tasks_show(t, 10, LATER + 40);
	check_stream(t, __LINE__, &stream, "");
	task_stream_fini(&stream);
	tasks_destroy(t);
}

/* As sh, which runs sudo: perf reports both before the samples of sh are read. */
static void test_another_program_of_the_process_is_hidden(void **state)
{
	struct tasks *t = create();

	(void)state;
	start_process(t);
	tasks_comm(t, LATER + 20, 10, 10, "sudo", true);
	map(t, LATER + 30, 10, 5, 1, "/bin/sudo");
	tasks_show(t, 10, LATER + 10);
	check_whole_stream(t, __LINE__, "new 100 10 /bin/a\nmmap 100 10 1000+1000 /bin/a\n");
	tasks_destroy(t);
}

/* Linux reports an exit of the process at the exec of a setuid program. */
static void test_a_setuid_program_is_hidden(void **state)
{
	struct tasks *t = create();

	(void)state;
	start_process(t);
	tasks_fork(t, LATER, 20, 20, 10, 10);
	tasks_comm(t, LATER + 20, 20, 20, "sudo", true);
	tasks_exit(t, LATER + 21, 20, 20, 10, 10);
	map(t, LATER + 30, 20, 5, 1, "/bin/sudo");
	tasks_show(t, 20, LATER + 10);
	check_whole_stream(t, __LINE__, "fork 20000000 20/20 of 10/10\nnew 20000000 20 /bin/a\n"
		"mmap 20000000 20 1000+1000 /bin/a\nexit 20000021 20/20 of 10/10\n");
	tasks_destroy(t);
}

static void test_the_next_process_of_a_pid_is_hidden(void **state)
{
	struct tasks *t = create();

	(void)state;
	start_process(t);
	tasks_fork(t, LATER, 20, 20, 10, 10);
	tasks_exit(t, LATER + 20, 20, 20, 10, 10);
	tasks_fork(t, LATER + 30, 20, 20, 1, 1);
	tasks_comm(t, LATER + 40, 20, 20, "other", true);
	map(t, LATER + 50, 20, 5, 1, "/bin/other");
	tasks_show(t, 20, LATER + 10);
	check_whole_stream(t, __LINE__, "fork 20000000 20/20 of 10/10\ncomm 20000000 20/20 a\n"
		"new 20000000 20 /bin/a\nmmap 20000000 20 1000+1000 /bin/a\nexit 20000020 20/20 of 10/10\n");
	tasks_destroy(t);
}

/* The end of ann's process and the fork of another user's with its pid may be lost. */
static void test_what_was_known_before_a_loss_is_hidden(void **state)
{
	struct tasks *t = create();

	(void)state;
	start_process(t);
	tasks_lose(t, LATER + 10, LATER + 20);
	tasks_show(t, 10, LATER + 30);
	check_whole_stream(t, __LINE__, "");
	/* samples before it, and those after a walk that has seen the process */
	tasks_show(t, 10, LATER + 5);
	check_whole_stream(t, __LINE__, WHOLE);
	tasks_destroy(t);
	t = create();
	start_process(t);
	tasks_lose(t, LATER + 10, LATER + 20);
	tasks_confirm(t, LATER + 40);
	tasks_add_process(t, LATER + 50, 10, 1, "/bin/a");
	tasks_show(t, 10, LATER + 30);
	check_whole_stream(t, __LINE__, "");
	tasks_show(t, 10, LATER + 60);
	check_whole_stream(t, __LINE__, WHOLE);
	tasks_lose(t, LATER + 70, LATER + 80);
	tasks_confirm(t, LATER + 90);
	tasks_add_process(t, LATER + 100, 10, 1, "/bin/b");
	tasks_show(t, 10, LATER + 85);
	check_whole_stream(t, __LINE__, WHOLE);
	tasks_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_shown_without_a_sample),
		cmocka_unit_test(test_what_comes_after_the_last_sample_is_hidden),
		cmocka_unit_test(test_another_program_of_the_process_is_hidden),
		cmocka_unit_test(test_a_setuid_program_is_hidden),
		cmocka_unit_test(test_the_next_process_of_a_pid_is_hidden),
		cmocka_unit_test(test_what_was_known_before_a_loss_is_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

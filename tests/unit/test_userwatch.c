/* SPDX-License-Identifier: MIT */
/*
 * prof/userwatch: reports of the kernel, which the test makes, reach all listeners; after a loss the users
 * are read from /proc, once for all of them. The processes that a helper finds there are the test's, too.
 */
#include <poll.h>
#include <sys/eventfd.h>

#include "base/bell.h"
#include "base/units.h"
#include "prof/userwatch.h"
#include "symbolizer/helpers.h"
#include "sys/clock.h"
#include "sys/user_events.h"
#include "tests/unit/tasks_fixture.h"

#define DEADLINE_NS (60 * NSEC_PER_SEC)

/* What the socket gives, and what a reading of /proc finds. */
static struct kernel {
	pthread_mutex_t lock;
	struct user_event events[64];
	int results[64]; /* of user_events_read() for each: 0 or -errno */
	unsigned int count, next;
	int bell; /* the socket: readable while there are reports */
	unsigned int listening, opened;
	int refused; /* of user_events_open() */
	struct proc_process found[4];
	unsigned int found_count, readings;
	void (*in_reading)(void);
	bool endless; /* there is always one more report, of a process that is not known */
} kernel = { .lock = PTHREAD_MUTEX_INITIALIZER };

int __wrap_user_events_open(int *fd);
int __wrap_user_events_listen(int fd, bool on);
int __wrap_user_events_read(int fd, struct user_event *event);
int __wrap_helpers_read(struct helpers *helpers, struct proto_message *message,
	const struct proc_visitor *visitor, int (*unreadable)(void *arg, pid_t pid), int cancel_fd);
bool __wrap_proc_in_first_pid_namespace(const char *proc);
bool __wrap_proc_in_first_user_namespace(const char *proc);

int __wrap_user_events_open(int *fd)
{
	if (kernel.refused)
		return kernel.refused;
	*fd = kernel.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	kernel.opened++;
	return 0;
}

int __wrap_user_events_listen(int fd, bool on)
{
	assert_int_equal(fd, kernel.bell);
	kernel.listening += on ? 1 : -1u;
	return 0;
}

int __wrap_user_events_read(int fd, struct user_event *event)
{
	int ret = -EAGAIN;

	pthread_mutex_lock(&kernel.lock);
	if (kernel.next < kernel.count) {
		*event = kernel.events[kernel.next];
		ret = kernel.results[kernel.next++];
	} else if (kernel.endless) {
		*event = (struct user_event){ 200, 99, 99, 1 };
		ret = 0;
	} else {
		bell_take(fd);
	}
	pthread_mutex_unlock(&kernel.lock);
	return ret;
}

int __wrap_helpers_read(struct helpers *helpers, struct proto_message *message,
	const struct proc_visitor *visitor, int (*unreadable)(void *arg, pid_t pid), int cancel_fd)
{
	struct proc_process found[G_N_ELEMENTS(kernel.found)];

	assert_int_equal(message->head.type, PROTO_READ_USERS);
	assert_string_equal(message->tail.path, "/proc");
	assert_null(visitor->thread);
	assert_null(visitor->mapping);
	pthread_mutex_lock(&kernel.lock);
	memcpy(found, kernel.found, sizeof(found));
	pthread_mutex_unlock(&kernel.lock);
	if (kernel.in_reading)
		kernel.in_reading();
	for (unsigned int i = 0; i < kernel.found_count; i++)
		assert_int_equal(visitor->process(visitor->arg, &found[i]), 0);
	pthread_mutex_lock(&kernel.lock);
	kernel.readings++;
	pthread_mutex_unlock(&kernel.lock);
	return 0;
}

/* A container's namespaces do not matter here. */
bool __wrap_proc_in_first_pid_namespace(const char *proc)
{
	return true;
}

bool __wrap_proc_in_first_user_namespace(const char *proc)
{
	return true;
}

/* The kernel reports: a change of a thread, or with `result` a loss. */
static void report(int result, uint64_t time_ns, uint32_t pid, uint32_t tid, uint32_t uid)
{
	pthread_mutex_lock(&kernel.lock);
	assert_true(kernel.count < G_N_ELEMENTS(kernel.events));
	kernel.events[kernel.count] = (struct user_event){ time_ns, pid, tid, uid };
	kernel.results[kernel.count++] = result;
	pthread_mutex_unlock(&kernel.lock);
	bell_ring(kernel.bell);
}

static bool is_all_read(void)
{
	bool all;

	pthread_mutex_lock(&kernel.lock);
	all = kernel.next == kernel.count;
	pthread_mutex_unlock(&kernel.lock);
	return all;
}

static unsigned int count_readings(void)
{
	unsigned int readings;

	pthread_mutex_lock(&kernel.lock);
	readings = kernel.readings;
	pthread_mutex_unlock(&kernel.lock);
	return readings;
}

/* What readings find from now on. */
static void set_found_user(uint32_t uid)
{
	pthread_mutex_lock(&kernel.lock);
	kernel.found[0].real_uid = uid;
	pthread_mutex_unlock(&kernel.lock);
}

static void wait_until(bool (*holds)(void))
{
	const uint64_t until_ns = clock_monotonic_ns() + DEADLINE_NS;

	while (!holds()) {
		assert_true(clock_monotonic_ns() < until_ns);
		(void)poll(NULL, 0, 1);
	}
}

/* A process 10 of user 0, which began at 50 ns. */
static struct tasks *create_walked(struct task_stream *reader)
{
	struct tasks *t = tasks_create();

	tasks_begin_walk(t);
	tasks_add_process(t, 100, 10, 50, "/bin/a");
	tasks_add_thread(t, 100, 10, 10, "a");
	tasks_add_user(t, 100, 10, 50, 0);
	tasks_end_walk(t, 110);
	task_stream_init(reader);
	check_stream(t, __LINE__, reader, "comm 100 10/10 a\nuser 100 10 0\nnew 100 10 /bin/a\n");
	return t;
}

/* The user that the newest record of process 10 says; UINT32_MAX: there is no new one. */
static uint32_t newest_user(struct tasks *t, struct task_stream *reader)
{
	uint32_t uid = UINT32_MAX;

	g_array_set_size(reader->rows, 0);
	task_stream_read(reader, t);
	for (guint i = 0; i < reader->rows->len; i++)
		if (task_stream_row(reader, i)->type == KPROF_REC_USER)
			uid = task_stream_row(reader, i)->tid;
	return uid;
}

static int set_up(void **state)
{
	kernel.count = kernel.next = kernel.listening = kernel.opened = 0;
	kernel.found_count = kernel.readings = 0;
	kernel.refused = 0;
	kernel.endless = false;
	kernel.in_reading = NULL;
	return 0;
}

/* ---- reports ---------------------------------------------------------------------------------- */

static void test_reports_reach_all_who_listen(void **state)
{
	struct userwatch *watch = userwatch_create(NULL, NULL);
	struct task_stream readers[2];
	struct tasks *tasks[2] = { create_walked(&readers[0]), create_walked(&readers[1]) };

	assert_int_equal(userwatch_listen(watch, tasks[0]), 0);
	assert_int_equal(userwatch_listen(watch, tasks[1]), 0);
	assert_int_equal(kernel.opened, 1);
	assert_int_equal(kernel.listening, 1);
	report(0, 200, 10, 10, 33);
	report(0, 210, 10, 11, 44); /* a thread that is not the first one */
	userwatch_leave(watch, tasks[0]); /* with what was reported by then */
	check_stream(tasks[0], __LINE__, &readers[0], "user 200 10 33\n");
	assert_int_equal(kernel.listening, 1);
	report(0, 300, 10, 10, 55);
	userwatch_leave(watch, tasks[1]);
	check_stream(tasks[1], __LINE__, &readers[1], "user 200 10 33\nuser 300 10 55\n");
	check_stream(tasks[0], __LINE__, &readers[0], "");
	assert_int_equal(kernel.listening, 0); /* the last one has left */
	userwatch_leave(watch, tasks[1]);
	assert_int_equal(userwatch_listen(watch, tasks[1]), 0);
	assert_int_equal(kernel.opened, 2);
	userwatch_leave(watch, tasks[1]);
	assert_int_equal(userwatch_lost(watch), 0);
	assert_int_equal(count_readings(), 0);
	userwatch_destroy(watch);
	for (int i = 0; i < 2; i++) {
		task_stream_fini(&readers[i]);
		tasks_destroy(tasks[i]);
	}
}

static void test_the_thread_reads_reports(void **state)
{
	struct userwatch *watch = userwatch_create(NULL, NULL);
	struct task_stream reader;
	struct tasks *t = create_walked(&reader);

	assert_int_equal(userwatch_listen(watch, t), 0);
	for (int i = 0; i < 8; i++) {
		report(0, 200 + (uint64_t)i, 10, 10, 100 + (uint32_t)i);
		wait_until(is_all_read);
	}
	userwatch_leave(watch, t);
	assert_int_equal(newest_user(t, &reader), 107);
	userwatch_destroy(watch);
	task_stream_fini(&reader);
	tasks_destroy(t);
}

static void test_without_rights_no_run_listens(void **state)
{
	struct userwatch *watch = userwatch_create(NULL, NULL);
	struct task_stream reader;
	struct tasks *t = create_walked(&reader);

	kernel.refused = -EPERM;
	assert_int_equal(userwatch_listen(watch, t), -EPERM);
	userwatch_leave(watch, t);
	kernel.refused = 0;
	assert_int_equal(userwatch_listen(watch, t), 0);
	userwatch_destroy(watch); /* also while one listens */
	assert_int_equal(kernel.listening, 0);
	task_stream_fini(&reader);
	tasks_destroy(t);
}

/* ---- losses ----------------------------------------------------------------------------------- */

static bool is_read_once(void)
{
	return count_readings() >= 1;
}

static bool is_read_twice(void)
{
	return count_readings() >= 2;
}

static void test_after_a_loss_users_are_read_for_all(void **state)
{
	struct userwatch *watch = userwatch_create(NULL, NULL);
	struct task_stream readers[2];
	struct tasks *tasks[2] = { create_walked(&readers[0]), create_walked(&readers[1]) };
	uint64_t begin_ns;

	kernel.found[kernel.found_count++] = (struct proc_process){ .pid = 10, .real_uid = 33 };
	/* one that is not known, and one of which /proc does not tell */
	kernel.found[kernel.found_count++] = (struct proc_process){ .pid = 11, .real_uid = 33 };
	kernel.found[kernel.found_count++] = (struct proc_process){ .pid = 10, .real_uid = PROC_NO_USER };
	for (int i = 0; i < 2; i++)
		assert_int_equal(userwatch_listen(watch, tasks[i]), 0);
	begin_ns = clock_monotonic_ns();
	report(0, 200, 10, 10, 22);
	report(-ENOBUFS, 0, 0, 0, 0);
	wait_until(is_read_once);
	for (int i = 0; i < 2; i++)
		assert_int_equal(newest_user(tasks[i], &readers[i]), 33);
	assert_int_equal(userwatch_lost(watch), 1);
	assert_int_equal(userwatch_readings(watch), 1);

	/* the next loss is not followed by a reading within a second */
	set_found_user(44);
	report(-ENOBUFS, 0, 0, 0, 0);
	report(-ENOBUFS, 0, 0, 0, 0);
	wait_until(is_read_twice);
	assert_true(clock_monotonic_ns() - begin_ns >= NSEC_PER_SEC);
	assert_int_equal(newest_user(tasks[0], &readers[0]), 44);
	assert_int_equal(userwatch_lost(watch), 3);
	userwatch_leave(watch, tasks[0]);
	userwatch_leave(watch, tasks[1]);
	userwatch_destroy(watch);
	for (int i = 0; i < 2; i++) {
		task_stream_fini(&readers[i]);
		tasks_destroy(tasks[i]);
	}
}

static void set_endless(bool endless)
{
	pthread_mutex_lock(&kernel.lock);
	kernel.endless = endless;
	pthread_mutex_unlock(&kernel.lock);
	bell_ring(kernel.bell);
}

/* The kernel reports a loss once, until the socket has been read to its end: others follow it unsaid. */
static void test_users_are_read_once_more_when_the_socket_is_empty(void **state)
{
	struct userwatch *watch = userwatch_create(NULL, NULL);
	const uint64_t until_ns = clock_monotonic_ns() + DEADLINE_NS;
	struct task_stream reader;
	struct tasks *t = create_walked(&reader);

	kernel.found[kernel.found_count++] = (struct proc_process){ .pid = 10, .real_uid = 33 };
	assert_int_equal(userwatch_listen(watch, t), 0);
	set_endless(true);
	report(-ENOBUFS, 0, 0, 0, 0);
	wait_until(is_read_once);
	wait_until(is_read_twice);
	set_endless(false);
	set_found_user(44);
	while (newest_user(t, &reader) != 44) {
		assert_true(clock_monotonic_ns() < until_ns);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(userwatch_lost(watch), 1);
	userwatch_leave(watch, t);
	userwatch_destroy(watch);
	task_stream_fini(&reader);
	tasks_destroy(t);
}

static struct tasks *changed_in_reading;

static void change_in_reading(void)
{
	tasks_user_changed(changed_in_reading, 500, 10, 77);
}

/* What the reading finds may be older than what is reported after it began. */
static void test_a_report_during_a_reading_is_newer(void **state)
{
	struct userwatch *watch = userwatch_create(NULL, NULL);
	struct task_stream reader;
	struct tasks *t = create_walked(&reader);

	tasks_user_changed(t, 300, 10, 66); /* before it, which does not count */
	kernel.found[kernel.found_count++] = (struct proc_process){ .pid = 10, .real_uid = 33 };
	changed_in_reading = t;
	kernel.in_reading = change_in_reading;
	assert_int_equal(userwatch_listen(watch, t), 0);
	report(-ENOBUFS, 0, 0, 0, 0);
	wait_until(is_read_once);
	userwatch_leave(watch, t);
	assert_int_equal(newest_user(t, &reader), 77);
	userwatch_destroy(watch);
	task_stream_fini(&reader);
	tasks_destroy(t);
}

/* Another process got the number meanwhile. */
static void test_a_process_that_began_at_another_time_is_left_out(void **state)
{
	struct tasks *t;
	struct task_stream reader;

	t = create_walked(&reader);
	tasks_begin_users(t);
	tasks_add_user(t, 400, 10, 50 + NSEC_PER_SEC, 33);
	assert_int_equal(newest_user(t, &reader), UINT32_MAX);
	tasks_add_user(t, 400, 10, 50 + NSEC_PER_MSEC, 33); /* within a tick of /proc */
	assert_int_equal(newest_user(t, &reader), 33);
	task_stream_fini(&reader);
	tasks_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_reports_reach_all_who_listen, set_up),
		cmocka_unit_test_setup(test_the_thread_reads_reports, set_up),
		cmocka_unit_test_setup(test_without_rights_no_run_listens, set_up),
		cmocka_unit_test_setup(test_after_a_loss_users_are_read_for_all, set_up),
		cmocka_unit_test_setup(test_users_are_read_once_more_when_the_socket_is_empty, set_up),
		cmocka_unit_test_setup(test_a_report_during_a_reading_is_newer, set_up),
		cmocka_unit_test_setup(test_a_process_that_began_at_another_time_is_left_out, set_up),
	};

	return cmocka_run_group_tests_name("userwatch", tests, NULL, NULL);
}

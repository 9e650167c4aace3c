/* SPDX-License-Identifier: MIT */
/* sys/tracefs and prof/events: tracepoints are listed and found. */
#include "tests/unit/events_fixture.h"

/* ---- tracefs --------------------------------------------------------------------------------- */

static void test_nearest_tracepoint_is_suggested(void **state)
{
	struct nearest nearest;
	int dirfd;

	(void)state;
	assert_int_equal(tracefs_open(root, &dirfd), 0);
	/* a file that is no event */
	nearest_init(&nearest, "sched:enable");
	assert_int_equal(tracefs_nearest(dirfd, "sched", &nearest), 0);
	assert_int_equal(nearest.count, 0);
	/* one system where there is such a one, else all */
	nearest_init(&nearest, "sched:rcu_utilization");
	assert_int_equal(tracefs_nearest(dirfd, "sched", &nearest), 0);
	assert_int_equal(nearest.count, 0);
	assert_int_equal(tracefs_nearest(dirfd, "rcv", &nearest), 0);
	assert_int_equal(nearest.count, 1);
	assert_string_equal(nearest.names[0], "rcu:rcu_utilization");
	close(dirfd);
}

static void test_missing_tracefs_is_reported(void **state)
{
	struct events_paths nowhere = { .proc = root, .tracefs = "/nonexistent" };
	struct event_list list;
	struct err err = { "" };
	int dirfd = 4711;

	(void)state;
	assert_int_equal(tracefs_open("/nonexistent", &dirfd), -ENOENT);
	assert_int_equal(dirfd, 4711);
	assert_int_equal(events_parse("sched:sched_switch", &nowhere, &list, &err), -ENOENT);
	assert_non_null(strstr(err.text, "tracepoints can't be looked up"));
	/* all else still works */
	assert_int_equal(events_parse("cycles:u,r1", &nowhere, &list, &err), 0);
}

/* The kernel's own, and that looking there leaves no mount behind. */
static void test_reading_tracefs_leaves_no_mount(void **state)
{
	static char before[65536], after[65536];
	struct nearest nearest;
	struct statfs fs;
	uint64_t id, other;
	int dirfd, mounts;
	ssize_t n;

	(void)state;
	mounts = open("/proc/self/mountinfo", O_RDONLY);
	assert_true(mounts >= 0);
	n = read(mounts, before, sizeof(before) - 1);
	assert_true(n > 0);
	if (tracefs_open(NULL, &dirfd)) {
		close(mounts);
		skip();
	}
	assert_int_equal(pread(mounts, after, sizeof(after) - 1, 0), n);
	assert_memory_equal(before, after, n);
	close(mounts);
	assert_true(fcntl(dirfd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstatfs(dirfd, &fs), 0);
	assert_int_equal(fs.f_type, TRACEFS_MAGIC);
	assert_int_equal(tracefs_event_id(dirfd, "sched", "sched_switch", &id), 0);
	assert_int_equal(tracefs_event_id(dirfd, "sched", "sched_wakeup", &other), 0);
	assert_int_not_equal(id, other);
	assert_int_equal(tracefs_event_id(dirfd, "sched", "sched_nothing", &other), -ENOENT);
	nearest_init(&nearest, "shced:shced_switch");
	assert_int_equal(tracefs_nearest(dirfd, "shced", &nearest), 0);
	assert_string_equal(nearest.names[0], "sched:sched_switch");
	close(dirfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest_tracepoint_is_suggested),
		cmocka_unit_test(test_missing_tracefs_is_reported),
		cmocka_unit_test(test_reading_tracefs_leaves_no_mount),
	};

	return cmocka_run_group_tests(tests, make_fixture, remove_fixture);
}

/* SPDX-License-Identifier: MIT */
/*
 * sys/user_events: what counts as a report of the kernel, of messages that the test makes; and the reports of
 * this kernel, which is skipped where it gives none.
 */
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/clock.h"
#include "sys/user_events.h"

#define OTHER_UID 54321

/* The message that recvfrom(2) gives next, once; then -EAGAIN. Only while `made`. */
static struct {
	bool made;
	unsigned char bytes[1024];
	size_t size;
	struct sockaddr_nl sender;
	int error;
} next;

ssize_t __real_recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *sender,
	socklen_t *length);
ssize_t __wrap_recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *sender,
	socklen_t *length);

ssize_t __wrap_recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *sender,
	socklen_t *length)
{
	const size_t given = next.size;

	if (!next.made)
		return __real_recvfrom(fd, buffer, size, flags, sender, length);
	if (next.error || !given) {
		errno = next.error ? next.error : EAGAIN;
		return -1;
	}
	assert_true(given <= size);
	memcpy(buffer, next.bytes, given);
	memcpy(sender, &next.sender, sizeof(next.sender));
	*length = sizeof(next.sender);
	next.size = 0;
	return (ssize_t)given;
}

/* Offsets in a message: struct nlmsghdr, struct cn_msg, struct proc_event. */
#define CN_AT NLMSG_HDRLEN
#define EVENT_AT (NLMSG_HDRLEN + sizeof(struct cn_msg))

static void make_report(void)
{
	const struct nlmsghdr head = { .nlmsg_len = EVENT_AT + sizeof(struct proc_event),
		.nlmsg_type = NLMSG_DONE };
	const struct cb_id id = { CN_IDX_PROC, CN_VAL_PROC };
	struct proc_event event = { .what = PROC_EVENT_UID, .timestamp_ns = 123456789012345 };

	event.event_data.id.process_tgid = 1000;
	event.event_data.id.process_pid = 1001;
	event.event_data.id.r.ruid = 33;
	event.event_data.id.e.euid = 44;
	memset(&next, 0, sizeof(next));
	next.made = true;
	next.sender = (struct sockaddr_nl){ .nl_family = AF_NETLINK };
	memcpy(next.bytes, &head, sizeof(head));
	memcpy(next.bytes + CN_AT, &id, sizeof(id));
	memcpy(next.bytes + EVENT_AT, &event, sizeof(event));
	next.size = EVENT_AT + sizeof(event);
}

static void test_a_report_of_the_kernel_is_decoded(void **state)
{
	struct user_event event;

	make_report();
	assert_int_equal(user_events_read(-1, &event), 0);
	assert_int_equal(event.time_ns, 123456789012345);
	assert_int_equal(event.pid, 1000);
	assert_int_equal(event.tid, 1001);
	assert_int_equal(event.uid, 33);
	assert_int_equal(user_events_read(-1, &event), -EAGAIN);
	make_report();
	next.size += 8; /* of a later kernel */
	assert_int_equal(user_events_read(-1, &event), 0);
}

static void test_other_messages_are_left_out(void **state)
{
	struct user_event event;
	const uint32_t other = 7;
	const uint16_t type = NLMSG_ERROR;

	make_report();
	next.sender.nl_pid = 4321; /* of a process */
	assert_int_equal(user_events_read(-1, &event), -EAGAIN);
	make_report();
	memcpy(next.bytes + offsetof(struct nlmsghdr, nlmsg_type), &type, sizeof(type));
	assert_int_equal(user_events_read(-1, &event), -EAGAIN);
	make_report();
	memcpy(next.bytes + CN_AT, &other, sizeof(other));
	assert_int_equal(user_events_read(-1, &event), -EAGAIN);
	make_report();
	memcpy(next.bytes + EVENT_AT + offsetof(struct proc_event, what), &other, sizeof(other));
	assert_int_equal(user_events_read(-1, &event), -EAGAIN);
	for (size_t size = 1; size < EVENT_AT + sizeof(struct proc_event); size++) {
		make_report();
		next.size = size;
		assert_int_equal(user_events_read(-1, &event), -EAGAIN);
	}
}

static void test_a_loss_is_an_error(void **state)
{
	struct user_event event;

	make_report();
	next.error = ENOBUFS;
	assert_int_equal(user_events_read(-1, &event), -ENOBUFS);
}

/* ---- this kernel ------------------------------------------------------------------------------ */

/* A child that changes its user; then the report about it. Returns false if none comes within a minute. */
static bool wait_for_child(int fd, struct user_event *event, pid_t *child)
{
	const uint64_t until_ns = clock_monotonic_ns() + 60000000000u;
	int status;

	*child = fork();
	if (!*child)
		_exit(syscall(SYS_setresuid, OTHER_UID, OTHER_UID, OTHER_UID) ? 1 : 0);
	assert_true(*child > 0);
	assert_int_equal(waitpid(*child, &status, 0), *child);
	assert_int_equal(status, 0);
	while (clock_monotonic_ns() < until_ns) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

		while (!user_events_read(fd, event))
			if (event->pid == (uint32_t)*child)
				return true;
		(void)poll(&poll_fd, 1, 10);
	}
	return false;
}

static void test_the_kernel_reports_a_change(void **state)
{
	const uint64_t begin_ns = clock_monotonic_ns();
	struct user_event event;
	pid_t child;
	int fd = -1;

	next.made = false;
	if (getuid() || user_events_open(&fd))
		skip(); /* not root, or in a network namespace */
	if (user_events_listen(fd, true)) {
		close(fd);
		skip();
	}
	assert_true(wait_for_child(fd, &event, &child));
	assert_int_equal(event.tid, child);
	assert_int_equal(event.uid, OTHER_UID);
	assert_in_range(event.time_ns, begin_ns, clock_monotonic_ns());
	assert_int_equal(user_events_listen(fd, false), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_report_of_the_kernel_is_decoded),
		cmocka_unit_test(test_other_messages_are_left_out),
		cmocka_unit_test(test_a_loss_is_an_error),
		cmocka_unit_test(test_the_kernel_reports_a_change),
	};

	return cmocka_run_group_tests_name("user_events", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* sys/uevent: the kernel's messages about CPUs are understood. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/uevent.h"

/* ---- uevents ----------------------------------------------------------------------------------- */

struct uevent_row {
	int line;
	const char *message;
	size_t length; /* 0: strlen + 1 */
	int ret;
	unsigned int cpu;
	bool online;
};

static const struct uevent_row uevent_rows[] = {
	{ __LINE__, "offline@/devices/system/cpu/cpu1\0ACTION=offline\0SEQNUM=7", 57, 0, 1, false },
	{ __LINE__, "online@/devices/system/cpu/cpu12", 0, 0, 12, true },
	{ __LINE__, "online@/devices/system/cpu/cpu0", 0, 0, 0, true },
	{ __LINE__, "add@/devices/system/cpu/cpu1", 0, -ENOENT, 0, false },
	{ __LINE__, "change@/devices/system/cpu/cpu1", 0, -ENOENT, 0, false },
	{ __LINE__, "online@/devices/system/memory/memory1", 0, -ENOENT, 0, false },
	{ __LINE__, "online@/devices/system/cpu/cpu", 0, -ENOENT, 0, false },
	{ __LINE__, "online@/devices/system/cpu/cpu1/cache", 0, -ENOENT, 0, false },
	{ __LINE__, "online@/devices/system/cpu/cpu-1", 0, -ENOENT, 0, false },
	{ __LINE__, "online@/devices/system/cpu/cpu99999999999", 0, -ENOENT, 0, false },
	{ __LINE__, "online@/devices/system/cpu/cpufreq", 0, -ENOENT, 0, false },
	{ __LINE__, "online@/devices/system/cpu/cpu1", 31, -EINVAL, 0, false }, /* no NUL */
	{ __LINE__, "libudev", 0, -EINVAL, 0, false },
	{ __LINE__, "", 0, -EINVAL, 0, false },
};

static void test_uevents_of_cpus_are_parsed(void **state)
{
	struct uevent_cpu event;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(uevent_rows) / sizeof(uevent_rows[0]); i++) {
		const struct uevent_row *row = &uevent_rows[i];
		size_t length = row->length ? row->length : strlen(row->message) + 1;
		char *copy = malloc(length); /* exactly as long, for the sanitizer */
		int ret;

		memcpy(copy, row->message, length);
		event.cpu = 4711;
		ret = uevent_parse(copy, length, &event);
		free(copy);
		if (ret != row->ret || event.cpu != (ret ? 4711 : row->cpu) ||
			(!ret && event.online != row->online))
			fail_msg("row of line %d: ret %d, cpu %u", row->line, ret, event.cpu);
	}
}

/* Makes the kernel announce a CPU that is online as online: true but no news, and harmless. */
static bool announce(const char *cpu_uevent)
{
	int fd = open(cpu_uevent, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, "online", 6) == 6;

	if (fd >= 0)
		close(fd);
	return done;
}

static void test_uevents_arrive_on_the_socket(void **state)
{
	struct pollfd poller = { .events = POLLIN };
	struct uevent_cpu event;
	int fd, ret;

	(void)state;
	if (uevent_open(&fd))
		skip();
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(uevent_read(-1, &event), -EBADF);
	if (announce("/sys/devices/system/cpu/cpu0/uevent")) {
		/* other CPUs may really come and go meanwhile */
		poller.fd = fd;
		do {
			assert_int_equal(poll(&poller, 1, 10000), 1);
			ret = uevent_read(fd, &event);
		} while (ret == -EAGAIN || (!ret && event.cpu != 0));
		assert_int_equal(ret, 0);
		assert_true(event.online);
	}
	while (!uevent_read(fd, &event))
		;
	assert_int_equal(uevent_read(fd, &event), -EAGAIN);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uevents_of_cpus_are_parsed),
		cmocka_unit_test(test_uevents_arrive_on_the_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

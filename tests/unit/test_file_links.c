/* SPDX-License-Identifier: MIT */
/*
 * The process that attaches to places in files, as its server sees it (bpf/file_links.c). The process is this
 * program, with the argument of kprofs. Nothing is attached: tests/hostile/held_probes.sh does that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/wait.h>

#include "base/units.h"
#include "bpf/file_links.h"
#include "sys/clock.h"

#define LONG_NS (30 * NSEC_PER_SEC)

static unsigned int lost;

static void count_lost(void *arg)
{
	(*(unsigned int *)arg)++;
}

/* A file that is no program of the kernel: with the right to attach or without it the request fails. */
static int attach_nothing(struct file_links *links, uint64_t group, struct err *err)
{
	const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct file_links_place place = { .file = file, .pid = -1 };
	int ret;

	assert_true(file >= 0);
	ret = file_links_attach(links, group, file, &place, err);
	close(file);
	return ret;
}

static void test_errors_come_back_with_their_sentence(void **state)
{
	struct file_links *links = file_links_create(count_lost, &lost);
	const struct file_links_size size = { .bytes = 5, .ready_bytes = 3 };
	struct file_links_size left;
	struct err err = { "" };
	uint64_t until_ns;
	int process;

	(void)state;
	assert_true(attach_nothing(links, 7, &err) < 0);
	assert_true(strlen(err.text) > 10);
	assert_true(file_links_has(links, 7));
	assert_false(file_links_has(links, 8));
	/* until the process has said that it is detached, it counts as left */
	file_links_detach(links, 7, &size);
	file_links_detach(links, 8, &size);
	assert_false(file_links_has(links, 7));
	until_ns = clock_monotonic_ns() + LONG_NS;
	do {
		file_links_left(links, &left);
		assert_true(left.bytes == 0 || (left.bytes == 5 && left.ready_bytes == 3));
		assert_int_equal(left.places, 0);
		assert_true(clock_monotonic_ns() < until_ns);
	} while (left.bytes);
	file_links_destroy(links, &process);
	assert_int_equal(process, 0);
	/* it was waited for */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(lost, 0);
}

/* It ends without links after a while, here by a signal; a further request has another one. */
static void test_a_process_that_has_ended_is_started_again(void **state)
{
	struct file_links *links = file_links_create(count_lost, &lost);
	struct err err = { "" };
	int process;

	(void)state;
	for (int i = 0; i < 3; i++) {
		g_autofree char *command = g_strdup_printf("pkill -KILL -P %d -x kp-links", (int)getpid());

		err.text[0] = '\0';
		assert_true(attach_nothing(links, 1, &err) < 0);
		assert_null(strstr(err.text, "Broken pipe"));
		assert_int_equal(system(command), 0);
	}
	assert_int_equal(lost, 0);
	file_links_destroy(links, &process);
	assert_int_equal(process, 0);
}

static void test_without_a_request_there_is_no_process(void **state)
{
	struct file_links *links = file_links_create(count_lost, &lost);
	struct file_links_size left;
	int process = 1;

	(void)state;
	file_links_left(links, &left);
	assert_int_equal(left.places, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	file_links_destroy(links, &process);
	assert_int_equal(process, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_come_back_with_their_sentence),
		cmocka_unit_test(test_a_process_that_has_ended_is_started_again),
		cmocka_unit_test(test_without_a_request_there_is_no_process),
	};

	if (file_links_is_asked(argc, argv))
		return file_links_main();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Finds descriptors and threads that a process did not release. Include after cmocka.h. */
#ifndef KPROFS_TESTS_LEFTOVERS_H
#define KPROFS_TESTS_LEFTOVERS_H

#include <dirent.h>
#include <unistd.h>

struct leftovers {
	unsigned int fds, threads;
};

static inline unsigned int leftovers_count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int entries = 0;

	assert_non_null(dir);
	while (readdir(dir))
		entries++;
	closedir(dir);
	return entries;
}

static inline struct leftovers leftovers_count(void)
{
	return (struct leftovers){
		.fds = leftovers_count_entries("/proc/self/fd"),
		.threads = leftovers_count_entries("/proc/self/task"),
	};
}

/*
 * pthread_join returns before the kernel has removed the thread from /proc; on a busy machine, long
 * before.
 */
#define LEFTOVERS_WAIT_MS 10000

static inline void leftovers_check(const struct leftovers *before)
{
	struct leftovers now = leftovers_count();

	for (int ms = 0; now.threads > before->threads && ms < LEFTOVERS_WAIT_MS; ms++) {
		usleep(1000);
		now = leftovers_count();
	}
	assert_int_equal(now.fds, before->fds);
	assert_int_equal(now.threads, before->threads);
}

#endif

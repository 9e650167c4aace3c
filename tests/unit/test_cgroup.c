/* SPDX-License-Identifier: MIT */
/*
 * sys/cgroup: cgroups of version 2 are found wherever they are mounted. Skipped for users who may not mount,
 * and where the kernel has none.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/cgroup.h"

/* Two mounts below a folder, the second of one cgroup only, and a table that has no others. */
struct mounted {
	char *folder, *whole, *part, *table;
	char *path; /* of a cgroup of the test's own, with one below it */
};

static bool is_own(const struct mounted *m, const char *line)
{
	return strstr(line, strrchr(m->folder, '/')) != NULL;
}

/* A table with the mounts number `first` to `last` of the two. */
static void write_table(const struct mounted *m, unsigned int first, unsigned int last)
{
	g_autoptr(GString) text = g_string_new("22 1 0:21 / /proc rw,relatime - proc proc rw\n");
	g_autofree char *all = NULL;
	g_auto(GStrv) lines = NULL;
	unsigned int n = 0;

	assert_true(g_file_get_contents("/proc/self/mountinfo", &all, NULL, NULL));
	lines = g_strsplit(all, "\n", -1);
	for (char **line = lines; *line; line++)
		if (is_own(m, *line) && ++n >= first && n <= last)
			g_string_append_printf(text, "%s\n", *line);
	assert_int_equal(n, 2);
	assert_true(g_file_set_contents(m->table, text->str, -1, NULL));
}

static int set_up(void **state)
{
	struct mounted *m = g_new0(struct mounted, 1);
	g_autofree char *own = NULL, *below = NULL;

	*state = m;
	m->folder = g_dir_make_tmp("kprofs-cgroup-XXXXXX", NULL);
	m->whole = g_build_filename(m->folder, "the whole", NULL);
	m->part = g_build_filename(m->folder, "part", NULL);
	m->table = g_build_filename(m->folder, "mountinfo", NULL);
	g_mkdir(m->whole, 0700);
	g_mkdir(m->part, 0700);
	if (mount("none", m->whole, "cgroup2", 0, NULL))
		return 0;
	m->path = g_strdup_printf("/kprofs-test-%d", (int)getpid());
	own = g_strconcat(m->whole, m->path, NULL);
	below = g_strconcat(own, "/below", NULL);
	if (g_mkdir(own, 0755) || g_mkdir(below, 0755) || mount(own, m->part, "none", MS_BIND, NULL))
		g_clear_pointer(&m->path, g_free);
	return 0;
}

static int tear_down(void **state)
{
	struct mounted *m = *state;

	umount2(m->part, MNT_DETACH);
	if (m->path) {
		g_autofree char *own = g_strconcat(m->whole, m->path, NULL);
		g_autofree char *below = g_strconcat(own, "/below", NULL);

		g_rmdir(below);
		g_rmdir(own);
	}
	umount2(m->whole, MNT_DETACH);
	g_unlink(m->table);
	g_rmdir(m->whole);
	g_rmdir(m->part);
	g_rmdir(m->folder);
	g_free(m->folder);
	g_free(m->whole);
	g_free(m->part);
	g_free(m->table);
	g_free(m->path);
	g_free(m);
	return 0;
}

/* Its number is that of its directory, as the kernel's documentation says. */
static void found(const struct mounted *m, const char *rest, const char *dir, unsigned int level)
{
	g_autofree char *path = g_strconcat(m->path, rest, NULL);
	g_autofree char *where = g_strconcat(dir, rest, NULL);
	struct cgroup cgroup = { 0 };
	struct err err = { "" };
	struct stat st;
	int ret = cgroup_find(m->table, path, &cgroup, &err);

	if (ret == -EOPNOTSUPP && strstr(err.text, "namespace"))
		skip();
	if (ret)
		fail_msg("%s: %s", path, err.text);
	assert_int_equal(stat(where, &st), 0);
	assert_int_equal(cgroup.id, st.st_ino);
	assert_int_equal(cgroup.level, level);
}

static void test_a_mount_elsewhere_is_used(void **state)
{
	const struct mounted *m = *state;
	g_autofree char *dir = m->path ? g_strconcat(m->whole, m->path, NULL) : NULL;

	if (!m->path)
		skip();
	write_table(m, 1, 1);
	found(m, "", dir, 1);
	found(m, "/below", dir, 2);
	found(m, "//below/", dir, 2);
}

static void test_the_mount_of_a_part_is_used(void **state)
{
	const struct mounted *m = *state;
	struct cgroup cgroup;

	if (!m->path)
		skip();
	write_table(m, 2, 2);
	found(m, "", m->part, 1);
	found(m, "/below", m->part, 2);
	assert_int_equal(cgroup_find(m->table, "/", &cgroup, NULL), -ENOENT);
}

static void test_what_is_not_there_is_said(void **state)
{
	const struct mounted *m = *state;
	g_autofree char *file = m->path ? g_strconcat(m->path, "/cgroup.procs", NULL) : NULL;
	struct err err = { "" };
	int fd;

	if (!m->path)
		skip();
	write_table(m, 1, 2);
	assert_int_equal(cgroup_open(m->table, "/no/such", &fd, NULL), -ENOENT);
	assert_int_equal(cgroup_open(m->table, file, &fd, NULL), -ENOENT);
	assert_int_equal(cgroup_open(m->table, "relative", &fd, NULL), -EINVAL);
	assert_int_equal(cgroup_open(m->table, "/a/../b", &fd, NULL), -EINVAL);
	assert_int_equal(cgroup_open(m->table, "", &fd, NULL), -EINVAL);
	write_table(m, 3, 3);
	assert_int_equal(cgroup_open(m->table, m->path, &fd, &err), -EOPNOTSUPP);
	assert_string_equal(err.text, "no cgroups of version 2 are mounted here");
	assert_int_equal(cgroup_open("/no/such/table", m->path, &fd, NULL), -ENOENT);
	/* a mount that something else hides is none */
	write_table(m, 1, 1);
	assert_int_equal(mount("none", m->whole, "tmpfs", 0, NULL), 0);
	assert_int_equal(cgroup_open(m->table, "/", &fd, NULL), -ENOENT);
	assert_int_equal(umount(m->whole), 0);
	assert_int_equal(cgroup_open(m->table, "/", &fd, NULL), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_mount_elsewhere_is_used, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_mount_of_a_part_is_used, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_not_there_is_said, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}

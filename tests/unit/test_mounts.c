/* SPDX-License-Identifier: MIT */
/* sys/mounts: file systems and mounts of kprofs are found in a mount table. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib.h>

#include "sys/mounts.h"

/* Lines in the form of proc(5); the last one without a newline, one that is no such line. */
static const char table[] =
	"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"
	"nonsense 0:77\n"
	"41 35 0:39 / /mnt/kprof rw,nosuid - fuse.kprofs 0:55 rw,user_id=0\n"
	"42 35 0:40 / /tmp rw - tmpfs tmpfs rw";

static void test_device_is_found_in_a_mount_table(void **state)
{
	char path[] = "/tmp/test_mounts.XXXXXX";
	int file = mkstemp(path), fd = -1;
	bool present = false;

	assert_true(file >= 0);
	assert_int_equal(write(file, table, sizeof(table) - 1), sizeof(table) - 1);
	close(file);
	assert_int_equal(mounts_open(path, &fd), 0);
	unlink(path);
	assert_int_equal(mounts_has_device(fd, makedev(0, 39), &present), 0);
	assert_true(present);
	/* each look begins at the top again */
	assert_int_equal(mounts_has_device(fd, makedev(98, 0), &present), 0);
	assert_true(present);
	assert_int_equal(mounts_has_device(fd, makedev(0, 40), &present), 0);
	assert_true(present);
	assert_int_equal(mounts_has_device(fd, makedev(0, 77), &present), 0);
	assert_false(present);
	assert_int_equal(mounts_has_device(fd, makedev(0, 55), &present), 0);
	assert_false(present);
	assert_int_equal(mounts_has_device(fd, makedev(0, 3), &present), 0);
	assert_false(present);
	close(fd);
}

/* The device of / can be one that stat makes up (overlay, btrfs); that of /proc is its mount's. */
static void test_device_of_proc_is_found(void **state)
{
	bool present = false;
	struct stat st;
	int fd;

	assert_int_equal(mounts_open(MOUNTS_PATH, &fd), 0);
	assert_int_equal(stat("/proc", &st), 0);
	assert_int_equal(mounts_has_device(fd, st.st_dev, &present), 0);
	assert_true(present);
	close(fd);
}

static void test_unreadable_table_is_an_error(void **state)
{
	bool present = true;
	int fd = 4711;

	assert_int_equal(mounts_open("/nonexistent/table", &fd), -ENOENT);
	assert_int_equal(fd, 4711);
	assert_int_equal(mounts_has_device(-1, makedev(0, 1), &present), -EBADF);
	assert_true(present);
}

static int take_mount(void *arg, const char *dir, uid_t owner)
{
	GString *dirs = arg;

	g_string_append_printf(dirs, "%s %d;", dir, (int)owner);
	return strcmp(dir, "/stop") == 0 ? 7 : 0;
}

static void test_kprofs_mounts_are_found(void **state)
{
	g_autofree char *dir = g_dir_make_tmp("test_mounts.XXXXXX", NULL);
	g_autofree char *path = g_build_filename(dir, "mounts", NULL);
	GString *dirs = g_string_new(NULL);

	assert_true(g_file_set_contents(path,
		"proc /proc proc rw,nosuid 0 0\n"
		"none /mnt/kprof fuse.kprofs rw,user_id=0 0 0\n"
		"fuse.kprofs /mnt/trap fuse.other rw 0 0\n"
		"none /a\\040b fuse.kprofs rw 0 0\n"
		"kprof-private /private fuse.kprofs rw,user_id=0 0 0\n"
		"none /c fuse.kprofs rw,user_id=1000,allow_other 0 0\n", -1, NULL));
	assert_int_equal(mounts_find(path, MOUNTS_KPROFS_TYPE, take_mount, dirs), 0);
	assert_string_equal(dirs->str, "/mnt/kprof 0;/a b -1;/c 1000;");
	g_string_truncate(dirs, 0);
	assert_true(g_file_set_contents(path,
		"none /stop fuse.kprofs rw 0 0\nnone /b fuse.kprofs rw 0 0\n", -1, NULL));
	assert_int_equal(mounts_find(path, MOUNTS_KPROFS_TYPE, take_mount, dirs), 7);
	assert_string_equal(dirs->str, "/stop -1;");
	unlink(path);
	assert_int_equal(mounts_find(path, MOUNTS_KPROFS_TYPE, take_mount, dirs), -ENOENT);
	rmdir(dir);
	g_string_free(dirs, TRUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_device_is_found_in_a_mount_table),
		cmocka_unit_test(test_device_of_proc_is_found),
		cmocka_unit_test(test_unreadable_table_is_an_error),
		cmocka_unit_test(test_kprofs_mounts_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * producers/endpoint: the socket file and its lock file are made, replaced and removed by the rules of
 * endpoint.h.
 */
#include "tests/unit/listener_fixture.h"

/* ---- the socket's path ----------------------------------------------------------------------- */

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) ? 0 : st.st_mode;
}

static void test_socket_path_is_locked_and_reused(void **state)
{
	g_autofree char *path = g_build_filename(server.dir, "place", NULL);
	g_autofree char *lock = g_strconcat(path, ".lock", NULL);
	g_autofree char *own_pid = g_strdup_printf("listens at %s: pid %d", path, (int)getpid());
	struct endpoint *first = NULL, *second = NULL;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct err err;
	int stale, fd;

	assert_int_equal(open_endpoint(path, ENDPOINT_ALL, &first, &err), 0);
	assert_int_equal(mode_of(path), S_IFSOCK | 0666);
	assert_int_equal(mode_of(lock), S_IFREG | 0600);
	assert_int_equal(open_endpoint(path, ENDPOINT_ALL, &second, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "another server"));
	assert_non_null(strstr(err.text, own_pid));
	endpoint_close(first);
	assert_int_equal(mode_of(path), 0);
	assert_int_equal(mode_of(lock), 0);

	/* of a server that was killed: no process listens or has the lock */
	stale = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	assert_int_equal(bind(stale, (struct sockaddr *)&address, sizeof(address)), 0);
	fd = open(lock, O_CREAT | O_RDWR, 0600);
	assert_int_equal(open_endpoint(path, ENDPOINT_OWNER, &first, &err), 0);
	assert_int_equal(mode_of(path), S_IFSOCK | 0600);
	close(fd);
	endpoint_close(first);
	close(stale);
	assert_int_equal(open_endpoint(path, ENDPOINT_GROUP, &first, &err), 0);
	assert_int_equal(mode_of(path), S_IFSOCK | 0660);
	/* another socket was put there: it is not ours to remove */
	assert_int_equal(unlink(path), 0);
	stale = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(stale, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(stale, 1), 0);
	endpoint_close(first);
	assert_int_equal(mode_of(path) & S_IFMT, S_IFSOCK);
	/* and the process that listens there is left alone */
	assert_int_equal(open_endpoint(path, ENDPOINT_ALL, &first, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "another process"));
	assert_non_null(strstr(err.text, own_pid));
	close(stale);
	assert_int_equal(unlink(path), 0);
}

static void test_bad_socket_paths_are_refused(void **state)
{
	g_autofree char *dir = g_build_filename(server.dir, "dir", NULL);
	g_autofree char *path = g_build_filename(dir, "trace", NULL);
	g_autofree char *long_path = g_strdup_printf("%s/%0100d", dir, 0);
	struct endpoint *endpoint = NULL;
	struct err err;
	int fd;

	assert_int_equal(open_endpoint(path, ENDPOINT_ALL, &endpoint, &err), -ENOENT);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(open_endpoint(long_path, ENDPOINT_ALL, &endpoint, &err), -ENAMETOOLONG);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(open_endpoint(path, ENDPOINT_ALL, &endpoint, &err), -EPERM);
	assert_non_null(strstr(err.text, "others may write"));
	assert_int_equal(chmod(dir, 01777), 0);
	assert_int_equal(open_endpoint(path, ENDPOINT_ALL, &endpoint, &err), 0);
	endpoint_close(endpoint);
	if (geteuid() == 0) {
		assert_int_equal(chown(dir, 1, 1), 0);
		assert_int_equal(open_endpoint(path, ENDPOINT_ALL, &endpoint, &err), -EPERM);
		assert_non_null(strstr(err.text, "another user"));
		assert_int_equal(chown(dir, 0, 0), 0);
	}
	assert_int_equal(chmod(dir, 0700), 0);
	fd = open(path, O_CREAT | O_RDWR, 0600);
	close(fd);
	assert_int_equal(open_endpoint(path, ENDPOINT_ALL, &endpoint, &err), -EEXIST);
	assert_int_equal(mode_of(path), S_IFREG | 0600);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(open_endpoint(path, ENDPOINT_ALL, &endpoint, &err), -EEXIST);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_socket_path_is_locked_and_reused),
		cmocka_unit_test(test_bad_socket_paths_are_refused),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

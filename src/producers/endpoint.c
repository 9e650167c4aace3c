/* SPDX-License-Identifier: MIT */
/* The listening socket in the file system: see endpoint.h. */
#include "producers/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SYSTEM_DIR "/run"
#define OWN_DIR "kprofs"
#define NAME "trace"
#define LOCK_SUFFIX ".lock"
#define NEW_SUFFIX ".new"
#define BACKLOG 4096 /* the kernel cuts it to net.core.somaxconn */

/* How often, and after which pauses, the path of a server that is about to end is tried. */
#define TRIES 50
#define PAUSE_US 20000

struct endpoint {
	char *path, *dir_path, *name;
	int dir, lock, fd;
	dev_t dev; /* of the socket's file */
	ino_t ino;
};

/* ---- the directory --------------------------------------------------------------------------- */

static int find_path(struct endpoint *endpoint, const char *given, struct err *err)
{
	const char *base = geteuid() ? secure_getenv("XDG_RUNTIME_DIR") : SYSTEM_DIR;

	if (!given && (!base || base[0] != '/'))
		return err_set(err, ENOENT, "XDG_RUNTIME_DIR names no directory for the socket");
	endpoint->path = given ? g_strdup(given) : g_build_filename(base, OWN_DIR, NAME, NULL);
	endpoint->dir_path = g_path_get_dirname(endpoint->path);
	endpoint->name = g_path_get_basename(endpoint->path);
	if (strlen(endpoint->path) + strlen(NEW_SUFFIX) >=
		sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return err_set(err, ENAMETOOLONG, "%s: too long for a socket", endpoint->path);
	if (given)
		return 0;
	if (mkdir(endpoint->dir_path, 0755)) {
		if (errno != EEXIST)
			return err_set(err, errno, "%s: %s", endpoint->dir_path,
				g_strerror(errno));
	} else if (chmod(endpoint->dir_path, 0755)) { /* independent of the umask */
		return err_set(err, errno, "%s: %s", endpoint->dir_path, g_strerror(errno));
	}
	return 0;
}

/* No other user may be able to replace the socket: clients look for it by its path. */
static int open_dir(struct endpoint *endpoint, bool given, struct err *err)
{
	struct stat st;

	endpoint->dir = open(endpoint->dir_path,
		O_RDONLY | O_DIRECTORY | O_CLOEXEC | (given ? 0 : O_NOFOLLOW));
	if (endpoint->dir < 0 || fstat(endpoint->dir, &st))
		return err_set(err, errno, "%s: %s", endpoint->dir_path, g_strerror(errno));
	if (st.st_uid && st.st_uid != geteuid())
		return err_set(err, EPERM, "%s belongs to another user", endpoint->dir_path);
	if (st.st_mode & (S_IWGRP | S_IWOTH) && !(st.st_mode & S_ISVTX))
		return err_set(err, EPERM, "others may write to %s", endpoint->dir_path);
	return 0;
}

/* ---- ownership ------------------------------------------------------------------------------- */

static bool same_file(int fd, int dir, const char *name)
{
	struct stat a, b;

	return !fstat(fd, &a) && !fstatat(dir, name, &b, AT_SYMLINK_NOFOLLOW) &&
		a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Returns -EADDRINUSE if another server has it now. */
static int try_lock(struct endpoint *endpoint, struct err *err)
{
	g_autofree char *name = g_strconcat(endpoint->name, LOCK_SUFFIX, NULL);
	int ret = -EADDRINUSE;
	int fd = openat(endpoint->dir, name,
		O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_set(err, errno, "%s%s: %s", endpoint->path, LOCK_SUFFIX,
			g_strerror(errno));
	/* its former owner may have removed the file since it was opened */
	if (!flock(fd, LOCK_EX | LOCK_NB) && same_file(fd, endpoint->dir, name)) {
		endpoint->lock = fd;
		return 0;
	}
	close(fd);
	return ret;
}

static void make_address(const struct endpoint *endpoint, const char *suffix,
	struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	g_strlcpy(address->sun_path, endpoint->path, sizeof(address->sun_path));
	g_strlcat(address->sun_path, suffix, sizeof(address->sun_path));
}

/*
 * Connects to the socket at the endpoint's path. 0, and in *pid the process that listens there, unchanged
 * if that is unknown; -errno of connect(2). A connection that is closed at once costs that process nothing.
 */
static int find_listener(const struct endpoint *endpoint, pid_t *pid)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	struct sockaddr_un address;
	int ret, fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	make_address(endpoint, "", &address);
	ret = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	if (!ret && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		*pid = peer.pid;
	close(fd);
	return ret;
}

/* `who` listens at the endpoint's path. */
static int explain_in_use(const struct endpoint *endpoint, const char *who, pid_t pid, struct err *err)
{
	if (pid > 0)
		return err_set(err, EADDRINUSE, "%s listens at %s: pid %d", who, endpoint->path, (int)pid);
	return err_set(err, EADDRINUSE, "%s listens at %s", who, endpoint->path);
}

static int take_lock(struct endpoint *endpoint, struct err *err)
{
	int ret = try_lock(endpoint, err);
	pid_t pid = 0;

	for (int i = 0; i < TRIES && ret == -EADDRINUSE; i++) {
		g_usleep(PAUSE_US);
		ret = try_lock(endpoint, err);
	}
	if (ret != -EADDRINUSE)
		return ret;
	find_listener(endpoint, &pid);
	return explain_in_use(endpoint, "another server", pid, err);
}

/*
 * A file that is no socket is not replaced, nor is a socket at which a process without our lock
 * listens. The acceptor of a server that was killed ends the socket soon after the server.
 */
static int check_path(struct endpoint *endpoint, struct err *err)
{
	struct stat st;
	pid_t pid = 0;
	int ret;

	if (fstatat(endpoint->dir, endpoint->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : err_set(err, errno, "%s: %s", endpoint->path,
						     g_strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, EEXIST, "%s exists and is not a socket", endpoint->path);
	ret = find_listener(endpoint, &pid);
	for (int i = 0; i < TRIES && (!ret || ret == -EAGAIN); i++) {
		g_usleep(PAUSE_US);
		ret = find_listener(endpoint, &pid);
	}
	return ret == 0 || ret == -EAGAIN ? explain_in_use(endpoint, "another process", pid, err) : 0;
}

/* ---- the socket ------------------------------------------------------------------------------ */

static int bind_socket(struct endpoint *endpoint, const struct endpoint_options *options,
	const char *name)
{
	static const mode_t modes[] = {
		[ENDPOINT_ALL] = 0666, [ENDPOINT_OWNER] = 0600, [ENDPOINT_GROUP] = 0660,
	};
	const gid_t group = options->who == ENDPOINT_GROUP ? options->group : (gid_t)-1;
	const uid_t owner = options->owner == geteuid() ? (uid_t)-1 : options->owner;
	struct sockaddr_un address;
	struct stat st;

	make_address(endpoint, NEW_SUFFIX, &address);
	unlinkat(endpoint->dir, name,
		0); /* of a server that ended before it renamed it; the lock is ours */
	if (bind(endpoint->fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	/* it does not listen yet: no process can connect with the present mode */
	if (fchmodat(endpoint->dir, name, modes[options->who], 0) ||
		fchownat(endpoint->dir, name, owner, group, AT_SYMLINK_NOFOLLOW) ||
		fstatat(endpoint->dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
		listen(endpoint->fd, BACKLOG) ||
		renameat(endpoint->dir, name, endpoint->dir, endpoint->name)) {
		int ret = -errno;

		unlinkat(endpoint->dir, name, 0);
		return ret;
	}
	endpoint->dev = st.st_dev;
	endpoint->ino = st.st_ino;
	return 0;
}

static int make_socket(struct endpoint *endpoint, const struct endpoint_options *options,
	struct err *err)
{
	g_autofree char *name = g_strconcat(endpoint->name, NEW_SUFFIX, NULL);
	int ret = 0;

	endpoint->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (endpoint->fd < 0)
		ret = -errno;
	if (!ret)
		ret = bind_socket(endpoint, options, name);
	return ret ? err_set(err, -ret, "%s: %s", endpoint->path, g_strerror(-ret)) : 0;
}

int endpoint_open(const struct endpoint_options *options, struct endpoint **endpoint,
	struct err *err)
{
	struct endpoint *e = g_new0(struct endpoint, 1);
	int ret;

	e->dir = e->lock = e->fd = -1;
	ret = find_path(e, options->path, err);
	if (!ret)
		ret = open_dir(e, options->path != NULL, err);
	if (!ret)
		ret = take_lock(e, err);
	if (!ret)
		ret = check_path(e, err);
	if (!ret)
		ret = make_socket(e, options, err);
	if (ret)
		endpoint_close(e);
	else
		*endpoint = e;
	return ret;
}

int endpoint_take_fd(struct endpoint *endpoint)
{
	int fd = endpoint->fd;

	endpoint->fd = -1;
	return fd;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void endpoint_close(struct endpoint *endpoint)
{
	struct stat st;

	if (!endpoint)
		return;
	if (endpoint->ino && !fstatat(endpoint->dir, endpoint->name, &st, AT_SYMLINK_NOFOLLOW) &&
		st.st_dev == endpoint->dev && st.st_ino == endpoint->ino)
		unlinkat(endpoint->dir, endpoint->name, 0);
	close_fd(endpoint->fd);
	if (endpoint->lock >= 0) {
		g_autofree char *name = g_strconcat(endpoint->name, LOCK_SUFFIX, NULL);

		unlinkat(endpoint->dir, name, 0); /* while it is ours */
		close(endpoint->lock);
	}
	close_fd(endpoint->dir);
	g_free(endpoint->path);
	g_free(endpoint->dir_path);
	g_free(endpoint->name);
	g_free(endpoint);
}

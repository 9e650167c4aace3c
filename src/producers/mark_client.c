/* SPDX-License-Identifier: MIT */
/* Sends a message to a server: see mark_client.h. */
#include "producers/mark_client.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <kprof/attach_abi.h>

#include "base/units.h"
#include "sys/clock.h"

#define SYSTEM_SOCKET "/run/kprofs/trace"
#define OWN_SOCKET "kprofs/trace"

/* The socket below XDG_RUNTIME_DIR, or NULL, since after su(1) it may be another user's folder. */
static char *find_own_path(void)
{
	const char *dir = secure_getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (!dir || dir[0] != '/' || stat(dir, &st) || st.st_uid != geteuid())
		return NULL;
	return g_build_filename(dir, OWN_SOCKET, NULL);
}

/* A server reads what programs say: it has to run as root, or as our user. */
static int check_server(int fd, const char *path, struct err *err)
{
	struct ucred server = { .uid = (uid_t)-1 };
	socklen_t bytes = sizeof(server);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &bytes))
		return err_set(err, errno, "%s: %s", path, g_strerror(errno));
	if (server.uid != 0 && server.uid != geteuid())
		return err_set(err, EPERM, "%s: the server is run by another user (%u)", path,
			(unsigned int)server.uid);
	return 0;
}

/* The descriptor; or -errno with a sentence. */
static int connect_to(const char *path, struct err *err)
{
	const struct timeval wait = { .tv_sec = MARK_CLIENT_WAIT_S };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, ret;

	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(err, ENAMETOOLONG, "%s: too long for a socket", path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(err, errno, "socket: %s", g_strerror(errno));
	/* for connect and send, and for recv */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		ret = errno == ENOENT || errno == ECONNREFUSED ?
			err_set(err, errno, "no server listens at %s", path) :
			err_set(err, errno, "%s: %s", path, g_strerror(errno));
	else
		ret = check_server(fd, path, err);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* The descriptor of the first path at which a server listens, in *found. */
static int connect_to_any(const char *path, char **found, struct err *err)
{
	const char *chosen = secure_getenv("KPROF_SOCKET");
	int ret;

	if (!path && chosen && *chosen)
		path = chosen;
	*found = path ? g_strdup(path) : find_own_path();
	if (*found) {
		ret = connect_to(*found, err);
		if (path || (ret != -ENOENT && ret != -ECONNREFUSED))
			return ret;
		g_free(*found);
	}
	*found = g_strdup(SYSTEM_SOCKET);
	return connect_to(*found, err);
}

static int explain(unsigned int error, const char *path, struct err *err)
{
	switch (error) {
	case 0:
		return 0;
	case EINVAL:
		return err_set(err, EINVAL,
			"a message is one line, not empty, without NUL and newline");
	case EMSGSIZE:
		return err_set(err, EMSGSIZE, "the message is longer than %u bytes, or than the trace",
			KPROF_MARK_MAX);
	case EDQUOT:
		return err_set(err, EDQUOT, "this user has sent too many messages: wait a second");
	default:
		return err_set(err, error < 4096 ? (int)error : EPROTO, "%s: the server says: %s", path,
			g_strerror((int)error));
	}
}

/* Packets of other types are skipped; an older server sends none at all. */
static int wait_for_answer(int fd, const char *path, struct err *err)
{
	const uint64_t end_ns = clock_monotonic_ns() + MARK_CLIENT_WAIT_S * NSEC_PER_SEC;
	struct kprof_packet_marked marked;

	do {
		ssize_t got = recv(fd, &marked, sizeof(marked), 0);

		if (got == 0 || (got < 0 && errno == ECONNRESET))
			return err_set(err, ECONNRESET,
				"the server at %s closed the connection; kperr of its mount may say why",
				path);
		if (got == (ssize_t)sizeof(marked) && marked.head.type == KPROF_PACKET_MARKED)
			return explain(marked.error, path, err);
		if (got < 0 && errno != EINTR)
			break;
	} while (clock_monotonic_ns() < end_ns);
	return err_set(err, ETIMEDOUT,
		"the server at %s did not answer within %d s: it is older than this command, or overloaded",
		path, MARK_CLIENT_WAIT_S);
}

int mark_client_send(const char *path, const char *text, size_t bytes, struct err *err)
{
	struct kprof_packet_mark mark = { .head = { KPROF_PACKET_MARK, 0 } };
	char packet[sizeof(mark) + KPROF_MARK_MAX];
	g_autofree char *found = NULL;
	int fd, ret;

	if (bytes > KPROF_MARK_MAX)
		return explain(EMSGSIZE, "", err);
	mark.head.bytes = (uint32_t)(sizeof(mark) + bytes);
	memcpy(packet, &mark, sizeof(mark));
	memcpy(packet + sizeof(mark), text, bytes);
	fd = connect_to_any(path, &found, err);
	if (fd < 0)
		return fd;
	if (send(fd, packet, mark.head.bytes, MSG_NOSIGNAL) < 0)
		ret = err_set(err, errno, "%s: %s", found, g_strerror(errno));
	else
		ret = wait_for_answer(fd, found, err);
	close(fd);
	return ret;
}

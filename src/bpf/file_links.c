/* SPDX-License-Identifier: MIT */
/* Programs at places in files, as the server sees them: see file_links.h. */
#include "bpf/file_links.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "bpf/file_links_wire.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/fdpass.h"

/* The program itself, even if the file was replaced or can't be reached by its path. */
#define PROGRAM "/proc/self/exe"

/* A process that has closed its socket ends within this time. */
#define REAP_MS 1000

struct group {
	uint64_t number;
	struct file_links_size size;
	bool leaving; /* it is to be detached, */
	bool told;    /* and the process knows it */
};

/* i: invariant; o: of the thread that holds `asking`, which is taken before the lock; l: under the lock */
struct file_links {
	void (*lost)(void *arg);	 /* l */
	void *arg;			 /* i */
	pthread_mutex_t asking;		 /* one request at a time */
	pthread_mutex_t lock;		 /* a leaf */
	pthread_cond_t changed;
	pthread_t thread;		 /* o: reads the socket; there if `socket` is */
	int socket;			 /* l, written by o: -1 without a process */
	pid_t process;			 /* l, written by o */
	uint32_t number;		 /* l, written by o: of the last request */
	bool waits;			 /* l: its answer has not come */
	bool ended;			 /* l: the process has closed its socket, */
	bool left;			 /* l: or goes on without the server */
	uint64_t news;			 /* l: packets that came */
	pid_t held;			 /* l: the process for which it waits at the end, or 0 */
	struct file_links_answer answer; /* l: the last one */
	GHashTable *groups;		 /* l: of struct group */
};

struct file_links *file_links_create(void (*lost)(void *arg), void *arg)
{
	struct file_links *links = g_new0(struct file_links, 1);

	links->lost = lost;
	links->arg = arg;
	links->socket = -1;
	pthread_mutex_init(&links->asking, NULL);
	pthread_mutex_init(&links->lock, NULL);
	pthread_cond_init(&links->changed, NULL);
	links->groups = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	return links;
}

/* ---- groups: with the lock held ---------------------------------------------------------------- */

static struct group *find_group(struct file_links *links, uint64_t number)
{
	return g_hash_table_lookup(links->groups, &number);
}

static struct group *make_group(struct file_links *links, uint64_t number)
{
	struct group *group = find_group(links, number);

	if (group)
		return group;
	group = g_new0(struct group, 1);
	group->number = number;
	g_hash_table_insert(links->groups, &group->number, group);
	return group;
}

/* What does not fit into the socket is sent when the process has read some. */
static void tell_leaving(struct file_links *links)
{
	struct file_links_request request = { .kind = FILE_LINKS_DETACH };
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, links->groups);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct group *group = value;

		request.group = group->number;
		if (group->leaving && !group->told)
			group->told = !fdpass_send(links->socket, &request, sizeof(request), NULL, 0,
				MSG_DONTWAIT);
	}
}

/* All links are gone. Returns whether some were not to be detached. */
static bool forget_groups(struct file_links *links)
{
	bool lost = false;
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, links->groups);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		lost |= !((struct group *)value)->leaving && ((struct group *)value)->size.places;
	g_hash_table_remove_all(links->groups);
	return lost;
}

/* ---- the thread -------------------------------------------------------------------------------- */

static void take(struct file_links *links, const struct file_links_answer *answer)
{
	pthread_mutex_lock(&links->lock);
	links->news++;
	if (answer->news == FILE_LINKS_ANSWER && answer->number == links->number) {
		links->answer = *answer;
		links->waits = false;
	} else if (answer->news == FILE_LINKS_DETACHED) {
		g_hash_table_remove(links->groups, &answer->group);
	} else if (answer->news == FILE_LINKS_HELD) {
		links->held = answer->error;
	}
	tell_leaving(links);
	pthread_cond_broadcast(&links->changed);
	pthread_mutex_unlock(&links->lock);
}

/* It has closed its socket, which it does last; if it was killed, the kernel may wait at its end. */
static void reap(pid_t process)
{
	for (int ms = 0; ms < REAP_MS; ms++) {
		if (waitpid(process, NULL, WNOHANG))
			return;
		g_usleep(1000);
	}
}

static void *run_thread(void *arg)
{
	struct file_links *links = arg;
	struct file_links_answer answer;
	void (*lost)(void *arg) = NULL;
	ssize_t got;
	bool left;

	pthread_setname_np(pthread_self(), "kp-links");
	while ((got = recv(links->socket, &answer, sizeof(answer), 0)) == sizeof(answer) ||
		(got < 0 && errno == EINTR))
		if (got > 0)
			take(links, &answer);
	pthread_mutex_lock(&links->lock);
	left = links->left;
	pthread_mutex_unlock(&links->lock);
	if (!left)
		reap(links->process);
	pthread_mutex_lock(&links->lock);
	links->ended = true;
	if (!left && forget_groups(links))
		lost = links->lost;
	pthread_cond_broadcast(&links->changed);
	pthread_mutex_unlock(&links->lock);
	if (lost)
		lost(links->arg);
	return NULL;
}

/* ---- the process: with `asking` held ----------------------------------------------------------- */

static int spawn(int fd, pid_t *pid)
{
	char *arguments[] = { (char *)"kprofs", (char *)FILE_LINKS_WORD, NULL };
	static const int defaults[] = { SIGPIPE, 0 };
	const struct child_options options = {
		.program = PROGRAM,
		.arguments = arguments,
		.environment = environ,
		.fd = fd,
		.child_fd = FILE_LINKS_FD,
		.defaults = defaults,
	};

	return child_start(&options, pid);
}

/* One that has ended is forgotten. */
static void forget_process(struct file_links *links)
{
	pthread_join(links->thread, NULL);
	pthread_mutex_lock(&links->lock);
	close(links->socket);
	links->socket = -1;
	links->process = 0;
	links->ended = links->waits = false;
	pthread_mutex_unlock(&links->lock);
}

static int start(struct file_links *links)
{
	pid_t process = 0;
	int pair[2], ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	ret = spawn(pair[1], &process);
	close(pair[1]);
	if (!ret) {
		pthread_mutex_lock(&links->lock);
		links->socket = pair[0];
		links->process = process;
		pthread_mutex_unlock(&links->lock);
		ret = -pthread_create(&links->thread, NULL, run_thread, links);
	}
	if (!ret)
		return 0;
	pthread_mutex_lock(&links->lock);
	links->socket = -1;
	pthread_mutex_unlock(&links->lock);
	close(pair[0]);
	if (process)
		reap(process);
	return ret;
}

/* There is one. -EBUSY if it has not answered the request before. */
static int make_process(struct file_links *links)
{
	bool ended, waits;

	pthread_mutex_lock(&links->lock);
	ended = links->socket >= 0 && links->ended;
	waits = links->waits && !ended;
	pthread_mutex_unlock(&links->lock);
	if (waits)
		return -EBUSY;
	if (ended)
		forget_process(links);
	return links->socket >= 0 ? 0 : start(links);
}

/* ---- requests: with `asking` held -------------------------------------------------------------- */

static int explain(int ret, struct err *err)
{
	if (ret == -EBUSY || ret == -ETIMEDOUT)
		return err_set(err, -ret, "the kernel has not attached to a file or detached from it within "
			"%d s. It may wait for a process whose memory map a FUSE server keeps locked, and "
			"all that fork on this machine with it, until that server answers or its connection "
			"in /sys/fs/fuse/connections is aborted", FILE_LINKS_WAIT_MS / 1000);
	return err_set(err, -ret, "the process that attaches to files: %s", strerror(-ret));
}

static int send_request(struct file_links *links, const struct file_links_request *request, const int *fds,
	unsigned int count, uint64_t until_ns)
{
	struct pollfd room = { .fd = links->socket, .events = POLLOUT };
	int ret;

	while ((ret = fdpass_send(links->socket, request, sizeof(*request), fds, count, MSG_DONTWAIT)) ==
		-EAGAIN) {
		const uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= until_ns)
			return -EBUSY;
		(void)poll(&room, 1, (int)((until_ns - now_ns) / NSEC_PER_MSEC) + 1);
	}
	return ret;
}

/*
 * The value of the answer, with its sentence; -EPIPE if the process has ended, -ETIMEDOUT without an answer.
 */
static int wait_answer(struct file_links *links, uint64_t until_ns, struct err *err)
{
	int ret = -ETIMEDOUT;

	pthread_mutex_lock(&links->lock);
	while (links->waits && !links->ended && clock_wait_until(&links->changed, &links->lock, until_ns))
		;
	if (!links->waits) {
		ret = links->answer.error;
		if (ret)
			err_set(err, -ret, "%s", links->answer.err.text);
	} else if (links->ended) {
		ret = -EPIPE;
	} else {
		explain(ret, err);
	}
	pthread_mutex_unlock(&links->lock);
	return ret;
}

static int ask_once(struct file_links *links, struct file_links_request *request, const int *fds,
	unsigned int count, struct err *err)
{
	const uint64_t until_ns = clock_monotonic_ns() + FILE_LINKS_WAIT_MS * NSEC_PER_MSEC;
	int ret = make_process(links);

	if (ret)
		return explain(ret, err);
	pthread_mutex_lock(&links->lock);
	request->number = ++links->number;
	links->waits = true;
	if (request->kind == FILE_LINKS_ATTACH)
		make_group(links, request->group);
	pthread_mutex_unlock(&links->lock);
	ret = send_request(links, request, fds, count, until_ns);
	if (!ret)
		return wait_answer(links, until_ns, err);
	if (ret == -ECONNRESET)
		ret = -EPIPE;
	pthread_mutex_lock(&links->lock);
	links->waits = false;
	/* the thread sees the end as well: only then another process is started */
	while (ret == -EPIPE && !links->ended && clock_wait_until(&links->changed, &links->lock, until_ns))
		;
	pthread_mutex_unlock(&links->lock);
	return ret == -EPIPE ? ret : explain(ret, err);
}

static bool has_places(struct file_links *links, uint64_t number)
{
	const struct group *group;
	bool has;

	pthread_mutex_lock(&links->lock);
	group = find_group(links, number);
	has = group && group->size.places;
	pthread_mutex_unlock(&links->lock);
	return has;
}

/* A process that ends by itself, without links, may do so while a request is sent: another is asked. */
static int ask(struct file_links *links, struct file_links_request *request, const int *fds,
	unsigned int count, struct err *err)
{
	const bool had_places = has_places(links, request->group);
	int ret = ask_once(links, request, fds, count, err);

	if (ret == -EPIPE && !had_places)
		ret = ask_once(links, request, fds, count, err);
	return ret == -EPIPE ? explain(ret, err) : ret;
}

int file_links_attach(struct file_links *links, uint64_t group, int program,
	const struct file_links_place *place, struct err *err)
{
	struct file_links_request request = { .kind = FILE_LINKS_ATTACH, .group = group,
		.offset = place->offset, .counter = place->counter, .pid = place->pid,
		.at_return = place->at_return };
	const int fds[] = { place->file, program };
	int ret;

	pthread_mutex_lock(&links->asking);
	ret = ask(links, &request, fds, G_N_ELEMENTS(fds), err);
	if (!ret) {
		pthread_mutex_lock(&links->lock);
		make_group(links, group)->size.places++;
		pthread_mutex_unlock(&links->lock);
	}
	pthread_mutex_unlock(&links->asking);
	return ret;
}

int file_links_check(struct file_links *links, struct err *err)
{
	struct file_links_request request = { .kind = FILE_LINKS_CHECK };
	int ret;

	pthread_mutex_lock(&links->asking);
	ret = ask(links, &request, NULL, 0, err);
	pthread_mutex_unlock(&links->asking);
	return ret;
}

void file_links_detach(struct file_links *links, uint64_t number, const struct file_links_size *size)
{
	struct group *group;

	pthread_mutex_lock(&links->lock);
	group = find_group(links, number);
	if (group) {
		group->leaving = true;
		group->size.bytes = size->bytes;
		group->size.ready_bytes = size->ready_bytes;
		tell_leaving(links);
	}
	pthread_mutex_unlock(&links->lock);
}

void file_links_left(struct file_links *links, struct file_links_size *size)
{
	GHashTableIter iter;
	void *value;

	*size = (struct file_links_size){ 0 };
	pthread_mutex_lock(&links->lock);
	g_hash_table_iter_init(&iter, links->groups);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct group *group = value;

		if (!group->leaving)
			continue;
		size->places += group->size.places;
		size->bytes += group->size.bytes;
		size->ready_bytes += group->size.ready_bytes;
	}
	pthread_mutex_unlock(&links->lock);
}

bool file_links_has(struct file_links *links, uint64_t number)
{
	const struct group *group;
	bool has;

	pthread_mutex_lock(&links->lock);
	group = find_group(links, number);
	has = group && !group->leaving;
	pthread_mutex_unlock(&links->lock);
	return has;
}

/* ---- the end ----------------------------------------------------------------------------------- */

/* With the lock held. Each packet of the process is a sign that it goes on. */
static void wait_until_detached(struct file_links *links)
{
	/* one that has not answered a request is in the kernel */
	while (!links->ended && !links->held && !links->waits) {
		const uint64_t news = links->news;

		if (!clock_wait_until(&links->changed, &links->lock,
			    clock_monotonic_ns() + FILE_LINKS_WAIT_MS * NSEC_PER_MSEC) &&
			news == links->news)
			return;
	}
}

void file_links_destroy(struct file_links *links, int *process)
{
	*process = 0;
	if (!links)
		return;
	if (links->socket >= 0) {
		shutdown(links->socket, SHUT_WR);
		pthread_mutex_lock(&links->lock);
		links->lost = NULL;
		wait_until_detached(links);
		links->left = !links->ended;
		if (links->left)
			*process = links->process;
		pthread_mutex_unlock(&links->lock);
		shutdown(links->socket, SHUT_RD);
		forget_process(links);
	}
	g_hash_table_unref(links->groups);
	pthread_cond_destroy(&links->changed);
	pthread_mutex_destroy(&links->lock);
	pthread_mutex_destroy(&links->asking);
	g_free(links);
}

/* SPDX-License-Identifier: MIT */
/* The receiver processes as the listener uses them: see receivers.h. */
#include "producers/receivers.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Receivers that wait for the next producer. */
#define IDLE_MAX 1
#define RECEIVERS_MAX (RECEIVERS_LOST_MAX + RECEIVERS_BUSY_MAX + IDLE_MAX)
/*
 * How long the end of the spawner is waited for. It ends when its connection does; only a machine
 * short of memory delays it.
 */
#define SPAWNER_END_MS 1000

enum receiver_state {
	STATE_NONE,
	STATE_IDLE,
	STATE_BUSY,
	STATE_LOST, /* it ends at some time, perhaps never */
};

struct receiver {
	enum receiver_state state;
	int fd;
	struct receivers_owner owner; /* of the request, or of what it is lost for */
	void *cookie;		      /* NULL if the answer is to be dropped */
	bool holds;		      /* it has sockets: it will end, even if it answers before */
};

struct receivers {
	int epoll;
	int spawner; /* the connection to it; -1 if there is none */
	pid_t spawner_pid;
	struct receiver all[RECEIVERS_MAX];
};

static unsigned int count(const struct receivers *receivers, enum receiver_state state)
{
	unsigned int n = 0;

	for (size_t i = 0; i < RECEIVERS_MAX; i++)
		n += receivers->all[i].state == state;
	return n;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void end_spawner(struct receivers *receivers)
{
	if (receivers->spawner < 0)
		return;
	close(receivers->spawner);
	receivers->spawner = -1;
	for (int i = 0; i < SPAWNER_END_MS && waitpid(receivers->spawner_pid, NULL, WNOHANG) == 0;
		i++)
		g_usleep(1000);
}

static void end_receiver(struct receivers *receivers, struct receiver *receiver)
{
	/*
	 * a child of this process may have a copy of the descriptor, and epoll would go on
	 * reporting it
	 */
	epoll_ctl(receivers->epoll, EPOLL_CTL_DEL, receiver->fd, NULL);
	close(receiver->fd);
	*receiver = (struct receiver){ .state = STATE_NONE, .fd = -1 };
}

/*
 * Starts a new spawner if the old one was killed; the new one has a copy of the memory that the
 * server has now.
 */
static int send_to_spawner(struct receivers *receivers, int fd)
{
	int ret = -EPIPE;

	if (receivers->spawner >= 0)
		ret = receiver_send(receivers->spawner, 0, &fd, 1);
	if (!ret || ret == -EAGAIN)
		return ret;
	end_spawner(receivers);
	ret = receiver_start_spawner(&receivers->spawner, &receivers->spawner_pid);
	return ret ? ret : receiver_send(receivers->spawner, 0, &fd, 1);
}

static struct receiver *find(struct receivers *receivers, enum receiver_state state)
{
	for (size_t i = 0; i < RECEIVERS_MAX; i++)
		if (receivers->all[i].state == state)
			return &receivers->all[i];
	return NULL;
}

/* An idle receiver, started if there is none; NULL if none can be started. */
static struct receiver *find_idle(struct receivers *receivers)
{
	struct receiver *receiver = find(receivers, STATE_IDLE);
	struct epoll_event event = { .events = EPOLLIN };
	int pair[2];

	if (receiver)
		return receiver;
	receiver = find(receivers, STATE_NONE);
	if (!receiver || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return NULL;
	event.data.ptr = receiver;
	if (send_to_spawner(receivers, pair[1]) ||
		epoll_ctl(receivers->epoll, EPOLL_CTL_ADD, pair[0], &event)) {
		close(pair[0]);
		receiver = NULL;
	} else {
		*receiver = (struct receiver){ .state = STATE_IDLE, .fd = pair[0] };
	}
	close(pair[1]);
	return receiver;
}

int receivers_create(struct receivers **receivers)
{
	struct receivers *r = g_new0(struct receivers, 1);
	int ret = 0;

	for (size_t i = 0; i < RECEIVERS_MAX; i++)
		r->all[i].fd = -1;
	r->spawner = -1;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0)
		ret = -errno;
	if (!ret)
		ret = receiver_start_spawner(&r->spawner, &r->spawner_pid);
	if (!ret && !find_idle(r))
		ret = -EAGAIN;
	if (ret)
		receivers_destroy(r);
	else
		*receivers = r;
	return ret;
}

void receivers_destroy(struct receivers *receivers)
{
	if (!receivers)
		return;
	for (size_t i = 0; i < RECEIVERS_MAX; i++)
		if (receivers->all[i].state != STATE_NONE)
			end_receiver(receivers, &receivers->all[i]);
	end_spawner(receivers);
	if (receivers->epoll >= 0)
		close(receivers->epoll);
	g_free(receivers);
}

int receivers_fd(const struct receivers *receivers)
{
	return receivers->epoll;
}

/* ---- packets --------------------------------------------------------------------------------- */

bool receivers_may(const struct receivers *receivers, const struct receivers_owner *owner)
{
	unsigned int process = 0, user = 0, all = 0;

	for (size_t i = 0; i < RECEIVERS_MAX; i++) {
		const struct receiver *receiver = &receivers->all[i];

		if (receiver->state != STATE_LOST)
			continue;
		all++;
		user += receiver->owner.uid == owner->uid;
		process += owner->pid && receiver->owner.pid == owner->pid;
	}
	return process < RECEIVERS_LOST_PROCESS_MAX && user < RECEIVERS_LOST_USER_MAX &&
		all < RECEIVERS_LOST_MAX;
}

int receivers_request(struct receivers *receivers, const struct receivers_owner *owner, int socket,
	void *cookie)
{
	struct receiver *receiver;

	if (count(receivers, STATE_BUSY) >= RECEIVERS_BUSY_MAX)
		return -EAGAIN;
	receiver = find_idle(receivers);
	if (!receiver || receiver_send(receiver->fd, RECEIVER_TAKE, &socket, 1))
		return -EIO;
	receiver->state = STATE_BUSY;
	receiver->owner = *owner;
	receiver->cookie = cookie;
	return 0;
}

/* The receiver closes the socket then, which may take long. */
void receivers_forget(struct receivers *receivers, const void *cookie)
{
	for (size_t i = 0; i < RECEIVERS_MAX; i++) {
		struct receiver *receiver = &receivers->all[i];

		if (receiver->state == STATE_BUSY && receiver->cookie == cookie) {
			receiver->cookie = NULL;
			receiver->state = STATE_LOST;
		}
	}
}

/* Takes the answer of a receiver. Returns false if there is none yet. */
static bool take_answer(struct receivers *receivers, struct receiver *receiver, void **cookie,
	struct receiver_answer *answer, int *memory)
{
	int ret = receiver_take_answer(receiver->fd, answer, memory);

	if (ret == -EAGAIN)
		return false;
	*cookie = receiver->cookie;
	receiver->cookie = NULL;
	if (ret) {
		answer->result = -EIO;
		end_receiver(receivers, receiver);
	} else if (answer->result == -EBADMSG || receiver->holds) {
		receiver->state = STATE_LOST;
		find_idle(receivers); /* the next producer does not wait for its start */
	} else {
		receiver->state = STATE_IDLE;
		if (count(receivers, STATE_IDLE) > IDLE_MAX)
			end_receiver(receivers, receiver);
	}
	if (*memory >= 0 && (ret || answer->result || !*cookie)) {
		close(*memory);
		*memory = -1;
	}
	return true;
}

bool receivers_next(struct receivers *receivers, void **cookie, struct receiver_answer *answer,
	int *memory)
{
	struct epoll_event event;

	while (epoll_wait(receivers->epoll, &event, 1, 0) == 1)
		if (take_answer(receivers, event.data.ptr, cookie, answer, memory))
			return true;
	return false;
}

/* ---- sockets --------------------------------------------------------------------------------- */

/*
 * A lost receiver of the same user: it receives nothing any more, but holds sockets that are sent
 * to it.
 */
static struct receiver *find_lost(struct receivers *receivers, uid_t uid)
{
	for (size_t i = 0; i < RECEIVERS_MAX; i++)
		if (receivers->all[i].state == STATE_LOST && receivers->all[i].owner.uid == uid)
			return &receivers->all[i];
	return NULL;
}

static struct receiver *give(struct receivers *receivers, const struct receivers_owner *owner,
	const int *sockets, unsigned int count)
{
	struct receiver *receiver = receivers_may(receivers, owner)
					    ? find_idle(receivers)
					    : find_lost(receivers, owner->uid);

	if (!receiver || receiver_send(receiver->fd, RECEIVER_HOLD, sockets, count))
		return NULL;
	receiver->state = STATE_LOST;
	receiver->owner = *owner;
	receiver->holds = true;
	return receiver;
}

bool receivers_close(struct receivers *receivers, const struct receivers_owner *owner,
	const int *sockets, unsigned int count, int when)
{
	struct receiver *receiver = give(receivers, owner, sockets, count);

	if (!receiver)
		return false;
	for (unsigned int i = 0; i < count; i++)
		close(sockets[i]);
	receiver_send(receiver->fd, RECEIVER_END, &when, 1);
	find_idle(receivers);
	return true;
}

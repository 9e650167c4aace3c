/* SPDX-License-Identifier: MIT */
/*
 * Finding a server, telling it what there is, obeying its switches; the helper thread. The packets
 * are those of attach_abi.h. No call here waits but the helper's poll: sockets are non-blocking, and
 * what a full socket does not take is told later.
 */
#include "client/client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS 900	   /* between looks where nothing wakes us: once a second at least */
#define RETRY_FIRST_MS 20  /* a socket that is there and does not answer: its server may just begin */
#define RETRY_TIMES 8	   /* doubling up to LOOK_MS, then only what wakes us */
#define CROWD_TRIES 200	   /* where others connect as fast as they can, a place is free for a moment */
#define CROWD_MS 100	   /* until it is looked for again */
#define HEAR_PACKETS 64u   /* taken at a time: who loads a library or forks waits for the lock */
#define HELPER_STACK (256u << 10) /* the host's thread-local variables are in it, too */

/* ---- telling --------------------------------------------------------------------------------- */

struct packet {
	size_t bytes;
	uint32_t count;
	char data[KPROF_PACKET_MAX] __attribute__((aligned(8)));
};

static int send_packet(const void *data, size_t bytes)
{
	/* no signal, no waiting; all of a packet or nothing */
	int error = send(client.socket.fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;

	client.socket_full = error == -EAGAIN;
	return error;
}

static int send_hello(const struct pool *pool)
{
	struct kprof_packet_hello hello = {
		.head = {KPROF_PACKET_HELLO, sizeof(hello)},
		.magic = KPROF_ATTACH_MAGIC,
		.version = KPROF_ATTACH_VERSION,
		.pid = (uint32_t)getpid(),
		.pool_bytes = pool->ring.layout.pool_bytes,
	};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {.room = {0}};
	struct iovec data = {&hello, sizeof(hello)};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control.room)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	memcpy(hello.program, client.program, sizeof(hello.program));
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &pool->memfd.fd, sizeof(int));
	return sendmsg(client.socket.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static size_t append_definition(const struct entry *entry, char *to)
{
	struct kprof_event_def def = {
		.id = entry->id,
		.kind = entry->kind,
		.refusal = entry->refusal,
		.provider_bytes = (uint8_t)strlen(entry->provider),
		.name_bytes = (uint8_t)strlen(entry->name),
		.format_bytes = entry->format_bytes,
	};
	char *at = to + sizeof(def);

	memcpy(at, entry->provider, def.provider_bytes);
	at += def.provider_bytes;
	memcpy(at, entry->name, def.name_bytes);
	at += def.name_bytes;
	memcpy(at, entry->format, def.format_bytes);
	at += def.format_bytes;
	def.bytes = (uint16_t)(at - to);
	memcpy(to, &def, sizeof(def));
	return def.bytes;
}

#define DEFINITION_MAX (sizeof(struct kprof_event_def) + 2 * KPROF_NAME_MAX + KPROF_FORMAT_MAX)

/* Fills a packet with untold events of one kind, from *id on. */
static void fill_packet(struct packet *packet, bool gone, uint32_t *id)
{
	struct kprof_packet_events head = {.reserved = 0};
	struct entry *entry;

	packet->bytes = sizeof(head);
	packet->count = 0;
	for (; (entry = registry_entry(&client.registry, *id)) != NULL; (*id)++) {
		if (!(gone ? entry->gone_untold : entry->new_untold))
			continue;
		if (packet->bytes + DEFINITION_MAX > sizeof(packet->data))
			break;
		if (gone) {
			memcpy(packet->data + packet->bytes, &entry->id, sizeof(entry->id));
			packet->bytes += sizeof(entry->id);
		} else {
			packet->bytes += append_definition(entry, packet->data + packet->bytes);
		}
		packet->count++;
	}
	head.head.type = gone ? KPROF_PACKET_GONE : KPROF_PACKET_EVENTS;
	head.head.bytes = (uint32_t)packet->bytes;
	head.count = packet->count;
	memcpy(packet->data, &head, sizeof(head));
}

static void mark_told(bool gone, uint32_t from, uint32_t end)
{
	for (uint32_t id = from; id < end; id++) {
		struct entry *entry = registry_entry(&client.registry, id);

		registry_mark(&client.registry, gone ? &entry->gone_untold : &entry->new_untold,
			false);
	}
}

static int tell_kind(bool gone)
{
	static struct packet packet; /* large; under lock */
	uint32_t from = KPROF_ID_FIRST, id = from;

	while (registry_entry(&client.registry, id)) {
		int error;

		fill_packet(&packet, gone, &id);
		if (packet.count == 0)
			break;
		error = send_packet(packet.data, packet.bytes);
		if (error)
			return error;
		mark_told(gone, from, id);
		from = id;
	}
	return 0;
}

/* A full socket is no loss: the server takes what is in it, then there is room. */
static void drop_if_lost(int error)
{
	if (error && error != -EAGAIN && error != -ENOBUFS)
		attach_drop();
}

void attach_tell(void)
{
	int error;

	if (client.registry.untold == 0 || !own_fd_is_ours(&client.socket))
		return;
	error = tell_kind(false);
	if (!error)
		error = tell_kind(true);
	drop_if_lost(error);
}

/* What the server asked for with SYNC: all that it said before has been obeyed. */
static void answer_sync(void)
{
	struct kprof_packet_sync answer = {
		.head = {KPROF_PACKET_SYNCED, sizeof(answer)},
		.number = client.sync_owed,
	};
	int error;

	if (client.sync_owed == 0 || !own_fd_is_ours(&client.socket))
		return;
	error = send_packet(&answer, sizeof(answer));
	if (!error)
		client.sync_owed = 0;
	drop_if_lost(error);
}

/* ---- obeying --------------------------------------------------------------------------------- */

static void set_on(uint32_t id, uint8_t on)
{
	struct entry *entry;

	if (id == KPROF_ID_TEXT)
		__atomic_store_n(&client.text.on, on, __ATOMIC_RELAXED);
	else if (id == KPROF_ID_TEXTX)
		__atomic_store_n(&client.textx.on, on, __ATOMIC_RELAXED);
	entry = registry_entry(&client.registry, id);
	if (entry && entry->sites && !entry->refusal)
		registry_set(entry, on);
}

static uint8_t get_on(uint32_t id)
{
	const struct entry *entry = registry_entry(&client.registry, id);

	if (id == KPROF_ID_TEXT)
		return client.text.on;
	if (id == KPROF_ID_TEXTX)
		return client.textx.on;
	return entry ? entry->on : CLIENT_OFF;
}

/* Events that are on because no server has spoken: `to`. */
static void end_provisional(uint8_t to)
{
	for (uint32_t id = 0; id < KPROF_ID_FIRST + client.registry.count; id++)
		if (get_on(id) == CLIENT_PROVISIONAL)
			set_on(id, to);
	client.provisional_until_ms = 0;
}

/* The server has told us its version, and leaves if ours is another one. */
static int check_welcome(const char *data, size_t bytes)
{
	struct client_path *path = client.attached_at;
	struct kprof_packet_welcome welcome;
	struct stat st;

	if (bytes != sizeof(welcome))
		return -EPROTO;
	memcpy(&welcome, data, sizeof(welcome));
	if (welcome.version == KPROF_ATTACH_VERSION)
		return 0; /* what counts is SWITCH */
	if (path && stat(path->text, &st) == 0) {
		path->refused = true;
		path->dev = st.st_dev;
		path->ino = st.st_ino;
		path->changed = st.st_ctim;
	}
	return -EPROTO;
}

static int obey(const char *data, size_t bytes)
{
	struct kprof_packet_switch change;
	struct kprof_packet_clear clear;
	struct kprof_packet_sync sync;
	struct kprof_packet head;
	struct pool *pool = atomic_read_relaxed(&client.pool); /* written under our lock */

	if (bytes < sizeof(head))
		return -EPROTO;
	memcpy(&head, data, sizeof(head));
	if (head.bytes != bytes)
		return -EPROTO;
	switch (head.type) {
	case KPROF_PACKET_WELCOME:
		return check_welcome(data, bytes);
	case KPROF_PACKET_SWITCH:
		if (bytes < sizeof(change))
			return -EPROTO;
		memcpy(&change, data, sizeof(change));
		if (change.count != bytes - sizeof(change) || change.first >= KPROF_ID_LIMIT)
			return -EPROTO;
		for (uint32_t i = 0; i < change.count; i++)
			set_on(change.first + i, data[sizeof(change) + i] ? CLIENT_ON : CLIENT_OFF);
		return 0;
	case KPROF_PACKET_CLEAR:
		if (bytes != sizeof(clear))
			return -EPROTO;
		memcpy(&clear, data, sizeof(clear));
		if (pool)
			atomic_write_relaxed(&pool->ring.clear_ticket, clear.ticket);
		return 0;
	case KPROF_PACKET_SYNC:
		if (bytes != sizeof(sync))
			return -EPROTO;
		memcpy(&sync, data, sizeof(sync));
		if (sync.number == 0)
			return -EPROTO;
		client.sync_owed = sync.number;
		return 0;
	default:
		return 0; /* a newer server's */
	}
}

void attach_hear(void)
{
	static char data[KPROF_PACKET_MAX] __attribute__((aligned(8))); /* under lock */

	for (uint32_t i = 0; i < HEAR_PACKETS && own_fd_is_ours(&client.socket); i++) {
		/* no room for descriptors: what somebody attaches is closed by the kernel */
		ssize_t got = recv(client.socket.fd, data, sizeof(data), MSG_DONTWAIT | MSG_TRUNC);

		if (got < 0 && errno == EAGAIN)
			break;
		/* reset: it left without reading what we said; what it said is still there */
		if (got < 0 && (errno == EINTR || errno == ECONNRESET))
			continue;
		if (got <= 0 || (size_t)got > sizeof(data) || obey(data, (size_t)got) != 0) {
			attach_drop();
			return;
		}
	}
	if (client.socket.fd >= 0 && !own_fd_is_ours(&client.socket))
		client.socket.fd = -1; /* the host closed it; the server is there still */
	else
		answer_sync();
	attach_tell();
}

/* ---- connecting ------------------------------------------------------------------------------ */

void attach_drop(void)
{
	own_fd_close(&client.socket);
	/* what is on stays on: the next server finds what was written meanwhile */
	end_provisional(CLIENT_OFF);
}

/* Its server has said that it speaks another version. */
static bool is_refused(const struct client_path *path)
{
	struct stat st;

	return path->refused && stat(path->text, &st) == 0 && st.st_dev == path->dev &&
		st.st_ino == path->ino && st.st_ctim.tv_sec == path->changed.tv_sec &&
		st.st_ctim.tv_nsec == path->changed.tv_nsec;
}

bool attach_may_look(const struct client_path *path)
{
	char dir[sizeof(path->text)];
	struct stat st;

	if (path->owned == 0)
		return true;
	memcpy(dir, path->text, path->owned);
	dir[path->owned] = '\0';
	/* not there yet is no other's: then there is no socket in it either */
	return stat(dir, &st) < 0 || (S_ISDIR(st.st_mode) && st.st_uid == geteuid());
}

/* A server reads all that we write, and says what we write: it has to be root's, or our user's own. */
static bool is_trusted(int fd)
{
	struct ucred server;
	socklen_t bytes = sizeof(server);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &bytes) == 0 &&
		(server.uid == 0 || server.uid == geteuid());
}

static int connect_to(struct client_path *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, error;

	if (is_refused(path) || !attach_may_look(path))
		return -ENOENT;
	strcpy(address.sun_path, path->text);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		error = -errno;
		close(fd);
		return error;
	}
	if (!is_trusted(fd)) {
		close(fd);
		return -EPERM;
	}
	client.attached_at = path;
	client.sync_owed = 0;
	client.socket_full = false;
	return own_fd_take(&client.socket, fd);
}

/* The pool to hand over: the one there is, or a new one if its descriptor is lost. */
static struct pool *get_pool(void)
{
	struct pool *pool = atomic_read_relaxed(&client.pool); /* written under our lock */
	struct pool *fresh;

	if (pool && own_fd_is_ours(&pool->memfd))
		return pool;
	fresh = pool_create();
	if (!fresh)
		return NULL;
	fresh->older = pool;
	atomic_write_release(&client.pool, fresh);
	if (pool)
		ring_pool_leave(&pool->ring);
	return fresh;
}

void attach_have_pool(void)
{
	get_pool();
}

static void begin_provisional(void)
{
	client.provisional_until_ms = client_now_ms() + KPROF_PROVISIONAL_MS;
	for (uint32_t id = 0; id < KPROF_ID_FIRST + client.registry.count; id++)
		set_on(id, CLIENT_PROVISIONAL);
}

int attach_try(void)
{
	struct pool *pool;
	int error = -ENOENT;

	for (int i = 0; i < client.path_count && client.socket.fd < 0; i++) {
		int one = connect_to(&client.paths[i]);

		if (one != -ENOENT)
			error = one; /* there is something: worth another try */
	}
	if (client.socket.fd < 0)
		return error;
	pool = get_pool();
	error = pool ? send_hello(pool) : -ENOMEM;
	if (error) {
		own_fd_close(&client.socket);
		return error;
	}
	for (uint32_t id = KPROF_ID_FIRST; id < KPROF_ID_FIRST + client.registry.count; id++) {
		struct entry *entry = registry_entry(&client.registry, id);

		/* a new server knows nothing; ids of libraries that are gone may be in the rings */
		registry_mark(&client.registry, &entry->new_untold, true);
		registry_mark(&client.registry, &entry->gone_untold, !entry->sites);
	}
	if (!client.ever_attached)
		begin_provisional();
	client.ever_attached = true;
	attach_tell();
	return 0;
}

/* ---- the helper thread ----------------------------------------------------------------------- */

/* Waits for something of one descriptor, or none. */
static void wait_for(int fd, short events, int64_t timeout_ms)
{
	struct pollfd wait = {.fd = fd, .events = events};

	if (timeout_ms > INT_MAX)
		timeout_ms = INT_MAX;
	poll(&wait, 1, timeout_ms < 0 ? -1 : (int)timeout_ms);
}

static void stay_attached(void)
{
	struct client_signals signals;

	client_lock(&signals);
	while (client.socket.fd >= 0) {
		short events = client.socket_full ? POLLIN | POLLOUT : POLLIN;
		int64_t left = -1;
		int fd = client.socket.fd;

		if (client.provisional_until_ms) {
			left = client.provisional_until_ms - client_now_ms();
			if (left <= 0) {
				end_provisional(CLIENT_OFF);
				left = -1;
			}
		}
		/* something failed for want of memory: nothing will wake us for it */
		if (left < 0 && !client.socket_full && (client.sync_owed || client.registry.untold))
			left = RETRY_FIRST_MS;
		client_unlock(&signals);
		wait_for(fd, events, left);
		client_lock(&signals);
		attach_hear();
	}
	client_unlock(&signals);
}

static int try_locked(void)
{
	struct client_signals signals;
	int error;

	client_lock(&signals);
	error = client.socket.fd >= 0 ? 0 : attach_try();
	client_unlock(&signals);
	return error;
}

/* Where the server's queue is full: as long as some thousand system calls of the others. */
static int try_in_crowd(void)
{
	int error, tries = 0;

	do {
		error = try_locked();
	} while (error == -EAGAIN && ++tries < CROWD_TRIES);
	return error;
}

/* Returns when attached. */
static void find_server(struct watch *watch)
{
	int64_t retry_ms = RETRY_FIRST_MS;
	int retries = 0;

	for (;;) {
		/* watch first, then look: nothing appears unseen in between */
		bool watched = watch_start(watch, client.paths, client.path_count) == 0;
		int error = try_in_crowd();
		int64_t timeout = watched ? -1 : LOOK_MS;

		if (error == 0)
			return;
		if (error == -EAGAIN) { /* it is there, and takes some all the time */
			timeout = CROWD_MS;
		} else if (error != -ENOENT && retries < RETRY_TIMES) {
			timeout = retry_ms;
			retry_ms = retry_ms * 2 < LOOK_MS ? retry_ms * 2 : LOOK_MS;
			retries++;
		} else if (error == -EMFILE || error == -ENFILE || error == -ENOMEM) {
			timeout = LOOK_MS; /* it is there; sooner or later it takes us */
		}
		wait_for(watch->inotify.fd, POLLIN, timeout);
		if (watch->inotify.fd >= 0) {
			struct pollfd now = {.fd = watch->inotify.fd, .events = POLLIN};

			if (poll(&now, 1, 0) > 0) { /* something new: its own patience */
				watch_drain(watch);
				retries = 0;
				retry_ms = RETRY_FIRST_MS;
			}
		}
	}
}

static void *run_helper(void *unused)
{
	struct watch watch = {.inotify = OWN_FD_NONE};

	prctl(PR_SET_NAME, "kprof");
	for (;;) {
		int64_t began_ms;

		find_server(&watch);
		watch_stop(&watch);
		began_ms = client_now_ms();
		stay_attached();
		/* a server that sends us away at once is not asked more than once a second */
		if (client_now_ms() - began_ms < LOOK_MS)
			wait_for(-1, POLLIN, LOOK_MS / 2);
	}
	return unused;
}

void attach_start_helper(void)
{
	pthread_attr_t attr;
	sigset_t all, saved;
	pthread_t thread;
	int error;

	if (client.helper_runs || pthread_attr_init(&attr) != 0)
		return;
	/* not the raw call: the C library needs its own signals to reach every thread */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, HELPER_STACK);
	error = pthread_create(&thread, &attr, run_helper, NULL);
	if (error == EINVAL) { /* thread-local variables larger than that */
		pthread_attr_destroy(&attr);
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		error = pthread_create(&thread, &attr, run_helper, NULL);
	}
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	client.helper_runs = error == 0;
}

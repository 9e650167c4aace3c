/* SPDX-License-Identifier: MIT */
/*
 * The connection to a server: connects, sends HELLO and events, receives switches. The packets are
 * those of attach_abi.h. Nothing here waits: the socket is non-blocking, and what it does not take
 * now is sent later.
 */
#include "client/client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define RECEIVE_PACKETS                                                                            \
	64u /* received at a time: a thread that loads a library or forks waits for the lock */

/* ---- sending --------------------------------------------------------------------------------- */

struct packet {
	size_t bytes;
	uint32_t count;
	char data[KPROF_PACKET_MAX] __attribute__((aligned(8)));
};

static int send_packet(const void *data, size_t bytes)
{
	/* no SIGPIPE, no waiting; a packet is taken whole or not at all */
	int error =
		send(client.socket.fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;

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

/* Where the place of probe_event() is; without it events are not probed. */
static int send_file(void)
{
	struct {
		struct kprof_packet_file head;
		char path[KPROF_FILE_MAX];
	} packet = {.head = {{KPROF_PACKET_FILE, 0}}};
	size_t bytes = probe_find_file(packet.path);

	packet.head.head.bytes = (uint32_t)(sizeof(packet.head) + bytes);
	return bytes > 0 ? send_packet(&packet, packet.head.head.bytes) : 0;
}

static size_t append_definition(const struct registry_entry *entry, char *to)
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

/* Fills a packet with unsent events of one kind, from *id on. */
static void fill_packet(struct packet *packet, bool gone, uint32_t *id)
{
	struct kprof_packet_events head = {.reserved = 0};
	struct registry_entry *entry;

	packet->bytes = sizeof(head);
	packet->count = 0;
	for (; (entry = registry_get(&client.registry, *id)) != NULL; (*id)++) {
		if (!(gone ? entry->gone_unsent : entry->new_unsent))
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

static void mark_sent(bool gone, uint32_t from, uint32_t end)
{
	for (uint32_t id = from; id < end; id++) {
		struct registry_entry *entry = registry_get(&client.registry, id);

		registry_mark(&client.registry, gone ? &entry->gone_unsent : &entry->new_unsent,
			false);
	}
}

static int send_kind(bool gone)
{
	static struct packet packet; /* large; under lock */
	uint32_t from = KPROF_ID_FIRST, id = from;

	while (registry_get(&client.registry, id)) {
		int error;

		fill_packet(&packet, gone, &id);
		if (packet.count == 0)
			break;
		error = send_packet(packet.data, packet.bytes);
		if (error)
			return error;
		mark_sent(gone, from, id);
		from = id;
	}
	return 0;
}

/* A full socket does not end the connection: the server reads it, and then there is room. */
static void drop_if_lost(int error)
{
	if (error && error != -EAGAIN && error != -ENOBUFS)
		attach_drop();
}

void attach_send(void)
{
	int error;

	if (client.registry.unsent == 0 || !own_fd_is_ours(&client.socket))
		return;
	error = send_kind(false);
	if (!error)
		error = send_kind(true);
	drop_if_lost(error);
}

/* Answers SYNC: all packets before it have been applied. */
static void answer_sync(void)
{
	struct kprof_packet_sync answer = {
		.head = {KPROF_PACKET_SYNCED, sizeof(answer)},
		.number = client.sync_due,
	};
	int error;

	if (client.sync_due == 0 || !own_fd_is_ours(&client.socket))
		return;
	error = send_packet(&answer, sizeof(answer));
	if (!error)
		client.sync_due = 0;
	drop_if_lost(error);
}

/* ---- receiving ------------------------------------------------------------------------------- */

static void set_on(uint32_t id, uint8_t on)
{
	struct registry_entry *entry;

	if (id == KPROF_ID_TEXT)
		__atomic_store_n(&client.text.on, on, __ATOMIC_RELAXED);
	else if (id == KPROF_ID_TEXTX)
		__atomic_store_n(&client.textx.on, on, __ATOMIC_RELAXED);
	entry = registry_get(&client.registry, id);
	if (entry && entry->sites && !entry->refusal)
		registry_set(entry, on);
}

static void set_probed(uint32_t id, bool probed)
{
	struct registry_entry *entry = registry_get(&client.registry, id);

	if (entry && entry->sites && !entry->refusal && entry->probed != probed)
		registry_probe(entry, probed);
}

static uint8_t get_on(uint32_t id)
{
	const struct registry_entry *entry = registry_get(&client.registry, id);

	if (id == KPROF_ID_TEXT)
		return client.text.on;
	if (id == KPROF_ID_TEXTX)
		return client.textx.on;
	return entry ? entry->on : CLIENT_OFF;
}

void attach_end_provisional(void)
{
	for (uint32_t id = 0; id < KPROF_ID_FIRST + client.registry.count; id++)
		if (get_on(id) == CLIENT_PROVISIONAL)
			set_on(id, CLIENT_OFF);
	client.provisional_until_ms = 0;
}

/* WELCOME has the version of the server, which disconnects if ours is another one. */
static int check_welcome(const char *data, size_t bytes)
{
	struct client_path *path = client.attached_at;
	struct kprof_packet_welcome welcome;
	struct stat st;

	if (bytes != sizeof(welcome))
		return -EPROTO;
	memcpy(&welcome, data, sizeof(welcome));
	if (welcome.version == KPROF_ATTACH_VERSION)
		return 0; /* attached; SWITCH will follow */
	if (path && stat(path->text, &st) == 0) {
		path->refused = true;
		path->dev = st.st_dev;
		path->ino = st.st_ino;
		path->changed = st.st_ctim;
	}
	return -EPROTO;
}

static void apply(const struct kprof_packet_switch *change, const char *values)
{
	for (uint32_t i = 0; i < change->count; i++) {
		if (change->head.type == KPROF_PACKET_PROBE)
			set_probed(change->first + i, values[i]);
		else
			set_on(change->first + i, values[i] ? CLIENT_ON : CLIENT_OFF);
	}
}

static int handle_packet(const char *data, size_t bytes)
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
	case KPROF_PACKET_PROBE:
		if (bytes < sizeof(change))
			return -EPROTO;
		memcpy(&change, data, sizeof(change));
		if (change.count != bytes - sizeof(change) || change.first >= KPROF_ID_LIMIT)
			return -EPROTO;
		apply(&change, data + sizeof(change));
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
		client.sync_due = sync.number;
		return 0;
	default:
		return 0; /* of a newer server */
	}
}

void attach_receive(void)
{
	static char data[KPROF_PACKET_MAX] __attribute__((aligned(8))); /* under lock */

	for (uint32_t i = 0; i < RECEIVE_PACKETS && own_fd_is_ours(&client.socket); i++) {
		/* no room for descriptors: the kernel closes any that are sent */
		ssize_t got = recv(client.socket.fd, data, sizeof(data), MSG_DONTWAIT | MSG_TRUNC);

		if (got < 0 && errno == EAGAIN)
			break;
		/*
		 * after ECONNRESET the server has closed without reading our packets; its own can
		 * still be received
		 */
		if (got < 0 && (errno == EINTR || errno == ECONNRESET))
			continue;
		if (got <= 0 || (size_t)got > sizeof(data) ||
			handle_packet(data, (size_t)got) != 0) {
			attach_drop();
			return;
		}
	}
	if (client.socket.fd >= 0 && !own_fd_is_ours(&client.socket))
		client.socket.fd = -1; /* the program closed it; the server still runs */
	else
		answer_sync();
	attach_send();
}

/* ---- connecting ------------------------------------------------------------------------------ */

void attach_drop(void)
{
	own_fd_close(&client.socket);
	for (uint32_t id = KPROF_ID_FIRST; id < KPROF_ID_FIRST + client.registry.count; id++)
		set_probed(id, false);
	/* events that are on stay on: the next server finds what is written meanwhile */
	attach_end_provisional();
}

/* Whether the server at this path has another protocol version. */
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
	/* a folder that does not exist has no socket */
	return stat(dir, &st) < 0 || (S_ISDIR(st.st_mode) && st.st_uid == geteuid());
}

/* A server reads all events and sets the switches: it has to run as root, or as our user. */
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
	client.sync_due = 0;
	client.socket_full = false;
	return own_fd_take(&client.socket, fd);
}

/* The pool to send: the present one, or a new one if its descriptor is lost. */
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

void attach_make_pool(void)
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
			error = one; /* a socket exists: try again soon */
	}
	if (client.socket.fd < 0)
		return error;
	pool = get_pool();
	error = pool ? send_hello(pool) : -ENOMEM;
	if (!error)
		error = send_file();
	if (error) {
		own_fd_close(&client.socket);
		return error;
	}
	for (uint32_t id = KPROF_ID_FIRST; id < KPROF_ID_FIRST + client.registry.count; id++) {
		struct registry_entry *entry = registry_get(&client.registry, id);

		/* a new server has no events; ids of unloaded libraries may be in the rings */
		registry_mark(&client.registry, &entry->new_unsent, true);
		registry_mark(&client.registry, &entry->gone_unsent, !entry->sites);
	}
	if (!client.ever_attached)
		begin_provisional();
	client.ever_attached = true;
	attach_send();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* A server for tests of libkprof. See peer.h. */
#include "peer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Of a test that fails: with sanitizers, beside other tests, programs attach again after more than 10 s. */
#define PATIENCE_MS 30000

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "peer: %s: %s\n", what, strerror(errno));
	exit(99);
}

int64_t peer_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

struct peer *peer_create(const char *path, bool on)
{
	struct peer *peer = calloc(1, sizeof(*peer));
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char fresh[120];

	if (!peer)
		fail("calloc");
	/* listening before it can be seen, as a server should */
	snprintf(peer->path, sizeof(peer->path), "%s", path);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s.new", path);
	unlink(fresh);
	peer->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (peer->fd < 0 || bind(peer->fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(peer->fd, 64) < 0 || rename(fresh, path) < 0)
		fail(path);
	peer->on = on;
	peer->version = KPROF_ATTACH_VERSION;
	return peer;
}

void peer_destroy(struct peer *peer, bool leave)
{
	for (unsigned i = 0; i < peer->count; i++) {
		if (!peer->programs[i]->ended)
			close(peer->programs[i]->fd);
		if (peer->programs[i]->has_pool)
			close(peer->programs[i]->pool_fd);
		free(peer->programs[i]);
	}
	close(peer->fd);
	if (!leave)
		unlink(peer->path);
	free(peer);
}

static void accept_program(struct peer *peer)
{
	int fd = accept4(peer->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct peer_program *program;
	struct ucred cred;
	socklen_t bytes = sizeof(cred);

	if (fd < 0)
		return;
	if (peer->count == PEER_PROGRAMS) {
		errno = ENOSPC;
		fail("more programs than the test server takes");
	}
	program = calloc(1, sizeof(*program));
	if (!program || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &bytes) < 0)
		fail("accept");
	program->used = true;
	program->fd = fd;
	program->pid = cred.pid;
	peer->programs[peer->count++] = program;
}

static void send_packet(struct peer_program *program, const void *data, size_t bytes)
{
	struct pollfd room = {.fd = program->fd, .events = POLLOUT};

	while (send(program->fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
		if (errno == EPIPE || errno == ECONNRESET)
			return;
		/* a program that writes events on all CPUs takes its time to listen */
		if (errno != EAGAIN || poll(&room, 1, 10000) <= 0)
			fail("send");
	}
}

void peer_switch(struct peer_program *program, uint32_t first, uint32_t count, bool on)
{
	struct {
		struct kprof_packet_switch head;
		uint8_t on[PEER_EVENTS];
	} packet = {.head = {.head = {KPROF_PACKET_SWITCH,
				     (uint32_t)sizeof(packet.head) + count},
			    .first = first,
			    .count = count}};

	memset(packet.on, on, count);
	send_packet(program, &packet, sizeof(packet.head) + count);
}

static void take_hello(struct peer_program *program, const char *data, int pool_fd, uint32_t version)
{
	struct kprof_packet_welcome welcome = {
		.head = {KPROF_PACKET_WELCOME, sizeof(welcome)}, .version = version};
	struct kprof_packet_hello hello;
	const char *why = "";

	memcpy(&hello, data, sizeof(hello));
	snprintf(program->name, sizeof(program->name), "%s", hello.program);
	if (pool_fd < 0 || ring_reader_open(pool_fd, &program->reader, &why) != 0) {
		fprintf(stderr, "peer: pool: %s\n", why);
		exit(99);
	}
	program->pool_fd = pool_fd;
	program->has_pool = true;
	send_packet(program, &welcome, sizeof(welcome));
}

static void take_events(struct peer *peer, struct peer_program *program, const char *data,
	size_t bytes)
{
	struct kprof_packet_events head;
	size_t at = sizeof(head);

	memcpy(&head, data, sizeof(head));
	for (uint32_t i = 0; i < head.count; i++) {
		struct kprof_event_def def;
		struct peer_event *event;

		memcpy(&def, data + at, sizeof(def));
		if (at + def.bytes > bytes || def.id >= PEER_EVENTS)
			fail("events");
		event = &program->events[def.id];
		memset(event, 0, sizeof(*event));
		event->known = true;
		event->kind = def.kind;
		event->refusal = def.refusal;
		memcpy(event->provider, data + at + sizeof(def), def.provider_bytes);
		memcpy(event->name, data + at + sizeof(def) + def.provider_bytes, def.name_bytes);
		memcpy(event->format,
			data + at + sizeof(def) + def.provider_bytes + def.name_bytes,
			def.format_bytes);
		peer_switch(program, def.id, 1,
			peer->on && !(peer->but && strcmp(event->name, peer->but) == 0));
		at += def.bytes;
	}
}

static void take_gone(struct peer_program *program, const char *data)
{
	struct kprof_packet_gone head;

	memcpy(&head, data, sizeof(head));
	for (uint32_t i = 0; i < head.count; i++) {
		uint16_t id;

		memcpy(&id, data + sizeof(head) + i * sizeof(id), sizeof(id));
		program->events[id].gone = true;
	}
}

static void hear(struct peer *peer, struct peer_program *program)
{
	static char data[KPROF_PACKET_MAX];
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec to = {data, sizeof(data)};
	struct msghdr message = {.msg_iov = &to, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(program->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct kprof_packet head;
	struct cmsghdr *cmsg;
	int pool_fd = -1;

	/* reset: it ended with words of ours unread; what it had said is behind that */
	if (got < 0 && (errno == EAGAIN || errno == ECONNRESET))
		return;
	if (got <= 0) {
		close(program->fd);
		program->ended = true;
		return;
	}
	cmsg = CMSG_FIRSTHDR(&message);
	if (cmsg && cmsg->cmsg_type == SCM_RIGHTS)
		memcpy(&pool_fd, CMSG_DATA(cmsg), sizeof(int));
	memcpy(&head, data, sizeof(head));
	if (head.type == KPROF_PACKET_HELLO) {
		take_hello(program, data, pool_fd, peer->version);
		peer_switch(program, KPROF_ID_TEXT, 2, peer->on);
	} else if (head.type == KPROF_PACKET_EVENTS) {
		take_events(peer, program, data, (size_t)got);
	} else if (head.type == KPROF_PACKET_GONE) {
		take_gone(program, data);
	}
}

void peer_poll(struct peer *peer, int timeout_ms)
{
	struct pollfd fds[PEER_PROGRAMS + 1];
	unsigned who[PEER_PROGRAMS + 1], n = 0;

	if (peer->mute) {
		poll(NULL, 0, timeout_ms);
		return;
	}
	fds[n++] = (struct pollfd){.fd = peer->fd, .events = POLLIN};
	for (unsigned i = 0; i < peer->count; i++)
		if (!peer->programs[i]->ended) {
			who[n] = i;
			fds[n++] = (struct pollfd){.fd = peer->programs[i]->fd, .events = POLLIN};
		}
	if (poll(fds, n, timeout_ms) <= 0)
		return;
	for (unsigned i = 1; i < n; i++)
		if (fds[i].revents)
			hear(peer, peer->programs[who[i]]);
	if (fds[0].revents)
		accept_program(peer);
}

bool peer_wait(struct peer *peer, bool (*done)(struct peer *peer, void *data), void *data)
{
	int64_t until = peer_now_ms() + PATIENCE_MS;

	while (!done(peer, data)) {
		if (peer_now_ms() > until)
			return false;
		peer_poll(peer, 20);
	}
	return true;
}

static bool have_programs(struct peer *peer, void *data)
{
	unsigned with_pool = 0;

	for (unsigned i = 0; i < peer->count; i++)
		with_pool += peer->programs[i]->has_pool;
	return with_pool >= *(unsigned *)data;
}

bool peer_wait_programs(struct peer *peer, unsigned count)
{
	return peer_wait(peer, have_programs, &count);
}

static bool have_ended(struct peer *peer, void *data)
{
	unsigned ended = 0;

	for (unsigned i = 0; i < peer->count; i++)
		ended += peer->programs[i]->ended;
	return ended >= *(unsigned *)data;
}

bool peer_wait_ended(struct peer *peer, unsigned count)
{
	return peer_wait(peer, have_ended, &count);
}

int peer_find(const struct peer_program *program, const char *text)
{
	for (int i = 0; i < PEER_EVENTS; i++)
		if (program->events[i].known &&
			(strcmp(program->events[i].name, text) == 0 ||
				strcmp(program->events[i].format, text) == 0))
			return i;
	return -1;
}

static int by_ticket(const void *a, const void *b)
{
	const struct ring_extent *x = a, *y = b;

	return (x->head.ticket > y->head.ticket) - (x->head.ticket < y->head.ticket);
}

struct peer_sums peer_read(const struct ring_reader *reader, peer_record record, void *data)
{
	struct ring_index *index = malloc(sizeof(*index));
	struct ring_extent *extents = calloc(KPROF_CHUNKS_MAX, sizeof(*extents));
	char *buffer = malloc(2 * (size_t)reader->layout.chunk_bytes);
	struct peer_sums sums = {0};
	uint32_t count = 0;

	if (!index || !extents || !buffer || ring_index_copy(reader, index) != 0)
		fail("index");
	for (uint32_t i = 0; i < reader->layout.chunk_count; i++)
		count += ring_extent_find(reader, index, i, &extents[count]);
	qsort(extents, count, sizeof(*extents), by_ticket);
	for (uint32_t i = 0; i < count; i++) {
		struct ring_record one;
		struct ring_walk walk;
		enum ring_item item;

		if (ring_extent_copy(reader, &extents[i], 0, buffer) != 0) {
			sums.stale++;
			continue;
		}
		ring_walk_begin(&walk, &extents[i], buffer, 0);
		while ((item = ring_walk_next(&walk, &one)) != RING_END) {
			sums.events += item == RING_EVENT;
			sums.runs += item == RING_RUN;
			sums.gaps += item == RING_GAP;
			if (item == RING_EVENT && record)
				record(data, &one, &walk.run);
		}
	}
	free(buffer);
	free(extents);
	free(index);
	return sums;
}

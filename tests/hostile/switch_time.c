/* SPDX-License-Identifier: MIT */
/*
 * switch_time SOCKET EVENTS-FOLDER COUNT: attaches a program with one event, victim:e, switches it by
 * writes to its file COUNT times, and prints the median of the times from the begin of a write until the
 * program received SWITCH, in ms.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "tests/hostile/attack.h"
#include "tests/race/fixture.h"

#define PROVIDER "victim"
#define NAME "e"
#define FORMAT "%d"

static void announce(int socket)
{
	struct {
		struct kprof_packet_events head;
		struct kprof_event_def def;
		char text[9];
	} __attribute__((packed)) packet = {
		{ { KPROF_PACKET_EVENTS, sizeof(packet) }, 1, 0 },
		{ sizeof(packet.def) + sizeof(packet.text), KPROF_ID_FIRST, KPROF_KIND_EVENT, 0,
			sizeof(PROVIDER) - 1, sizeof(NAME) - 1, sizeof(FORMAT) - 1, 0 },
		{ "" },
	};

	memcpy(packet.text, PROVIDER NAME FORMAT, sizeof(packet.text));
	attack_send(socket, &packet, sizeof(packet), -1);
}

/* Reads until the event is said to be so. */
static void wait_until(int socket, bool on)
{
	static char data[KPROF_PACKET_MAX] __attribute__((aligned(8)));
	const struct kprof_packet_switch *change = (const void *)data;
	ssize_t got;

	while ((got = recv(socket, data, sizeof(data), 0)) > 0) {
		if (change->head.type != KPROF_PACKET_SWITCH || change->first > KPROF_ID_FIRST ||
			KPROF_ID_FIRST - change->first >= change->count)
			continue;
		if (data[sizeof(*change) + KPROF_ID_FIRST - change->first] == on)
			return;
	}
	perror("switch_time: the connection ended");
	exit(1);
}

/* The write may wait for the answers of programs, this one's, too: so another process does it. */
static double switch_it(int socket, const char *file, bool on)
{
	double begin = attack_now_ms();
	pid_t child = fork();

	if (child == 0) {
		int fd = open(file, O_WRONLY);

		_exit(fd < 0 || write(fd, on ? "1" : "0", 1) != 1);
	}
	wait_until(socket, on);
	begin = attack_now_ms() - begin;
	waitpid(child, NULL, 0);
	return begin;
}

int main(int argc, char **argv)
{
	struct kprof_packet_hello hello = attack_hello(65536);
	double times[ATTACK_TIMES_MAX];
	struct fixture f;
	char file[4096];
	int socket, count;

	if (argc != 4)
		return 2;
	count = attack_parse_count(argv[3]);
	fixture_open(&f, 65536, KPROF_MODE_OVERWRITE);
	socket = attack_dial(argv[1]);
	attack_send(socket, &hello, sizeof(hello), f.fd);
	announce(socket);
	wait_until(socket, false);
	snprintf(file, sizeof(file), "%s/victim:e", argv[2]);
	for (int i = 0; i < count; i++)
		times[i] = switch_it(socket, file, i % 2 == 0);
	printf("%.1f\n", attack_median(times, count));
	return 0;
}

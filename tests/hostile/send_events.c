/* SPDX-License-Identifier: MIT */
/*
 * send_events SOCKET PROCESSES: each of the processes attaches and, when all have tried that, defines events
 * without end, in packets of the largest size; a process that is detached attaches again. Prints "sending"
 * when all have tried to attach, and lives until its standard input ends.
 */
#include <stdbool.h>
#include <signal.h>

#include "tests/hostile/attack.h"
#include "tests/race/fixture.h"

/* As many definitions as fit, of ids from *id on. */
static size_t make_packet(char *packet, uint32_t *id)
{
	struct kprof_packet_events head = { .head = { KPROF_PACKET_EVENTS, 0 } };
	char text[64];
	size_t at = sizeof(head);

	for (;;) {
		int name = snprintf(text, sizeof(text), "attacker%d", (int)getpid());
		int all = snprintf(text + name, sizeof(text) - (size_t)name, "e%u%%d", *id) + name;
		struct kprof_event_def def = {
			.bytes = (uint16_t)(sizeof(def) + (size_t)all),
			.id = (uint16_t)*id,
			.kind = KPROF_KIND_EVENT,
			.provider_bytes = (uint8_t)name,
			.name_bytes = (uint8_t)(all - name - 2),
			.format_bytes = 2,
		};

		if (at + def.bytes > KPROF_PACKET_MAX)
			break;
		memcpy(packet + at, &def, sizeof(def));
		memcpy(packet + at + sizeof(def), text, (size_t)all);
		at += def.bytes;
		head.count++;
		*id = *id + 1 < KPROF_ID_LIMIT ? *id + 1 : KPROF_ID_FIRST;
	}
	head.head.bytes = (uint32_t)at;
	memcpy(packet, &head, sizeof(head));
	return at;
}

/*
 * After its first attach it writes a byte to attached[], and waits until go[] is closed. The server delays a
 * user whose programs have used up their CPU time: if some sent definitions earlier, others would take a
 * minute to attach.
 */
static void attack(const char *path, const int attached[2], const int go[2])
{
	static char packet[KPROF_PACKET_MAX];
	struct kprof_packet_hello hello = attack_hello(65536);
	struct fixture f;
	bool waited = false;
	char c;

	close(go[1]);
	fixture_open(&f, 65536, KPROF_MODE_OVERWRITE);
	for (;;) {
		uint32_t id = KPROF_ID_FIRST;
		int fd = attack_dial(path);

		if (fd < 0 || attack_send(fd, &hello, sizeof(hello), f.fd))
			usleep(100000); /* without a server there is nothing to be attacked but the CPU */
		if (!waited) {
			waited = true;
			if (write(attached[1], "", 1) != 1 || read(go[0], &c, 1))
				_exit(1);
		}
		while (!attack_send(fd, packet, make_packet(packet, &id), -1))
			;
		close(fd);
	}
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 0, attached[2], go[2];
	char c;

	if (count < 1 || pipe(attached) || pipe(go)) {
		fprintf(stderr, "usage: send_events SOCKET PROCESSES\n");
		return 2;
	}
	setpgid(0, 0);
	for (int i = 0; i < count; i++)
		if (fork() == 0)
			attack(argv[1], attached, go);
	for (int i = 0; i < count; i++)
		if (read(attached[0], &c, 1) != 1)
			return 1;
	close(go[1]);
	puts("sending");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return kill(0, SIGKILL);
}

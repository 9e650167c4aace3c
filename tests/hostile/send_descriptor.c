/* SPDX-License-Identifier: MIT */
/*
 * send_descriptor SOCKET FILE COUNT [behind | accepted | queued]: sends the server an open descriptor of
 * FILE as the memory of a program, on COUNT connections. Prints "sent", and lives until its standard input
 * ends.
 *
 * One connection after the other, until it is refused; `behind`: behind a packet for which the program is
 * detached. Or, with the other two words, which mean the same here: connects them all, prints "connected",
 * waits for a line, and sends. Then the server has the only reference to what was sent, whose pages wait
 * to be written.
 */
#include <fcntl.h>
#include <stdbool.h>

#include "tests/hostile/attack.h"

#define CONNECTIONS_MAX 64

static int attack(const char *path, const char *file, bool behind)
{
	const struct kprof_packet_hello hello = attack_hello(65536);
	int fd = open(file, O_RDWR | O_CLOEXEC), socket = attack_dial(path);
	struct pollfd ended = { .fd = socket };

	if (fd < 0 || socket < 0)
		return -1;
	if (behind)
		attack_send(socket, "junk", 4, -1);
	attack_send(socket, &hello, sizeof(hello), fd);
	poll(&ended, 1, 5000); /* until it is refused; the descriptor stays open here */
	close(socket);
	return 0;
}

static int attack_all(const char *path, const char *file, int count)
{
	const struct kprof_packet_hello hello = attack_hello(65536);
	int writer = open(file, O_RDWR | O_CLOEXEC), sockets[CONNECTIONS_MAX], fd;
	char c;

	for (int i = 0; i < count; i++)
		if ((sockets[i] = attack_dial(path)) < 0)
			return -1;
	puts("connected");
	fflush(stdout);
	if (read(STDIN_FILENO, &c, 1) != 1)
		return -1;
	for (int i = 0; i < count; i++) {
		fd = open(file, O_RDWR | O_CLOEXEC);
		if (fd < 0 || attack_send(sockets[i], &hello, sizeof(hello), fd))
			return -1;
		close(fd); /* it would wait if there were something to write */
	}
	return pwrite(writer, "x", 1, 0) == 1 ? 0 : -1;
}

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[3]) : 0, ret = 0;
	const char *word = argc > 4 ? argv[4] : "";
	char c;

	if (count < 1 || count > CONNECTIONS_MAX) {
		fprintf(stderr, "usage: send_descriptor SOCKET FILE COUNT "
				"[behind | accepted | queued]\n");
		return 2;
	}
	if (!strcmp(word, "accepted") || !strcmp(word, "queued"))
		ret = attack_all(argv[1], argv[2], count);
	else
		for (int i = 0; i < count && !ret; i++)
			ret = attack(argv[1], argv[2], !strcmp(word, "behind"));
	if (ret) {
		perror("send_descriptor");
		return 1;
	}
	puts("sent");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}

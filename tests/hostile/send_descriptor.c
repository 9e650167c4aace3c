/* SPDX-License-Identifier: MIT */
/*
 * send_descriptor SOCKET FILE COUNT [behind]: sends the server an open descriptor of FILE as the memory of a
 * program, on COUNT connections one after the other; `behind`: behind a packet for which the program is
 * detached. Says "sent", and lives until its standard input ends.
 */
#include <fcntl.h>

#include "tests/hostile/attack.h"

static int attack(const char *path, const char *file, int behind)
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

int main(int argc, char **argv)
{
	int count = argc > 3 ? atoi(argv[3]) : 0;
	char c;

	if (count < 1) {
		fprintf(stderr, "usage: send_descriptor SOCKET FILE COUNT [behind]\n");
		return 2;
	}
	for (int i = 0; i < count; i++)
		if (attack(argv[1], argv[2], argc > 4)) {
			perror("send_descriptor");
			return 1;
		}
	puts("sent");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}

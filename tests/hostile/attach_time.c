/* SPDX-License-Identifier: MIT */
/*
 * attach_time SOCKET [COUNT]: attaches a program with a pool of its own COUNT (1) times, as libkprof
 * does, and prints the median of the times from connect(2) to the server's welcome, in ms.
 */
#include "tests/hostile/attack.h"
#include "tests/race/fixture.h"

static double attach(const char *path)
{
	struct kprof_packet_hello hello = attack_hello(65536);
	double begin = attack_now_ms();
	char answer[64];
	struct fixture f;
	int fd;

	fixture_open(&f, 65536, KPROF_MODE_OVERWRITE);
	fd = attack_dial(path);
	if (fd < 0 || attack_send(fd, &hello, sizeof(hello), f.fd) ||
		recv(fd, answer, sizeof(answer), 0) <= 0) {
		perror("attach_time");
		exit(1);
	}
	begin = attack_now_ms() - begin;
	close(fd);
	fixture_close(&f);
	return begin;
}

int main(int argc, char **argv)
{
	int count = attack_parse_count(argc > 2 ? argv[2] : "1");
	double times[ATTACK_TIMES_MAX];

	if (argc < 2)
		return 2;
	for (int i = 0; i < count; i++)
		times[i] = attach(argv[1]);
	printf("%.1f\n", attack_median(times, count));
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * packets COUNT: sends so many datagrams to itself by the loopback interface, for mpstat_interrupts.sh.
 * Each is received in a soft interrupt.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(address);
	char datagram[64] = "";
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	long count = argc == 2 ? atol(argv[1]) : 0;

	if (sock < 0 || bind(sock, (struct sockaddr *)&address, bytes) ||
		getsockname(sock, (struct sockaddr *)&address, &bytes) ||
		connect(sock, (struct sockaddr *)&address, bytes)) {
		perror("packets");
		return 1;
	}
	for (long i = 0; i < count; i++)
		if (send(sock, datagram, sizeof(datagram), 0) != sizeof(datagram) ||
			recv(sock, datagram, sizeof(datagram), 0) != sizeof(datagram)) {
			perror("packets");
			return 1;
		}
	close(sock);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * packets COUNT: sends so many packets to itself by the loopback interface, for mpstat_interrupts.sh. Each is
 * received in a soft interrupt, which divides it into 64 datagrams: so it takes some 10 us, and what programs
 * at its begin and end take is little beside.
 */
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define DATAGRAM_BYTES 1000
/* UDP_MAX_SEGMENTS of Linux */
#define DATAGRAMS 64

static int exchange(int sock, const char *packet)
{
	char datagram[DATAGRAM_BYTES];

	if (send(sock, packet, DATAGRAMS * DATAGRAM_BYTES, 0) != DATAGRAMS * DATAGRAM_BYTES)
		return -1;
	for (int i = 0; i < DATAGRAMS; i++)
		if (recv(sock, datagram, sizeof(datagram), 0) != sizeof(datagram))
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	static const char packet[DATAGRAMS * DATAGRAM_BYTES];
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(address);
	const int segment = DATAGRAM_BYTES;
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	long count = argc == 2 ? atol(argv[1]) : 0;

	if (sock < 0 || setsockopt(sock, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)) ||
		bind(sock, (struct sockaddr *)&address, bytes) ||
		getsockname(sock, (struct sockaddr *)&address, &bytes) ||
		connect(sock, (struct sockaddr *)&address, bytes)) {
		perror("packets");
		return 1;
	}
	for (long i = 0; i < count; i++)
		if (exchange(sock, packet)) {
			perror("packets");
			return 1;
		}
	close(sock);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * kernel_addresses PATH: calls connect, bind and sendto with addresses of sockets, for kernel_addresses.sh.
 * The descriptor is -1, so that nothing is sent, but for sockets that are bound to PATH, to an abstract name,
 * and connected to a port of 127.0.0.1 on which no program listens, which is printed.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static void call_connect(int fd, const void *address, int bytes)
{
	syscall(SYS_connect, fd, address, bytes);
}

static int call_bind(int family, const void *address, size_t bytes)
{
	int fd = socket(family, SOCK_STREAM, 0);

	return syscall(SYS_bind, fd, address, bytes) ? -1 : fd;
}

static void call_inet(void)
{
	struct sockaddr_in inet = { .sin_family = AF_INET, .sin_port = htons(80) };
	struct sockaddr_in6 inet6 = { .sin6_family = AF_INET6, .sin6_port = htons(443), .sin6_scope_id = 7 };

	inet_pton(AF_INET, "192.0.2.1", &inet.sin_addr);
	inet_pton(AF_INET6, "2001:db8::1", &inet6.sin6_addr);
	call_connect(-1, &inet, sizeof(inet));
	call_connect(-1, &inet6, sizeof(inet6));
	syscall(SYS_sendto, -1, NULL, 0, 0, &inet, sizeof(inet));
	syscall(SYS_sendto, -1, NULL, 0, 0, NULL, 0);
	/* lengths that the kernel refuses, and one longer than any address */
	call_connect(-1, &inet, 1);
	call_connect(-1, &inet, 0);
	call_connect(-1, &inet, -1);
	call_connect(-1, &inet, 7);
}

/* The end of an address is not in memory; then all of it; then none. */
static void call_unreadable(void)
{
	const long page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	const struct sockaddr_in inet = { .sin_family = AF_INET };
	char longest[200];

	munmap(memory + page, (size_t)page);
	memcpy(memory + page - 8, &inet, 8);
	call_connect(-1, memory + page - 8, 16);
	call_connect(-1, memory + page - 8, 8);
	call_connect(-1, (const void *)8, 16);
	memset(longest, 'y', sizeof(longest));
	((struct sockaddr *)longest)->sa_family = AF_UNIX;
	call_connect(-1, longest, sizeof(longest));
}

/* The port of a socket that does not listen, and that no other socket gets meanwhile. */
static void call_loopback(void)
{
	struct sockaddr_in inet = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t bytes = sizeof(inet);
	int bound = call_bind(AF_INET, &inet, sizeof(inet)), fd = socket(AF_INET, SOCK_STREAM, 0);

	getsockname(bound, (struct sockaddr *)&inet, &bytes);
	printf("%d\n", ntohs(inet.sin_port));
	call_connect(fd, &inet, sizeof(inet));
}

int main(int argc, char **argv)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	const size_t begin = offsetof(struct sockaddr_un, sun_path);
	int length;

	if (argc != 2 || strlen(argv[1]) >= sizeof(local.sun_path))
		return 2;
	call_inet();
	call_unreadable();
	strcpy(local.sun_path, argv[1]);
	if (call_bind(AF_UNIX, &local, sizeof(local)) < 0)
		return 3;
	length = snprintf(local.sun_path, sizeof(local.sun_path), "%cname %d", '\0', (int)getpid());
	if (call_bind(AF_UNIX, &local, begin + (size_t)length) < 0)
		return 4;
	call_loopback();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Macros that programs use where a compiler would take them from a header. BTF has enums only, and these
 * before them.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "probes/tables.h"

#define MACRO(name) { #name, name }

static const struct macro_row {
	const char *name;
	int64_t value;
} rows[] = {
	MACRO(AF_UNSPEC), MACRO(AF_UNIX), MACRO(AF_LOCAL), MACRO(AF_INET), MACRO(AF_INET6),
		MACRO(AF_NETLINK),
	MACRO(AF_PACKET), MACRO(AF_VSOCK),
	MACRO(SOCK_STREAM), MACRO(SOCK_DGRAM), MACRO(SOCK_RAW), MACRO(SOCK_SEQPACKET),
	MACRO(IPPROTO_ICMP), MACRO(IPPROTO_TCP), MACRO(IPPROTO_UDP), MACRO(IPPROTO_ICMPV6),
	MACRO(O_RDONLY), MACRO(O_WRONLY), MACRO(O_RDWR), MACRO(O_CREAT), MACRO(O_EXCL), MACRO(O_TRUNC),
	MACRO(O_APPEND), MACRO(O_NONBLOCK), MACRO(O_DIRECTORY), MACRO(O_CLOEXEC), MACRO(AT_FDCWD),
	MACRO(S_IFMT), MACRO(S_IFREG), MACRO(S_IFDIR), MACRO(S_IFCHR), MACRO(S_IFBLK), MACRO(S_IFIFO),
	MACRO(S_IFLNK), MACRO(S_IFSOCK),
	MACRO(SIGHUP), MACRO(SIGINT), MACRO(SIGQUIT), MACRO(SIGKILL), MACRO(SIGSEGV), MACRO(SIGPIPE),
	MACRO(SIGALRM), MACRO(SIGTERM), MACRO(SIGCHLD), MACRO(SIGSTOP), MACRO(SIGCONT), MACRO(SIGUSR1),
	MACRO(SIGUSR2),
	MACRO(EPERM), MACRO(ENOENT), MACRO(EINTR), MACRO(EIO), MACRO(EAGAIN), MACRO(ENOMEM), MACRO(EACCES),
	MACRO(EBUSY), MACRO(EEXIST), MACRO(EINVAL), MACRO(ENOSPC), MACRO(EPIPE), MACRO(ETIMEDOUT),
	MACRO(ECONNREFUSED), MACRO(ECONNRESET), MACRO(EINPROGRESS),
	/* include/linux/sched.h */
	{ "TASK_RUNNING", 0 }, { "TASK_INTERRUPTIBLE", 1 }, { "TASK_UNINTERRUPTIBLE", 2 },
	{ "TASK_STOPPED", 4 }, { "__TASK_STOPPED", 4 }, { "TASK_TRACED", 8 }, { "__TASK_TRACED", 8 },
	{ "EXIT_DEAD", 16 }, { "EXIT_ZOMBIE", 32 },
	{ "PF_EXITING", 0x4 }, { "PF_KTHREAD", 0x200000 },
	{ "NULL", 0 }, { "true", 1 }, { "false", 0 },
};

bool macro_find(const char *name, int64_t *value)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(rows[i].name, name) == 0) {
			*value = rows[i].value;
			return true;
		}
	return false;
}

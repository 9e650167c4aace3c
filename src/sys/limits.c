/* SPDX-License-Identifier: MIT */
/* The rights and limits of this process: see limits.h. */
#include "sys/limits.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sys/lines.h"

void limits_read(const char *proc, struct limits *limits)
{
	char path[512], buf[1024], *line;
	struct rlimit memlock;
	struct lines lines;
	int fd;

	memset(limits, 0, sizeof(*limits));
	if (getrlimit(RLIMIT_MEMLOCK, &memlock) == 0)
		limits->memlock_bytes =
			memlock.rlim_cur == RLIM_INFINITY ? UINT64_MAX : memlock.rlim_cur;
	snprintf(path, sizeof(path), "%s/self/status", proc ? proc : "/proc");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	lines_init(&lines, fd, buf, sizeof(buf));
	while ((line = lines_next(&lines)) != NULL) {
		if (strncmp(line, "CapEff:", 7) == 0)
			limits->capabilities = strtoull(line + 7, NULL, 16);
		else if (strncmp(line, "Seccomp:", 8) == 0)
			limits->seccomp = atoi(line + 8) != 0;
	}
	close(fd);
}

bool limits_has_bpf(void)
{
	struct limits limits;

	limits_read(NULL, &limits);
	return limits_can_bpf(&limits);
}

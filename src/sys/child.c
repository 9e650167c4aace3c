/* SPDX-License-Identifier: MIT */
/* A child and its parent: see child.h. */
#include "sys/child.h"

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

int child_die_with(pid_t parent, int signal)
{
	if (prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0))
		return -errno;
	return getppid() == parent ? 0 : -ESRCH;
}

/* SPDX-License-Identifier: MIT */
/* A process takes another user's rights: see become.h. */
#include "sys/become.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of another user than root the kernel leaves the capabilities. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };

	return syscall(SYS_capset, &head, none) ? -errno : 0;
}

/* By system calls: glibc's functions would signal the threads that the parent has. */
int become_user(uid_t uid, gid_t gid)
{
	if (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, gid, gid, gid) ||
		syscall(SYS_setresuid, uid, uid, uid))
		return -errno;
	/* as the change of ids makes it, unless fs.suid_dumpable is 1 */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	return drop_capabilities();
}

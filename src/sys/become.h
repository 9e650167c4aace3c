/* SPDX-License-Identifier: MIT */
/* A process takes another user's rights. */
#ifndef KPROFS_SYS_BECOME_H
#define KPROFS_SYS_BECOME_H

#include <sys/types.h>

/*
 * Takes these as all of its user and group ids, without supplementary groups. No capability is left, and
 * other processes of the user can't inspect it until it executes a program. Called while the process has one
 * thread; may be called after a fork(2) of one that has several. -errno.
 */
int become_user(uid_t uid, gid_t gid);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Limits for the open files of each user, so that no user who may read the tree keeps root or other
 * users out, and so that the server goes on sampling, and can be ended, however many files are
 * open.
 *
 * There are three limits of each kind: for one user, for all users together, and for root and the
 * user who mounted. The first two do not apply to root and the user who mounted. So other users
 * cannot use up what is left for these two. One user can have many user ids (subuid(5)); then the
 * limit for all users applies.
 *
 * Thread-safe; nothing here blocks longer than a lookup in a hash table.
 */
#ifndef KPROFS_FS_QUOTA_H
#define KPROFS_FS_QUOTA_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/stats.h"

struct quotas;

/* quota.c has the limits of each kind, with the reasons. */
enum quota_kind {
	QUOTA_FILES,	   /* open files and folders, of any kind */
	QUOTA_CAPTURES,	   /* open kpdata that are read */
	QUOTA_PIPES,	   /* open kptrace_pipe and cpu/N/trace_pipe */
	QUOTA_DESCRIPTORS, /* of texts in unnamed files */
	QUOTA_BYTES,	   /* of texts and listings */
	QUOTA_COMMANDS,	   /* writes to kpctl and kpdata that wait for the control thread */
	QUOTA_FOLDERS,	   /* folders that were made for a lookup, as views/by/pid/1, and are in use */
	QUOTA_KINDS
};

/* The amounts that one open file, or a folder, has taken. One thread at a time uses it. */
struct quota_share {
	uid_t uid;
	uint64_t taken[QUOTA_KINDS];
};

/*
 * owner is the user who mounted, descriptors the number that the process may open, cpus the number
 * of present CPUs.
 */
struct quotas *quotas_create(uid_t owner, uint64_t descriptors, unsigned int cpus);
/* Called when no share has taken anything any more. NULL is allowed. */
void quotas_destroy(struct quotas *quotas);

/* Returns true for root and the owner. */
bool quotas_is_privileged(const struct quotas *quotas, uid_t uid);

/*
 * Takes an amount for share->uid, or takes nothing and returns an error with a sentence: -EMFILE at
 * the limit of the user, -ENFILE at the limit of all users; for QUOTA_BYTES -ENOMEM, for
 * QUOTA_COMMANDS -EAGAIN.
 */
int quota_take(struct quotas *quotas, struct quota_share *share, enum quota_kind kind,
	uint64_t amount, struct err *err);
/* Gives back all that the share has taken. */
void quota_return(struct quotas *quotas, struct quota_share *share);

/* fs.quota_refused: how often quota_take() failed. */
void quotas_print_stats(struct quotas *quotas, struct stats *stats);

#endif

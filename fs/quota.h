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

/* The bounds of each are in quota.c, with the reasons. */
enum quota_kind {
	QUOTA_FILES,	   /* open files and folders, of any kind */
	QUOTA_CAPTURES,	   /* open kpdata that are read */
	QUOTA_PIPES,	   /* open kptrace_pipe and cpu/N/trace_pipe */
	QUOTA_DESCRIPTORS, /* of texts that lie in a file without name */
	QUOTA_BYTES,	   /* of texts and listings */
	QUOTA_COMMANDS,	   /* writes to kpctl and kpdata that wait for the control thread */
	QUOTA_KINDS
};

/* What one open file has taken. The file's own: one thread at a time. */
struct quota_share {
	uid_t uid;
	uint64_t taken[QUOTA_KINDS];
};

/* owner: who mounted. descriptors: as many as the process may open. cpus: that are present. */
struct quotas *quotas_create(uid_t owner, uint64_t descriptors, unsigned int cpus);
/* No share has anything any more. Harmless for NULL. */
void quotas_destroy(struct quotas *quotas);

/* Root or the owner. */
bool quotas_is_privileged(const struct quotas *quotas, uid_t uid);

/*
 * Takes for share->uid, or nothing and an error with its sentence: -EMFILE where the user has as many as a
 * user may, -ENFILE where all users together have; for QUOTA_BYTES -ENOMEM, for QUOTA_COMMANDS -EAGAIN.
 */
int quota_take(struct quotas *quotas, struct quota_share *share, enum quota_kind kind,
	uint64_t amount, struct err *err);
/* Gives all back that the share has taken. */
void quota_return(struct quotas *quotas, struct quota_share *share);

/* fs.quota_refused: how often quota_take() failed. */
void quotas_print_stats(struct quotas *quotas, struct stats *stats);

#endif

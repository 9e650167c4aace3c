/* SPDX-License-Identifier: MIT */
/*
 * The processes and threads that `kprof record` keeps, by --pid, --tid and --uid. Which processes a
 * user has is looked up while they run: a descendant may have another user. One thread.
 */
#ifndef KPROFS_CMD_RECORD_TARGET_H
#define KPROFS_CMD_RECORD_TARGET_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct record_target {
	GArray *processes; /* uint32_t: pids, each once */
	GArray *threads;   /* uint32_t: tids */
	bool has_user;
	uid_t user;
	uint64_t looked_ns; /* when the processes of the user were looked up */
};

void record_target_init(struct record_target *target);
void record_target_fini(struct record_target *target);

/*
 * Adds a list of pids or tids; for a thread that is given as a pid its process is added. Returns
 * -EINVAL if the text is not such a list, -ESRCH if one of them does not exist.
 */
int record_target_add_list(
	struct record_target *target, const char *list, bool threads, struct err *err);
/* Adds a user by name or number. Returns -ENOENT if there is no such user. */
int record_target_add_user(struct record_target *target, const char *user, struct err *err);

bool record_target_is_set(const struct record_target *target);

/* Adds the processes that the user has now: if `now_too` is not set, at most once a second. */
void record_target_look(struct record_target *target, bool now_too);

/* Whether one of the processes and threads lives; true for a user, and if nothing is set. */
bool record_target_lives(const struct record_target *target);

/* Returns a remark about samples that may be missing, or NULL. */
const char *record_target_remark(const struct record_target *target);

#endif

/* SPDX-License-Identifier: MIT */
/* Limits for the open files of users: see quota.h. */
#include "fs/quota.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <pthread.h>

#include "base/units.h"

/* As many files as a process may have open by default; each takes about 1 KiB here. */
#define USER_FILES 1024
#define PRIVILEGED_FILES 16384
/*
 * An open kpdata keeps a block of 128 KiB, and its unread preamble about all processes, which can
 * be megabytes; a reader needs one. All three limits together are below that of the profiler, so
 * that views can be opened too.
 */
#define USER_CAPTURES 16
#define OTHERS_CAPTURES 64
#define PRIVILEGED_CAPTURES 512
/* A pipe has buffers of about 100 KiB. A reader can have one of each CPU, twice, and some of all CPUs. */
#define USER_PIPES 64
#define USER_PIPES_OF_CPU 2
/*
 * Of the process's descriptors programs that attach take five eighths at most (producers_limits_init);
 * these parts leave a sixteenth at least for perf events, and for making what is opened.
 */
#define DESCRIPTORS_OTHERS_PART 16
#define DESCRIPTORS_PRIVILEGED_PART 8
#define DESCRIPTORS_MAX 4096
/* The largest view has 256 MiB; a user who is not privileged can have one of half of that. */
#define USER_BYTES (128 * MIB)
#define OTHERS_BYTES (256 * MIB)
#define PRIVILEGED_BYTES (256 * MIB)
/* A program that writes waits for its answer; a command takes from 1 ms to half a second. */
#define USER_COMMANDS 64
/*
 * Some 1.7 KiB each, which a process keeps by a descriptor of it. The kernel remembers their names for some
 * time, too: the server tells it to drop them where there are more than NODES_MADE_MAX.
 */
#define USER_FOLDERS 4096
#define PRIVILEGED_FOLDERS 65536
/* The number of users who can reach their own limit before that of all is reached. */
#define USERS 4

/* i: invariant; l: under the lock of quotas */
struct bound {
	const char *what;    /* i: in a sentence that begins with a number */
	uint64_t user;	     /* i: of one user */
	uint64_t others;     /* i: of all that are not privileged */
	uint64_t privileged; /* i: of root and the owner together */
	uint64_t others_used, privileged_used; /* l */
};

struct quotas {
	uid_t owner; /* i */
	pthread_mutex_t lock; /* a leaf */
	struct bound bounds[QUOTA_KINDS];
	GHashTable *users; /* l: uid -> uint64_t[QUOTA_KINDS], of unprivileged users who have something */
	uint64_t refused;  /* l */
};

/* A part of the descriptors, but enough for one user to open a view. */
static uint64_t part_of(uint64_t descriptors, unsigned int part)
{
	return CLAMP(descriptors / part, USERS, DESCRIPTORS_MAX);
}

struct quotas *quotas_create(uid_t owner, uint64_t descriptors, unsigned int cpus)
{
	const uint64_t pipes = USER_PIPES + (uint64_t)USER_PIPES_OF_CPU * cpus;
	const uint64_t of_others = part_of(descriptors, DESCRIPTORS_OTHERS_PART);
	struct quotas *quotas = g_new0(struct quotas, 1);

	quotas->owner = owner;
	pthread_mutex_init(&quotas->lock, NULL);
	quotas->users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	quotas->bounds[QUOTA_FILES] = (struct bound){ "open files", USER_FILES,
		USERS * USER_FILES, PRIVILEGED_FILES };
	quotas->bounds[QUOTA_CAPTURES] = (struct bound){ "kpdata open", USER_CAPTURES,
		OTHERS_CAPTURES, PRIVILEGED_CAPTURES };
	quotas->bounds[QUOTA_PIPES] = (struct bound){ "pipes of the trace open", pipes,
		USERS * pipes, USERS * pipes };
	quotas->bounds[QUOTA_DESCRIPTORS] = (struct bound){ "views open", of_others / USERS,
		of_others, part_of(descriptors, DESCRIPTORS_PRIVILEGED_PART) };
	quotas->bounds[QUOTA_BYTES] = (struct bound){ "bytes in open texts", USER_BYTES,
		OTHERS_BYTES, PRIVILEGED_BYTES };
	quotas->bounds[QUOTA_COMMANDS] = (struct bound){ "commands waiting", USER_COMMANDS,
		USERS * USER_COMMANDS, USERS * USER_COMMANDS };
	quotas->bounds[QUOTA_FOLDERS] = (struct bound){ "folders of views in use", USER_FOLDERS,
		USERS * USER_FOLDERS, PRIVILEGED_FOLDERS };
	return quotas;
}

void quotas_destroy(struct quotas *quotas)
{
	if (!quotas)
		return;
	g_hash_table_unref(quotas->users);
	pthread_mutex_destroy(&quotas->lock);
	g_free(quotas);
}

bool quotas_is_privileged(const struct quotas *quotas, uid_t uid)
{
	return uid == 0 || uid == quotas->owner;
}

/* With the lock held. */
static uint64_t *get_user(struct quotas *quotas, uid_t uid)
{
	uint64_t *used = g_hash_table_lookup(quotas->users, GUINT_TO_POINTER(uid));

	if (!used) {
		used = g_new0(uint64_t, QUOTA_KINDS);
		g_hash_table_insert(quotas->users, GUINT_TO_POINTER(uid), used);
	}
	return used;
}

/* Called with the lock held. A user who has nothing needs no memory. */
static void forget_idle_user(struct quotas *quotas, uid_t uid, const uint64_t *used)
{
	unsigned int kind;

	for (kind = 0; kind < QUOTA_KINDS; kind++)
		if (used[kind])
			return;
	g_hash_table_remove(quotas->users, GUINT_TO_POINTER(uid));
}

static int refuse(const struct bound *bound, enum quota_kind kind, int code, const char *who,
	uint64_t most, struct err *err)
{
	if (kind == QUOTA_BYTES)
		code = ENOMEM;
	if (kind == QUOTA_COMMANDS)
		code = EAGAIN;
	return err_set(err, code, "%s may have %" PRIu64 " %s",
		who, most, bound->what);
}

static bool fits(uint64_t used, uint64_t amount, uint64_t most)
{
	return used <= most && amount <= most - used;
}

/* With the lock held. */
static int take_privileged(struct bound *bound, enum quota_kind kind, uint64_t amount,
	struct err *err)
{
	if (!fits(bound->privileged_used, amount, bound->privileged))
		return refuse(bound, kind, EMFILE, "root and the user who mounted",
			bound->privileged, err);
	bound->privileged_used += amount;
	return 0;
}

/* With the lock held. */
static int take_as_user(struct bound *bound, enum quota_kind kind, uint64_t *used, uint64_t amount,
	struct err *err)
{
	if (!fits(used[kind], amount, bound->user))
		return refuse(bound, kind, EMFILE, "a user", bound->user, err);
	if (!fits(bound->others_used, amount, bound->others))
		return refuse(bound, kind, ENFILE, "all users but root together", bound->others, err);
	used[kind] += amount;
	bound->others_used += amount;
	return 0;
}

int quota_take(struct quotas *quotas, struct quota_share *share, enum quota_kind kind,
	uint64_t amount, struct err *err)
{
	struct bound *bound = &quotas->bounds[kind];
	uint64_t *used;
	int ret;

	pthread_mutex_lock(&quotas->lock);
	if (quotas_is_privileged(quotas, share->uid)) {
		ret = take_privileged(bound, kind, amount, err);
	} else {
		used = get_user(quotas, share->uid);
		ret = take_as_user(bound, kind, used, amount, err);
		forget_idle_user(quotas, share->uid, used);
	}
	quotas->refused += ret != 0;
	pthread_mutex_unlock(&quotas->lock);
	if (!ret)
		share->taken[kind] += amount;
	return ret;
}

/* With the lock held. used: NULL for a privileged user. */
static void return_kinds(struct quotas *quotas, struct quota_share *share, uint64_t *used)
{
	unsigned int kind;

	for (kind = 0; kind < QUOTA_KINDS; kind++) {
		struct bound *bound = &quotas->bounds[kind];

		if (used) {
			used[kind] -= share->taken[kind];
			bound->others_used -= share->taken[kind];
		} else {
			bound->privileged_used -= share->taken[kind];
		}
		share->taken[kind] = 0;
	}
}

void quota_return(struct quotas *quotas, struct quota_share *share)
{
	uint64_t *used = NULL;

	pthread_mutex_lock(&quotas->lock);
	if (!quotas_is_privileged(quotas, share->uid))
		used = get_user(quotas, share->uid);
	return_kinds(quotas, share, used);
	if (used)
		forget_idle_user(quotas, share->uid, used);
	pthread_mutex_unlock(&quotas->lock);
}

void quotas_print_stats(struct quotas *quotas, struct stats *stats)
{
	uint64_t refused;

	pthread_mutex_lock(&quotas->lock);
	refused = quotas->refused;
	pthread_mutex_unlock(&quotas->lock);
	stats_u64(stats, refused, "fs.quota_refused");
}

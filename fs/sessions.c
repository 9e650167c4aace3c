/* SPDX-License-Identifier: MIT */
/* The sessions of sessions/: see sessions.h. */
#include "fs/sessions.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/trim.h"
#include "fs/entry_reply.h"
#include "fs/node.h"
#include "fs/openfile.h"
#include "fs/parked.h"
#include "fs/quota.h"
#include "fs/reply.h"
#include "fs/session.h"
#include "fs/snapshots.h"
#include "prof/disk.h"
#include "prof/profiler.h"
#include "sys/proc.h"

enum job_kind {
	JOB_MAKE,
	JOB_REMOVE,
	JOB_LEFT, /* without a request: the file that held the session was closed */
};

struct job {
	struct parked parked; /* first, so that one is the other */
	struct sessions *sessions;
	enum job_kind kind;
	struct node *dir; /* held; NULL without a request */
	char *name;
	struct session *session; /* JOB_LEFT: a reference */
	struct origin origin;
};

struct sessions {
	struct sessions_options options;      /* invariant */
	struct session_options session;	      /* invariant: options.session */
	pthread_mutex_t making;		      /* a session is being made; the lock is taken under it */
	pthread_mutex_t lock;		      /* never held while a session is made or ended */
	pthread_cond_t wake;		      /* the thread's */
	pthread_t thread;		      /* (lock) */
	bool has_thread;		      /* (lock) */
	bool closing;			      /* (lock) */
	struct parked_list jobs;	      /* (lock) */
	GPtrArray *all;			      /* (lock) of struct session, references, by name */
	GPtrArray *removed;		      /* (lock) those of struct session that are still in use */
	GQueue unused;			      /* (lock) of struct session without references */
	const char *ending;		      /* (lock) whose files of state= are being removed; or NULL */
	uint64_t made, ended;		      /* (lock) */
};

/* ---- the table --------------------------------------------------------------------------------- */

/* Returns the index of the first name that is not before `name`. Called with the lock held. */
static guint find_index(const struct sessions *sessions, const char *name, bool *found)
{
	guint i;

	for (i = 0; i < sessions->all->len; i++) {
		int order = strcmp(session_name(g_ptr_array_index(sessions->all, i)), name);

		if (order >= 0) {
			*found = !order;
			return i;
		}
	}
	*found = false;
	return i;
}

struct session *sessions_find(struct sessions *sessions, const char *name)
{
	struct session *session = NULL;
	bool found;
	guint i;

	pthread_mutex_lock(&sessions->lock);
	i = find_index(sessions, name, &found);
	if (found)
		session = session_get(g_ptr_array_index(sessions->all, i));
	pthread_mutex_unlock(&sessions->lock);
	return session;
}

void sessions_list(struct sessions *sessions, GPtrArray *list)
{
	guint i;

	pthread_mutex_lock(&sessions->lock);
	for (i = 0; i < sessions->all->len; i++)
		g_ptr_array_add(list, session_get(g_ptr_array_index(sessions->all, i)));
	pthread_mutex_unlock(&sessions->lock);
}

void sessions_print_stats(struct sessions *sessions, struct stats *stats)
{
	pthread_mutex_lock(&sessions->lock);
	stats_u64(stats, sessions->all->len, "sessions.count");
	stats_u64(stats, sessions->made, "sessions.made");
	stats_u64(stats, sessions->ended, "sessions.ended");
	pthread_mutex_unlock(&sessions->lock);
}

/* Ordinary users together leave this part of the sessions for root. */
#define ROOT_PART 4

/*
 * Removed sessions that a process uses have no run and no thread, but descriptors and memory: so many times
 * the limits of the others. Another user may be who uses them: that takes no right but to search sessions/.
 */
#define REMOVED_TIMES 8u

/* Called with the lock held, as the next one. */
static unsigned int count_of_ordinary(const GPtrArray *all)
{
	unsigned int count = 0;

	for (guint i = 0; i < all->len; i++) {
		const struct session *session = g_ptr_array_index(all, i);

		count += session->is_restricted;
	}
	return count;
}

static unsigned int count_of_user(const GPtrArray *all, uid_t uid)
{
	struct dirtab_owner owner;
	unsigned int count = 0;
	guint i;

	for (i = 0; i < all->len; i++) {
		session_owner(g_ptr_array_index(all, i), &owner);
		count += owner.uid == uid;
	}
	return count;
}

/* ---- making and ending ------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	size_t length = strlen(name);

	return length >= 1 && length <= SESSIONS_NAME_MAX && strspn(name, letters) == length &&
		strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Called with the lock held. */
static int check_bounds(const struct sessions *sessions, const char *name, uid_t uid, struct err *err)
{
	const unsigned int max = sessions->options.max, user_max = sessions->options.user_max;
	const unsigned int of_users = max - max / ROOT_PART;
	bool found;

	find_index(sessions, name, &found);
	if (found)
		return err_set(err, EEXIST, "there is a session '%s'", name);
	if (sessions->ending && !strcmp(sessions->ending, name))
		return err_set(err, EEXIST, "the session '%s' is being removed", name);
	if (sessions->all->len >= max)
		return err_set(err, ENOSPC, "the mount allows no more than %u sessions (sessions=)", max);
	if (quotas_is_privileged(sessions->options.quotas, uid))
		return 0;
	if (count_of_user(sessions->all, uid) >= user_max)
		return err_set(err, ENOSPC,
			"the mount allows no more than %u sessions of this user (user_sessions=)", user_max);
	if (count_of_ordinary(sessions->all) >= of_users)
		return err_set(err, ENOSPC,
			"the mount allows no more than %u sessions of all ordinary users (3/4 of sessions=)",
			of_users);
	if (count_of_user(sessions->removed, uid) < REMOVED_TIMES * user_max &&
		count_of_ordinary(sessions->removed) < REMOVED_TIMES * of_users)
		return 0;
	if (sessions->options.removed)
		sessions->options.removed(sessions->options.arg); /* the kernel may just remember names */
	return err_set(err, ENOSPC,
		"too many removed sessions of this user, or of all ordinary users, are in use: processes "
		"work in them or have files of them open");
}

static void on_unused(void *arg, struct session *session)
{
	struct sessions *sessions = arg;

	pthread_mutex_lock(&sessions->lock);
	g_ptr_array_remove_fast(sessions->removed, session);
	g_queue_push_tail(&sessions->unused, session);
	pthread_cond_signal(&sessions->wake);
	pthread_mutex_unlock(&sessions->lock);
}

static void on_left(void *arg, struct session *session);

static int check_name(const char *name, struct err *err)
{
	return is_name(name) ? 0 : err_set(err, EINVAL,
		"'%.80s': the name of a session is 1 to %d of A-Z a-z 0-9 _ . -", name, SESSIONS_NAME_MAX);
}

/* Whether a session of this name could be made. */
static int check(struct sessions *sessions, const char *name, uid_t uid, struct err *err)
{
	int ret = check_name(name, err);

	if (ret)
		return ret;
	pthread_mutex_lock(&sessions->lock);
	ret = sessions->closing ? -ESHUTDOWN : check_bounds(sessions, name, uid, err);
	pthread_mutex_unlock(&sessions->lock);
	return ret;
}

/* Adds a session to the table, unless that is closed. Called with `making` held. */
static int add(struct sessions *sessions, struct session *session)
{
	bool found, closing;
	guint i;

	/* no other thread adds sessions meanwhile, so the name is still free */
	pthread_mutex_lock(&sessions->lock);
	closing = sessions->closing;
	if (!closing) {
		i = find_index(sessions, session_name(session), &found);
		g_ptr_array_insert(sessions->all, (gint)i, session);
		sessions->made++;
	}
	pthread_mutex_unlock(&sessions->lock);
	return closing ? -ESHUTDOWN : 0;
}

/* Called with `making` held. Takes the image, which may be NULL. */
static int make(struct sessions *sessions, const struct snapshots_made *made, struct profiler_image *image,
	struct err *err)
{
	struct session_options options = sessions->session;
	struct session *session;
	int ret;

	options.name = made->name;
	options.owner = made->origin->uid;
	options.group = made->origin->gid;
	options.image = image;
	options.is_numbered = made->is_numbered;
	options.is_restricted = !quotas_is_privileged(sessions->options.quotas, made->origin->uid);
	options.unused = on_unused;
	options.left = on_left;
	options.arg = sessions;
	ret = session_create(&options, &session, err);
	if (!ret)
		ret = add(sessions, session);
	if (ret) {
		session_set_removed(session);
		session_close(session);
		session_destroy(session);
	}
	/* it does not come back; one that was restored is set aside */
	if (ret && options.disk && !options.is_restored)
		disk_remove_session(options.disk, made->name);
	return ret;
}

static int make_empty(struct sessions *sessions, const struct job *job, struct err *err)
{
	const struct snapshots_made made = { .name = job->name, .origin = &job->origin };
	int ret;

	pthread_mutex_lock(&sessions->making);
	ret = check(sessions, job->name, job->origin.uid, err);
	if (!ret)
		ret = make(sessions, &made, NULL, err);
	pthread_mutex_unlock(&sessions->making);
	return ret;
}

struct session *sessions_restore(struct sessions *sessions, const struct snapshots_made *made,
	const struct dirtab_owner *owner, struct err *err)
{
	struct session *session = NULL;
	bool found;
	guint i;
	int ret;

	pthread_mutex_lock(&sessions->making);
	sessions->session.is_restored = true;
	/* it was allowed when it was made, whatever the bounds are now */
	ret = check_name(made->name, err);
	if (!ret)
		ret = make(sessions, made, NULL, err);
	sessions->session.is_restored = false;
	pthread_mutex_unlock(&sessions->making);
	if (ret)
		return NULL;
	pthread_mutex_lock(&sessions->lock);
	i = find_index(sessions, made->name, &found);
	session = g_ptr_array_index(sessions->all, i);
	pthread_mutex_unlock(&sessions->lock);
	session_set_owner(session, owner);
	return session;
}

/* ---- snapshots --------------------------------------------------------------------------------- */

/*
 * The owner of a session may read it, and so may root and the user who mounted. A snapshot gives other users
 * who may write to it by its mode a copy to read: they must be able to read it too.
 */
static int check_reader(struct sessions *sessions, struct session *from, const struct origin *origin,
	struct err *err)
{
	const mode_t all = 0022;
	struct dirtab_owner owner;

	if (quotas_is_privileged(sessions->options.quotas, origin->uid))
		return 0;
	if (session_name(from))
		session_owner(from, &owner);
	else
		nodes_owner(sessions->options.nodes, &owner);
	/* each class that may write may read, too */
	if (owner.uid == origin->uid || !(owner.mode_given && owner.mode & all & ~(owner.mode >> 1)))
		return 0;
	return err_set(err, EACCES, "this session belongs to another user, and its mode lets users write to "
		"it who may not read it");
}

int sessions_check_snapshot(struct sessions *sessions, struct session *from, const char *name,
	const struct origin *origin, struct err *err)
{
	int ret = check_reader(sessions, from, origin, err);

	return ret ? ret : check(sessions, name, origin->uid, err);
}

/*
 * The control thread of a session may wait here for another one that makes a session, which does not wait
 * for the end of any.
 */
int sessions_take_snapshot(struct sessions *sessions, struct session *from,
	const struct snapshots_made *made, struct err *err)
{
	struct profiler_image *image;
	int ret;

	pthread_mutex_lock(&sessions->making);
	ret = sessions_check_snapshot(sessions, from, made->name, made->origin, err);
	if (!ret)
		ret = profiler_take_image(from->profiler, &image, err);
	/* an ordinary user may not begin a run with the settings of others */
	if (!ret && !from->is_restricted &&
		!quotas_is_privileged(sessions->options.quotas, made->origin->uid))
		profiler_image_drop_settings(image);
	if (!ret)
		ret = make(sessions, made, image, err);
	pthread_mutex_unlock(&sessions->making);
	return ret;
}

/* Takes a session out of the table; NULL if it is not there. It has the table's reference. */
static struct session *take(struct sessions *sessions, const struct job *job)
{
	struct session *session = NULL;
	bool found;
	guint i;

	pthread_mutex_lock(&sessions->lock);
	i = find_index(sessions, job->name, &found);
	/* the one that was left may have been removed, and its name be another's */
	if (found && (!job->session || g_ptr_array_index(sessions->all, i) == job->session)) {
		session = g_ptr_array_steal_index(sessions->all, i);
		session_set_removed(session);
		g_ptr_array_add(sessions->removed, session);
		sessions->ended++;
		if (sessions->session.disk)
			sessions->ending = session_name(session);
	}
	pthread_mutex_unlock(&sessions->lock);
	return session;
}

static int end(struct sessions *sessions, const struct job *job, struct err *err)
{
	struct session *session = take(sessions, job);

	if (!session)
		return err_set(err, ENOENT, "there is no session '%.80s'", job->name);
	session_close(session);
	/* it does not come back, and its name may be another's from now on */
	if (sessions->session.disk)
		disk_remove_session(sessions->session.disk, session_name(session));
	if (session->profiler)
		profiler_release(session->profiler);
	pthread_mutex_lock(&sessions->lock);
	sessions->ending = NULL;
	pthread_mutex_unlock(&sessions->lock);
	session_put(session);
	return 0;
}

/* ---- jobs -------------------------------------------------------------------------------------- */

static void free_job(struct job *job)
{
	if (job->dir)
		node_forget(job->sessions->options.nodes, job->dir, 1);
	if (job->session)
		session_put(job->session);
	g_free(job->name);
	g_free(job);
}

static void answer_job(struct parked *parked, int code)
{
	if (parked->req)
		reply_error(parked->req, code);
	free_job((struct job *)parked);
}

static const struct parked_ops job_ops = {
	.ends_wait = proc_is_interrupted,
	.answer = answer_job,
};

/* Called in the thread, without the lock. The request is in no list any more. */
static void finish(struct job *job, int ret, const struct err *err)
{
	if (!job->parked.req)
		return;
	if (ret && err->text[0])
		openfile_report(node_session(job->dir)->report, job->dir, &job->origin, err->text);
	if (!ret && job->kind == JOB_MAKE)
		entry_reply(job->parked.req, job->dir, job->name, &job->origin);
	else
		reply_error(job->parked.req, -ret);
}

/* Called with the lock held, which is released in between. */
static void carry_out(struct sessions *sessions, struct job *job)
{
	struct err err = { "" };
	int ret;

	parked_begin(&job->parked);
	pthread_mutex_unlock(&sessions->lock);
	ret = job->kind == JOB_MAKE ? make_empty(sessions, job, &err) :
		end(sessions, job, &err);
	pthread_mutex_lock(&sessions->lock);
	parked_end(&job->parked);
	pthread_mutex_unlock(&sessions->lock);
	finish(job, ret, &err);
	/* behind the answer, with which the kernel forgets all that no process uses */
	if (!ret && job->kind != JOB_MAKE && sessions->options.removed)
		sessions->options.removed(sessions->options.arg);
	free_job(job);
	pthread_mutex_lock(&sessions->lock);
}

/*
 * Destroys one session that has no reference. Returns false if there is none. Called with the lock held,
 * which is released in between.
 */
static bool destroy_unused(struct sessions *sessions)
{
	struct session *session = g_queue_pop_head(&sessions->unused);
	bool was_last = !sessions->unused.length;

	if (!session)
		return false;
	pthread_mutex_unlock(&sessions->lock);
	session_destroy(session);
	if (was_last)
		trim_memory(); /* the capture was the most of it */
	pthread_mutex_lock(&sessions->lock);
	return true;
}

static void *run_sessions(void *arg)
{
	struct sessions *sessions = arg;
	struct job *job;

	pthread_setname_np(pthread_self(), "kp-sessions");
	pthread_mutex_lock(&sessions->lock);
	while (!sessions->closing) {
		/* first, so that what is made next finds the memory */
		if (destroy_unused(sessions))
			continue;
		job = (struct job *)parked_first(&sessions->jobs);
		if (job)
			carry_out(sessions, job);
		else
			pthread_cond_wait(&sessions->wake, &sessions->lock);
	}
	pthread_mutex_unlock(&sessions->lock);
	return NULL;
}

/* Called with the lock held. */
static int start_thread(struct sessions *sessions)
{
	int code = 0;

	if (!sessions->has_thread)
		code = pthread_create(&sessions->thread, NULL, run_sessions, sessions);
	sessions->has_thread |= !code;
	return code;
}

/* Parks the job, or answers it. */
static void add_job(struct sessions *sessions, struct fuse_req *req, struct job *job)
{
	int code;

	job->sessions = sessions;
	parked_init(&sessions->jobs, &job->parked, req, job->origin.pid);
	pthread_mutex_lock(&sessions->lock);
	code = sessions->closing ? ESHUTDOWN : start_thread(sessions);
	if (!code)
		code = parked_add(&sessions->jobs, &job->parked);
	pthread_cond_signal(&sessions->wake);
	pthread_mutex_unlock(&sessions->lock);
	if (code)
		answer_job(&job->parked, code);
}

static struct job *create_job(struct sessions *sessions, enum job_kind kind, struct node *dir,
	const char *name, const struct origin *origin)
{
	struct job *job = g_new0(struct job, 1);

	job->kind = kind;
	job->dir = dir;
	node_hold(sessions->options.nodes, dir);
	job->name = g_strdup(name);
	job->origin = *origin;
	return job;
}

void sessions_make(struct sessions *sessions, struct fuse_req *req, struct node *dir, const char *name,
	const struct origin *origin)
{
	add_job(sessions, req, create_job(sessions, JOB_MAKE, dir, name, origin));
}

void sessions_remove(struct sessions *sessions, struct fuse_req *req, struct node *dir, const char *name,
	const struct origin *origin)
{
	add_job(sessions, req, create_job(sessions, JOB_REMOVE, dir, name, origin));
}

/* The job takes over the caller's reference. */
static void remove_soon(struct sessions *sessions, struct session *session)
{
	struct job *job = g_new0(struct job, 1);

	job->kind = JOB_LEFT;
	job->session = session;
	job->name = g_strdup(session_name(session));
	add_job(sessions, NULL, job);
}

/* The session's control thread calls it: the session cannot end in that thread. */
static void on_left(void *arg, struct session *session)
{
	remove_soon(arg, session_get(session));
}

void sessions_remove_numbered(struct sessions *sessions, const char *name)
{
	struct session *session = sessions_find(sessions, name);

	if (session && session->is_numbered)
		remove_soon(sessions, session);
	else if (session)
		session_put(session);
}

/* ---- the whole --------------------------------------------------------------------------------- */

struct sessions *sessions_create(const struct sessions_options *options)
{
	struct sessions *sessions = g_new0(struct sessions, 1);

	sessions->options = *options;
	sessions->session = *options->session;
	sessions->options.session = &sessions->session;
	sessions->all = g_ptr_array_new();
	sessions->removed = g_ptr_array_new();
	g_queue_init(&sessions->unused);
	pthread_mutex_init(&sessions->making, NULL);
	pthread_mutex_init(&sessions->lock, NULL);
	pthread_cond_init(&sessions->wake, NULL);
	parked_list_init(&sessions->jobs, &job_ops, &sessions->lock);
	return sessions;
}

void sessions_close(struct sessions *sessions)
{
	bool has_thread;
	guint i;

	if (!sessions)
		return;
	pthread_mutex_lock(&sessions->lock);
	sessions->closing = true;
	has_thread = sessions->has_thread;
	parked_close(&sessions->jobs);
	pthread_cond_signal(&sessions->wake);
	pthread_mutex_unlock(&sessions->lock);
	parked_refuse_all(&sessions->jobs);
	if (has_thread)
		pthread_join(sessions->thread, NULL);
	/* no other thread changes the table now */
	for (i = 0; i < sessions->all->len; i++)
		session_close(g_ptr_array_index(sessions->all, i));
}

void sessions_destroy(struct sessions *sessions)
{
	struct session *session;
	guint i;

	if (!sessions)
		return;
	for (i = 0; i < sessions->all->len; i++)
		session_put(g_ptr_array_index(sessions->all, i));
	while ((session = g_queue_pop_head(&sessions->unused)))
		session_destroy(session);
	g_ptr_array_unref(sessions->all);
	g_ptr_array_unref(sessions->removed);
	pthread_cond_destroy(&sessions->wake);
	pthread_mutex_destroy(&sessions->making);
	pthread_mutex_destroy(&sessions->lock);
	g_free(sessions);
}

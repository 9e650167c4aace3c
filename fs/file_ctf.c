/* SPDX-License-Identifier: MIT */
/*
 * views/ctf/: the trace as CTF, one file of metadata and one stream for each CPU.
 *
 * A reader opens the files one after the other, and all must show the same moment. So all are made
 * when one of them is opened, and exist until none of them has been open for a second. They are
 * memfds, which open files share; the main thread closes them when the timer expires. The functions
 * run in the threads of slow_ops.h; a second opener waits until the first one's set is made.
 *
 * One set is that of all sessions but those of ordinary users, of which each user has one, with the events of
 * the user's programs.
 */
#include "fs/file.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "fs/content.h"
#include "fs/cpus.h"
#include "fs/filetext.h"
#include "fs/openfile.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/slow_ops.h"
#include "sys/clock.h"
#include "sys/memfile.h"
#include "trace/ctf/ctf.h"
#include "trace/reading.h"
#include "trace/snapshot.h"
#include "views/viewproc.h"

/*
 * The time for which a set is kept after its last file was closed, since a reader opens one file
 * after the other.
 */
#define SET_NS NSEC_PER_SEC
/* How often an open that waits for a set made for another open checks its cancellation. */
#define LOOK_NS (50 * NSEC_PER_MSEC)
/* The limit of all streams of a set: that of any view; of one user's set, since there may be many. */
#define SET_BYTES_MAX ((uint64_t)VIEWPROC_BYTES_MAX)
#define USER_SET_BYTES_MAX (64 * MIB)

/* The struct that contains a row has its file. */
struct ctf_row {
	struct dirtab_row row;
	char name[24];
	uint32_t file;
};

struct file_ctf;

/* Under the lock of `ctf`; it exists while it has files, readers or a maker. */
struct ctf_set {
	struct file_ctf *ctf;
	bool is_users; /* of the programs of this user */
	uid_t uid;
	bool making;		/* an opener makes the files */
	int *fds;		/* NULL if there are none; invariant once made */
	struct timespec time;	/* when they were made, CLOCK_REALTIME */
	unsigned int readers;	/* open files */
	unsigned int waiters;	/* openers that wait for the maker */
	uint64_t unused_since_ns; /* when the last reader left */
};

/* i: invariant; l: under lock */
struct file_ctf {
	pthread_mutex_t lock; /* a leaf */
	pthread_cond_t made;  /* `making` of a set is over */
	GPtrArray *sets;      /* l: of struct ctf_set */
	int timer;	      /* i: a timerfd, set when the last reader of a set has left */
	uint32_t count;	      /* i: of files: the metadata, and the streams */
	uint32_t *cpus;	      /* i: of the streams */
	struct ctf_row *rows; /* i: of all files */
};

static uint32_t file_of(const struct dirtab_row *row)
{
	return ((const struct ctf_row *)(const void *)row)->file;
}

/* ---- a set ----------------------------------------------------------------------------------- */

static void free_fds(const struct file_ctf *ctf, int *fds)
{
	uint32_t i;

	for (i = 0; fds && i < ctf->count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	g_free(fds);
}

static int open_fds(const struct file_ctf *ctf, int **fds)
{
	uint32_t i;
	int ret = 0;

	*fds = g_new(int, ctf->count);
	memset(*fds, -1, ctf->count * sizeof(**fds));
	for (i = 0; i < ctf->count && !ret; i++) {
		(*fds)[i] = memfile_create(ctf->rows[i].name);
		if ((*fds)[i] < 0)
			ret = (*fds)[i];
	}
	return ret;
}

static int make_set(struct session *session, void *job, int **fds, struct err *err)
{
	const struct file_ctf *ctf = session->server->ctf;
	struct ctf_output output = {
		.cpus = ctf->cpus, .count = ctf->count - 1,
		.bytes_max = session->is_restricted ? USER_SET_BYTES_MAX : SET_BYTES_MAX,
		.metadata_max = CTF_METADATA_MAX,
	};
	struct snapshot *snapshot;
	int ret = readings_take_shown(
		session_readings(session), slow_ops_uid(job), slow_ops_cancel(job), &snapshot);

	if (ret)
		return ret;
	ret = open_fds(ctf, fds);
	if (!ret) {
		output.metadata = (*fds)[0];
		output.streams = *fds + 1;
		ctf_make_uuid(output.uuid);
		ret = ctf_write(snapshot, &output, slow_ops_cancel(job), err);
	}
	snapshot_destroy(snapshot);
	if (ret)
		free_fds(ctf, *fds);
	return ret;
}

/* ---- the sets that there are: with the lock held ----------------------------------------------- */

static struct ctf_set *find_set(const struct file_ctf *ctf, const struct session *session)
{
	for (guint i = 0; i < ctf->sets->len; i++) {
		struct ctf_set *set = ctf->sets->pdata[i];

		if (set->is_users == session->is_restricted && (!set->is_users || set->uid == session->maker))
			return set;
	}
	return NULL;
}

static struct ctf_set *need_set(struct file_ctf *ctf, const struct session *session)
{
	struct ctf_set *set = find_set(ctf, session);

	if (set)
		return set;
	set = g_new0(struct ctf_set, 1);
	set->ctf = ctf;
	set->is_users = session->is_restricted;
	set->uid = session->maker;
	g_ptr_array_add(ctf->sets, set);
	return set;
}

/* It expires after so many ns; 0: not any more, also if it has expired. */
static void set_timer(const struct file_ctf *ctf, uint64_t ns)
{
	const struct itimerspec after = { .it_value = { .tv_sec = (time_t)(ns / NSEC_PER_SEC),
		.tv_nsec = (long)(ns % NSEC_PER_SEC) } };

	timerfd_settime(ctf->timer, 0, &after, NULL);
}

/* Removes a set that has nothing any more. */
static void forget_empty(struct ctf_set *set)
{
	if (set->fds || set->making || set->readers || set->waiters)
		return;
	g_ptr_array_remove_fast(set->ctf->sets, set);
	g_free(set);
}

/*
 * Takes the files of the sets that were unused for long, which the caller frees without the lock, since that
 * takes long. Sets the timer for the others. NULL: there are none.
 */
static GPtrArray *take_old_sets(struct file_ctf *ctf)
{
	const uint64_t now_ns = clock_monotonic_ns();
	GPtrArray *old = NULL;
	uint64_t next_ns = 0;

	for (guint i = ctf->sets->len; i-- > 0;) {
		struct ctf_set *set = ctf->sets->pdata[i];
		const uint64_t unused_ns = now_ns - set->unused_since_ns;

		if (!set->fds || set->readers)
			continue;
		if (unused_ns < SET_NS) {
			next_ns = next_ns ? MIN(next_ns, SET_NS - unused_ns) : SET_NS - unused_ns;
			continue;
		}
		if (!old)
			old = g_ptr_array_new();
		g_ptr_array_add(old, g_steal_pointer(&set->fds));
		forget_empty(set);
	}
	set_timer(ctf, next_ns);
	return old;
}

/* Without the lock. */
static void free_sets(const struct file_ctf *ctf, GPtrArray *sets)
{
	if (!sets)
		return;
	for (guint i = 0; i < sets->len; i++)
		free_fds(ctf, sets->pdata[i]);
	g_ptr_array_free(sets, TRUE);
}

/* The lock is let go meanwhile. */
static int wait_for_maker(struct ctf_set *set, void *job)
{
	set->waiters++;
	clock_wait_until(&set->ctf->made, &set->ctf->lock, clock_monotonic_ns() + LOOK_NS);
	set->waiters--;
	return cancel_requested(slow_ops_cancel(job)) ? -EINTR : 0;
}

/* The lock is let go meanwhile. */
static int become_maker(struct ctf_set *set, struct session *session, void *job, struct err *err)
{
	struct file_ctf *ctf = set->ctf;
	struct timespec now;
	int *fds, ret;

	clock_gettime(CLOCK_REALTIME, &now);
	set->making = true;
	pthread_mutex_unlock(&ctf->lock);
	ret = make_set(session, job, &fds, err);
	pthread_mutex_lock(&ctf->lock);
	if (!ret) {
		set->fds = fds;
		set->time = now;
	}
	set->making = false;
	pthread_cond_broadcast(&ctf->made);
	return ret;
}

static void become_unused(struct ctf_set *set)
{
	set->unused_since_ns = clock_monotonic_ns();
	set_timer(set->ctf, SET_NS); /* later than for another set: that one is freed then */
}

/* Without the lock. */
static void leave_set(void *arg)
{
	struct ctf_set *set = arg;

	pthread_mutex_lock(&set->ctf->lock);
	if (!--set->readers)
		become_unused(set);
	pthread_mutex_unlock(&set->ctf->lock);
}

/* The files exist as long as the set has readers, which therefore need no own descriptors. */
static int enter_set(struct ctf_set *set, uint32_t file, struct filetext **text)
{
	struct stat st;

	if (fstat(set->fds[file], &st))
		return -errno;
	*text = filetext_create_borrowed(set->fds[file], (size_t)st.st_size);
	(*text)->time = set->time;
	filetext_on_free(*text, leave_set, set);
	set->readers++;
	return 0;
}

/* ---- the files --------------------------------------------------------------------------------- */

static int share_file(struct session *session, const struct dirtab_row *row, void *job,
	struct filetext **text, struct err *err)
{
	struct file_ctf *ctf = session->server->ctf;
	struct ctf_set *set;
	GPtrArray *old;
	int ret = 0;

	pthread_mutex_lock(&ctf->lock);
	old = take_old_sets(ctf);
	set = need_set(ctf, session);
	while (!set->fds && !ret)
		ret = set->making ? wait_for_maker(set, job) : become_maker(set, session, job, err);
	if (!ret)
		ret = enter_set(set, file_of(row), text);
	if (set->fds && !set->readers)
		become_unused(set);
	forget_empty(set);
	pthread_mutex_unlock(&ctf->lock);
	free_sets(ctf, old);
	return ret;
}

/* The size in the present set; 0 if there is none. */
static uint64_t file_size(struct session *session, const struct dirtab_row *row)
{
	struct file_ctf *ctf = session->server->ctf;
	const struct ctf_set *set;
	struct stat st;
	uint64_t size = 0;

	pthread_mutex_lock(&ctf->lock);
	set = find_set(ctf, session);
	if (set && set->fds && !fstat(set->fds[file_of(row)], &st))
		size = (uint64_t)st.st_size;
	pthread_mutex_unlock(&ctf->lock);
	return size;
}

int file_ctf_timer(const struct file_ctf *ctf)
{
	return ctf->timer;
}

void file_ctf_expire(struct file_ctf *ctf)
{
	GPtrArray *old;

	pthread_mutex_lock(&ctf->lock);
	old = take_old_sets(ctf);
	pthread_mutex_unlock(&ctf->lock);
	free_sets(ctf, old);
}

/* ---- the folder ------------------------------------------------------------------------------ */

const struct dirtab_row *file_ctf_lookup(struct session *session, const struct dirtab_row *dir,
	const char *name)
{
	const struct file_ctf *ctf = session->server->ctf;
	uint32_t i;

	for (i = 0; i < ctf->count; i++)
		if (!strcmp(ctf->rows[i].name, name))
			return &ctf->rows[i].row;
	return NULL;
}

void file_ctf_list(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	uint32_t i;

	for (i = 0; i < session->server->ctf->count; i++)
		g_ptr_array_add(rows, &session->server->ctf->rows[i].row);
}

static void fill_row(struct file_ctf *ctf, uint32_t file)
{
	struct ctf_row *row = &ctf->rows[file];

	if (file)
		snprintf(row->name, sizeof(row->name), "stream_%u", (unsigned int)ctf->cpus[file - 1]);
	else
		snprintf(row->name, sizeof(row->name), "metadata");
	row->file = file;
	row->row = (struct dirtab_row){ .name = row->name, .type = DIRTAB_TEXT, .mode = 0400,
		.content = &content_shared, .share = share_file, .size = file_size };
}

int file_ctf_create(const struct cpus *cpus, struct file_ctf **ctf)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	struct file_ctf *c;
	uint32_t i;

	if (timer < 0)
		return -errno;
	c = g_new0(struct file_ctf, 1);
	c->timer = timer;
	c->sets = g_ptr_array_new();
	c->count = cpus_count(cpus) + 1;
	c->cpus = g_new(uint32_t, c->count);
	c->rows = g_new0(struct ctf_row, c->count);
	for (i = 0; i < c->count - 1; i++)
		c->cpus[i] = cpus_number(cpus, i);
	for (i = 0; i < c->count; i++)
		fill_row(c, i);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->made, NULL);
	*ctf = c;
	return 0;
}

void file_ctf_destroy(struct file_ctf *ctf)
{
	if (!ctf)
		return;
	for (guint i = 0; i < ctf->sets->len; i++) {
		struct ctf_set *set = ctf->sets->pdata[i];

		free_fds(ctf, set->fds);
		g_free(set);
	}
	g_ptr_array_free(ctf->sets, TRUE);
	close(ctf->timer);
	pthread_cond_destroy(&ctf->made);
	pthread_mutex_destroy(&ctf->lock);
	g_free(ctf->rows);
	g_free(ctf->cpus);
	g_free(ctf);
}

/* SPDX-License-Identifier: MIT */
/*
 * views/ctf/: the trace as CTF, one file of metadata and one stream for each CPU.
 *
 * A reader opens the files one after the other, and all must show the same moment. So all are made
 * when one of them is opened, and exist until none of them has been open for a second. They are
 * memfds, which open files share; the main thread closes them when the timer expires. The functions
 * run in the threads of slow_ops.h; a second opener waits until the first one's set is made.
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
#define SET_SECONDS 1
/* How often an open that waits for a set made for another open checks its cancellation. */
#define LOOK_NS (50 * NSEC_PER_MSEC)
/* The limit of all streams of a set: that of any view. */
#define SET_BYTES_MAX ((uint64_t)VIEWPROC_BYTES_MAX)

/* The struct that contains a row has its file. */
struct ctf_row {
	struct dirtab_row row;
	char name[24];
	uint32_t file;
};

/* i: invariant; l: under lock */
struct file_ctf {
	pthread_mutex_t lock; /* a leaf */
	pthread_cond_t made;  /* `making` is over */
	bool making;	      /* l: an opener makes the set */
	int *fds;	      /* l, i once made: the set; NULL if there is none */
	struct timespec time; /* l: when it was made, CLOCK_REALTIME */
	unsigned int readers; /* l: open files of the set */
	int timer;	      /* i: a timerfd, set when the last one is closed */
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
		.cpus = ctf->cpus, .count = ctf->count - 1, .bytes_max = SET_BYTES_MAX,
		.metadata_max = CTF_METADATA_MAX,
	};
	struct snapshot *snapshot;
	int ret = readings_take_shown(
		session->server->readings, slow_ops_uid(job), slow_ops_cancel(job), &snapshot);

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

/* ---- the set that there is ------------------------------------------------------------------- */

static void set_timer(const struct file_ctf *ctf, time_t seconds)
{
	const struct itimerspec after = { .it_value.tv_sec = seconds };

	timerfd_settime(ctf->timer, 0, &after, NULL);
}

/*
 * Called with the lock held. Returns the set that the caller frees without it, since that takes
 * long, or NULL. Setting the timer also clears an earlier expiration.
 */
static int *take_old_set(struct file_ctf *ctf)
{
	uint64_t rings;

	if (read(ctf->timer, &rings, sizeof(rings)) < 0 || ctf->readers)
		return NULL;
	return g_steal_pointer(&ctf->fds);
}

/* With the lock held, which is let go meanwhile. */
static int wait_for_maker(struct file_ctf *ctf, void *job)
{
	clock_wait_until(&ctf->made, &ctf->lock, clock_monotonic_ns() + LOOK_NS);
	return cancel_requested(slow_ops_cancel(job)) ? -EINTR : 0;
}

/* With the lock held, which is let go meanwhile. */
static int become_maker(struct session *session, void *job, struct err *err)
{
	struct file_ctf *ctf = session->server->ctf;
	struct timespec now;
	int *fds, ret;

	clock_gettime(CLOCK_REALTIME, &now);
	ctf->making = true;
	pthread_mutex_unlock(&ctf->lock);
	ret = make_set(session, job, &fds, err);
	pthread_mutex_lock(&ctf->lock);
	if (!ret) {
		ctf->fds = fds;
		ctf->time = now;
	}
	ctf->making = false;
	pthread_cond_broadcast(&ctf->made);
	return ret;
}

static void leave_set(void *arg)
{
	struct file_ctf *ctf = arg;

	pthread_mutex_lock(&ctf->lock);
	if (!--ctf->readers)
		set_timer(ctf, SET_SECONDS);
	pthread_mutex_unlock(&ctf->lock);
}

/*
 * Called with the lock held. The set exists as long as it has readers, which therefore need no own
 * descriptors.
 */
static int enter_set(struct file_ctf *ctf, uint32_t file, struct filetext **text)
{
	struct stat st;

	if (fstat(ctf->fds[file], &st))
		return -errno;
	*text = filetext_create_borrowed(ctf->fds[file], (size_t)st.st_size);
	(*text)->time = ctf->time;
	filetext_on_free(*text, leave_set, ctf);
	ctf->readers++;
	set_timer(ctf, 0);
	return 0;
}

static int share_file(struct session *session, const struct dirtab_row *row, void *job,
	struct filetext **text, struct err *err)
{
	struct file_ctf *ctf = session->server->ctf;
	int *old, ret = 0;

	if (session->is_restricted)
		return err_set(err, EPERM, "one set is made for all sessions: that of an ordinary user has "
			"views/trace.json");
	pthread_mutex_lock(&ctf->lock);
	old = take_old_set(ctf);
	while (!ctf->fds && !ret)
		ret = ctf->making ? wait_for_maker(ctf, job) : become_maker(session, job, err);
	if (!ret)
		ret = enter_set(ctf, file_of(row), text);
	if (ctf->fds && !ctf->readers)
		set_timer(ctf, SET_SECONDS);
	pthread_mutex_unlock(&ctf->lock);
	free_fds(ctf, old);
	return ret;
}

/* The size in the present set; 0 if there is none. */
static uint64_t file_size(struct session *session, const struct dirtab_row *row)
{
	struct file_ctf *ctf = session->server->ctf;
	struct stat st = { .st_size = 0 };

	pthread_mutex_lock(&ctf->lock);
	if (ctf->fds && fstat(ctf->fds[file_of(row)], &st))
		st.st_size = 0;
	pthread_mutex_unlock(&ctf->lock);
	return (uint64_t)st.st_size;
}

int file_ctf_timer(const struct file_ctf *ctf)
{
	return ctf->timer;
}

void file_ctf_expire(struct file_ctf *ctf)
{
	int *old;

	pthread_mutex_lock(&ctf->lock);
	old = take_old_set(ctf);
	pthread_mutex_unlock(&ctf->lock);
	free_fds(ctf, old);
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
	free_fds(ctf, ctf->fds);
	close(ctf->timer);
	pthread_cond_destroy(&ctf->made);
	pthread_mutex_destroy(&ctf->lock);
	g_free(ctf->rows);
	g_free(ctf->cpus);
	g_free(ctf);
}

/* SPDX-License-Identifier: MIT */
/* The programs whose events the trace holds: see producers.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/clock.h"
#include "producers/catalog.h"
#include "producers/producers_state.h"
#include "producers/fair_share.h"

/* What the dead leave: at most so much of the memory, and so many. */
#define KEPT_SHARE 32
#define KEPT_BYTES_MAX (256 * MIB)
#define KEPT_PROGRAMS_MAX 1024

void producers_limits_init(struct producers_limits *limits, uint64_t descriptors, uint64_t memory)
{
	/* a program takes two, its pool when it is dead one; a fourth is for other things */
	uint64_t programs = MIN(descriptors / 4, 4096);

	*limits = (struct producers_limits){
		.programs = (unsigned int)programs,
		.user_programs = (unsigned int)(programs - programs / 4),
		.bytes = 16 * GIB,
		.user_bytes = 8 * GIB,
		.ids = 1u << 20, /* some 150 bytes each, and 0.2 us at the end */
		.user_ids = 1u << 19,
		.kept_programs = (unsigned int)MIN(descriptors / 8, KEPT_PROGRAMS_MAX),
		.kept_bytes = MIN(memory / KEPT_SHARE, KEPT_BYTES_MAX),
	};
}

struct producers *producers_create(struct catalog *catalog, const struct producers_limits *limits)
{
	struct producers *producers = g_new0(struct producers, 1);

	producers->catalog = catalog;
	producers->limits = *limits;
	producers->cpus = (uint64_t)MAX(sysconf(_SC_NPROCESSORS_CONF), 1);
	pthread_mutex_init(&producers->lock, NULL);
	g_queue_init(&producers->all);
	producers->users = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	return producers;
}

/*
 * ---- a program ---------------------------------------------------------------------------------
 */

struct producer *producer_get(struct producer *producer)
{
	/* relaxed: whoever calls has a reference already, or the list's under its lock */
	atomic_add_relaxed(&producer->references, 1);
	return producer;
}

/* The last reference is gone, so no reader looks and no list has it. */
static void free_entry(struct entry *entry)
{
	struct producers *producers = entry->public.producers;
	struct user *user = entry->user;

	producers_free_events(&entry->public);
	if (entry->public.reader.fd >= 0)
		close(entry->public.reader.fd);
	pthread_mutex_lock(&producers->lock);
	producers->bytes -= entry->public.reader.layout.pool_bytes;
	producers->ids -= entry->ids;
	user->bytes -= entry->public.reader.layout.pool_bytes;
	user->ids -= entry->ids;
	if (--user->entries == 0)
		g_hash_table_remove(producers->users, GUINT_TO_POINTER(user->uid));
	pthread_mutex_unlock(&producers->lock);
	g_free(entry->cleared);
	g_free(entry);
}

void producer_put(struct producer *producer)
{
	/* what all others did with it comes before the last one's free */
	if (atomic_add_acq_rel(&producer->references, (unsigned int)-1) == 1)
		free_entry(entry_of(producer));
}

GPtrArray *producers_begin_gone(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)producer_put);
}

/*
 * Without the lock. Who closed its descriptor, and has the memory mapped, may have written since it
 * was looked at last: what is let go is looked at once more.
 */
static void end_gone(GPtrArray *gone)
{
	for (guint i = 0; i < gone->len; i++)
		producers_look(g_ptr_array_index(gone, i));
	g_ptr_array_free(gone, TRUE);
}

/*
 * ---- the list; all with the lock held, what is put into `gone` is ended without ----------------
 */

static void unlist(struct producers *producers, struct entry *entry, GPtrArray *gone)
{
	g_queue_unlink(&producers->all, &entry->link);
	entry->listed = false;
	if (entry->kept) {
		producers->kept--;
		producers->kept_bytes -= entry->kept_bytes;
		entry->user->kept_bytes -= entry->kept_bytes;
		entry->kept = false;
	}
	g_ptr_array_add(gone, entry);
}

/* The memory of a dead program goes; what it held makes room, or was cleared. */
static void forget(struct producers *producers, struct entry *entry, bool clear, GPtrArray *gone)
{
	entry->forgotten = clear ? FORGOTTEN_CLEARED : FORGOTTEN_OVERWRITTEN;
	producers_account(entry, &entry->books);
	unlist(producers, entry, gone);
}

/* The oldest dead program of a user, or of anybody; NULL: none. */
static struct entry *find_dead(struct producers *producers, const struct user *user)
{
	if (!producers->kept) /* asked for each event that is refused */
		return NULL;
	for (GList *link = producers->all.head; link; link = link->next) {
		struct entry *entry = link->data;

		if (entry->kept && (!user || entry->user == user))
			return entry;
	}
	return NULL;
}

/* The oldest in which nothing was found, since its program might have written more. NULL: none. */
static struct entry *find_empty(struct producers *producers)
{
	for (GList *link = producers->all.head; link; link = link->next) {
		struct entry *entry = link->data;

		if (entry->kept && !entry->books.held)
			return entry;
	}
	return NULL;
}

static const struct user *find_greediest(struct producers *producers)
{
	const struct user *most = NULL;
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, producers->users);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct user *user = value;

		if (!most || user->kept_bytes > most->kept_bytes)
			most = user;
	}
	return most;
}

static void trim_kept(struct producers *producers, GPtrArray *gone)
{
	struct entry *entry;

	while (producers->kept > producers->limits.kept_programs ||
		producers->kept_bytes > producers->limits.kept_bytes) {
		entry = find_empty(producers);
		if (!entry)
			entry = find_dead(producers, find_greediest(producers));
		if (!entry)
			entry = find_dead(producers, NULL);
		forget(producers, entry, false, gone);
	}
}

static struct user *get_user(struct producers *producers, uid_t uid)
{
	struct user *user = g_hash_table_lookup(producers->users, GUINT_TO_POINTER(uid));

	if (user)
		return user;
	user = g_new0(struct user, 1);
	user->uid = uid;
	g_hash_table_insert(producers->users, GUINT_TO_POINTER(uid), user);
	return user;
}

/*
 * Bytes that are free once the dead have made way, of the user first. What goes is freed when the
 * lock is open, and readers may still have it: so it is reckoned with here.
 */
static int make_room(struct producers *producers, struct user *user, uint64_t bytes,
	GPtrArray *gone, struct err *err)
{
	const struct producers_limits *limits = &producers->limits;
	uint64_t ours = user->bytes, others = producers->bytes - user->bytes;

	while (bytes &&
		ours + bytes > fair_share_quota(limits->bytes, limits->user_bytes, others)) {
		bool alone = ours + bytes > limits->user_bytes;
		struct entry *dead = find_dead(producers, alone ? user : NULL);

		if (!dead && alone)
			return err_set(err, EDQUOT, "the pools of this user's programs are too large");
		if (!dead)
			return err_set(err, ENOSPC, "the pools of all programs are too large");
		*(dead->user == user ? &ours : &others) -= dead->public.reader.layout.pool_bytes;
		forget(producers, dead, false, gone);
	}
	return 0;
}

static int admit(struct producers *producers, struct user *user, uint64_t bytes, GPtrArray *gone,
	struct err *err)
{
	const struct producers_limits *limits = &producers->limits;

	if (producers->attached >= limits->programs)
		return err_set(err, ENOSPC, "%u programs are attached", producers->attached);
	if (user->programs >= fair_share_quota(limits->programs, limits->user_programs,
				      producers->attached - user->programs))
		return err_set(err, EDQUOT, "this user has %u programs attached", user->programs);
	return make_room(producers, user, bytes, gone, err);
}

bool producers_forget_one(struct producers *producers, const struct user *user)
{
	GPtrArray *gone = producers_begin_gone();
	struct entry *dead;

	pthread_mutex_lock(&producers->lock);
	dead = find_dead(producers, user);
	if (dead)
		forget(producers, dead, false, gone);
	pthread_mutex_unlock(&producers->lock);
	end_gone(gone);
	return dead != NULL;
}

/*
 * ---- the end of a program ----------------------------------------------------------------------
 */

static void leave_catalog(struct producer *producer)
{
	for (uint32_t id = KPROF_ID_FIRST; id < KPROF_ID_LIMIT; id++) {
		/* relaxed: only this thread writes it */
		if (id % PRODUCER_BLOCK == 0 &&
			!atomic_read_relaxed(&producer->blocks[id / PRODUCER_BLOCK]))
			id += PRODUCER_BLOCK - 1;
		else
			producer_undefine(producer, (uint16_t)id);
	}
}

/* The memory that the dead one's pool uses, not what the program promised to use. */
static uint64_t measure(const struct entry *entry)
{
	const struct ring_reader *reader = &entry->public.reader;
	uint64_t used = reader->layout.pool_bytes;
	struct stat st;

	if (!fstat(reader->fd, &st))
		used = MIN(used, (uint64_t)st.st_blocks * 512);
	/* whoever else has the file could fill it still */
	return MAX(used, reader->layout.pool_bytes / 4);
}

/*
 * goes_on: its pool is about to be attached again, and its numbers with it. keep: also if there is
 * nothing to be read in it.
 */
static void end(struct entry *entry, bool goes_on, bool keep)
{
	struct producer *producer = &entry->public;
	struct producers *producers = producer->producers;
	GPtrArray *gone;
	uint64_t bytes;

	if (entry->end_seen)
		return;
	entry->end_seen = true;
	leave_catalog(producer);
	if (!goes_on)
		producers_find_whole(entry);
	producers_look(entry);
	bytes = measure(entry);
	/* release: whoever sees it finds in the pool all that there will be */
	atomic_write_release(&producer->ended, true);
	gone = producers_begin_gone();
	pthread_mutex_lock(&producers->lock);
	producers->attached--;
	entry->user->programs--;
	if (!entry->books.held && !keep) {
		forget(producers, entry, false, gone);
	} else {
		entry->kept = true;
		entry->kept_bytes = bytes;
		producers->kept++;
		producers->kept_bytes += bytes;
		entry->user->kept_bytes += bytes;
		trim_kept(producers, gone);
	}
	pthread_mutex_unlock(&producers->lock);
	end_gone(gone);
}

void producer_end(struct producer *producer, bool lives_on)
{
	end(entry_of(producer), false, lives_on);
}

/*
 * ---- attaching ---------------------------------------------------------------------------------
 */

/* A name is part of lines that people read: nothing in it may look like another part. */
static void copy_printable(char *to, const char *from)
{
	size_t i;

	for (i = 0; i < KPROF_PROGRAM_MAX - 1 && from[i]; i++)
		to[i] = from[i] > 32 && from[i] < 127 && !strchr("[]'", from[i]) ? from[i] : '_';
	if (i == 0)
		to[i++] = '?';
	to[i] = '\0';
}

static struct entry *make_entry(struct producers *producers, const struct producer_identity *identity)
{
	struct entry *entry = g_new0(struct entry, 1);
	struct producer *producer = &entry->public;

	atomic_write_relaxed(&producer->references, 1); /* nobody else has it yet */
	producer->producers = producers;
	producer->pid = identity->pid;
	producer->uid = identity->uid;
	copy_printable(producer->program, identity->program);
	for (uint8_t id = 0; id < KPROF_ID_FIRST; id++) {
		struct producer_event *text = &producer->texts[id];

		text->kind = id == KPROF_ID_TEXT ? KPROF_KIND_PRINTF : KPROF_KIND_PRINTX;
		text->label = text->format = "";
		text->held = true;
		text->show_provisional = catalog_text_is_on(producers->catalog, text->kind);
	}
	entry->link.data = entry;
	return entry;
}

/* Where the kernel does not tell (before Linux 5.18), it may be as old as the machine's uptime. */
static uint64_t find_made_ns(int pool_fd)
{
	uint64_t now_ns = clock_monotonic_ns(), wall_ns = clock_realtime_ns(), made_ns;
	struct statx st;

	if (statx(pool_fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) || !(st.stx_mask & STATX_BTIME))
		return 0;
	made_ns = (uint64_t)st.stx_btime.tv_sec * NSEC_PER_SEC + st.stx_btime.tv_nsec;
	return now_ns - MIN(now_ns, wall_ns - MIN(wall_ns, made_ns));
}

static int open_pool(struct entry *entry, int pool_fd, struct err *err)
{
	const char *why = "";
	struct stat st;
	int ret = ring_reader_open(pool_fd, &entry->public.reader, &why);

	if (ret)
		return err_set(err, EINVAL, "its memory is not taken: %s", why);
	if (fstat(pool_fd, &st))
		return err_set(err, errno, "its memory: %s", g_strerror(errno));
	entry->dev = st.st_dev;
	entry->ino = st.st_ino;
	entry->made_ns = find_made_ns(pool_fd);
	return 0;
}

static struct entry *find_pool(struct producers *producers, const struct entry *like)
{
	for (GList *link = producers->all.head; link; link = link->next) {
		struct entry *entry = link->data;

		if (entry->dev == like->dev && entry->ino == like->ino)
			return entry;
	}
	return NULL;
}

/* The list's only writer is this thread but for the dead: who is found and attached, stays. */
static int end_earlier(struct producers *producers, const struct entry *entry, struct err *err)
{
	struct entry *earlier;
	bool live;

	pthread_mutex_lock(&producers->lock);
	earlier = find_pool(producers, entry);
	live = earlier && !earlier->kept;
	pthread_mutex_unlock(&producers->lock);
	if (!live)
		return 0;
	if (earlier->public.pid != entry->public.pid)
		return err_set(err, EBUSY, "its memory is that of process %d",
			(int)earlier->public.pid);
	end(earlier, true, true);
	return 0;
}

static int list(struct producers *producers, struct entry *entry, struct err *err)
{
	GPtrArray *gone = producers_begin_gone();
	uint64_t bytes = entry->public.reader.layout.pool_bytes;
	struct entry *earlier;
	int ret;

	pthread_mutex_lock(&producers->lock);
	entry->user = get_user(producers, entry->public.uid);
	entry->user->entries++;
	earlier = find_pool(producers, entry);
	if (earlier) { /* its numbers go on in this one, and its memory is no more than before */
		entry->books = earlier->books;
		entry->cleared = g_steal_pointer(&earlier->cleared);
		unlist(producers, earlier, gone);
	}
	ret = admit(producers, entry->user, earlier && earlier->user == entry->user ? 0 : bytes, gone,
		err);
	if (ret && earlier) {
		earlier->forgotten = FORGOTTEN_OVERWRITTEN;
		producers_account(earlier, &earlier->books);
	}
	/* counted also if it is not listed: freeing it takes it off again */
	producers->bytes += bytes;
	entry->user->bytes += bytes;
	if (!ret) {
		entry->public.serial = ++producers->last_serial;
		entry->listed = true;
		producers->attached++;
		entry->user->programs++;
		g_queue_push_tail_link(&producers->all, &entry->link);
		producer_get(&entry->public); /* the list's */
	}
	pthread_mutex_unlock(&producers->lock);
	end_gone(gone);
	return ret;
}

int producers_attach(struct producers *producers, const struct producer_identity *identity,
	int pool_fd, struct producer **producer, struct err *err)
{
	struct entry *entry = make_entry(producers, identity);
	int ret = open_pool(entry, pool_fd, err);

	if (!ret)
		ret = end_earlier(producers, entry, err);
	if (ret) {
		g_free(entry);
		producers_count_refused(producers);
		return ret;
	}
	ret = list(producers, entry, err);
	if (ret) {
		entry->public.reader.fd = -1; /* the caller's */
		producer_put(&entry->public);
		producers_count_refused(producers);
		return ret;
	}
	*producer = &entry->public;
	return 0;
}

void producers_count_refused(struct producers *producers)
{
	pthread_mutex_lock(&producers->lock);
	producers->refused++;
	pthread_mutex_unlock(&producers->lock);
}

/*
 * ---- all of them -------------------------------------------------------------------------------
 */

GPtrArray *producers_all(struct producers *producers)
{
	GPtrArray *all = producers_begin_gone();

	pthread_mutex_lock(&producers->lock);
	for (GList *link = producers->all.head; link; link = link->next)
		g_ptr_array_add(all, producer_get(link->data));
	pthread_mutex_unlock(&producers->lock);
	return all;
}

uint64_t producers_cleared_ns(struct producers *producers)
{
	/* relaxed: a bound for stamps, it says nothing about other memory */
	return atomic_read_relaxed(&producers->cleared_ns);
}


void producers_clear(struct producers *producers)
{
	GPtrArray *gone = producers_begin_gone(), *live;
	struct entry *dead;

	pthread_mutex_lock(&producers->lock);
	/*
	 * relaxed, both: see producers_cleared_ns; of two that clear at once the later one counts
	 */
	atomic_write_relaxed(&producers->cleared_ns, clock_monotonic_ns());
	while ((dead = find_dead(producers, NULL)))
		forget(producers, dead, true, gone);
	pthread_mutex_unlock(&producers->lock);
	end_gone(gone);
	live = producers_all(producers);
	for (guint i = 0; i < live->len; i++) {
		struct entry *entry = g_ptr_array_index(live, i);

		producers_clear_books(entry);
		/* relaxed: the listener is woken after this, which orders it */
		atomic_write_relaxed(&entry->clear, producers_read_tickets(&entry->public.reader));
	}
	g_ptr_array_free(live, TRUE);
}

uint64_t producer_clear_ticket(struct producer *producer)
{
	/* relaxed: see producers_clear */
	return atomic_read_relaxed(&entry_of(producer)->clear);
}

void producers_destroy(struct producers *producers)
{
	GPtrArray *gone;
	GList *link;

	if (!producers)
		return;
	gone = producers_begin_gone();
	while ((link = g_queue_peek_head_link(&producers->all)))
		unlist(producers, link->data, gone);
	g_ptr_array_free(gone, TRUE);
	g_hash_table_destroy(producers->users);
	pthread_mutex_destroy(&producers->lock);
	g_free(producers);
}

/* SPDX-License-Identifier: MIT */
/* The producers whose events the trace holds: see producers.h. */
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

/* Pools of exited producers: this part of the memory, these many bytes, and so many. */
#define EXITED_SHARE 32
#define EXITED_BYTES_MAX (256 * MIB)
#define EXITED_PROGRAMS_MAX 1024

void producers_limits_init(struct producers_limits *limits, uint64_t descriptors, uint64_t memory)
{
	/* a producer takes two descriptors, an exited one takes one; a fourth is for other files */
	uint64_t programs = MIN(descriptors / 4, 4096);

	*limits = (struct producers_limits){
		.programs = (unsigned int)programs,
		.user_programs = (unsigned int)(programs - programs / 4),
		.bytes = 16 * GIB,
		.user_bytes = 8 * GIB,
		.ids = 1u << 20, /* some 150 bytes each, and 0.2 us each when the producer ends */
		.user_ids = 1u << 19,
		.exited_programs = (unsigned int)MIN(descriptors / 8, EXITED_PROGRAMS_MAX),
		.exited_bytes = MIN(memory / EXITED_SHARE, EXITED_BYTES_MAX),
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

/* ---- a producer ------------------------------------------------------------------------------ */

struct producer *producer_get(struct producer *producer)
{
	/* relaxed: the caller has a reference, or the lock and so that of the list */
	atomic_add_relaxed(&producer->references, 1);
	return producer;
}

/* Frees a producer after its last reference was dropped: no reader uses it and it is not listed. */
static void free_entry(struct producer_entry *entry)
{
	struct producers *producers = entry->public.producers;
	struct producers_user *user = entry->user;

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
	/* acq_rel: all other uses come before the free */
	if (atomic_add_acq_rel(&producer->references, (unsigned int)-1) == 1)
		free_entry(entry_of(producer));
}

/* An array whose free function puts the producers in it. */
static GPtrArray *begin_gone(void)
{
	return g_ptr_array_new_with_free_func((GDestroyNotify)producer_put);
}

/*
 * Without the lock. A producer that closed its socket and has its pool mapped may have written
 * after the last refresh: refreshes the counts before the pool is closed.
 */
static void end_gone(GPtrArray *gone)
{
	for (guint i = 0; i < gone->len; i++)
		producers_refresh(g_ptr_array_index(gone, i));
	g_ptr_array_free(gone, TRUE);
}

/* ---- the list; all with the lock held; end_gone() takes `gone` without it -------------------- */

static void unlist(struct producers *producers, struct producer_entry *entry, GPtrArray *gone)
{
	g_queue_unlink(&producers->all, &entry->link);
	entry->listed = false;
	if (entry->exited) {
		producers->exited--;
		producers->exited_bytes -= entry->exited_bytes;
		entry->user->exited_bytes -= entry->exited_bytes;
		entry->exited = false;
	}
	g_ptr_array_add(gone, entry);
}

/* Unlists an exited producer; its events were evicted, or cleared. */
static void evict(
	struct producers *producers, struct producer_entry *entry, bool clear, GPtrArray *gone)
{
	entry->forgotten = clear ? FORGOTTEN_CLEARED : FORGOTTEN_OVERWRITTEN;
	producers_count_gone(entry, &entry->stats);
	unlist(producers, entry, gone);
}

/* The oldest exited producer of a user, or of all if user is NULL. NULL if there is none. */
static struct producer_entry *find_exited(
	struct producers *producers, const struct producers_user *user)
{
	if (!producers->exited) /* this is called for each event that is refused */
		return NULL;
	for (GList *link = producers->all.head; link; link = link->next) {
		struct producer_entry *entry = link->data;

		if (entry->exited && (!user || entry->user == user))
			return entry;
	}
	return NULL;
}

/* The oldest with an empty pool, which was kept since its process might write more; NULL if none. */
static struct producer_entry *find_empty(struct producers *producers)
{
	for (GList *link = producers->all.head; link; link = link->next) {
		struct producer_entry *entry = link->data;

		if (entry->exited && !entry->stats.held)
			return entry;
	}
	return NULL;
}

static const struct producers_user *find_largest_user(struct producers *producers)
{
	const struct producers_user *most = NULL;
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, producers->users);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const struct producers_user *user = value;

		if (!most || user->exited_bytes > most->exited_bytes)
			most = user;
	}
	return most;
}

static void evict_over_limit(struct producers *producers, GPtrArray *gone)
{
	struct producer_entry *entry;

	while (producers->exited > producers->limits.exited_programs ||
		producers->exited_bytes > producers->limits.exited_bytes) {
		entry = find_empty(producers);
		if (!entry)
			entry = find_exited(producers, find_largest_user(producers));
		if (!entry)
			entry = find_exited(producers, NULL);
		evict(producers, entry, false, gone);
	}
}

static struct producers_user *get_user(struct producers *producers, uid_t uid)
{
	struct producers_user *user = g_hash_table_lookup(producers->users, GUINT_TO_POINTER(uid));

	if (user)
		return user;
	user = g_new0(struct producers_user, 1);
	user->uid = uid;
	g_hash_table_insert(producers->users, GUINT_TO_POINTER(uid), user);
	return user;
}

/*
 * Evicts exited producers, of the user first, until a pool of `bytes` is within the limits. What is
 * evicted is freed later, without the lock, and readers may still refer to it: so the sums are
 * computed here.
 */
static int make_room(struct producers *producers, struct producers_user *user, uint64_t bytes,
	GPtrArray *gone, struct err *err)
{
	const struct producers_limits *limits = &producers->limits;
	uint64_t ours = user->bytes, others = producers->bytes - user->bytes;

	while (bytes &&
		ours + bytes > fair_share_quota(
				       user->uid, limits->bytes, limits->user_bytes, others)) {
		bool alone = ours + bytes > limits->user_bytes;
		struct producer_entry *exited = find_exited(producers, alone ? user : NULL);

		if (!exited && alone)
			return err_set(err, EDQUOT,
				"the pools of this user's producers reach their limit");
		if (!exited)
			return err_set(err, ENOSPC, "the pools of all producers reach their limit");
		*(exited->user == user ? &ours : &others) -=
			exited->public.reader.layout.pool_bytes;
		evict(producers, exited, false, gone);
	}
	return 0;
}

static int admit(struct producers *producers, struct producers_user *user, uint64_t bytes,
	GPtrArray *gone, struct err *err)
{
	const struct producers_limits *limits = &producers->limits;

	if (producers->attached >= fair_share_limit(user->uid, limits->programs))
		return err_set(err, ENOSPC, "the limit is reached: %u producers are attached",
			producers->attached);
	if (user->programs >= fair_share_quota(user->uid, limits->programs,
				      limits->user_programs, producers->attached - user->programs))
		return err_set(err, EDQUOT,
			"the limit of this user is reached: %u producers are attached",
			user->programs);
	return make_room(producers, user, bytes, gone, err);
}

bool producers_evict_one(struct producers *producers, const struct producers_user *user)
{
	GPtrArray *gone = begin_gone();
	struct producer_entry *exited;

	pthread_mutex_lock(&producers->lock);
	exited = find_exited(producers, user);
	if (exited)
		evict(producers, exited, false, gone);
	pthread_mutex_unlock(&producers->lock);
	end_gone(gone);
	return exited != NULL;
}

/* ---- the end of a producer ------------------------------------------------------------------- */

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

/* The memory that the pool of an exited producer uses, which is less than its size. */
static uint64_t measure(const struct producer_entry *entry)
{
	const struct ring_reader *reader = &entry->public.reader;
	uint64_t used = reader->layout.pool_bytes;
	struct stat st;

	if (!fstat(reader->fd, &st))
		used = MIN(used, (uint64_t)st.st_blocks * 512);
	/* another process with the memfd could still fill it */
	return MAX(used, reader->layout.pool_bytes / 4);
}

/*
 * goes_on: its pool is about to be attached again, with its counts. keep: even if the pool is
 * empty.
 */
static void end(struct producer_entry *entry, bool goes_on, bool keep)
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
		producers_find_committed(entry);
	producers_refresh(entry);
	bytes = measure(entry);
	if (!goes_on)
		atomic_write_relaxed(&producer->ended_ns, clock_monotonic_ns());
	/* release: a reader that sees it finds all events in the pool */
	atomic_write_release(&producer->ended, true);
	gone = begin_gone();
	pthread_mutex_lock(&producers->lock);
	producers->attached--;
	entry->user->programs--;
	if (!entry->stats.held && !keep) {
		evict(producers, entry, false, gone);
	} else {
		entry->exited = true;
		entry->exited_bytes = bytes;
		producers->exited++;
		producers->exited_bytes += bytes;
		entry->user->exited_bytes += bytes;
		evict_over_limit(producers, gone);
	}
	pthread_mutex_unlock(&producers->lock);
	end_gone(gone);
}

void producer_end(struct producer *producer, bool lives_on)
{
	end(entry_of(producer), false, lives_on);
}

/* ---- attaching ------------------------------------------------------------------------------- */

/*
 * The name becomes part of lines of text: without blanks, brackets and quotes it cannot look like
 * another part.
 */
static void copy_printable(char *to, const char *from)
{
	size_t i;

	for (i = 0; i < KPROF_PROGRAM_MAX - 1 && from[i]; i++)
		to[i] = from[i] > 32 && from[i] < 127 && !strchr("[]'", from[i]) ? from[i] : '_';
	if (i == 0)
		to[i++] = '?';
	to[i] = '\0';
}

static struct producer_entry *make_entry(
	struct producers *producers, const struct producer_identity *identity)
{
	struct producer_entry *entry = g_new0(struct producer_entry, 1);
	struct producer *producer = &entry->public;

	atomic_write_relaxed(&producer->references, 1); /* relaxed: no other thread has it yet */
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

/*
 * When the pool was made, CLOCK_MONOTONIC ns. 0 if the kernel does not say (before Linux 5.18):
 * then its age is at most the uptime.
 */
static uint64_t find_made_ns(int pool_fd)
{
	uint64_t now_ns = clock_monotonic_ns(), wall_ns = clock_realtime_ns(), made_ns;
	struct statx st;

	if (statx(pool_fd, "", AT_EMPTY_PATH, STATX_BTIME, &st) || !(st.stx_mask & STATX_BTIME))
		return 0;
	made_ns = (uint64_t)st.stx_btime.tv_sec * NSEC_PER_SEC + st.stx_btime.tv_nsec;
	return now_ns - MIN(now_ns, wall_ns - MIN(wall_ns, made_ns));
}

static int open_pool(struct producer_entry *entry, int pool_fd, struct err *err)
{
	const char *why = "";
	struct stat st;
	int ret = ring_reader_open(pool_fd, &entry->public.reader, &why);

	if (ret)
		return err_set(err, EINVAL, "its pool is refused: %s", why);
	if (fstat(pool_fd, &st))
		return err_set(err, errno, "its pool: %s", g_strerror(errno));
	entry->dev = st.st_dev;
	entry->ino = st.st_ino;
	entry->made_ns = find_made_ns(pool_fd);
	return 0;
}

static struct producer_entry *find_pool(
	struct producers *producers, const struct producer_entry *like)
{
	for (GList *link = producers->all.head; link; link = link->next) {
		struct producer_entry *entry = link->data;

		if (entry->dev == like->dev && entry->ino == like->ino)
			return entry;
	}
	return NULL;
}

/* Only this thread adds producers and ends attached ones: an attached one that is found stays. */
static int end_former(
	struct producers *producers, const struct producer_entry *entry, struct err *err)
{
	struct producer_entry *earlier;
	bool live;

	pthread_mutex_lock(&producers->lock);
	earlier = find_pool(producers, entry);
	live = earlier && !earlier->exited;
	pthread_mutex_unlock(&producers->lock);
	if (!live)
		return 0;
	if (earlier->public.pid != entry->public.pid)
		return err_set(err, EBUSY, "its pool is that of process %d",
			(int)earlier->public.pid);
	end(earlier, true, true);
	return 0;
}

static int list(struct producers *producers, struct producer_entry *entry, struct err *err)
{
	GPtrArray *gone = begin_gone();
	uint64_t bytes = entry->public.reader.layout.pool_bytes;
	struct producer_entry *earlier;
	int ret;

	pthread_mutex_lock(&producers->lock);
	entry->user = get_user(producers, entry->public.uid);
	entry->user->entries++;
	earlier = find_pool(producers, entry);
	if (earlier) { /* the counts go on in this one, and the memory is the same */
		entry->stats = earlier->stats;
		entry->cleared = g_steal_pointer(&earlier->cleared);
		unlist(producers, earlier, gone);
	}
	ret = admit(producers, entry->user, earlier && earlier->user == entry->user ? 0 : bytes,
		gone, err);
	if (ret && earlier) {
		earlier->forgotten = FORGOTTEN_OVERWRITTEN;
		producers_count_gone(earlier, &earlier->stats);
	}
	/* counted even if it is not listed: free_entry() subtracts it */
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
	struct producer_entry *entry = make_entry(producers, identity);
	int ret = open_pool(entry, pool_fd, err);

	if (!ret)
		ret = end_former(producers, entry, err);
	if (ret) {
		g_free(entry);
		producers_count_refused(producers);
		return ret;
	}
	ret = list(producers, entry, err);
	if (ret) {
		entry->public.reader.fd = -1; /* stays the caller's */
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

/* ---- all producers --------------------------------------------------------------------------- */

GPtrArray *producers_all(struct producers *producers)
{
	GPtrArray *all = begin_gone();

	pthread_mutex_lock(&producers->lock);
	for (GList *link = producers->all.head; link; link = link->next)
		g_ptr_array_add(all, producer_get(link->data));
	pthread_mutex_unlock(&producers->lock);
	return all;
}

uint64_t producers_cleared_ns(struct producers *producers)
{
	/* relaxed: a bound for timestamps, it orders no other memory */
	return atomic_read_relaxed(&producers->cleared_ns);
}

void producers_restore_clear(struct producers *producers, uint64_t time_ns)
{
	/* relaxed: no reader exists yet */
	atomic_write_relaxed(&producers->cleared_ns, time_ns);
}

void producers_clear(struct producers *producers)
{
	GPtrArray *gone = begin_gone(), *live;
	struct producer_entry *exited;

	pthread_mutex_lock(&producers->lock);
	/* relaxed, both: see producers_cleared_ns; of two clears at once the later one counts */
	atomic_write_relaxed(&producers->cleared_ns, clock_monotonic_ns());
	while ((exited = find_exited(producers, NULL)))
		evict(producers, exited, true, gone);
	pthread_mutex_unlock(&producers->lock);
	end_gone(gone);
	live = producers_all(producers);
	for (guint i = 0; i < live->len; i++) {
		struct producer_entry *entry = g_ptr_array_index(live, i);

		producers_clear_stats(entry);
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
	gone = begin_gone();
	while ((link = g_queue_peek_head_link(&producers->all)))
		unlist(producers, link->data, gone);
	g_ptr_array_free(gone, TRUE);
	g_hash_table_destroy(producers->users);
	pthread_mutex_destroy(&producers->lock);
	g_free(producers);
}

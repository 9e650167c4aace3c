/* SPDX-License-Identifier: MIT */
/*
 * Reads kpdata: a position in the capture, and the reader's own records, which are needed to decode
 * those of the capture and come before them.
 *
 * Each call first sets an end in the capture and then encodes what has changed about events and
 * tasks since the last call. So everything to which the records before that end refer comes before
 * them. These records are encoded for each reader, in its own memory.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "prof/profiler_state.h"
#include "sys/clock.h"
#include "sys/host.h"

/* Open files on kpdata: a bound on what they pin (128 KiB each), far beyond any use. */
#define CURSORS_MAX 1024

/* Memory for own records that a reader keeps: they are large the first time, later rarely. */
#define OWN_KEPT_BYTES (64u << 10)

struct cursor {
	struct profiler *profiler;
	struct capture_pos pos;
	struct readers_entry reader;	  /* not if pos.peeks */
	struct capture_mark mark; /* records before it may be read: what they need was encoded */
	struct record_buf own;	  /* the reader's own records, read up to own_at */
	size_t own_at;
	size_t own_partial; /* bytes left of a record whose first part was read */
	bool begun;
	bool after_load; /* the records read last were loaded */
	bool is_part; /* the end stays where it was set at the open */
	struct capture_part part;
	uint64_t header_stamp, tasks_stamp; /* of what was encoded */
	/* between cursor_begin() and cursor_end() */
	size_t take_own;
	size_t take_partial;
	bool take_pieces;
	uint64_t take_bytes;
	struct record_counts take_counts;
};

static int open_cursor(struct profiler *p, bool peeks, struct cursor **out)
{
	struct cursor *c;

	pthread_mutex_lock(&p->lock);
	if (p->cursors >= CURSORS_MAX) {
		pthread_mutex_unlock(&p->lock);
		return -EMFILE;
	}
	p->cursors++;
	pthread_mutex_unlock(&p->lock);
	c = g_new0(struct cursor, 1);
	c->profiler = p;
	record_buf_init(&c->own);
	capture_attach(p->capture, &c->pos);
	c->pos.peeks = peeks;
	if (!peeks) {
		pthread_mutex_lock(&p->lock);
		readers_open(&p->readers, &c->reader, &c->pos);
		pthread_mutex_unlock(&p->lock);
	}
	*out = c;
	return 0;
}

int profiler_open_cursor(struct profiler *p, struct cursor **out)
{
	return open_cursor(p, false, out);
}

int profiler_open_peek(struct profiler *p, struct cursor **out)
{
	return open_cursor(p, true, out);
}

int profiler_open_part(struct profiler *p, const struct capture_part *part, struct cursor **out)
{
	int ret = open_cursor(p, true, out);

	if (ret)
		return ret;
	(*out)->is_part = true;
	(*out)->part = *part;
	capture_seek_part(p->capture, &(*out)->pos, &(*out)->mark, part);
	return 0;
}

uint64_t profiler_late_time(struct profiler *p)
{
	return capture_late_time(p->capture);
}

void profiler_close_cursor(struct cursor *c)
{
	struct profiler *p;

	if (!c)
		return;
	p = c->profiler;
	if (!c->pos.peeks) {
		pthread_mutex_lock(&p->lock);
		readers_close(&p->readers, &c->reader, p->capture);
		pthread_mutex_unlock(&p->lock);
	}
	capture_detach(p->capture, &c->pos);
	record_buf_fini(&c->own);
	g_free(c);
	pthread_mutex_lock(&p->lock);
	p->cursors--;
	pthread_mutex_unlock(&p->lock);
}

/* ---- the reader's own records ---------------------------------------------------------------- */

/* The records that begin a stream: EVENTs, the kernel, its modules. Takes the lock. */
static void encode_header(struct profiler *p, struct record_buf *buf)
{
	guint i;

	pthread_mutex_lock(&p->lock);
	for (i = 0; i < p->known->len; i++) {
		const struct known_event *known = &g_array_index(p->known, struct known_event, i);
		const struct kprof_rec_event head = {
			.number = i + 1,
			.perf_type = known->event.attr.type,
			.config = known->event.attr.config,
			.rate = event_rate(&known->event),
			.flags = known->flags,
		};
		const struct kprof_rec_event_configs configs = {
			known->event.attr.config1, known->event.attr.config2
		};

		record_event(buf, &head, known->event.text, &configs);
	}
	record_append(buf, p->kernel.data, p->kernel.used);
	pthread_mutex_unlock(&p->lock);
}

/* What a stream begins with: the clock and the machine. */
static void encode_clock(const struct profiler *p, struct record_buf *buf)
{
	struct timespec wall;
	struct host host;

	clock_gettime(CLOCK_REALTIME, &wall);
	host_read(&host);
	record_clock(buf, clock_monotonic_ns(),
		(uint64_t)wall.tv_sec * NSEC_PER_SEC + (uint64_t)wall.tv_nsec, (uint32_t)getpid());
	record_host(buf, &p->host, host.name);
}

/* The preamble of an image, which has tasks too. Returns false if there is none. Takes the lock. */
static bool encode_saved(struct profiler *p, struct record_buf *buf)
{
	bool has;

	pthread_mutex_lock(&p->lock);
	has = p->saved.used > 0;
	if (has)
		record_append(buf, p->saved.data, p->saved.used);
	pthread_mutex_unlock(&p->lock);
	return has;
}

void cursor_encode_header(struct profiler *p, struct record_buf *buf)
{
	if (!encode_saved(p, buf))
		encode_clock(p, buf);
	else if (p->saved_stamp == atomic_read_acquire(&p->header_stamp))
		return;
	encode_header(p, buf);
}

static void encode_missed(struct cursor *c)
{
	struct tally missed;
	size_t i;

	tally_init(&missed);
	capture_take_missed(c->profiler->capture, &c->pos, &missed);
	for (i = 0; i < missed.count; i++)
		record_lost(&c->own, missed.rows[i].cpu, missed.rows[i].event,
			(enum kprof_lost_reason)missed.rows[i].reason, missed.rows[i].count);
	tally_fini(&missed);
}

static bool has_changes(const struct cursor *c)
{
	return c->header_stamp != atomic_read_acquire(&c->profiler->header_stamp) ||
	       c->tasks_stamp != tasks_stamp(c->profiler->tasks);
}

/* Whether what pos missed was overwritten meanwhile: it is passed over. */
static bool pass_missed(struct capture *capture, struct capture_pos *pos)
{
	struct tally missed;
	bool any;

	tally_init(&missed);
	capture_take_missed(capture, pos, &missed);
	any = !tally_empty(&missed);
	tally_fini(&missed);
	return any;
}

/* The processes of the samples of a part. -ENOMEM */
static int find_pids(struct cursor *c, GHashTable *pids)
{
	struct capture *capture = c->profiler->capture;
	struct iovec iov[CAPTURE_PIECES_MAX];
	struct capture_mark later;
	struct capture_pos pos;
	int count, i;
	ssize_t n;

	capture_attach(capture, &pos);
	pos.peeks = true;
	capture_seek_part(capture, &pos, &later, &c->part);
	do {
		count = CAPTURE_PIECES_MAX;
		while ((n = capture_pieces(capture, &pos, &c->mark, SIZE_MAX, false, iov, &count)) > 0) {
			for (i = 0; i < count; i++)
				record_pids(iov[i].iov_base, iov[i].iov_len, pids);
			capture_advance(capture, &pos, true);
			count = CAPTURE_PIECES_MAX;
		}
	} while (!n && pass_missed(capture, &pos));
	capture_detach(capture, &pos);
	return (int)n;
}

/* What comes before the records of a part; nothing comes after its end. -ENOMEM */
static int encode_part(struct cursor *c)
{
	g_autoptr(GHashTable) pids = NULL;
	int ret;

	c->own.used = 0;
	c->own_at = 0;
	if (c->begun)
		return 0;
	pids = g_hash_table_new(NULL, NULL);
	ret = find_pids(c, pids);
	if (ret)
		return ret;
	cursor_encode_header(c->profiler, &c->own);
	tasks_encode_of(c->profiler->tasks, pids, &c->own);
	encode_missed(c);
	c->begun = true;
	return 0;
}

/* All own records were read: sets the next end, and encodes what comes before it. */
static int encode_changes(struct cursor *c)
{
	struct profiler *p = c->profiler;
	const uint64_t header = atomic_read_acquire(&p->header_stamp);

	if (c->own.size > OWN_KEPT_BYTES) {
		record_buf_fini(&c->own);
		record_buf_init(&c->own);
	}
	c->own.used = 0;
	c->own_at = 0;
	capture_mark(p->capture, &c->mark);
	if (profiler_is_loaded(p)) {
		c->begun = c->after_load = true;
		return 0; /* the records have all that they need, and nothing is missing */
	}
	if (c->after_load) {
		/* those that follow are of this machine and its clock */
		c->begun = c->after_load = false;
		c->tasks_stamp = 0;
	}
	if (!c->begun)
		cursor_encode_header(p, &c->own);
	else if (header != c->header_stamp)
		encode_header(p, &c->own);
	if (!c->begun || header != c->header_stamp)
		profiler_times_encode(p, &c->own);
	c->header_stamp = header;
	if (!c->begun || c->tasks_stamp != tasks_stamp(p->tasks))
		c->tasks_stamp = tasks_encode(p->tasks, c->tasks_stamp, &c->own);
	encode_missed(c);
	c->begun = true;
	return 0;
}

/* ---- the length of a stream ------------------------------------------------------------------ */

/*
 * While the profiler runs, processes begin and end all the time, and encoding all of them takes
 * up to some ms: a program that calls stat(2) repeatedly must not delay the sampler.
 */
#define PREAMBLE_KEPT_MS 20

static bool preamble_holds(struct profiler *p)
{
	if (!p->preamble.made_ns)
		return false;
	if (p->preamble.header_stamp == atomic_read_acquire(&p->header_stamp) &&
		p->preamble.tasks_stamp == tasks_stamp(p->tasks))
		return true;
	return profiler_running(p) &&
		clock_monotonic_ns() - p->preamble.made_ns < PREAMBLE_KEPT_MS * NSEC_PER_MSEC;
}

/* The preamble of a reader that begins now, without LOST records. */
static uint64_t preamble_bytes(struct profiler *p)
{
	const uint64_t header = atomic_read_acquire(&p->header_stamp);
	struct record_buf buf;
	uint64_t bytes, tasks;
	bool holds;

	if (profiler_is_loaded(p))
		return 0;
	pthread_mutex_lock(&p->lock);
	holds = preamble_holds(p);
	bytes = p->preamble.bytes;
	pthread_mutex_unlock(&p->lock);
	if (holds)
		return bytes;
	record_buf_init(&buf);
	cursor_encode_header(p, &buf);
	profiler_times_encode(p, &buf);
	tasks = tasks_encode(p->tasks, 0, &buf);
	bytes = buf.used;
	record_buf_fini(&buf);
	pthread_mutex_lock(&p->lock);
	p->preamble.header_stamp = header;
	p->preamble.tasks_stamp = tasks;
	p->preamble.bytes = bytes;
	p->preamble.made_ns = clock_monotonic_ns();
	pthread_mutex_unlock(&p->lock);
	return bytes;
}

uint64_t profiler_stream_bytes(struct profiler *p)
{
	struct cursor c = { .profiler = p };
	uint64_t bytes = 0;

	record_buf_init(&c.own);
	capture_attach(p->capture, &c.pos);
	/* as in cursor_begin(): if nothing was captured there is no preamble */
	if (profiler_running(p) || capture_pending(p->capture, &c.pos)) {
		encode_missed(&c);
		bytes = preamble_bytes(p) + c.own.used + capture_held_bytes(p->capture);
	}
	capture_detach(p->capture, &c.pos);
	record_buf_fini(&c.own);
	return bytes;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Own records: as many whole ones as fit in want; of a larger one, or where the buffer is filled, a part. */
static size_t take_own(struct cursor *c, size_t want)
{
	const size_t left = c->own.used - c->own_at;
	size_t n = MIN(c->own_partial, want), length;
	const uint8_t *data;

	c->take_partial = c->own_partial - n;
	if (n == left || c->take_partial || (n && !c->pos.fills))
		return n;
	data = c->own.data + c->own_at; /* without records there may be no buffer yet */
	n += record_fit(data + n, left - n, want - n, &length);
	if (n < left && n < want && (c->pos.fills || !n)) {
		record_fit(data + n, left - n, want - n, &length);
		c->take_partial = length - (want - n);
		n = want;
	}
	return n;
}

/* What can be read: own records, then those of the capture. -ENOMEM */
static ssize_t take_pieces(struct cursor *c, size_t want, struct iovec *iov, int room, int *count)
{
	const size_t own = take_own(c, want);
	ssize_t pieces = 0;

	c->take_own = own;
	c->take_counts = (struct record_counts){ 0 };
	*count = 0;
	if (own)
		iov[(*count)++] = (struct iovec){
			.iov_base = c->own.data + c->own_at, .iov_len = own
		};
	/* a record of the capture is split only if it comes first, or to fill the buffer */
	if (c->own_at + own == c->own.used && !c->take_partial && *count < room) {
		int more = room - *count;

		pieces = capture_pieces(c->profiler->capture, &c->pos, &c->mark, want - own,
			!own, iov + *count, &more);
		if (pieces < 0 && !own)
			return pieces;
		pieces = MAX(pieces, 0);
		c->take_counts = c->pos.pin_counts;
		*count += more;
	}
	c->take_pieces = pieces > 0;
	c->take_bytes = own + (size_t)pieces;
	return (ssize_t)c->take_bytes;
}

ssize_t cursor_begin(struct cursor *c, size_t want, struct iovec *iov, int *count, bool *eof)
{
	/* read before the end is set: if the profiler is stopped, nothing comes after that end */
	const bool running = atomic_read_acquire(&c->profiler->running);
	const int room = *count;
	ssize_t bytes = 0;
	int tries;

	*eof = false;
	/*
	 * Programs that read as many bytes as stat(2) says take a short read for the end: tar, for one.
	 * While it runs, a reader gets whole records, and these soon.
	 */
	c->pos.fills = !running;
	/* again if records were overwritten in between: LOST comes first */
	for (tries = 0; tries < 2; tries++) {
		if (c->own_at == c->own.used && !c->pos.partial_left &&
			(running || c->begun || capture_pending(c->profiler->capture, &c->pos)))
			bytes = (c->is_part ? encode_part : encode_changes)(c);
		if (bytes >= 0)
			bytes = take_pieces(c, want, iov, room, count);
		if (bytes || !capture_pending(c->profiler->capture, &c->pos))
			break;
	}
	if (!bytes)
		*eof = !running;
	return bytes;
}

void cursor_end(struct cursor *c, bool taken)
{
	if (c->take_pieces)
		capture_advance(c->profiler->capture, &c->pos, taken);
	if (taken) {
		c->own_at += c->take_own;
		c->own_partial = c->take_partial;
		if (!c->pos.peeks)
			readers_count(&c->reader, c->take_bytes, &c->take_counts);
	}
	c->take_pieces = false;
	c->take_own = 0;
}

bool cursor_readable(struct cursor *c)
{
	return !atomic_read_acquire(&c->profiler->running) || has_changes(c) || !c->begun ||
	       c->own_at < c->own.used || capture_pending(c->profiler->capture, &c->pos);
}

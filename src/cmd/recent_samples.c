/* SPDX-License-Identifier: MIT */
/* The samples since the last look: see recent_samples.h. */
#include "cmd/recent_samples.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "capture/decode.h"
#include "capture/query_filter.h"
#include "capture/unwinding.h"

#define READ_BYTES MIB
/*
 * Records about processes accumulate; at this size kpdata is opened again, without exited
 * processes.
 */
#define STATE_BYTES_MAX (16 * MIB)

/* The samples of an earlier look. */
struct older_look {
	GByteArray *samples;
	uint64_t newest_ns;
};

struct recent_samples {
	struct query query; /* what is selected */
	GQueue older;	    /* struct older_look, the oldest first; with QUERY_LAST */
	size_t older_bytes;
	uint64_t newest_ns; /* of the samples since the last look */
	char *path;
	int fd;
	bool runs;
	GByteArray *state;   /* records about processes, events and the kernel */
	GHashTable *current; /* the last PERIODs and TASKs of each CPU: key -> GByteArray */
	GByteArray *samples; /* the records since the last look */
	GByteArray *tail;    /* the beginning of a record whose rest was not read yet */
	char *buffer;
};

static void free_bytes(gpointer bytes)
{
	g_byte_array_free(bytes, TRUE);
}

static int open_kpdata(struct recent_samples *recent, struct err *err)
{
	int fd = open(recent->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return err_set(err, errno, "%s: %s", recent->path, strerror(errno));
	if (recent->fd >= 0)
		close(recent->fd);
	recent->fd = fd;
	g_byte_array_set_size(recent->state, 0);
	g_byte_array_set_size(recent->tail, 0);
	g_hash_table_remove_all(recent->current);
	return 0;
}

/* ---- records --------------------------------------------------------------------------------- */

/* The key of a PERIOD (CPU and event) or TASK (CPU): a later one replaces it. */
static void keep_current(struct recent_samples *recent, const struct decode_record *record,
	const uint8_t *raw, size_t size)
{
	const bool task = record->type == KPROF_REC_TASK;
	const uint64_t number =
		task ? (uint64_t)record->task.cpu << 32
		     : (uint64_t)record->period.cpu << 32 | (uint32_t)(record->period.event + 1);
	gint64 *key = g_new(gint64, 1);
	GByteArray *bytes = g_byte_array_sized_new((guint)size);

	*key = (gint64)number;
	g_byte_array_append(bytes, raw, (guint)size);
	g_hash_table_replace(recent->current, key, bytes);
}

static void take_record(struct recent_samples *recent, const struct decode_record *record,
	size_t size, bool discard)
{
	const uint8_t *raw = record->payload + record->size - size;

	if (record->type == KPROF_REC_KERN_TRACE || record->type == KPROF_REC_USER_TRACE)
		recent->newest_ns = MAX(recent->newest_ns, record->trace.time_ns);
	switch (record->type) {
	case KPROF_REC_KERN_TRACE:
	case KPROF_REC_USER_TRACE:
	case KPROF_REC_USER_STACK:
	case KPROF_REC_AWAY:
	case KPROF_REC_LOST:
	case KPROF_REC_THROTTLE:
		if (!discard)
			g_byte_array_append(recent->samples, raw, (guint)size);
		break;
	case KPROF_REC_TASK:
	case KPROF_REC_PERIOD:
		keep_current(recent, record, raw, size);
		if (!discard)
			g_byte_array_append(recent->samples, raw, (guint)size);
		break;
	default:
		g_byte_array_append(recent->state, raw, (guint)size);
		break;
	}
}

/* Takes the whole records of what was read; an incomplete one is kept until the next read. */
static int take_bytes(struct recent_samples *recent, size_t size, bool discard, struct err *err)
{
	struct decode_record record;
	struct decoder decoder;
	uint64_t taken = 0;
	int ret;

	g_byte_array_append(recent->tail, (const guint8 *)recent->buffer, (guint)size);
	decode_init_memory(&decoder, recent->tail->data, recent->tail->len);
	while ((ret = decode_next(&decoder, &record, err)) > 0 || ret == -EBADMSG) {
		if (ret > 0)
			take_record(recent, &record, (size_t)(decoder.offset - taken), discard);
		taken = decoder.offset;
	}
	decode_fini(&decoder);
	g_byte_array_remove_range(recent->tail, 0, (guint)taken);
	return ret == -ENODATA ? 0 : ret;
}

static int read_all(struct recent_samples *recent, bool discard, struct err *err)
{
	int ret = 0;

	while (!ret) {
		ssize_t n = read(recent->fd, recent->buffer, READ_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		recent->runs = n != 0;
		if (n == 0 || (n < 0 && errno == EAGAIN))
			break;
		if (n < 0)
			return err_set(err, errno, "%s: %s", recent->path, strerror(errno));
		ret = take_bytes(recent, (size_t)n, discard, err);
	}
	return ret;
}

/* ---- looks ----------------------------------------------------------------------------------- */

int recent_samples_open(const char *dir, struct recent_samples **out, struct err *err)
{
	struct recent_samples *recent = g_new0(struct recent_samples, 1);
	int ret;

	recent->path = g_build_filename(dir, "kpdata", NULL);
	recent->fd = -1;
	recent->state = g_byte_array_new();
	recent->samples = g_byte_array_new();
	recent->tail = g_byte_array_new();
	recent->current = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_bytes);
	recent->buffer = g_malloc(READ_BYTES);
	ret = open_kpdata(recent, err);
	if (!ret)
		ret = read_all(recent, true, err);
	if (ret)
		recent_samples_close(recent);
	else
		*out = recent;
	return ret;
}

void recent_samples_select(struct recent_samples *recent, const struct query *query)
{
	recent->query = *query;
}

static void forget_oldest(struct recent_samples *recent)
{
	struct older_look *look = g_queue_pop_head(&recent->older);

	recent->older_bytes -= look->samples->len;
	g_byte_array_free(look->samples, TRUE);
	g_free(look);
}

/* Keeps the samples of this look for the next ones, and forgets those that are too old. */
static void keep_samples(struct recent_samples *recent)
{
	const struct older_look *oldest;
	struct older_look *look;

	if (!query_has(&recent->query, QUERY_LAST))
		return;
	look = g_new(struct older_look, 1);
	*look = (struct older_look){ recent->samples, recent->newest_ns };
	recent->older_bytes += look->samples->len;
	recent->samples = g_byte_array_new();
	g_queue_push_tail(&recent->older, look);
	while ((oldest = g_queue_peek_head(&recent->older)) &&
		(recent->older_bytes > RECENT_SAMPLES_OLDER_MAX ||
			oldest->newest_ns + recent->query.last_ns < recent->newest_ns))
		forget_oldest(recent);
}

void recent_samples_close(struct recent_samples *recent)
{
	if (!recent)
		return;
	while (!g_queue_is_empty(&recent->older))
		forget_oldest(recent);
	if (recent->fd >= 0)
		close(recent->fd);
	g_byte_array_free(recent->state, TRUE);
	g_byte_array_free(recent->samples, TRUE);
	g_byte_array_free(recent->tail, TRUE);
	g_hash_table_destroy(recent->current);
	g_free(recent->buffer);
	g_free(recent->path);
	g_free(recent);
}

bool recent_samples_runs(const struct recent_samples *recent)
{
	return recent->runs;
}

/* Copies the last PERIODs and TASKs of each CPU: the samples that follow refer to them. */
static void begin_samples(struct recent_samples *recent)
{
	GHashTableIter iter;
	gpointer bytes;

	g_byte_array_set_size(recent->samples, 0);
	g_hash_table_iter_init(&iter, recent->current);
	while (g_hash_table_iter_next(&iter, NULL, &bytes))
		g_byte_array_append(
			recent->samples, ((GByteArray *)bytes)->data, ((GByteArray *)bytes)->len);
}

/* With unwound stacks. */
static int load(struct decoder *decoder, struct symbols *symbols, struct profile **profile, struct err *err)
{
	struct decoder unwound;
	bool needed;
	int ret, fd;

	ret = unwinding_is_needed(decoder, &needed);
	if (!ret && !needed) {
		ret = profile_load(decoder, profile, err);
	} else if (!ret) {
		ret = unwinding_make(decoder, symbols, NULL, &fd, NULL, err);
		if (!ret) {
			decode_init_fd(&unwound, fd);
			ret = profile_load(&unwound, profile, err);
			decode_fini(&unwound);
			close(fd);
		}
	}
	return ret;
}

/* The selected samples. */
static int load_part(const struct recent_samples *recent, const GByteArray *all, struct symbols *symbols,
	struct profile **profile, struct err *err)
{
	struct query_filter_result result;
	struct decoder decoder, part;
	int ret;

	decode_init_memory(&decoder, all->data, all->len);
	if (query_is_empty(&recent->query)) {
		ret = load(&decoder, symbols, profile, err);
	} else {
		ret = query_filter_make(&decoder, &recent->query, NULL, NULL, &result, err);
		if (!ret) {
			decode_init_fd(&part, result.fd);
			ret = load(&part, symbols, profile, err);
			decode_fini(&part);
			close(result.fd);
		}
	}
	decode_fini(&decoder);
	return ret;
}

int recent_samples_take(struct recent_samples *recent, struct symbols *symbols,
	struct profile **profile, struct err *err)
{
	g_autoptr(GByteArray) all = g_byte_array_new();
	const GList *link;
	int ret = read_all(recent, false, err);

	if (ret)
		return ret;
	g_byte_array_append(all, recent->state->data, recent->state->len);
	for (link = recent->older.head; link; link = link->next) {
		const struct older_look *look = link->data;

		g_byte_array_append(all, look->samples->data, look->samples->len);
	}
	g_byte_array_append(all, recent->samples->data, recent->samples->len);
	ret = load_part(recent, all, symbols, profile, err);
	keep_samples(recent);
	begin_samples(recent);
	if (!ret && recent->state->len > STATE_BYTES_MAX) {
		ret = open_kpdata(recent, err);
		if (!ret)
			ret = read_all(recent, true, err);
		if (ret)
			profile_destroy(*profile);
	}
	return ret;
}

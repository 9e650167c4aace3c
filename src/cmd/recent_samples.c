/* SPDX-License-Identifier: MIT */
/* What was sampled since the last look: see live.h. */
#include "cmd/recent_samples.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "capture/decode.h"
#include "capture/unwinding.h"

#define READ_BYTES MIB
/* What is known of processes only grows; from here on it is asked for anew, without the dead. */
#define STATE_BYTES_MAX (16 * MIB)

struct recent_samples {
	char *path;
	int fd;
	bool runs;
	GByteArray *state; /* records that tell of processes, events, the kernel */
	GHashTable
		*current; /* what the last PERIODs and TASKs of each CPU said: key -> GByteArray */
	GByteArray *samples; /* the records since the last look */
	GByteArray *tail;    /* of a record of which the rest has not been read yet */
	char *buffer;
};

static void free_bytes(gpointer bytes)
{
	g_byte_array_free(bytes, TRUE);
}

static int open_kpdata(struct recent_samples *live, struct err *err)
{
	int fd = open(live->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return err_set(err, errno, "%s: %s", live->path, strerror(errno));
	if (live->fd >= 0)
		close(live->fd);
	live->fd = fd;
	g_byte_array_set_size(live->state, 0);
	g_byte_array_set_size(live->tail, 0);
	g_hash_table_remove_all(live->current);
	return 0;
}

/*
 * ---- records ----------------------------------------------------------------------------------
 */

/* Of a CPU and event, or of a CPU alone: what a later one replaces. */
static void keep_current(struct recent_samples *live, const struct decode_record *record,
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
	g_hash_table_replace(live->current, key, bytes);
}

static void take_record(
	struct recent_samples *live, const struct decode_record *record, size_t size, bool discard)
{
	const uint8_t *raw = record->payload + record->size - size;

	switch (record->type) {
	case KPROF_REC_KERN_TRACE:
	case KPROF_REC_USER_TRACE:
	case KPROF_REC_USER_STACK:
	case KPROF_REC_LOST:
	case KPROF_REC_THROTTLE:
		if (!discard)
			g_byte_array_append(live->samples, raw, (guint)size);
		break;
	case KPROF_REC_TASK:
	case KPROF_REC_PERIOD:
		keep_current(live, record, raw, size);
		if (!discard)
			g_byte_array_append(live->samples, raw, (guint)size);
		break;
	default:
		g_byte_array_append(live->state, raw, (guint)size);
		break;
	}
}

/* Whole records of what was read; the rest waits for its end. */
static int take_bytes(struct recent_samples *live, size_t size, bool discard, struct err *err)
{
	struct decode_record record;
	struct decoder decoder;
	uint64_t taken = 0;
	int ret;

	g_byte_array_append(live->tail, (const guint8 *)live->buffer, (guint)size);
	decode_init_memory(&decoder, live->tail->data, live->tail->len);
	while ((ret = decode_next(&decoder, &record, err)) > 0 || ret == -EBADMSG) {
		if (ret > 0)
			take_record(live, &record, (size_t)(decoder.offset - taken), discard);
		taken = decoder.offset;
	}
	decode_fini(&decoder);
	g_byte_array_remove_range(live->tail, 0, (guint)taken);
	return ret == -ENODATA ? 0 : ret;
}

static int read_all(struct recent_samples *live, bool discard, struct err *err)
{
	int ret = 0;

	while (!ret) {
		ssize_t n = read(live->fd, live->buffer, READ_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		live->runs = n != 0;
		if (n == 0 || (n < 0 && errno == EAGAIN))
			break;
		if (n < 0)
			return err_set(err, errno, "%s: %s", live->path, strerror(errno));
		ret = take_bytes(live, (size_t)n, discard, err);
	}
	return ret;
}

/*
 * ---- looks ------------------------------------------------------------------------------------
 */

int recent_samples_open(const char *dir, struct recent_samples **out, struct err *err)
{
	struct recent_samples *live = g_new0(struct recent_samples, 1);
	int ret;

	live->path = g_build_filename(dir, "kpdata", NULL);
	live->fd = -1;
	live->state = g_byte_array_new();
	live->samples = g_byte_array_new();
	live->tail = g_byte_array_new();
	live->current = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_bytes);
	live->buffer = g_malloc(READ_BYTES);
	ret = open_kpdata(live, err);
	if (!ret)
		ret = read_all(live, true, err);
	if (ret)
		recent_samples_close(live);
	else
		*out = live;
	return ret;
}

void recent_samples_close(struct recent_samples *live)
{
	if (!live)
		return;
	if (live->fd >= 0)
		close(live->fd);
	g_byte_array_free(live->state, TRUE);
	g_byte_array_free(live->samples, TRUE);
	g_byte_array_free(live->tail, TRUE);
	g_hash_table_destroy(live->current);
	g_free(live->buffer);
	g_free(live->path);
	g_free(live);
}

bool recent_samples_runs(const struct recent_samples *live)
{
	return live->runs;
}

/* What the CPUs were at, so that the samples that follow are read as they were meant. */
static void begin_samples(struct recent_samples *live)
{
	GHashTableIter iter;
	gpointer bytes;

	g_byte_array_set_size(live->samples, 0);
	g_hash_table_iter_init(&iter, live->current);
	while (g_hash_table_iter_next(&iter, NULL, &bytes))
		g_byte_array_append(
			live->samples, ((GByteArray *)bytes)->data, ((GByteArray *)bytes)->len);
}

/* What was sampled, with whole stacks. */
static int load(
	const GByteArray *all, struct symbols *symbols, struct profile **profile, struct err *err)
{
	struct decoder decoder, unwound;
	bool needed;
	int ret, fd;

	decode_init_memory(&decoder, all->data, all->len);
	ret = unwinding_is_needed(&decoder, &needed);
	if (!ret && !needed) {
		ret = profile_load(&decoder, profile, err);
	} else if (!ret) {
		ret = unwinding_make(&decoder, symbols, NULL, &fd, NULL, err);
		if (!ret) {
			decode_init_fd(&unwound, fd);
			ret = profile_load(&unwound, profile, err);
			decode_fini(&unwound);
			close(fd);
		}
	}
	decode_fini(&decoder);
	return ret;
}

int recent_samples_take(struct recent_samples *live, struct symbols *symbols,
	struct profile **profile, struct err *err)
{
	g_autoptr(GByteArray) all = g_byte_array_new();
	int ret = read_all(live, false, err);

	if (ret)
		return ret;
	g_byte_array_append(all, live->state->data, live->state->len);
	g_byte_array_append(all, live->samples->data, live->samples->len);
	ret = load(all, symbols, profile, err);
	begin_samples(live);
	if (!ret && live->state->len > STATE_BYTES_MAX) {
		ret = open_kpdata(live, err);
		if (!ret)
			ret = read_all(live, true, err);
		if (ret)
			profile_destroy(*profile);
	}
	return ret;
}

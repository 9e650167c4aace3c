/* SPDX-License-Identifier: MIT */
/*
 * Decodes the records about tasks that a reader got, and finds the file at an address from them. It is
 * written from the description of the records. Include after cmocka.h.
 */
#ifndef KPROFS_TESTS_UNIT_TASK_STREAM_H
#define KPROFS_TESTS_UNIT_TASK_STREAM_H

#include <glib.h>

#include "decode.h"
#include "prof/record.h"
#include "prof/tasks.h"

struct task_stream_row {
	uint64_t type, time_ns;
	uint32_t pid, tid, parent_pid, parent_tid;
	uint64_t addr, size;
	char text[48];
};

struct task_stream {
	GArray *rows; /* of struct task_stream_row */
	uint64_t stamp;
};

static inline void task_stream_init(struct task_stream *stream)
{
	stream->rows = g_array_new(FALSE, TRUE, sizeof(struct task_stream_row));
	stream->stamp = 0;
}

static inline void task_stream_fini(struct task_stream *stream)
{
	g_array_free(stream->rows, TRUE);
}

static inline void task_stream_add(struct task_stream *stream, const struct decoded *r)
{
	struct task_stream_row row = { .type = r->type, .time_ns = decode_u64(r, 0) };

	switch (r->type) {
	case KPROF_REC_MMAP:
		row.addr = decode_u64(r, 8);
		row.size = decode_u64(r, 16);
		row.pid = decode_u32(r, 32);
		g_strlcpy(row.text, decode_text(r, 36), sizeof(row.text));
		break;
	case KPROF_REC_NEW_PROCESS:
		row.pid = decode_u32(r, 8);
		g_strlcpy(row.text, decode_text(r, 12), sizeof(row.text));
		break;
	case KPROF_REC_COMM:
		row.pid = decode_u32(r, 8);
		row.tid = decode_u32(r, 12);
		g_strlcpy(row.text, decode_text(r, 16), sizeof(row.text));
		break;
	case KPROF_REC_USER:
		assert_int_equal(r->size, 16);
		row.pid = decode_u32(r, 8);
		row.tid = decode_u32(r, 12); /* the user */
		break;
	case KPROF_REC_FORK:
	case KPROF_REC_EXIT:
		assert_int_equal(r->size, 24);
		row.pid = decode_u32(r, 8);
		row.tid = decode_u32(r, 12);
		row.parent_pid = decode_u32(r, 16);
		row.parent_tid = decode_u32(r, 20);
		break;
	case KPROF_REC_BUILD_ID:
		row.pid = decode_u32(r, 8);
		row.addr = decode_u64(r, 12);
		row.size = r->payload[20];
		assert_int_equal(r->size, 21 + row.size);
		g_strlcpy(row.text, "id", sizeof(row.text));
		break;
	case KPROF_REC_FILE_ID:
		assert_int_equal(r->size, 60);
		row.addr = decode_u64(r, 8);
		row.size = decode_u64(r, 16); /* the inode */
		row.pid = decode_u32(r, 32);
		g_snprintf(row.text, sizeof(row.text), "%u:%u generation %u", decode_u32(r, 24),
			decode_u32(r, 28), (unsigned int)decode_u64(r, 36));
		if (decode_u64(r, 52)) {
			size_t used = strlen(row.text);

			g_snprintf(row.text + used, sizeof(row.text) - used, " size %u time %u",
				(unsigned int)decode_u64(r, 44), (unsigned int)decode_u64(r, 52));
		}
		break;
	default:
		fail_msg("tasks told a record of type %d", (int)r->type);
	}
	g_array_append_val(stream->rows, row);
}

/* Reads the new records. */
static inline void task_stream_read(struct task_stream *stream, struct tasks *tasks)
{
	struct record_buf buf;
	struct decoded r;
	size_t at = 0;

	record_buf_init(&buf);
	stream->stamp = tasks_encode(tasks, stream->stamp, &buf);
	while (decode_next(buf.data, buf.used, &at, &r))
		task_stream_add(stream, &r);
	record_buf_fini(&buf);
}

static inline const struct task_stream_row *task_stream_row(const struct task_stream *stream, guint i)
{
	return &g_array_index(stream->rows, struct task_stream_row, i);
}

/* The rows as lines of text, for comparing. */
static inline GString *task_stream_text(const struct task_stream *stream)
{
	GString *out = g_string_new(NULL);
	guint i;

	for (i = 0; i < stream->rows->len; i++) {
		const struct task_stream_row *r = task_stream_row(stream, i);

		switch (r->type) {
		case KPROF_REC_MMAP:
			g_string_append_printf(out, "mmap %d %u %x+%x %s\n", (int)r->time_ns, r->pid,
				(int)r->addr, (int)r->size, r->text);
			break;
		case KPROF_REC_NEW_PROCESS:
			g_string_append_printf(out, "new %d %u %s\n", (int)r->time_ns, r->pid, r->text);
			break;
		case KPROF_REC_COMM:
			g_string_append_printf(out, "comm %d %u/%u %s\n", (int)r->time_ns, r->pid,
				r->tid, r->text);
			break;
		case KPROF_REC_USER:
			g_string_append_printf(out, "user %d %u %u\n", (int)r->time_ns, r->pid, r->tid);
			break;
		case KPROF_REC_BUILD_ID:
			g_string_append_printf(out, "id %d %u %x %d\n", (int)r->time_ns, r->pid,
				(int)r->addr, (int)r->size);
			break;
		case KPROF_REC_FILE_ID:
			g_string_append_printf(out, "file %d %u %x %d of %s\n", (int)r->time_ns, r->pid,
				(int)r->addr, (int)r->size, r->text);
			break;
		default:
			g_string_append_printf(out, "%s %d %u/%u of %u/%u\n",
				r->type == KPROF_REC_FORK ? "fork" : "exit", (int)r->time_ns, r->pid,
				r->tid, r->parent_pid, r->parent_tid);
		}
	}
	return out;
}

/* What ran under a pid for a time: it begins with NEW_PROCESS or with the fork of a process. */
struct task_stream_life {
	uint64_t start, end;	     /* from start to before end */
	const struct task_stream_row *fork; /* NULL: another program, which inherited nothing */
};

/* The life at time_ns; what is known from before the first one belongs to that. */
static inline bool task_stream_life(const struct task_stream *stream, uint32_t pid, uint64_t time_ns,
	struct task_stream_life *life)
{
	uint64_t first = UINT64_MAX;
	guint i;

	*life = (struct task_stream_life){ .end = UINT64_MAX };
	for (i = 0; i < stream->rows->len; i++) {
		const struct task_stream_row *r = task_stream_row(stream, i);

		if (r->pid != pid || !(r->type == KPROF_REC_NEW_PROCESS ||
					     (r->type == KPROF_REC_FORK && r->pid != r->parent_pid)))
			continue;
		first = MIN(first, r->time_ns);
		if (r->time_ns <= time_ns)
			life->start = MAX(life->start, r->time_ns);
	}
	if (first == UINT64_MAX)
		return false;
	life->start = MAX(life->start, first);
	for (i = 0; i < stream->rows->len; i++) {
		const struct task_stream_row *r = task_stream_row(stream, i);

		if (r->pid != pid || !(r->type == KPROF_REC_NEW_PROCESS ||
					     (r->type == KPROF_REC_FORK && r->pid != r->parent_pid)))
			continue;
		if (r->time_ns > life->start)
			life->end = MIN(life->end, r->time_ns);
		else if (r->time_ns == life->start && r->type == KPROF_REC_FORK)
			life->fork = r;
	}
	if (life->start == first)
		life->start = 0;
	return true;
}

/* Of the life's mappings at addr the latest up to time_ns, or (earliest) the first of all. */
static inline const struct task_stream_row *task_stream_mapping(const struct task_stream *stream,
	uint32_t pid, const struct task_stream_life *life, uint64_t time_ns, uint64_t addr, bool earliest)
{
	const struct task_stream_row *found = NULL;
	guint i;

	for (i = 0; i < stream->rows->len; i++) {
		const struct task_stream_row *r = task_stream_row(stream, i);

		if (r->type != KPROF_REC_MMAP || r->pid != pid || r->time_ns < life->start ||
			r->time_ns >= life->end || addr < r->addr || addr - r->addr >= r->size)
			continue;
		if (earliest ? !found || r->time_ns < found->time_ns
			     : r->time_ns <= time_ns && (!found || r->time_ns >= found->time_ns))
			found = r;
	}
	return found;
}

/*
 * The file at addr: the latest mapping by then, else what the parent had when it forked, and so on;
 * else what was announced later. NULL if not known.
 */
static inline const char *task_stream_find(const struct task_stream *stream, uint32_t pid, uint64_t time_ns,
	uint64_t addr)
{
	int earliest, depth;

	for (earliest = 0; earliest < 2; earliest++) {
		uint64_t at = time_ns;
		uint32_t of = pid;

		for (depth = 0; depth < 100; depth++) {
			const struct task_stream_row *found;
			struct task_stream_life life;

			if (!task_stream_life(stream, of, at, &life))
				break;
			found = task_stream_mapping(stream, of, &life, at, addr, earliest);
			if (found)
				return found->text;
			if (!life.fork)
				break;
			at = life.fork->time_ns;
			of = life.fork->parent_pid;
		}
	}
	return NULL;
}

#endif

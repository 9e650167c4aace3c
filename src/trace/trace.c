/* SPDX-License-Identifier: MIT */
/* The trace behind kptrace: see trace.h. */
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/growing.h"
#include "base/units.h"
#include "sys/clock.h"
#include "sys/cpu.h"
#include "producers/producers.h"
#include "trace/messages.h"

/* "[", 20 digits, ".", 9 digits, "]:cpu", 10 digits, ": ", NUL: 49 at most */
#define HEADER_BYTES 64

struct header {
	char text[HEADER_BYTES];
	size_t length;
};

/* i: invariant after create; m: under the mutex. No lock is taken while it is held. */
struct trace {
	pthread_mutex_t mutex;
	size_t ring_bytes;                          /* i */
	struct messages *ring;                      /* i; what it points to: m */
	uint64_t newest_ns;                         /* m: the time of the newest message ever */
	uint64_t written, overwritten, dropped_big; /* m: messages */
};

int trace_create(size_t ring_bytes, struct trace **trace)
{
	struct messages *ring;
	int ret;

	if (ring_bytes < TRACE_RING_BYTES_MIN || ring_bytes > TRACE_RING_BYTES_MAX)
		return -EINVAL;
	ret = messages_create(ring_bytes, &ring);
	if (ret)
		return ret;
	*trace = g_new0(struct trace, 1);
	pthread_mutex_init(&(*trace)->mutex, NULL);
	(*trace)->ring = ring;
	(*trace)->ring_bytes = ring_bytes;
	return 0;
}

void trace_destroy(struct trace *trace)
{
	if (!trace)
		return;
	messages_destroy(trace->ring);
	pthread_mutex_destroy(&trace->mutex);
	g_free(trace);
}

static bool needs_escape(unsigned char byte)
{
	return (byte < 32 && byte != '\n' && byte != '\t') || byte == 127;
}

/* How long the message becomes with its headers, escapes and last newline. */
static size_t measure_lines(const struct header *header, const char *text, size_t length)
{
	size_t bytes = 0, lines = 0, i;

	for (i = 0; i < length; i++) {
		bytes += needs_escape((unsigned char)text[i]) ? strlen("\\xNN") : 1;
		lines += text[i] == '\n';
	}
	if (text[length - 1] != '\n') {
		bytes++;
		lines++;
	}
	return bytes + lines * header->length;
}

static void append_lines(GString *out, const struct header *header, const char *text, size_t length)
{
	bool at_start = true;
	size_t i;

	for (i = 0; i < length; i++) {
		if (at_start)
			g_string_append_len(out, header->text, (gssize)header->length);
		if (needs_escape((unsigned char)text[i]))
			g_string_append_printf(out, "\\x%02x", (unsigned char)text[i]);
		else
			g_string_append_c(out, text[i]);
		at_start = text[i] == '\n';
	}
	if (!at_start)
		g_string_append_c(out, '\n');
}

static void make_header(struct header *header, uint64_t time_ns, unsigned int cpu)
{
	header->length = (size_t)snprintf(header->text, sizeof(header->text),
		"[%" PRIu64 ".%09" PRIu64 "]:cpu%u: ", (uint64_t)(time_ns / NSEC_PER_SEC),
		(uint64_t)(time_ns % NSEC_PER_SEC), cpu);
}

/* under the mutex; the text has been checked */
static int append_message(struct trace *trace, uint64_t time_ns, unsigned int cpu, const char *text,
	size_t length)
{
	g_autoptr(GString) lines = NULL;
	struct header header;
	uint64_t evicted = 0;
	size_t bytes;
	int ret;

	time_ns = MAX(time_ns, trace->newest_ns);
	make_header(&header, time_ns, cpu);
	bytes = measure_lines(&header, text, length);
	/* before anything is formatted: headers can make 64 KiB of newlines thirty times as long */
	if (bytes > trace->ring_bytes) {
		trace->dropped_big++;
		return -EMSGSIZE;
	}
	lines = g_string_new(NULL);
	ret = growing_text(lines, bytes);
	if (ret)
		return ret;
	append_lines(lines, &header, text, length);
	ret = messages_append(trace->ring, time_ns, lines->str, lines->len, &evicted);
	trace->overwritten += evicted;
	if (ret)
		return ret;
	trace->newest_ns = time_ns;
	trace->written++;
	return 0;
}

static int check_text(const char *text, size_t length)
{
	if (length > TRACE_MESSAGE_BYTES_MAX)
		return -EMSGSIZE;
	return memchr(text, '\0', length) ? -EINVAL : 0;
}

int trace_append(struct trace *trace, const char *text, size_t length)
{
	int ret;

	if (!length)
		return 0;
	ret = check_text(text, length);
	if (ret)
		return ret;
	pthread_mutex_lock(&trace->mutex);
	/* the clock is read under the lock: so messages are in the order of their times */
	ret = append_message(trace, clock_monotonic_ns(), cpu_current(), text, length);
	pthread_mutex_unlock(&trace->mutex);
	return ret;
}

int trace_append_at(struct trace *trace, uint64_t time_ns, unsigned int cpu, const char *text,
	size_t length)
{
	int ret;

	if (!length)
		return 0;
	ret = check_text(text, length);
	if (ret)
		return ret;
	pthread_mutex_lock(&trace->mutex);
	ret = append_message(trace, time_ns, cpu, text, length);
	pthread_mutex_unlock(&trace->mutex);
	return ret;
}

static void append_parts(GString *out, const struct messages_message *message)
{
	g_string_append_len(out, message->text[0], (gssize)message->length[0]);
	g_string_append_len(out, message->text[1], (gssize)message->length[1]);
}

int trace_print(struct trace *trace, GString *out)
{
	struct messages_message all;
	int ret;

	pthread_mutex_lock(&trace->mutex);
	messages_all(trace->ring, &all);
	ret = growing_text(out, all.length[0] + all.length[1]);
	if (!ret)
		append_parts(out, &all);
	pthread_mutex_unlock(&trace->mutex);
	return ret;
}

size_t trace_bytes(struct trace *trace)
{
	size_t bytes;

	pthread_mutex_lock(&trace->mutex);
	bytes = messages_bytes(trace->ring);
	pthread_mutex_unlock(&trace->mutex);
	return bytes;
}

/* The text of a line behind its header and the name that the server gives to `kprof mark`. */
static const char *skip_header(const char *line)
{
	const char *text = strstr(line, ": "), *rest;

	if (!text)
		return line;
	text += 2;
	if (!g_str_has_prefix(text, "kprof["))
		return text;
	rest = text + strlen("kprof[");
	rest += strspn(rest, "0123456789");
	return g_str_has_prefix(rest, "]: ") ? rest + 3 : text;
}

/* `line` is for its bytes. */
static bool has_text(const struct messages_message *message, const char *text, size_t length,
	GString *line)
{
	const size_t bytes = message->length[0] + message->length[1];

	if (bytes <= length || bytes > length + 2 * HEADER_BYTES)
		return false;
	g_string_truncate(line, 0);
	g_string_append_len(line, message->text[0], (gssize)message->length[0]);
	g_string_append_len(line, message->text[1], (gssize)message->length[1]);
	g_string_truncate(line, line->len - 1); /* the newline */
	return !strcmp(skip_header(line->str), text);
}

int trace_find(struct trace *trace, const char *text, uint64_t *time_ns)
{
	g_autoptr(GString) line = g_string_new(NULL);
	const size_t length = strlen(text);
	struct messages_message message;
	uint64_t number, first;
	int ret = -ENOENT;

	pthread_mutex_lock(&trace->mutex);
	first = messages_first(trace->ring);
	for (number = messages_end(trace->ring); ret && number-- > first;) {
		if (messages_get(trace->ring, number, &message) ||
			!has_text(&message, text, length, line))
			continue;
		*time_ns = message.time_ns;
		ret = 0;
	}
	pthread_mutex_unlock(&trace->mutex);
	return ret;
}

void trace_clear(struct trace *trace)
{
	pthread_mutex_lock(&trace->mutex);
	messages_clear(trace->ring);
	pthread_mutex_unlock(&trace->mutex);
}

void trace_cursor_init(struct trace *trace, struct trace_cursor *cursor)
{
	pthread_mutex_lock(&trace->mutex);
	cursor->next = messages_first(trace->ring);
	cursor->end = messages_end(trace->ring);
	cursor->missed = 0;
	cursor->no_memory = false;
	pthread_mutex_unlock(&trace->mutex);
}

void trace_cursor_init_follow(struct trace *trace, struct trace_cursor *cursor)
{
	pthread_mutex_lock(&trace->mutex);
	cursor->next = messages_end(trace->ring);
	cursor->end = UINT64_MAX;
	cursor->missed = 0;
	cursor->no_memory = false;
	pthread_mutex_unlock(&trace->mutex);
}

bool trace_next(struct trace *trace, struct trace_cursor *cursor, uint64_t *time_ns, GString *out)
{
	struct messages_message message;
	uint64_t resume;
	bool found;

	pthread_mutex_lock(&trace->mutex);
	resume = MIN(MAX(cursor->next, messages_first(trace->ring)), cursor->end);
	cursor->missed += resume - cursor->next;
	cursor->next = resume;
	found = resume < cursor->end && messages_get(trace->ring, resume, &message) == 0;
	if (found && growing_text(out, message.length[0] + message.length[1])) {
		cursor->no_memory = true;
		found = false;
	}
	if (found) {
		append_parts(out, &message);
		*time_ns = message.time_ns;
		cursor->next++;
	}
	pthread_mutex_unlock(&trace->mutex);
	return found;
}

void trace_print_stats(struct trace *trace, const struct producers_totals *programs,
	struct stats *stats)
{
	pthread_mutex_lock(&trace->mutex);
	stats_u64(stats, trace->written + programs->written, "trace.written");
	stats_u64(stats, trace->overwritten + programs->overwritten, "trace.overwritten");
	stats_u64(stats, programs->dropped, "trace.dropped_full");
	stats_u64(stats, trace->dropped_big, "trace.dropped_big");
	stats_u64(stats, programs->torn, "trace.torn");
	stats_u64(stats, programs->attached, "trace.producers");
	stats_u64(stats, messages_bytes(trace->ring), "trace.bytes");
	pthread_mutex_unlock(&trace->mutex);
}

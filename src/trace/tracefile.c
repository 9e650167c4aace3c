/* SPDX-License-Identifier: MIT */
/* Reads copies of cpu/N/trace: see tracefile.h. */
#include "trace/tracefile.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "ring/args.h"
#include "trace/trace_records.h"

#define READ_BYTES ((size_t)65536)
#define LABEL_MAX (2 * KPROF_NAME_MAX + 1)

struct tracefile_program {
	uint32_t pid;
	char name[KPROF_PROGRAM_MAX + 1];
};

struct tracefile_meaning {
	uint32_t format_bytes;
	char label[LABEL_MAX + 1];
	char format[KPROF_FORMAT_MAX + 1];
};

struct tracefile {
	int fd;
	GByteArray *bytes; /* what was read; not used yet from `at` on */
	size_t at;
	uint64_t offset; /* in the file, of the byte at `at` */
	bool begun;
	struct tracefile_head head; /* set once begun */
	GHashTable *programs; /* of uint32: struct said_program */
	GHashTable *meanings; /* of int64, program << 32 | id: struct said_meaning */
	int failed;
	struct err failure;
};

struct tracefile *tracefile_create(int fd)
{
	struct tracefile *file = g_new0(struct tracefile, 1);

	file->fd = fd;
	file->bytes = g_byte_array_new();
	file->programs = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	file->meanings = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	return file;
}

void tracefile_destroy(struct tracefile *file)
{
	if (!file)
		return;
	g_byte_array_free(file->bytes, TRUE);
	g_hash_table_unref(file->programs);
	g_hash_table_unref(file->meanings);
	g_free(file);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int fail(struct tracefile *file, int code, const char *reason)
{
	file->failed =
		err_set(&file->failure, code, "offset %" PRIu64 ": %s", file->offset, reason);
	return file->failed;
}

/* Returns 1 if at least `count` bytes are there, 0 if the file ends before. */
static int need(struct tracefile *file, size_t count)
{
	GByteArray *bytes = file->bytes;
	ssize_t n;

	while (bytes->len - file->at < count) {
		size_t had, room;

		g_byte_array_remove_range(bytes, 0, (guint)file->at);
		file->at = 0;
		had = bytes->len;
		room = MAX(READ_BYTES, count - had);
		g_byte_array_set_size(bytes, (guint)(had + room));
		do
			n = read(file->fd, bytes->data + had, room);
		while (n < 0 && errno == EINTR);
		g_byte_array_set_size(bytes, (guint)(had + (size_t)MAX(n, 0)));
		if (n < 0)
			return fail(file, errno, g_strerror(errno));
		if (!n)
			return 0;
	}
	return 1;
}

static const char *here(const struct tracefile *file)
{
	return (const char *)file->bytes->data + file->at;
}

static void pass(struct tracefile *file, size_t count)
{
	file->at += count;
	file->offset += count;
}

static int read_header(struct tracefile *file)
{
	struct kprof_trace_header header;
	int ret = need(file, sizeof(header));

	if (ret <= 0)
		return ret ? ret : fail(file, EINVAL, "no header: not a copy of cpu/N/trace");
	memcpy(&header, here(file), sizeof(header));
	if (header.magic == GUINT64_SWAP_LE_BE(KPROF_TRACE_MAGIC))
		return fail(file, EINVAL, "from a machine with the other byte order");
	if (header.magic != KPROF_TRACE_MAGIC || header.byte_order != KPROF_TRACE_BYTE_ORDER)
		return fail(file, EINVAL, "not a copy of cpu/N/trace");
	if (header.version != KPROF_TRACE_VERSION)
		return fail(file, EINVAL, "a version that this program does not know");
	if (header.header_bytes < sizeof(header) || header.header_bytes > 65536)
		return fail(file, EINVAL, "a header of an impossible length");
	ret = need(file, header.header_bytes);
	if (ret <= 0)
		return ret ? ret : fail(file, EINVAL, "the header is cut");
	pass(file, header.header_bytes);
	file->head = (struct tracefile_head){ header.cpu, header.anchor_monotonic_ns,
		header.anchor_realtime_ns };
	file->begun = true;
	return 1;
}

bool tracefile_get_head(const struct tracefile *file, struct tracefile_head *head)
{
	*head = file->head;
	return file->begun;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool is_printable(const char *text, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		if ((unsigned char)text[i] < 32 || text[i] == 127)
			return false;
	return true;
}

static int take_program(struct tracefile *file, const char *at, size_t rest)
{
	struct kprof_trace_program block;
	struct tracefile_program *program;

	memcpy(&block, at, sizeof(block));
	at += sizeof(block);
	if (block.name_bytes > rest || block.name_bytes > KPROF_PROGRAM_MAX ||
		!is_printable(at, block.name_bytes))
		return fail(file, EINVAL, "a program without a proper name");
	if (g_hash_table_size(file->programs) >= TRACEFILE_DEFINITIONS_MAX)
		return fail(file, EINVAL, "too many programs");
	program = g_new0(struct tracefile_program, 1);
	program->pid = block.pid;
	memcpy(program->name, at, block.name_bytes);
	g_hash_table_replace(file->programs, GUINT_TO_POINTER(block.program), program);
	return 1;
}

static int take_meaning(struct tracefile *file, const char *at, size_t rest)
{
	struct args_plan plan[KPROF_ARGS_MAX];
	struct kprof_trace_meaning block;
	struct tracefile_meaning *meaning;
	const char *format;
	gint64 key;

	memcpy(&block, at, sizeof(block));
	at += sizeof(block);
	if (block.label_bytes > rest || block.label_bytes > LABEL_MAX ||
		block.format_bytes > rest - block.label_bytes ||
		block.format_bytes > KPROF_FORMAT_MAX)
		return fail(file, EINVAL, "an event with an impossible name or format");
	format = at + block.label_bytes;
	if (!is_printable(at, block.label_bytes) || args_plan(format, block.format_bytes, plan) < 0)
		return fail(file, EINVAL, "an event without a proper name or format");
	if (g_hash_table_size(file->meanings) >= TRACEFILE_DEFINITIONS_MAX)
		return fail(file, EINVAL, "too many events");
	meaning = g_new0(struct tracefile_meaning, 1);
	memcpy(meaning->label, at, block.label_bytes);
	memcpy(meaning->format, format, block.format_bytes);
	meaning->format_bytes = block.format_bytes;
	key = (gint64)((uint64_t)block.program << 32 | block.id);
	g_hash_table_replace(file->meanings, g_memdup2(&key, sizeof(key)), meaning);
	return 1;
}

static int take_event(struct tracefile *file, const char *at, size_t rest,
	struct tracefile_item *item)
{
	const struct tracefile_meaning *meaning = NULL;
	const struct tracefile_program *program;
	struct kprof_trace_event block;
	gint64 key;

	memcpy(&block, at, sizeof(block));
	key = (gint64)((uint64_t)block.program << 32 | block.id);
	program = g_hash_table_lookup(file->programs, GUINT_TO_POINTER(block.program));
	if (block.id >= KPROF_ID_FIRST)
		meaning = g_hash_table_lookup(file->meanings, &key);
	if (!program || (block.id >= KPROF_ID_FIRST && !meaning))
		return fail(file, EINVAL, "an event without its program or meaning before it");
	if (rest > KPROF_RECORD_MAX)
		return fail(file, EINVAL, "an event of an impossible length");
	item->time_ns = block.time_ns;
	item->program = block.program;
	item->event = (struct trace_text_event){
		.time_ns = block.time_ns,
		.cpu = block.cpu,
		.pid = program->pid,
		.tid = block.tid,
		.flags = block.flags,
		.program = program->name,
		.label = meaning ? meaning->label : "",
		.format = meaning ? meaning->format : "",
		.format_bytes = meaning ? meaning->format_bytes : 0,
		.args = at + sizeof(block),
		.args_bytes = (uint32_t)rest,
	};
	if (!meaning)
		trace_text_split(&item->event);
	return 1;
}

static int take_message(struct tracefile *file, const char *at, size_t rest,
	struct tracefile_item *item)
{
	struct kprof_trace_message block;

	memcpy(&block, at, sizeof(block));
	if (block.text_bytes > rest)
		return fail(file, EINVAL, "a message of an impossible length");
	item->time_ns = block.time_ns;
	item->text = at + sizeof(block);
	item->bytes = block.text_bytes;
	return 1;
}

static void take_missing(const char *at, struct tracefile_item *item)
{
	struct kprof_trace_missing block;

	memcpy(&block, at, sizeof(block));
	item->time_ns = block.time_ns;
	item->count = block.count;
	item->cpu = block.cpu;
	item->reason = block.reason;
}

static int take_block(struct tracefile *file, uint32_t type, uint32_t bytes,
	struct tracefile_item *item)
{
	static const size_t least[] = {
		[KPROF_TRACE_PROGRAM] = sizeof(struct kprof_trace_program),
		[KPROF_TRACE_MEANING] = sizeof(struct kprof_trace_meaning),
		[KPROF_TRACE_EVENT] = sizeof(struct kprof_trace_event),
		[KPROF_TRACE_MESSAGE] = sizeof(struct kprof_trace_message),
		[KPROF_TRACE_MISSING] = sizeof(struct kprof_trace_missing),
	};
	const char *at = here(file);
	size_t rest;

	if (type >= G_N_ELEMENTS(least) || !least[type])
		return 1; /* a type of a newer version: skipped */
	if (bytes < least[type])
		return fail(file, EINVAL, "a block that is too short");
	rest = bytes - least[type];
	item->type = type;
	switch (type) {
	case KPROF_TRACE_PROGRAM:
		return take_program(file, at, rest);
	case KPROF_TRACE_MEANING:
		return take_meaning(file, at, rest);
	case KPROF_TRACE_EVENT:
		return take_event(file, at, rest, item);
	case KPROF_TRACE_MESSAGE:
		return take_message(file, at, rest, item);
	default:
		take_missing(at, item);
		return 1;
	}
}

static bool is_shown(uint32_t type)
{
	return type == KPROF_TRACE_EVENT || type == KPROF_TRACE_MESSAGE ||
		type == KPROF_TRACE_MISSING;
}

static int next_block(struct tracefile *file, struct tracefile_item *item, uint32_t *type)
{
	struct kprof_trace_block block;
	int ret = need(file, sizeof(block));

	*type = 0;
	if (ret < 0)
		return ret;
	if (!ret)
		return file->bytes->len == file->at ? 0 : fail(file, EINVAL, "the file is cut");
	memcpy(&block, here(file), sizeof(block));
	if (block.bytes < sizeof(block) || block.bytes % 8 || block.bytes > KPROF_TRACE_BLOCK_MAX)
		return fail(file, EINVAL, "a block of an impossible length");
	ret = need(file, block.bytes);
	if (ret <= 0)
		return ret ? ret : fail(file, EINVAL, "the file is cut");
	ret = take_block(file, block.type, block.bytes, item);
	if (ret > 0)
		pass(file, block.bytes);
	*type = block.type;
	return ret;
}

int tracefile_next(struct tracefile *file, struct tracefile_item *item, struct err *err)
{
	uint32_t type = 0;
	int ret = file->failed;

	memset(item, 0, sizeof(*item));
	if (!ret && !file->begun)
		ret = read_header(file);
	if (ret >= 0)
		do
			ret = next_block(file, item, &type);
		while (ret > 0 && !is_shown(type));
	if (ret < 0)
		*err = file->failure;
	return ret;
}

/* ---- order and text -------------------------------------------------------------------------- */

/* Of equal times: gaps, messages, events by their programs. */
static uint32_t rank(const struct tracefile_item *item)
{
	return item->type == KPROF_TRACE_MISSING ? 0 : item->type == KPROF_TRACE_MESSAGE ? 1 : 2;
}

bool tracefile_before(const struct tracefile_item *a, const struct tracefile_item *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	if (rank(a) != rank(b))
		return rank(a) < rank(b);
	return a->program < b->program;
}

static void append_escaped(const char *text, size_t bytes, GString *out)
{
	size_t i;

	for (i = 0; i < bytes; i++) {
		unsigned char byte = (unsigned char)text[i];

		if ((byte < 32 && byte != '\n' && byte != '\t') || byte == 127)
			g_string_append_printf(out, "\\x%02x", byte);
		else
			g_string_append_c(out, (char)byte);
	}
	if (bytes && text[bytes - 1] != '\n')
		g_string_append_c(out, '\n');
}

void tracefile_show(const struct tracefile_item *item, struct trace_text *trace_text, GString *out)
{
	if (item->type == KPROF_TRACE_EVENT)
		trace_text_append(trace_text, &item->event, out);
	else if (item->type == KPROF_TRACE_MESSAGE)
		append_escaped(item->text, item->bytes, out);
	else
		trace_text_append_note(item->time_ns, item->cpu, item->count,
			trace_records_reason(item->reason), out);
}

/* SPDX-License-Identifier: MIT */
/* The trace as text or records: see trace_records.h. */
#include "trace/trace_records.h"

#include <stdlib.h>
#include <string.h>

#include "trace/trace_text.h"

struct trace_records {
	struct trace_records_cpu cpu;
	struct trace_text *trace_text;
	GString *scratch;
	GHashTable *described; /* of int64: program << 32 | id; id of a program: KPROF_ID_RUN */
	GHashTable *meanings;  /* label and format of a kernel event -> its id */
};

struct trace_records *trace_records_create(const struct trace_records_cpu *cpu)
{
	struct trace_records *records = g_new0(struct trace_records, 1);

	records->cpu = *cpu;
	records->trace_text = trace_text_create();
	records->scratch = g_string_new(NULL);
	records->described = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	records->meanings = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return records;
}

void trace_records_destroy(struct trace_records *records)
{
	if (!records)
		return;
	trace_text_destroy(records->trace_text);
	g_string_free(records->scratch, TRUE);
	g_hash_table_unref(records->described);
	g_hash_table_unref(records->meanings);
	g_free(records);
}

const char *trace_records_reason(uint32_t reason)
{
	return reason == KPROF_TRACE_LEFT_OUT ? "left out (trace_max)" : "lost";
}

/* ---- records --------------------------------------------------------------------------------- */

static void pad(GString *out, size_t begin)
{
	while ((out->len - begin) % 8)
		g_string_append_c(out, '\0');
}

/* Appends a block: a struct, whose length member is set here, and two pieces after it. */
static void append_block(GString *out, void *block, size_t bytes, const char *first,
	size_t first_bytes, const char *second, size_t second_bytes)
{
	struct kprof_trace_block *head = block;
	size_t begin = out->len;

	head->bytes = (uint32_t)((bytes + first_bytes + second_bytes + 7) / 8 * 8);
	g_string_append_len(out, block, (gssize)bytes);
	g_string_append_len(out, first, (gssize)first_bytes);
	g_string_append_len(out, second, (gssize)second_bytes);
	pad(out, begin);
}

/* Whether the program or meaning was not written yet; the caller then writes it. */
static bool needs_description(struct trace_records *records, uint32_t program, uint32_t id)
{
	gint64 key = (gint64)((uint64_t)program << 32 | id);

	if (g_hash_table_contains(records->described, &key))
		return false;
	g_hash_table_add(records->described, g_memdup2(&key, sizeof(key)));
	return true;
}

static void append_program(const struct merge_program *program, GString *out)
{
	struct kprof_trace_program block = {
		.block.type = KPROF_TRACE_PROGRAM,
		.program = (uint32_t)program->serial,
		.pid = (uint32_t)program->pid,
		.uid = (uint32_t)program->uid,
		.name_bytes = (uint32_t)strlen(program->name),
	};

	append_block(out, &block, sizeof(block), program->name, block.name_bytes, "", 0);
}

/* Above the ids of programs. */
#define FIRST_MEANING_ID 0x10000u

static uint32_t id_of(struct trace_records *records, const struct merge_item *item)
{
	g_autofree char *key = NULL;
	gpointer known;
	uint32_t id;

	if (item->id != MERGE_ID_OF_MEANING)
		return item->id;
	key = g_strdup_printf("%s\n%s", item->meaning->label, item->meaning->format);
	known = g_hash_table_lookup(records->meanings, key);
	if (known)
		return GPOINTER_TO_UINT(known);
	id = FIRST_MEANING_ID + g_hash_table_size(records->meanings);
	g_hash_table_insert(records->meanings, g_steal_pointer(&key), GUINT_TO_POINTER(id));
	return id;
}

static void append_meaning(const struct merge_item *item, uint32_t id, GString *out)
{
	struct kprof_trace_meaning block = {
		.block.type = KPROF_TRACE_MEANING,
		.program = (uint32_t)item->program.serial,
		.id = id,
		.label_bytes = (uint32_t)strlen(item->meaning->label),
		.format_bytes = item->meaning->format_bytes,
	};

	append_block(out, &block, sizeof(block), item->meaning->label, block.label_bytes,
		item->meaning->format, block.format_bytes);
}

static void append_record(
	struct trace_records *records, const struct merge_item *item, GString *out)
{
	const uint32_t program = (uint32_t)item->program.serial, id = id_of(records, item);
	struct kprof_trace_event block = {
		.block.type = KPROF_TRACE_EVENT,
		.time_ns = item->time_ns,
		.program = program,
		.tid = item->event.tid,
		.id = id,
		.cpu = (uint16_t)item->event.cpu,
		.flags = (uint16_t)item->event.flags,
	};

	if (needs_description(records, program, KPROF_ID_RUN))
		append_program(&item->program, out);
	if (id >= KPROF_ID_FIRST && needs_description(records, program, id))
		append_meaning(item, id, out);
	append_block(out, &block, sizeof(block), item->args, item->args_bytes, "", 0);
}

/* Messages are held as lines: their header, which trace.c wrote, has the CPU. */
static uint32_t message_cpu(const struct merge_item *item)
{
	const char *end = memchr(item->message, ']', item->message_bytes);

	return end && g_str_has_prefix(end, "]:cpu") ? (uint32_t)strtoul(end + 5, NULL, 10) : 0;
}

static bool is_selected(const struct trace_records *records, const struct merge_item *item)
{
	uint32_t cpu = item->message ? message_cpu(item) : item->event.cpu;

	if (cpu >= records->cpu.count)
		cpu = records->cpu.first;
	return cpu == records->cpu.cpu;
}

static void append_message(const struct merge_item *item, GString *out)
{
	struct kprof_trace_message block = {
		.block.type = KPROF_TRACE_MESSAGE,
		.time_ns = item->time_ns,
		.text_bytes = (uint32_t)item->message_bytes,
	};

	append_block(out, &block, sizeof(block), item->message, item->message_bytes, "", 0);
}

/* ---- both ------------------------------------------------------------------------------------ */

void trace_records_begin(
	struct trace_records *records, const struct clock_map_copy *clock, GString *out)
{
	struct kprof_trace_header header = {
		.magic = KPROF_TRACE_MAGIC,
		.version = KPROF_TRACE_VERSION,
		.byte_order = KPROF_TRACE_BYTE_ORDER,
		.header_bytes = sizeof(header),
		.cpu = records->cpu.cpu,
		.frequency = clock_map_copy_frequency(clock),
	};
	struct clock_map_anchor anchor;

	if (records->cpu.cpu == TRACE_RECORDS_TEXT)
		return;
	g_hash_table_remove_all(records->described);
	clock_map_copy_anchor(clock, &anchor);
	header.anchor_counter = anchor.counter;
	header.anchor_monotonic_ns = anchor.monotonic_ns;
	header.anchor_realtime_ns = anchor.realtime_ns;
	g_string_append_len(out, (const char *)&header, sizeof(header));
}

void trace_records_append(
	struct trace_records *records, const struct merge_item *item, GString *out)
{
	if (records->cpu.cpu == TRACE_RECORDS_TEXT) {
		if (item->message)
			g_string_append_len(out, item->message, (gssize)item->message_bytes);
		else
			trace_text_append(records->trace_text, &item->event, out);
	} else if (is_selected(records, item)) {
		if (item->message)
			append_message(item, out);
		else
			append_record(records, item, out);
	}
}

uint64_t trace_records_measure(struct trace_records *records, const struct merge_item *item)
{
	if (records->cpu.cpu == TRACE_RECORDS_TEXT)
		return item->message ? item->message_bytes
				     : trace_text_measure(records->trace_text, &item->event);
	g_string_truncate(records->scratch, 0);
	trace_records_append(records, item, records->scratch);
	return records->scratch->len;
}

void trace_records_append_missing(struct trace_records *records, const struct merge_item *next,
	uint64_t now_ns, uint64_t count, enum kprof_trace_reason reason, GString *out)
{
	struct kprof_trace_missing block = {
		.block.type = KPROF_TRACE_MISSING,
		.time_ns = next ? next->time_ns : now_ns,
		.count = count,
		.cpu = next ? (next->message ? message_cpu(next) : next->event.cpu) : 0,
		.reason = reason,
	};

	if (!count)
		return;
	if (records->cpu.cpu == TRACE_RECORDS_TEXT)
		trace_text_append_note(
			block.time_ns, block.cpu, count, trace_records_reason(reason), out);
	else if (records->cpu.cpu == records->cpu.first)
		append_block(out, &block, sizeof(block), "", 0, "", 0);
}

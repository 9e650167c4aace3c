/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: a corrupt pool, read as kptrace, as cpu/N/trace and as views/ctf.
 *
 * The input is a list of changes to a pool that a real writer filled: when (before reading, or at
 * one of the reader's own steps), where, and which bytes. Invariants: the lengths that are told
 * beforehand are those of what is made, times don't fall, lines have their headers and no control
 * bytes, the records are read back as they were written, and a stream of CTF is whole packets,
 * whose times don't fall either.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/poolchanges.h"
#include "tests/unit/tracing.h"
#include "trace/ctf/ctf.h"
#include "trace/trace_records.h"
#include "trace/merge.h"
#include "trace/snapshot.h"
#include "trace/tracefile.h"

#define EVENTS 200u

/* ---- what is made of it ---------------------------------------------------------------------- */

struct measured {
	struct trace_records *form;
	uint64_t bytes;
};

static bool add_length(void *arg, const struct merge_item *item)
{
	struct measured *measured = arg;

	measured->bytes += trace_records_measure(measured->form, item);
	return true;
}

static void check_lines(const GString *text)
{
	gsize i;

	FUZZ_CHECK(!text->len || (text->str[0] == '[' && text->str[text->len - 1] == '\n'));
	for (i = 0; i < text->len; i++) {
		unsigned char byte = (unsigned char)text->str[i];

		FUZZ_CHECK((byte >= 32 && byte != 127) || byte == '\n' || byte == '\t');
		FUZZ_CHECK(byte != '\n' || i + 1 == text->len || text->str[i + 1] == '[');
	}
}

/* Everything in this form; the same twice. */
static GString *make(struct merge *merge, const struct snapshot *snapshot, uint32_t cpu,
	uint64_t *events)
{
	const struct trace_records_cpu cpus = {.cpu = cpu, .first = 0, .count = 1};
	struct measured measured = {.form = trace_records_create(&cpus)};
	GString *out = g_string_new(NULL);
	struct merge_walk walk;
	struct merge_item item;
	uint64_t last_ns = 0;

	trace_records_begin(measured.form, snapshot->clock, out);
	measured.bytes = out->len;
	merge_walk_init(&walk, snapshot);
	merge_walk_messages(&walk, add_length, &measured);
	for (uint32_t i = 0; i < snapshot->chunks->len; i++)
		merge_walk_chunk(&walk, i, add_length, &measured);
	merge_walk_fini(&walk);
	g_string_truncate(out, 0);
	trace_records_begin(measured.form, snapshot->clock, out);
	for (*events = 0; merge_next(merge, &item); ++*events) {
		FUZZ_CHECK(item.time_ns >= last_ns);
		last_ns = item.time_ns;
		trace_records_append(measured.form, &item, out);
	}
	merge_restart(merge);
	FUZZ_CHECK(out->len == measured.bytes);
	FUZZ_CHECK(*events == walk.sums.shown);
	trace_records_destroy(measured.form);
	return out;
}

/* The records, read back, are the text. */
static void check_records(const GString *records, const GString *text)
{
	int fd = memfd_create("records", MFD_CLOEXEC);
	struct tracefile *file = tracefile_create(fd);
	struct trace_text *line = trace_text_create();
	GString *again = g_string_new(NULL);
	struct tracefile_item item;
	struct err err;

	FUZZ_CHECK(write(fd, records->str, records->len) == (ssize_t)records->len);
	FUZZ_CHECK(lseek(fd, 0, SEEK_SET) == 0);
	while (tracefile_next(file, &item, &err) > 0)
		tracefile_show(&item, line, again);
	FUZZ_CHECK(g_string_equal(again, text));
	g_string_free(again, TRUE);
	trace_text_destroy(line);
	tracefile_destroy(file);
	close(fd);
}

/*
 * A stream is whole packets, one behind the other in time; with the events that there are, or none.
 */
static void check_stream(int fd)
{
	uint64_t head[8], last_ns = 0; /* 24 bytes of constants, then begin, end, two sizes, ... */
	off_t at = 0, end = lseek(fd, 0, SEEK_END);

	while (at < end) {
		FUZZ_CHECK(pread(fd, head, sizeof(head), at) == sizeof(head));
		FUZZ_CHECK((uint32_t)head[0] == CTF_MAGIC);
		FUZZ_CHECK(head[3] >= last_ns && head[4] >= head[3] && head[4] <= INT64_MAX);
		FUZZ_CHECK(head[5] == head[6] && head[5] >= CTF_PACKET_HEAD_BYTES * 8 && head[5] % 8 == 0);
		FUZZ_CHECK(head[5] / 8 <= (uint64_t)(end - at));
		last_ns = head[4];
		at += (off_t)(head[5] / 8);
	}
}

/* The metadata holds no byte that a text can't have, and ends as it should. */
static void check_metadata(int fd)
{
	off_t bytes = lseek(fd, 0, SEEK_END), i;
	g_autofree char *text = g_malloc0((gsize)bytes + 1);

	FUZZ_CHECK(pread(fd, text, (size_t)bytes, 0) == bytes);
	FUZZ_CHECK(g_str_has_suffix(text, "\t};\n};\n"));
	for (i = 0; i < bytes; i++)
		FUZZ_CHECK((text[i] >= 32 && text[i] < 127) || text[i] == '\n' || text[i] == '\t');
}

static void check_ctf(const struct snapshot *snapshot, uint64_t events)
{
	static const uint32_t cpu = 0;
	int stream = memfd_create("stream", MFD_CLOEXEC);
	struct ctf_output output = { .metadata = memfd_create("metadata", MFD_CLOEXEC),
		.streams = &stream, .cpus = &cpu, .count = 1, .bytes_max = UINT64_MAX,
		.metadata_max = UINT64_MAX };
	int ret = ctf_write(snapshot, &output, NULL, NULL);

	FUZZ_CHECK(ret == (events || snapshot->overwritten || snapshot->left_out ? 0 : -ENODATA));
	if (!ret) {
		check_stream(stream);
		check_metadata(output.metadata);
	}
	close(stream);
	close(output.metadata);
}

/* Stands still: the same input gives the same run. */
static bool read_clocks(void *arg, struct clock_map_anchor *anchor)
{
	*anchor = (struct clock_map_anchor){1000, 2000, 3000};
	return true;
}

static void read_pool(struct program *program)
{
	struct snapshot_budget *budget = snapshot_budget_create(SNAPSHOT_BYTES_MIN, 0);
	const struct clock_map_source clocks = {read_clocks, NULL};
	struct clock_map *stamps = clock_map_create_from(&clocks);
	struct snapshot *snapshot;
	struct merge *merge;
	GString *text, *records;
	uint64_t events, again;

	snapshot = snapshot_create(budget, 0, tracing_list(&program, 1), NULL, 0);
	FUZZ_CHECK(snapshot_take(snapshot, stamps, NULL, NULL) == 0);
	merge = merge_create(snapshot);
	text = make(merge, snapshot, TRACE_RECORDS_TEXT, &events);
	check_lines(text);
	records = make(merge, snapshot, 0, &again);
	FUZZ_CHECK(events == again);
	check_records(records, text);
	check_ctf(snapshot, events);
	g_string_free(text, TRUE);
	g_string_free(records, TRUE);
	merge_destroy(merge);
	snapshot_destroy(snapshot);
	FUZZ_CHECK(snapshot_budget_used(budget) == 0);
	snapshot_budget_destroy(budget);
	clock_map_destroy(stamps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct program *program;
	struct ring_writer *writer;
	struct ring_room room;
	const char *why = NULL;

	ring_test_hook = NULL;
	program = tracing_create(1, POOL_BYTES, KPROF_MODE_OVERWRITE);
	writer = ring_writer_begin(&program->pool.pool);
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint64_t words[2] = { i % 3 ? i : 5 | (uint64_t)'a' << 16, 0x0a1b00 };

		tracing_write_at(program, writer, (uint32_t)(i % 7), 0, i % 11 ? 0 : i % 16, 0, words,
			(uint32_t)(i % 3));
	}
	/* one is uncommitted: the reader copies twice */
	FUZZ_CHECK(ring_reserve(writer, 3, &room));
	poolchanges_begin(program->pool.fd, data, size);
	/* as an attach would look at it; what is refused is not read */
	if (ring_reader_open(program->pool.fd, &program->producer.reader, &why) == 0) {
		ring_test_hook = poolchanges_on_point;
		read_pool(program);
	}
	ring_test_hook = NULL;
	tracing_destroy(program);
	return 0;
}

static void add(GByteArray *out, uint8_t phase, size_t offset, uint64_t value)
{
	struct change change = { phase, 7, (uint16_t)(offset / 8) };

	g_byte_array_append(out, (const uint8_t *)&change, sizeof(change));
	g_byte_array_append(out, (const uint8_t *)&value, sizeof(value));
}

bool fuzz_seed(unsigned int number, GByteArray *out)
{
	/* 7 chunks: slots at 4096, heads at 4992, data at 8192 */
	const size_t head = 4096 + 7 * 128, data = 8192;

	switch (number) {
	case 0:
		return true; /* the pool as it is */
	case 1: /* strings and stacks that say too much */
		add(out, 0, data + 56 + 16, 0xffffffffffffffffull);
		add(out, 0, data + 56 + 16 + 40, 0x0a0a0a0a0a0afffeull);
		return true;
	case 2:
		add(out, 0, data + 8, KPROF_HEAD(0xfff, 0xf, 0xffff, 0xffff, 0));
		return true;
	case 3: /* while it is read */
		add(out, 1, head, 77);
		add(out, 2, data + 56 + 8, 0);
		add(out, 3, data + 56 + 16 + 8, ~0ull);
		return true;
	case 4: /* a stamp far ahead, then one behind; another clock */
		add(out, 0, data + 56, ~0ull);
		add(out, 0, data + 56 + 16, 0);
		add(out, 0, 40, 1);
		return true;
	default:
		return false;
	}
}

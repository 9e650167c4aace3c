/* SPDX-License-Identifier: MIT */
/*
 * Writes the trace as CTF: see ctf.h.
 *
 * There is one pass over the items, in the order of time; each event goes into its CPU's packet.
 * The metadata is written last, when all classes are known.
 */
#include "trace/ctf/ctf.h"

#include <errno.h>
#include <string.h>

#include "base/fdio.h"
#include "base/units.h"
#include "ring/args.h"
#include "trace/arguments.h"
#include "trace/ctf/ctf_class.h"
#include "trace/trace_text.h"
#include "trace/merge.h"
#include "trace/snapshot.h"
#include "trace/clock_map.h"

/* The shapes of ctf_class.h that an event can have: all sums of its bits. */
#define SHAPES 8
/* Meanings whose classes are cached by address; others are looked up by name and format. */
#define CACHED_MAX 32768u

struct ctf_writer {
	const struct ctf_output *output;
	const struct ctf_source *source;
	struct ctf_packets *streams;
	struct ctf_classes *classes;
	GHashTable *cached; /* of struct producer_event: SHAPES pointers to struct ctf_class */
	struct trace_text *trace_text;
	GString *rest;	   /* of the current event: all that follows its header */
	GString *fields;   /* of the current event: its fields */
	uint64_t time_ns;  /* of the item before: time never goes back in a stream */
	uint64_t time_max; /* the last time that a reader can convert to the wall clock */
	struct ctf_missing missing;
	uint64_t discarded; /* of them, those that were passed to the first stream */
};

/* ---- events ---------------------------------------------------------------------------------- */

static const struct ctf_class *find_class(struct ctf_writer *w, const struct merge_item *item,
	unsigned int shape)
{
	const struct ctf_class **classes = g_hash_table_lookup(w->cached, item->meaning);
	const char *name = item->event.label[0] ? item->event.label : CTF_NAME_PRINTF;

	if (!w->source->meanings_persist)
		return ctf_classes_find(w->classes, name, item->meaning->format, shape);
	if (!classes) {
		/* a program can have millions of ids for one event */
		if (g_hash_table_size(w->cached) >= CACHED_MAX)
			g_hash_table_remove_all(w->cached);
		classes = g_new0(const struct ctf_class *, SHAPES);
		g_hash_table_insert(w->cached, (gpointer)item->meaning, classes);
	}
	if (!classes[shape])
		classes[shape] = ctf_classes_find(w->classes, name, item->meaning->format, shape);
	return classes[shape];
}

static void append_integer(GString *out, uint64_t word, uint32_t bytes)
{
	switch (bytes) {
	case 1:
		ctf_append_u8(out, (uint8_t)word);
		break;
	case 2:
		ctf_append_u16(out, (uint16_t)word);
		break;
	case 4:
		ctf_append_u32(out, (uint32_t)word);
		break;
	default:
		ctf_append_u64(out, word);
	}
}

/* Returns false if the argument is missing. */
static bool append_argument(GString *out, const struct args_plan *plan, struct arguments *args)
{
	const char *text;
	uint64_t word;
	size_t count;

	if (plan->kind == ARGS_STRING) {
		if (!arguments_take_string(args, &text, &count))
			return false;
		if (text)
			ctf_append_string(out, text, count);
		else
			ctf_append_string(out, "(null)", strlen("(null)"));
		return true;
	}
	if (!arguments_take_word(args, &word))
		return false;
	append_integer(out, word, plan->kind == ARGS_INT ? plan->bytes : 8);
	return true;
}

/* As many addresses as there are: the count comes from the producer. */
static void append_stack(GString *out, struct arguments *args)
{
	uint64_t count = 0, address;

	arguments_take_word(args, &count);
	count = MIN(count, args->left / sizeof(address));
	ctf_append_u16(out, (uint16_t)count);
	while (count-- && arguments_take_word(args, &address))
		ctf_append_u64(out, address);
}

/* The arguments as fields. Returns false if some are missing. */
static bool append_arguments(struct ctf_writer *w, const struct ctf_class *class,
	const struct merge_item *item, unsigned int shape)
{
	struct arguments args = { item->event.args, item->event.args_bytes };
	int i;

	for (i = 0; i < class->count; i++)
		if (!append_argument(w->fields, &class->plan[i], &args))
			return false;
	if (shape & CTF_STACK)
		append_stack(w->fields, &args);
	if (shape & CTF_CUT)
		ctf_append_u8(w->fields, 1);
	return true;
}

/*
 * The event's text, as in kptrace. If the stack can't be separated from the arguments, it is a part
 * of the text, too.
 */
static const struct ctf_class *append_text(struct ctf_writer *w, const struct merge_item *item)
{
	struct arguments args = { item->event.args, item->event.args_bytes };
	struct trace_text_event event = item->event;
	unsigned int shape = CTF_TEXT;
	const char *text;
	size_t bytes;
	bool cut;

	if ((event.flags & KPROF_RECORD_STACK) && trace_text_skip_arguments(&event, &args)) {
		event.flags &= ~(uint32_t)KPROF_RECORD_STACK;
		shape |= CTF_STACK;
	}
	text = trace_text_format(w->trace_text, &event, &bytes, &cut);
	g_string_truncate(w->fields, 0);
	ctf_append_string(w->fields, text, bytes);
	if (shape & CTF_STACK)
		append_stack(w->fields, &args);
	if (cut)
		ctf_append_u8(w->fields, 1);
	return find_class(w, item, shape | (cut ? CTF_CUT : 0));
}

static const struct ctf_class *append_fields(struct ctf_writer *w, const struct merge_item *item)
{
	unsigned int shape = (item->event.flags & KPROF_RECORD_STACK ? CTF_STACK : 0) |
		(item->event.flags & KPROF_RECORD_CUT ? CTF_CUT : 0);
	const struct ctf_class *class;

	g_string_truncate(w->fields, 0);
	if (!item->event.label[0])
		return append_text(w, item);
	class = find_class(w, item, shape);
	return append_arguments(w, class, item, shape) ? class : append_text(w, item);
}

static struct ctf_packets *find_stream(struct ctf_writer *w, uint32_t cpu)
{
	uint32_t i;

	if (cpu < w->output->count && w->output->cpus[cpu] == cpu)
		return &w->streams[cpu];
	for (i = 0; i < w->output->count; i++)
		if (w->output->cpus[i] == cpu)
			return &w->streams[i];
	return &w->streams[0];
}

static int add(struct ctf_writer *w, uint32_t cpu, uint64_t time_ns, uint32_t id)
{
	w->time_ns = CLAMP(time_ns, w->time_ns, w->time_max);
	return ctf_packets_add(find_stream(w, cpu), cpu, w->time_ns, id, w->rest);
}

static int add_event(struct ctf_writer *w, const struct merge_item *item)
{
	const struct ctf_class *class = append_fields(w, item);

	g_string_truncate(w->rest, 0);
	ctf_append_u32(w->rest, item->event.pid);
	ctf_append_u32(w->rest, item->event.tid);
	ctf_append_string(w->rest, item->event.program, strlen(item->event.program));
	ctf_append(w->rest, w->fields->str, w->fields->len);
	return add(w, item->event.cpu, item->time_ns, class->id);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int add_message(struct ctf_writer *w, const struct merge_item *item)
{
	struct merge_line line;
	size_t at = 0;
	int ret = 0;

	while (!ret && merge_next_line(item, &at, &line)) {
		g_string_truncate(w->rest, 0);
		ctf_append_string(w->rest, line.text, line.bytes);
		ret = add(w, line.cpu, item->time_ns, ctf_classes_message(w->classes));
	}
	return ret;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Returns -EFBIG if the files are too large, -ENOMEM if there is no memory for more classes. */
static int check_size(const struct ctf_writer *w, struct err *err)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < w->output->count; i++)
		bytes += w->streams[i].bytes;
	if (bytes > w->output->bytes_max)
		return err_set(err, EFBIG, "the trace as CTF would be larger than %u MiB",
			(unsigned int)(w->output->bytes_max / MIB));
	if (ctf_classes_bytes(w->classes) > w->output->metadata_max)
		return err_set(err, EFBIG,
			"more different events than %u MiB of metadata can describe",
			(unsigned int)(w->output->metadata_max / MIB));
	return ctf_classes_reserve(w->classes);
}

/*
 * Cancellation and size are checked once for this many events, which take some microseconds.
 */
#define CHECK_EVENTS 16

/* Missing events are counted in the first stream, once it has begun. */
static void discard_missing(struct ctf_writer *w)
{
	uint64_t missing = w->missing.lost + w->missing.left_out;

	ctf_packets_discard(&w->streams[0], missing - w->discarded);
	w->discarded = missing;
}

static bool take_item(struct ctf_writer *w, struct merge_item *item)
{
	return w->source->next(w->source->arg, item, &w->missing);
}

static int write_items(struct ctf_writer *w, struct merge_item *item, bool more,
	const struct cancel *cancel, struct err *err)
{
	unsigned int n = 0;
	int ret = 0;

	for (discard_missing(w); more && !ret; more = take_item(w, item), discard_missing(w)) {
		ret = item->message ? add_message(w, item) : add_event(w, item);
		if (!ret && n++ % CHECK_EVENTS == 0) {
			if (cancel_requested(cancel))
				ret = -EINTR;
			else
				ret = check_size(w, err);
		}
	}
	return ret;
}

static void init_streams(struct ctf_writer *w)
{
	const struct ctf_output *output = w->output;
	uint32_t i;

	w->streams = g_new0(struct ctf_packets, output->count);
	for (i = 0; i < output->count; i++)
		ctf_packets_init(&w->streams[i], output->streams[i], output->uuid, output->cpus[i]);
}

static int write_streams(struct ctf_writer *w, const struct cancel *cancel, struct err *err)
{
	struct merge_item item;
	bool more;
	uint32_t i;
	int ret = 0;

	init_streams(w);
	more = take_item(w, &item);
	w->time_ns = MIN(more ? item.time_ns : w->source->monotonic_ns, w->time_max);
	if (!more && !w->missing.lost && !w->missing.left_out)
		ret = err_set(err, ENODATA, "the trace is empty");
	for (i = 0; i < w->output->count && !ret; i++)
		ret = ctf_packets_begin(&w->streams[i], w->time_ns);
	if (!ret)
		ret = write_items(w, &item, more, cancel, err);
	for (i = 0; i < w->output->count && !ret; i++)
		ret = ctf_packets_end(&w->streams[i]);
	return ret ? ret : check_size(w, err);
}

static int write_metadata(const struct ctf_writer *w, const struct ctf_info *info)
{
	g_autoptr(GString) text = g_string_new(NULL);
	int ret = ctf_classes_print(w->classes, info, text);

	return ret ? ret : fdio_write(w->output->metadata, text->str, text->len);
}

void ctf_make_uuid(unsigned char uuid[CTF_UUID_BYTES])
{
	int i;

	for (i = 0; i < CTF_UUID_BYTES; i++)
		uuid[i] = (unsigned char)g_random_int_range(0, 256);
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

int ctf_write_from(const struct ctf_source *source, const struct ctf_output *output,
	const struct cancel *cancel, struct err *err)
{
	struct ctf_writer w = { .output = output, .source = source };
	struct ctf_info info = { 0 };
	uint32_t i;
	int ret;

	if (source->realtime_ns > source->monotonic_ns)
		info.offset_ns = source->realtime_ns - source->monotonic_ns;
	memcpy(info.uuid, output->uuid, sizeof(info.uuid));
	w.time_max = INT64_MAX - MIN(info.offset_ns, INT64_MAX);
	w.classes = ctf_classes_create();
	w.cached = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	w.trace_text = trace_text_create();
	w.rest = g_string_new(NULL);
	w.fields = g_string_new(NULL);
	ret = write_streams(&w, cancel, err);
	info.lost = w.missing.lost;
	info.left_out = w.missing.left_out;
	if (!ret)
		ret = write_metadata(&w, &info);
	for (i = 0; i < output->count; i++)
		ctf_packets_fini(&w.streams[i]);
	g_free(w.streams);
	g_string_free(w.rest, TRUE);
	g_string_free(w.fields, TRUE);
	trace_text_destroy(w.trace_text);
	g_hash_table_unref(w.cached);
	ctf_classes_destroy(w.classes);
	return ret;
}

/* ---- a snapshot ------------------------------------------------------------------------------ */

struct snapshot_items {
	struct merge *merge;
	struct ctf_missing missing; /* before the first item */
};

static bool next_of_snapshot(void *arg, struct merge_item *item, struct ctf_missing *missing)
{
	struct snapshot_items *items = arg;

	missing->lost += items->missing.lost;
	missing->left_out += items->missing.left_out;
	items->missing = (struct ctf_missing){ 0 };
	return merge_next(items->merge, item);
}

int ctf_write(const struct snapshot *snapshot, const struct ctf_output *output,
	const struct cancel *cancel, struct err *err)
{
	struct snapshot_items items = {
		.missing = { .lost = snapshot->overwritten, .left_out = snapshot->left_out },
	};
	struct ctf_source source = {
		.next = next_of_snapshot, .arg = &items, .meanings_persist = true};
	struct clock_map_anchor now;
	int ret;

	items.merge = merge_create(snapshot);
	if (!items.merge)
		return -ENOMEM;
	clock_map_copy_anchor(snapshot->clock, &now);
	source.monotonic_ns = now.monotonic_ns;
	source.realtime_ns = now.realtime_ns;
	ret = ctf_write_from(&source, output, cancel, err);
	merge_destroy(items.merge);
	return ret;
}

/* SPDX-License-Identifier: MIT */
/* A capture as a pprof profile: see pprof.h. */
#include "formats/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/strhash.h"
#include "base/text.h"
#include "base/units.h"
#include "capture/table.h"
#include "formats/gzip.h"
#include "formats/protobuf.h"
#include "formats/summary.h"

/* Numbers of the fields in profile.proto. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6, /* the first is "" */
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};

enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3 };
enum location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4
};
enum line_field { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_SOURCE = 4,
};

enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,
};

/* Files are mapped in pages. */
#define PAGE_BYTES 4096u

/* Cancellation is checked once for this many samples, or places, which take about 1 ms. */
#define CANCEL_SAMPLES 512

struct pprof_function {
	uint64_t name, source; /* strings; source 0 if not known */
	uint64_t file;	       /* of the binary; PROCESSES_NONE if there is none */
};

struct pprof_writer {
	const struct view_input *input;
	struct gzip *gzip;
	GHashTable *strings; /* char * -> index + 1 */
	GString *text;	     /* scratch, for a string */
	GByteArray *message; /* scratch, for a message */
	GByteArray *nested;  /* scratch, for one in a message */
	uint8_t *places;     /* bits: the place was written */
	GArray *functions;   /* struct pprof_function: those that were written */
	struct table function_table;
	uint64_t key_process, key_pid, key_thread, key_cpu, key_host;
};

static bool set_bit(uint8_t *bits, uint32_t i)
{
	uint8_t bit = (uint8_t)(1 << i % 8);
	bool was = bits[i / 8] & bit;

	bits[i / 8] |= bit;
	return was;
}

/* ---- fields of the profile ------------------------------------------------------------------- */

static void put_bytes(
	struct pprof_writer *w, enum profile_field field, const void *bytes, size_t size)
{
	uint8_t head[2 * PROTOBUF_VARINT_MAX];
	size_t n = protobuf_encode(head, (uint64_t)field << 3 | PROTOBUF_BYTES);

	n += protobuf_encode(head + n, size);
	gzip_write(w->gzip, head, n);
	gzip_write(w->gzip, bytes, size);
}

static void put_message(struct pprof_writer *w, enum profile_field field)
{
	put_bytes(w, field, w->message->data, w->message->len);
	g_byte_array_set_size(w->message, 0);
}

static void put_number(struct pprof_writer *w, enum profile_field field, uint64_t value)
{
	g_byte_array_set_size(w->nested, 0);
	protobuf_add_int64(w->nested, field, value);
	gzip_write(w->gzip, w->nested->data, w->nested->len);
}

/*
 * The index of a string, which is written when it is first used. It must be UTF-8; strings of a
 * capture may not be, so they are escaped.
 */
static uint64_t intern(struct pprof_writer *w, const char *string)
{
	gpointer known = g_hash_table_lookup(w->strings, string);
	guint index = g_hash_table_size(w->strings);

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	g_hash_table_insert(w->strings, g_strdup(string), GUINT_TO_POINTER(index + 1));
	g_string_truncate(w->text, 0);
	text_append(w->text, string);
	put_bytes(w, PROFILE_STRING, w->text->str, w->text->len);
	return index;
}

/* The index of a string that was made here and is used once. */
static uint64_t add_string(struct pprof_writer *w, const GString *string)
{
	guint index = g_hash_table_size(w->strings);

	/* keys of this kind never equal a string: they only count in the size of the table */
	g_hash_table_insert(
		w->strings, g_strdup_printf("\n%u", index), GUINT_TO_POINTER(index + 1));
	put_bytes(w, PROFILE_STRING, string->str, string->len);
	return index;
}

static void put_value_type(struct pprof_writer *w, enum profile_field field, const char *type,
	const char *unit)
{
	protobuf_add_number(w->message, VALUE_TYPE_TYPE, intern(w, type));
	protobuf_add_number(w->message, VALUE_TYPE_UNIT, intern(w, unit));
	put_message(w, field);
}

/* ---- mappings, functions, locations ---------------------------------------------------------- */

/* Where the last place of each file ends. */
static uint64_t *find_limits(const struct profile *profile)
{
	uint64_t *limits = g_new0(uint64_t, processes_file_count(profile->processes) + 1);
	uint32_t i;

	for (i = 0; i < profile->places->len; i++) {
		const struct profile_place *place = profile_place(profile, i);

		if (place->file != PROCESSES_NONE)
			limits[place->file] = MAX(limits[place->file], place->offset);
	}
	return limits;
}

static void put_mapping(struct pprof_writer *w, uint32_t i, uint64_t last)
{
	const struct processes *processes = w->input->profile->processes;
	const struct processes_file *file = processes_file(processes, i);
	char build_id[2 * KPROF_BUILD_ID_MAX + 1] = "";
	uint64_t start = file->kernel == PROCESSES_NONE
		? 0 : processes_kernel(processes, file->kernel)->start;
	unsigned int n;

	for (n = 0; n < file->build_id_length; n++)
		g_snprintf(build_id + 2 * n, 3, "%02x", file->build_id[n]);
	protobuf_add_number(w->message, MAPPING_ID, (uint64_t)i + 1);
	protobuf_add_number(w->message, MAPPING_START, start);
	protobuf_add_number(w->message, MAPPING_LIMIT,
		last < UINT64_MAX - PAGE_BYTES ? (last / PAGE_BYTES + 1) * PAGE_BYTES : last);
	protobuf_add_number(w->message, MAPPING_FILE, intern(w, file->path));
	protobuf_add_number(w->message, MAPPING_BUILD_ID, intern(w, build_id));
	/*
	 * the profile has all that is known: without any of these, pprof would look for the file
	 * and read it
	 */
	protobuf_add_number(w->message, MAPPING_HAS_FUNCTIONS, 1);
	protobuf_add_number(w->message, MAPPING_HAS_FILES, 1);
	protobuf_add_number(w->message, MAPPING_HAS_LINES, 1);
	protobuf_add_number(w->message, MAPPING_HAS_INLINED, 1);
	put_message(w, PROFILE_MAPPING);
}

static bool is_counted(const struct profile_cell *cell)
{
	return !(cell->flags & (PROFILE_IDLE | PROFILE_OWN));
}

/* The program with the most samples; NULL if none is known. */
static const char *find_program(const struct profile *profile)
{
	g_autoptr(GHashTable) sums = g_hash_table_new_full(strhash, g_str_equal, NULL, g_free);
	const char *best = NULL;
	uint64_t most = 0, *sum;
	uint32_t i;

	for (i = 0; i < profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(profile, i);
		const char *program = processes_program(profile->processes, cell->life);

		if (!is_counted(cell) || !program || !*program)
			continue;
		sum = g_hash_table_lookup(sums, program);
		if (!sum) {
			sum = g_new0(uint64_t, 1);
			g_hash_table_insert(sums, (gpointer)program, sum);
		}
		*sum += cell->count.samples;
		if (*sum > most) {
			most = *sum;
			best = program;
		}
	}
	return best;
}

/*
 * The file that pprof shows as the profiled one, which must be the first: the program with the most
 * samples, else the first file that is not the kernel's. UINT32_MAX if there is none.
 */
static uint32_t find_main(const struct profile *profile, const uint64_t *limits)
{
	const char *program = find_program(profile);
	uint32_t i, other = UINT32_MAX;

	for (i = 0; i < processes_file_count(profile->processes); i++) {
		const struct processes_file *file = processes_file(profile->processes, i);

		if (file->kernel != PROCESSES_NONE || file->process != PROCESSES_NONE)
			continue;
		if (program && strcmp(file->path, program) == 0)
			return i;
		if (limits[i] && other == UINT32_MAX)
			other = i;
	}
	return other;
}

static void put_mappings(struct pprof_writer *w)
{
	g_autofree uint64_t *limits = find_limits(w->input->profile);
	uint32_t i, count = processes_file_count(w->input->profile->processes);
	uint32_t first = find_main(w->input->profile, limits);

	if (first < count)
		put_mapping(w, first, limits[first]);
	for (i = 0; i < count; i++) {
		if (i != first && limits[i]) /* files without samples are left out */
			put_mapping(w, i, limits[i]);
	}
}

static bool equal_function(const void *items, uint32_t i, const void *key)
{
	return memcmp((const struct pprof_function *)items + i, key,
		       sizeof(struct pprof_function)) == 0;
}

/* The id of a function, which is written when it is first used. */
static uint64_t put_function(
	struct pprof_writer *w, const char *name, const char *source, uint32_t file)
{
	struct pprof_function key = { intern(w, name), source ? intern(w, source) : 0, file };
	uint32_t hash = table_hash(key.name << 32 | key.source, file);
	uint32_t known = w->functions->len;
	uint32_t i = table_intern(&w->function_table, w->functions, hash, equal_function, &key);

	if (i < known)
		return (uint64_t)i + 1;
	protobuf_add_number(w->message, FUNCTION_ID, (uint64_t)i + 1);
	protobuf_add_number(w->message, FUNCTION_NAME, key.name);
	protobuf_add_number(w->message, FUNCTION_SYSTEM_NAME, key.name);
	protobuf_add_number(w->message, FUNCTION_SOURCE, key.source);
	put_message(w, PROFILE_FUNCTION);
	return (uint64_t)i + 1;
}

static void add_line(struct pprof_writer *w, uint64_t function, uint32_t line)
{
	g_byte_array_set_size(w->nested, 0);
	protobuf_add_number(w->nested, LINE_FUNCTION, function);
	protobuf_add_number(w->nested, LINE_NUMBER, line);
	protobuf_add_bytes(w->message, LOCATION_LINE, w->nested->data, w->nested->len);
}

/* Functions are separate messages, written first. Inlined ones come before their callers. */
static void put_location(struct pprof_writer *w, uint32_t i)
{
	const struct profile_place *place = profile_place(w->input->profile, i);
	const struct functions *functions = w->input->functions;
	const struct symbols_place *known = &functions->places[i];
	uint64_t ids[SYMBOLS_FRAMES_MAX];
	uint32_t n;

	if (set_bit(w->places, i))
		return;
	for (n = 0; n < known->count; n++)
		ids[n] = put_function(w, known->frames[n].function, known->frames[n].source,
			place->file);
	if (!known->count)
		ids[0] =
			put_function(w, functions_function(functions, functions->of_place[i])->name,
				NULL, place->file);
	protobuf_add_number(w->message, LOCATION_ID, (uint64_t)i + 1);
	if (place->file != PROCESSES_NONE && place->offset)
		protobuf_add_number(w->message, LOCATION_MAPPING, (uint64_t)place->file + 1);
	protobuf_add_number(w->message, LOCATION_ADDRESS, place->offset);
	for (n = 0; n < MAX(known->count, 1); n++)
		add_line(w, ids[n], known->count ? known->frames[n].line : 0);
	put_message(w, PROFILE_LOCATION);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Innermost first. */
static void add_locations(struct pprof_writer *w, const struct profile_cell *cell)
{
	const struct stacks *stacks = &w->input->profile->stacks;
	uint32_t node;

	g_byte_array_set_size(w->nested, 0);
	for (node = cell->node; node != STACKS_ROOT; node = stacks_node(stacks, node)->caller)
		protobuf_add_varint(w->nested, (uint64_t)stacks_node(stacks, node)->place + 1);
	protobuf_add_bytes(w->message, SAMPLE_LOCATIONS, w->nested->data, w->nested->len);
}

static void add_values(struct pprof_writer *w, const struct profile_cell *cell)
{
	uint32_t i;

	g_byte_array_set_size(w->nested, 0);
	for (i = 0; i < w->input->profile->events->len; i++) {
		bool own = i == cell->event;

		protobuf_add_varint(w->nested, own ? MIN(cell->count.samples, INT64_MAX) : 0);
		protobuf_add_varint(w->nested, own ? MIN(cell->count.weight, INT64_MAX) : 0);
	}
	protobuf_add_bytes(w->message, SAMPLE_VALUES, w->nested->data, w->nested->len);
}

static void add_label(struct pprof_writer *w, uint64_t key, enum label_field field, uint64_t value)
{
	g_byte_array_set_size(w->nested, 0);
	protobuf_add_number(w->nested, LABEL_KEY, key);
	protobuf_add_number(w->nested, field, value);
	protobuf_add_bytes(w->message, SAMPLE_LABEL, w->nested->data, w->nested->len);
}

static void put_sample(struct pprof_writer *w, const struct profile_cell *cell)
{
	const struct profile *profile = w->input->profile;
	uint32_t pid = processes_pid(profile->processes, cell->life), node;
	uint64_t process = intern(w, cell->name), cpu, host = 0;
	char number[16];

	/* as text: a label with the number 0 would not be shown */
	g_snprintf(number, sizeof(number), "%u", cell->cpu);
	cpu = intern(w, number);
	/* of one machine the profile's reader knows it */
	if (boots_count(profile->boots) > 1 && profile_host(profile, cell))
		host = intern(w, profile_host(profile, cell));
	for (node = cell->node; node != STACKS_ROOT;) {
		const struct stacks_node *n = stacks_node(&profile->stacks, node);

		put_location(w, n->place);
		node = n->caller;
	}
	add_locations(w, cell);
	add_values(w, cell);
	add_label(w, w->key_process, LABEL_TEXT, process);
	if (pid != KPROF_PID_GONE) {
		add_label(w, w->key_pid, LABEL_NUMBER, pid);
		add_label(w, w->key_thread, LABEL_NUMBER, cell->tid);
	}
	add_label(w, w->key_cpu, LABEL_TEXT, cpu);
	if (host)
		add_label(w, w->key_host, LABEL_TEXT, host);
	put_message(w, PROFILE_SAMPLE);
}

static int put_samples(struct pprof_writer *w, struct err *err)
{
	const struct profile *profile = w->input->profile;
	uint32_t i;

	for (i = 0; i < profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(profile, i);

		if (i % CANCEL_SAMPLES == 0 && view_cancelled(w->input))
			return err_set(err, EINTR, "the view was cancelled");
		if (is_counted(cell))
			put_sample(w, cell);
	}
	return 0;
}

/* ---- the header ------------------------------------------------------------------------------ */

static void put_types(struct pprof_writer *w)
{
	const struct profile *profile = w->input->profile;
	bool several = profile->events->len > 1;
	uint32_t i;

	for (i = 0; i < profile->events->len; i++) {
		const struct profile_event *event = profile_event(profile, i);
		g_autofree char *samples = several ? g_strdup_printf("%s samples", event->text)
						   : g_strdup("samples");

		put_value_type(w, PROFILE_SAMPLE_TYPE, samples, "count");
		put_value_type(w, PROFILE_SAMPLE_TYPE, event->text,
			profile_is_clock(event) ? "nanoseconds" : "count");
	}
	put_number(w, PROFILE_DEFAULT_SAMPLE_TYPE, intern(w, profile_event(profile, 0)->text));
}

/*
 * The period of the first event: a profile has one. For a frequency it is known of clocks only.
 */
static void put_period(struct pprof_writer *w)
{
	const struct profile_event *event = profile_event(w->input->profile, 0);
	bool clock = profile_is_clock(event);
	uint64_t period = event->rate;

	if (event->flags & KPROF_EVENT_FREQ)
		period = clock && event->rate ? NSEC_PER_SEC / event->rate : 0;
	if (!period)
		return;
	put_value_type(w, PROFILE_PERIOD_TYPE, event->text, clock ? "nanoseconds" : "count");
	put_number(w, PROFILE_PERIOD, period);
}

static void put_comments(struct pprof_writer *w)
{
	const struct profile *profile = w->input->profile;
	g_autoptr(GString) comment = g_string_new(NULL);
	uint32_t i;

	summary_append_capture(comment, profile);
	put_number(w, PROFILE_COMMENT, add_string(w, comment));
	for (i = 0; i < profile->events->len; i++) {
		g_string_truncate(comment, 0);
		summary_append_event(comment, profile_event(profile, i), false);
		put_number(w, PROFILE_COMMENT, add_string(w, comment));
	}
}

/* The time of the capture: that of its first CLOCK record. */
static void put_times(struct pprof_writer *w)
{
	struct decode_record record;
	struct decoder decoder;

	decode_init_pread(&decoder, w->input->capture_fd, 0);
	if (decode_next(&decoder, &record, NULL) > 0 && record.type == KPROF_REC_CLOCK)
		put_number(w, PROFILE_TIME_NANOS, record.clock.wall_ns);
	decode_fini(&decoder);
	put_number(w, PROFILE_DURATION_NANOS, w->input->profile->duration_ns);
}

static int write_profile(struct pprof_writer *w, struct err *err)
{
	int ret;

	intern(w, ""); /* the first string */
	put_types(w);
	put_period(w);
	put_times(w);
	put_comments(w);
	w->key_process = intern(w, "process");
	w->key_pid = intern(w, "pid");
	w->key_thread = intern(w, "thread");
	w->key_cpu = intern(w, "cpu");
	w->key_host = intern(w, "host");
	put_mappings(w);
	ret = put_samples(w, err);
	if (!ret)
		gzip_finish(w->gzip);
	return ret;
}

int pprof_write(const struct view_input *input, FILE *out, struct err *err)
{
	const struct profile *profile = input->profile;
	struct pprof_writer w = { .input = input };
	int ret;

	if (!profile->samples)
		return summary_refuse(profile, input->source, err);
	if (profile->events->len > PPROF_EVENTS_MAX)
		return err_set(err, EFBIG,
			"the capture has more than %u events, the limit of pprof",
			PPROF_EVENTS_MAX);
	w.gzip = gzip_create(out);
	if (!w.gzip)
		return err_set(err, ENOMEM, "no memory");
	w.strings = g_hash_table_new_full(strhash, g_str_equal, g_free, NULL);
	w.text = g_string_new(NULL);
	w.message = g_byte_array_new();
	w.nested = g_byte_array_new();
	w.places = g_malloc0(profile->places->len / 8 + 1);
	w.functions = g_array_new(FALSE, FALSE, sizeof(struct pprof_function));
	ret = write_profile(&w, err);
	table_fini(&w.function_table);
	g_array_free(w.functions, TRUE);
	g_free(w.places);
	g_byte_array_free(w.nested, TRUE);
	g_byte_array_free(w.message, TRUE);
	g_string_free(w.text, TRUE);
	g_hash_table_destroy(w.strings);
	gzip_destroy(w.gzip);
	return ret;
}

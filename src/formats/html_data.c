/* SPDX-License-Identifier: MIT */
/* The data in a report for browsers: see html_data.h. */
#include "formats/html_data.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "base/units.h"
#include "formats/calltree.h"
#include "formats/json.h"
#include "formats/timeline.h"

/* Cancellation is checked once for this many samples, which take well below a millisecond. */
#define CANCEL_SAMPLES 4096

struct html_data {
	const struct view_input *input;
	struct calltree *tree;
	struct timeline *timeline;
	uint32_t *numbers;     /* by function of the tree: its index in the header, plus 1; 0 if none */
	uint32_t functions;
	GHashTable *files;     /* path: index in the header, plus 1 */
	GPtrArray *file_list;  /* paths */
	GString *header;
	GString *text; /* scratch */
	GByteArray *out;
};

static void put_number(GByteArray *out, uint64_t value)
{
	uint8_t bytes[10];
	guint n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (uint8_t)(value | 0x80);
	bytes[n++] = (uint8_t)value;
	g_byte_array_append(out, bytes, n);
}

static void put_difference(GByteArray *out, uint64_t value, uint64_t previous)
{
	int64_t difference = (int64_t)(value - previous);

	put_number(out, (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63));
}

/* ---- the header ------------------------------------------------------------------------------ */

/* A comma, unless it would be the first item. */
static void append_comma(GString *header)
{
	if (header->str[header->len - 1] != '[')
		g_string_append_c(header, ',');
}

/* As other views show names: printable, and of limited length. */
static void append_name(struct html_data *d, const char *name)
{
	g_string_truncate(d->text, 0);
	text_append_cut(d->text, *name ? name : "-");
	append_comma(d->header);
	json_append_string(d->header, d->text->str);
}

static void append_events(struct html_data *d)
{
	const struct profile *profile = d->input->profile;
	uint32_t i;

	json_append_name(d->header, "events");
	g_string_append_c(d->header, '[');
	for (i = 0; i < profile->events->len; i++) {
		const struct profile_event *event = profile_event(profile, i);

		append_comma(d->header);
		g_string_append_c(d->header, '[');
		append_name(d, event->text);
		g_string_append_printf(d->header, ",%d]", profile_is_clock(event));
	}
	g_string_append_c(d->header, ']');
}

/* Measured by the kernel during the runs. */
static void append_cpu_times(struct html_data *d)
{
	const struct cputimes *times = &d->input->profile->cpu_times;
	struct cputimes_sum sum;
	uint32_t cpu, i;

	json_append_name(d->header, "cpu_times");
	g_string_append_c(d->header, '[');
	for (cpu = 0; cpu < cputimes_cpus(times); cpu++) {
		if (!cputimes_sum(times, cpu, &sum))
			continue;
		append_comma(d->header);
		g_string_append_printf(d->header, "[%" PRIu32 ",%" PRIu64, cpu,
			(uint64_t)MIN(sum.measured_ns / NSEC_PER_USEC, HTML_DATA_NUMBER_MAX));
		for (i = 0; i < CPUTIMES_STATES; i++)
			g_string_append_printf(d->header, ",%" PRIu64,
				(uint64_t)MIN(sum.ns[i] / NSEC_PER_USEC, HTML_DATA_NUMBER_MAX));
		g_string_append_c(d->header, ']');
	}
	g_string_append_c(d->header, ']');
}

static void append_list(struct html_data *d, const char *name, const GPtrArray *list)
{
	uint32_t i;

	json_append_name(d->header, name);
	g_string_append_c(d->header, '[');
	for (i = 0; i < list->len; i++)
		append_name(d, g_ptr_array_index(list, i));
	g_string_append_c(d->header, ']');
}

static uint32_t file_number(struct html_data *d, const char *path)
{
	gpointer number = g_hash_table_lookup(d->files, path);

	if (!number) {
		g_ptr_array_add(d->file_list, (gpointer)path);
		number = GUINT_TO_POINTER(d->file_list->len);
		g_hash_table_insert(d->files, (gpointer)path, number);
	}
	return GPOINTER_TO_UINT(number) - 1;
}

/* The functions in the order of their first nodes; numbers them. */
static void append_functions(struct html_data *d)
{
	uint32_t i;

	json_append_name(d->header, "functions");
	g_string_append_c(d->header, '[');
	for (i = 0; i < d->tree->nodes->len; i++) {
		const struct calltree_node *node = calltree_node(d->tree, i);

		if (node->kind < CALLTREE_USER || d->numbers[node->what])
			continue;
		d->numbers[node->what] = ++d->functions;
		append_comma(d->header);
		g_string_append_c(d->header, '[');
		append_name(d, calltree_name(d->tree, node));
		g_string_append_printf(d->header, ",%" PRIu32 "]",
			file_number(d, calltree_file(d->tree, node)));
	}
	g_string_append_c(d->header, ']');
}

static void append_tracks(struct html_data *d)
{
	uint32_t i;

	json_append_name(d->header, "tracks");
	g_string_append_c(d->header, '[');
	for (i = 0; i < d->timeline->tracks->len; i++) {
		const struct timeline_track *track = timeline_track(d->timeline, i);
		int64_t pid = track->pid == KPROF_PID_GONE ? -1 : (int64_t)track->pid;

		append_comma(d->header);
		g_string_append_printf(d->header, "[%" PRIu32, track->event);
		append_name(d, track->process);
		append_name(d, track->thread);
		g_string_append_printf(d->header, ",%" PRId64 ",%" PRIu32 ",%u,%" PRIu32 "]", pid,
			track->tid, track->flags, track->count);
	}
	g_string_append_c(d->header, ']');
}

static void put_header(struct html_data *d)
{
	g_string_append_printf(d->header, "{\"start_ms\":%" PRIu64,
		(uint64_t)(d->timeline->wall_ns / NSEC_PER_MSEC));
	append_events(d);
	append_cpu_times(d);
	append_list(d, "processes", d->tree->processes);
	append_functions(d);
	append_list(d, "files", d->file_list);
	append_tracks(d);
	g_string_append_c(d->header, '}');
	put_number(d->out, d->header->len);
	g_byte_array_append(d->out, (const guint8 *)d->header->str, (guint)d->header->len);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Numbers the nodes other than events from 1 on; returns 0 for an event and for no node. */
static uint32_t node_number(const struct html_data *d, uint32_t node)
{
	uint32_t events = d->input->profile->events->len;

	return node == CALLTREE_NO_NODE || node < events ? 0 : node - events + 1;
}

static void put_nodes(struct html_data *d)
{
	uint32_t i, events = d->input->profile->events->len;

	put_number(d->out, d->tree->nodes->len - events);
	for (i = events; i < d->tree->nodes->len; i++)
		put_number(d->out, node_number(d, i) -
			node_number(d, calltree_node(d->tree, i)->parent));
	for (i = events; i < d->tree->nodes->len; i++) {
		const struct calltree_node *node = calltree_node(d->tree, i);
		uint32_t what = node->kind == CALLTREE_PROCESS ? node->what
			: d->numbers[node->what] - 1;

		put_number(d->out, (uint64_t)what << 2 | (node->kind - CALLTREE_PROCESS));
	}
}

static uint64_t sample_us(const struct html_data *d, const struct profile_moment *moment)
{
	return MIN((moment->time_ns - d->timeline->first_ns) / NSEC_PER_USEC, HTML_DATA_NUMBER_MAX);
}

static void put_time(struct html_data *d, const struct profile_moment *moment,
	const struct profile_moment *previous)
{
	put_number(d->out, sample_us(d, moment) - (previous ? sample_us(d, previous) : 0));
}

static void put_cpu(struct html_data *d, const struct profile_moment *moment,
	const struct profile_moment *previous)
{
	(void)previous;
	put_number(d->out, profile_cell(d->input->profile, moment->cell)->cpu);
}

static void put_node(struct html_data *d, const struct profile_moment *moment,
	const struct profile_moment *previous)
{
	(void)previous;
	put_number(d->out, node_number(d, d->tree->of_cell[moment->cell]));
}

static void put_weight(struct html_data *d, const struct profile_moment *moment,
	const struct profile_moment *previous)
{
	put_difference(d->out, MIN(moment->weight, HTML_DATA_NUMBER_MAX),
		previous ? MIN(previous->weight, HTML_DATA_NUMBER_MAX) : 0);
}

typedef void html_data_put(struct html_data *d, const struct profile_moment *moment,
	const struct profile_moment *previous);

/* One number for each sample; `previous` is the one before it in its track, NULL for the first. */
static int put_column(struct html_data *d, html_data_put *put)
{
	uint32_t i, k;

	for (i = 0; i < d->timeline->tracks->len; i++) {
		const struct timeline_track *track = timeline_track(d->timeline, i);
		const struct profile_moment *previous = NULL, *moment;

		for (k = 0; k < track->count; k++, previous = moment) {
			if (k % CANCEL_SAMPLES == 0 && view_cancelled(d->input))
				return -EINTR;
			moment = timeline_moment(d->timeline, track, k);
			put(d, moment, previous);
		}
	}
	return 0;
}

static int put_samples(struct html_data *d)
{
	static html_data_put *const columns[] = { put_time, put_cpu, put_node, put_weight };
	size_t i;
	int ret = 0;

	put_number(d->out, d->timeline->samples);
	for (i = 0; !ret && i < G_N_ELEMENTS(columns); i++)
		ret = put_column(d, columns[i]);
	return ret;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int make(struct html_data *d, struct err *err)
{
	const struct calltree_options options = { .cells = true };
	int ret = timeline_create(d->input, true, &d->timeline, err);

	if (ret)
		return ret;
	if (d->timeline->samples > HTML_DATA_SAMPLES_MAX)
		return err_set(err, EFBIG, "more than %u samples", HTML_DATA_SAMPLES_MAX);
	ret = calltree_create(d->input, &options, &d->tree, err);
	if (ret)
		return ret;
	d->numbers = g_new0(uint32_t, d->input->functions->list->len + 1);
	put_header(d);
	put_nodes(d);
	ret = put_samples(d);
	return ret ? err_set(err, -ret, "the view was cancelled") : 0;
}

int html_data_make(const struct view_input *input, GByteArray **data, struct err *err)
{
	struct html_data d = {
		.input = input,
		.files = g_hash_table_new(g_str_hash, g_str_equal),
		.file_list = g_ptr_array_new(),
		.header = g_string_new(NULL),
		.text = g_string_new(NULL),
		.out = g_byte_array_new(),
	};
	int ret = make(&d, err);

	calltree_destroy(d.tree);
	timeline_destroy(d.timeline);
	g_free(d.numbers);
	g_hash_table_destroy(d.files);
	g_ptr_array_free(d.file_list, TRUE);
	g_string_free(d.header, TRUE);
	g_string_free(d.text, TRUE);
	if (ret)
		g_byte_array_free(d.out, TRUE);
	else
		*data = d.out;
	return ret;
}

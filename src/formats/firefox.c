/* SPDX-License-Identifier: MIT */
/* A capture for the Firefox Profiler: see firefox.h. */
#include "formats/firefox.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "formats/firefox_tables.h"
#include "formats/json.h"
#include "formats/summary.h"
#include "formats/timeline.h"

/* The version that this file writes; newer profilers read it. */
#define PROCESSED_VERSION 48
#define GECKO_VERSION 30

/* Cancellation is checked once for this many samples, which take well below a millisecond. */
#define CANCEL_SAMPLES 512

struct firefox_writer {
	const struct view_input *input;
	struct timeline *timeline;
	uint32_t *libs; /* by file of processes: index in libs; FIREFOX_NONE if not used */
	struct firefox_tables tables;
	GString *text; /* scratch */
	FILE *out;
};

/* ns as milliseconds, with all digits. */
static void put_ms(struct firefox_writer *w, uint64_t ns)
{
	fprintf(w->out, "%" PRIu64 ".%06" PRIu64, (uint64_t)(ns / NSEC_PER_MSEC),
		(uint64_t)(ns % NSEC_PER_MSEC));
}

/* ---- meta ------------------------------------------------------------------------------------ */

/* The time between samples in ns: known for a frequency and for the period of a clock. */
static uint64_t find_interval(const struct profile *profile)
{
	const struct profile_event *event = profile_event(profile, 0);

	if (event->flags & KPROF_EVENT_FREQ)
		return event->rate ? NSEC_PER_SEC / event->rate : NSEC_PER_MSEC;
	return profile_is_clock(event) && event->rate ? event->rate : NSEC_PER_MSEC;
}

static void add_entry(struct firefox_writer *w, const char *label, const GString *value)
{
	g_string_append_c(w->text, '{');
	json_append_member(w->text, "label", label);
	json_append_member(w->text, "format", "string");
	json_append_member(w->text, "value", value->str);
	g_string_append_c(w->text, '}');
}

/* The numbers of samples, and of what was lost. */
static void put_extra(struct firefox_writer *w)
{
	const struct profile *profile = w->input->profile;
	g_autoptr(GString) line = g_string_new(NULL);
	uint32_t i;

	fputs("\"extra\":[{\"label\":\"Capture\",\"entries\":[", w->out);
	summary_append_capture(line, profile);
	add_entry(w, "Samples", line);
	for (i = 0; i < profile->events->len; i++) {
		g_autofree char *label = g_strdup_printf("Event %" PRIu32, i + 1);

		g_string_truncate(line, 0);
		summary_append_event(line, profile_event(profile, i), false);
		g_string_append_c(w->text, ',');
		add_entry(w, label, line);
	}
	json_flush(w->text, w->out);
	fputs("]}]", w->out);
}

static void put_meta(struct firefox_writer *w)
{
	fputs("\"meta\":{\"interval\":", w->out);
	put_ms(w, find_interval(w->input->profile));
	fputs(",\"startTime\":", w->out);
	put_ms(w, w->timeline->wall_ns);
	fprintf(w->out,
		",\"processType\":0,\"product\":\"kprofs\",\"stackwalk\":1,\"debug\":false,"
		"\"version\":%d,\"preprocessedProfileVersion\":%d,",
		GECKO_VERSION, PROCESSED_VERSION);
	/* in the order of enum firefox_category */
	fputs("\"categories\":["
	      "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
	      "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
	      "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]}],"
	      "\"markerSchema\":[],\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
	      "\"doesNotUseFrameImplementation\":true,\"sourceCodeIsNotOnSearchfox\":true,"
	      "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
	      "\"extensions\":{\"baseURL\":[],\"id\":[],\"name\":[],\"length\":0},", w->out);
	put_extra(w);
	fputs("},", w->out);
}

/* ---- libs ------------------------------------------------------------------------------------ */

/* Marks the files that occur in stacks; visits each node once. */
static void find_used(struct firefox_writer *w, uint8_t *seen)
{
	const struct profile *profile = w->input->profile;
	uint32_t i, node;

	for (i = 0; i < profile->cells->len; i++) {
		const struct profile_cell *cell = profile_cell(profile, i);

		if (cell->flags & (PROFILE_IDLE | PROFILE_OWN))
			continue;
		for (node = cell->node; node != STACKS_ROOT && !seen[node];) {
			const struct stacks_node *n = stacks_node(&profile->stacks, node);
			uint32_t file = profile_place(profile, n->place)->file;

			seen[node] = 1;
			if (file != PROCESSES_NONE)
				w->libs[file] = 0;
			node = n->caller;
		}
	}
}

/*
 * A build-id as Breakpad's symbol servers write it: a GUID in the order of its integers, and 0.
 */
static void append_breakpad_id(GString *text, const struct processes_file *file)
{
	static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	size_t i;

	for (i = 0; i < sizeof(order); i++)
		g_string_append_printf(text, "%02X",
			order[i] < file->build_id_length ? file->build_id[order[i]] : 0);
	g_string_append_c(text, '0');
}

static void put_lib(struct firefox_writer *w, const struct processes_file *file)
{
	g_autofree char *base = g_path_get_basename(file->path);
	g_autoptr(GString) id = g_string_new(NULL);
	uint8_t i;

	g_string_append_c(w->text, '{');
	json_append_member(w->text, "arch", "");
	json_append_member(w->text, "name", base);
	json_append_member(w->text, "path", file->path);
	json_append_member(w->text, "debugName", base);
	json_append_member(w->text, "debugPath", file->path);
	if (file->build_id_length)
		append_breakpad_id(id, file);
	json_append_member(w->text, "breakpadId", id->str);
	json_append_name(w->text, "codeId");
	g_string_truncate(id, 0);
	for (i = 0; i < file->build_id_length; i++)
		g_string_append_printf(id, "%02x", file->build_id[i]);
	if (id->len)
		json_append_string(w->text, id->str);
	else
		g_string_append(w->text, "null");
	g_string_append_c(w->text, '}');
	json_flush(w->text, w->out);
}

static void put_libs(struct firefox_writer *w)
{
	const struct processes *processes = w->input->profile->processes;
	uint32_t count = processes_file_count(processes), i, used = 0;
	g_autofree uint8_t *seen = g_malloc0(w->input->profile->stacks.nodes->len);

	memset(w->libs, 0xff, (count + 1) * sizeof(*w->libs));
	find_used(w, seen);
	fputs("\"libs\":[", w->out);
	for (i = 0; i < count; i++) {
		if (w->libs[i] == FIREFOX_NONE)
			continue;
		if (used)
			putc(',', w->out);
		w->libs[i] = used++;
		put_lib(w, processes_file(processes, i));
	}
	fputs("],", w->out);
}

/* ---- threads --------------------------------------------------------------------------------- */

static int put_stacks(struct firefox_writer *w, const struct timeline_track *track)
{
	const struct profile *profile = w->input->profile;
	uint32_t i;

	fputs("\"stack\":[", w->out);
	for (i = 0; i < track->count; i++) {
		uint32_t cell = timeline_moment(w->timeline, track, i)->cell;
		uint32_t stack =
			firefox_tables_stack(&w->tables, profile_cell(profile, cell)->node);

		if (i)
			putc(',', w->out);
		if (stack == FIREFOX_NONE)
			fputs("null", w->out);
		else
			fprintf(w->out, "%" PRIu32, stack);
		if (i % CANCEL_SAMPLES == 0 && view_cancelled(w->input))
			return -EINTR;
		if (w->tables.stacks->len > FIREFOX_STACKS_MAX)
			return -EFBIG;
	}
	fputs("]},", w->out);
	return 0;
}

/*
 * The CPU time of the thread since its previous sample: the period of a sample of a clock. The
 * profiler's graph of CPU use is made from it.
 */
static void put_cpu_times(struct firefox_writer *w, const struct timeline_track *track)
{
	uint32_t i;

	fputs("\"threadCPUDelta\":[", w->out);
	for (i = 0; i < track->count; i++)
		fprintf(w->out, "%s%" PRIu64, i ? "," : "",
			timeline_moment(w->timeline, track, i)->weight);
	fputs("],", w->out);
}

static int put_samples(struct firefox_writer *w, const struct timeline_track *track)
{
	const struct profile_event *event = profile_event(w->input->profile, track->event);
	bool clock = profile_is_clock(event);
	uint32_t i;

	fprintf(w->out, "\"samples\":{\"length\":%" PRIu32 ",\"weightType\":\"%s\",\"weight\":[",
		track->count, clock ? "tracing-ms" : "samples");
	for (i = 0; i < track->count; i++) {
		uint64_t weight = timeline_moment(w->timeline, track, i)->weight;

		if (i)
			putc(',', w->out);
		if (clock)
			put_ms(w, weight);
		else
			fprintf(w->out, "%" PRIu64, weight);
	}
	fputs("],\"time\":[", w->out);
	for (i = 0; i < track->count; i++) {
		if (i)
			putc(',', w->out);
		put_ms(w, timeline_moment(w->timeline, track, i)->time_ns - w->timeline->first_ns);
	}
	fputs("],", w->out);
	if (clock && !profile_is_time(event)) /* those are not of the CPU */
		put_cpu_times(w, track);
	return put_stacks(w, track);
}

static void append_pid(GString *text, const struct timeline_track *track)
{
	g_autoptr(GString) pid = g_string_new(NULL);

	if (track->pid == KPROF_PID_GONE)
		g_string_append(pid, "gone");
	else
		g_string_append_printf(pid, "%" PRIu32, track->pid);
	if (track->generation)
		g_string_append_printf(pid, ".%" PRIu32, track->generation);
	json_append_member(text, "pid", pid->str);
}

static int put_thread(struct firefox_writer *w, const struct timeline_track *track)
{
	const struct profile *profile = w->input->profile;
	g_autoptr(GString) name = g_string_new(track->thread), process = g_string_new(track->process);
	bool main = track->tid == track->pid;
	int ret;

	if (profile->events->len > 1)
		g_string_append_printf(name, " (%s)", profile_event(profile, track->event)->text);
	g_string_append_c(w->text, '{');
	json_append_member(w->text, "processType", "default");
	if (track->host)
		g_string_append_printf(process, " (%s)", track->host);
	json_append_member(w->text, "processName", process->str);
	json_append_member(w->text, "name", name->str);
	append_pid(w->text, track);
	g_string_append_printf(w->text, ",\"tid\":%" PRIu32 ",\"isMainThread\":%s,",
		main && track->pid == KPROF_PID_GONE ? 0 : track->tid, main ? "true" : "false");
	g_string_append(w->text, "\"processStartupTime\":0,\"processShutdownTime\":null,"
		"\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
		"\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
		"\"category\":[],\"length\":0},");
	json_flush(w->text, w->out);
	ret = put_samples(w, track);
	if (!ret)
		firefox_tables_write(&w->tables, w->out);
	firefox_tables_reset(&w->tables);
	putc('}', w->out);
	return ret;
}

static int write_profile(struct firefox_writer *w, struct err *err)
{
	uint32_t i;
	int ret = 0;

	putc('{', w->out);
	put_meta(w);
	put_libs(w);
	fputs("\"pages\":[],\"counters\":[],\"profilerOverhead\":[],\"threads\":[", w->out);
	for (i = 0; !ret && i < w->timeline->tracks->len; i++) {
		if (i)
			putc(',', w->out);
		ret = put_thread(w, timeline_track(w->timeline, i));
	}
	fputs("]}\n", w->out);
	if (ret == -EFBIG)
		return err_set(err, EFBIG,
			"one thread has more than %u different stacks, the limit: record for a shorter time",
			FIREFOX_STACKS_MAX);
	return ret ? err_set(err, -ret, "the view was cancelled") : 0;
}

int firefox_write(const struct view_input *input, FILE *out, struct err *err)
{
	struct firefox_writer w = { .input = input, .out = out };
	int ret = timeline_create(input, false, &w.timeline, err);

	if (ret)
		return ret;
	w.text = g_string_new(NULL);
	w.libs = g_new(uint32_t, processes_file_count(input->profile->processes) + 1);
	firefox_tables_init(&w.tables, input, w.libs);
	ret = write_profile(&w, err);
	firefox_tables_fini(&w.tables);
	g_free(w.libs);
	g_string_free(w.text, TRUE);
	timeline_destroy(w.timeline);
	return ret;
}

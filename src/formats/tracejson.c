/* SPDX-License-Identifier: MIT */
/* A capture in the Trace Event Format: see tracejson.h. */
#include "formats/tracejson.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "formats/summary.h"
#include "formats/json.h"
#include "formats/timeline.h"

/* cancelled() is asked each so many samples, which take well below a millisecond. */
#define CANCEL_SAMPLES 512

/*
 * Names that a pid had, at most; a process that is called differently all the time has the first
 * ones.
 */
#define NAMES_MAX 8

/* Of what is no sample. */
#define MARKS_CATEGORY "kptrace"

struct writer {
	const struct view_input *input;
	struct timeline *timeline;
	bool any;     /* traceEvents has a member */
	GHashTable *named; /* of pids: processes that have a name there */
	uint8_t *seen; /* by node: a stack of ours goes through it */
	GString *text; /* scratch */
	FILE *out;
};

static void put_text(struct writer *w)
{
	fwrite(w->text->str, 1, w->text->len, w->out);
	g_string_truncate(w->text, 0);
}

/*
 * ---- what is known of a place -----------------------------------------------------------------
 */

static uint32_t frame_count(const struct writer *w, uint32_t place)
{
	return MAX(w->input->names->places[place].count, 1);
}

/* The i-th frame of a place, innermost first: inlined functions come before the one around. */
static const char *frame_name(const struct writer *w, uint32_t place, uint32_t i)
{
	const struct functions *names = w->input->names;

	return names->places[place].count ? names->places[place].frames[i].function
					  : functions_function(names, names->of_place[place])->name;
}

static const char *place_file(const struct writer *w, uint32_t place)
{
	return functions_function(w->input->names, w->input->names->of_place[place])->file;
}

/*
 * ---- head -------------------------------------------------------------------------------------
 */

static void append_missing(GString *text, const struct view_marks *marks)
{
	g_autofree char *missing = NULL;

	if (!marks)
		return;
	missing = g_strdup_printf("%" PRIu64 " older events left out, %" PRIu64 " lost",
		marks->left_out, marks->lost);
	json_append_member(text, "trace", missing);
}

static void put_head(struct writer *w)
{
	const struct profile *profile = w->input->profile;
	g_autoptr(GString) line = g_string_new(NULL);
	uint32_t i;

	g_string_append(w->text, "{\"displayTimeUnit\":\"ns\",\"otherData\":{");
	summary_append_summary(line, profile);
	json_append_member(w->text, "capture", line->str);
	for (i = 0; i < profile->events->len; i++) {
		g_autofree char *name = g_strdup_printf("event %" PRIu32, i + 1);

		g_string_truncate(line, 0);
		summary_append_event(line, profile_event(profile, i), false);
		json_append_member(w->text, name, line->str);
	}
	append_missing(w->text, w->input->marks);
	g_string_append(w->text, "},\n\"traceEvents\":[");
	put_text(w);
}

/*
 * ---- events -----------------------------------------------------------------------------------
 */

static void begin_event(struct writer *w, uint32_t pid, uint32_t tid, const char *phase)
{
	g_string_append(w->text, w->any ? ",\n{" : "\n{");
	w->any = true;
	json_append_member(w->text, "ph", phase);
	g_string_append_printf(w->text, ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, pid, tid);
}

static void put_name(struct writer *w, uint32_t pid, uint32_t tid, const char *what, const char *name)
{
	begin_event(w, pid, tid, "M");
	json_append_member(w->text, "name", what);
	g_string_append(w->text, ",\"args\":{");
	json_append_member(w->text, "name", name);
	g_string_append(w->text, "}}");
	put_text(w);
}

static bool has_name(const char *const *names, uint32_t count, const char *name)
{
	while (count)
		if (strcmp(names[--count], name) == 0)
			return true;
	return false;
}

/* A pid that was used again is one process there: it is called by all of their names. */
static void put_process(struct writer *w, uint32_t first)
{
	const struct timeline_track *track = timeline_track(w->timeline, first);
	g_autoptr(GString) all = g_string_new(NULL);
	const char *names[NAMES_MAX];
	uint32_t count = 0, i;

	for (i = first; i < w->timeline->tracks->len && count < NAMES_MAX; i++) {
		const struct timeline_track *other = timeline_track(w->timeline, i);

		if (other->pid != track->pid)
			break;
		if (has_name(names, count, other->process))
			continue;
		g_string_append_printf(all, "%s%s", count ? ", " : "", other->process);
		names[count++] = other->process;
	}
	put_name(w, track->pid, track->tid, "process_name", all->str);
	g_hash_table_add(w->named, GUINT_TO_POINTER(track->pid));
}

static void put_names(struct writer *w)
{
	uint32_t i;

	for (i = 0; i < w->timeline->tracks->len; i++) {
		const struct timeline_track *track = timeline_track(w->timeline, i);

		if (i == 0 || track[-1].pid != track->pid)
			put_process(w, i);
		if (i == 0 || track[-1].life != track->life || track[-1].tid != track->tid)
			put_name(w, track->pid, track->tid, "thread_name", track->thread);
	}
}

static void mark_stack(struct writer *w, uint32_t node)
{
	while (node != STACKS_ROOT && !w->seen[node]) {
		w->seen[node] = 1;
		node = stacks_node(&w->input->profile->stacks, node)->caller;
	}
}

static void append_time(GString *text, uint64_t time_ns)
{
	g_string_append_printf(text, ",\"ts\":%" PRIu64 ".%03" PRIu64,
		(uint64_t)(time_ns / NSEC_PER_USEC), (uint64_t)(time_ns % NSEC_PER_USEC));
}

static void put_sample(struct writer *w, const struct timeline_track *track,
	const struct profile_moment *moment)
{
	const struct profile *profile = w->input->profile;
	const struct profile_cell *cell = profile_cell(profile, moment->cell);
	uint32_t place = cell->node == STACKS_ROOT ? 0
		: stacks_node(&profile->stacks, cell->node)->place;

	begin_event(w, track->pid, track->tid, "i");
	json_append_member(w->text, "s", "t");
	json_append_member(w->text, "cat", profile_event(profile, cell->event)->text);
	json_append_member(w->text, "name",
		cell->node == STACKS_ROOT ? "[no stack]" : frame_name(w, place, 0));
	append_time(w->text, moment->time_ns);
	if (cell->node != STACKS_ROOT) {
		g_string_append_printf(w->text, ",\"sf\":\"%" PRIu32 "\"", cell->node);
		mark_stack(w, cell->node);
	}
	g_string_append_printf(w->text, ",\"args\":{\"cpu\":%u,\"weight\":%" PRIu64, cell->cpu,
		moment->weight);
	if (cell->node != STACKS_ROOT)
		json_append_member(w->text, "file", place_file(w, place));
	g_string_append(w->text, "}}");
	put_text(w);
}

static int put_samples(struct writer *w)
{
	uint32_t i, n;

	for (i = 0; i < w->timeline->tracks->len; i++) {
		const struct timeline_track *track = timeline_track(w->timeline, i);

		for (n = 0; n < track->count; n++) {
			if (n % CANCEL_SAMPLES == 0 && view_cancelled(w->input))
				return -EINTR;
			put_sample(w, track, timeline_moment(w->timeline, track, n));
		}
	}
	return 0;
}

/*
 * ---- marks ------------------------------------------------------------------------------------
 */

/* A process that has no samples is called as it calls itself. */
static void name_process(struct writer *w, uint32_t pid, uint32_t tid, const char *name)
{
	if (g_hash_table_add(w->named, GUINT_TO_POINTER(pid)))
		put_name(w, pid, tid, "process_name", name);
}

/* Of a program: an instant of its thread. Of no program: one of all, called by its text. */
static void put_mark(struct writer *w, const struct view_mark *mark)
{
	uint32_t pid = mark->program ? mark->pid : 0, tid = mark->program ? mark->tid : 0;

	name_process(w, pid, tid, mark->program ? mark->program : MARKS_CATEGORY);
	begin_event(w, pid, tid, "i");
	json_append_member(w->text, "s", mark->program ? "t" : "g");
	json_append_member(w->text, "cat", MARKS_CATEGORY);
	json_append_member(w->text, "name", mark->name[0] ? mark->name : mark->text);
	append_time(w->text, mark->time_ns);
	g_string_append(w->text, ",\"args\":{");
	if (mark->cpu != VIEW_CPU_UNKNOWN)
		g_string_append_printf(w->text, "\"cpu\":%" PRIu32, mark->cpu);
	if (mark->name[0])
		json_append_member(w->text, "text", mark->text);
	g_string_append(w->text, "}}");
	put_text(w);
}

static int put_marks(struct writer *w)
{
	const struct view_marks *marks = w->input->marks;
	struct view_mark mark;
	uint32_t n;

	for (n = 0; marks && marks->next(marks->arg, &mark); n++) {
		if (n % CANCEL_SAMPLES == 0 && view_cancelled(w->input))
			return -EINTR;
		put_mark(w, &mark);
	}
	return 0;
}

/*
 * ---- stacks -----------------------------------------------------------------------------------
 */

/*
 * The innermost frame of a node is called by its number, those around it by `NUMBER.1` and so on.
 */
static void append_id(GString *text, uint32_t node, uint32_t frame)
{
	g_string_append_printf(text, "\"%" PRIu32, node);
	if (frame)
		g_string_append_printf(text, ".%" PRIu32, frame);
	g_string_append_c(text, '"');
}

static void put_frames(struct writer *w, uint32_t node, bool *any)
{
	const struct stacks_node *n = stacks_node(&w->input->profile->stacks, node);
	uint32_t count = frame_count(w, n->place), i;

	for (i = 0; i < count; i++) {
		g_string_append(w->text, *any ? ",\n" : "\n");
		*any = true;
		append_id(w->text, node, i);
		g_string_append(w->text, ":{");
		json_append_member(w->text, "name", frame_name(w, n->place, i));
		json_append_member(w->text, "category", place_file(w, n->place));
		if (i + 1 < count || n->caller != STACKS_ROOT) {
			g_string_append(w->text, ",\"parent\":");
			append_id(w->text, i + 1 < count ? node : n->caller, i + 1 < count ? i + 1 : 0);
		}
		g_string_append_c(w->text, '}');
	}
	put_text(w);
}

static int put_stacks(struct writer *w)
{
	uint32_t count = w->input->profile->stacks.nodes->len, node;
	bool any = false;

	fputs("],\n\"stackFrames\":{", w->out);
	for (node = STACKS_ROOT + 1; node < count; node++) {
		if (node % CANCEL_SAMPLES == 0 && view_cancelled(w->input))
			return -EINTR;
		if (w->seen[node])
			put_frames(w, node, &any);
	}
	fputs("}}\n", w->out);
	return 0;
}

int tracejson_write(const struct view_input *input, FILE *out, struct err *err)
{
	struct writer w = { .input = input, .out = out };
	int ret = timeline_create(input, &w.timeline, err);

	if (ret)
		return ret;
	w.text = g_string_new(NULL);
	w.named = g_hash_table_new(g_direct_hash, g_direct_equal);
	w.seen = g_malloc0(input->profile->stacks.nodes->len);
	put_head(&w);
	put_names(&w);
	ret = put_samples(&w);
	if (!ret)
		ret = put_marks(&w);
	if (!ret)
		ret = put_stacks(&w);
	g_free(w.seen);
	g_hash_table_unref(w.named);
	g_string_free(w.text, TRUE);
	timeline_destroy(w.timeline);
	return ret ? err_set(err, -ret, "nobody waits for the view any more") : 0;
}

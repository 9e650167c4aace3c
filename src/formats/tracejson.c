/* SPDX-License-Identifier: MIT */
/* A capture in the Trace Event Format: see tracejson.h. */
#include "formats/tracejson.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "formats/json.h"
#include "formats/openspans.h"
#include "formats/summary.h"
#include "formats/timeline.h"

/* Cancellation is checked once for this many samples, which take well below a millisecond. */
#define CANCEL_SAMPLES 512

/*
 * Names that are shown of a pid, at most: the first ones, if a process changes its name often.
 */
#define NAMES_MAX 8

/* The kernel's PID_MAX_LIMIT: no pid is greater. */
#define PID_LIMIT (1u << 22)
/* Numbers of 32 bits, without those of CPUS_PID and KPROF_PID_KERNEL. */
#define BOOTS_MAX 1023u

/* The category of events that are no samples. */
#define ANNOTATIONS_CATEGORY "kptrace"

/* The CPUs are shown as threads of a process, whose number no process has, with what ran on them. */
#define CPUS_PID 4294967293u
#define CPUS_CATEGORY "cpu"
#define CPUS_EVENT "sched:sched_switch"

struct tracejson_writer {
	const struct view_input *input;
	struct timeline *timeline;
	bool any;     /* traceEvents has a member */
	GHashTable *named; /* of pids whose process name was written */
	GHashTable *cpu_named; /* of CPUs whose name was written */
	GHashTable *cpus;  /* cpu -> struct tracejson_cpu, of those with a switch of tasks */
	struct openspans *open;
	uint8_t *seen; /* by node: it is in a stack that was written */
	GString *text; /* scratch */
	FILE *out;
};

/* The thread that runs on a CPU since the last switch there. */
struct tracejson_cpu {
	uint64_t since_ns;
	uint64_t tid;
	char *name;
};

/* ---- places ---------------------------------------------------------------------------------- */

static uint32_t frame_count(const struct tracejson_writer *w, uint32_t place)
{
	return MAX(w->input->functions->places[place].count, 1);
}

/* The i-th frame of a place, innermost first: inlined functions come before their callers. */
static const char *frame_name(const struct tracejson_writer *w, uint32_t place, uint32_t i)
{
	const struct functions *functions = w->input->functions;

	return functions->places[place].count
		       ? functions->places[place].frames[i].function
		       : functions_function(functions, functions->of_place[place])->name;
}

static const char *place_file(const struct tracejson_writer *w, uint32_t place)
{
	return functions_function(w->input->functions, w->input->functions->of_place[place])->file;
}

/* ---- head ------------------------------------------------------------------------------------ */

static void append_missing(GString *text, const struct view_annotations *annotations)
{
	g_autofree char *missing = NULL;

	if (!annotations)
		return;
	missing = g_strdup_printf("%" PRIu64 " older events left out, %" PRIu64 " lost",
		annotations->left_out, annotations->lost);
	json_append_member(text, "trace", missing);
}

static void put_head(struct tracejson_writer *w)
{
	const struct profile *profile = w->input->profile;
	g_autoptr(GString) line = g_string_new(NULL);
	uint32_t i;

	g_string_append(w->text, "{\"displayTimeUnit\":\"ns\",\"otherData\":{");
	summary_append_capture(line, profile);
	json_append_member(w->text, "capture", line->str);
	for (i = 0; i < profile->events->len; i++) {
		g_autofree char *name = g_strdup_printf("event %" PRIu32, i + 1);

		g_string_truncate(line, 0);
		summary_append_event(line, profile_event(profile, i), false);
		json_append_member(w->text, name, line->str);
	}
	append_missing(w->text, w->input->annotations);
	g_string_append(w->text, "},\n\"traceEvents\":[");
	json_flush(w->text, w->out);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void begin_event(struct tracejson_writer *w, uint32_t pid, uint32_t tid, const char *phase)
{
	g_string_append(w->text, w->any ? ",\n{" : "\n{");
	w->any = true;
	json_append_member(w->text, "ph", phase);
	g_string_append_printf(w->text, ",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, pid, tid);
}

static void put_name(
	struct tracejson_writer *w, uint32_t pid, uint32_t tid, const char *what, const char *name)
{
	begin_event(w, pid, tid, "M");
	json_append_member(w->text, "name", what);
	g_string_append(w->text, ",\"args\":{");
	json_append_member(w->text, "name", name);
	g_string_append(w->text, "}}");
	json_flush(w->text, w->out);
}

static bool has_name(const char *const *functions, uint32_t count, const char *name)
{
	while (count)
		if (strcmp(functions[--count], name) == 0)
			return true;
	return false;
}

/*
 * Viewers tell processes apart by their numbers. Of the first boot these are the pids; those of each further
 * boot or machine are PID_LIMIT higher, up to BOOTS_MAX of them.
 */
static uint32_t shown_pid(const struct timeline_track *track)
{
	/* KPROF_PID_KERNEL and KPROF_PID_GONE are no pids */
	return track->pid < PID_LIMIT ? track->pid + track->boot % BOOTS_MAX * PID_LIMIT : track->pid;
}

/* The format has one process for each pid. If a pid was used again, it gets the names of all. */
static void put_process(struct tracejson_writer *w, uint32_t first)
{
	const struct timeline_track *track = timeline_track(w->timeline, first);
	g_autoptr(GString) all = g_string_new(NULL);
	const char *functions[NAMES_MAX];
	uint32_t count = 0, i;

	for (i = first; i < w->timeline->tracks->len && count < NAMES_MAX; i++) {
		const struct timeline_track *other = timeline_track(w->timeline, i);

		if (other->pid != track->pid || other->boot != track->boot)
			break;
		if (has_name(functions, count, other->process))
			continue;
		g_string_append_printf(all, "%s%s", count ? ", " : "", other->process);
		functions[count++] = other->process;
	}
	if (track->host)
		g_string_append_printf(all, " (%s)", track->host);
	put_name(w, shown_pid(track), track->tid, "process_name", all->str);
	g_hash_table_add(w->named, GUINT_TO_POINTER(shown_pid(track)));
}

static void put_names(struct tracejson_writer *w)
{
	uint32_t i;

	for (i = 0; i < w->timeline->tracks->len; i++) {
		const struct timeline_track *track = timeline_track(w->timeline, i);

		if (i == 0 || track[-1].pid != track->pid || track[-1].boot != track->boot)
			put_process(w, i);
		if (i == 0 || track[-1].life != track->life || track[-1].tid != track->tid)
			put_name(w, shown_pid(track), track->tid, "thread_name", track->thread);
	}
}

static void mark_stack(struct tracejson_writer *w, uint32_t node)
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

/* Arguments of the sample of a time away: who ended it. */
static void append_waker(struct tracejson_writer *w, const struct profile_waker *waker)
{
	const bool idle = waker->pid == KPROF_PID_KERNEL;

	json_append_member(w->text, "waker", waker->name);
	g_string_append_printf(w->text, ",\"waker_pid\":%" PRIu32 ",\"waker_tid\":%" PRIu32,
		idle ? 0 : waker->pid, idle ? 0 : waker->tid);
}

static void put_sample(struct tracejson_writer *w, const struct timeline_track *track,
	const struct profile_moment *moment)
{
	const struct profile *profile = w->input->profile;
	const struct profile_cell *cell = profile_cell(profile, moment->cell);
	uint32_t place = cell->node == STACKS_ROOT ? 0
		: stacks_node(&profile->stacks, cell->node)->place;

	begin_event(w, shown_pid(track), track->tid, "i");
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
	if (moment->waker)
		append_waker(w, profile_waker(profile, moment->waker));
	g_string_append(w->text, "}}");
	json_flush(w->text, w->out);
}

static int put_samples(struct tracejson_writer *w)
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

/* ---- annotations ----------------------------------------------------------------------------- */

/* A process without samples gets the name that its trace has; the idle task has none. */
static void name_process(struct tracejson_writer *w, uint32_t pid, uint32_t tid, const char *name)
{
	if (g_hash_table_add(w->named, GUINT_TO_POINTER(pid)))
		put_name(w, pid, tid, "process_name", name && *name ? name : ANNOTATIONS_CATEGORY);
}

static void append_callers(GString *text, const struct view_annotation *annotation)
{
	uint32_t i;

	if (!annotation->stack_count)
		return;
	json_append_name(text, "stack");
	g_string_append_c(text, '[');
	for (i = 0; i < annotation->stack_count; i++) {
		if (i)
			g_string_append_c(text, ',');
		json_append_string(text, annotation->stack[i]);
	}
	g_string_append_c(text, ']');
}

static void append_span(GString *text, uint64_t begin_ns, uint64_t end_ns)
{
	const uint64_t ns = end_ns - begin_ns;

	append_time(text, begin_ns);
	g_string_append_printf(text, ",\"dur\":%" PRIu64 ".%03" PRIu64, (uint64_t)(ns / NSEC_PER_USEC),
		(uint64_t)(ns % NSEC_PER_USEC));
}

/*
 * An annotation of this phase, up to its arguments. A span that is complete is drawn from its begin to its
 * end.
 */
static void begin_annotation(
	struct tracejson_writer *w, const struct view_annotation *annotation, const char *phase)
{
	uint32_t pid = annotation->program ? annotation->pid : 0,
		 tid = annotation->program ? annotation->tid : 0;

	name_process(w, pid, tid, annotation->program);
	begin_event(w, pid, tid, phase);
	if (*phase == 'i')
		json_append_member(w->text, "s", annotation->program ? "t" : "g");
	json_append_member(w->text, "cat", ANNOTATIONS_CATEGORY);
	json_append_member(
		w->text, "name", annotation->name[0] ? annotation->name : annotation->text);
	if (*phase == 'X')
		append_span(w->text,
			annotation->time_ns - MIN(annotation->duration_ns, annotation->time_ns),
			annotation->time_ns);
	else
		append_time(w->text, annotation->time_ns);
	g_string_append(w->text, ",\"args\":{");
}

static void put_with_text(struct tracejson_writer *w, const struct view_annotation *annotation,
	const char *phase, const char *text)
{
	begin_annotation(w, annotation, phase);
	if (annotation->cpu != VIEW_CPU_UNKNOWN)
		g_string_append_printf(w->text, "\"cpu\":%" PRIu32, annotation->cpu);
	if (annotation->name[0])
		json_append_member(w->text, "text", text);
	append_callers(w->text, annotation);
	g_string_append(w->text, "}}");
	json_flush(w->text, w->out);
}

/* A span without an end: viewers draw it up to the end of the trace. */
static void put_open(void *arg, const struct view_annotation *begin)
{
	put_with_text(arg, begin, "B", begin->text);
}

/* JSON has no infinity: such a value is an instant event. Returns false then. */
static bool put_counter(struct tracejson_writer *w, const struct view_annotation *annotation)
{
	char *end, number[G_ASCII_DTOSTR_BUF_SIZE];
	double value = g_ascii_strtod(annotation->text, &end);

	if (end == annotation->text || *end || !isfinite(value))
		return false;
	begin_annotation(w, annotation, "C");
	g_string_append_printf(w->text, "\"value\":%s}}", g_ascii_dtostr(number, sizeof(number), value));
	json_flush(w->text, w->out);
	return true;
}

/*
 * Of a program: an instant event of its thread, a complete one if it lasted for a time, or the value of a
 * counter. A span of a program has the text of its begin. Else: a global event, named by its text.
 */
static void put_annotation(struct tracejson_writer *w, const struct view_annotation *annotation)
{
	g_autofree char *begin = NULL;

	switch (annotation->kind) {
	case VIEW_ANNOTATION_BEGIN:
		openspans_begin(w->open, annotation);
		return;
	case VIEW_ANNOTATION_SPAN:
		begin = openspans_end(w->open, annotation);
		put_with_text(w, annotation, "X", begin ? begin : annotation->text);
		return;
	case VIEW_ANNOTATION_COUNTER:
		if (put_counter(w, annotation))
			return;
		break;
	case VIEW_ANNOTATION_EVENT:
		break;
	}
	put_with_text(w, annotation, "i", annotation->text);
}

/* ---- what ran on a CPU ----------------------------------------------------------------------- */

static void free_cpu(void *data)
{
	struct tracejson_cpu *cpu = data;

	g_free(cpu->name);
	g_free(cpu);
}

/*
 * "prev_comm=NAME prev_pid=N ... next_comm=NAME next_pid=N ...": a name may have any bytes, so each part is
 * looked for from the end. *name is to be freed.
 */
static bool parse_switch(const char *text, uint64_t *from, uint64_t *to, char **name)
{
	static const char prev_pid[] = " prev_pid=", next_comm[] = " next_comm=", next_pid[] = " next_pid=";
	const char *next = g_strrstr(text, next_pid), *comm = next ? g_strrstr_len(text, next - text,
		next_comm) : NULL, *prev = comm ? g_strrstr_len(text, comm - text, prev_pid) : NULL;

	if (!prev)
		return false;
	*from = strtoull(prev + strlen(prev_pid), NULL, 10);
	*to = strtoull(next + strlen(next_pid), NULL, 10);
	comm += strlen(next_comm);
	*name = g_strndup(comm, (gsize)(next - comm));
	return true;
}

/* A span from the switch to the thread until the one from it. Time of the idle task is left free. */
static void put_slice(struct tracejson_writer *w, uint32_t number, const struct tracejson_cpu *cpu,
	uint64_t end_ns)
{
	name_process(w, CPUS_PID, number, "CPUs");
	if (g_hash_table_add(w->cpu_named, GUINT_TO_POINTER(number))) {
		g_autofree char *name = g_strdup_printf("CPU %" PRIu32, number);

		put_name(w, CPUS_PID, number, "thread_name", name);
	}
	begin_event(w, CPUS_PID, number, "X");
	json_append_member(w->text, "cat", CPUS_CATEGORY);
	json_append_member(w->text, "name", cpu->name);
	append_span(w->text, cpu->since_ns, end_ns);
	g_string_append_printf(w->text, ",\"args\":{\"tid\":%" PRIu64 "}}", cpu->tid);
	json_flush(w->text, w->out);
}

/*
 * The thread that ends must be the one that began, or a switch is missing between both: then it is not known
 * which one ran.
 */
static void see_switch(struct tracejson_writer *w, const struct view_annotation *annotation)
{
	struct tracejson_cpu *cpu = g_hash_table_lookup(w->cpus, GUINT_TO_POINTER(annotation->cpu));
	uint64_t from, to;
	char *name;

	if (!annotation->program || annotation->cpu == VIEW_CPU_UNKNOWN ||
		strcmp(annotation->name, CPUS_EVENT) != 0 ||
		!parse_switch(annotation->text, &from, &to, &name))
		return;
	if (cpu && cpu->tid == from && from && cpu->since_ns <= annotation->time_ns)
		put_slice(w, annotation->cpu, cpu, annotation->time_ns);
	cpu = g_new0(struct tracejson_cpu, 1);
	*cpu = (struct tracejson_cpu){ annotation->time_ns, to, name };
	g_hash_table_replace(w->cpus, GUINT_TO_POINTER(annotation->cpu), cpu);
}

/* ---- all annotations ------------------------------------------------------------------------- */

static int put_annotations(struct tracejson_writer *w)
{
	const struct view_annotations *annotations = w->input->annotations;
	struct view_annotation annotation;
	uint32_t n;

	for (n = 0; annotations && annotations->next(annotations->arg, &annotation); n++) {
		if (n % CANCEL_SAMPLES == 0 && view_cancelled(w->input))
			return -EINTR;
		put_annotation(w, &annotation);
		see_switch(w, &annotation);
	}
	openspans_each(w->open, put_open, w);
	return 0;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/*
 * The id of a node's innermost frame is its number; those of its callers are `NUMBER.1` and so on.
 */
static void append_id(GString *text, uint32_t node, uint32_t frame)
{
	g_string_append_printf(text, "\"%" PRIu32, node);
	if (frame)
		g_string_append_printf(text, ".%" PRIu32, frame);
	g_string_append_c(text, '"');
}

static void put_frames(struct tracejson_writer *w, uint32_t node, bool *any)
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
			append_id(w->text, i + 1 < count ? node : n->caller,
				i + 1 < count ? i + 1 : 0);
		}
		g_string_append_c(w->text, '}');
	}
	json_flush(w->text, w->out);
}

static int put_stacks(struct tracejson_writer *w)
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
	struct tracejson_writer w = { .input = input, .out = out };
	int ret = timeline_create(input, false, &w.timeline, err);

	if (ret)
		return ret;
	w.text = g_string_new(NULL);
	w.named = g_hash_table_new(g_direct_hash, g_direct_equal);
	w.cpu_named = g_hash_table_new(g_direct_hash, g_direct_equal);
	w.cpus = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_cpu);
	w.open = openspans_create();
	w.seen = g_malloc0(input->profile->stacks.nodes->len);
	put_head(&w);
	put_names(&w);
	ret = put_samples(&w);
	if (!ret)
		ret = put_annotations(&w);
	if (!ret)
		ret = put_stacks(&w);
	g_free(w.seen);
	openspans_destroy(w.open);
	g_hash_table_unref(w.named);
	g_hash_table_unref(w.cpu_named);
	g_hash_table_unref(w.cpus);
	g_string_free(w.text, TRUE);
	timeline_destroy(w.timeline);
	return ret ? err_set(err, -ret, "the view was cancelled") : 0;
}

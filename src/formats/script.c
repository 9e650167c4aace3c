/* SPDX-License-Identifier: MIT */
/* The samples as text: see script.h. The widths are those of perf script. */
#include "formats/script.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

const char *const script_fields[SCRIPT_FIELDS] = {
	[SCRIPT_COMM] = "comm",
	[SCRIPT_TID] = "tid",
	[SCRIPT_PID] = "pid",
	[SCRIPT_TIME] = "time",
	[SCRIPT_CPU] = "cpu",
	[SCRIPT_EVENT] = "event",
	[SCRIPT_IP] = "ip",
	[SCRIPT_SYM] = "sym",
	[SCRIPT_DSO] = "dso",
	[SCRIPT_SYMOFF] = "symoff",
	[SCRIPT_PERIOD] = "period",
	[SCRIPT_WAKER] = "waker",
};

#define BIT(field) (1u << SCRIPT_##field)
#define DEFAULT_FIELDS                                                                             \
	(BIT(COMM) | BIT(TID) | BIT(TIME) | BIT(CPU) | BIT(EVENT) | BIT(IP) | BIT(SYM) |           \
		BIT(DSO) | BIT(SYMOFF) | BIT(PERIOD))

struct script_printer {
	const struct profile *profile;
	const struct functions *functions;
	const struct script_options *options;
	GString *line;
};

static bool has(const struct script_printer *p, unsigned int fields)
{
	return p->options->fields & fields;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static int find_field(const char *name)
{
	int i = 0;

	while (i < SCRIPT_FIELDS && strcmp(script_fields[i], name))
		i++;
	return i;
}

static bool changes(const char *word)
{
	return *word == '+' || *word == '-';
}

int script_set_fields(struct script_options *options, const char *list, struct err *err)
{
	g_auto(GStrv) words = list ? g_strsplit(list, ",", -1) : NULL;
	int i;

	options->fields = DEFAULT_FIELDS;
	if (words && words[0] && !changes(words[0]))
		options->fields = 0;
	for (i = 0; words && words[i]; i++) {
		const int field = find_field(words[i] + changes(words[i]));

		if (field == SCRIPT_FIELDS)
			return err_set(err, EINVAL, "no field %s", words[i]);
		if (changes(words[i]) != changes(words[0]))
			return err_set(err, EINVAL, "fields with and without + and -: %s", list);
		if (*words[i] == '-')
			options->fields &= ~(1u << field);
		else
			options->fields |= 1u << field;
	}
	return 0;
}

/* ---- one sample ------------------------------------------------------------------------------ */

static void append_comm(struct script_printer *p, const struct profile_cell *cell)
{
	const uint32_t pid = processes_pid(p->profile->processes, cell->life);
	const char *thread = processes_thread_name(p->profile->processes, cell->life, cell->tid);
	const bool chain = has(p, BIT(IP)) && !p->options->no_chain;
	const gsize begin = p->line->len;

	if (cell->flags & PROFILE_IDLE)
		g_string_append(p->line, "swapper");
	else if (pid == KPROF_PID_GONE)
		g_string_append(p->line, ":-1");
	else
		text_append(p->line, thread ? thread : cell->name);
	while (!chain && p->line->len - begin < 16)
		g_string_insert_c(p->line, (gssize)begin, ' ');
	g_string_append_c(p->line, ' ');
}

/* Of the idle task 0, of exited tasks -1. */
static int64_t shown_number(const struct profile_cell *cell, uint32_t pid, uint32_t number)
{
	if (cell->flags & PROFILE_IDLE)
		return 0;
	return pid == KPROF_PID_GONE ? -1 : (int64_t)number;
}

static void append_task(struct script_printer *p, const struct profile_cell *cell)
{
	const uint32_t number = processes_pid(p->profile->processes, cell->life);
	const int64_t pid = shown_number(cell, number, number),
		      tid = shown_number(cell, number, cell->tid);

	if (has(p, BIT(PID)) && has(p, BIT(TID)))
		g_string_append_printf(p->line, "%5" PRId64 "/%-5" PRId64 " ", pid, tid);
	else if (has(p, BIT(PID) | BIT(TID)))
		g_string_append_printf(p->line, "%5" PRId64 " ", has(p, BIT(PID)) ? pid : tid);
}

/* Who ended a time away: its name, process and thread. */
static void append_waker(struct script_printer *p, const struct profile_moment *moment)
{
	const struct profile_waker *waker = profile_waker(p->profile, moment->waker);

	if (!moment->waker)
		return;
	g_string_append(p->line, "waker ");
	text_append(p->line, *waker->name ? waker->name : "[unknown]");
	if (waker->pid == KPROF_PID_KERNEL)
		g_string_append(p->line, " 0/0: ");
	else
		g_string_append_printf(p->line, " %" PRIu32 "/%" PRIu32 ": ", waker->pid, waker->tid);
}

static void append_head(struct script_printer *p, const struct profile_moment *moment)
{
	const struct profile_cell *cell = profile_cell(p->profile, moment->cell);
	const uint64_t seconds = moment->time_ns / NSEC_PER_SEC,
		       rest = moment->time_ns % NSEC_PER_SEC, us = rest / NSEC_PER_USEC;

	if (has(p, BIT(COMM)))
		append_comm(p, cell);
	append_task(p, cell);
	if (has(p, BIT(CPU)))
		g_string_append_printf(p->line, "[%03u] ", cell->cpu);
	if (has(p, BIT(TIME)) && p->options->ns)
		g_string_append_printf(p->line, "%5" PRIu64 ".%09" PRIu64 ": ", seconds, rest);
	else if (has(p, BIT(TIME)))
		g_string_append_printf(
			p->line, "%5" PRIu64 ".%06" PRIu64 ": ", seconds, us);
	if (has(p, BIT(PERIOD)))
		g_string_append_printf(p->line, "%10" PRIu64 " ", moment->weight);
	if (has(p, BIT(EVENT))) {
		text_append(p->line, profile_event(p->profile, cell->event)->text);
		g_string_append(p->line, ": ");
	}
	if (has(p, BIT(WAKER)))
		append_waker(p, moment);
}

/*
 * caller: a return address. Its place is one byte before it, see profile.c. An address in a file is
 * shown as its offset there, as perf does.
 */
static void append_frame(struct script_printer *p, uint32_t number, bool caller)
{
	const struct profile_place *place = profile_place(p->profile, number);
	const struct symbols_place *found = &p->functions->places[number];
	const struct functions_function *function =
		functions_function(p->functions, p->functions->of_place[number]);
	const uint64_t address = place->offset + (caller ? 1 : 0);

	g_string_append_printf(p->line, "%16" PRIx64, address);
	if (has(p, BIT(SYM))) {
		g_string_append_c(p->line, ' ');
		text_append(p->line, function->resolved ? function->name : "[unknown]");
		if (has(p, BIT(SYMOFF)) && function->resolved && found->start &&
			found->start <= address)
			g_string_append_printf(p->line, "+0x%" PRIx64, address - found->start);
	}
	if (has(p, BIT(DSO))) {
		g_string_append(p->line, " (");
		text_append(p->line, strcmp(function->file, "-") ? function->file : "[unknown]");
		g_string_append_c(p->line, ')');
	}
}

/* Whether the frame is a return address: the first of the kernel and the first of the program are not. */
static bool is_caller(const struct profile *profile, uint32_t node, const struct profile_place *inner)
{
	return inner &&
	       inner->kernel == profile_place(profile, stacks_node(&profile->stacks, node)->place)->kernel;
}

static void append_chain(struct script_printer *p, uint32_t node)
{
	const struct profile_place *inner = NULL;

	for (; node != STACKS_ROOT; node = stacks_node(&p->profile->stacks, node)->caller) {
		const uint32_t place = stacks_node(&p->profile->stacks, node)->place;

		g_string_append(p->line, "\n\t");
		append_frame(p, place, is_caller(p->profile, node, inner));
		inner = profile_place(p->profile, place);
	}
	g_string_append_c(p->line, '\n');
}

static void append_sample(struct script_printer *p, const struct profile_moment *moment)
{
	const uint32_t node = profile_cell(p->profile, moment->cell)->node;

	append_head(p, moment);
	if (has(p, BIT(IP)) && node != STACKS_ROOT) {
		if (p->options->no_chain) {
			g_string_append_c(p->line, ' ');
			append_frame(p, stacks_node(&p->profile->stacks, node)->place, false);
		} else {
			append_chain(p, node);
		}
	}
	g_string_append_c(p->line, '\n');
}

/* ---- all of them ----------------------------------------------------------------------------- */

static gint compare_moments(gconstpointer a, gconstpointer b, gpointer arg)
{
	const struct profile *profile = arg;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t s = profile_moment(profile, x)->time_ns, t = profile_moment(profile, y)->time_ns;

	if (s != t)
		return s < t ? -1 : 1;
	return x < y ? -1 : x > y;
}

void script_write(const struct profile *profile, const struct functions *functions,
	const struct script_options *options, FILE *out)
{
	struct script_printer p = {profile, functions, options, g_string_new(NULL)};
	GArray *order = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	uint32_t i;

	for (i = 0; i < profile->moments->len; i++)
		g_array_append_val(order, i);
	g_array_sort_with_data(order, compare_moments, (gpointer)profile);
	for (i = 0; i < order->len; i++) {
		append_sample(&p, profile_moment(profile, g_array_index(order, uint32_t, i)));
		fwrite(p.line->str, 1, p.line->len, out);
		g_string_truncate(p.line, 0);
	}
	g_array_free(order, TRUE);
	g_string_free(p.line, TRUE);
}

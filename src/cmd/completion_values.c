/* SPDX-License-Identifier: MIT */
/* The values that a shell completes: see completion_values.h. */
#include "cmd/completion_values.h"

#include <glib.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"
#include "cmd/completion_ctl.h"
#include "cmd/mount_choice.h"
#include "cmd/report_input.h"
#include "formats/breakdown.h"
#include "formats/script.h"
#include "formats/view.h"
#include "probes/listing.h"
#include "probes/tables.h"
#include "probes/targets.h"
#include "sys/mounts.h"
#include "sys/proc.h"
#include "tui/rows.h"

/* ---- names in the capture -------------------------------------------------------------------- */

static void offer_rows(const struct completion *completion, const struct breakdown *rows,
	enum breakdown_field field)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	guint i;

	if (field == BREAKDOWN_EVENT)
		for (i = 0; i < rows->events->len; i++)
			completion_offer(completion, rows->events->pdata[i], NULL);
	for (i = 0; field != BREAKDOWN_EVENT && i < rows->rows->len; i++) {
		const char *value = breakdown_row(rows, i)->values[field];

		if (value && g_hash_table_add(seen, (gpointer)value))
			completion_offer(completion, value, NULL);
	}
}

/* A read of anything but a file could wait. */
static bool may_read_capture(const struct input_choice *choice)
{
	struct stat st;

	return !choice->file || (stat(choice->file, &st) == 0 && S_ISREG(st.st_mode));
}

/* Values of a field in the capture that the command would read. */
static void offer_field(const struct completion *completion, enum breakdown_field field)
{
	const struct report_input_options load = {.lines = field == BREAKDOWN_LINE};
	const struct breakdown_options options = {.fields = 1U << field, .own = true};
	struct breakdown *rows;
	struct breakdown_input in;
	struct report_input capture;

	if (!may_read_capture(&completion->choice) ||
		report_input_open(&capture, &completion->choice, &load) != CMD_OK)
		return;
	in = (struct breakdown_input){capture.profile, capture.names};
	rows = breakdown_create(&in, 1, &options);
	offer_rows(completion, rows, field);
	breakdown_destroy(rows);
	report_input_close(&capture);
}

static void offer_functions(struct completion *completion)
{
	offer_field(completion, BREAKDOWN_FUNCTION);
}

static void offer_files(struct completion *completion)
{
	offer_field(completion, BREAKDOWN_FILE);
}

static void offer_comms(struct completion *completion)
{
	offer_field(completion, BREAKDOWN_COMM);
}

static void offer_processes(struct completion *completion)
{
	offer_field(completion, BREAKDOWN_PROCESS);
}

static void offer_hosts(struct completion *completion)
{
	offer_field(completion, BREAKDOWN_HOST);
}

static void offer_captured_pids(struct completion *completion)
{
	offer_field(completion, BREAKDOWN_PID);
}

static void offer_captured_events(struct completion *completion)
{
	offer_field(completion, BREAKDOWN_EVENT);
}

/* Those of the mount that the command would use. */
static void offer_sessions(struct completion *completion)
{
	g_autofree char *path = NULL;
	struct err err;
	const char *name;
	GDir *dir;

	if (mount_choice_path(completion->choice.mount, "sessions", &path, &err))
		return;
	dir = g_dir_open(path, 0, NULL);
	while (dir && (name = g_dir_read_name(dir)))
		completion_offer(completion, name, NULL);
	if (dir)
		g_dir_close(dir);
}

/* FIELD=GLOB; without a field, functions. */
static void offer_globs(struct completion *completion)
{
	const char *typed = completion->typed + completion->done, *equals = strchr(typed, '=');
	g_autofree char *name = g_strndup(typed, equals ? (gsize)(equals - typed) : 0);
	enum breakdown_field field;

	if (!equals) {
		for (field = 0; field < BREAKDOWN_FIELDS; field++) {
			g_autofree char *text = g_strconcat(breakdown_fields[field], "=", NULL);

			completion_offer(completion, text, NULL);
		}
		return;
	}
	field = breakdown_find_field(name);
	completion->done = (int)(equals + 1 - completion->typed);
	if (field != BREAKDOWN_FIELDS)
		offer_field(completion, field);
}

/* ---- processes, users, mounts ------------------------------------------------------------------ */

static int offer_pid(void *arg, pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/comm", (int)pid);
	g_autofree char *comm = NULL, *text = g_strdup_printf("%d", (int)pid);

	if (g_file_get_contents(path, &comm, NULL, NULL))
		completion_offer(arg, text, g_strchomp(comm));
	return 0;
}

static void offer_pids(struct completion *completion)
{
	proc_list("/proc", offer_pid, completion);
}

static void offer_users(struct completion *completion)
{
	const struct passwd *user;

	setpwent();
	while ((user = getpwent()))
		completion_offer(completion, user->pw_name, NULL);
	endpwent();
}

static int offer_mount(void *arg, const char *dir, uid_t owner)
{
	completion_offer(arg, dir, "kprofs");
	return 0;
}

static void offer_mounts(struct completion *completion)
{
	mounts_find(NULL, MOUNTS_KPROFS_TYPE, offer_mount, completion);
}

/* ---- probes ----------------------------------------------------------------------------------- */

static int offer_probe(void *arg, const char *line)
{
	const char *blank = strchr(line, ' ');
	g_autofree char *name = blank ? g_strndup(line, (gsize)(blank - line)) : g_strdup(line);

	completion_offer(arg, name, blank ? blank + 1 : NULL);
	return 0;
}

/* Without a colon the kinds only, since there are some 200,000 probes. */
static void offer_probes(struct completion *completion)
{
	const char *typed = completion->typed + completion->done;
	g_autofree char *pattern = g_strconcat(typed, "*", NULL);
	struct targets *targets;

	if (!strchr(typed, ':')) {
		for (const struct kind_row *row = kind_rows; row->name; row++) {
			g_autofree char *kind = g_strconcat(row->name, ":", NULL);

			completion_offer(completion, row->parts == KIND_NO_PARTS ? row->name : kind,
				row->help);
		}
	} else if (!strpbrk(typed, "*? {/") && !targets_open(NULL, &targets, NULL)) {
		listing_run(targets, pattern, offer_probe, completion);
		targets_close(targets);
	}
}

static void offer_probe_forms(struct completion *completion)
{
	static const char *const forms[] = {"text", "json"};

	completion_offer_all(completion, forms, G_N_ELEMENTS(forms));
}

/* ---- words ------------------------------------------------------------------------------------ */

static void offer_formats(struct completion *completion)
{
	const struct view_format *format;

	for (format = view_formats; format->name; format++)
		completion_offer(completion, format->name, NULL);
}

static void offer_fields(struct completion *completion)
{
	completion_offer_all(completion, breakdown_fields, BREAKDOWN_FIELDS);
}

static void offer_script_fields(struct completion *completion)
{
	completion_offer_all(completion, script_fields, SCRIPT_FIELDS);
}

static void offer_orders(struct completion *completion)
{
	completion_offer_all(completion, rows_order_names, ROWS_ORDERS);
}

/* Modes of kpctl's `stack`. */
static void offer_stack_modes(struct completion *completion)
{
	static const char *const modes[] = {"user", "kernel", "both", "dwarf", "none"};

	completion_offer_all(completion, modes, G_N_ELEMENTS(modes));
}

static void offer_call_graphs(struct completion *completion)
{
	static const char *const graphs[] = {"fp", "dwarf", "none"};

	completion_offer_all(completion, graphs, G_N_ELEMENTS(graphs));
}

static void offer_rates(struct completion *completion)
{
	completion_offer(completion, "max", "as often as the kernel allows");
}

/* ---- the table ---------------------------------------------------------------------------------- */

enum reads { EITHER, READS, SAMPLES };

static const char words[] = "words", files[] = "files", folders[] = "folders";

/* The first row that fits is used. */
static const struct value_kind {
	const char *argument;
	const char *option; /* NULL: any */
	enum reads reads;   /* whether the command reads a capture */
	bool list;	    /* several, with commas between them */
	void (*offer)(struct completion *completion); /* NULL: only what the shell adds */
	const char *more; /* what the shell adds, the first line of the output */
} kinds[] = {
	{"EVENTS", NULL, EITHER, false, completion_offer_kernel_events, words},
	{"EVENT", NULL, READS, false, offer_captured_events, words},
	{"EVENT", NULL, EITHER, false, completion_offer_events, words},
	{"FORM", NULL, EITHER, false, offer_probe_forms, words},
	{"FORMAT", NULL, EITHER, false, offer_formats, words},
	{"FIELDS", NULL, EITHER, true, offer_fields, words},
	{"FIELD", NULL, EITHER, false, offer_fields, words},
	{"FIELD=GLOB", NULL, EITHER, false, offer_globs, words},
	{"LIST", "fields", EITHER, true, offer_script_fields, words},
	{"ORDER", NULL, EITHER, false, offer_orders, words},
	{"MODE", NULL, EITHER, false, offer_stack_modes, words},
	{"GRAPH", NULL, EITHER, false, offer_call_graphs, words},
	{"HZ", NULL, EITHER, false, offer_rates, words},
	{"PROGRAM", NULL, EITHER, false, offer_probes, files},
	{"PID", NULL, READS, false, offer_captured_pids, words},
	{"PID", NULL, SAMPLES, true, offer_pids, words},
	{"PID", NULL, EITHER, false, offer_pids, words},
	{"TID", NULL, SAMPLES, true, offer_pids, words},
	{"USER", NULL, EITHER, false, offer_users, words},
	{"FUNCTION", "symbols", EITHER, true, offer_functions, words},
	{"FUNCTION", NULL, EITHER, false, offer_functions, words},
	{"NAME", "comms", EITHER, true, offer_comms, words},
	{"NAME", "host", READS, false, offer_hosts, words},
	{"NAME", "comm", EITHER, false, offer_processes, words},
	{"NAME", "versus", EITHER, false, offer_sessions, files},
	{"NAME", "file", EITHER, false, completion_ctl_files, words},
	{"WORD", NULL, EITHER, false, completion_ctl_words, words},
	{"FILE", "dsos", EITHER, true, offer_files, words},
	{"FILE", NULL, EITHER, false, NULL, files},
	{"PATH", NULL, EITHER, false, NULL, files},
	{"DIR", "mount", EITHER, false, offer_mounts, folders},
	{"DIR", NULL, EITHER, false, NULL, folders},
};

static bool fits(const struct value_kind *kind, const struct completion *completion,
	const char *argument, const char *option)
{
	return strcmp(kind->argument, argument) == 0 &&
	       (!kind->option || (option && strcmp(kind->option, option) == 0)) &&
	       (kind->reads == EITHER || completion->reads == (kind->reads == READS));
}

void completion_values_print(struct completion *completion, const char *argument,
	const char *option)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(kinds); i++) {
		if (!fits(&kinds[i], completion, argument, option))
			continue;
		puts(kinds[i].more);
		if (kinds[i].list)
			completion_begin_after(completion, ',');
		if (kinds[i].offer)
			kinds[i].offer(completion);
		return;
	}
	puts(words);
}

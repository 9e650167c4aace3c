/* SPDX-License-Identifier: MIT */
/* The probes that a program can name here. */
#include "probes/listing.h"

#include <stdio.h>
#include <string.h>

#include "bpf/types.h"
#include "probes/tables.h"
#include "probes/targets.h"

#define LINE_BYTES 4096u

struct listing {
	const struct targets *targets;
	const char *pattern;
	listing_each *each;
	void *arg;
	const char *kind;	       /* "kprobe": of the functions that are being listed */
	struct targets_format format;
	char line[LINE_BYTES];
};

static bool is_wanted(const struct listing *listing)
{
	return !listing->pattern || targets_match(listing->pattern, listing->line);
}

static void add_text(struct listing *listing, const char *separator, const char *declaration)
{
	const size_t length = strlen(listing->line);

	snprintf(listing->line + length, sizeof(listing->line) - length, "%s%s", separator, declaration);
}

static void add_parameters(struct listing *listing, const struct types_function *function)
{
	char text[TYPES_DECLARATION_MAX];

	for (uint32_t i = 0; i < function->count; i++) {
		const struct types_param *param = &function->params[i];

		if (!param->name[0])
			continue;
		types_declare(&param->value, param->name, text);
		add_text(listing, i ? ", " : " ", text);
	}
}

/* Those of a tracepoint, in tracefs, from `first` on. */
static void add_fields(struct listing *listing, const char *system, const char *name, uint32_t first)
{
	const struct targets_format *format = &listing->format;
	char text[TARGETS_DECLARATION_MAX];

	if (targets_format(listing->targets, system, name, &listing->format, NULL))
		return;
	for (uint32_t i = first; i < format->count; i++) {
		targets_declare(&format->fields[i], text);
		add_text(listing, i > first ? ", " : " ", text);
	}
}

static int list_tracepoint(void *arg, const char *system, const char *name)
{
	struct listing *listing = arg;

	snprintf(listing->line, sizeof(listing->line), "tracepoint:%s:%s", system, name);
	if (!is_wanted(listing))
		return 0;
	add_fields(listing, system, name, 0);
	return listing->each(listing->arg, listing->line);
}

static int list_syscall(void *arg, const char *system, const char *name)
{
	const bool enters = strncmp(name, "sys_enter_", 10) == 0;
	struct listing *listing = arg;

	if (!enters && strncmp(name, "sys_exit_", 9) != 0)
		return 0;
	snprintf(listing->line, sizeof(listing->line), "syscall:%s:%s", name + (enters ? 10 : 9),
		enters ? "entry" : "return");
	if (!is_wanted(listing))
		return 0;
	/* the first field is the number of the call */
	add_fields(listing, system, name, 1);
	return listing->each(listing->arg, listing->line);
}

static int list_function(void *arg, const char *system, const char *name)
{
	struct listing *listing = arg;
	const struct types *types = targets_types(listing->targets, NULL);
	struct types_function function;
	const char *way = "ftrace or kprobes";

	(void)system;
	snprintf(listing->line, sizeof(listing->line), "%s:%s", listing->kind, name);
	if (!is_wanted(listing))
		return 0;
	if (types && types_function(types, name, &function) == 0) {
		if (strcmp(listing->kind, "kretprobe") != 0)
			add_parameters(listing, &function);
		way = strcmp(listing->kind, "kprobe") == 0 ? "fentry" : "fexit";
	}
	/* the others say it by their names */
	if (listing->kind[0] == 'k')
		add_text(listing, "  # ", way);
	return listing->each(listing->arg, listing->line);
}

static int list_rawtracepoint(void *arg, const char *system, const char *name)
{
	struct listing *listing = arg;
	struct types_function function;

	(void)system;
	snprintf(listing->line, sizeof(listing->line), "rawtracepoint:%s", name);
	if (!is_wanted(listing))
		return 0;
	if (types_tracepoint(targets_types(listing->targets, NULL), name, &function) == 0)
		add_parameters(listing, &function);
	return listing->each(listing->arg, listing->line);
}

/* Kinds that are not known by names that this machine has. */
static int list_forms(struct listing *listing)
{
	static const uint32_t listed = KIND_BIT(PROBE_TRACEPOINT) | KIND_BIT(PROBE_RAWTRACEPOINT) |
		KIND_BIT(PROBE_KPROBE) | KIND_BIT(PROBE_KRETPROBE) | KIND_BIT(PROBE_FENTRY) |
		KIND_BIT(PROBE_FEXIT);
	int ret = 0;

	for (const struct kind_row *row = kind_rows; !ret && row->name; row++) {
		if (listed & KIND_BIT(row->kind))
			continue;
		snprintf(listing->line, sizeof(listing->line), "%s", row->usage);
		if (is_wanted(listing))
			ret = listing->each(listing->arg, listing->line);
	}
	return ret;
}

static const struct function_list {
	const char *kind;
	bool with_types;
} function_lists[] = { { "kprobe", false }, { "kretprobe", false }, { "fentry", true }, { "fexit", true } };

/* Whether a name of this kind can match, so that all functions need not be looked at. */
static bool may_match(const struct listing *listing, const char *kind)
{
	const char *colon = listing->pattern ? strchr(listing->pattern, ':') : NULL;
	char text[32];

	if (!colon || (size_t)(colon - listing->pattern) >= sizeof(text))
		return true;
	memcpy(text, listing->pattern, (size_t)(colon - listing->pattern));
	text[colon - listing->pattern] = '\0';
	return targets_match(text, kind) || strchr(text, '*');
}

/* 0 for a list that this machine does not have. */
static int result_of(int ret)
{
	return ret < 0 ? 0 : ret;
}

int listing_run(const struct targets *targets, const char *pattern, listing_each *each, void *arg)
{
	struct listing listing = { .targets = targets, .pattern = pattern, .each = each, .arg = arg };
	int ret = list_forms(&listing);

	if (!ret && may_match(&listing, "syscall"))
		ret = result_of(targets_tracepoints(targets, "syscalls", "*", list_syscall, &listing));
	if (!ret && may_match(&listing, "tracepoint"))
		ret = result_of(targets_tracepoints(targets, "*", "*", list_tracepoint, &listing));
	if (!ret && may_match(&listing, "rawtracepoint"))
		ret = result_of(targets_rawtracepoints(targets, "*", list_rawtracepoint, &listing));
	for (size_t i = 0; !ret && i < sizeof(function_lists) / sizeof(*function_lists); i++) {
		listing.kind = function_lists[i].kind;
		if (may_match(&listing, listing.kind))
			ret = result_of(targets_functions(targets, "*", function_lists[i].with_types,
				list_function, &listing));
	}
	return ret;
}

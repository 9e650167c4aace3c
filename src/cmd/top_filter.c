/* SPDX-License-Identifier: MIT */
/* The samples that `kprof top` shows: see top_filter.h. */
#include "cmd/top_filter.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

void top_filter_init(struct top_filter *filter)
{
	memset(filter, 0, sizeof(*filter));
	record_target_init(&filter->target);
	filter->pid = getpid();
}

void top_filter_fini(struct top_filter *filter)
{
	record_target_fini(&filter->target);
	g_strfreev(filter->comms);
	g_strfreev(filter->dsos);
	g_strfreev(filter->symbols);
}

int top_filter_set_cpus(struct top_filter *filter, const char *list, struct err *err)
{
	int ret = units_parse_cpulist(list, filter->cpus, CPU_NUMBERS);

	if (ret)
		return err_set(err, -ret, "no list of CPUs, as 0-3,8: %s", list);
	filter->has_cpus = true;
	return 0;
}

void top_filter_set_names(char ***names, const char *list)
{
	g_strfreev(*names);
	*names = g_strsplit(list, ",", -1);
}

/* ---- processes and threads ------------------------------------------------------------------- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A server with its helpers, or this process with those that it started. */
static bool is_own(const struct top_filter *f, const struct profile *profile, uint32_t life)
{
	const char *program = processes_program(profile->processes, life);
	const char *name = program ? last_part(program) : "";

	return strcmp(name, "kprofs") == 0 || strcmp(name, "kprof-symbols") == 0 ||
	       processes_descends_from(profile->processes, life, (uint32_t)f->pid);
}

static bool is_target(const struct record_target *target, const struct profile *profile,
	const struct profile_cell *cell)
{
	guint i;

	if (!record_target_is_set(target))
		return true;
	for (i = 0; i < target->threads->len; i++)
		if (g_array_index(target->threads, uint32_t, i) == cell->tid)
			return true;
	for (i = 0; i < target->processes->len; i++)
		if (processes_descends_from(profile->processes, cell->life,
			    g_array_index(target->processes, uint32_t, i)))
			return true;
	return false;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool contains(char *const *names, const char *name)
{
	return name && g_strv_contains((const char *const *)names, name);
}

static bool has_comm(const struct top_filter *f, const struct profile *profile,
	const struct profile_cell *cell)
{
	return !f->comms || contains(f->comms, cell->name) ||
	       contains(f->comms, processes_thread_name(profile->processes, cell->life, cell->tid));
}

static bool has_function(const struct top_filter *f, const struct profile *profile,
	const struct functions *names, const struct profile_cell *cell)
{
	const struct functions_function *function;
	uint32_t i;

	if (!f->dsos && !f->symbols)
		return true;
	i = functions_of_node(names, profile, cell->node);
	if (i == FUNCTIONS_NO_FRAME)
		return false;
	function = functions_function(names, i);
	return (!f->dsos || contains(f->dsos, function->file) ||
		       contains(f->dsos, last_part(function->file))) &&
	       (!f->symbols || contains(f->symbols, function->name));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_kept(const struct top_filter *f, const struct profile *profile,
	const struct functions *names, const struct profile_cell *cell)
{
	if (f->has_cpus && (cell->cpu >= CPU_NUMBERS || !cpu_in_bitmap(f->cpus, cell->cpu)))
		return false;
	if (cell->flags & PROFILE_IDLE)
		return true; /* the rows leave them out */
	return (f->own || !is_own(f, profile, cell->life)) && is_target(&f->target, profile, cell) &&
	       has_comm(f, profile, cell) && has_function(f, profile, names, cell);
}

void top_filter_apply(struct top_filter *filter, struct profile *profile, const struct functions *names)
{
	guint kept = 0, i;

	record_target_look(&filter->target, false);
	for (i = 0; i < profile->cells->len; i++) {
		struct profile_cell *cell = &g_array_index(profile->cells, struct profile_cell, i);

		if (is_kept(filter, profile, names, cell))
			g_array_index(profile->cells, struct profile_cell, kept++) = *cell;
	}
	g_array_set_size(profile->cells, kept);
}

/* SPDX-License-Identifier: MIT */
/* What the programs of a session show: their answers, the rows of kpstat, metrics. */
#include <errno.h>

#include "probes/probes_state.h"

int probes_print(struct probes *probes, const char *name, const struct value_names *names,
	const struct answer_pieces *pieces, GString *out)
{
	struct entry *entry = probes_get(probes, name);

	if (!entry)
		return -ENOENT;
	probe_print(entry->probe, names, pieces, out);
	probes_put(probes, entry);
	return 0;
}

static void print_one(void *arg, const char *name, struct probe *probe)
{
	struct stats *stats = arg;
	struct probe_counts counts;

	probe_count(probe, &counts);
	stats_text(stats, probe_is_on(probe) ? "on" : "off", "probes.%s.state", name);
	stats_u64(stats, counts.events, "probes.%s.events", name);
	if (counts.knows_missed)
		stats_u64(stats, counts.missed, "probes.%s.missed", name);
	else
		stats_text(stats, "not known", "probes.%s.missed", name);
	stats_u64(stats, counts.filtered, "probes.%s.filtered", name);
	stats_u64(stats, counts.keys, "probes.%s.keys", name);
	stats_u64(stats, counts.keys_dropped, "probes.%s.keys_dropped", name);
	if (counts.runs_measured)
		stats_u64(stats, counts.run_ns, "probes.%s.run_ns", name);
	else
		stats_text(stats, "not counted", "probes.%s.run_ns", name);
	stats_u64(stats, counts.runs_measured, "probes.%s.runs_measured", name);
}

/* Calls with each program, in the order of their names. */
static void visit(struct probes *probes, void (*visitor)(void *arg, const char *name, struct probe *probe),
	void *arg)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	probes_list(probes, names);
	for (guint i = 0; i < names->len; i++) {
		const char *name = g_ptr_array_index(names, i);
		struct entry *entry = probes_get(probes, name);

		if (!entry)
			continue;
		visitor(arg, name, entry->probe);
		probes_put(probes, entry);
	}
}

void probes_print_stats(struct probes *probes, struct stats *stats)
{
	visit(probes, print_one, stats);
}

struct adding {
	struct map_metrics metrics;
	const struct value_names *names;
};

static void add_one(void *arg, const char *name, struct probe *probe)
{
	struct adding *adding = arg;

	probe_add_metrics(probe, adding->names, &adding->metrics);
}

void probes_add_metrics(struct probes *probes, const struct value_names *names, struct openmetrics *metrics)
{
	struct adding adding = { .metrics = { .metrics = metrics }, .names = names };

	visit(probes, add_one, &adding);
	if (adding.metrics.samples)
		map_metrics_end(&adding.metrics);
}

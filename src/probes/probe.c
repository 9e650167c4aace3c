/* SPDX-License-Identifier: MIT */
/* One program of probes/. */
#include "probes/probe_state.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "bpf/file_links.h"
#include "probes/answer.h"
#include "probes/check.h"
#include "probes/output.h"
#include "probes/store.h"
#include "sys/clock.h"

/* Functions by fentry and fexit that are attached within half a second. */
#define TRAMPOLINES_QUICK 16u
/* Sentences of a program for kperr about how it was attached: kperr has 64 lines. */
#define NOTES_MAX 16u

/* ---- names ------------------------------------------------------------------------------------- */

static uint32_t find_stack(void *arg, uint64_t hash, uint64_t *frames, uint32_t most)
{
	return store_stack(((const struct naming *)arg)->probe->store, hash, frames, most);
}

static bool name_kernel(void *arg, uint64_t address, bool is_frame, GString *out)
{
	const struct value_names *names = ((const struct naming *)arg)->addresses;

	return names->kernel && names->kernel(names->arg, address, is_frame, out);
}

static bool name_user(void *arg, uint32_t pid, uint64_t address, bool is_frame, GString *out)
{
	const struct value_names *names = ((const struct naming *)arg)->addresses;

	return names->user && names->user(names->arg, pid, address, is_frame, out);
}

struct value_names probe_names_of(const struct naming *naming, const struct outputs *outputs)
{
	return (struct value_names){ .arg = (void *)naming, .kernel = name_kernel, .user = name_user,
		.stack = find_stack, .targets = outputs ? outputs->targets : NULL };
}

/* ---- attaching --------------------------------------------------------------------------------- */

static void free_attached(const struct probe *probe, struct attached *attached, uint32_t serial)
{
	const struct file_links_size size = { .bytes = store_bytes(probe->store),
		.ready_bytes = store_ready_bytes(probe->store) };

	if (!attached)
		return;
	for (uint32_t i = 0; i < probe->ast->unit_count; i++)
		attached_fini(&attached[i]);
	g_free(attached);
	if (probe->links)
		file_links_detach(probe->links, serial, &size);
	if (probe->ast->takes_samples && probe->hooks->end_samples)
		probe->hooks->end_samples(probe->hooks->arg, probe->label);
}

/* What sample() needs, before anything is attached: the first program that has it starts the profiler. */
static int begin_samples(const struct probe *probe, struct gen_env *env, struct err *err)
{
	if (!probe->ast->takes_samples || !probe->hooks->begin_samples)
		return 0;
	return probe->hooks->begin_samples(probe->hooks->arg, probe->label, &env->samples, err);
}

/* What it printed is shown a while longer. */
static void end_outputs(struct probe *probe)
{
	struct outputs *outputs;

	pthread_mutex_lock(&probe->lock);
	outputs = g_steal_pointer(&probe->outputs);
	pthread_mutex_unlock(&probe->lock);
	if (outputs)
		probe->hooks->end_outputs(probe->hooks->arg, probe->serial);
	outputs_put(outputs);
}

static int attach(struct probe *probe, const struct targets *targets, struct err *err)
{
	const uint32_t serial = atomic_add_relaxed(probe->serials, 1) + 1;
	const struct attach_machine machine = { .targets = targets, .types = targets_types(targets, NULL),
		.hooks = &probe->hooks->attach, .links = probe->links, .group = serial };
	struct gen_env env = { .machine = probe->machine, .types = machine.types, .actions = probe->actions,
		.serial = serial, .pid = probe->pid };
	struct attached *attached;
	struct outputs *outputs;
	uint32_t places = 0;
	int ret = begin_samples(probe, &env, err);

	if (ret)
		return ret;
	attached = g_new0(struct attached, probe->ast->unit_count + 1);
	env.outputs = outputs = outputs_create(probe->ast);
	outputs->as_json = probe->as_json;
	store_fill(probe->store, &env);
	for (uint32_t i = 0; i < probe->ast->unit_count; i++)
		attached_init(&attached[i]);
	for (const struct ast_unit *unit = probe->ast->units; unit && !ret; unit = unit->next) {
		ret = attach_unit(&machine, &env, unit, &attached[unit->number], err);
		places += attached[unit->number].probes;
		if (!ret && places > probe->places_most)
			ret = err_set(err, E2BIG,
				"the program attaches to more than the %u probes that are left",
				probe->places_most);
	}
	if (ret) {
		free_attached(probe, attached, serial);
		outputs_put(outputs);
		return ret;
	}
	end_outputs(probe);
	probe->hooks->add_outputs(probe->hooks->arg, env.serial, probe->label, outputs_get(outputs));
	pthread_mutex_lock(&probe->lock);
	probe->attached = attached;
	probe->places = places;
	probe->serial = env.serial;
	probe->outputs = outputs;
	pthread_mutex_unlock(&probe->lock);
	return 0;
}

/* Closes everything, and keeps the counts. */
static void detach(struct probe *probe)
{
	struct attached *attached;

	pthread_mutex_lock(&probe->lock);
	attached = probe->attached;
	probe->attached = NULL;
	for (uint32_t i = 0; attached && i < probe->ast->unit_count; i++)
		attached_count(&attached[i], &probe->former);
	pthread_mutex_unlock(&probe->lock);
	free_attached(probe, attached, probe->serial);
}

static uint32_t count_places(const struct ast *ast)
{
	uint32_t places = 0;

	for (const struct ast_unit *unit = ast->units; unit; unit = unit->next)
		places += unit->target_count;
	return places;
}

static int check(struct probe *probe, const struct probe_options *options, struct err *err)
{
	const struct check_options check = { .targets = options->targets,
		.events = probe->hooks->events.each ? &probe->hooks->events : NULL,
		.string_bytes = options->string_bytes };
	const struct store_options maps = { .keys = options->keys, .bytes_most = options->bytes_most,
		.ready_most = options->ready_most };
	int ret = check_program(probe->ast, &check, err);

	if (ret)
		return ret;
	probe->places = count_places(probe->ast);
	probe->places_most = options->probes_most ? options->probes_most : AST_TARGETS_MAX;
	if (options->probes_most && probe->places > options->probes_most)
		return err_set(err, E2BIG, "the program attaches to %u probes; %u are left", probe->places,
			options->probes_most);
	for (const struct ast_warning *warning = probe->ast->warnings; warning; warning = warning->next)
		probe->hooks->note(probe->hooks->arg, probe->name, warning->text);
	return store_create(probe->ast, &maps, &probe->store, err);
}

/* How functions were attached where not in the best way. Units of one rule may say the same. */
static void note_ways(const struct probe *probe)
{
	g_autoptr(GHashTable) said = g_hash_table_new(g_str_hash, g_str_equal);

	for (const struct ast_unit *unit = probe->ast->units; unit; unit = unit->next) {
		const GPtrArray *notes = probe->attached[unit->number].notes;

		for (guint i = 0; i < notes->len && g_hash_table_size(said) < NOTES_MAX; i++)
			if (g_hash_table_add(said, g_ptr_array_index(notes, i)))
				probe->hooks->note(probe->hooks->arg, probe->name,
					g_ptr_array_index(notes, i));
	}
}

/* Says what will be slow. */
static void note_costs(const struct probe *probe)
{
	g_autofree char *stepping = NULL, *attaching = NULL;
	uint32_t stepped = 0, trampolines = 0;

	for (const struct ast_unit *unit = probe->ast->units; unit; unit = unit->next) {
		stepped += probe->attached[unit->number].stepped;
		if (unit->kind == PROBE_FENTRY || unit->kind == PROBE_FEXIT)
			trampolines += unit->target_count;
	}
	note_ways(probe);
	if (stepped) {
		stepping = g_strdup_printf("%u of %u functions begin with an instruction that the kernel may "
			"have to single-step: some 12 us for each call", stepped, probe->places);
		probe->hooks->note(probe->hooks->arg, probe->name, stepping);
	}
	if (trampolines > TRAMPOLINES_QUICK) {
		attaching = g_strdup_printf("%u functions by fentry or fexit: some 20 ms each to attach, and "
			"200 ms each until they are detached", trampolines);
		probe->hooks->note(probe->hooks->arg, probe->name, attaching);
	}
}

int probe_create(const struct probe_options *options, struct ast *ast, const char *text, struct probe **probe,
	struct err *err)
{
	struct probe *made = g_new0(struct probe, 1);
	int ret;

	pthread_mutex_init(&made->lock, NULL);
	made->hooks = options->hooks;
	made->machine = options->machine;
	made->actions = options->actions;
	made->serials = options->serials;
	made->links = options->links;
	made->pid = options->pid;
	made->as_json = options->as_json;
	made->name = g_strdup(options->name);
	made->label = g_strconcat("probe:", options->name, NULL);
	made->text = g_strdup(text);
	made->ast = ast;
	ret = check(made, options, err);
	if (!ret)
		ret = attach(made, options->targets, err);
	if (ret) {
		probe_destroy(made);
		return ret;
	}
	note_costs(made);
	*probe = made;
	return 0;
}

void probe_destroy(struct probe *probe)
{
	if (!probe)
		return;
	if (probe->attached)
		detach(probe);
	end_outputs(probe);
	if (probe->found)
		probe->hooks->names->destroy(probe->found);
	store_destroy(probe->store);
	ast_destroy(probe->ast);
	pthread_mutex_destroy(&probe->lock);
	g_free(probe->name);
	g_free(probe->label);
	g_free(probe->text);
	g_free(probe);
}

/* ---- states ------------------------------------------------------------------------------------ */

/* Runs the units of BEGIN or END. */
static void run_units(struct probe *probe, enum ast_probe_kind kind)
{
	for (const struct ast_unit *unit = probe->ast->units; unit && probe->attached; unit = unit->next)
		if (unit->kind == kind && attach_run(&probe->attached[unit->number]))
			probe->hooks->note(probe->hooks->arg, probe->name,
				"the kernel does not run BEGIN and END (it needs Linux 5.10)");
}

void probe_run(struct probe *probe)
{
	store_run(probe->store, probe->serial, clock_monotonic_ns());
}

void probe_stop(struct probe *probe)
{
	store_stop(probe->store);
}

void probe_begin(struct probe *probe)
{
	if (probe->begun)
		return;
	probe->begun = true;
	run_units(probe, PROBE_BEGIN);
}

void probe_off(struct probe *probe)
{
	if (!probe->attached)
		return;
	store_stop(probe->store);
	/* a text that more followed was never begun */
	if (probe->begun)
		run_units(probe, PROBE_END);
	detach(probe);
}

int probe_on(struct probe *probe, const struct targets *targets, struct err *err)
{
	int ret = 0;

	/* exit() was called, and kp-probes has not heard of it: to the new serial number it does not apply */
	if (probe->attached && !store_is_running(probe->store))
		probe_off(probe);
	if (!probe->attached)
		ret = attach(probe, targets, err);
	if (!ret)
		store_run(probe->store, probe->serial, 0);
	return ret;
}

void probe_look(struct probe *probe)
{
	struct err why = { "" };

	for (const struct ast_unit *unit = probe->ast->units; unit && probe->attached; unit = unit->next)
		if (unit->kind == PROBE_EVENT)
			(void)attach_new_files(&probe->attached[unit->number], &why);
	if (why.text[0])
		probe->hooks->note(probe->hooks->arg, probe->name, why.text);
}

bool probe_has_more(const struct probe *probe)
{
	bool has = false;

	for (uint32_t i = 0; probe->attached && i < probe->ast->unit_count; i++)
		has |= probe->attached[i].has_more;
	return has;
}

void probe_clear(struct probe *probe)
{
	for (const struct ast_map *map = probe->ast->maps; map; map = map->next)
		store_clear(probe->store, map);
	store_sweep(probe->store);
}

void probe_check_links(struct probe *probe)
{
	uint32_t in_files = 0;

	for (uint32_t i = 0; probe->attached && i < probe->ast->unit_count; i++)
		in_files += probe->attached[i].in_files;
	if (!in_files || file_links_has(probe->links, probe->serial))
		return;
	probe_off(probe);
	probe->hooks->note(probe->hooks->arg, probe->name,
		"the process kp-links has ended, which attached the program to files: it is off");
}

bool probe_is_on(const struct probe *probe)
{
	bool is_on;

	pthread_mutex_lock((pthread_mutex_t *)&probe->lock);
	is_on = probe->attached && store_is_running(probe->store);
	pthread_mutex_unlock((pthread_mutex_t *)&probe->lock);
	return is_on;
}

uint32_t probe_serial(const struct probe *probe)
{
	return probe->serial;
}

uint64_t probe_bytes(const struct probe *probe)
{
	return store_bytes(probe->store);
}

uint64_t probe_ready_bytes(const struct probe *probe)
{
	return store_ready_bytes(probe->store);
}

uint32_t probe_places(const struct probe *probe)
{
	return probe->places;
}

/* ---- answers ----------------------------------------------------------------------------------- */

void probe_count(struct probe *probe, struct probe_counts *counts)
{
	struct attached_counts sum;
	struct gen_counts sums;

	*counts = (struct probe_counts){ 0 };
	pthread_mutex_lock(&probe->lock);
	sum = probe->former;
	for (uint32_t i = 0; probe->attached && i < probe->ast->unit_count; i++)
		attached_count(&probe->attached[i], &sum);
	pthread_mutex_unlock(&probe->lock);
	counts->missed = sum.missed;
	counts->run_ns = sum.run_ns;
	counts->runs_measured = sum.runs_measured;
	counts->knows_missed = sum.known || !sum.unknown;
	counts->knows_all_missed = !sum.unknown;
	store_counts(probe->store, &sums);
	for (const struct ast_map *map = probe->ast->maps; map; map = map->next)
		counts->keys += store_count_keys(probe->store, map);
	counts->missed += sums.busy;
	counts->filtered = sums.filtered;
	counts->keys_dropped = sums.dropped;
	counts->lost = sums.lost;
	counts->events = sums.counted + sums.filtered + counts->missed;
}

static void print_text(const struct probe *probe, GString *out)
{
	g_auto(GStrv) lines = g_strsplit(probe->text, "\n", -1);

	for (char **line = lines; *line; line++)
		if (line[1] || **line)
			g_string_append_printf(out, "# %s\n", *line);
}

/* Those of now, which are to be put; NULL if it is not attached yet. */
static struct outputs *take_outputs(struct probe *probe)
{
	struct outputs *outputs;

	pthread_mutex_lock(&probe->lock);
	outputs = probe->outputs ? outputs_get(probe->outputs) : NULL;
	pthread_mutex_unlock(&probe->lock);
	return outputs;
}

void probe_add_metrics(struct probe *probe, const struct value_names *addresses, struct map_metrics *metrics)
{
	const struct naming naming = { .probe = probe, .addresses = addresses };
	struct outputs *outputs = take_outputs(probe);
	const struct value_names names = probe_names_of(&naming, outputs);

	for (const struct ast_map *map = probe->ast->maps; map; map = map->next)
		map_metrics_add(metrics, probe->name, probe->store, map, &names);
	outputs_put(outputs);
}

static void print_json(struct probe *probe, const struct value_names *names,
	const struct answer_pieces *pieces, GString *out)
{
	const struct answer_limits limits = { .pieces = pieces };
	struct probe_counts counts;
	char missed[24] = "null";

	for (const struct ast_map *map = probe->ast->maps; map; map = map->next)
		answer_json_map(probe->store, map, &limits, names, out);
	probe_count(probe, &counts);
	if (counts.lost)
		g_string_append_printf(out,
			"{\"type\": \"lost_events\", \"data\": {\"events\": %" PRIu64 "}}\n", counts.lost);
	/* a number that is too low would be taken for one that is known */
	if (counts.knows_all_missed)
		g_snprintf(missed, sizeof(missed), "%" PRIu64, counts.missed);
	g_string_append_printf(out, "{\"type\": \"counts\", \"data\": {\"events\": %" PRIu64
		", \"missed\": %s, \"filtered\": %" PRIu64 ", \"keys_dropped\": %" PRIu64 "}}\n",
		counts.events, missed, counts.filtered, counts.keys_dropped);
}

static void print_plain(struct probe *probe, const struct value_names *names,
	const struct answer_pieces *pieces, GString *out)
{
	const struct answer_limits limits = { .pieces = pieces };
	struct probe_counts counts;

	for (const struct ast_map *map = probe->ast->maps; map; map = map->next)
		answer_print_map(probe->store, map, &limits, names, out);
	probe_count(probe, &counts);
	/* stacks without a key any more may be what takes the room */
	if (counts.keys_dropped)
		store_sweep(probe->store);
	g_string_append_printf(out, "# %" PRIu64 " events, ", counts.events);
	if (counts.knows_missed)
		g_string_append_printf(out, "%s%" PRIu64 " missed",
			counts.knows_all_missed ? "" : "at least ", counts.missed);
	else
		g_string_append(out, "missed ones not known");
	g_string_append_printf(out, ", %" PRIu64 " filtered, %" PRIu64 " keys dropped\n", counts.filtered,
		counts.keys_dropped);
	if (counts.lost)
		g_string_append_printf(out, "# %" PRIu64 " messages and samples lost\n", counts.lost);
	if (!probe_is_on(probe))
		g_string_append(out, "# off\n");
	print_text(probe, out);
}

void probe_print(struct probe *probe, const struct value_names *addresses, const struct answer_pieces *pieces,
	GString *out)
{
	const struct naming naming = { .probe = probe, .addresses = addresses };
	struct outputs *outputs = take_outputs(probe);
	const struct value_names names = probe_names_of(&naming, outputs);

	if (probe->as_json)
		print_json(probe, &names, pieces, out);
	else
		print_plain(probe, &names, pieces, out);
	outputs_put(outputs);
}

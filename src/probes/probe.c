/* SPDX-License-Identifier: MIT */
/* One program of probes/. */
#include "probes/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "probes/answer.h"
#include "probes/check.h"
#include "probes/output.h"
#include "probes/store.h"
#include "sys/clock.h"

/* Of a file that cat() prints: what fits into a message of the trace. */
#define CAT_BYTES_MAX 65000u

/* i: invariant; l: under the lock; t: of the one thread that changes it */
struct probe {
	const struct probe_hooks *hooks;   /* i */
	const struct emit_machine *machine; /* i */
	char *name, *label, *text;	   /* i */
	struct ast *ast;		   /* i */
	struct store *store;		   /* i: what it holds changes by itself */
	int actions;			   /* i */
	uint32_t *serials;		   /* i: t */
	uint32_t serial;		   /* t */
	struct outputs *outputs;	   /* t: the hook has taken it */
	bool begun;			   /* t: BEGIN was run */
	pthread_mutex_t lock;		   /* a leaf */
	struct attached *attached;	   /* l: by unit; NULL while it is off */
	uint64_t missed, run_ns;	   /* l: of programs that were detached */
	uint32_t places;		   /* t: that it attaches to, or did last */
	uint32_t places_most;		   /* i */
};

/* ---- names ------------------------------------------------------------------------------------- */

struct naming {
	const struct probe *probe;
	const struct value_names *addresses; /* of the kernel and processes */
};

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

/* Completes the names of addresses by those that the program has. */
static struct value_names names_of(const struct naming *naming)
{
	const struct outputs *outputs = naming->probe->outputs;

	return (struct value_names){ .arg = (void *)naming, .kernel = name_kernel, .user = name_user,
		.stack = find_stack, .targets = outputs ? outputs->targets : NULL };
}

/* ---- attaching --------------------------------------------------------------------------------- */

static void free_attached(const struct probe *probe, struct attached *attached)
{
	if (!attached)
		return;
	for (uint32_t i = 0; i < probe->ast->unit_count; i++)
		attached_fini(&attached[i]);
	g_free(attached);
}

static int attach(struct probe *probe, const struct targets *targets, struct err *err)
{
	const struct attach_machine machine = { .targets = targets, .types = targets_types(targets, NULL),
		.hooks = &probe->hooks->attach };
	struct attached *attached = g_new0(struct attached, probe->ast->unit_count + 1);
	struct outputs *outputs = outputs_create(probe->ast);
	struct gen_env env = { .machine = probe->machine, .types = machine.types, .outputs = outputs,
		.actions = probe->actions, .serial = ++*probe->serials };
	uint32_t places = 0;
	int ret = 0;

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
		free_attached(probe, attached);
		outputs_destroy(outputs);
		return ret;
	}
	probe->hooks->add_outputs(probe->hooks->arg, env.serial, probe->label, outputs);
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
		probe->missed += attached_missed(&attached[i], &probe->run_ns);
	pthread_mutex_unlock(&probe->lock);
	free_attached(probe, attached);
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
		.string_bytes = options->string_bytes };
	const struct store_options maps = { .keys = options->keys, .bytes_most = options->bytes_most };
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
	*probe = made;
	return 0;
}

void probe_destroy(struct probe *probe)
{
	if (!probe)
		return;
	if (probe->attached)
		detach(probe);
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
	store_run(probe->store, clock_monotonic_ns());
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

	if (!probe->attached)
		ret = attach(probe, targets, err);
	if (!ret)
		store_run(probe->store, 0);
	return ret;
}

void probe_clear(struct probe *probe)
{
	for (const struct ast_map *map = probe->ast->maps; map; map = map->next)
		store_clear(probe->store, map);
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

uint32_t probe_places(const struct probe *probe)
{
	return probe->places;
}

/* ---- actions ----------------------------------------------------------------------------------- */

static const struct ast_map *find_map(const struct probe *probe, const char *name)
{
	for (const struct ast_map *map = probe->ast->maps; map; map = map->next)
		if (name && strcmp(map->name, name) == 0)
			return map;
	return NULL;
}

static void print_map(struct probe *probe, const struct ast_map *map, const struct output *output,
	const struct value_names *names, GString *text)
{
	const struct answer_limits limits = { .top = output->top, .divisor = output->divisor };

	answer_print_map(probe->store, map, &limits, names, text);
}

/*
 * cat(path): a regular file, what a pseudo file is too. One of a FUSE file system may be this server's: to
 * open a file of probes/ waits for the lock that the caller has.
 */
static void read_file(const char *path, GString *text)
{
	struct statfs fs;
	struct stat st;
	ssize_t got = 0;
	int fd = -1;

	if (!statfs(path, &fs) && fs.f_type != FUSE_SUPER_MAGIC)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		g_string_append_printf(text, "'%s' can't be read\n", path);
	} else {
		g_string_set_size(text, CAT_BYTES_MAX);
		got = read(fd, text->str, CAT_BYTES_MAX);
		g_string_truncate(text, got > 0 ? (gsize)got : 0);
	}
	if (fd >= 0)
		close(fd);
}

void probe_act(struct probe *probe, uint32_t index, uint64_t time_ns)
{
	const struct value_names none = { 0 };
	const struct naming naming = { .probe = probe, .addresses = &none };
	const struct value_names names = names_of(&naming);
	g_autoptr(GString) text = g_string_new(NULL);
	const struct output *output;
	const struct ast_map *map;

	if (!probe->outputs || index >= probe->outputs->items->len)
		return;
	output = g_ptr_array_index(probe->outputs->items, index);
	map = find_map(probe, output->map);
	if (output->id == FUNCTION_EXIT) {
		probe_off(probe);
		return;
	}
	if (map && output->id == FUNCTION_CLEAR)
		store_clear(probe->store, map);
	else if (map && output->id == FUNCTION_ZERO)
		store_zero(probe->store, map);
	else if (output->id == FUNCTION_MARK)
		g_string_append(text, output->format);
	else if (output->id == FUNCTION_CAT)
		read_file(output->format, text);
	else if (map)
		print_map(probe, map, output, &names, text);
	else
		output_print(probe->outputs, index, "", 0, &names, text);
	if (text->len)
		probe->hooks->message(probe->hooks->arg, probe->label, time_ns, text->str, text->len);
}

/* ---- answers ----------------------------------------------------------------------------------- */

void probe_count(struct probe *probe, struct probe_counts *counts)
{
	struct gen_counts sums;

	*counts = (struct probe_counts){ 0 };
	pthread_mutex_lock(&probe->lock);
	counts->missed = probe->missed;
	counts->run_ns = probe->run_ns;
	for (uint32_t i = 0; probe->attached && i < probe->ast->unit_count; i++)
		counts->missed += attached_missed(&probe->attached[i], &counts->run_ns);
	pthread_mutex_unlock(&probe->lock);
	store_counts(probe->store, &sums);
	for (const struct ast_map *map = probe->ast->maps; map; map = map->next)
		counts->keys += store_count_keys(probe->store, map);
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

void probe_print(struct probe *probe, const struct value_names *addresses, GString *out)
{
	const struct naming naming = { .probe = probe, .addresses = addresses };
	const struct answer_limits limits = { 0 };
	struct value_names names;
	struct probe_counts counts;

	pthread_mutex_lock(&probe->lock);
	names = names_of(&naming);
	pthread_mutex_unlock(&probe->lock);
	for (const struct ast_map *map = probe->ast->maps; map; map = map->next)
		answer_print_map(probe->store, map, &limits, &names, out);
	probe_count(probe, &counts);
	g_string_append_printf(out,
		"# %" PRIu64 " events, %" PRIu64 " missed, %" PRIu64 " filtered, %" PRIu64 " keys dropped\n",
		counts.events, counts.missed, counts.filtered, counts.keys_dropped);
	if (counts.lost)
		g_string_append_printf(out, "# %" PRIu64 " messages lost\n", counts.lost);
	if (!probe_is_on(probe))
		g_string_append(out, "# off\n");
	print_text(probe, out);
}

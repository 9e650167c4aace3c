/* SPDX-License-Identifier: MIT */
/* Programs of a unit: made, loaded and attached. */
#include "probes/attach.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/map.h"
#include "bpf/perf_link.h"
#include "bpf/program.h"
#include "probes/elf_symbols.h"
#include "sys/cpu.h"

/* Numbers of system calls are below this on every machine. */
#define CALLS_MAX 1024u

void attached_init(struct attached *attached)
{
	*attached = (struct attached){ .programs = g_array_new(FALSE, FALSE, sizeof(int)),
		.links = g_array_new(FALSE, FALSE, sizeof(int)),
		.maps = g_array_new(FALSE, FALSE, sizeof(int)) };
}

static void close_all(GArray **fds)
{
	if (!*fds)
		return;
	for (guint i = 0; i < (*fds)->len; i++)
		close(g_array_index(*fds, int, i));
	g_array_unref(*fds);
	*fds = NULL;
}

void attached_fini(struct attached *attached)
{
	close_all(&attached->links);
	close_all(&attached->programs);
	close_all(&attached->maps);
}

/* ---- loading ----------------------------------------------------------------------------------- */

/* What is being attached. */
struct attaching {
	const struct attach_machine *machine;
	struct gen_env *env;
	const struct ast_unit *unit;
	const struct ast_target *target; /* the one that is made now */
	struct attached *attached;
	struct err *err;
	guint outputs; /* of the table before this unit: all its programs have the same */
};

static int create_scratch(struct attaching *attaching, uint32_t bytes, int *fd)
{
	const struct map_spec spec = { .type = BPF_MAP_TYPE_PERCPU_ARRAY, .name = "kp_scratch",
		.key_bytes = 4,
		.value_bytes = (bytes + 7) / 8 * 8, .entries = 1 };
	int ret = map_create(&spec, fd, attaching->err);

	if (!ret)
		g_array_append_val(attaching->attached->maps, *fd);
	return ret;
}

static void forget_outputs(struct attaching *attaching)
{
	g_ptr_array_set_size(attaching->env->outputs->items, (gint)attaching->outputs);
}

/* Makes the instructions: twice if they need memory besides the stack. */
static int make(struct attaching *attaching, const struct gen_source *source, struct emit *emit)
{
	uint32_t bytes = 0;
	int scratch = -1, ret;

	forget_outputs(attaching);
	ret = gen_unit(attaching->env, attaching->unit, source, scratch, &bytes, emit, attaching->err);
	if (ret || !bytes)
		return ret;
	emit_fini(emit);
	forget_outputs(attaching);
	ret = create_scratch(attaching, bytes, &scratch);
	if (ret) {
		emit_init(emit, attaching->env->machine);
		return ret;
	}
	return gen_unit(attaching->env, attaching->unit, source, scratch, &bytes, emit, attaching->err);
}

static int load(struct attaching *attaching, const struct gen_source *source, const struct program_spec *spec,
	int *program)
{
	struct emit emit;
	int ret = make(attaching, source, &emit);

	if (!ret)
		ret = program_load(spec, &emit.code, program, attaching->err);
	emit_fini(&emit);
	if (!ret)
		g_array_append_val(attaching->attached->programs, *program);
	return ret;
}

static void keep_link(struct attaching *attaching, int link)
{
	g_array_append_val(attaching->attached->links, link);
}

static struct gen_source source_of(const struct attaching *attaching, enum gen_context context)
{
	return (struct gen_source){ .context = context, .targets = -1,
		.target = attaching->target->number };
}

/* ---- tracepoints ------------------------------------------------------------------------------- */

static int attach_raw(struct attaching *attaching, struct gen_source *source, const char *tracepoint)
{
	struct program_spec spec = { .name = "kp_probe", .type = BPF_PROG_TYPE_TRACING,
		.attach = BPF_TRACE_RAW_TP };
	struct types_function function;
	int program, link, ret;

	if (!attaching->machine->types || types_tracepoint(attaching->machine->types, tracepoint, &function))
		return err_set(attaching->err, EOPNOTSUPP,
			"this kernel does not describe the tracepoint '%s'", tracepoint);
	spec.attach_type_id = function.type;
	ret = load(attaching, source, &spec, &program);
	if (!ret)
		ret = program_attach_tracing(program, &link, attaching->err);
	if (!ret)
		keep_link(attaching, link);
	return ret;
}

static int attach_classic(struct attaching *attaching)
{
	const struct program_spec spec = { .name = "kp_probe", .type = BPF_PROG_TYPE_TRACEPOINT };
	const struct ast_target *target = attaching->target;
	struct gen_source source = source_of(attaching, GEN_RECORD);
	g_autofree struct targets_format *format = g_new(struct targets_format, 1);
	int program, link, ret;

	ret = targets_format(attaching->machine->targets, target->system, target->name, format,
		attaching->err);
	if (!ret)
		ret = load(attaching, &source, &spec, &program);
	if (!ret)
		ret = program_attach_tracepoint(program, format->id, &link, attaching->err);
	if (!ret)
		keep_link(attaching, link);
	return ret;
}

/* The system call of a tracepoint, and whether it is its entry; -ENOENT if it is none. */
static int call_of(const struct attaching *attaching, const struct ast_target *target, bool *enters)
{
	static const char enter[] = "sys_enter_", leave[] = "sys_exit_";
	const struct attach_hooks *hooks = attaching->machine->hooks;
	const char *name = NULL;

	if (strcmp(target->system, "syscalls") != 0 || !hooks || !hooks->call_number)
		return -ENOENT;
	*enters = g_str_has_prefix(target->name, enter);
	if (*enters)
		name = target->name + strlen(enter);
	else if (g_str_has_prefix(target->name, leave))
		name = target->name + strlen(leave);
	return name ? hooks->call_number(hooks->arg, name) : -ENOENT;
}

/* The targets by their numbers; those that are no system calls are left to attach_classic(). */
static int fill_calls(struct attaching *attaching, bool enters, int *fd)
{
	const struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_calls", .key_bytes = 4,
		.value_bytes = 4, .entries = CALLS_MAX };
	int ret = map_create(&spec, fd, attaching->err);

	if (ret)
		return ret;
	g_array_append_val(attaching->attached->maps, *fd);
	for (const struct ast_target *target = attaching->unit->targets; target && !ret;
		target = target->next) {
		bool is_entry;
		int number = call_of(attaching, target, &is_entry);
		uint32_t value = target->number + 1;

		if (number >= 0 && is_entry == enters)
			ret = map_update(*fd, &number, &value, BPF_ANY);
	}
	return ret ? err_set(attaching->err, -ret, "a map can't be filled: %s", strerror(-ret)) : 0;
}

/* One program for all system calls of the unit: it runs at each call on the machine. */
static int attach_calls(struct attaching *attaching, bool enters, uint32_t count)
{
	struct gen_source source = source_of(attaching, enters ? GEN_SYSCALL_ENTER : GEN_SYSCALL_EXIT);
	bool is_entry;
	int ret = 0;

	if (count == 1)
		source.call = call_of(attaching, attaching->target, &is_entry);
	else
		ret = fill_calls(attaching, enters, &source.targets);
	return ret ? ret : attach_raw(attaching, &source, enters ? "sys_enter" : "sys_exit");
}

static int attach_tracepoints(struct attaching *attaching)
{
	const struct ast_target *first[2] = { NULL, NULL }, *target;
	uint32_t counts[2] = { 0, 0 };
	bool enters;
	int ret = 0;

	for (target = attaching->unit->targets; target && !ret; target = target->next) {
		attaching->target = target;
		if (call_of(attaching, target, &enters) < 0) {
			ret = attach_classic(attaching);
			continue;
		}
		if (!counts[enters]++)
			first[enters] = target;
	}
	for (int i = 0; i < 2 && !ret; i++) {
		attaching->target = first[i];
		if (counts[i])
			ret = attach_calls(attaching, i != 0, counts[i]);
	}
	return ret;
}

static int attach_rawtracepoint(struct attaching *attaching)
{
	struct gen_source source = source_of(attaching, GEN_WORDS);

	return attach_raw(attaching, &source, attaching->target->name);
}

/* ---- functions --------------------------------------------------------------------------------- */

static int attach_function(struct attaching *attaching)
{
	const bool at_exit = attaching->unit->kind == PROBE_FEXIT;
	struct gen_source source = source_of(attaching, at_exit ? GEN_FUNCTION_EXIT : GEN_FUNCTION);
	struct program_spec spec = { .name = "kp_probe", .type = BPF_PROG_TYPE_TRACING,
		.attach = at_exit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY };
	struct types_function function;
	int program, link, ret;

	if (!attaching->machine->types ||
		types_function(attaching->machine->types, attaching->target->name, &function))
		return err_set(attaching->err, EOPNOTSUPP, "this kernel does not describe the function '%s'",
			attaching->target->name);
	spec.attach_type_id = function.type;
	source.params = function.count;
	ret = load(attaching, &source, &spec, &program);
	if (!ret)
		ret = program_attach_tracing(program, &link, attaching->err);
	if (!ret)
		keep_link(attaching, link);
	return ret;
}

static int attach_kprobe(struct attaching *attaching)
{
	const struct program_spec spec = { .name = "kp_probe", .type = BPF_PROG_TYPE_KPROBE };
	struct gen_source source = source_of(attaching, GEN_REGISTERS);
	int program, link, ret = load(attaching, &source, &spec, &program);

	if (!ret)
		ret = perf_link_kprobe(program, attaching->target->name, attaching->target->probe->offset,
			attaching->unit->kind == PROBE_KRETPROBE, &link, attaching->err);
	if (!ret)
		keep_link(attaching, link);
	return ret;
}

/* ---- functions of files ------------------------------------------------------------------------ */

/* A uprobe that is being attached: places that were found already. */
struct file_places {
	struct attaching *attaching;
	const char *path;
	int program;
	GArray *offsets;
};

static int attach_place(void *arg, const char *name, uint64_t offset)
{
	struct file_places *places = arg;
	struct attaching *attaching = places->attaching;
	int link, ret;

	offset += attaching->target->probe->offset;
	for (guint i = 0; i < places->offsets->len; i++)
		if (g_array_index(places->offsets, uint64_t, i) == offset)
			return 0;
	/* the first one is counted as the target */
	if (places->offsets->len && attaching->attached->probes++ >= AST_TARGETS_MAX)
		return ast_fail(attaching->env->ast, attaching->target->probe->place, E2BIG, attaching->err,
			"'%s' has more than %u such functions", places->path, AST_TARGETS_MAX);
	g_array_append_val(places->offsets, offset);
	ret = perf_link_uprobe(places->program, places->path, offset, 0,
		attaching->unit->kind == PROBE_URETPROBE, -1, &link, attaching->err);
	if (!ret)
		keep_link(attaching, link);
	return ret;
}

static int attach_uprobe(struct attaching *attaching)
{
	const struct program_spec spec = { .name = "kp_probe", .type = BPF_PROG_TYPE_KPROBE };
	const struct ast_probe *probe = attaching->target->probe;
	struct gen_source source = source_of(attaching, GEN_REGISTERS);
	g_autofree char *path = elf_symbols_find_file(probe->path);
	g_autoptr(GArray) offsets = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	struct file_places places = { .attaching = attaching, .path = path, .offsets = offsets };
	int ret;

	if (!path)
		return ast_fail(attaching->env->ast, probe->place, ENOENT, attaching->err,
			"there is no program or library '%s'", probe->path);
	ret = load(attaching, &source, &spec, &places.program);
	if (ret)
		return ret;
	if (!probe->name || !probe->name[0])
		return attach_place(&places, "", 0);
	ret = elf_symbols_each(path, probe->name, attach_place, &places, attaching->err);
	if (!ret && !offsets->len)
		ret = ast_fail(attaching->env->ast, probe->place, ENOENT, attaching->err,
			"'%s' has no function '%s'", path, probe->name);
	return ret;
}

/* ---- time -------------------------------------------------------------------------------------- */

/* On each CPU, or on the first one. */
static int attach_event(struct attaching *attaching, const struct perf_link_event *event, bool on_one)
{
	const struct program_spec spec = { .name = "kp_probe", .type = BPF_PROG_TYPE_PERF_EVENT };
	struct gen_source source = source_of(attaching, GEN_PERF);
	unsigned char online[CPU_BITMAP_BYTES];
	int program, link, ret = cpu_read_list(CPU_ONLINE_PATH, online);

	if (ret)
		return err_set(attaching->err, -ret, "the CPUs can't be listed: %s", strerror(-ret));
	ret = load(attaching, &source, &spec, &program);
	for (unsigned int cpu = 0; cpu < CPU_NUMBERS && !ret; cpu++) {
		if (!cpu_in_bitmap(online, cpu))
			continue;
		ret = perf_link_open(program, event, (int)cpu, &link, attaching->err);
		if (ret)
			return ret;
		keep_link(attaching, link);
		if (on_one)
			return 0;
	}
	return ret;
}

static int attach_clock(struct attaching *attaching)
{
	struct perf_link_event event;

	perf_link_clock(attaching->target->probe->period_ns, &event);
	return attach_event(attaching, &event, attaching->unit->kind == PROBE_INTERVAL);
}

static int attach_counter(struct attaching *attaching)
{
	const struct attach_hooks *hooks = attaching->machine->hooks;
	const struct ast_probe *probe = attaching->target->probe;
	struct perf_link_event event;
	int ret;

	if (!hooks || !hooks->event)
		return err_set(attaching->err, EOPNOTSUPP, "counters are not known here");
	ret = hooks->event(hooks->arg, probe->name, probe->count, &event, attaching->err);
	return ret ? ret : attach_event(attaching, &event, false);
}

/* ---- what the server runs ---------------------------------------------------------------------- */

static int load_own(struct attaching *attaching)
{
	const struct program_spec spec = { .name = "kp_probe", .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	struct gen_source source = source_of(attaching, GEN_NOTHING);
	int program;

	return load(attaching, &source, &spec, &program);
}

int attach_run(const struct attached *attached)
{
	const uint64_t args[1] = { 0 };
	uint32_t result;
	int ret = 0;

	for (guint i = 0; i < attached->programs->len && !ret; i++)
		ret = program_run(g_array_index(attached->programs, int, i), args, 1, &result);
	return ret;
}

/* ---- all kinds --------------------------------------------------------------------------------- */

typedef int attach_one(struct attaching *attaching);

/* How a target of each kind is attached; tracepoints: all at once. */
static attach_one *const attach_kinds[PROBE_KINDS] = {
	[PROBE_BEGIN] = load_own,
	[PROBE_END] = load_own,
	[PROBE_TRACEPOINT] = attach_tracepoints,
	[PROBE_RAWTRACEPOINT] = attach_rawtracepoint,
	[PROBE_KPROBE] = attach_kprobe,
	[PROBE_KRETPROBE] = attach_kprobe,
	[PROBE_FENTRY] = attach_function,
	[PROBE_FEXIT] = attach_function,
	[PROBE_UPROBE] = attach_uprobe,
	[PROBE_URETPROBE] = attach_uprobe,
	[PROBE_PERF] = attach_counter,
	[PROBE_PROFILE] = attach_clock,
	[PROBE_INTERVAL] = attach_clock,
};

int attach_unit(const struct attach_machine *machine, struct gen_env *env, const struct ast_unit *unit,
	struct attached *attached, struct err *err)
{
	struct attaching attaching = { .machine = machine, .env = env, .unit = unit, .attached = attached,
		.err = err, .target = unit->targets, .outputs = env->outputs->items->len };
	attach_one *one = attach_kinds[unit->kind];
	int ret = 0;

	if (!one)
		return ast_fail(env->ast, unit->targets->probe->place, EOPNOTSUPP, err,
			"probes of this kind are not supported yet");
	attached->probes = unit->target_count;
	if (unit->kind == PROBE_TRACEPOINT) {
		ret = one(&attaching);
	} else {
		for (const struct ast_target *target = unit->targets; target && !ret; target = target->next) {
			attaching.target = target;
			ret = one(&attaching);
		}
	}
	return ret;
}

uint64_t attached_missed(const struct attached *attached, uint64_t *run_ns)
{
	uint64_t missed = 0;

	for (guint i = 0; i < attached->programs->len; i++) {
		struct program_counts counts;

		if (program_counts(g_array_index(attached->programs, int, i), &counts))
			continue;
		missed += counts.missed;
		*run_ns += counts.run_ns;
	}
	return missed;
}

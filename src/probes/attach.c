/* SPDX-License-Identifier: MIT */
/* Programs of a unit: made, loaded and attached. */
#include "probes/attach_state.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "bpf/map.h"
#include "bpf/perf_link.h"
#include "bpf/program.h"
#include "bpf/types.h"
#include "sys/cpu.h"

/* Numbers of system calls are below this on every machine. */
#define CALLS_MAX 1024u
/* Sentences of a unit for kperr. */
#define NOTES_MAX 16u

void attached_init(struct attached *attached)
{
	*attached = (struct attached){ .programs = g_array_new(FALSE, FALSE, sizeof(int)),
		.links = g_array_new(FALSE, FALSE, sizeof(int)),
		.maps = g_array_new(FALSE, FALSE, sizeof(int)),
		.notes = g_ptr_array_new_with_free_func(g_free) };
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
	attach_forget_events(attached);
	close_all(&attached->programs);
	close_all(&attached->maps);
	g_clear_pointer(&attached->notes, g_ptr_array_unref);
}

/* ---- loading ----------------------------------------------------------------------------------- */

static int create_scratch(struct attaching *attaching, uint32_t bytes, int *fd)
{
	struct map_spec spec = { .type = BPF_MAP_TYPE_PERCPU_ARRAY, .name = "kp_scratch",
		.key_bytes = 4,
		.value_bytes = (bytes + 7) / 8 * 8, .entries = 1 };
	int ret;

	if (gen_is_preempted(attaching->unit)) {
		spec.type = BPF_MAP_TYPE_ARRAY;
		spec.value_bytes += GEN_SCRATCH_HEAD;
		spec.entries = (uint32_t)map_possible_cpus() * GEN_SCRATCH_PLACES;
	}
	ret = map_create(&spec, fd, attaching->err);

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

/*
 * Whether the kernel counts the runs of such a program that it leaves out since another one runs on that
 * CPU. It never does for samples; for what is attached as a perf event since Linux 6.7, which also brought
 * this field.
 */
static bool counts_missed(const struct attaching *attaching, enum bpf_prog_type type)
{
	const struct types *types = attaching->machine->types;
	struct types_field field;

	if (type == BPF_PROG_TYPE_TRACEPOINT || type == BPF_PROG_TYPE_KPROBE)
		return types && !types_field_of(types, "bpf_link_info", "kprobe_multi.missed", &field, NULL);
	return type != BPF_PROG_TYPE_PERF_EVENT;
}

int attach_load(struct attaching *attaching, const struct gen_source *source, const struct program_spec *spec,
	int *program)
{
	struct emit emit;
	int ret = make(attaching, source, &emit);

	if (!ret)
		ret = program_load(spec, &emit.code, program, attaching->err);
	emit_fini(&emit);
	if (ret)
		return ret;
	g_array_append_val(attaching->attached->programs, *program);
	attaching->attached->uncounted += !counts_missed(attaching, spec->type);
	return 0;
}

struct attach_mark attach_mark(const struct attaching *attaching)
{
	return (struct attach_mark){ attaching->attached->programs->len, attaching->attached->uncounted };
}

void attach_back(struct attaching *attaching, struct attach_mark mark)
{
	GArray *programs = attaching->attached->programs;

	for (guint i = mark.programs; i < programs->len; i++)
		close(g_array_index(programs, int, i));
	g_array_set_size(programs, mark.programs);
	attaching->attached->uncounted = mark.uncounted;
}

void attach_note(struct attaching *attaching, const char *format, ...)
{
	GPtrArray *notes = attaching->attached->notes;
	va_list args;

	va_start(args, format);
	if (notes->len < NOTES_MAX)
		g_ptr_array_add(notes, g_strdup_vprintf(format, args));
	else if (notes->len == NOTES_MAX)
		g_ptr_array_add(notes, g_strdup("further functions are attached in other ways too"));
	va_end(args);
}

void attach_keep_link(struct attaching *attaching, int link)
{
	g_array_append_val(attaching->attached->links, link);
}

struct gen_source attach_source(const struct attaching *attaching, enum gen_context context)
{
	return (struct gen_source){ .context = context, .targets = -1,
		.target = attaching->target->number };
}

uint32_t attach_pointers(const struct types_function *function)
{
	uint32_t pointers = 0;

	for (uint32_t i = 0; i < function->count; i++)
		if (function->params[i].value.class == TYPES_POINTER)
			pointers |= 1u << types_slot(function, i);
	if (function->result.value.class == TYPES_POINTER)
		pointers |= 1u << types_slot(function, function->count);
	return pointers;
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
	source->pointers = attach_pointers(&function);
	ret = attach_load(attaching, source, &spec, &program);
	if (!ret)
		ret = program_attach_tracing(program, &link, attaching->err);
	if (!ret)
		attach_keep_link(attaching, link);
	return ret;
}

static int attach_classic(struct attaching *attaching)
{
	const struct program_spec spec = { .name = "kp_probe", .type = BPF_PROG_TYPE_TRACEPOINT };
	const struct ast_target *target = attaching->target;
	struct gen_source source = attach_source(attaching, GEN_RECORD);
	g_autofree struct targets_format *format = g_new(struct targets_format, 1);
	int program, link, ret;

	ret = targets_format(attaching->machine->targets, target->system, target->name, format,
		attaching->err);
	if (!ret)
		ret = attach_load(attaching, &source, &spec, &program);
	if (!ret)
		ret = program_attach_tracepoint(program, format->id, &link, attaching->err);
	if (!ret)
		attach_keep_link(attaching, link);
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
	struct gen_source source = attach_source(attaching, enters ? GEN_SYSCALL_ENTER : GEN_SYSCALL_EXIT);
	bool is_entry;
	int ret = 0;

	source.is_alone = count == attaching->unit->target_count;
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
	struct gen_source source = attach_source(attaching, GEN_WORDS);

	return attach_raw(attaching, &source, attaching->target->name);
}

/* ---- time -------------------------------------------------------------------------------------- */

/* On each CPU, or on the first one. */
static int attach_event(struct attaching *attaching, const struct perf_link_event *event, bool on_one)
{
	const struct program_spec spec = { .name = "kp_probe", .type = BPF_PROG_TYPE_PERF_EVENT };
	struct gen_source source = attach_source(attaching, GEN_PERF);
	unsigned char online[CPU_BITMAP_BYTES];
	int program, link, ret = cpu_read_list(CPU_ONLINE_PATH, online);

	if (ret)
		return err_set(attaching->err, -ret, "the CPUs can't be listed: %s", strerror(-ret));
	ret = attach_load(attaching, &source, &spec, &program);
	for (unsigned int cpu = 0; cpu < CPU_NUMBERS && !ret; cpu++) {
		if (!cpu_in_bitmap(online, cpu))
			continue;
		ret = perf_link_open(program, event, (int)cpu, &link, attaching->err);
		if (ret)
			return ret;
		attach_keep_link(attaching, link);
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
	struct gen_source source = attach_source(attaching, GEN_NOTHING);
	int program;

	attaching->attached->is_own = true;
	return attach_load(attaching, &source, &spec, &program);
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

/* How a target of each kind is attached; of some kinds all at once. */
static attach_one *const attach_kinds[PROBE_KINDS] = {
	[PROBE_BEGIN] = load_own,
	[PROBE_END] = load_own,
	[PROBE_TRACEPOINT] = attach_tracepoints,
	[PROBE_RAWTRACEPOINT] = attach_rawtracepoint,
	[PROBE_KPROBE] = attach_kprobes,
	[PROBE_KRETPROBE] = attach_kprobes,
	[PROBE_FENTRY] = attach_function,
	[PROBE_FEXIT] = attach_function,
	[PROBE_UPROBE] = attach_in_file,
	[PROBE_URETPROBE] = attach_in_file,
	[PROBE_USDT] = attach_in_file,
	[PROBE_EVENT] = attach_events,
	[PROBE_PERF] = attach_counter,
	[PROBE_PROFILE] = attach_clock,
	[PROBE_INTERVAL] = attach_clock,
};

/* Programs name the functions of several versions of a library: those that are missing are left out. */
static bool may_miss(const struct ast_unit *unit)
{
	return unit->kind == PROBE_UPROBE || unit->kind == PROBE_URETPROBE || unit->kind == PROBE_USDT;
}

static int attach_each(struct attaching *attaching, attach_one *one)
{
	struct err first = { "" }, *const err = attaching->err;
	uint32_t missing = 0;
	int ret = 0;

	for (const struct ast_target *target = attaching->unit->targets; target && !ret;
		target = target->next) {
		attaching->target = target;
		attaching->err = missing ? err : &first;
		ret = one(attaching);
		if (ret == -ENOENT && may_miss(attaching->unit)) {
			attach_note(attaching, "there is no %s: it is left out", target->text);
			missing++;
			ret = 0;
		} else if (ret && !missing) {
			err_set(err, -ret, "%s", first.text);
		}
	}
	attaching->err = err;
	attaching->attached->probes -= missing;
	if (!ret && missing == attaching->unit->target_count)
		ret = err_set(err, ENOENT, "%s", first.text);
	return ret;
}

/* Says at which probe it failed, unless the sentence has a place in the text or is too long for one. */
static int add_place(const struct attaching *attaching, int ret)
{
	const struct ast_target *target = attaching->target;
	const struct err why = *attaching->err;

	if (ast_has_place(&why) || strlen(target->text) + strlen(why.text) + 3 > ERR_TEXT_MAX / 2)
		return ret;
	return ast_fail(attaching->env->ast, target->probe->place, -ret, attaching->err, "%s: %s",
		target->text, why.text);
}

int attach_unit(const struct attach_machine *machine, struct gen_env *env, const struct ast_unit *unit,
	struct attached *attached, struct err *err)
{
	struct attaching attaching = { .machine = machine, .env = env, .unit = unit, .attached = attached,
		.err = err, .target = unit->targets, .outputs = env->outputs->items->len };
	attach_one *one = attach_kinds[unit->kind];
	int ret;

	attached->probes = unit->target_count;
	attached->file_links = machine->links;
	attached->group = machine->group;
	ret = one == attach_tracepoints || one == attach_kprobes || one == attach_events ?
		one(&attaching) : attach_each(&attaching, one);
	return ret ? add_place(&attaching, ret) : 0;
}

void attached_count(const struct attached *attached, struct attached_counts *sums)
{
	uint32_t unknown = attached->uncounted;

	for (guint i = 0; i < attached->programs->len; i++) {
		struct program_counts counts;

		if (program_counts(g_array_index(attached->programs, int, i), &counts))
			continue;
		sums->missed += counts.missed;
		sums->run_ns += counts.run_ns;
		sums->runs_measured += counts.run_count;
		if (!counts.knows_missed)
			unknown = attached->programs->len;
	}
	for (guint i = 0; i < attached->links->len; i++) {
		uint64_t missed;

		/* links that do not tell it belong to programs whose missed runs are reported as not known */
		if (!program_link_missed(g_array_index(attached->links, int, i), &missed))
			sums->missed += missed;
	}
	if (attached->is_own)
		return;
	sums->unknown += unknown;
	sums->known += attached->programs->len - unknown;
}

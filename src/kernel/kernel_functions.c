/* SPDX-License-Identifier: MIT */
/* The switches of functions of the kernel. */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kernel/function.h"
#include "kernel/functionprogram.h"
#include "sys/kallsyms.h"

/* As in the names of switches. */
static const char prefix[] = "function:";

bool kernel_is_function(const char *name)
{
	return g_str_has_prefix(name, prefix) && function_is_name(name + strlen(prefix));
}

bool kernel_has_function(const char *name)
{
	struct function *function;
	int btf_fd;

	if (!kernel_is_function(name) || function_find(name + strlen(prefix), &function, &btf_fd, NULL, NULL))
		return false;
	function_destroy(function);
	if (btf_fd >= 0)
		close(btf_fd);
	return true;
}

void kernel_list_functions(struct kernel *kernel, GPtrArray *names)
{
	GHashTableIter iter;
	void *name;

	pthread_mutex_lock(&kernel->lock);
	g_hash_table_iter_init(&iter, kernel->settings);
	while (g_hash_table_iter_next(&iter, &name, NULL))
		if (kernel_is_function(name))
			g_ptr_array_add(names, g_strdup(name));
	pthread_mutex_unlock(&kernel->lock);
}

char *kernel_format_function(struct kernel *kernel, const char *name, struct function **function)
{
	const struct kernel_meaning *last = NULL;
	char *format;

	/* the last one, if it was described in several ways */
	pthread_mutex_lock(&kernel->lock);
	for (guint i = 0; i < kernel->points->len; i++) {
		const struct kernel_meaning *meaning = g_ptr_array_index(kernel->points, i);

		/* one that could not be restored is not there */
		if (meaning && strcmp(meaning->label, name) == 0)
			last = meaning;
	}
	format = g_strdup(last ? last->format : "");
	*function = last && last->function ? function_copy(last->function) : NULL;
	pthread_mutex_unlock(&kernel->lock);
	return format;
}

/* ---- what its records mean ---------------------------------------------------------------------- */

/* The flags that make another format, in the order of kernel_meaning.variants. */
static const uint32_t variant_flags[KERNEL_VARIANTS] = {
	KERNEL_RECORD_NO_ENTRY, KERNEL_RECORD_NO_ENTRY | KERNEL_RECORD_NO_ARGS };

static struct kernel_meaning *make_meaning(const char *name, struct function *function, uint32_t flags)
{
	struct kernel_meaning *meaning = g_new0(struct kernel_meaning, 1);

	meaning->label = g_strdup(name);
	meaning->format = function_format(function, flags);
	meaning->format_bytes = (uint32_t)strlen(meaning->format);
	meaning->function = function;
	return meaning;
}

const struct kernel_meaning *kernel_function_meaning(
	const struct kernel_meaning *meaning, const struct kernel_record *record)
{
	uint32_t flags = KERNEL_HEAD_FLAGS(record->head) & (KERNEL_RECORD_NO_ENTRY | KERNEL_RECORD_NO_ARGS);

	for (int i = 0; i < KERNEL_VARIANTS; i++)
		if (flags == variant_flags[i])
			return meaning->variants[i];
	return meaning;
}

/* With its variants. Takes the function. */
static struct kernel_meaning *make_all(const char *name, struct function *function)
{
	struct kernel_meaning *meaning = make_meaning(name, function, 0);

	for (int i = 0; i < KERNEL_VARIANTS; i++)
		meaning->variants[i] = make_meaning(name, function, variant_flags[i]);
	return meaning;
}

struct kernel_meaning *kernel_describe_function(const char *name, bool limited)
{
	struct function *function;
	struct err why = { "" };
	int btf_fd;

	if (function_find(name + strlen(prefix), &function, &btf_fd, &why, NULL))
		return NULL;
	if (btf_fd >= 0)
		close(btf_fd);
	if (limited)
		function_limit(function);
	return make_all(name, function);
}

/* The id of a function's records. Takes the function, also if it fails. */
static int find_id(struct kernel *kernel, const char *name, struct function *function, uint32_t *id,
	struct err *err)
{
	return kernel_add_meaning(kernel, make_all(name, function), id, err);
}

/* ---- attaching ---------------------------------------------------------------------------------- */

/* Why a function that exists can't be attached to: `refusals` is what the kernel said to each way. */
static int explain(const char *name, int error, const char *refusals, struct err *err)
{
	char module[KALLSYMS_MODULE_MAX];

	if (kallsyms_find(NULL, name, module) == -ENOENT)
		return err_set(err, EOPNOTSUPP,
			"the kernel has no code of '%s' any more: it ran when the kernel started (__init), "
			"or is part of the functions that call it", name);
	if (kallsyms_traceable(name) == -ENOENT)
		return err_set(err, EOPNOTSUPP,
			"'%s' can't be recorded: the kernel does not allow tracing of it (it is notrace or "
			"__init: not in available_filter_functions)", name);
	return err_set(err, error == -EPERM || error == -EACCES || error == -ENOMEM ? -error : EOPNOTSUPP,
		"'%s' can't be recorded; %s; a kernel that allows one of them would give it", name, refusals);
}

/* What a switch is to become. */
struct change {
	const char *name; /* of the switch */
	const char *text; /* the filter, or NULL */
	bool stacks;
};

/* The id and the filter, which is to be freed, also if it fails. */
static int choose(struct kernel *kernel, const struct change *change, struct functionprogram_spec *spec,
	struct filter **filter, struct err *err)
{
	int ret = find_id(kernel, change->name, function_copy(spec->function), &spec->id, err);

	*filter = NULL;
	if (!ret && change->text)
		ret = function_filter(spec->function, change->text, filter, err);
	spec->filter = *filter;
	spec->stacks = change->stacks;
	return ret;
}

/* One way. `why` is what the kernel says against it, for which another one may be tried; `err` is final. */
static int try_way(struct kernel *kernel, const struct change *change, struct functionprogram_spec *spec,
	enum function_way way, struct functionprogram **program, struct err *why, struct err *err)
{
	struct functionprogram *made = NULL;
	struct filter *filter;
	int ret = choose(kernel, change, spec, &filter, err);

	if (ret) {
		filter_destroy(filter);
		return ret;
	}
	spec->generation = kernel_choose_generation(kernel, spec->id);
	ret = functionprogram_load(&kernel->machine.emit, spec, way, &made, why);
	filter_destroy(filter);
	if (!ret)
		ret = functionprogram_attach(made, spec->function->name, why);
	if (ret)
		functionprogram_destroy(made);
	else
		*program = made;
	return ret;
}

/*
 * What a return address is replaced by, for kernels whose links do not tell how many returns are dropped. On
 * arm64 it is in a register, and is not looked at.
 */
static uint64_t find_return_hook(struct kernel *kernel)
{
#if defined(__x86_64__)
	static const char *const names[] = { "arch_rethook_trampoline", "__kretprobe_trampoline",
		"kretprobe_trampoline" };

	if (kernel->machine.emit.links_tell || kernel->machine.emit.memory_refused)
		return 0;
	for (size_t i = 0; i < G_N_ELEMENTS(names) && !kernel->return_hook; i++)
		if (kallsyms_address(NULL, names[i], &kernel->return_hook))
			kernel->return_hook = 0;
#endif
	return kernel->return_hook;
}

/* For kprobes and ftrace: what they do not have. */
static void limit(struct kernel *kernel, struct functionprogram_spec *spec, struct function *function)
{
	function_limit(function);
	spec->return_hook = find_return_hook(kernel);
}

/* Tries the ways in turn. The function may be left with fewer arguments. */
static int attach(struct kernel *kernel, const struct change *change, struct functionprogram_spec *spec,
	struct function *function, struct functionprogram **program, struct err *err)
{
	g_autoptr(GString) refusals = g_string_new(NULL);
	int ret, first = 0;

	for (int way = 0; way < FUNCTION_WAYS; way++) {
		struct err why = { "" }, final = { "" };

		if (way != FUNCTION_FENTRY)
			limit(kernel, spec, function);
		ret = try_way(kernel, change, spec, (enum function_way)way, program, &why, &final);
		if (!ret)
			return 0;
		if (final.text[0])
			return err_set(err, -ret, "%s", final.text);
		first = first ? first : ret;
		g_string_append_printf(refusals, "%sby %s: %s", way ? "; " : "",
			function_way_name((enum function_way)way), why.text);
	}
	return explain(function->name, first, refusals->str, err);
}

static int create_map(struct kernel *kernel, struct err *err)
{
	return kernel->functions >= 0 ? 0 :
		kernel_keep_late_map(kernel, "functions", &functionprogram_map, &kernel->functions, err);
}

/* What it has missed goes over to the sum in one step: readers may count it meanwhile. */
static void detach(struct kernel *kernel, struct kernel_setting *setting)
{
	struct functionprogram *program;

	if (!setting)
		return;
	pthread_mutex_lock(&kernel->lock);
	program = setting->function;
	setting->function = NULL;
	kernel->missed += functionprogram_missed(program);
	pthread_mutex_unlock(&kernel->lock);
	functionprogram_destroy(program);
}

/* Kprobes do not attach again to a module that is loaded again, so a switch has to. */
static bool stays_attached(const struct functionprogram *program, const struct function *function)
{
	char module[KALLSYMS_MODULE_MAX];

	return functionprogram_way(program) == FUNCTION_FENTRY ||
		(!kallsyms_find(NULL, function->name, module) && !module[0]);
}

/* The new programs take the places of the former ones. Not if the function has another description now. */
static int exchange(struct kernel *kernel, const struct change *change,
	const struct functionprogram_spec *spec, const struct kernel_setting *former)
{
	struct functionprogram_spec own = *spec;
	struct function *function;
	struct filter *filter;
	int ret;

	if (!former || !stays_attached(former->function, spec->function))
		return -EOPNOTSUPP;
	function = function_copy(spec->function);
	own.function = function;
	if (functionprogram_way(former->function) != FUNCTION_FENTRY)
		limit(kernel, &own, function);
	ret = choose(kernel, change, &own, &filter, NULL);
	if (!ret && own.id != former->id)
		ret = -EOPNOTSUPP;
	if (!ret) {
		own.generation = kernel_find_generation(kernel, own.id);
		ret = functionprogram_replace(&kernel->machine.emit, &own, former->function, NULL);
	}
	filter_destroy(filter);
	function_destroy(function);
	return ret;
}

/* The new programs take over from the former ones. If they can't, those go on. */
static int replace(struct kernel *kernel, const struct change *change, const struct kernel_choice *choice,
	struct function *function, int btf_fd, struct err *err)
{
	struct functionprogram_spec spec = { .calls = kernel->functions, .function = function,
		.btf_fd = btf_fd };
	struct kernel_setting *setting, *former = kernel_find(kernel, change->name);
	struct functionprogram *program = NULL;
	int ret;

	if (!exchange(kernel, change, &spec, former)) {
		setting = kernel_make_setting(choice);
		setting->function = former->function;
		setting->id = former->id;
		setting->uncounted = former->uncounted;
		kernel_store(kernel, change->name, setting);
		return 0;
	}
	ret = attach(kernel, change, &spec, function, &program, err);
	if (ret)
		return ret;
	setting = kernel_make_setting(choice);
	setting->function = program;
	setting->id = spec.id;
	setting->uncounted = functionprogram_way(program) != FUNCTION_FENTRY &&
		!kernel->machine.emit.links_tell;
	kernel_switch_point(kernel, former, spec.id, spec.generation);
	detach(kernel, former);
	kernel_store(kernel, change->name, setting);
	return 0;
}

int kernel_set_function(struct kernel *kernel, const char *name, const struct kernel_choice *choice,
	struct err *err)
{
	const struct change change = { name, choice->filter, choice->stacks };
	struct kernel_setting *former = kernel_find(kernel, name);
	struct function *function;
	struct err why = { "" };
	int ret, btf_fd;

	if (!choice->on) {
		kernel_switch_point(kernel, former, 0, 0);
		detach(kernel, former);
		if (former && former->uncounted)
			functionprogram_forget(kernel->functions, former->id);
		kernel_store(kernel, name, NULL);
		return 0;
	}
	ret = create_map(kernel, err);
	if (!ret)
		ret = function_find(name + strlen(prefix), &function, &btf_fd, &why, err);
	if (ret)
		return ret;
	ret = replace(kernel, &change, choice, function, btf_fd, err);
	function_destroy(function);
	if (btf_fd >= 0)
		close(btf_fd);
	return ret;
}

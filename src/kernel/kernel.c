/* SPDX-License-Identifier: MIT */
/* Kernel events: their switches, and what readers ask of them. */
#include "kernel/kernel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bell.h"
#include "base/units.h"
#include "bpf/types.h"
#include "kernel/callflags.h"
#include "kernel/kernel_state.h"
#include "sys/clock.h"

static const char all_calls[] = KERNEL_ALL_CALLS;
static const char one_call[] = KERNEL_ONE_CALL;

const struct call_machine kernel_no_machine = { .control = -1, .slots = -1, .others = -1, .texts = -1,
	.execs = -1, .emit = { .chosen = -1, .stacks = -1 } };

void kernel_free_setting(struct kernel_setting *setting)
{
	filter_destroy(setting->filter);
	g_free(setting->text);
	g_free(setting);
}

static void free_setting(void *data)
{
	kernel_free_setting(data);
}

static void free_meaning(void *data)
{
	if (data) /* one that could not be restored */
		kernel_free_meaning(data);
}

struct kernel *kernel_create(uint32_t kb, uint64_t memory_bytes)
{
	struct kernel *kernel = g_new0(struct kernel, 1);

	kernel->kb = kb;
	kernel->memory_bytes = memory_bytes;
	kernel->machine = kernel_no_machine;
	kernel->functions = -1;
	kernel->enabled = true;
	kernel->begun_link = -1;
	callnames_init(&kernel->callnames);
	kernel->calltext = calltext_create();
	pthread_mutex_init(&kernel->changing, NULL);
	pthread_mutex_init(&kernel->lock, NULL);
	kernel->settings = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_setting);
	kernel->points = g_ptr_array_new_with_free_func(free_meaning);
	kernel->calls = g_hash_table_new_full(NULL, NULL, NULL, free_meaning);
	kernel->probes = g_hash_table_new(NULL, NULL);
	g_queue_init(&kernel->ended);
	kernel->retired = g_ptr_array_new_with_free_func(free_meaning);
	kernel->bell = -1;
	return kernel;
}

void kernel_set_bell(struct kernel *kernel, int bell)
{
	kernel->bell = bell;
}

void kernel_forget_settings(struct kernel *kernel)
{
	GHashTableIter iter;
	void *value;

	g_hash_table_iter_init(&iter, kernel->settings);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct kernel_setting *setting = value;

		kernel_close_point(setting);
		functionprogram_destroy(setting->function);
	}
	callprogram_detach(kernel->program);
	kernel_forget_pids(kernel);
	pthread_mutex_lock(&kernel->lock);
	kernel->program = NULL;
	g_hash_table_remove_all(kernel->settings);
	pthread_mutex_unlock(&kernel->lock);
}

void kernel_destroy(struct kernel *kernel)
{
	if (!kernel)
		return;
	kernel_forget_settings(kernel);
	kernel_keep_destroy(kernel);
	kernel_give_back(kernel);
	g_hash_table_unref(kernel->settings);
	g_ptr_array_unref(kernel->points);
	g_hash_table_unref(kernel->calls);
	kernel_retire_probes(kernel);
	g_hash_table_unref(kernel->probes);
	g_ptr_array_unref(kernel->retired);
	calltext_destroy(kernel->calltext);
	pthread_mutex_destroy(&kernel->changing);
	pthread_mutex_destroy(&kernel->lock);
	g_free(kernel);
}

/* ---- settings --------------------------------------------------------------------------------- */

/* With the lock held. */
static void note_use(struct kernel *kernel)
{
	kernel->idle_ns = 0;
	if (kernel->rings && !g_hash_table_size(kernel->settings) && !kernel->pids_text &&
		!kernel->holders)
		kernel->idle_ns = clock_monotonic_ns();
}

void kernel_store(struct kernel *kernel, const char *name, struct kernel_setting *setting)
{
	pthread_mutex_lock(&kernel->lock);
	if (!setting)
		g_hash_table_remove(kernel->settings, name);
	else if (g_hash_table_lookup(kernel->settings, name) != setting)
		g_hash_table_replace(kernel->settings, g_strdup(name), setting);
	note_use(kernel);
	pthread_mutex_unlock(&kernel->lock);
}

void kernel_note_use(struct kernel *kernel)
{
	pthread_mutex_lock(&kernel->lock);
	note_use(kernel);
	pthread_mutex_unlock(&kernel->lock);
}

struct kernel_setting *kernel_find(struct kernel *kernel, const char *name)
{
	struct kernel_setting *setting;

	pthread_mutex_lock(&kernel->lock);
	setting = g_hash_table_lookup(kernel->settings, name);
	pthread_mutex_unlock(&kernel->lock);
	return setting;
}

struct kernel_setting *kernel_make_setting(const struct kernel_choice *choice)
{
	struct kernel_setting *setting = g_new0(struct kernel_setting, 1);

	setting->text = g_strdup(choice->filter);
	setting->stacks = choice->stacks;
	setting->link = setting->program = setting->array = -1;
	return setting;
}

void kernel_count_missed(struct kernel *kernel, uint64_t missed)
{
	pthread_mutex_lock(&kernel->lock);
	kernel->missed += missed;
	pthread_mutex_unlock(&kernel->lock);
}

bool kernel_is_call(const struct kernel *kernel, const char *name)
{
	return strcmp(name, all_calls) == 0 ||
		(g_str_has_prefix(name, one_call) &&
			callnames_find(&kernel->callnames, name + strlen(one_call)) >= 0);
}

bool kernel_has(struct kernel *kernel, const char *name)
{
	return kernel_is_call(kernel, name) || kernel_find(kernel, name) || kernel_has_point(name) ||
		kernel_has_function(name);
}

void kernel_get(struct kernel *kernel, const char *name, GString *out)
{
	const struct kernel_setting *setting;

	pthread_mutex_lock(&kernel->lock);
	setting = g_hash_table_lookup(kernel->settings, name);
	g_string_append(out, !setting ? "0" : setting->stacks ? "1 stack" : "1");
	if (setting && setting->text)
		g_string_append_printf(out, " /%s/", setting->text);
	g_string_append_c(out, '\n');
	pthread_mutex_unlock(&kernel->lock);
}

/* ---- system calls ------------------------------------------------------------------------------ */

/* Adds an argument by its own name. Texts can't be compared: they are copied later. */
static void add_filter_field(const struct callarg *arg, uint32_t number, struct filter_field *field)
{
	bool is_int = arg->kind == CALLARG_INT || callflags_is_int(arg->flags);

	*field = (struct filter_field){ .name = g_strndup(arg->name, arg->name_bytes),
		.source = arg->kind == CALLARG_TEXT ? FILTER_REFUSED : FILTER_ARGUMENT,
		.offset = number, .bytes = is_int ? 4 : 8, .is_signed = is_int };
}

/*
 * The fields of a system call that a filter may name: its own arguments (of one call), arguments by number,
 * result and duration.
 */
static int make_call_filter(
	struct kernel *kernel, const char *name, const char *text, struct filter **filter, struct err *err)
{
	static const struct filter_field all[] = {
		{ .name = "arg0", .source = FILTER_ARGUMENT, .offset = 0, .bytes = 8 },
		{ .name = "arg1", .source = FILTER_ARGUMENT, .offset = 1, .bytes = 8 },
		{ .name = "arg2", .source = FILTER_ARGUMENT, .offset = 2, .bytes = 8 },
		{ .name = "arg3", .source = FILTER_ARGUMENT, .offset = 3, .bytes = 8 },
		{ .name = "arg4", .source = FILTER_ARGUMENT, .offset = 4, .bytes = 8 },
		{ .name = "arg5", .source = FILTER_ARGUMENT, .offset = 5, .bytes = 8 },
		{ .name = "result", .source = FILTER_RESULT },
		{ .name = "retval", .source = FILTER_RESULT },
		{ .name = "duration_ns", .source = FILTER_DURATION },
	};
	struct filter_field fields[CALLARGS_MAX + G_N_ELEMENTS(all)];
	struct callarg args[CALLARGS_MAX], result;
	size_t count = 0;
	int ret, number = -ENOENT;

	if (strcmp(name, all_calls) != 0)
		number = callnames_find(&kernel->callnames, name + strlen(one_call));
	if (number >= 0)
		count = callargs_parse(kernel->callnames.args[number], args, &result);
	for (size_t i = 0; i < count; i++)
		add_filter_field(&args[i], (uint32_t)i, &fields[i]);
	memcpy(fields + count, all, sizeof(all));
	ret = filter_create(text, fields, (uint32_t)(count + G_N_ELEMENTS(all)), filter, err);
	for (size_t i = 0; i < count; i++)
		g_free((char *)fields[i].name);
	return ret;
}

/* What is recorded of each call: NULL if it is not, `plain` without a filter. */
struct call_choice {
	const struct filter *filters[CALLNAMES_NUMBERS];
	bool on[CALLNAMES_NUMBERS], stacks[CALLNAMES_NUMBERS];
	bool any, compat, filtered, stacked;
};

const struct kernel_setting *kernel_call_setting(struct kernel *kernel, unsigned int number)
{
	g_autofree char *name = g_strconcat(one_call, kernel->callnames.names[number], NULL);
	const struct kernel_setting *one = g_hash_table_lookup(kernel->settings, name);

	return one ? one : g_hash_table_lookup(kernel->settings, all_calls);
}

static void choose_calls(struct kernel *kernel, const char *changed, const struct kernel_setting *setting,
	bool on, struct call_choice *choice)
{
	const struct kernel_setting *all = strcmp(changed, all_calls) == 0 ? (on ? setting : NULL) :
									    kernel_find(kernel, all_calls);

	memset(choice, 0, sizeof(*choice));
	choice->compat = all && !all->filter;
	for (unsigned int i = 0; i < CALLNAMES_NUMBERS; i++) {
		g_autofree char *name = g_strconcat(one_call, kernel->callnames.names[i], NULL);
		const struct kernel_setting *one = strcmp(changed, name) == 0 ? (on ? setting : NULL) :
									       kernel_find(kernel, name);

		if (!one)
			one = all;
		choice->on[i] = one != NULL;
		choice->filters[i] = one ? one->filter : NULL;
		choice->any |= one != NULL;
		choice->stacks[i] = one && one->stacks;
		choice->filtered |= choice->filters[i] != NULL;
		choice->stacked |= choice->stacks[i];
	}
}

/* Each call is recorded by the programs of this generation from here on: the others do so no more. */
static void apply_choice(struct kernel *kernel, const struct call_choice *choice, uint8_t generation)
{
	for (unsigned int i = 0; i < CALLNAMES_NUMBERS; i++) {
		struct call_settings *call = &kernel->control->calls[i];

		atomic_plain_write_release(&call->stacks, choice->stacks[i]);
		atomic_plain_write_release(&call->generation, choice->on[i] ? generation : 0);
	}
	atomic_plain_write_release(&kernel->control->compat, choice->compat);
}

/* Of those that are recorded from now on, and were not: calls that began before are not known. */
static void note_begins(struct kernel *kernel, const struct call_choice *before,
	const struct call_choice *choice, uint64_t now_ns)
{
	pthread_mutex_lock(&kernel->lock);
	for (unsigned int i = 0; i < CALLNAMES_NUMBERS; i++)
		if (choice->on[i] && !before->on[i])
			kernel->calls_since_ns[i] = now_ns;
	if (choice->compat && !before->compat)
		kernel->compat_since_ns = now_ns;
	pthread_mutex_unlock(&kernel->lock);
}

static void detach_calls(struct kernel *kernel, struct callprogram *program)
{
	uint64_t missed = callprogram_missed(program);

	callprogram_detach(program);
	kernel_count_missed(kernel, missed);
}

/* New programs take over from the old ones between two system calls. */
static int replace_program(struct kernel *kernel, const struct call_choice *choice, struct err *err)
{
	const uint8_t generation = (uint8_t)(kernel->generation % UINT8_MAX + 1);
	struct callprogram *program = NULL, *old = kernel->program;
	struct types *types;
	int ret = 0;

	if (choice->any) {
		ret = types_open(NULL, &types, err);
		if (ret)
			return ret;
		ret = callprogram_attach(&kernel->machine, types, choice->filtered ? choice->filters : NULL,
			choice->stacked, generation, &program, err);
		types_close(types);
	}
	if (ret)
		return ret;
	apply_choice(kernel, choice, generation);
	kernel->generation = generation;
	pthread_mutex_lock(&kernel->lock);
	kernel->program = program;
	pthread_mutex_unlock(&kernel->lock);
	detach_calls(kernel, old);
	return 0;
}

int kernel_set_call(struct kernel *kernel, const char *name, const struct kernel_choice *wanted,
	struct err *err)
{
	struct kernel_setting *setting = NULL;
	g_autofree struct call_choice *choice = g_new(struct call_choice, 1), *before =
		g_new(struct call_choice, 1);
	int ret = 0;

	if (wanted->on) {
		setting = kernel_make_setting(wanted);
		if (wanted->filter)
			ret = make_call_filter(kernel, name, wanted->filter, &setting->filter, err);
	}
	if (!ret && !kernel_keep_is_restoring(kernel)) {
		choose_calls(kernel, "", NULL, false, before);
		choose_calls(kernel, name, setting, wanted->on, choice);
		note_begins(kernel, before, choice, clock_monotonic_ns());
		if (kernel->instance)
			ret = kernel_trace_calls(kernel, choice->on, choice->filters, err);
		else if (!kernel->program || !choice->any || before->filtered || choice->filtered ||
			before->stacked != choice->stacked)
			ret = replace_program(kernel, choice, err);
		else
			apply_choice(kernel, choice, kernel->generation);
	}
	if (ret) {
		if (setting)
			kernel_free_setting(setting);
		return ret;
	}
	kernel_store(kernel, name, setting);
	return 0;
}

int kernel_apply_calls(struct kernel *kernel, struct err *err)
{
	g_autofree struct call_choice *choice = g_new(struct call_choice, 1), *before =
		g_new0(struct call_choice, 1);
	int ret = 0;

	choose_calls(kernel, "", NULL, false, choice);
	note_begins(kernel, before, choice, clock_monotonic_ns());
	if (choice->stacked)
		ret = kernel_prepare_stacks(kernel, err);
	return ret ? ret : replace_program(kernel, choice, err);
}

/* ---- all events ------------------------------------------------------------------------------- */

void kernel_apply_enabled(struct kernel *kernel)
{
	enum emit_enabled enabled = kernel->pids_text ? EMIT_ONLY_CHOSEN : EMIT_ALL;

	/* the memory stays until the rings are given back, under the same lock */
	if (kernel->instance)
		instance_enable(kernel->instance, kernel->enabled);
	else if (kernel->rings)
		atomic_plain_write_release(&kernel->control->enabled,
			(uint8_t)(kernel->enabled ? enabled : EMIT_NOTHING));
}

void kernel_enable(struct kernel *kernel, bool on)
{
	pthread_mutex_lock(&kernel->lock);
	kernel->enabled = on;
	kernel->enabled_since_ns = clock_monotonic_ns();
	kernel_apply_enabled(kernel);
	pthread_mutex_unlock(&kernel->lock);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void kernel_list(struct kernel *kernel, GPtrArray *names)
{
	g_ptr_array_add(names, g_strdup(all_calls));
	for (unsigned int i = 0; i < CALLNAMES_NUMBERS; i++)
		if (kernel->callnames.names[i])
			g_ptr_array_add(names, g_strconcat(one_call, kernel->callnames.names[i], NULL));
	kernel_list_points(names);
	kernel_list_functions(kernel, names);
	qsort(names->pdata, names->len, sizeof(*names->pdata), compare_names);
}

/* ---- memory and counts ------------------------------------------------------------------------- */

unsigned int kernel_expires_in(struct kernel *kernel)
{
	uint64_t passed_s;
	unsigned int left = 0;

	pthread_mutex_lock(&kernel->lock);
	/* without a reader: the last one rings the bell */
	if (kernel->idle_ns && !kernel->readers) {
		passed_s = (clock_monotonic_ns() - kernel->idle_ns) / NSEC_PER_SEC;
		left = passed_s >= KERNEL_KEPT_S ? 1 : KERNEL_KEPT_S - (unsigned int)passed_s;
	}
	pthread_mutex_unlock(&kernel->lock);
	return left;
}

void kernel_expire(struct kernel *kernel)
{
	bool is_due;

	/* a switch is being changed, which may take long: the caller asks again in a second */
	if (pthread_mutex_trylock(&kernel->changing))
		return;
	pthread_mutex_lock(&kernel->lock);
	is_due = kernel->idle_ns && !kernel->readers && !kernel->holders &&
		clock_monotonic_ns() - kernel->idle_ns >= KERNEL_KEPT_S * NSEC_PER_SEC;
	pthread_mutex_unlock(&kernel->lock);
	if (is_due)
		kernel_give_back(kernel);
	pthread_mutex_unlock(&kernel->changing);
}

struct rings *kernel_get_rings(struct kernel *kernel)
{
	struct rings *rings;

	pthread_mutex_lock(&kernel->lock);
	rings = kernel->rings;
	kernel->readers += rings != NULL;
	pthread_mutex_unlock(&kernel->lock);
	return rings;
}

void kernel_put_rings(struct kernel *kernel, struct rings *rings)
{
	bool may_expire;

	pthread_mutex_lock(&kernel->lock);
	kernel->readers -= rings != NULL;
	may_expire = !kernel->readers && kernel->idle_ns;
	pthread_mutex_unlock(&kernel->lock);
	if (may_expire && kernel->bell >= 0)
		bell_ring(kernel->bell);
}

void kernel_gather(struct kernel *kernel)
{
	struct instance *instance;

	pthread_mutex_lock(&kernel->lock);
	instance = kernel->instance;
	pthread_mutex_unlock(&kernel->lock);
	if (instance)
		instance_gather(instance);
}

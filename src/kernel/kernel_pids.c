/* SPDX-License-Identifier: MIT */
/* events/kernel/pids: the processes whose events are recorded. */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "bpf/map.h"
#include "bpf/types.h"
#include "kernel/pidprogram.h"
#include "sys/clock.h"
#include "sys/proc.h"

static const char all[] = "all";
static const char from_exec[] = "exec";

#define THREADS_OF "/proc/%u/task"

/* How often the threads of a process are looked at, if each time some have been started meanwhile. */
#define LOOKS_MAX 100

static int ignore(void *arg, pid_t tid)
{
	return 0;
}

/* ---- texts ------------------------------------------------------------------------------------- */

/* "PID[,PID...]" or "exec PID", of processes that exist: appends uint32_t. */
static int parse_pids(const char *text, GArray *pids, bool *at_exec, struct err *err)
{
	g_auto(GStrv) words = NULL;

	*at_exec = g_str_has_prefix(text, from_exec) && text[strlen(from_exec)] == ' ';
	words = g_strsplit(text + (*at_exec ? strlen(from_exec) + 1 : 0), ",", -1);
	for (char **word = words; *word; word++) {
		char path[64];
		uint64_t pid;
		uint32_t kept;

		if (units_parse_u64(*word, &pid) || !pid || pid > INT32_MAX)
			return err_set(err, EINVAL, "'%s' is no number of a process", *word);
		kept = (uint32_t)pid;
		snprintf(path, sizeof(path), THREADS_OF, kept);
		if (proc_list(path, ignore, NULL))
			return err_set(err, ESRCH, "there is no process %u", kept);
		g_array_append_val(pids, kept);
	}
	return 0;
}

void kernel_get_pids(struct kernel *kernel, GString *out)
{
	pthread_mutex_lock(&kernel->lock);
	g_string_append_printf(out, "%s\n", kernel->pids_text ? kernel->pids_text : all);
	pthread_mutex_unlock(&kernel->lock);
}

/* ---- the map ----------------------------------------------------------------------------------- */

struct adding {
	int map;
	uint32_t value;
	bool any; /* one was added that was not there */
	int ret;
};

static int add_thread(void *arg, pid_t tid)
{
	struct adding *adding = arg;
	const uint32_t key = (uint32_t)tid;
	const int ret = map_update(adding->map, &key, &adding->value, BPF_NOEXIST);

	adding->any |= !ret;
	if (ret && ret != -EEXIST)
		adding->ret = ret;
	return adding->ret;
}

/*
 * The threads of a process. What a thread starts after it was added is added by the program at the
 * fork; what it has started before is found here.
 */
static int add_process(int map, uint32_t pid, bool at_exec)
{
	struct adding adding = { .map = map, .any = true };
	char path[64];

	adding.value = at_exec ? EMIT_CHOSEN_AT_EXEC : EMIT_CHOSEN;
	snprintf(path, sizeof(path), THREADS_OF, pid);
	for (int i = 0; i < LOOKS_MAX && adding.any && !adding.ret; i++) {
		adding.any = false;
		/* a process that has ended meanwhile has no events */
		proc_list(path, add_thread, &adding);
	}
	return adding.ret;
}

static void clear_map(int map)
{
	uint32_t key;
	int ret = 0;

	/* a thread may be removed by its end meanwhile */
	while ((!ret || ret == -ENOENT) && !map_next_key(map, NULL, &key))
		ret = map_delete(map, &key);
}

/* ---- changes ----------------------------------------------------------------------------------- */

/* With `changing` held: `text` is NULL for all. Takes the text. */
static void apply(struct kernel *kernel, char *text)
{
	pthread_mutex_lock(&kernel->lock);
	g_free(kernel->pids_text);
	kernel->pids_text = text;
	/* calls under way of threads that were not recorded before are not known */
	kernel->enabled_since_ns = clock_monotonic_ns();
	kernel_apply_enabled(kernel);
	pthread_mutex_unlock(&kernel->lock);
}

static void choose_all(struct kernel *kernel)
{
	apply(kernel, NULL);
	pidprogram_detach(kernel->pidprogram);
	kernel->pidprogram = NULL;
	if (kernel->machine.emit.chosen >= 0)
		clear_map(kernel->machine.emit.chosen);
}

static int attach(struct kernel *kernel, struct err *err)
{
	struct types *types;
	int ret;

	if (kernel->pidprogram)
		return 0;
	ret = types_open(NULL, &types, err);
	if (ret)
		return ret;
	ret = pidprogram_attach(&kernel->machine.emit, types, offsetof(struct call_control, threads_lost),
		&kernel->pidprogram, err);
	types_close(types);
	return ret;
}

static int choose(struct kernel *kernel, const char *text, struct err *err)
{
	g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	bool at_exec;
	int ret = parse_pids(text, pids, &at_exec, err);

	if (!ret)
		ret = kernel_prepare(kernel, err);
	if (!ret && kernel->instance)
		ret = err_set(err, EOPNOTSUPP, "processes can't be chosen without bpf(2), which needs the "
			"capabilities CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN");
	if (!ret && kernel->machine.emit.own != (uint32_t)getpid())
		ret = err_set(err, EOPNOTSUPP, "processes can't be chosen in a pid namespace, "
			"since the kernel's events have other numbers");
	if (!ret)
		ret = attach(kernel, err);
	if (ret)
		return ret;
	clear_map(kernel->machine.emit.chosen);
	for (guint i = 0; i < pids->len && !ret; i++)
		ret = add_process(kernel->machine.emit.chosen, g_array_index(pids, uint32_t, i), at_exec);
	apply(kernel, g_strdup(text));
	return ret ? err_set(err, -ret, "not all threads can be followed (at most %u): %s",
			     PIDPROGRAM_THREADS_MAX, g_strerror(-ret))
		   : 0;
}

int kernel_set_pids(struct kernel *kernel, const char *text, struct err *err)
{
	g_autofree char *word = g_strstrip(g_strdup(text));
	int ret = 0;

	pthread_mutex_lock(&kernel->changing);
	if (strcmp(word, all) != 0)
		ret = choose(kernel, word, err);
	else if (kernel->pidprogram)
		choose_all(kernel);
	if (!ret)
		ret = kernel_keep_pids(kernel, err);
	kernel_note_use(kernel);
	pthread_mutex_unlock(&kernel->changing);
	return ret;
}

int kernel_restore_pids(struct kernel *kernel, const char *text, struct err *err)
{
	int ret = attach(kernel, err);

	if (ret)
		return ret;
	apply(kernel, g_strdup(text));
	return kernel_keep_pids(kernel, err);
}

void kernel_forget_pids(struct kernel *kernel)
{
	pidprogram_detach(kernel->pidprogram);
	kernel->pidprogram = NULL;
	g_clear_pointer(&kernel->pids_text, g_free);
}

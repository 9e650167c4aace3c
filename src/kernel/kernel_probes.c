/* SPDX-License-Identifier: MIT */
/* What programs of probes/ need of the kernel events: the rings, and a meaning for what they print. */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <string.h>

#include <kprof/ring_abi.h>

#include "base/bell.h"
#include "sys/clock.h"

/* Names of system calls' tracepoints that are those of functions of the kernel, not of the calls. */
static const char *const other_names[][2] = {
	{ "newstat", "stat" }, { "newlstat", "lstat" }, { "newfstat", "fstat" }, { "newuname", "uname" },
	{ "sendfile64", "sendfile" }, { "umount", "umount2" }, { "sysinfo", "sysinfo" },
};

int kernel_hold(struct kernel *kernel, const struct emit_machine **machine, struct err *err)
{
	int ret;

	pthread_mutex_lock(&kernel->changing);
	ret = kernel_prepare(kernel, err);
	if (!ret && kernel->instance)
		ret = err_set(err, EOPNOTSUPP,
			"programs can't be loaded into this kernel: it needs BTF, and the "
			"server CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN");
	if (!ret) {
		pthread_mutex_lock(&kernel->lock);
		kernel->holders++;
		kernel->idle_ns = 0;
		pthread_mutex_unlock(&kernel->lock);
		*machine = &kernel->machine.emit;
	} else {
		/* what was made for it is given back later */
		kernel_note_use(kernel);
	}
	pthread_mutex_unlock(&kernel->changing);
	return ret;
}

void kernel_release(struct kernel *kernel)
{
	pthread_mutex_lock(&kernel->lock);
	kernel->holders--;
	if (!kernel->holders && kernel->rings && !g_hash_table_size(kernel->settings) && !kernel->pids_text)
		kernel->idle_ns = clock_monotonic_ns();
	pthread_mutex_unlock(&kernel->lock);
	if (kernel->bell >= 0)
		bell_ring(kernel->bell);
}

int kernel_call_number(struct kernel *kernel, const char *name)
{
	int number = callnames_find(&kernel->callnames, name);

	for (size_t i = 0; number < 0 && i < G_N_ELEMENTS(other_names); i++)
		if (strcmp(name, other_names[i][0]) == 0)
			number = callnames_find(&kernel->callnames, other_names[i][1]);
	return number;
}

char *kernel_call_tracepoint(const struct kernel *kernel, int number)
{
	const char *name = kernel->callnames.names[number];

	for (size_t i = 0; i < G_N_ELEMENTS(other_names); i++)
		if (strcmp(name, other_names[i][1]) == 0)
			name = other_names[i][0];
	return g_strconcat("syscalls:sys_enter_", name, NULL);
}

void kernel_add_probe(struct kernel *kernel, uint32_t serial, const char *label, struct outputs *outputs)
{
	struct kernel_meaning *meaning = g_new0(struct kernel_meaning, 1);

	meaning->label = g_strdup(label);
	meaning->format = g_strdup("%s");
	meaning->format_bytes = 2;
	meaning->outputs = outputs;
	pthread_mutex_lock(&kernel->lock);
	g_hash_table_insert(kernel->probes, GUINT_TO_POINTER(serial), meaning);
	pthread_mutex_unlock(&kernel->lock);
}

/* With the lock held: no reader finds it any more; it is freed when no reader can have it. */
static void retire(struct kernel *kernel, uint32_t serial)
{
	void *meaning;

	if (!g_hash_table_steal_extended(kernel->probes, GUINT_TO_POINTER(serial), NULL, &meaning))
		return;
	g_ptr_array_add(kernel->retired, meaning);
	if (!kernel->readings)
		g_ptr_array_set_size(kernel->retired, 0);
}

void kernel_end_probe(struct kernel *kernel, uint32_t serial)
{
	const struct kernel_meaning *meaning;

	pthread_mutex_lock(&kernel->lock);
	meaning = g_hash_table_lookup(kernel->probes, GUINT_TO_POINTER(serial));
	if (meaning && !meaning->outputs->items->len)
		retire(kernel, serial);
	else if (meaning)
		g_queue_push_tail(&kernel->ended, GUINT_TO_POINTER(serial));
	while (kernel->ended.length > KERNEL_ENDED_MAX)
		retire(kernel, GPOINTER_TO_UINT(g_queue_pop_head(&kernel->ended)));
	pthread_mutex_unlock(&kernel->lock);
}

void kernel_retire_probes(struct kernel *kernel)
{
	g_autoptr(GList) serials = g_hash_table_get_keys(kernel->probes);

	for (const GList *at = serials; at; at = at->next)
		retire(kernel, GPOINTER_TO_UINT(at->data));
	g_queue_clear(&kernel->ended);
}

void kernel_begin_reading(struct kernel *kernel)
{
	pthread_mutex_lock(&kernel->lock);
	kernel->readings++;
	pthread_mutex_unlock(&kernel->lock);
}

void kernel_end_reading(struct kernel *kernel)
{
	pthread_mutex_lock(&kernel->lock);
	if (!--kernel->readings)
		g_ptr_array_set_size(kernel->retired, 0);
	pthread_mutex_unlock(&kernel->lock);
}

const struct kernel_meaning *kernel_probe_meaning(struct kernel *kernel, uint32_t serial)
{
	const struct kernel_meaning *meaning;

	pthread_mutex_lock(&kernel->lock);
	meaning = g_hash_table_lookup(kernel->probes, GUINT_TO_POINTER(serial));
	pthread_mutex_unlock(&kernel->lock);
	return meaning;
}

/* The number of the output is first. */
bool kernel_prints_addresses(const struct kernel_meaning *meaning, const struct kernel_record *record)
{
	const size_t bytes = KERNEL_HEAD_UNITS(record->head) * sizeof(uint64_t);
	uint64_t output;

	if (!meaning->outputs || bytes < sizeof(*record) + sizeof(output))
		return false;
	memcpy(&output, record + 1, sizeof(output));
	return outputs_have_addresses(meaning->outputs, (uint32_t)output);
}

/* One string, in the form of ring_abi.h. */
uint32_t kernel_describe_probe(const struct kernel_meaning *meaning, const struct kernel_record *record,
	const struct value_names *addresses, GString *args)
{
	const size_t bytes = KERNEL_HEAD_UNITS(record->head) * sizeof(uint64_t) - sizeof(*record);
	const char *body = (const char *)(record + 1);
	struct value_names names = *addresses;
	g_autoptr(GString) text = g_string_new(NULL);
	size_t begin = args->len;
	uint32_t flags = 0;
	uint64_t output;
	uint16_t length;

	names.targets = meaning->outputs->targets;
	if (bytes >= sizeof(output)) {
		memcpy(&output, body, sizeof(output));
		output_print(meaning->outputs, (uint32_t)output, record->time_ns, body + sizeof(output),
			(uint32_t)(bytes - sizeof(output)), &names, text);
	}
	/* each line of the trace ends by itself */
	if (text->len && text->str[text->len - 1] == '\n')
		g_string_truncate(text, text->len - 1);
	else
		flags = KPROF_RECORD_GOES_ON;
	length = (uint16_t)MIN(text->len, KPROF_STRING_NULL - 1);
	g_string_append_len(args, (const char *)&length, sizeof(length));
	g_string_append_len(args, text->str, length);
	while ((args->len - begin) % 8)
		g_string_append_c(args, '\0');
	return flags;
}

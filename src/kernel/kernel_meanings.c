/* SPDX-License-Identifier: MIT */
/* What records of kernel events mean to the readers of the trace. */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <string.h>

#include <kprof/ring_abi.h>

#include "kernel/describe.h"
#include "kernel/function.h"

void kernel_free_meaning(struct kernel_meaning *meaning)
{
	for (int i = 0; i < KERNEL_VARIANTS; i++)
		if (meaning->variants[i])
			kernel_free_meaning(meaning->variants[i]);
	point_destroy(meaning->point);
	if (meaning->variants[0]) /* those have the same function */
		function_destroy(meaning->function);
	outputs_put(meaning->outputs);
	g_free(meaning->label);
	g_free(meaning->format);
	g_free(meaning);
}

const struct kernel_meaning *kernel_point_meaning(struct kernel *kernel, uint32_t id)
{
	const struct kernel_meaning *meaning = NULL;

	pthread_mutex_lock(&kernel->lock);
	if (id >= KERNEL_ID_TRACEPOINTS && id - KERNEL_ID_TRACEPOINTS < kernel->points->len)
		meaning = g_ptr_array_index(kernel->points, id - KERNEL_ID_TRACEPOINTS);
	pthread_mutex_unlock(&kernel->lock);
	return meaning;
}

static bool is_same(const struct kernel_meaning *a, const struct kernel_meaning *b)
{
	if (strcmp(a->label, b->label) != 0 || strcmp(a->format, b->format) != 0 || !a->point != !b->point)
		return false;
	return a->point ? a->point->event == b->point->event : a->function->slots == b->function->slots;
}

int kernel_add_meaning(struct kernel *kernel, struct kernel_meaning *meaning, uint32_t *id, struct err *err)
{
	uint32_t i, count;

	pthread_mutex_lock(&kernel->lock);
	count = kernel->points->len;
	for (i = 0; i < count; i++) {
		const struct kernel_meaning *other = g_ptr_array_index(kernel->points, i);

		if (other && is_same(other, meaning))
			break;
	}
	if (i == count && count < KERNEL_POINTS_MAX)
		g_ptr_array_add(kernel->points, g_steal_pointer(&meaning));
	pthread_mutex_unlock(&kernel->lock);
	if (meaning)
		kernel_free_meaning(meaning);
	if (i == KERNEL_POINTS_MAX)
		return err_set(err, ENOSPC, "%u tracepoints and functions were switched on before",
			KERNEL_POINTS_MAX);
	*id = KERNEL_ID_TRACEPOINTS + i;
	return 0;
}

/* There are few keys: those of the calls that were made, each with some of its formats. */
static const struct kernel_meaning *call_meaning(struct kernel *kernel, uint32_t key)
{
	struct kernel_meaning *meaning;

	pthread_mutex_lock(&kernel->lock);
	meaning = g_hash_table_lookup(kernel->calls, GUINT_TO_POINTER(key));
	if (!meaning) {
		meaning = g_new0(struct kernel_meaning, 1);
		meaning->label = calltext_label(kernel->calltext, key);
		meaning->format = calltext_format(kernel->calltext, key);
		meaning->format_bytes = (uint32_t)strlen(meaning->format);
		meaning->calltext = kernel->calltext;
		meaning->key = key;
		g_hash_table_insert(kernel->calls, GUINT_TO_POINTER(key), meaning);
	}
	pthread_mutex_unlock(&kernel->lock);
	return meaning;
}

static size_t bytes_of(const struct kernel_record *record)
{
	return KERNEL_HEAD_UNITS(record->head) * (size_t)8;
}

const struct kernel_meaning *kernel_meaning(struct kernel *kernel, const struct kernel_record *record)
{
	uint32_t id = KERNEL_HEAD_ID(record->head);

	if (id == KERNEL_ID_PROBE)
		return kernel_probe_meaning(kernel, record->reserved);
	if (id >= KERNEL_ID_TRACEPOINTS) {
		const struct kernel_meaning *meaning = kernel_point_meaning(kernel, id);

		if (!meaning || !meaning->function)
			return meaning;
		return bytes_of(record) < sizeof(*record) + sizeof(struct kernel_function) ?
			NULL : kernel_function_meaning(meaning, record);
	}
	if (bytes_of(record) < sizeof(*record) + sizeof(struct kernel_call))
		return NULL;
	return call_meaning(kernel, calltext_key(kernel->calltext, record, bytes_of(record)));
}

bool kernel_call_duration(const struct kernel_record *record, uint64_t *ns)
{
	const struct kernel_call *call = (const struct kernel_call *)(const void *)(record + 1);

	if (KERNEL_HEAD_ID(record->head) >= KERNEL_ID_TRACEPOINTS ||
		KERNEL_HEAD_FLAGS(record->head) & (KERNEL_RECORD_NO_ENTRY | KERNEL_RECORD_NO_RESULT))
		return false;
	*ns = call->duration_ns;
	return true;
}

bool kernel_duration(const struct kernel_meaning *meaning, const struct kernel_record *record, uint64_t *ns)
{
	const struct kernel_function *function = (const struct kernel_function *)(const void *)(record + 1);

	if (!meaning->function)
		return kernel_call_duration(record, ns);
	if (KERNEL_HEAD_FLAGS(record->head) & KERNEL_RECORD_NO_ENTRY)
		return false;
	*ns = function->duration_ns;
	return true;
}

/* The stack at the end of a record, as ring_abi.h has it; false if there is none. */
static bool add_stack(const struct kernel_record *record, GString *args)
{
	const char *end = (const char *)record + bytes_of(record);
	const uint64_t room = (bytes_of(record) - sizeof(*record)) / sizeof(uint64_t);
	uint64_t count;

	if (!(KERNEL_HEAD_FLAGS(record->head) & KERNEL_RECORD_STACK) || !room)
		return false;
	memcpy(&count, end - sizeof(count), sizeof(count));
	if (count >= room)
		return false;
	g_string_append_len(args, (const char *)&count, sizeof(count));
	g_string_append_len(args, end - (count + 1) * sizeof(count), (gssize)(count * sizeof(count)));
	return true;
}

uint32_t kernel_describe(const struct kernel_meaning *meaning, const struct kernel_record *record,
	const struct value_names *names, GString *args)
{
	uint32_t flags = 0;

	if (meaning->outputs)
		flags = kernel_describe_probe(meaning, record, names, args);
	else if (meaning->point)
		describe_point(meaning->point, record, (uint32_t)bytes_of(record), args);
	else if (meaning->function)
		function_args(meaning->function, record, bytes_of(record), args);
	else
		calltext_args(meaning->calltext, meaning->key, record, bytes_of(record), args);
	return flags | (add_stack(record, args) ? KPROF_RECORD_STACK : 0);
}

/* SPDX-License-Identifier: MIT */
/* What records of kernel events mean to the readers of the trace. */
#include "kernel/kernel_state.h"

#include <string.h>

#include "kernel/describe.h"

void kernel_free_meaning(struct kernel_meaning *meaning)
{
	point_destroy(meaning->point);
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

	if (id >= KERNEL_ID_TRACEPOINTS)
		return kernel_point_meaning(kernel, id);
	if (bytes_of(record) < sizeof(*record) + sizeof(struct kernel_call))
		return NULL;
	return call_meaning(kernel, calltext_key(kernel->calltext, record, bytes_of(record)));
}

bool kernel_duration(const struct kernel_record *record, uint64_t *ns)
{
	const struct kernel_call *call = (const struct kernel_call *)(const void *)(record + 1);

	if (KERNEL_HEAD_ID(record->head) >= KERNEL_ID_TRACEPOINTS ||
		KERNEL_HEAD_FLAGS(record->head) & (KERNEL_RECORD_NO_ENTRY | KERNEL_RECORD_NO_RESULT))
		return false;
	*ns = call->duration_ns;
	return true;
}

void kernel_describe(const struct kernel_meaning *meaning, const struct kernel_record *record, GString *args)
{
	if (meaning->point)
		describe_point(meaning->point, record, (uint32_t)bytes_of(record), args);
	else
		calltext_args(meaning->calltext, meaning->key, record, bytes_of(record), args);
}

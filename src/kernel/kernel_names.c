/* SPDX-License-Identifier: MIT */
/* Names of the addresses that programs of probes/ print: see kernel_names.h. */
#include "kernel/kernel_names.h"

#include <string.h>

#include "kernel/kernel_state.h"

struct kernel_names {
	struct kernel *kernel;
	const struct value_names_ops *ops;
	void *found;
};

void kernel_set_names(struct kernel *kernel, const struct value_names_ops *ops)
{
	kernel->names = ops;
}

struct kernel_names *kernel_names_create(struct kernel *kernel)
{
	struct kernel_names *names;

	if (!kernel || !kernel->names)
		return NULL;
	names = g_new(struct kernel_names, 1);
	names->kernel = kernel;
	names->ops = kernel->names;
	names->found = names->ops->create();
	return names;
}

void kernel_names_destroy(struct kernel_names *names)
{
	if (!names)
		return;
	names->ops->destroy(names->found);
	g_free(names);
}

struct value_names kernel_names_values(const struct kernel_names *names)
{
	return names ? names->ops->values(names->found) : (struct value_names){ 0 };
}

/* Printing asks for the names, which are remembered. */
static void collect(const struct kernel_names *names, const struct kernel_record *record, GString *text)
{
	const struct value_names values = kernel_names_values(names);
	const struct kernel_meaning *meaning;

	if (KERNEL_HEAD_ID(record->head) != KERNEL_ID_PROBE)
		return;
	meaning = kernel_meaning(names->kernel, record);
	if (!meaning || !kernel_prints_addresses(meaning, record))
		return;
	g_string_truncate(text, 0);
	kernel_describe(meaning, record, &values, text);
}

void kernel_names_find(struct kernel_names *names, const GArray *copies, int cancel_fd)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (!names)
		return;
	names->ops->begin(names->found);
	for (guint i = 0; i < copies->len; i++) {
		const struct rings_copy *copy = &g_array_index(copies, struct rings_copy, i);
		const struct kernel_record *record;
		uint64_t at = copy->begin;

		while ((record = rings_next(copy, &at)))
			collect(names, record, text);
	}
	names->ops->resolve(names->found, cancel_fd);
}

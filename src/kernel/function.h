/* SPDX-License-Identifier: MIT */
/*
 * A function of the kernel: its parameters and result, as the kernel's types describe them. A struct
 * function does not change once it is made.
 */
#ifndef KPROFS_KERNEL_FUNCTION_H
#define KPROFS_KERNEL_FUNCTION_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/types.h"
#include "kernel/filter.h"

struct function_value {
	char *name;    /* NULL: a result */
	char *declaration; /* "sock *sk", "int result"; NULL: its type is not known */
	uint32_t slot; /* of its first 8 bytes among the arguments */
	uint32_t bytes; /* 1, 2, 4 or 8; 0: it is not shown, such as a struct */
	bool is_signed, is_pointer;
};

struct function {
	char *name;
	uint32_t type; /* as program_spec has it; 0: the kernel does not describe it */
	uint32_t count;
	struct function_value params[TYPES_PARAMS_MAX];
	struct function_value result; /* bytes is 0 if it has none */
	uint32_t slots; /* of all arguments: a struct may have two */
};

/* Whether text may be the name of a function. */
bool function_is_name(const char *name);

/*
 * Looks for a function in the kernel and its modules. `btf_fd` is of the module's types, -1 for the kernel;
 * the caller closes it. A function that the kernel does not describe has 6 arguments arg0 to arg5, and
 * `why` says what is missing. -ENOENT: there is no such function. Some 20 ms, or 150 if it is in a module.
 */
int function_find(const char *name, struct function **function, int *btf_fd, struct err *why,
	struct err *err);
void function_destroy(struct function *function);
struct function *function_copy(const struct function *function);
/* Leaves out the arguments that are not in the first registers. */
void function_limit(struct function *function);
/* From the kernel's types: for function_find() and tests. */
struct function *function_make(const char *name, const struct types_function *types);

/* The filter of this text. */
int function_filter(const struct function *function, const char *text, struct filter **filter,
	struct err *err);

/*
 * A format as those of programs' events: "sk=%#lx size=%lu = %ld (%.1f us)", for records with these flags,
 * by which arguments and duration may be unknown. To be freed.
 */
char *function_format(const struct function *function, uint32_t flags);
/* Appends the arguments of a record for this format, as ring_abi.h has them. `bytes` bounds the record. */
void function_args(const struct function *function, const struct kernel_record *record, size_t bytes,
	GString *args);

#endif

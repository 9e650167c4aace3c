/* SPDX-License-Identifier: MIT */
/*
 * The types of the running kernel (BTF): fields of structs, parameters of functions, arguments of
 * tracepoints, and constants of enums, found by name.
 *
 * Opening reads and indexes all of it in 15..25 ms and holds some 10 MB, so that an owner opens it
 * for what it makes and closes it afterwards. A `struct types` never changes, so that any threads
 * may read it at the same time. Names that are returned live as long as it. A type is a number, 0
 * is none (void).
 */
#ifndef KPROFS_BPF_TYPES_H
#define KPROFS_BPF_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct types;

/* More parameters than any function of the kernel that can be traced has. */
#define TYPES_PARAMS_MAX 12

/*
 * Reads the types of the running kernel, or those in the raw file `path` if it is not NULL. Returns 0,
 * -ENOENT if the kernel has none (CONFIG_DEBUG_INFO_BTF), -EINVAL if the file is not of that
 * format, -ENOMEM.
 */
int types_open(const char *path, struct types **types, struct err *err);
void types_close(struct types *types);
/*
 * The types that a loaded module of the kernel has besides those of the kernel itself, which must stay
 * open longer. `btf_fd` is for program_spec; the caller closes it. -ENOENT if the module does not
 * describe them.
 */
int types_open_module(const struct types *kernel, const char *module, struct types **types, int *btf_fd,
	struct err *err);

enum types_kind {
	TYPES_STRUCT,   /* and unions */
	TYPES_FUNCTION,
	TYPES_TYPEDEF,
	TYPES_ENUM,
	TYPES_INT,
};

/* The first type of this kind with this name, 0 if there is none. */
uint32_t types_find(const struct types *types, enum types_kind kind, const char *name);
/* The next type of this kind behind type `after` (0: the first), with its name; 0 behind the last. */
uint32_t types_next(const struct types *types, enum types_kind kind, uint32_t after, const char **name);

/* What a type is when typedefs and qualifiers are left out. */
enum types_class {
	TYPES_VOID,
	TYPES_INTEGER, /* bool and characters too */
	TYPES_ENUMERATION,
	TYPES_POINTER,
	TYPES_ARRAY,
	TYPES_COMPOUND, /* struct or union */
	TYPES_OTHER,    /* floating point, functions, types that are only declared */
};

struct types_value {
	enum types_class class;
	uint32_t type;     /* without typedefs and qualifiers */
	uint32_t bytes;    /* 0 if it has no size */
	bool is_signed;
	bool is_char;      /* an integer of one byte that a char is; of an array or pointer: its items are */
	uint32_t item;     /* ARRAY, POINTER: the type of an item */
	uint32_t count;    /* ARRAY: the number of items */
	const char *name;  /* as declared: "pid_t", "task_struct"; of an array or pointer that of its item */
};

void types_value(const struct types *types, uint32_t type, struct types_value *value);

struct types_field {
	uint32_t offset;    /* bytes from the start of the struct; of a bit field those of its unit */
	uint32_t bit_shift; /* bit field: bits to the right of it in its unit of value.bytes, little endian */
	uint32_t bits;      /* bit field: its width; else 0 */
	uint32_t type;
	struct types_value value;
};

/*
 * Finds a field by its path, as the compiler does: `a.b` for a struct within one, and members of unnamed
 * structs by their own name. Pointers are not followed. Returns 0, or -ENOENT with the sentence.
 */
int types_field(const struct types *types, uint32_t structure, const char *path, struct types_field *field,
	struct err *err);
/* The same for a struct by its name. */
int types_field_of(const struct types *types, const char *structure, const char *path,
	struct types_field *field, struct err *err);
/* The offset alone of a field that a program needs: -EOPNOTSUPP with the sentence. */
int types_offset(const struct types *types, const char *structure, const char *path, int *offset,
	struct err *err);
/* Those of several fields. */
struct types_row {
	const char *structure, *path;
	int *offset;
};
int types_offsets(const struct types *types, const struct types_row *rows, size_t count, struct err *err);
/* The named fields of a struct in order, without those of structs within: -ENOENT behind the last. */
int types_field_at(const struct types *types, uint32_t structure, uint32_t index, const char **name,
	struct types_field *field);

struct types_param {
	const char *name; /* "" if the kernel names none */
	uint32_t type;
	struct types_value value;
};

struct types_function {
	uint32_t type; /* of the function, or of the tracepoint: program_spec.attach_type_id */
	uint32_t count;
	struct types_param params[TYPES_PARAMS_MAX];
	struct types_param result; /* class TYPES_VOID if there is none; its name is "" */
};

/* A parameter as it is declared, cut if it is longer: "int flags", "task_struct *prev". */
#define TYPES_DECLARATION_MAX 256u
void types_declare(const struct types_value *value, const char *name, char text[TYPES_DECLARATION_MAX]);

/* A function of the kernel. -ENOENT: there is no such one, -E2BIG: it has too many parameters. */
int types_function(const struct types *types, const char *name, struct types_function *function);
/* The 8-byte words before a parameter, or the result at `count`: a struct may have two. */
uint32_t types_slot(const struct types_function *function, uint32_t param);
/*
 * The arguments of a tracepoint, by its name without the subsystem, as a raw tracepoint has them in its
 * context, 8 bytes each. Names are those of __traceiter_NAME, "" on kernels without these.
 */
int types_tracepoint(const struct types *types, const char *name, struct types_function *tracepoint);

/* The name of an enum's value, NULL if it has none; the value of a name: -ENOENT. */
const char *types_enum_name(const struct types *types, uint32_t type, int64_t value);
int types_enum_value(const struct types *types, uint32_t type, const char *name, int64_t *value);
/* The value of a constant of any enum; it searches all types: some ms. */
int types_constant(const struct types *types, const char *name, int64_t *value);

#endif

/* SPDX-License-Identifier: MIT */
/* The state of a check, and what its files call of each other. */
#ifndef KPROFS_PROBES_CHECK_STATE_H
#define KPROFS_PROBES_CHECK_STATE_H

#include "probes/ast.h"
#include "probes/check.h"

/* Distinct constants of the kernel's enums in one program: each is searched for in all types. */
#define CHECK_CONSTANTS_MAX 256u

struct types;

struct check_constant {
	const char *name;
	int64_t value;
};

/*
 * The units are checked several times: a map may be read before the text that says what it holds. Until
 * nothing changes a type may be unknown (AST_NONE); in the last pass that is an error.
 */
struct check {
	struct ast *ast;
	const struct check_options *options;
	const struct types *types; /* NULL without BTF; then `why_no_types` */
	const char *why_no_types;
	struct err *err;
	struct ast_unit *unit;
	uint32_t string_bytes;
	bool is_last, changed;
	struct check_constant constants[CHECK_CONSTANTS_MAX];
	uint32_t constant_count;
};

/* Writes the sentence for a place, -EINVAL. */
int check_fail(const struct check *check, struct ast_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int check_no_memory(const struct check *check);

/* ---- check_units.c ----------------------------------------------------------------------------- */

/* Makes the units of all rules. */
int check_units(struct check *check);

/* ---- check_types.c ----------------------------------------------------------------------------- */

struct ast_type check_integer(bool is_signed);
/* A type of the kernel. */
struct ast_type check_kernel_type(const struct check *check, uint32_t btf, bool is_user);
/* A type of the kernel by a name that may be of any kind; 0. Only with BTF. */
uint32_t check_find_type(const struct check *check, const char *name);
/* Finds what the text's names of types stand for. */
int check_resolve(struct check *check, struct ast_place place, struct ast_type *type);
/* What a pointer points to, an item of an array. */
struct ast_type check_item(const struct check *check, const struct ast_type *type);
/* The offsets of the structs that the text defines. */
int check_structs(struct check *check);
/* A field of a struct: its type and place. */
int check_field(struct check *check, struct ast_place place, const struct ast_type *structure,
	const char *name, struct ast_type *type, struct ast_field *field);
/* Whether a value of this type can be in a map or tuple. */
bool check_is_stored(const struct ast_type *type);
/* False if the two are times, or tuples with times, in different formats. */
bool check_has_format_of(const struct ast_type *a, const struct ast_type *b);
bool check_is_number(const struct ast_type *type);
/* "an integer" */
const char *check_type_text(const struct ast_type *type);
/* `into` becomes the type of both; `what` is "@x", `sigil` its '@'. */
int check_join(struct check *check, struct ast_place place, const char *sigil, const char *name,
	struct ast_type *into, const struct ast_type *from);

/* ---- check_names.c ----------------------------------------------------------------------------- */

int check_name(struct check *check, struct ast_expr *expr);
int check_builtin(struct check *check, struct ast_expr *expr);
/* kstack(N) */
int check_stack_call(struct check *check, struct ast_expr *expr);
int check_argument(struct check *check, struct ast_expr *expr);
int check_parameter(struct check *check, struct ast_expr *expr);
/* The text of $N, "" if it was not given. */
const char *check_parameter_text(const struct check *check, uint64_t number);

/* ---- check_vars.c ------------------------------------------------------------------------------ */

/* The value of a map at keys. */
int check_map(struct check *check, struct ast_expr *expr);
/* The map as a whole, without keys. */
int check_whole_map(struct check *check, struct ast_expr *expr);
/* Joins the keys, without looking at the value. */
int check_map_keys(struct check *check, struct ast_expr *expr);
int check_local(struct check *check, struct ast_expr *expr);
/* A value of this type is stored in a MAP or LOCAL. */
int check_store(struct check *check, struct ast_expr *target, const struct ast_type *type);
/* The same for an aggregation. */
int check_aggregate(struct check *check, struct ast_expr *target, struct ast_expr *call);

/* ---- check_expr.c ------------------------------------------------------------------------------ */

/* A value: not a call that gives none. */
int check_value(struct check *check, struct ast_expr *expr);
/* A value that is true or false. */
int check_condition(struct check *check, struct ast_expr *expr);
/* -EINVAL if it is not a number that is known now. */
int check_known_number(struct check *check, struct ast_expr *expr, int64_t *value);
void check_set_number(struct ast_expr *expr, uint64_t number, bool is_signed);
/* Whether it is a number that has the same value signed and unsigned. */
bool check_is_neutral(const struct ast_expr *expr);
/* Whether addresses that are integers are of the process here. */
bool check_is_user_code(const struct check *check);

/* ---- check_call.c ------------------------------------------------------------------------------ */

/* The arguments of a call, and its type. */
int check_call(struct check *check, struct ast_expr *expr);

#endif

/* SPDX-License-Identifier: MIT */
/* What the files gen*.c share: the program that is being made. */
#ifndef KPROFS_PROBES_GEN_STATE_H
#define KPROFS_PROBES_GEN_STATE_H

#include "probes/gen.h"
#include "probes/operators.h"

/* Memory for a value: `offset` from R10 (the stack) or R9 (the scratch memory). */
struct gen_place {
	int base, offset;
};

struct gen {
	struct gen_env *env;
	const struct ast_unit *unit;
	const struct gen_source *source;
	struct emit *emit;
	struct code *code; /* that of emit */
	struct gen_place *locals;
	int saved_scratch; /* on the stack: R9 while a record is written; where there are places, always */
	int target;	   /* on the stack: the number of the target, where it is not known before */
	int call_number;   /* on the stack: of a system call */
	int out;	   /* label: the end of the program, while that of emit gives back memory before */
	bool has_scratch;  /* R9 is the scratch memory */
	uint32_t scratch, scratch_most; /* bytes in use, and the most that were */
	uint32_t unrolled; /* passes of all unroll() */
	uint32_t cached;   /* statements that use caches */
	int done; /* label: the end of the unit */
	int error;
	struct err *err;
};

/*
 * Memory for so many bytes, on the stack if they are few; gen_back() gives back what came behind the
 * mark.
 */
struct gen_mark {
	int stack;
	uint32_t scratch;
};
struct gen_place gen_room(struct gen *gen, uint32_t bytes);
struct gen_mark gen_mark(const struct gen *gen);
void gen_back(struct gen *gen, struct gen_mark mark);

/* dst = the address of a place. */
void gen_address(struct gen *gen, int dst, struct gen_place place);
void gen_load(struct gen *gen, int dst, struct gen_place place, uint32_t at);
void gen_save(struct gen *gen, struct gen_place place, uint32_t at, int src);
void gen_zero(struct gen *gen, struct gen_place place, uint32_t bytes);
/* Copies 8-byte words from memory at a register, by R1. */
void gen_copy(struct gen *gen, struct gen_place place, int src, int offset, uint32_t bytes);

/* The first failure: it is returned by gen_unit(). */
void gen_refuse(struct gen *gen, struct ast_place place, int code, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Adds 1 to a count of this CPU; R0 to R5 are lost. */
void gen_count(struct gen *gen, uint32_t member);
/* Adds R1 to a word of this CPU: by an atomic instruction, unless nothing comes in between. R5 is lost. */
void gen_add(struct gen *gen, bool is_alone, int base, int offset);

/* On to the end of the program. */
void gen_leave(struct gen *gen);

/*
 * gen_expr.c: R0 = a value that is a word, or whatever type at a place, in the form of another one like
 * it.
 */
void gen_value(struct gen *gen, const struct ast_expr *expr);
void gen_store(struct gen *gen, const struct ast_expr *expr, const struct ast_type *as,
	struct gen_place place);
/* Jumps to a label if the value is 0. */
void gen_unless(struct gen *gen, const struct ast_expr *expr, int label);

/* gen_source.c: built-ins and arguments, which depend on how the program is attached. */
void gen_builtin(struct gen *gen, const struct ast_expr *expr);
void gen_builtin_store(struct gen *gen, const struct ast_expr *expr, struct gen_place place);
void gen_argument(struct gen *gen, const struct ast_expr *expr);
/* Reads a number of the type's bytes at the address in R0, into R0. */
void gen_read(struct gen *gen, const struct ast_type *type, bool is_user, const struct ast_field *field);
/* The string at the address in R0; `user` -1: the address tells which memory it is in. */
void gen_read_string(struct gen *gen, int user, uint32_t bytes, struct gen_place place);
/* The same of at most R2 bytes, with the zero at the end, from the address in R3 to R1. */
void gen_read_text(struct gen *gen, int user);
/* The target's number, into R0. */
void gen_target(struct gen *gen);
/* Whether R6 is the context of a raw tracepoint of all system calls. */
bool gen_is_call(const struct gen *gen);

/* gen_stack.c: the frames of a stack, at a place of 8 + 8 * frames bytes, their count first. */
void gen_frames(struct gen *gen, bool is_user, uint32_t frames, struct gen_place place);
/* The stack's hash at `place`, or 0 if there is no room for a new stack, which is counted. */
void gen_stack(struct gen *gen, bool is_user, uint32_t frames, struct gen_place place);

/* gen_static.c: R0 = an argument of a static probe of a file */
void gen_static_argument(struct gen *gen, uint32_t number, struct ast_place place);

/* gen_event.c: to the end of the program if it is another event; R0 = a value of the event */
void gen_match_event(struct gen *gen);
void gen_event_value(struct gen *gen, uint32_t index);

/* gen_calls.c: functions that give a value */
void gen_function(struct gen *gen, const struct ast_expr *call);
void gen_function_store(struct gen *gen, const struct ast_expr *call, const struct ast_type *as,
	struct gen_place place);

/* Reads R2 bytes from the address in R3 to R1: the address tells which memory it is in. */
void gen_read_bytes(struct gen *gen);

/* gen_maps.c */
void gen_map_value(struct gen *gen, const struct ast_expr *expr);
void gen_map_store(struct gen *gen, const struct ast_expr *expr, const struct ast_type *as,
	struct gen_place place);
void gen_map_assign(struct gen *gen, const struct ast_statement *statement);
void gen_map_step(struct gen *gen, const struct ast_expr *step);
void gen_map_delete(struct gen *gen, const struct ast_expr *call);
/* The key of a map, at a place that it gives back with the mark. */
struct gen_place gen_key(struct gen *gen, const struct ast_map *map, const struct ast_expr *keys);

/* R7 = the value of a key, made of zeros if it is new; without room it is counted, and on to the label. */
void gen_find_or_add(struct gen *gen, const struct ast_map *map, struct gen_place key, int without);

/* gen_cache.c: the same through the map's cache, if there is one and the next statement may use it */
bool gen_takes_cache(struct gen *gen, const struct ast_map *map);
void gen_find_cached(struct gen *gen, const struct ast_map *map, struct gen_place key, int without);

/* gen_output.c: a statement that is a call */
void gen_call(struct gen *gen, const struct ast_expr *call);

#endif

/* SPDX-License-Identifier: MIT */
/* Values in the form of layout.h as text, as bpftrace writes them. */
#ifndef KPROFS_PROBES_VALUE_H
#define KPROFS_PROBES_VALUE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "probes/ast.h"

/* A bit of an AST_PROBE: only the last part of the name is printed. */
#define VALUE_TARGET_NAME (1ull << 32)

/* The bytes of the longest text that strftime() makes. */
#define VALUE_TIME_MAX 255u

/* Where names of addresses, stacks and targets come from. Each function may be NULL. */
struct value_names {
	void *arg;
	/* appends the name of an address, with "+OFFSET" in decimal if it is a frame's; false: not known */
	bool (*kernel)(void *arg, uint64_t address, bool is_frame, GString *out);
	bool (*user)(void *arg, uint32_t pid, uint64_t address, bool is_frame, GString *out);
	/* the frames of a stack by its hash; returns their number, at most `most` */
	uint32_t (*stack)(void *arg, uint64_t hash, uint64_t *frames, uint32_t most);
	char *const *targets; /* by number, NULL-terminated */
};

/* How the server finds names of addresses, for an object of one thread at a time. */
struct value_names_ops {
	void *(*create)(void);
	void (*destroy)(void *found);
	/* Before further addresses: what was found long ago may be forgotten. */
	void (*begin)(void *found);
	/* For printing. Addresses that are not known are remembered. */
	struct value_names (*values)(void *found);
	/*
	 * Finds the names of those that were remembered since the last call; what has no name is a number.
	 * Blocks for some 100 ms, a second at most, or until cancel_fd is readable (-1: never).
	 */
	void (*resolve)(void *found, int cancel_fd);
};

/* Whether each time has a text of at most VALUE_TIME_MAX bytes in this format. */
bool value_is_time_format(const char *format);

/* Whether a value is printed with names of addresses. */
bool value_has_addresses(const struct ast_type *type);
/* The bytes at `data` are layout_bytes() of the type. */
void value_print(const struct ast_type *type, const void *data, const struct value_names *names,
	GString *out);
/* Frames, one a line, each with a newline before it and four blanks, and a newline behind the last. */
void value_print_frames(const uint64_t *frames, uint32_t count, bool is_user, uint32_t pid,
	const struct value_names *names, GString *out);
/* A text in quotes, as JSON; what is no UTF-8 becomes U+FFFD. */
void value_json_string(const char *text, size_t bytes, GString *out);
/* A value as JSON: a number, an array for a tuple, or the text of value_print(). */
void value_json(const struct ast_type *type, const void *data, const struct value_names *names, GString *out);
/* The frames of a KSTACK or USTACK in one line: the outermost first, ';' between them, without offsets. */
void value_print_folded(const struct ast_type *type, const void *data, const struct value_names *names,
	GString *out);
/* The text of a string's bytes, up to its NUL. */
void value_print_string(const char *data, uint32_t bytes, GString *out);

#endif

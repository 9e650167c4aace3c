/* SPDX-License-Identifier: MIT */
/*
 * A mangled name of Rust's second way ("v0") while it is read and printed: its letters, numbers and
 * identifiers, and the bounds. What it is a name of is demangle_rust.c's, which alone uses it.
 *
 * After a failure nothing is read or printed any more: callers look at `failed` at the end, and where
 * they loop. One thread at a time.
 */
#ifndef KPROFS_SYM_V0_H
#define KPROFS_SYM_V0_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define V0_OUTPUT_MAX 8192 /* bytes; more than is ever shown */

struct v0 {
	const char *in;
	size_t at, length;
	GString *out;
	unsigned int depth, steps;
	unsigned int silent; /* > 0: read, don't print */
	uint64_t lifetimes;  /* bound around here */
	bool failed;
	bool cut; /* failed because there is enough of it */
};

/* The next letter; NUL: there is none. v0_take() passes it, and fails there. */
char v0_peek(const struct v0 *v);
char v0_take(struct v0 *v);
/* Passes the next letter if it is this one. */
bool v0_take_if(struct v0 *v, char c);

/* digits, then '_'; "_" is 0, "0_" is 1 */
uint64_t v0_take_base62(struct v0 *v);
/* The same behind this tag, and 1 more; 0: the tag is not there. */
uint64_t v0_take_optional(struct v0 *v, char tag);

/* As it stands in the name. */
struct v0_identifier {
	const char *bytes;
	size_t length;
	bool punycode;
};

void v0_take_identifier(struct v0 *v, struct v0_identifier *id);

void v0_put_bytes(struct v0 *v, const char *bytes, size_t length);
void v0_put(struct v0 *v, const char *text);
void v0_put_number(struct v0 *v, uint64_t number);
void v0_put_identifier(struct v0 *v, const struct v0_identifier *id);

/* Around what can be in itself. false: it is too deep, or took too long. */
bool v0_enter(struct v0 *v);
void v0_leave(struct v0 *v);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Rust's second way to mangle names, "v0" (rust-lang RFC 2603): see demangle.h.
 *
 * A recursive descent over the grammar that prints as it goes. Back references make short names
 * stand for endless ones: output, depth and steps are bounded. More output is cut off, what goes deeper
 * is no name.
 * Numbers that only tell apart what has the same name (crates, impls) are left out.
 */
#include "sym/demangle.h"

#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "sym/v0.h"

static void put_path(struct v0 *v, bool in_value);
static void put_type(struct v0 *v);
static void put_const(struct v0 *v);

/* Goes on at an earlier place, prints what stands there, comes back. */
static void put_backref(struct v0 *v, void (*what)(struct v0 *v))
{
	size_t here = v->at - 1, back;
	uint64_t to = v0_take_base62(v);

	if (to >= here)
		v->failed = true;
	if (v->failed || v->silent)
		return;
	back = v->at;
	v->at = (size_t)to;
	what(v);
	v->at = back;
}

/* ---- lifetimes -------------------------------------------------------------------------------- */

static void put_lifetime(struct v0 *v, uint64_t index)
{
	uint64_t depth;
	char text[2] = { 0 };

	if (!index) {
		v0_put(v, "'_");
		return;
	}
	if (index > v->lifetimes) {
		v->failed = true;
		return;
	}
	depth = v->lifetimes - index;
	v0_put(v, "'");
	if (depth < 26) {
		text[0] = (char)('a' + depth);
		v0_put(v, text);
	} else {
		v0_put(v, "_");
		v0_put_number(v, depth);
	}
}

/* `for<'a, 'b> `; the caller takes the lifetimes back. */
static uint64_t put_binder(struct v0 *v)
{
	uint64_t count = v0_take_optional(v, 'G'), i;

	/* each is printed: a name has no more than it has room for */
	if (count > V0_OUTPUT_MAX)
		v->failed = true;
	if (!count || v->failed)
		return 0;
	v0_put(v, "for<");
	for (i = 0; i < count; i++) {
		v->lifetimes++;
		v0_put(v, i ? ", " : "");
		put_lifetime(v, 1);
	}
	v0_put(v, "> ");
	return count;
}

/* ---- paths ------------------------------------------------------------------------------------ */

static void put_value_path(struct v0 *v)
{
	put_path(v, true);
}

static void put_type_path(struct v0 *v)
{
	put_path(v, false);
}

static void put_generic_arg(struct v0 *v)
{
	if (v0_take_if(v, 'L'))
		put_lifetime(v, v0_take_base62(v));
	else if (v0_take_if(v, 'K'))
		put_const(v);
	else
		put_type(v);
}

/* Items up to 'E', with commas. How many. */
static unsigned int put_list(struct v0 *v, void (*item)(struct v0 *v))
{
	unsigned int count = 0;

	while (!v->failed && !v0_take_if(v, 'E')) {
		v0_put(v, count++ ? ", " : "");
		item(v);
	}
	return count;
}

/* Capital letters are what the compiler made: {closure#0}, {shim:vtable#0}. */
static void put_nested(struct v0 *v, bool in_value)
{
	char space = v0_take(v);
	struct v0_identifier id;
	uint64_t number;

	if (!g_ascii_isalpha(space))
		v->failed = true;
	put_path(v, in_value);
	number = v0_take_optional(v, 's');
	v0_take_identifier(v, &id);
	if (g_ascii_isupper(space)) {
		char letter[2] = { space };

		v0_put(v, "::{");
		v0_put(v, space == 'C' ? "closure" : space == 'S' ? "shim" : letter);
		if (id.length) {
			v0_put(v, ":");
			v0_put_identifier(v, &id);
		}
		v0_put(v, "#");
		v0_put_number(v, number);
		v0_put(v, "}");
	} else if (id.length) {
		v0_put(v, "::");
		v0_put_identifier(v, &id);
	}
}

static void skip_impl_path(struct v0 *v)
{
	v->silent++;
	v0_take_optional(v, 's');
	put_path(v, false);
	v->silent--;
}

static void put_qualified(struct v0 *v, bool with_trait)
{
	v0_put(v, "<");
	put_type(v);
	if (with_trait) {
		v0_put(v, " as ");
		put_path(v, false);
	}
	v0_put(v, ">");
}

static void put_path(struct v0 *v, bool in_value)
{
	struct v0_identifier id;

	if (!v0_enter(v))
		return;
	switch (v0_take(v)) {
	case 'C':
		v0_take_optional(v, 's');
		v0_take_identifier(v, &id);
		v0_put_identifier(v, &id);
		break;
	case 'N':
		put_nested(v, in_value);
		break;
	case 'M':
		skip_impl_path(v);
		put_qualified(v, false);
		break;
	case 'X':
		skip_impl_path(v);
		put_qualified(v, true);
		break;
	case 'Y':
		put_qualified(v, true);
		break;
	case 'I':
		put_path(v, in_value);
		v0_put(v, in_value ? "::<" : "<");
		put_list(v, put_generic_arg);
		v0_put(v, ">");
		break;
	case 'B':
		put_backref(v, in_value ? put_value_path : put_type_path);
		break;
	default:
		v->failed = true;
	}
	v0_leave(v);
}

/* ---- types ------------------------------------------------------------------------------------ */

static const char *const basic_types[26] = {
	['a' - 'a'] = "i8",   ['b' - 'a'] = "bool",  ['c' - 'a'] = "char",  ['d' - 'a'] = "f64",
	['e' - 'a'] = "str",  ['f' - 'a'] = "f32",   ['h' - 'a'] = "u8",    ['i' - 'a'] = "isize",
	['j' - 'a'] = "usize", ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",   ['n' - 'a'] = "i128",
	['o' - 'a'] = "u128", ['p' - 'a'] = "_",     ['s' - 'a'] = "i16",   ['t' - 'a'] = "u16",
	['u' - 'a'] = "()",   ['v' - 'a'] = "...",   ['x' - 'a'] = "i64",   ['y' - 'a'] = "u64",
	['z' - 'a'] = "!",
};

static const char *basic_type(char c)
{
	return g_ascii_islower(c) ? basic_types[c - 'a'] : NULL;
}

static void put_reference(struct v0 *v, const char *what)
{
	uint64_t index;

	v0_put(v, "&");
	if (v0_take_if(v, 'L')) {
		index = v0_take_base62(v);
		if (index) {
			put_lifetime(v, index);
			v0_put(v, " ");
		}
	}
	v0_put(v, what);
	put_type(v);
}

/* The ABI's name, in which '-' was written '_'. */
static void put_abi(struct v0 *v)
{
	struct v0_identifier id;
	size_t i;

	v0_put(v, "extern \"");
	if (v0_take_if(v, 'C')) {
		v0_put(v, "C");
	} else {
		v0_take_identifier(v, &id);
		if (id.punycode)
			v->failed = true;
		for (i = 0; i < id.length && !v->failed; i++)
			v0_put_bytes(v, id.bytes[i] == '_' ? "-" : id.bytes + i, 1);
	}
	v0_put(v, "\" ");
}

static void put_function(struct v0 *v)
{
	uint64_t bound = put_binder(v);

	if (v0_take_if(v, 'U'))
		v0_put(v, "unsafe ");
	if (v0_take_if(v, 'K'))
		put_abi(v);
	v0_put(v, "fn(");
	put_list(v, put_type);
	v0_put(v, ")");
	if (!v0_take_if(v, 'u')) {
		v0_put(v, " -> ");
		put_type(v);
	}
	v->lifetimes -= bound;
}

/* A path whose list of arguments stays open, for what follows it. True: it has one. */
static bool put_open_path(struct v0 *v)
{
	bool open = false;
	size_t here = v->at, back;
	uint64_t to;

	if (!v0_enter(v))
		return false;
	if (v0_take_if(v, 'B')) {
		to = v0_take_base62(v);
		if (to >= here)
			v->failed = true;
		if (!v->failed && !v->silent) {
			back = v->at;
			v->at = (size_t)to;
			open = put_open_path(v);
			v->at = back;
		}
	} else if (v0_take_if(v, 'I')) {
		put_path(v, false);
		v0_put(v, "<");
		put_list(v, put_generic_arg);
		open = true;
	} else {
		put_path(v, false);
	}
	v0_leave(v);
	return open;
}

static void put_dyn_trait(struct v0 *v)
{
	bool open = put_open_path(v);
	struct v0_identifier id;

	while (v0_take_if(v, 'p')) {
		v0_put(v, open ? ", " : "<");
		open = true;
		v0_take_identifier(v, &id);
		v0_put_identifier(v, &id);
		v0_put(v, " = ");
		put_type(v);
	}
	v0_put(v, open ? ">" : "");
}

static void put_dyn(struct v0 *v)
{
	unsigned int count = 0;
	uint64_t bound, index;

	v0_put(v, "dyn ");
	bound = put_binder(v);
	while (!v->failed && !v0_take_if(v, 'E')) {
		v0_put(v, count++ ? " + " : "");
		put_dyn_trait(v);
	}
	v->lifetimes -= bound;
	if (!v0_take_if(v, 'L')) {
		v->failed = true;
		return;
	}
	index = v0_take_base62(v);
	if (index) {
		v0_put(v, " + ");
		put_lifetime(v, index);
	}
}

static void put_built_type(struct v0 *v, char tag)
{
	switch (tag) {
	case 'R':
		put_reference(v, "");
		break;
	case 'Q':
		put_reference(v, "mut ");
		break;
	case 'P':
		v0_put(v, "*const ");
		put_type(v);
		break;
	case 'O':
		v0_put(v, "*mut ");
		put_type(v);
		break;
	case 'A':
		v0_put(v, "[");
		put_type(v);
		v0_put(v, "; ");
		put_const(v);
		v0_put(v, "]");
		break;
	case 'S':
		v0_put(v, "[");
		put_type(v);
		v0_put(v, "]");
		break;
	case 'T':
		v0_put(v, "(");
		if (put_list(v, put_type) == 1)
			v0_put(v, ",");
		v0_put(v, ")");
		break;
	case 'F':
		put_function(v);
		break;
	case 'D':
		put_dyn(v);
		break;
	case 'B':
		put_backref(v, put_type);
		break;
	default: /* a path begins with this letter */
		v->at--;
		put_path(v, false);
	}
}

static void put_type(struct v0 *v)
{
	char tag;

	if (!v0_enter(v))
		return;
	tag = v0_take(v);
	if (basic_type(tag))
		v0_put(v, basic_type(tag));
	else if (!v->failed)
		put_built_type(v, tag);
	v0_leave(v);
}

/* ---- constants -------------------------------------------------------------------------------- */

/* Hex digits up to '_': *value, where they fit; how many significant ones. */
static size_t take_hex(struct v0 *v, uint64_t *value, const char **digits)
{
	size_t count;

	*value = 0;
	while (v0_take_if(v, '0'))
		;
	*digits = v->in + v->at;
	for (count = 0; !v->failed && v0_peek(v) != '_'; count++) {
		char c = v0_take(v);

		if (!g_ascii_isdigit(c) && !(c >= 'a' && c <= 'f'))
			v->failed = true;
		*value = *value << 4 | (uint64_t)g_ascii_xdigit_value(c);
	}
	v0_take(v);
	return count;
}

static void put_integer(struct v0 *v)
{
	const char *digits;
	uint64_t value;
	size_t count = take_hex(v, &value, &digits);

	if (count <= 16) {
		v0_put_number(v, value);
	} else {
		v0_put(v, "0x");
		v0_put_bytes(v, digits, count);
	}
}

static void put_char(struct v0 *v)
{
	const char *digits;
	uint64_t value;
	size_t count = take_hex(v, &value, &digits);
	char text[16];

	if (count > 6 || !g_unichar_validate((gunichar)value)) {
		v->failed = true;
		return;
	}
	v0_put(v, "'");
	if (value == '\'' || value == '\\') {
		v0_put(v, "\\");
		v0_put_bytes(v, text, (size_t)g_unichar_to_utf8((gunichar)value, text));
	} else if (value == '\n' || value == '\r' || value == '\t') {
		v0_put(v, value == '\n' ? "\\n" : value == '\r' ? "\\r" : "\\t");
	} else if (g_unichar_isprint((gunichar)value)) {
		v0_put_bytes(v, text, (size_t)g_unichar_to_utf8((gunichar)value, text));
	} else {
		g_snprintf(text, sizeof(text), "\\u{%" PRIx64 "}", value);
		v0_put(v, text);
	}
	v0_put(v, "'");
}

static void put_bool(struct v0 *v)
{
	const char *digits;
	uint64_t value;

	take_hex(v, &value, &digits);
	if (value > 1)
		v->failed = true;
	v0_put(v, value ? "true" : "false");
}

static void put_const(struct v0 *v)
{
	char tag;

	if (!v0_enter(v))
		return;
	tag = v0_take(v);
	if (tag == 'B')
		put_backref(v, put_const);
	else if (tag == 'p')
		v0_put(v, "_");
	else if (tag == 'b')
		put_bool(v);
	else if (tag == 'c')
		put_char(v);
	else if (tag && strchr("hjmotyailnsx", tag)) {
		if (strchr("ailnsx", tag) && v0_take_if(v, 'n'))
			v0_put(v, "-");
		put_integer(v);
	} else
		v->failed = true; /* structs, strings and the like: not in any released form yet */
	v0_leave(v);
}

char *demangle_rust_v0(const char *name)
{
	struct v0 v = { .in = name + 2 };
	const char *suffix;

	if (strncmp(name, "_R", 2) != 0 || !g_ascii_isupper(name[2]))
		return NULL;
	suffix = name + strcspn(name, ".$");
	v.length = (size_t)(suffix - v.in);
	v.out = g_string_new(NULL);
	put_path(&v, true);
	/* the crate that asked for this copy of a generic */
	if (!v.failed && v.at < v.length) {
		v.silent++;
		put_path(&v, false);
		v.silent--;
	}
	if (v.at < v.length)
		v.failed = true;
	if (!v.failed && strncmp(suffix, ".llvm.", 6) != 0)
		v0_put(&v, suffix);
	return g_string_free(v.out, v.failed && !v.cut);
}

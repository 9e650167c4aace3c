/* SPDX-License-Identifier: MIT */
/*
 * Rust's second way to mangle names, "v0" (rust-lang RFC 2603): see demangle.h.
 *
 * A recursive descent over the grammar that prints as it goes. Back references make short names
 * stand for endless ones: output, depth and steps are bounded. More output is cut off, what goes deeper
 * is no name.
 * Numbers that only tell apart what has the same name (crates, impls) are left out.
 */
#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "sym/demangle.h"

#define OUTPUT_MAX 8192 /* bytes; more than is ever shown */
#define DEPTH_MAX 200	/* types in types; frames of some hundred bytes each */
#define STEPS_MAX 20000
#define PUNYCODE_MAX 256 /* letters in one identifier that has others than ASCII */

struct v0 {
	const char *in;
	size_t at, length;
	GString *out;
	unsigned int depth, steps;
	unsigned int silent;   /* > 0: read, don't print */
	uint64_t lifetimes;    /* bound around here */
	bool failed;
	bool cut; /* failed because there is enough of it */
};

static void put_path(struct v0 *v, bool in_value);
static void put_type(struct v0 *v);
static void put_const(struct v0 *v);

/* ---- in and out ------------------------------------------------------------------------------- */

static char peek(const struct v0 *v)
{
	return v->at < v->length && !v->failed ? v->in[v->at] : '\0';
}

static char take(struct v0 *v)
{
	char c = peek(v);

	if (c)
		v->at++;
	else
		v->failed = true;
	return c;
}

static bool take_if(struct v0 *v, char c)
{
	if (peek(v) != c)
		return false;
	v->at++;
	return true;
}

static void put_bytes(struct v0 *v, const char *bytes, size_t length)
{
	if (v->silent || v->failed)
		return;
	if (v->out->len + length > OUTPUT_MAX)
		v->failed = v->cut = true;
	else
		g_string_append_len(v->out, bytes, (gssize)length);
}

static void put(struct v0 *v, const char *text)
{
	put_bytes(v, text, strlen(text));
}

static void put_number(struct v0 *v, uint64_t number)
{
	char text[24];

	g_snprintf(text, sizeof(text), "%" PRIu64, number);
	put(v, text);
}

static bool enter(struct v0 *v)
{
	if (++v->depth > DEPTH_MAX || ++v->steps > STEPS_MAX)
		v->failed = true;
	return !v->failed;
}

static void leave(struct v0 *v)
{
	v->depth--;
}

/* ---- numbers and identifiers -------------------------------------------------------------------- */

/* digits, then '_'; "_" is 0, "0_" is 1 */
static uint64_t take_base62(struct v0 *v)
{
	uint64_t sum = 0, digit = 0;

	if (take_if(v, '_'))
		return 0;
	while (!take_if(v, '_')) {
		char c = take(v);

		if (g_ascii_isdigit(c))
			digit = (uint64_t)(c - '0');
		else if (g_ascii_islower(c))
			digit = (uint64_t)(c - 'a') + 10;
		else if (g_ascii_isupper(c))
			digit = (uint64_t)(c - 'A') + 36;
		else
			v->failed = true;
		if (v->failed || __builtin_mul_overflow(sum, 62, &sum) ||
			__builtin_add_overflow(sum, digit, &sum)) {
			v->failed = true;
			return 0;
		}
	}
	if (sum == UINT64_MAX)
		v->failed = true;
	return sum + 1;
}

/* 0 where there is none */
static uint64_t take_optional(struct v0 *v, char tag)
{
	uint64_t number;

	if (!take_if(v, tag))
		return 0;
	number = take_base62(v);
	if (number == UINT64_MAX)
		v->failed = true;
	return number + 1;
}

struct identifier {
	const char *bytes;
	size_t length;
	bool punycode;
};

static void take_identifier(struct v0 *v, struct identifier *id)
{
	uint64_t length = 0;

	id->length = 0;
	id->punycode = take_if(v, 'u');
	if (!g_ascii_isdigit(peek(v))) {
		v->failed = true;
		return;
	}
	/* no number has a leading 0: what follows one is the identifier */
	if (!take_if(v, '0')) {
		while (g_ascii_isdigit(peek(v)) && length <= v->length)
			length = length * 10 + (uint64_t)(take(v) - '0');
	}
	take_if(v, '_');
	if (length > v->length - v->at) {
		v->failed = true;
		return;
	}
	id->bytes = v->in + v->at;
	id->length = length;
	v->at += length;
}

/* RFC 3492, section 6.1 */
static uint32_t adapt(uint32_t delta, uint32_t points, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / 700 : delta / 2;
	delta += delta / points;
	for (; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/* RFC 3492, section 6.2: the letters inserted into those before the last '_'. Their number, or 0. */
static size_t decode_punycode(const struct identifier *id, gunichar *letters)
{
	const char *split = id->length ? memrchr(id->bytes, '_', id->length) : NULL;
	const char *at = split ? split + 1 : id->bytes, *end = id->bytes + id->length;
	uint32_t n = 128, i = 0, bias = 72;
	size_t count = 0;
	const char *c;

	for (c = id->bytes; split && c < split; c++) {
		if (count == PUNYCODE_MAX)
			return 0;
		letters[count++] = (gunichar)(unsigned char)*c;
	}
	while (at < end) {
		uint32_t old = i, weight = 1, k;

		for (k = 36;; k += 36) {
			uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, digit, add;

			if (at == end)
				return 0;
			digit = g_ascii_islower(*at) ? (uint32_t)(*at - 'a')
				: g_ascii_isdigit(*at) ? (uint32_t)(*at - '0') + 26
						       : UINT32_MAX;
			at++;
			if (digit == UINT32_MAX || __builtin_mul_overflow(digit, weight, &add) ||
				__builtin_add_overflow(i, add, &i))
				return 0;
			if (digit < t)
				break;
			if (__builtin_mul_overflow(weight, 36 - t, &weight))
				return 0;
		}
		if (count == PUNYCODE_MAX)
			return 0;
		count++;
		bias = adapt(i - old, (uint32_t)count, old == 0);
		if (__builtin_add_overflow(n, i / (uint32_t)count, &n) ||
			!g_unichar_validate(n))
			return 0;
		i %= (uint32_t)count;
		memmove(letters + i + 1, letters + i, (count - 1 - i) * sizeof(*letters));
		letters[i++] = n;
	}
	return count;
}

static void put_identifier(struct v0 *v, const struct identifier *id)
{
	gunichar letters[PUNYCODE_MAX];
	char text[8];
	size_t count, i;

	if (!id->punycode) {
		put_bytes(v, id->bytes, id->length);
		return;
	}
	count = decode_punycode(id, letters);
	if (!count)
		v->failed = true;
	for (i = 0; i < count; i++)
		put_bytes(v, text, (size_t)g_unichar_to_utf8(letters[i], text));
}

/* Goes on at an earlier place, prints what stands there, comes back. */
static void put_backref(struct v0 *v, void (*what)(struct v0 *v))
{
	size_t here = v->at - 1, back;
	uint64_t to = take_base62(v);

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
		put(v, "'_");
		return;
	}
	if (index > v->lifetimes) {
		v->failed = true;
		return;
	}
	depth = v->lifetimes - index;
	put(v, "'");
	if (depth < 26) {
		text[0] = (char)('a' + depth);
		put(v, text);
	} else {
		put(v, "_");
		put_number(v, depth);
	}
}

/* `for<'a, 'b> `; the caller takes the lifetimes back. */
static uint64_t put_binder(struct v0 *v)
{
	uint64_t count = take_optional(v, 'G'), i;

	/* each is printed: a name has no more than it has room for */
	if (count > OUTPUT_MAX)
		v->failed = true;
	if (!count || v->failed)
		return 0;
	put(v, "for<");
	for (i = 0; i < count; i++) {
		v->lifetimes++;
		put(v, i ? ", " : "");
		put_lifetime(v, 1);
	}
	put(v, "> ");
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
	if (take_if(v, 'L'))
		put_lifetime(v, take_base62(v));
	else if (take_if(v, 'K'))
		put_const(v);
	else
		put_type(v);
}

/* Items up to 'E', with commas. How many. */
static unsigned int put_list(struct v0 *v, void (*item)(struct v0 *v))
{
	unsigned int count = 0;

	while (!v->failed && !take_if(v, 'E')) {
		put(v, count++ ? ", " : "");
		item(v);
	}
	return count;
}

/* Capital letters are what the compiler made: {closure#0}, {shim:vtable#0}. */
static void put_nested(struct v0 *v, bool in_value)
{
	char space = take(v);
	struct identifier id;
	uint64_t number;

	if (!g_ascii_isalpha(space))
		v->failed = true;
	put_path(v, in_value);
	number = take_optional(v, 's');
	take_identifier(v, &id);
	if (g_ascii_isupper(space)) {
		char letter[2] = { space };

		put(v, "::{");
		put(v, space == 'C' ? "closure" : space == 'S' ? "shim" : letter);
		if (id.length) {
			put(v, ":");
			put_identifier(v, &id);
		}
		put(v, "#");
		put_number(v, number);
		put(v, "}");
	} else if (id.length) {
		put(v, "::");
		put_identifier(v, &id);
	}
}

static void skip_impl_path(struct v0 *v)
{
	v->silent++;
	take_optional(v, 's');
	put_path(v, false);
	v->silent--;
}

static void put_qualified(struct v0 *v, bool with_trait)
{
	put(v, "<");
	put_type(v);
	if (with_trait) {
		put(v, " as ");
		put_path(v, false);
	}
	put(v, ">");
}

static void put_path(struct v0 *v, bool in_value)
{
	struct identifier id;

	if (!enter(v))
		return;
	switch (take(v)) {
	case 'C':
		take_optional(v, 's');
		take_identifier(v, &id);
		put_identifier(v, &id);
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
		put(v, in_value ? "::<" : "<");
		put_list(v, put_generic_arg);
		put(v, ">");
		break;
	case 'B':
		put_backref(v, in_value ? put_value_path : put_type_path);
		break;
	default:
		v->failed = true;
	}
	leave(v);
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

	put(v, "&");
	if (take_if(v, 'L')) {
		index = take_base62(v);
		if (index) {
			put_lifetime(v, index);
			put(v, " ");
		}
	}
	put(v, what);
	put_type(v);
}

/* The ABI's name, in which '-' was written '_'. */
static void put_abi(struct v0 *v)
{
	struct identifier id;
	size_t i;

	put(v, "extern \"");
	if (take_if(v, 'C')) {
		put(v, "C");
	} else {
		take_identifier(v, &id);
		if (id.punycode)
			v->failed = true;
		for (i = 0; i < id.length && !v->failed; i++)
			put_bytes(v, id.bytes[i] == '_' ? "-" : id.bytes + i, 1);
	}
	put(v, "\" ");
}

static void put_function(struct v0 *v)
{
	uint64_t bound = put_binder(v);

	if (take_if(v, 'U'))
		put(v, "unsafe ");
	if (take_if(v, 'K'))
		put_abi(v);
	put(v, "fn(");
	put_list(v, put_type);
	put(v, ")");
	if (!take_if(v, 'u')) {
		put(v, " -> ");
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

	if (!enter(v))
		return false;
	if (take_if(v, 'B')) {
		to = take_base62(v);
		if (to >= here)
			v->failed = true;
		if (!v->failed && !v->silent) {
			back = v->at;
			v->at = (size_t)to;
			open = put_open_path(v);
			v->at = back;
		}
	} else if (take_if(v, 'I')) {
		put_path(v, false);
		put(v, "<");
		put_list(v, put_generic_arg);
		open = true;
	} else {
		put_path(v, false);
	}
	leave(v);
	return open;
}

static void put_dyn_trait(struct v0 *v)
{
	bool open = put_open_path(v);
	struct identifier id;

	while (take_if(v, 'p')) {
		put(v, open ? ", " : "<");
		open = true;
		take_identifier(v, &id);
		put_identifier(v, &id);
		put(v, " = ");
		put_type(v);
	}
	put(v, open ? ">" : "");
}

static void put_dyn(struct v0 *v)
{
	unsigned int count = 0;
	uint64_t bound, index;

	put(v, "dyn ");
	bound = put_binder(v);
	while (!v->failed && !take_if(v, 'E')) {
		put(v, count++ ? " + " : "");
		put_dyn_trait(v);
	}
	v->lifetimes -= bound;
	if (!take_if(v, 'L')) {
		v->failed = true;
		return;
	}
	index = take_base62(v);
	if (index) {
		put(v, " + ");
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
		put(v, "*const ");
		put_type(v);
		break;
	case 'O':
		put(v, "*mut ");
		put_type(v);
		break;
	case 'A':
		put(v, "[");
		put_type(v);
		put(v, "; ");
		put_const(v);
		put(v, "]");
		break;
	case 'S':
		put(v, "[");
		put_type(v);
		put(v, "]");
		break;
	case 'T':
		put(v, "(");
		if (put_list(v, put_type) == 1)
			put(v, ",");
		put(v, ")");
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

	if (!enter(v))
		return;
	tag = take(v);
	if (basic_type(tag))
		put(v, basic_type(tag));
	else if (!v->failed)
		put_built_type(v, tag);
	leave(v);
}

/* ---- constants -------------------------------------------------------------------------------- */

/* Hex digits up to '_': *value, where they fit; how many significant ones. */
static size_t take_hex(struct v0 *v, uint64_t *value, const char **digits)
{
	size_t count;

	*value = 0;
	while (take_if(v, '0'))
		;
	*digits = v->in + v->at;
	for (count = 0; !v->failed && peek(v) != '_'; count++) {
		char c = take(v);

		if (!g_ascii_isdigit(c) && !(c >= 'a' && c <= 'f'))
			v->failed = true;
		*value = *value << 4 | (uint64_t)g_ascii_xdigit_value(c);
	}
	take(v);
	return count;
}

static void put_integer(struct v0 *v)
{
	const char *digits;
	uint64_t value;
	size_t count = take_hex(v, &value, &digits);

	if (count <= 16) {
		put_number(v, value);
	} else {
		put(v, "0x");
		put_bytes(v, digits, count);
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
	put(v, "'");
	if (value == '\'' || value == '\\') {
		put(v, "\\");
		put_bytes(v, text, (size_t)g_unichar_to_utf8((gunichar)value, text));
	} else if (value == '\n' || value == '\r' || value == '\t') {
		put(v, value == '\n' ? "\\n" : value == '\r' ? "\\r" : "\\t");
	} else if (g_unichar_isprint((gunichar)value)) {
		put_bytes(v, text, (size_t)g_unichar_to_utf8((gunichar)value, text));
	} else {
		g_snprintf(text, sizeof(text), "\\u{%" PRIx64 "}", value);
		put(v, text);
	}
	put(v, "'");
}

static void put_bool(struct v0 *v)
{
	const char *digits;
	uint64_t value;

	take_hex(v, &value, &digits);
	if (value > 1)
		v->failed = true;
	put(v, value ? "true" : "false");
}

static void put_const(struct v0 *v)
{
	char tag;

	if (!enter(v))
		return;
	tag = take(v);
	if (tag == 'B')
		put_backref(v, put_const);
	else if (tag == 'p')
		put(v, "_");
	else if (tag == 'b')
		put_bool(v);
	else if (tag == 'c')
		put_char(v);
	else if (tag && strchr("hjmotyailnsx", tag)) {
		if (strchr("ailnsx", tag) && take_if(v, 'n'))
			put(v, "-");
		put_integer(v);
	} else
		v->failed = true; /* structs, strings and the like: not in any released form yet */
	leave(v);
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
		put(&v, suffix);
	return g_string_free(v.out, v.failed && !v.cut);
}

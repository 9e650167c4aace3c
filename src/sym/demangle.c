/* SPDX-License-Identifier: MIT */
/* Names of C++ and Rust: see demangle.h. The rules of C++ are libstdc++'s own. */
#include "sym/demangle.h"

#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* libstdc++, <cxxabi.h>: malloc'ed, or NULL */
char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status);

/* ---- Rust's first way: C++ with a hash at the end, and escapes ---------------------------------- */

#define HASH_LENGTH 17 /* h and 16 hex digits */

struct escape {
	const char *code;
	char letter;
};

static const struct escape escapes[] = {
	{ "SP", '@' }, { "BP", '*' }, { "RF", '&' }, { "LT", '<' },
	{ "GT", '>' }, { "LP", '(' }, { "RP", ')' }, { "C", ',' },
};

/* $code$ -> what it stands for; false: no such code. */
static bool put_escape(GString *out, const char *code, size_t length)
{
	char *end;
	unsigned long letter;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(escapes); i++) {
		if (strlen(escapes[i].code) == length &&
			memcmp(escapes[i].code, code, length) == 0) {
			g_string_append_c(out, escapes[i].letter);
			return true;
		}
	}
	if (length < 2 || length > 7 || code[0] != 'u' || !g_ascii_isxdigit(code[1]))
		return false;
	letter = strtoul(code + 1, &end, 16);
	if (end != code + length || !g_unichar_validate((gunichar)letter) ||
		g_unichar_iscntrl((gunichar)letter))
		return false;
	g_string_append_unichar(out, (gunichar)letter);
	return true;
}

static bool put_legacy_part(GString *out, const char *part, size_t length)
{
	const char *end = part + length, *close;

	/* an escape may not stand first in C++, so rustc puts an underscore in front */
	if (length > 1 && part[0] == '_' && part[1] == '$')
		part++;
	while (part < end) {
		if (*part == '$') {
			close = memchr(part + 1, '$', (size_t)(end - part - 1));
			if (!close || !put_escape(out, part + 1, (size_t)(close - part - 1)))
				return false;
			part = close + 1;
		} else if (end - part > 1 && part[0] == '.' && part[1] == '.') {
			g_string_append(out, "::");
			part += 2;
		} else {
			g_string_append_c(out, *part++);
		}
	}
	return true;
}

/* At a part `LENGTH bytes`: sets *part and its length, moves on. */
static bool take_legacy_part(const char **at, const char **part, size_t *length)
{
	size_t n = 0;

	if (!g_ascii_isdigit(**at))
		return false;
	for (; g_ascii_isdigit(**at); (*at)++) {
		n = n * 10 + (size_t)(**at - '0');
		if (n > DEMANGLE_INPUT_MAX)
			return false;
	}
	if (!n || strnlen(*at, n) < n)
		return false;
	*part = *at;
	*length = n;
	*at += n;
	return true;
}

static bool is_hash(const char *part, size_t length)
{
	size_t i;

	if (length != HASH_LENGTH || part[0] != 'h')
		return false;
	for (i = 1; i < length; i++) {
		if (!g_ascii_isxdigit(part[i]))
			return false;
	}
	return true;
}

char *demangle_rust_legacy(const char *name)
{
	GString *out;
	const char *part;
	size_t length = 0;

	if (strncmp(name, "_ZN", 3) != 0)
		return NULL;
	name += 3;
	out = g_string_new(NULL);
	while (take_legacy_part(&name, &part, &length)) {
		if (*name == 'E' && is_hash(part, length) && out->len) {
			/* LLVM's mark of where the copy was made says nothing to people */
			if (strncmp(name + 1, ".llvm.", 6) != 0)
				g_string_append(out, name + 1);
			return g_string_free(out, FALSE);
		}
		if (out->len)
			g_string_append(out, "::");
		if (!put_legacy_part(out, part, length))
			break;
	}
	g_string_free(out, TRUE);
	return NULL;
}

/* ---- the choice ------------------------------------------------------------------------------- */

char *demangle_name(const char *name)
{
	char *text, *copy;
	int status;

	if (name[0] != '_' || strnlen(name, DEMANGLE_INPUT_MAX + 1) > DEMANGLE_INPUT_MAX)
		return NULL;
	if (name[1] == 'R')
		return demangle_rust_v0(name);
	if (name[1] != 'Z')
		return NULL;
	copy = demangle_rust_legacy(name);
	if (copy)
		return copy;
	text = __cxa_demangle(name, NULL, NULL, &status);
	copy = g_strdup(text);
	free(text);
	return copy;
}

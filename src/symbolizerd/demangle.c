/* SPDX-License-Identifier: MIT */
/* Demangles names of C++ and Rust with libiberty: see demangle.h. */
#include "symbolizerd/demangle.h"

#include <glib.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>

#define OUTPUT_MAX 8192 /* bytes; readers show less */

/*
 * Limit of CPU time for one name. The longest names take a millisecond, a hundred times that under
 * valgrind.
 */
#define NAME_CPU_US 500000

/* The output of a demangler so far. */
struct output {
	GString *text;
	jmp_buf full;
};

/*
 * A short name can stand for endless output, by references to parts of itself. libiberty prints
 * until it has finished, so the callback leaves it by longjmp when there is enough output; that
 * leaks at most a buffer of a few times the length of the name.
 */
static void append_output(const char *data, size_t length, void *arg)
{
	struct output *output = arg;

	/* libiberty 2.40 detects integers of more than 64 bits one digit too late */
	if (length > 16 && data[length - 1] == '_' && g_str_has_suffix(output->text->str, "0x"))
		data--;
	g_string_append_len(output->text, data,
		(gssize)MIN(length, OUTPUT_MAX - output->text->len));
	if (output->text->len == OUTPUT_MAX)
		longjmp(output->full, 1);
}

typedef int demangler(const char *name, int options, demangle_callbackref print, void *arg);

/*
 * libiberty counts up to 2^64 lifetimes without printing any. No callback interrupts that loop, so
 * SIGVTALRM ends the process: a parser serves one file.
 */
static void limit_cpu(suseconds_t microseconds)
{
	const struct itimerval timer = { .it_value = { .tv_usec = microseconds } };

	(void)setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

/* The output for this name, to be freed with g_free; NULL if not a name of this scheme. */
static char *run(demangler *demangle, const char *name)
{
	struct output output = { .text = g_string_new(NULL) };
	bool known;

	limit_cpu(NAME_CPU_US);
	if (setjmp(output.full))
		known = true;
	else
		/* never set DMGL_NO_RECURSE_LIMIT: the limit bounds the stack */
		known = demangle(name, DMGL_PARAMS, append_output, &output);
	limit_cpu(0);
	return g_string_free(output.text, !known);
}

/* The compiler's suffix of a Rust name: .cold, .llvm.123. */
static const char *rust_suffix(const char *name)
{
	const char *end = name + strlen(name), *at;

	if (name[1] == 'R')
		return name + strcspn(name, ".$");
	/* the legacy scheme has dots inside names as well, and ends with E */
	for (at = end; at > name; at--) {
		if (at[-1] == 'E' && (*at == '.' || !*at))
			return at;
	}
	return end;
}

static char *demangle_rust(const char *name)
{
	const char *suffix = rust_suffix(name);
	g_autofree char *bare = g_strndup(name, (gsize)(suffix - name));
	g_autofree char *text = run(rust_demangle_callback, bare);

	if (!text)
		return NULL;
	/* the number of a copy that LLVM made is of no use to the reader */
	return g_strconcat(text, g_str_has_prefix(suffix, ".llvm.") ? "" : suffix, NULL);
}

char *demangle_name(const char *name)
{
	char *text;

	if (name[0] != '_' || (name[1] != 'R' && name[1] != 'Z') ||
		strnlen(name, DEMANGLE_INPUT_MAX + 1) > DEMANGLE_INPUT_MAX)
		return NULL;
	/* Rust first: a legacy Rust name is also a valid C++ name */
	text = demangle_rust(name);
	return text ? text : run(cplus_demangle_v3_callback, name);
}

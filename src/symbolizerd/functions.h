/* SPDX-License-Identifier: MIT */
/*
 * The functions of an ELF file by their names, with the offsets of their first bytes in the file: what a
 * probe of a function needs. Runs in the parser, as image.h says; one thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_FUNCTIONS_H
#define KPROFS_SYMBOLIZERD_FUNCTIONS_H

#include "symbolizer/proto.h"
#include "symbolizerd/image.h"

/* The most symbols that are looked at, of all tables of a file together. */
#define FUNCTIONS_SYMBOLS_MAX 4000000u
/* The most bytes of a name; longer ones, which no compiler makes by itself, are left out. */
#define FUNCTIONS_NAME_MAX 4096u

/* What is looked for, with a pattern of names that has '*' and '?'. */
struct functions_query {
	const char *pattern;
	uint32_t flags; /* PROTO_STATIC_PROBES, PROTO_OBJECTS */
	int (*each)(void *arg, const struct proto_found *found);
	void *arg;
};

/*
 * Calls each() for the functions, symbols of objects or static probes whose names match, until it returns
 * other than 0, and returns that. The same function may come twice: both symbol tables are read. -E2BIG if
 * there are too many symbols.
 */
int functions_each(const struct image *image, const struct functions_query *query);
/* staticprobes.c: the static probes of <sys/sdt.h>; a name is PROVIDER:NAME. */
int staticprobes_each(const struct image *image, const struct functions_query *query);

#endif

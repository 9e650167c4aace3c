/* SPDX-License-Identifier: MIT */
/*
 * What the tests of src/symbolizer and src/symbolizerd share: programs that they compile, a folder
 * for them, and the output of tools that find the answers by other means (nm, addr2line).
 */
#ifndef KPROFS_TESTS_SYMFIXTURE_H
#define KPROFS_TESTS_SYMFIXTURE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

struct symfixture {
	char *dir;
};

/* A folder below /tmp, which fini removes with all that is in it. */
void symfixture_init(struct symfixture *fixture);
void symfixture_fini(struct symfixture *fixture);

char *symfixture_path(const struct symfixture *fixture, const char *name);
void symfixture_write(const struct symfixture *fixture, const char *name, const char *text);

/*
 * Runs a shell command in the folder; false: it failed. What it printed goes to *output, if asked for,
 * else to the test's own output.
 */
bool symfixture_run(const struct symfixture *fixture, char **output, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A symbol as `nm -S` has it. */
struct symfixture_symbol {
	uint64_t address;
	uint64_t size;
	char type;
	char *name;
};

/* All functions with a size; to be freed with g_array_unref. */
GArray *symfixture_nm(const struct symfixture *fixture, const char *program, const char *options);

/* The one of that name; the test fails where there is none. */
struct symfixture_symbol symfixture_find(const struct symfixture *fixture, const char *program,
	const char *name);

/* The place in the file of an address: from `readelf -lW`. */
uint64_t symfixture_offset(const struct symfixture *fixture, const char *program,
	uint64_t address);

/* The build-id in hex, by `readelf -n`; "" for none. And as bytes: their number. */
char *symfixture_build_id(const struct symfixture *fixture, const char *program);
size_t symfixture_build_id_bytes(const struct symfixture *fixture, const char *program,
	uint8_t *bytes, size_t size);

/* Whether a shell command succeeds. Its output is discarded. */
static inline bool symfixture_can(const struct symfixture *fixture, const char *command)
{
	char *output = NULL;
	bool can = symfixture_run(fixture, &output, "%s", command);

	g_free(output);
	return can;
}

#endif

/* SPDX-License-Identifier: MIT */
/* What the tests of src/symbolizer and src/symbolizerd share: see symfixture.h. */
#include "tests/unit/symfixture.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void symfixture_init(struct symfixture *fixture)
{
	fixture->dir = g_dir_make_tmp("test_sym.XXXXXX", NULL);
	assert_non_null(fixture->dir);
}

void symfixture_fini(struct symfixture *fixture)
{
	g_autofree char *command = g_strdup_printf("rm -rf '%s'", fixture->dir);

	assert_int_equal(system(command), 0);
	g_free(fixture->dir);
}

char *symfixture_path(const struct symfixture *fixture, const char *name)
{
	return g_build_filename(fixture->dir, name, NULL);
}

void symfixture_write(const struct symfixture *fixture, const char *name, const char *text)
{
	g_autofree char *path = symfixture_path(fixture, name);

	assert_true(g_file_set_contents(path, text, -1, NULL));
}

bool symfixture_run(const struct symfixture *fixture, char **output, const char *format, ...)
{
	char *arguments[] = { (char *)"sh", (char *)"-c", NULL, NULL };
	g_autofree char *out = NULL, *err = NULL;
	int status = 0;
	va_list ap;
	gboolean ran;

	va_start(ap, format);
	arguments[2] = g_strdup_vprintf(format, ap);
	va_end(ap);
	ran = g_spawn_sync(fixture->dir, arguments, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, &err,
		&status, NULL);
	if ((!ran || status) && !output)
		print_message("%s: %s%s\n", arguments[2], out ? out : "", err ? err : "");
	g_free(arguments[2]);
	if (output)
		*output = g_steal_pointer(&out);
	return ran && !status;
}

static void clear_symbol(void *data)
{
	struct symfixture_symbol *symbol = data;

	g_free(symbol->name);
}

GArray *symfixture_nm(const struct symfixture *fixture, const char *program, const char *options)
{
	GArray *symbols = g_array_new(FALSE, FALSE, sizeof(struct symfixture_symbol));
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	int i;

	g_array_set_clear_func(symbols, clear_symbol);
	assert_true(symfixture_run(fixture, &text, "nm -S --defined-only %s '%s'", options, program));
	lines = g_strsplit(text, "\n", -1);
	for (i = 0; lines[i]; i++) {
		struct symfixture_symbol symbol;
		int name = 0;

		if (sscanf(lines[i], "%" SCNx64 " %" SCNx64 " %c %n", &symbol.address, &symbol.size,
			    &symbol.type, &name) == 3 &&
			name && strchr("tTwWi", symbol.type)) {
			symbol.name = g_strdup(lines[i] + name);
			g_array_append_val(symbols, symbol);
		}
	}
	return symbols;
}

struct symfixture_symbol symfixture_find(const struct symfixture *fixture, const char *program,
	const char *name)
{
	g_autoptr(GArray) symbols = symfixture_nm(fixture, program, "");
	struct symfixture_symbol found = { 0 };
	guint i;

	for (i = 0; i < symbols->len; i++) {
		if (strcmp(g_array_index(symbols, struct symfixture_symbol, i).name, name) == 0)
			found = g_array_index(symbols, struct symfixture_symbol, i);
	}
	if (!found.name)
		fail_msg("%s has no function %s", program, name);
	found.name = NULL; /* freed with the list */
	return found;
}

/* "  LOAD           0x001000 0x0000000000401000 0x0000000000401000 0x0001c5 0x0001c5 R E 0x1000" */
uint64_t symfixture_offset(const struct symfixture *fixture, const char *program, uint64_t address)
{
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	int i;

	assert_true(symfixture_run(fixture, &text, "readelf -lW '%s'", program));
	lines = g_strsplit(text, "\n", -1);
	for (i = 0; lines[i]; i++) {
		uint64_t offset, start, size;

		if (sscanf(lines[i], " LOAD %" SCNx64 " %" SCNx64 " %*x %" SCNx64, &offset, &start,
			    &size) == 3 &&
			address >= start && address - start < size && strstr(lines[i], " E "))
			return address - start + offset;
	}
	fail_msg("%s: 0x%" PRIx64 " is in no segment with code", program, address);
	return 0;
}

char *symfixture_build_id(const struct symfixture *fixture, const char *program)
{
	g_autofree char *text = NULL;
	char *at;

	assert_true(symfixture_run(fixture, &text, "readelf -n '%s' 2>/dev/null", program));
	at = strstr(text, "Build ID: ");
	if (!at)
		return g_strdup("");
	at += strlen("Build ID: ");
	return g_strndup(at, strcspn(at, "\n"));
}

size_t symfixture_build_id_bytes(const struct symfixture *fixture, const char *program,
	uint8_t *bytes, size_t size)
{
	g_autofree char *hex = symfixture_build_id(fixture, program);
	size_t length = strlen(hex) / 2, i;

	assert_true(length <= size);
	for (i = 0; i < length; i++)
		bytes[i] = (uint8_t)(g_ascii_xdigit_value(hex[2 * i]) << 4 |
			g_ascii_xdigit_value(hex[2 * i + 1]));
	return length;
}

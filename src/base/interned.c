/* SPDX-License-Identifier: MIT */
/* Counted strings of a table: see interned.h. */
#include "base/interned.h"

#include <glib.h>
#include <stddef.h>
#include <string.h>

struct interned {
	GHashTable *strings; /* text -> itself */
};

/* What precedes the text. */
struct interned_string {
	struct interned *table;
	size_t uses;
	char text[];
};

static struct interned_string *string_of(const char *text)
{
	return (struct interned_string *)(void *)((char *)text - offsetof(struct interned_string, text));
}

struct interned *interned_create(void)
{
	struct interned *table = g_new0(struct interned, 1);

	table->strings = g_hash_table_new(g_str_hash, g_str_equal);
	return table;
}

void interned_destroy(struct interned *table)
{
	if (!table)
		return;
	g_hash_table_unref(table->strings);
	g_free(table);
}

const char *interned_new(struct interned *table, const char *text)
{
	const char *known = g_hash_table_lookup(table->strings, text);
	struct interned_string *string;
	size_t bytes;

	if (known)
		return interned_get(known);
	bytes = strlen(text) + 1;
	string = g_malloc(sizeof(*string) + bytes);
	string->table = table;
	string->uses = 1;
	memcpy(string->text, text, bytes);
	g_hash_table_add(table->strings, string->text);
	return string->text;
}

const char *interned_get(const char *text)
{
	string_of(text)->uses++;
	return text;
}

void interned_release(const char *text)
{
	struct interned_string *string;

	if (!text)
		return;
	string = string_of(text);
	if (--string->uses)
		return;
	g_hash_table_remove(string->table->strings, text);
	g_free(string);
}

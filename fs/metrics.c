/* SPDX-License-Identifier: MIT */
/* Counters as OpenMetrics text: see metrics.h. */
#include "fs/metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/text.h"

#define PREFIX "kprofs_"

/* What a family's samples are made of, in the order of the rows. */
struct family {
	const char *type;
	GString *help;
	GString *samples;
};

static void free_family(gpointer data)
{
	struct family *family = data;

	g_string_free(family->help, TRUE);
	g_string_free(family->samples, TRUE);
	g_free(family);
}

/* ---- names and labels ------------------------------------------------------------------------ */

static void append_clean(GString *name, const char *word)
{
	for (; *word; word++)
		g_string_append_c(name, g_ascii_isalnum(*word) ? *word : '_');
}

static void append_word(GString *name, const char *word)
{
	if (name->len)
		g_string_append_c(name, '_');
	append_clean(name, word);
}

/* In a label's quotes. */
static void append_value(GString *labels, const char *value)
{
	g_autoptr(GString) text = g_string_new(NULL);
	const char *c;

	text_append(text, value);
	for (c = text->str; *c; c++) {
		if (*c == '"' || *c == '\\')
			g_string_append_c(labels, '\\');
		g_string_append_c(labels, *c);
	}
}

static void append_label(GString *labels, const char *name, const char *value)
{
	if (labels->len)
		g_string_append_c(labels, ',');
	append_clean(labels, name);
	g_string_append(labels, "=\"");
	append_value(labels, value);
	g_string_append_c(labels, '"');
}

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/*
 * The name of a row without its numbers, and these as labels; for people as it is, with N for each.
 */
static void split_name(const char *row, GString *name, GString *labels, GString *help)
{
	g_auto(GStrv) words = g_strsplit(row, ".", -1);
	size_t i;

	for (i = 0; words[i]; i++) {
		bool number = i && is_number(words[i]);

		if (number)
			append_label(labels, words[i - 1], words[i]);
		else
			append_word(name, words[i]);
		g_string_append_printf(help, "%s%s", i ? "." : "", number ? "N" : words[i]);
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct family *find_family(GTree *families, const char *name, const char *help)
{
	struct family *family = g_tree_lookup(families, name);

	if (!family) {
		family = g_new(struct family, 1);
		family->type = "gauge";
		family->help = g_string_new(help);
		family->samples = g_string_new(NULL);
		g_tree_insert(families, g_strdup(name), family);
	}
	return family;
}

static void add_sample(GTree *families, const char *name, const char *help, const char *labels,
	const char *value)
{
	struct family *family = find_family(families, name, help);

	g_string_append_printf(family->samples, PREFIX "%s%s%s%s %s\n", name, *labels ? "{" : "",
		labels, *labels ? "}" : "", value);
}

/* ns, maybe behind a minus. */
static char *to_seconds(const char *value)
{
	const char *digits = value + (*value == '-');
	uint64_t ns = g_ascii_strtoull(digits, NULL, 10);

	return g_strdup_printf("%s%" PRIu64 ".%09" PRIu64, digits > value ? "-" : "",
		(uint64_t)(ns / NSEC_PER_SEC), (uint64_t)(ns % NSEC_PER_SEC));
}

/* A name with ns in it gets seconds instead. */
static bool name_seconds(GString *name)
{
	char *word = strstr(name->str, "_ns");

	if (!word || (word[3] && word[3] != '_'))
		return false;
	g_string_erase(name, word + 1 - name->str, strlen("ns"));
	g_string_insert(name, word + 1 - name->str, "seconds");
	return true;
}

/* Endings that have another meaning in OpenMetrics. */
static void avoid_endings(GString *name)
{
	static const char *const taken[] = { "_count", "_sum", "_bucket", "_total", "_created",
		"_info" };
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(taken); i++) {
		if (g_str_has_suffix(name->str, taken[i])) {
			g_string_append(name, "_value");
			return;
		}
	}
}

static void add_row(GTree *families, const char *row, const char *value)
{
	g_autoptr(GString) name = g_string_new(NULL);
	g_autoptr(GString) labels = g_string_new(NULL);
	g_autoptr(GString) help = g_string_new(NULL);
	const char *last = strrchr(row, '.');
	g_autofree char *seconds = NULL;

	split_name(row, name, labels, help);
	if (strcmp(value, "unknown") == 0)
		return;
	if (!is_number(value + (*value == '-'))) {
		append_label(labels, last ? last + 1 : row, value);
		g_string_append(name, "_info");
		value = "1";
	} else if (name_seconds(name)) {
		value = seconds = to_seconds(value);
	} else {
		avoid_endings(name);
	}
	add_sample(families, name->str, help->str, labels->str, value);
}

/* The rows cpu.N.runqueue.*: the waits of a CPU, in slots of powers of two. */
#define WAITS_NAME "runqueue_wait_seconds"
#define WAITS_SLOTS 64

struct waits {
	uint64_t slots[WAITS_SLOTS];
	uint64_t sum_ns;
};

/* Takes a row of these; false if it is another one. `waits` is by number of the CPU. */
static bool take_waits(GHashTable *waits, const char *row, const char *value)
{
	struct waits *of_cpu;
	unsigned int cpu, slot;
	int end = 0;

	if (sscanf(row, "cpu.%u.runqueue.%n", &cpu, &end) != 1 || !end)
		return false;
	of_cpu = g_hash_table_lookup(waits, GUINT_TO_POINTER(cpu));
	if (!of_cpu) {
		of_cpu = g_new0(struct waits, 1);
		g_hash_table_insert(waits, GUINT_TO_POINTER(cpu), of_cpu);
	}
	if (sscanf(row + end, "log2.%u", &slot) == 1 && slot < WAITS_SLOTS - 1)
		of_cpu->slots[slot] = g_ascii_strtoull(value, NULL, 10);
	else if (!strcmp(row + end, "wait_ns"))
		of_cpu->sum_ns = g_ascii_strtoull(value, NULL, 10);
	return true;
}

static void print_ns(GString *out, uint64_t ns)
{
	g_string_append_printf(out, "%" PRIu64 ".%09" PRIu64, (uint64_t)(ns / NSEC_PER_SEC),
		(uint64_t)(ns % NSEC_PER_SEC));
}

/* A histogram: a bucket has all waits that are at most as long as its bound. */
static void add_waits_of(struct family *family, unsigned int cpu, const struct waits *waits)
{
	uint64_t count = 0;
	unsigned int i, last = 0;

	for (i = 0; i < WAITS_SLOTS; i++)
		if (waits->slots[i])
			last = i;
	for (i = 0; i <= last; i++) {
		count += waits->slots[i];
		g_string_append_printf(family->samples, PREFIX WAITS_NAME "_bucket{cpu=\"%u\",le=\"", cpu);
		print_ns(family->samples, (UINT64_C(2) << i) - 1);
		g_string_append_printf(family->samples, "\"} %" PRIu64 "\n", count);
	}
	g_string_append_printf(family->samples,
		PREFIX WAITS_NAME "_bucket{cpu=\"%u\",le=\"+Inf\"} %" PRIu64 "\n", cpu, count);
	g_string_append_printf(family->samples, PREFIX WAITS_NAME "_count{cpu=\"%u\"} %" PRIu64 "\n",
		cpu, count);
	g_string_append_printf(family->samples, PREFIX WAITS_NAME "_sum{cpu=\"%u\"} ", cpu);
	print_ns(family->samples, waits->sum_ns);
	g_string_append_c(family->samples, '\n');
}

static void add_waits(GTree *families, GHashTable *waits)
{
	struct family *family;
	GHashTableIter iter;
	gpointer cpu, of_cpu;

	if (!g_hash_table_size(waits))
		return;
	family = find_family(families, WAITS_NAME, "cpu.N.runqueue");
	family->type = "histogram";
	g_hash_table_iter_init(&iter, waits);
	while (g_hash_table_iter_next(&iter, &cpu, &of_cpu))
		add_waits_of(family, GPOINTER_TO_UINT(cpu), of_cpu);
}

static void add_kpstat(GTree *families, const char *kpstat)
{
	GHashTable *waits = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
	g_auto(GStrv) lines = g_strsplit(kpstat, "\n", -1);
	size_t i;

	for (i = 0; lines[i]; i++) {
		char *blank = strchr(lines[i], ' ');

		if (!blank)
			continue;
		*blank = '\0';
		if (!take_waits(waits, lines[i], blank + 1))
			add_row(families, lines[i], blank + 1);
	}
	add_waits(families, waits);
	g_hash_table_destroy(waits);
}

static void add_mpstat(GTree *families, const char *mpstat_raw)
{
	static const char *const states[] = { "irq", "kern", "user", "idle" };
	const char *line = strchr(mpstat_raw, '\n');
	uint64_t ns[G_N_ELEMENTS(states)];
	unsigned int cpu;
	size_t i;

	/* behind the header: CPU: and four times, hexadecimal, in ns */
	while (line && sscanf(line + 1, "%u: %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &cpu,
		&ns[0], &ns[1], &ns[2], &ns[3]) == 5) {
		for (i = 0; i < G_N_ELEMENTS(states); i++) {
			g_autofree char *labels =
				g_strdup_printf("cpu=\"%u\",state=\"%s\"", cpu, states[i]);
			g_autofree char *value = g_strdup_printf("%" PRIu64 ".%09" PRIu64,
				(uint64_t)(ns[i] / NSEC_PER_SEC), (uint64_t)(ns[i] % NSEC_PER_SEC));

			add_sample(families, "mpstat_seconds", "mpstat", labels, value);
		}
		line = strchr(line + 1, '\n');
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

static gboolean print_family(gpointer name, gpointer value, gpointer out)
{
	const struct family *family = value;

	g_string_append_printf(out, "# TYPE " PREFIX "%s %s\n", (const char *)name, family->type);
	g_string_append_printf(out, "# HELP " PREFIX "%s %s, see kprof(5)\n", (const char *)name,
		family->help->str);
	g_string_append_len(out, family->samples->str, (gssize)family->samples->len);
	return FALSE;
}

static int compare(gconstpointer a, gconstpointer b, gpointer arg)
{
	return strcmp(a, b);
}

void metrics_append(GString *out, const char *kpstat, const char *mpstat_raw)
{
	GTree *families = g_tree_new_full(compare, NULL, g_free, free_family);

	add_kpstat(families, kpstat);
	add_mpstat(families, mpstat_raw);
	g_tree_foreach(families, print_family, out);
	g_string_append(out, "# EOF\n");
	g_tree_destroy(families);
}

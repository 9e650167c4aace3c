/* SPDX-License-Identifier: MIT */
/* Counters as OpenMetrics text: see metrics.h. */
#include "fs/metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define PREFIX "kprofs_"

static bool is_number(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/* probes.NAME.COUNTER: any text can be a name; it is a label of one metric for all programs. */
static bool split_probe(const char *row, GString *name, GString *labels, GString *help)
{
	static const char prefix[] = "probes.";
	const char *counter = strrchr(row, '.');
	g_autofree char *program = NULL;

	if (!g_str_has_prefix(row, prefix) || counter < row + strlen(prefix))
		return false;
	program = g_strndup(row + strlen(prefix), (gsize)(counter - row) - strlen(prefix));
	g_string_append(name, "probes");
	openmetrics_append_word(name, counter + 1);
	openmetrics_append_label(labels, "program", program);
	g_string_append_printf(help, "probes.NAME%s", counter);
	return true;
}

/*
 * The name of a row without its numbers, and these as labels; for people as it is, with N for each.
 */
static void split_name(const char *row, GString *name, GString *labels, GString *help)
{
	g_auto(GStrv) words = g_strsplit(row, ".", -1);
	size_t i;

	if (split_probe(row, name, labels, help))
		return;
	for (i = 0; words[i]; i++) {
		bool number = i && is_number(words[i]);

		if (number)
			openmetrics_append_label(labels, words[i - 1], words[i]);
		else
			openmetrics_append_word(name, words[i]);
		g_string_append_printf(help, "%s%s", i ? "." : "", number ? "N" : words[i]);
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

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

static void add_row(struct openmetrics *metrics, const char *row, const char *value)
{
	g_autoptr(GString) name = g_string_new(NULL);
	g_autoptr(GString) labels = g_string_new(NULL);
	g_autoptr(GString) help = g_string_new(NULL);
	const char *last = strrchr(row, '.');
	g_autofree char *seconds = NULL;

	split_name(row, name, labels, help);
	if (strcmp(value, "unknown") == 0 || strcmp(value, "not counted") == 0)
		return;
	if (!is_number(value + (*value == '-'))) {
		openmetrics_append_label(labels, last ? last + 1 : row, value);
		g_string_append(name, "_info");
		value = "1";
	} else if (name_seconds(name)) {
		value = seconds = to_seconds(value);
	} else {
		avoid_endings(name);
	}
	openmetrics_add(metrics, name->str, help->str, labels->str, value);
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

static char *seconds_of(uint64_t ns)
{
	return g_strdup_printf("%" PRIu64 ".%09" PRIu64, (uint64_t)(ns / NSEC_PER_SEC),
		(uint64_t)(ns % NSEC_PER_SEC));
}

/* A histogram: a bucket has all waits that are at most as long as its bound. */
static void add_waits_of(struct openmetrics *metrics, unsigned int cpu, const struct waits *waits)
{
	g_autofree char *labels = g_strdup_printf("cpu=\"%u\"", cpu), *sum = seconds_of(waits->sum_ns);
	struct openmetrics_bucket buckets[WAITS_SLOTS];
	char *bounds[WAITS_SLOTS];
	unsigned int i, last = 0;
	uint64_t count = 0;

	for (i = 0; i < WAITS_SLOTS; i++)
		if (waits->slots[i])
			last = i;
	for (i = 0; i <= last; i++) {
		count += waits->slots[i];
		bounds[i] = seconds_of((UINT64_C(2) << i) - 1);
		buckets[i] = (struct openmetrics_bucket){ bounds[i], count };
	}
	openmetrics_add_histogram(metrics, WAITS_NAME, "cpu.N.runqueue", labels, buckets, last + 1, count,
		sum);
	for (i = 0; i <= last; i++)
		g_free(bounds[i]);
}

static void add_waits(struct openmetrics *metrics, GHashTable *waits)
{
	GHashTableIter iter;
	gpointer cpu, of_cpu;

	g_hash_table_iter_init(&iter, waits);
	while (g_hash_table_iter_next(&iter, &cpu, &of_cpu))
		add_waits_of(metrics, GPOINTER_TO_UINT(cpu), of_cpu);
}

static void add_kpstat(struct openmetrics *metrics, const char *kpstat)
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
			add_row(metrics, lines[i], blank + 1);
	}
	add_waits(metrics, waits);
	g_hash_table_destroy(waits);
}

static void add_mpstat(struct openmetrics *metrics, const char *mpstat_raw)
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
			g_autofree char *value = seconds_of(ns[i]);

			openmetrics_add(metrics, "mpstat_seconds", "mpstat", labels, value);
		}
		line = strchr(line + 1, '\n');
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

struct openmetrics *metrics_create(const char *kpstat, const char *mpstat_raw)
{
	struct openmetrics *metrics = openmetrics_create(PREFIX);

	add_kpstat(metrics, kpstat);
	add_mpstat(metrics, mpstat_raw);
	return metrics;
}

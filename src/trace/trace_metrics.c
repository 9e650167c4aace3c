/* SPDX-License-Identifier: MIT */
/* Spans and counters of programs as metrics: see trace_metrics.h. */
#include "trace/trace_metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "sys/clock.h"
#include "trace/merge.h"
#include "trace/reading.h"
#include "trace/snapshot.h"
#include "trace/trace_text.h"

/* An event that is older is committed, or will never be. */
#define COMMIT_NS NSEC_PER_SEC

/* Durations by powers of two, as those of cpu.N.runqueue: slot i is below 2^(i+1) ns. */
#define SLOTS 64

struct durations {
	uint64_t slots[SLOTS], sum_ns;
};

/* l: under the lock */
struct trace_metrics {
	pthread_mutex_t lock;
	GHashTable *spans; /* l: label -> struct durations */
	uint64_t until_ns; /* l: ends up to this time are counted */
	uint64_t left_out; /* l: ends of spans for whose names there was no room */
};

struct trace_metrics *trace_metrics_create(void)
{
	struct trace_metrics *metrics = g_new0(struct trace_metrics, 1);

	pthread_mutex_init(&metrics->lock, NULL);
	metrics->spans = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return metrics;
}

void trace_metrics_destroy(struct trace_metrics *metrics)
{
	if (!metrics)
		return;
	g_hash_table_unref(metrics->spans);
	pthread_mutex_destroy(&metrics->lock);
	g_free(metrics);
}

/* ---- counting ---------------------------------------------------------------------------------- */

/* The last value of a counter in one process. */
struct value {
	uint64_t time_ns;
	char *labels, *text;
};

static void free_value(gpointer data)
{
	struct value *value = data;

	g_free(value->labels);
	g_free(value->text);
	g_free(value);
}

struct counting {
	struct trace_metrics *metrics;
	const struct cancel *cancel;
	struct trace_text *text;
	GHashTable *values; /* "PID LABEL" -> struct value */
	uint64_t until_ns;
	uint64_t values_left_out;
	GPtrArray *ends;    /* struct end: counted when all was read */
};

struct end {
	const char *label; /* of the snapshot */
	uint64_t duration_ns;
};

/*
 * A value as OpenMetrics takes it, NULL if the text is no number: with printf's "-nan", "inf" or "0x10" a
 * scraper would refuse all. To be freed.
 */
static char *format_value(const char *text)
{
	char number[G_ASCII_DTOSTR_BUF_SIZE], *rest;
	const double value = g_ascii_strtod(text, &rest);

	if (rest == text || *rest)
		return NULL;
	if (isnan(value))
		return g_strdup("NaN");
	if (isinf(value))
		return g_strdup(value < 0 ? "-Inf" : "+Inf");
	/* digits stay as they are: a whole number may be larger than a double has room for */
	if (!text[strspn(text, "+-.0123456789eE")])
		return g_strdup(text);
	return g_strdup(g_ascii_dtostr(number, sizeof(number), value));
}

static void count_value(struct counting *counting, const struct merge_item *item)
{
	struct trace_text_event event = item->event;
	g_autofree char *key = g_strdup_printf("%d %s", (int)event.pid, event.label);
	struct value *value = g_hash_table_lookup(counting->values, key);
	g_autofree char *pid = NULL, *text = NULL, *number = NULL;
	g_autoptr(GString) labels = NULL;
	const char *formatted;
	size_t bytes;
	bool cut;

	if (value && value->time_ns >= item->time_ns)
		return;
	if (!value && g_hash_table_size(counting->values) >= TRACE_METRICS_COUNTERS_MAX) {
		counting->values_left_out++;
		return;
	}
	formatted = trace_text_format(counting->text, &event, &bytes, &cut);
	text = g_strndup(formatted, bytes);
	number = format_value(text);
	if (!number)
		return; /* its producer says what its format is */
	if (!value) {
		labels = g_string_new(NULL);
		pid = g_strdup_printf("%d", (int)event.pid);
		openmetrics_append_label(labels, "counter", event.label);
		openmetrics_append_label(labels, "program", event.program);
		openmetrics_append_label(labels, "pid", pid);
		value = g_new0(struct value, 1);
		value->labels = g_strdup(labels->str);
		g_hash_table_insert(counting->values, g_steal_pointer(&key), value);
	}
	value->time_ns = item->time_ns;
	g_free(value->text);
	value->text = g_steal_pointer(&number);
}

static bool see(void *arg, const struct merge_item *item)
{
	struct counting *counting = arg;
	struct end *end;

	if (cancel_requested(counting->cancel))
		return false;
	if (item->message)
		return true;
	if (item->meaning->kind == KPROF_KIND_COUNTER) {
		count_value(counting, item);
	} else if (item->meaning->kind == PRODUCER_SPAN_END && item->time_ns > counting->metrics->until_ns &&
		item->time_ns <= counting->until_ns) {
		end = g_new(struct end, 1);
		*end = (struct end){ item->event.label, item->duration_ns };
		g_ptr_array_add(counting->ends, end);
	}
	return true;
}

static void count_end(struct trace_metrics *metrics, const struct end *end)
{
	struct durations *durations = g_hash_table_lookup(metrics->spans, end->label);
	unsigned int slot = 0;

	if (!durations && g_hash_table_size(metrics->spans) >= TRACE_METRICS_SPANS_MAX) {
		metrics->left_out++;
		return;
	}
	if (!durations) {
		durations = g_new0(struct durations, 1);
		g_hash_table_insert(metrics->spans, g_strdup(end->label), durations);
	}
	while (slot < SLOTS - 1 && end->duration_ns >= UINT64_C(2) << slot)
		slot++;
	durations->slots[slot]++;
	durations->sum_ns += end->duration_ns;
}

static int count_all(struct counting *counting, struct readings *readings, uid_t reader)
{
	struct snapshot *snapshot;
	struct merge_sums sums;
	struct merge *merge;
	int ret = readings_take(readings, reader, counting->cancel, &snapshot);

	if (ret)
		return ret;
	merge = merge_create(snapshot);
	ret = merge ? merge_each(merge, see, counting, &sums) : -ENOMEM;
	for (guint i = 0; !ret && i < counting->ends->len; i++)
		count_end(counting->metrics, g_ptr_array_index(counting->ends, i));
	if (!ret)
		counting->metrics->until_ns = counting->until_ns;
	merge_destroy(merge);
	snapshot_destroy(snapshot);
	return ret;
}

/* ---- the text ---------------------------------------------------------------------------------- */

static char *seconds_of(uint64_t ns)
{
	return g_strdup_printf("%" PRIu64 ".%09" PRIu64, (uint64_t)(ns / NSEC_PER_SEC),
		(uint64_t)(ns % NSEC_PER_SEC));
}

static void add_span(struct openmetrics *out, const char *label, const struct durations *durations)
{
	g_autoptr(GString) labels = g_string_new(NULL);
	g_autoptr(GPtrArray) bounds = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *sum = seconds_of(durations->sum_ns);
	struct openmetrics_bucket buckets[SLOTS];
	unsigned int last = 0;
	uint64_t count = 0;

	for (unsigned int i = 0; i < SLOTS - 1; i++)
		if (durations->slots[i])
			last = i;
	for (unsigned int i = 0; i <= last; i++) {
		count += durations->slots[i];
		g_ptr_array_add(bounds, seconds_of((UINT64_C(2) << i) - 1));
		buckets[i] = (struct openmetrics_bucket){ g_ptr_array_index(bounds, i), count };
	}
	openmetrics_append_label(labels, "span", label);
	openmetrics_add_histogram(out, "span_seconds", "durations of spans of programs", labels->str, buckets,
		last + 1, count + durations->slots[SLOTS - 1], sum);
}

static gint compare(gconstpointer a, gconstpointer b)
{
	return strcmp(a, b);
}

static void add_number(struct openmetrics *out, const char *name, const char *help, uint64_t number)
{
	g_autofree char *text = g_strdup_printf("%" PRIu64, number);

	openmetrics_add(out, name, help, "", text);
}

static void add_all(const struct counting *counting, struct openmetrics *out)
{
	const struct trace_metrics *metrics = counting->metrics;
	g_autoptr(GList) spans = g_list_sort(g_hash_table_get_keys(metrics->spans), compare);
	g_autoptr(GList) values = g_list_sort(g_hash_table_get_keys(counting->values), compare);

	for (const GList *span = spans; span; span = span->next)
		add_span(out, span->data, g_hash_table_lookup(metrics->spans, span->data));
	for (const GList *key = values; key; key = key->next) {
		const struct value *value = g_hash_table_lookup(counting->values, key->data);

		openmetrics_add(out, "program_value", "last values of counters of programs", value->labels,
			value->text);
	}
	if (spans)
		add_number(out, "span_ends_left_out", "ends of spans without room for their names",
			metrics->left_out);
	if (values)
		add_number(out, "program_values_left_out", "values without room in this text",
			counting->values_left_out);
}

int trace_metrics_add(struct trace_metrics *metrics, struct readings *readings, uid_t reader,
	const struct cancel *cancel, struct openmetrics *out)
{
	struct counting counting = { .metrics = metrics, .cancel = cancel, .text = trace_text_create(),
		.until_ns = clock_monotonic_ns() - COMMIT_NS };
	int ret;

	counting.values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_value);
	counting.ends = g_ptr_array_new_with_free_func(g_free);
	pthread_mutex_lock(&metrics->lock);
	ret = readings ? count_all(&counting, readings, reader) : 0;
	if (!ret)
		add_all(&counting, out);
	pthread_mutex_unlock(&metrics->lock);
	g_ptr_array_unref(counting.ends);
	g_hash_table_unref(counting.values);
	trace_text_destroy(counting.text);
	return ret;
}

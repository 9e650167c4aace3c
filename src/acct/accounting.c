/* SPDX-License-Identifier: MIT */
/*
 * The accounting behind mpstat: see accounting.h.
 *
 * A source (source.h) reads the kernel's counters, and exact.h has measured times while they are
 * measured; rows (row.h) turn them into time since the baseline. While it is paused it reads both
 * too, but adds nothing.
 */
#include "acct/accounting.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "acct/exact.h"
#include "acct/row.h"
#include "acct/source.h"
#include "base/units.h"
#include "kprof/records.h"
#include "sys/clock.h"

static const char *const state_names[ROW_COLUMNS] = {"irq", "kern", "user", "idle"};

/*
 * i: invariant after create; m: under the mutex. Only the lock of struct exact is
 * taken while it is held.
 */
struct accounting {
	const struct source_ops *ops; /* i */
	void *source;                 /* i; what it points to: m */
	uint64_t (*clock)(void);      /* i: NULL if the counters are taken as they are */
	struct exact *exact;          /* i: NULL if nothing is measured; may be locked under the mutex */
	pthread_mutex_t mutex;
	GArray *sample; /* m: of struct source_cpu, the newest sample */
	GArray *rows;   /* m: of struct row, by CPU number */
	size_t text_bytes, raw_bytes; /* m: size of the newest text of its kind; 0 if none was made */
	uint64_t backward_steps; /* m */
	uint64_t asked; /* m: readings of a CPU that was asked for the time in progress */
	bool on;        /* m */
	bool ipi;       /* m */
};

/*
 * Updates a row from the counters of its CPU and from `times`, which is NULL if nothing is measured.
 * The time since the last sample is added if `count`.
 */
static void advance_row(struct accounting *acct, struct row *row, const uint64_t *counters,
	uint64_t now_ns, const struct exact_times *times, uint64_t attachment, bool was_online, bool count)
{
	const bool same = times && row->attachment == attachment;
	uint64_t deltas[ROW_STATES], passed_ns = UINT64_MAX;

	if (!same && times)
		now_ns = times->at_ns;
	acct->backward_steps += row_take_counters(row, counters, deltas);
	/* what passed while the CPU was offline is in no column */
	if (acct->clock && was_online)
		passed_ns = now_ns > row->at_ns ? now_ns - row->at_ns : 0;
	if (count && row->based) {
		if (same)
			row_advance_exact(row, times, deltas);
		else
			row_advance(row, deltas, passed_ns);
	}
	if (times && !(same && count && row->based))
		row->seen = *times;
	if (!same)
		row_reset_ratio(row);
	row->attachment = times ? attachment : 0;
	row->at_ns = times ? times->at_ns : now_ns;
	row->based = true;
}

/* Adds what was measured before the CPU went offline; the counters of /proc/stat have no line for it. */
static void advance_offline(struct row *row, const struct exact_times *times, uint64_t attachment, bool count)
{
	static const uint64_t no_deltas[ROW_STATES];

	if (row->attachment == attachment && row->based && count)
		row_advance_exact(row, times, no_deltas);
	row->seen = *times;
	row->attachment = attachment;
	row->at_ns = times->at_ns;
}

/* Reads the source. The time since the last sample is added if `count`. */
static int take_sample(struct accounting *acct, bool count)
{
	const struct source_cpu *cpu;
	uint64_t attachment, now_ns;
	struct exact_times times;
	struct row *row;
	bool measured, was_online;
	guint i;
	int ret;

	ret = acct->ops->sample(acct->source, acct->sample);
	if (ret)
		return ret;
	if (acct->rows->len < acct->sample->len)
		g_array_set_size(acct->rows, acct->sample->len);
	now_ns = acct->clock ? acct->clock() : 0;
	attachment = acct->exact ? exact_begin(acct->exact) : 0;
	for (i = 0; i < acct->rows->len; i++) {
		row = &g_array_index(acct->rows, struct row, i);
		if (i >= acct->sample->len) {
			row->present = false;
			row->online = false;
			continue;
		}
		cpu = &g_array_index(acct->sample, struct source_cpu, i);
		was_online = row->online;
		row->present = cpu->present;
		row->online = cpu->online;
		if (attachment && acct->ipi && cpu->online)
			acct->asked += exact_ask(acct->exact, i);
		measured = attachment && exact_read(acct->exact, i, cpu->online, &times);
		if (cpu->online)
			advance_row(acct, row, cpu->ns, now_ns, measured ? &times : NULL, attachment,
				was_online, count);
		else if (measured)
			advance_offline(row, &times, attachment, count);
	}
	if (attachment)
		exact_end(acct->exact);
	return 0;
}

/* The accounted time begins at the newest sample: nothing older may be added later. */
static void forget_offline(struct accounting *acct)
{
	struct row *row;
	guint i;

	for (i = 0; i < acct->rows->len; i++) {
		row = &g_array_index(acct->rows, struct row, i);
		if (!row->online)
			row->based = false;
	}
}

/* In the thread that begins and ends the measuring. Without a source there is nothing to count. */
static void sample_now(void *arg)
{
	struct accounting *acct = arg;

	pthread_mutex_lock(&acct->mutex);
	(void)take_sample(acct, acct->on);
	pthread_mutex_unlock(&acct->mutex);
}

int accounting_create_from(const struct source_ops *ops, const struct source_paths *paths,
	struct err *err, struct accounting **acct)
{
	struct accounting *a = g_new0(struct accounting, 1);
	int ret;

	a->sample = g_array_new(FALSE, TRUE, sizeof(struct source_cpu));
	a->rows = g_array_new(FALSE, TRUE, sizeof(struct row));
	a->on = true;
	a->ipi = true; /* as on Akaros */
	pthread_mutex_init(&a->mutex, NULL);
	a->ops = ops;
	a->clock = paths->clock;
	a->exact = paths->exact;
	ret = a->ops->create(paths, err, &a->source);
	if (!ret) {
		ret = take_sample(a, false);
		if (ret) {
			err_set(err, -ret, "no CPU times: %s: %s", a->ops->name, g_strerror(-ret));
			a->ops->destroy(a->source);
		}
	}
	if (ret) {
		a->ops = &source_none;
		ret = a->ops->create(paths, err, &a->source);
	}
	if (a->exact)
		exact_listen(a->exact, sample_now, a);
	*acct = a;
	return ret;
}

int accounting_create(const char *proc_stat, const char *present, struct err *err,
	struct accounting **acct)
{
	const struct source_paths paths = {.proc_stat = proc_stat, .present = present};

	return accounting_create_from(&source_procstat, &paths, err, acct);
}

int accounting_create_exact(struct exact *exact, struct err *err, struct accounting **acct)
{
	const struct source_paths paths = {.clock = clock_monotonic_ns, .exact = exact};

	return accounting_create_from(&source_procstat, &paths, err, acct);
}

void accounting_destroy(struct accounting *acct)
{
	if (!acct)
		return;
	if (acct->exact)
		exact_unlisten(acct->exact, acct);
	acct->ops->destroy(acct->source);
	pthread_mutex_destroy(&acct->mutex);
	g_array_free(acct->rows, TRUE);
	g_array_free(acct->sample, TRUE);
	g_free(acct);
}

/*
 * floor(100 * part / total), at most 100. 100 * part does not fit 64 bits after six years of ns, so
 * the product is built from doublings and additions (100 is 1100100 in binary), each reduced by
 * `total` at once: quotient * total + rest = factor * part holds after every step.
 */
static unsigned int take_percent(uint64_t part, uint64_t total)
{
	unsigned int quotient = 0;
	uint64_t rest = 0;
	int bit;

	if (total == 0)
		total = 1;
	if (part >= total)
		return 100;
	for (bit = 6; bit >= 0; bit--) {
		quotient *= 2;
		if (rest >= total - rest) {
			rest -= total - rest;
			quotient++;
		} else {
			rest += rest;
		}
		if (!(100 >> bit & 1))
			continue;
		if (rest >= total - part) {
			rest -= total - part;
			quotient++;
		} else {
			rest += part;
		}
	}
	return quotient;
}

/* A number that is too large for its column makes the line wider, as printf does on Akaros too. */
static void print_row(unsigned int cpu, const struct row *row, GString *out)
{
	char text[64];
	uint64_t total = 0;
	int s, n;

	for (s = 0; s < ROW_COLUMNS; s++)
		total = row_add(total, row->ns[s]);
	n = snprintf(text, sizeof(text), "%5u: ", cpu);
	g_string_append_len(out, text, n);
	for (s = 0; s < ROW_COLUMNS; s++) {
		n = snprintf(text, sizeof(text), "%10" PRIu64 ".%06" PRIu64 " (%3u%%)%s",
			(uint64_t)(row->ns[s] / NSEC_PER_SEC),
			(uint64_t)(row->ns[s] % NSEC_PER_SEC / NSEC_PER_USEC),
			take_percent(row->ns[s], total), s + 1 < ROW_COLUMNS ? ", " : " \n");
		g_string_append_len(out, text, n);
	}
}

static void print_row_raw(unsigned int cpu, const struct row *row, GString *out)
{
	char text[64];
	int s, n;

	n = snprintf(text, sizeof(text), "%5u: ", cpu);
	g_string_append_len(out, text, n);
	for (s = 0; s < ROW_COLUMNS; s++) {
		n = snprintf(text, sizeof(text), "%16" PRIx64 "%s", row->ns[s],
			s + 1 < ROW_COLUMNS ? " " : "\n");
		g_string_append_len(out, text, n);
	}
}

static void print_rows(struct accounting *acct,
	void (*print)(unsigned int cpu, const struct row *row, GString *out), GString *out)
{
	const struct row *row;
	guint i;

	for (i = 0; i < acct->rows->len; i++) {
		row = &g_array_index(acct->rows, struct row, i);
		if (row->present)
			print(i, row, out);
	}
}

static unsigned int count_rows(const struct accounting *acct)
{
	unsigned int count = 0;
	guint i;

	for (i = 0; i < acct->rows->len; i++)
		count += g_array_index(acct->rows, struct row, i).present;
	return count;
}

/* Makes the text from the newest times, without reading the source. Under the mutex. */
static void print_text(struct accounting *acct, GString *out)
{
	int s;

	g_string_append(out, "  CPU: ");
	for (s = 0; s < ROW_COLUMNS; s++)
		g_string_append_printf(out, "%23s%s", state_names[s],
			s + 1 < ROW_COLUMNS ? "   " : "  \n");
	print_rows(acct, print_row, out);
}

static void print_text_raw(struct accounting *acct, GString *out)
{
	int s;

	g_string_append_printf(out, "v%03d %5u %16llu", 1, count_rows(acct), NSEC_PER_SEC);
	for (s = 0; s < ROW_COLUMNS; s++)
		g_string_append_printf(out, " %6s", state_names[s]);
	g_string_append_c(out, '\n');
	print_rows(acct, print_row_raw, out);
}

static int print_now(struct accounting *acct, GString *out,
	void (*print)(struct accounting *acct, GString *out), size_t *bytes)
{
	const gsize before = out->len;
	int ret;

	pthread_mutex_lock(&acct->mutex);
	ret = take_sample(acct, acct->on);
	if (!ret) {
		print(acct, out);
		*bytes = out->len - before;
	}
	pthread_mutex_unlock(&acct->mutex);
	return ret;
}

int accounting_print(struct accounting *acct, GString *out)
{
	return print_now(acct, out, print_text, &acct->text_bytes);
}

int accounting_print_raw(struct accounting *acct, GString *out)
{
	return print_now(acct, out, print_text_raw, &acct->raw_bytes);
}

int accounting_read(struct accounting *acct, GArray *times)
{
	guint i;
	int ret;

	pthread_mutex_lock(&acct->mutex);
	ret = take_sample(acct, acct->on);
	for (i = 0; !ret && i < acct->rows->len; i++) {
		const struct row *row = &g_array_index(acct->rows, struct row, i);
		const struct kprof_rec_cpu_times cpu = {
			.cpu = i,
			.irq_ns = row->ns[ROW_IRQ],
			.kern_ns = row->ns[ROW_KERN],
			.user_ns = row->ns[ROW_USER],
			.idle_ns = row->ns[ROW_IDLE],
			.steal_ns = row->ns[ROW_STEAL],
		};

		if (row->present)
			g_array_append_val(times, cpu);
	}
	pthread_mutex_unlock(&acct->mutex);
	return ret;
}

/* Columns have a fixed width, so the length stays the same until the number of CPUs changes. */
static size_t count_bytes(struct accounting *acct,
	void (*print)(struct accounting *acct, GString *out), size_t *newest)
{
	g_autoptr(GString) out = NULL;
	size_t bytes;

	pthread_mutex_lock(&acct->mutex);
	if (!*newest) {
		out = g_string_new(NULL);
		print(acct, out);
		*newest = out->len;
	}
	bytes = *newest;
	pthread_mutex_unlock(&acct->mutex);
	return bytes;
}

size_t accounting_bytes(struct accounting *acct)
{
	return count_bytes(acct, print_text, &acct->text_bytes);
}

size_t accounting_bytes_raw(struct accounting *acct)
{
	return count_bytes(acct, print_text_raw, &acct->raw_bytes);
}

int accounting_reset(struct accounting *acct)
{
	guint i;
	int ret;

	pthread_mutex_lock(&acct->mutex);
	ret = take_sample(acct, false);
	if (!ret) {
		for (i = 0; i < acct->rows->len; i++)
			row_reset(&g_array_index(acct->rows, struct row, i));
		forget_offline(acct);
	}
	pthread_mutex_unlock(&acct->mutex);
	return ret;
}

int accounting_set_on(struct accounting *acct, enum switch_word to)
{
	bool on;
	int ret;

	pthread_mutex_lock(&acct->mutex);
	on = switch_word_apply(to, acct->on);
	ret = take_sample(acct, acct->on); /* the time until now belongs to the old state */
	if (!ret) {
		if (on && !acct->on)
			forget_offline(acct);
		acct->on = on;
	}
	pthread_mutex_unlock(&acct->mutex);
	return ret;
}

bool accounting_is_on(struct accounting *acct)
{
	bool on;

	pthread_mutex_lock(&acct->mutex);
	on = acct->on;
	pthread_mutex_unlock(&acct->mutex);
	return on;
}

void accounting_set_ipi(struct accounting *acct, enum switch_word to)
{
	pthread_mutex_lock(&acct->mutex);
	acct->ipi = switch_word_apply(to, acct->ipi);
	pthread_mutex_unlock(&acct->mutex);
}

int accounting_print_stats(struct accounting *acct, struct stats *stats)
{
	const struct row *row;
	guint i;
	int ret;

	pthread_mutex_lock(&acct->mutex);
	ret = take_sample(acct, acct->on);
	stats_text(stats, acct->on ? "on" : "off", "mpstat.accounting");
	stats_text(stats, acct->ipi ? "on" : "off", "mpstat.ipi");
	stats_text(stats, acct->exact && exact_is_attached(acct->exact) ? "bpf" : acct->ops->name,
		"mpstat.source");
	if (acct->exact) {
		stats_text(stats, exact_split_name(exact_split(acct->exact)), "mpstat.split");
		stats_u64(stats, acct->asked, "mpstat.asked");
	}
	stats_u64(stats, acct->backward_steps, "mpstat.backward_steps");
	for (i = 0; !ret && i < acct->rows->len; i++) {
		row = &g_array_index(acct->rows, struct row, i);
		if (row->present)
			stats_u64(stats, row->ns[ROW_STEAL], "cpu.%u.steal_ns", i);
	}
	pthread_mutex_unlock(&acct->mutex);
	return ret;
}

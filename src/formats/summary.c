/* SPDX-License-Identifier: MIT */
/* The first lines of a text view: see summary.h. */
#include "formats/summary.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "base/units.h"

static const char *const lost_words[PROFILE_LOST_REASONS] = {
	[0] = "for other reasons",
	[KPROF_LOST_RING] = "in a full ring",
	[KPROF_LOST_QUEUE] = "in a full queue",
	[KPROF_LOST_OVERWRITE] = "overwritten",
	[KPROF_LOST_INVALID] = "not understood",
	[KPROF_LOST_RING_RECORDS] = "or other records in a full ring",
};

static void append_lost(GString *line, const struct profile_event *event)
{
	uint64_t lost = profile_lost(event);
	const char *sep = ": ";
	int i;

	g_string_append_printf(line, ", %" PRIu64 " lost", lost);
	if (!lost)
		return;
	g_string_append_printf(line, " (%.2f%%",
		100.0 * (double)lost / ((double)lost + (double)event->all.samples));
	for (i = 0; i < PROFILE_LOST_REASONS; i++) {
		if (!event->lost[i])
			continue;
		g_string_append_printf(
			line, "%s%" PRIu64 " %s", sep, event->lost[i], lost_words[i]);
		sep = ", ";
	}
	g_string_append_c(line, ')');
}

/* The times that tasks were away from the CPU; of wall the others too. */
static void append_away(GString *line, const struct profile_event *event)
{
	const uint64_t on = event->all.weight - event->away.weight - MIN(event->idle.weight,
		event->all.weight - event->away.weight);

	if (!profile_is_time(event))
		return;
	g_string_append_printf(line, ", %.3f s off CPU", (double)event->away.weight / NSEC_PER_SEC);
	if (event->flags & KPROF_EVENT_WALL)
		g_string_append_printf(line, ", %.3f s on CPU", (double)on / NSEC_PER_SEC);
}

void summary_append_event(GString *line, const struct profile_event *event, bool own)
{
	text_append_cut(line, event->text);
	if (event->flags & KPROF_EVENT_FALLBACK)
		g_string_append(line, " (the machine has no cycles counter)");
	if (event->flags & KPROF_EVENT_SCOPE_OWN)
		g_string_append(line, " (user space of the user's own processes only)");
	else if (event->flags & KPROF_EVENT_SCOPE_USER)
		g_string_append(line, " (user space only)");
	g_string_append(line, ": ");
	text_append_count(line, event->all.samples, "sample", "samples");
	g_string_append_printf(line, ", %" PRIu64 " of them idle", event->idle.samples);
	if (event->own.samples)
		g_string_append_printf(line, ", %" PRIu64 " in kprofs itself (%s)",
			event->own.samples, own ? "counted" : "left out");
	append_lost(line, event);
	append_away(line, event);
	if (event->throttles) {
		g_string_append(line, ", throttled ");
		text_append_count(line, event->throttles, "time", "times");
		g_string_append_printf(
			line, " for %.3f s", (double)event->throttled_ns / NSEC_PER_SEC);
	}
}

void summary_append_event_briefly(GString *line, const struct profile_event *event)
{
	text_append_cut(line, event->text);
	if (event->flags & (KPROF_EVENT_SCOPE_OWN | KPROF_EVENT_SCOPE_USER))
		g_string_append(line, " (user space)");
	g_string_append(line, ": ");
	text_append_count(line, event->all.samples, "sample", "samples");
	g_string_append_printf(line, ", %" PRIu64 " lost", profile_lost(event));
}

void summary_append_capture(GString *line, const struct profile *profile)
{
	text_append_count(line, profile->samples, "sample", "samples");
	g_string_append(line, " of ");
	text_append_count(line, profile->events->len, "event", "events");
	g_string_append_printf(line, " in %.3f s on ", (double)profile->duration_ns / NSEC_PER_SEC);
	text_append_count(line, profile->cpus, "CPU", "CPUs");
}

/* The length of the runs in ns, as the CPU with the longest ones saw it; 0: not known. */
static uint64_t run_ns(const struct profile *profile)
{
	const uint32_t cpus = cputimes_cpus(&profile->cpu_times);
	struct cputimes_sum sum;
	uint64_t longest = 0;
	uint32_t cpu;

	for (cpu = 0; cpu < cpus; cpu++)
		if (cputimes_sum(&profile->cpu_times, cpu, &sum))
			longest = MAX(longest, sum.measured_ns);
	return longest;
}

static uint64_t lost_of_all(const struct profile *profile)
{
	uint64_t lost = 0;
	uint32_t i;

	for (i = 0; i < profile->events->len; i++)
		if (__builtin_add_overflow(lost, profile_lost(profile_event(profile, i)), &lost))
			lost = UINT64_MAX;
	return lost;
}

static bool has_records(const struct profile *profile)
{
	return profile->records || profile->unknown || profile->damaged;
}

void summary_append_nothing(
	GString *line, const struct profile *profile, const struct summary_source *source)
{
	const uint64_t run = source && source->run_ns ? source->run_ns : run_ns(profile),
		       lost = lost_of_all(profile);

	if (!has_records(profile) && source && !source->control) {
		g_string_append(line, "nothing was captured: there are no records");
	} else if (!has_records(profile) && !run) {
		g_string_append(line, "nothing captured yet: echo start > ");
		text_append(line, source ? source->control : "kpctl");
	} else if (profile->samples) {
		g_string_append(line, "all samples are of the idle task or the server's own");
	} else if (!profile->records && !run) {
		g_string_append(line, "there are no samples");
	} else {
		g_string_append(line, "no samples were taken");
		if (run)
			g_string_append_printf(line, " in %.3f s", (double)run / NSEC_PER_SEC);
		if (lost)
			g_string_append_printf(line, ", and %" PRIu64 " were lost", lost);
	}
}

int summary_refuse(
	const struct profile *profile, const struct summary_source *source, struct err *err)
{
	g_autoptr(GString) line = g_string_new(NULL);

	summary_append_nothing(line, profile, source);
	return err_set(err, ENODATA, "%s", line->str);
}

static void append_unknown(GString *line, const struct profile *profile)
{
	text_append_count(line, profile->unknown, "record of an unknown type",
		"records of unknown types");
	g_string_append(line, " skipped");
}

static uint64_t count_cut_stacks(const struct profile *profile)
{
	uint64_t cut = 0;
	uint32_t i;

	for (i = 0; i < profile->events->len; i++)
		cut += profile_event(profile, i)->cut_stacks;
	return cut;
}

static void append_cut_stacks(GString *line, const struct profile *profile)
{
	uint64_t cut = count_cut_stacks(profile);

	text_append_count(line, cut, "stack ends", "stacks end");
	g_string_append_printf(line, " (%.2f%%) at a return address that is not in code",
		summary_share(cut, profile->samples));
}

void summary_append_notes(GString *line, const struct profile *profile)
{
	if (profile->unknown)
		append_unknown(line, profile);
	if (profile->unknown && count_cut_stacks(profile))
		g_string_append(line, "; ");
	if (count_cut_stacks(profile))
		append_cut_stacks(line, profile);
}

void summary_write(const struct profile *profile, const struct summary *summary, FILE *out)
{
	g_autoptr(GString) text = g_string_new("# ");
	uint32_t i;

	if (profile->samples)
		summary_append_capture(text, profile);
	else
		summary_append_nothing(text, profile, summary->source);
	g_string_append_c(text, '\n');
	for (i = 0; i < profile->events->len; i++) {
		g_string_append(text, "# ");
		summary_append_event(text, profile_event(profile, i), summary->own);
		g_string_append_c(text, '\n');
	}
	if (profile->unknown) {
		g_string_append(text, "# ");
		append_unknown(text, profile);
		g_string_append_c(text, '\n');
	}
	if (summary->unresolved) {
		g_string_append(text, "# ");
		text_append_count(text, summary->unresolved, "sample", "samples");
		g_string_append_printf(text, " (%.2f%%) at addresses without a symbol\n",
			summary_share(summary->unresolved, summary->counted));
	}
	if (count_cut_stacks(profile)) {
		g_string_append(text, "# ");
		append_cut_stacks(text, profile);
		g_string_append_c(text, '\n');
	}
	fwrite(text->str, 1, text->len, out);
}

/* SPDX-License-Identifier: MIT */
/* The SPECs `offcpu` and `wall`: see event_offcpu.h. */
#include "prof/event_offcpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "prof/event_parse.h"
#include "prof/offcpu.h"

#define WORD_MAX 64

/* What the words of one SPEC set. */
struct words {
	const char *text;
	struct event_away away;
	uint64_t freq;
	bool freq_given;
};

static int take_number(const struct words *w, const char *name, const char *word, uint64_t *value,
	struct err *err)
{
	if (units_parse_u64(word, value))
		return err_set(err, EINVAL, "'%s': %s needs a number", w->text, name);
	return 0;
}

static int take_min(struct words *w, const char *number, struct err *err)
{
	uint64_t us;
	int ret = take_number(w, "min", number, &us, err);

	if (!ret && us > OFFCPU_MIN_US_MAX)
		ret = err_set(err, EINVAL, "'%s': min is at most %llu us", w->text, OFFCPU_MIN_US_MAX);
	if (!ret)
		w->away.min_ns = us * NSEC_PER_USEC;
	return ret;
}

static int take_word(struct words *w, const char *word, struct err *err)
{
	const bool wall = w->away.source == EVENT_WALL;

	if (!strcmp(word, "waker")) {
		w->away.waker = true;
		return 0;
	}
	if (!strncmp(word, "min=", 4))
		return take_min(w, word + 4, err);
	if (wall && !strncmp(word, "freq=", 5)) {
		if (w->freq_given)
			return err_set(err, EINVAL, "'%s': more than one rate", w->text);
		w->freq_given = true;
		return take_number(w, "freq", word + 5, &w->freq, err);
	}
	return err_set(err, EINVAL, "'%s': no modifier '%s' here; there are: min=US, waker%s", w->text,
		word, wall ? ", freq=HZ" : "");
}

static bool is_event(const char *text, const char *name)
{
	const size_t length = strlen(name);

	return !strncmp(text, name, length) && (!text[length] || text[length] == ':');
}

int event_offcpu_parse(const char *text, struct event_away *away, struct perf_event_attr *attr,
	bool *rate_given, struct err *err)
{
	struct words w = { .text = text, .away.min_ns = OFFCPU_MIN_US_DEFAULT * NSEC_PER_USEC };
	const char *at = text;
	char word[WORD_MAX];
	int ret = 0;

	if (is_event(text, "offcpu"))
		w.away.source = EVENT_OFFCPU;
	else if (is_event(text, "wall"))
		w.away.source = EVENT_WALL;
	else
		return -ESRCH;
	while (!ret && *(at += strcspn(at, ":"))) {
		const size_t length = strcspn(++at, ":");

		snprintf(word, sizeof(word), "%.*s", length < sizeof(word) ? (int)length : WORD_MAX - 1, at);
		ret = take_word(&w, word, err);
	}
	if (ret)
		return ret;
	*away = w.away;
	*rate_given = w.freq_given || w.away.source == EVENT_OFFCPU;
	if (w.away.source == EVENT_OFFCPU) {
		event_offcpu_side(away, attr);
	} else {
		event_parse_fallback(attr); /* cpu-clock */
		attr->freq = w.freq_given;
		attr->sample_freq = w.freq;
	}
	return 0;
}

void event_offcpu_side(struct event_away *away, struct perf_event_attr *attr)
{
	if (away->source == EVENT_WALL)
		away->source = EVENT_WALL_OFFCPU;
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_period = 1, /* each one is a sample */
	};
}

/* SPDX-License-Identifier: MIT */
/* The syntaxes of one SPEC: see event_parse.h, and events.h for their order. */
#include "prof/event_parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/units.h"
#include "sys/pfm.h"
#include "sys/tracefs.h"

#define PERF_PREFIX "perf::"
#define RAW_DIGITS_MAX 16 /* of a u64 */
#define PRECISE_MAX 3
#define NAME_MAX_BYTES NEAREST_NAME_MAX

/* ---- modifiers of the syntaxes that libpfm4 does not parse ----------------------------------- */

enum syntax {
	SYNTAX_TRACEPOINT = 1 << 0,
	SYNTAX_SOFTWARE = 1 << 1,
	SYNTAX_HARDWARE = 1 << 2, /* and raw events */
	SYNTAX_PMU = SYNTAX_SOFTWARE | SYNTAX_HARDWARE,
	SYNTAX_ALL = SYNTAX_TRACEPOINT | SYNTAX_PMU,
};

enum modifier_id {
	MOD_USER,
	MOD_KERNEL,
	MOD_HV,
	MOD_GUEST,
	MOD_HOST,
	MOD_PRECISE,
	MOD_PERIOD,
	MOD_FREQ,
	MOD_REFUSED
};

static const struct modifier {
	const char *name;
	enum modifier_id id;
	unsigned int syntaxes; /* that allow it */
	bool has_value;
} modifiers[] = {
	{"u", MOD_USER, SYNTAX_ALL, false},
	{"k", MOD_KERNEL, SYNTAX_ALL, false},
	{"h", MOD_HV, SYNTAX_HARDWARE, false},
	{"mg", MOD_GUEST, SYNTAX_PMU, false},
	{"mh", MOD_HOST, SYNTAX_PMU, false},
	{"precise", MOD_PRECISE, SYNTAX_HARDWARE, true},
	{"period", MOD_PERIOD, SYNTAX_ALL, true},
	{"freq", MOD_FREQ, SYNTAX_ALL, true},
	{"cpu", MOD_REFUSED, SYNTAX_ALL, true},
	{"pinned", MOD_REFUSED, SYNTAX_ALL, true},
	{"excl", MOD_REFUSED, SYNTAX_ALL, true},
};

/* One modifier in a text: "NAME" or "NAME=VALUE". */
struct modifier_word {
	char name[NAME_MAX_BYTES];
	char value[NAME_MAX_BYTES];
	bool has_value;
};

/*
 * Copies the word up to the next of `separators`. Returns what follows, beginning with the
 * separator.
 */
static const char *next_word(const char *text, const char *separators, struct modifier_word *word)
{
	size_t length = strcspn(text, separators);
	const char *equals = memchr(text, '=', length);
	size_t name_length = equals ? (size_t)(equals - text) : length;
	size_t value_length = equals ? length - name_length - 1 : 0;

	word->has_value = equals;
	if (name_length >= sizeof(word->name))
		name_length = sizeof(word->name) - 1; /* no modifier is that long */
	if (value_length >= sizeof(word->value))
		value_length = sizeof(word->value) - 1; /* no number is that long */
	memcpy(word->name, text, name_length);
	word->name[name_length] = '\0';
	if (equals)
		memcpy(word->value, equals + 1, value_length);
	word->value[value_length] = '\0';
	return text + length;
}

static const struct modifier *find_modifier(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(modifiers) / sizeof(modifiers[0]); i++)
		if (!strcasecmp(modifiers[i].name, name))
			return &modifiers[i];
	return NULL;
}

static int refuse_modifier(const char *text, const char *name, struct err *err)
{
	if (!strcasecmp(name, "cpu"))
		return err_set(
			err, EINVAL, "'%s': the modifier cpu is not for events: use `cpus`", text);
	return err_set(err, EINVAL,
		"'%s': the modifier %s is refused: it would keep others from"
		" their counters",
		text, name);
}

/* The content of a chain of modifiers. */
struct selection {
	bool user, kernel, hv, guest, host;
	uint64_t precise;
	uint64_t rate;
	bool rate_given, is_freq;
};

/* The number after the = of a modifier. */
static int take_number(const char *text, const struct modifier *modifier, const struct modifier_word *word,
	uint64_t *value, struct err *err)
{
	const int ret = word->has_value ? units_parse_u64(word->value, value) : -EINVAL;

	return ret ? err_set(err, EINVAL, "'%s': %s %s", text, modifier->name,
			     ret == -ERANGE ? "has a number above 2^64 - 1" : "needs a number")
		   : 0;
}

static int take_modifier(const char *text, const struct modifier_word *word, unsigned int syntax,
	struct selection *selection, struct err *err)
{
	const struct modifier *modifier = find_modifier(word->name);
	uint64_t value = 0;
	int ret;

	if (!modifier || !(modifier->syntaxes & syntax))
		return err_set(err, EINVAL,
			"'%s': no modifier '%s' here; there are: u, k, period=N,"
			" freq=HZ%s",
			text, word->name,
			syntax == SYNTAX_HARDWARE   ? ", h, mg, mh, precise=N"
			: syntax == SYNTAX_SOFTWARE ? ", mg, mh"
						: "");
	if (modifier->id == MOD_REFUSED)
		return refuse_modifier(text, word->name, err);
	if (word->has_value && !modifier->has_value)
		return err_set(err, EINVAL, "'%s': %s takes no value", text, modifier->name);
	ret = modifier->has_value ? take_number(text, modifier, word, &value, err) : 0;
	if (ret)
		return ret;
	switch (modifier->id) {
	case MOD_USER:
		selection->user = true;
		break;
	case MOD_KERNEL:
		selection->kernel = true;
		break;
	case MOD_HV:
		selection->hv = true;
		break;
	case MOD_GUEST:
		selection->guest = true;
		break;
	case MOD_HOST:
		selection->host = true;
		break;
	case MOD_PRECISE:
		if (value > PRECISE_MAX)
			return err_set(err, EINVAL, "'%s': precise is 0 to %d", text, PRECISE_MAX);
		selection->precise = value;
		break;
	default: /* MOD_PERIOD, MOD_FREQ */
		if (selection->rate_given)
			return err_set(err, EINVAL, "'%s': more than one rate", text);
		selection->rate_given = true;
		selection->is_freq = modifier->id == MOD_FREQ;
		selection->rate = value;
	}
	return 0;
}

/* Parses ":WORD:WORD..." after an event, for all syntaxes but libpfm4's, into attr. */
static int parse_modifiers(const char *text, const char *at, unsigned int syntax,
	struct perf_event_attr *attr, bool *rate_given, struct err *err)
{
	struct selection selection = {0};
	struct modifier_word word;
	int ret;

	while (*at) {
		at = next_word(at + 1, ":", &word);
		ret = take_modifier(text, &word, syntax, &selection, err);
		if (ret)
			return ret;
	}
	if (selection.user || selection.kernel || selection.hv) {
		attr->exclude_user = !selection.user;
		attr->exclude_kernel = !selection.kernel;
	}
	if (syntax & SYNTAX_PMU) {
		/* as libpfm4 does: hypervisor and guests only if given */
		attr->exclude_hv = !selection.hv;
		attr->exclude_guest = !selection.guest;
		attr->exclude_host = selection.guest && !selection.host;
	}
	attr->precise_ip = selection.precise;
	attr->freq = selection.is_freq;
	attr->sample_period = selection.rate;
	*rate_given = selection.rate_given;
	return 0;
}

/* ---- perf's generic events by our own table -------------------------------------------------- */

static const struct generic {
	const char *name;
	uint32_t type;
	uint64_t config;
} generics[] = {
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
	{"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
	{"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	{"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{"migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
	{"cgroup-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CGROUP_SWITCHES},
};

#define GENERICS (sizeof(generics) / sizeof(generics[0]))

const char *event_parse_generic_name(size_t i, bool *hardware)
{
	if (i >= GENERICS)
		return NULL;
	*hardware = generics[i].type == PERF_TYPE_HARDWARE;
	return generics[i].name;
}

static void set_generic(struct perf_event_attr *attr, uint32_t type, uint64_t config)
{
	attr->type = type;
	attr->config = config;
	attr->exclude_hv = 1;
	attr->exclude_guest = 1;
}

void event_parse_default(struct perf_event_attr *attr)
{
	set_generic(attr, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
}

void event_parse_fallback(struct perf_event_attr *attr)
{
	set_generic(attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
}

/* Returns -ESRCH if it is not in the table. */
static int parse_generic(
	const char *text, struct perf_event_attr *attr, bool *rate_given, struct err *err)
{
	const char *name = text;
	size_t i, length;

	if (!strncmp(name, PERF_PREFIX, sizeof(PERF_PREFIX) - 1))
		name += sizeof(PERF_PREFIX) - 1;
	length = strcspn(name, ":");
	for (i = 0; i < GENERICS; i++) {
		const struct generic *generic = &generics[i];

		if (strlen(generic->name) != length || strncasecmp(generic->name, name, length))
			continue;
		set_generic(attr, generic->type, generic->config);
		return parse_modifiers(text, name + length,
			generic->type == PERF_TYPE_HARDWARE ? SYNTAX_HARDWARE : SYNTAX_SOFTWARE, attr,
			rate_given, err);
	}
	return -ESRCH;
}

/* ---- raw events ------------------------------------------------------------------------------ */

/* Returns -ESRCH for another syntax. */
static int parse_raw(
	const char *text, struct perf_event_attr *attr, bool *rate_given, struct err *err)
{
	size_t digits = text[0] == 'r' ? strspn(text + 1, "0123456789abcdefABCDEF") : 0;

	if (!digits || (text[1 + digits] && text[1 + digits] != ':'))
		return -ESRCH;
	if (digits > RAW_DIGITS_MAX)
		return err_set(err, EINVAL, "'%s': a raw event has at most %d hex digits", text,
			RAW_DIGITS_MAX);
	attr->type = PERF_TYPE_RAW;
	attr->config = strtoull(text + 1, NULL, 16);
	return parse_modifiers(text, text + 1 + digits, SYNTAX_HARDWARE, attr, rate_given, err);
}

/* ---- tracepoints ----------------------------------------------------------------------------- */

/* Splits "SYSTEM:NAME"; false if the text has another form, as PMU::EVENT has. */
static bool split_tracepoint(const char *text, char *system, char *name, const char **rest)
{
	size_t system_length = strcspn(text, ":"), name_length;

	if (!text[system_length])
		return false;
	*rest = text + system_length + 1;
	name_length = strcspn(*rest, ":");
	if (!system_length || !name_length || system_length >= NAME_MAX_BYTES ||
		name_length >= NAME_MAX_BYTES)
		return false;
	memcpy(system, text, system_length);
	system[system_length] = '\0';
	memcpy(name, *rest, name_length);
	name[name_length] = '\0';
	*rest += name_length;
	return true;
}

/* The descriptor of tracefs, or -errno. */
static int open_tracefs(struct event_parse *parser)
{
	int ret;

	if (!parser->tracefs) {
		ret = tracefs_open(parser->tracefs_path, &parser->tracefs);
		if (ret)
			parser->tracefs = ret;
	}
	return parser->tracefs;
}

/* Returns -ESRCH for another syntax, or if there is no such tracepoint. */
static int parse_tracepoint(struct event_parse *parser, const char *text,
	struct perf_event_attr *attr, bool *rate_given, struct err *err)
{
	char system[NAME_MAX_BYTES], name[NAME_MAX_BYTES];
	const char *rest;
	uint64_t id;
	int fd;

	if (!split_tracepoint(text, system, name, &rest))
		return -ESRCH;
	fd = open_tracefs(parser);
	if (fd < 0 || tracefs_event_id(fd, system, name, &id))
		return -ESRCH;
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = id;
	return parse_modifiers(text, rest, SYNTAX_TRACEPOINT, attr, rate_given, err);
}

/* ---- libpfm4's strings ----------------------------------------------------------------------- */

/*
 * libpfm4 accepts what we refuse: cpu, pinned and excl, and rates that are negative or too large
 * for a u64, which it silently turns into another number.
 */
static int check_words(const char *text, bool *rate_given, struct err *err)
{
	const char *at = strstr(text, "::");
	struct modifier_word word;
	uint64_t value;
	int ret;

	*rate_given = false;
	at = next_word(at ? at + 2 : text, ":.", &word);
	while (*at) {
		const struct modifier *modifier;

		at = next_word(at + 1, ":.", &word);
		modifier = find_modifier(word.name);
		if (!modifier)
			continue;
		if (modifier->id == MOD_REFUSED)
			return refuse_modifier(text, word.name, err);
		if (modifier->id != MOD_PERIOD && modifier->id != MOD_FREQ)
			continue;
		if (*rate_given)
			return err_set(err, EINVAL, "'%s': more than one rate", text);
		ret = take_number(text, modifier, &word, &value, err);
		if (ret)
			return ret;
		if (!value)
			return err_set(err, EINVAL, "'%s': %s can't be 0", text, modifier->name);
		*rate_given = true;
	}
	return 0;
}

static int parse_pfm(
	const char *text, struct perf_event_attr *attr, bool *rate_given, struct err *err)
{
	struct pfm_encoding encoding;
	int ret;

	ret = check_words(text, rate_given, err);
	if (!ret)
		ret = pfm_encode(text, &encoding, err);
	if (ret)
		return ret;
	if (encoding.pinned || encoding.exclusive || encoding.cpu != -1)
		return refuse_modifier(text,
			encoding.pinned      ? "pinned"
			: encoding.exclusive ? "excl"
					     : "cpu",
			err);
	attr->type = encoding.type;
	attr->config = encoding.config;
	attr->config1 = encoding.config1;
	attr->config2 = encoding.config2;
	attr->exclude_user = encoding.exclude_user;
	attr->exclude_kernel = encoding.exclude_kernel;
	attr->exclude_hv = encoding.exclude_hv;
	attr->exclude_host = encoding.exclude_host;
	attr->exclude_guest = encoding.exclude_guest;
	attr->precise_ip = encoding.precise_ip;
	attr->freq = encoding.is_freq;
	attr->sample_period = encoding.rate;
	return 0;
}

/* ---- one SPEC -------------------------------------------------------------------------------- */

void event_parse_init(struct event_parse *parser, const char *tracefs_path)
{
	parser->tracefs_path = tracefs_path;
	parser->tracefs = 0;
}

void event_parse_fini(struct event_parse *parser)
{
	if (parser->tracefs > 0)
		close(parser->tracefs);
	parser->tracefs = 0;
}

/* No syntax knows the event: the error has the nearest names of all syntaxes that were tried. */
static int refuse_unknown(struct event_parse *parser, const char *text, struct err *err)
{
	char system[NAME_MAX_BYTES], name[NAME_MAX_BYTES], near[NEAREST_TEXT_MAX];
	struct nearest nearest;
	const char *rest;
	size_t i;
	int fd;

	if (split_tracepoint(text, system, name, &rest)) {
		char wanted[2 * NAME_MAX_BYTES];

		fd = open_tracefs(parser);
		snprintf(wanted, sizeof(wanted), "%s:%s", system, name);
		nearest_init(&nearest, wanted);
		if (fd >= 0)
			tracefs_nearest(fd, system, &nearest);
		if (nearest.count)
			return err_set(err, ENOENT, "no event '%s'%s", text,
				nearest_text(&nearest, near, sizeof(near)));
		if (fd < 0)
			return err_set(err, ENOENT,
				"no event '%s'; kernel tracepoints can't be looked up: %s", text,
				strerror(-fd));
	}
	nearest_init(&nearest, pfm_event_name(text, name, sizeof(name)));
	for (i = 0; i < GENERICS; i++)
		nearest_offer(&nearest, generics[i].name);
	pfm_nearest(text, &nearest);
	return err_set(
		err, ENOENT, "no event '%s'%s", text, nearest_text(&nearest, near, sizeof(near)));
}

int event_parse_parse(struct event_parse *parser, const char *text, struct perf_event_attr *attr,
	bool *rate_given, struct err *err)
{
	struct err said = {""};
	int ret, own;

	ret = parse_raw(text, attr, rate_given, err);
	if (ret == -ESRCH)
		ret = parse_tracepoint(parser, text, attr, rate_given, err);
	if (ret != -ESRCH)
		return ret;
	ret = parse_pfm(text, attr, rate_given, &said);
	if (ret == -ESRCH || ret == -ENOENT || ret == -EOPNOTSUPP) {
		own = parse_generic(text, attr, rate_given, err);
		if (own != -ESRCH)
			return own;
	}
	if (ret == -ESRCH)
		return refuse_unknown(parser, text, err);
	return ret ? err_set(err, -ret, "%s", said.text) : 0;
}

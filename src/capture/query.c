/* SPDX-License-Identifier: MIT */
/* Queries: see query.h. */
#include "capture/query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "kprof/records.h"

#define DIGITS "0123456789"

const char *const query_names[QUERY_KEYS] = {
	[QUERY_LAST] = "last",
	[QUERY_SINCE] = "since",
	[QUERY_UNTIL] = "until",
	[QUERY_PID] = "pid",
	[QUERY_TID] = "tid",
	[QUERY_COMM] = "comm",
	[QUERY_CPU] = "cpu",
	[QUERY_EVENT] = "event",
	[QUERY_EXE] = "exe",
	[QUERY_UID] = "uid",
	[QUERY_HOST] = "host",
	[QUERY_SPAN] = "span",
};

enum query_key query_find(const char *name)
{
	int key;

	for (key = 0; key < QUERY_KEYS; key++)
		if (!strcmp(query_names[key], name))
			break;
	return (enum query_key)key;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Decimal digits without sign, as the kernel writes pids. */
static int parse_decimal(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t v = 0;

	if (!*text || text[strspn(text, DIGITS)])
		return -EINVAL;
	for (; *text; text++) {
		const uint64_t digit = (uint64_t)(*text - '0');

		if (v > (max - digit) / 10)
			return -ERANGE;
		v = v * 10 + digit;
	}
	*value = v;
	return 0;
}

/*
 * DIGITS[.DIGITS] of a unit that has unit_ns ns, with `length` bytes; digits below a ns are refused.
 */
static int parse_fraction(const char *text, size_t length, uint64_t unit_ns, uint64_t *ns)
{
	const size_t whole = strspn(text, DIGITS);
	uint64_t v = 0, scale = unit_ns;
	size_t i;

	/* first the form: what is no number is not one that is too large */
	if (!whole || whole > length || whole + 1 == length)
		return -EINVAL;
	if (whole < length && (text[whole] != '.' || whole + 1 + strspn(text + whole + 1, DIGITS) < length))
		return -EINVAL;
	for (i = 0; i < whole; i++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
			__builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
			return -ERANGE;
	if (__builtin_mul_overflow(v, unit_ns, &v))
		return -ERANGE;
	for (i = whole + 1; i < length; i++) {
		uint64_t part;

		if (scale % 10)
			return -EINVAL;
		scale /= 10;
		part = scale * (uint64_t)(text[i] - '0');
		if (__builtin_add_overflow(v, part, &v))
			return -ERANGE;
	}
	*ns = v;
	return 0;
}

int query_parse_duration(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"ns", 1},
		{"us", NSEC_PER_USEC},
		{"ms", NSEC_PER_MSEC},
		{"s", NSEC_PER_SEC},
		{"m", 60 * NSEC_PER_SEC},
		{"h", 3600 * NSEC_PER_SEC},
	};
	const size_t length = strspn(text, DIGITS ".");
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(units); i++)
		if (!strcmp(units[i].name, text + length))
			return parse_fraction(text, length, units[i].ns, ns);
	return -EINVAL;
}

/* ---- conditions ------------------------------------------------------------------------------ */

static int add_key(struct query *query, enum query_key key, struct err *err)
{
	if (query_has(query, key))
		return err_set(err, EEXIST, "'%s' is given twice", query_names[key]);
	query->keys |= 1u << key;
	return 0;
}

static int set_last(struct query *query, const char *value, struct err *err)
{
	int ret = query_parse_duration(value, &query->last_ns);

	if (ret == -ERANGE)
		return err_set(err, ERANGE, "'%s' is too long: a duration has at most 2^64-1 ns", value);
	if (!ret && !query->last_ns)
		ret = -EINVAL;
	return !ret ? 0 :
		      err_set(err, -ret, "'%s' is no duration: a number with ns, us, ms, s, m or h, as "
					 "10s, above 0", value);
}

/* A date and time of ISO 8601, as date --iso-8601=ns prints it; local if it names no zone. */
static int parse_date(const char *text, uint64_t *ns)
{
	GTimeZone *zone = g_time_zone_new_local();
	GDateTime *date = g_date_time_new_from_iso8601(text, zone);
	int ret = -EINVAL;
	uint64_t whole, part;

	if (date && g_date_time_to_unix(date) >= 0) {
		part = (uint64_t)g_date_time_get_microsecond(date) * NSEC_PER_USEC;
		if (__builtin_mul_overflow((uint64_t)g_date_time_to_unix(date), NSEC_PER_SEC, &whole) ||
			__builtin_add_overflow(whole, part, ns))
			ret = -ERANGE;
		else
			ret = 0;
	}
	if (date)
		g_date_time_unref(date);
	g_time_zone_unref(zone);
	return ret;
}

bool query_is_time(const char *value)
{
	const bool wall = *value == '@';
	uint64_t ns;

	value += wall;
	/* also one that is too large: the text of a mark has no number alone */
	return parse_fraction(value, strlen(value), NSEC_PER_SEC, &ns) != -EINVAL ||
	       (wall && parse_date(value, &ns) != -EINVAL);
}

static int set_time(const char *value, uint64_t *ns, bool *wall, struct err *err)
{
	int ret;

	*wall = *value == '@';
	ret = parse_fraction(value + *wall, strlen(value + *wall), NSEC_PER_SEC, ns);
	if (ret == -EINVAL && *wall)
		ret = parse_date(value + 1, ns);
	if (ret == -ERANGE)
		return err_set(err, ERANGE, "'%s' is too late: a time has at most 2^64-1 ns", value);
	return !ret ? 0 :
		      err_set(err, -ret, "'%s' is no time: seconds of CLOCK_MONOTONIC, or @ and seconds "
					 "since 1970 or a date as 2026-01-31T12:00:00", value);
}

/* KPROF_PID_GONE and KPROF_PID_KERNEL are no numbers of processes, and (uid_t)-1 is none of a user. */
#define TASK_MAX (KPROF_PID_GONE - 1)
#define USER_MAX (UINT32_MAX - 1)

static int set_number(const char *value, const char *what, uint32_t max, uint32_t *number, struct err *err)
{
	uint64_t found;
	int ret = parse_decimal(value, max, &found);

	if (ret)
		return err_set(err, -ret, "'%s' is no number of a %s", value, what);
	*number = (uint32_t)found;
	return 0;
}

/* Of a process or thread. */
static int set_task(const char *value, const char *what, uint32_t *pid, struct err *err)
{
	if (!strcmp(value, QUERY_IDLE))
		*pid = KPROF_PID_KERNEL;
	else if (!strcmp(value, QUERY_GONE))
		*pid = KPROF_PID_GONE;
	else
		return set_number(value, what, TASK_MAX, pid, err);
	return 0;
}

static int set_text(const char *value, char *text, size_t max, struct err *err)
{
	if (strlen(value) >= max)
		return err_set(err, ENAMETOOLONG, "the value has more than %zu bytes", max - 1);
	g_strlcpy(text, value, max);
	return 0;
}

static int set_value(struct query *q, enum query_key key, const char *value, struct err *err)
{
	switch (key) {
	case QUERY_LAST:
		return set_last(q, value, err);
	case QUERY_SINCE:
		return set_time(value, &q->since_ns, &q->since_wall, err);
	case QUERY_UNTIL:
		return set_time(value, &q->until_ns, &q->until_wall, err);
	case QUERY_PID:
		return set_task(value, "process", &q->pid, err);
	case QUERY_TID:
		return set_task(value, "thread", &q->tid, err);
	case QUERY_CPU:
		return set_number(value, "CPU", TASK_MAX, &q->cpu, err);
	case QUERY_UID:
		return set_number(value, "user", USER_MAX, &q->uid, err);
	case QUERY_COMM:
		return set_text(value, q->comm, sizeof(q->comm), err);
	case QUERY_EVENT:
		return set_text(value, q->event, sizeof(q->event), err);
	case QUERY_HOST:
		return set_text(value, q->host, sizeof(q->host), err);
	case QUERY_SPAN:
		return set_text(value, q->span, sizeof(q->span), err);
	default:
		return set_text(value, q->exe, sizeof(q->exe), err);
	}
}

int query_add(struct query *query, enum query_key key, const char *value, struct err *err)
{
	struct query changed = *query;
	int ret = add_key(&changed, key, err);

	if (!ret)
		ret = set_value(&changed, key, value, err);
	if (ret == -ERANGE)
		ret = -EINVAL;
	if (!ret)
		*query = changed;
	return ret;
}

int query_add_time(struct query *query, enum query_key key, uint64_t time_ns, struct err *err)
{
	int ret = add_key(query, key, err);

	if (ret)
		return ret;
	if (key == QUERY_SINCE)
		query->since_ns = time_ns;
	else
		query->until_ns = time_ns;
	return 0;
}

/* ---- times ----------------------------------------------------------------------------------- */

static uint64_t subtract(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

static uint64_t from_wall(uint64_t time_ns, uint64_t monotonic_ns, uint64_t wall_ns)
{
	uint64_t later;

	if (time_ns < wall_ns)
		return subtract(monotonic_ns, wall_ns - time_ns);
	if (__builtin_add_overflow(monotonic_ns, time_ns - wall_ns, &later))
		return UINT64_MAX;
	return later;
}

void query_settle_wall(struct query *query, uint64_t monotonic_ns, uint64_t wall_ns)
{
	if (query->since_wall)
		query->since_ns = from_wall(query->since_ns, monotonic_ns, wall_ns);
	if (query->until_wall)
		query->until_ns = from_wall(query->until_ns, monotonic_ns, wall_ns);
	query->since_wall = query->until_wall = false;
}

void query_settle_last(struct query *query, uint64_t now_ns)
{
	uint64_t since = subtract(now_ns, query->last_ns);

	if (!query_has(query, QUERY_LAST))
		return;
	if (!query_has(query, QUERY_SINCE) || query->since_ns < since)
		query->since_ns = since;
	query->keys &= ~(1u << QUERY_LAST);
	query->keys |= 1u << QUERY_SINCE;
}

/* ---- as words -------------------------------------------------------------------------------- */

static void append_task(GString *text, uint32_t pid)
{
	if (pid == KPROF_PID_KERNEL)
		g_string_append(text, QUERY_IDLE);
	else if (pid == KPROF_PID_GONE)
		g_string_append(text, QUERY_GONE);
	else
		g_string_append_printf(text, "%" PRIu32, pid);
}

static void append_seconds(GString *text, uint64_t ns, bool wall)
{
	g_string_append_printf(text, "%s%" PRIu64 ".%09" PRIu64, wall ? "@" : "",
		(uint64_t)(ns / NSEC_PER_SEC), (uint64_t)(ns % NSEC_PER_SEC));
	while (text->str[text->len - 1] == '0')
		g_string_truncate(text, text->len - 1);
	if (text->str[text->len - 1] == '.')
		g_string_truncate(text, text->len - 1);
	g_string_append(text, " s");
}

static void append_value(GString *text, const struct query *q, enum query_key key)
{
	switch (key) {
	case QUERY_LAST:
		append_seconds(text, q->last_ns, false);
		break;
	case QUERY_SINCE:
		append_seconds(text, q->since_ns, q->since_wall);
		break;
	case QUERY_UNTIL:
		append_seconds(text, q->until_ns, q->until_wall);
		break;
	case QUERY_PID:
		append_task(text, q->pid);
		break;
	case QUERY_TID:
		append_task(text, q->tid);
		break;
	case QUERY_CPU:
		g_string_append_printf(text, "%" PRIu32, q->cpu);
		break;
	case QUERY_UID:
		g_string_append_printf(text, "%" PRIu32, q->uid);
		break;
	case QUERY_COMM:
		g_string_append(text, q->comm);
		break;
	case QUERY_EVENT:
		g_string_append(text, q->event);
		break;
	case QUERY_HOST:
		g_string_append(text, q->host);
		break;
	case QUERY_SPAN:
		g_string_append(text, q->span);
		break;
	default:
		g_string_append(text, q->exe);
		break;
	}
}

void query_append(GString *text, const struct query *query)
{
	const char *comma = "";
	int key;

	for (key = 0; key < QUERY_KEYS; key++) {
		if (!query_has(query, (enum query_key)key))
			continue;
		g_string_append_printf(text, "%s%s ", comma, query_names[key]);
		append_value(text, query, (enum query_key)key);
		comma = ", ";
	}
}

/* ---- names of files -------------------------------------------------------------------------- */

void query_escape(const char *value, GString *name)
{
	const bool dots = !strcmp(value, ".") || !strcmp(value, "..");

	if (!*value)
		g_string_append_c(name, '%');
	for (; *value; value++) {
		if (*value == '/')
			g_string_append(name, "%2F");
		else if (*value == '%')
			g_string_append(name, "%25");
		else if (dots)
			g_string_append(name, "%2E");
		else
			g_string_append_c(name, *value);
	}
}

int query_unescape(const char *name, char value[QUERY_VALUE_MAX])
{
	size_t n = 0;

	if (!strcmp(name, "%"))
		name++;
	for (; *name; name++) {
		int byte = (unsigned char)*name;

		if (*name == '%') {
			if (!g_ascii_isxdigit(name[1]) || !g_ascii_isxdigit(name[2]))
				return -EINVAL;
			byte = g_ascii_xdigit_value(name[1]) << 4 | g_ascii_xdigit_value(name[2]);
			name += 2;
		}
		if (!byte)
			return -EINVAL;
		if (n == QUERY_VALUE_MAX - 1)
			return -ENAMETOOLONG;
		value[n++] = (char)byte;
	}
	value[n] = '\0';
	return 0;
}

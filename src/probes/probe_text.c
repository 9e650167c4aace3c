/* SPDX-License-Identifier: MIT */
/* Names of probes. */
#include "probes/probe_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/tables.h"

#define PARTS_MAX 5u
#define PATH_MAX_BYTES 1024u
#define HZ_MAX 100000u
#define PERIOD_MIN_NS 10000u
#define PERIOD_MAX_NS (1000000ull * 1000000000ull)

/* The text between two ':', without quotes. */
struct part {
	const char *text;
	size_t length;
};

struct reading {
	struct ast *ast;
	const struct lexer *lexer;
	const struct token *token;
	const struct kind_row *row;
	struct part parts[PARTS_MAX]; /* behind the kind */
	unsigned int count;
	struct ast_probe *probe;
};

static int fail_usage(const struct reading *reading)
{
	return lexer_fail(reading->lexer, reading->token, EINVAL, "the probe is not of the form %s",
		reading->row->usage);
}

static int no_memory(const struct reading *reading)
{
	return lexer_fail(reading->lexer, reading->token, reading->ast->full ? E2BIG : ENOMEM,
		reading->ast->full ? "the program is too large" : "there is no memory for the program");
}

static int divide(struct reading *reading, const char *text, size_t length)
{
	size_t begin = 0, end;

	while (begin <= length) {
		bool is_quoted = begin < length && text[begin] == '"';
		const char *close = is_quoted ? memchr(text + begin + 1, '"', length - begin - 1) : NULL;

		if (reading->count == PARTS_MAX || (is_quoted && !close))
			return fail_usage(reading);
		begin += is_quoted;
		for (end = is_quoted ? (size_t)(close - text) : begin; end < length && !is_quoted; end++)
			if (text[end] == ':')
				break;
		reading->parts[reading->count++] = (struct part){ text + begin, end - begin };
		begin = end + is_quoted;
		if (begin < length && text[begin] != ':')
			return fail_usage(reading);
		begin++;
	}
	return 0;
}

/* A name that is kept: not empty, not too long, of characters that names have. */
static int keep(struct reading *reading, struct part part, const char **kept)
{
	const size_t longest = kept == &reading->probe->path ? PATH_MAX_BYTES : AST_NAME_MAX;

	if (!part.length)
		return fail_usage(reading);
	if (part.length > longest)
		return lexer_fail(reading->lexer, reading->token, EINVAL, "a name is too long");
	for (size_t i = 0; i < part.length; i++)
		if (!isprint((unsigned char)part.text[i]))
			return lexer_fail(reading->lexer, reading->token, EINVAL, "a name has a byte %d",
				(unsigned char)part.text[i]);
	*kept = ast_copy_text(reading->ast, part.text, part.length);
	return *kept ? 0 : no_memory(reading);
}

static bool part_is(struct part part, const char *word)
{
	return part.length == strlen(word) && strncmp(part.text, word, part.length) == 0;
}

/* A number that is all of the part. */
static bool take_number(struct part part, uint64_t *number)
{
	char text[32], *end;

	if (!part.length || part.length >= sizeof(text) || !isdigit((unsigned char)part.text[0]))
		return false;
	memcpy(text, part.text, part.length);
	text[part.length] = '\0';
	errno = 0;
	*number = strtoull(text, &end, 0);
	return !*end && !errno;
}

/* ---- the forms --------------------------------------------------------------------------------- */

static int read_nothing(struct reading *reading)
{
	return reading->count ? fail_usage(reading) : 0;
}

static int read_system_name(struct reading *reading)
{
	int ret;

	if (reading->count != 2)
		return fail_usage(reading);
	ret = keep(reading, reading->parts[0], &reading->probe->system);
	return ret ? ret : keep(reading, reading->parts[1], &reading->probe->name);
}

static int read_name(struct reading *reading)
{
	return reading->count != 1 ? fail_usage(reading) :
		keep(reading, reading->parts[0], &reading->probe->name);
}

/* FUNC+OFF */
static int read_place(struct reading *reading, struct part part)
{
	const char *plus = memchr(part.text, '+', part.length);
	struct part offset;

	if (plus) {
		offset = (struct part){ plus + 1, part.length - (size_t)(plus + 1 - part.text) };
		if (!take_number(offset, &reading->probe->offset))
			return fail_usage(reading);
		part.length = (size_t)(plus - part.text);
	}
	return keep(reading, part, &reading->probe->name);
}

static bool has_offset(struct part part)
{
	return memchr(part.text, '+', part.length) != NULL;
}

static int read_function(struct reading *reading)
{
	const bool is_return = reading->count == 2 && part_is(reading->parts[1], "return");

	if (!reading->count || reading->count > 2 ||
		(reading->count == 2 && !is_return && !part_is(reading->parts[1], "entry")))
		return fail_usage(reading);
	if (is_return && reading->probe->kind == PROBE_KPROBE)
		reading->probe->kind = PROBE_KRETPROBE;
	else if (reading->count == 2 && reading->probe->kind != PROBE_KPROBE)
		return fail_usage(reading);
	/* all others are at the entry or the return of a function */
	if (reading->probe->kind != PROBE_KPROBE && has_offset(reading->parts[0]))
		return fail_usage(reading);
	return read_place(reading, reading->parts[0]);
}

static int read_syscall(struct reading *reading)
{
	const char *prefix;
	char name[AST_NAME_MAX + 16];
	struct part part = reading->parts[0];

	if (reading->count != 2 || !part.length || part.length > AST_NAME_MAX)
		return fail_usage(reading);
	if (part_is(reading->parts[1], "entry"))
		prefix = "sys_enter_";
	else if (part_is(reading->parts[1], "return"))
		prefix = "sys_exit_";
	else
		return fail_usage(reading);
	reading->probe->system = "syscalls";
	memcpy(name, prefix, strlen(prefix));
	memcpy(name + strlen(prefix), part.text, part.length);
	part = (struct part){ name, strlen(prefix) + part.length };
	return keep(reading, part, &reading->probe->name);
}

static int read_path_function(struct reading *reading)
{
	struct part part = reading->parts[1];
	bool is_offset;
	int ret;

	if (reading->count != 2)
		return fail_usage(reading);
	ret = keep(reading, reading->parts[0], &reading->probe->path);
	if (ret)
		return ret;
	is_offset = take_number(part, &reading->probe->offset);
	/* the kernel replaces the return address on the stack, which is elsewhere behind the entry */
	if (reading->probe->kind == PROBE_URETPROBE && (is_offset || has_offset(part)))
		return fail_usage(reading);
	return is_offset ? 0 : read_place(reading, part);
}

static int read_path_name(struct reading *reading)
{
	struct ast_probe *probe = reading->probe;
	uint64_t pid;
	int ret;

	if (reading->count != 2 && reading->count != 3)
		return fail_usage(reading);
	if (take_number(reading->parts[0], &pid)) {
		if (!pid || pid > INT32_MAX)
			return fail_usage(reading);
		probe->pid = (int)pid;
		ret = 0;
	} else {
		ret = keep(reading, reading->parts[0], &probe->path);
	}
	if (!ret && reading->count == 3)
		ret = keep(reading, reading->parts[1], &probe->system);
	return ret ? ret : keep(reading, reading->parts[reading->count - 1], &probe->name);
}

static int read_period(struct reading *reading)
{
	static const struct { const char *unit; uint64_t ns; } units[] = {
		{ "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "hz", 0 },
	};
	struct ast_probe *probe = reading->probe;
	uint64_t number;

	if (reading->count != 2 || !take_number(reading->parts[1], &number) || !number)
		return fail_usage(reading);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (!part_is(reading->parts[0], units[i].unit))
			continue;
		if (!units[i].ns)
			probe->period_ns = number > HZ_MAX ? 0 : 1000000000 / number;
		else if (__builtin_mul_overflow(number, units[i].ns, &probe->period_ns))
			probe->period_ns = 0;
		if (probe->period_ns < PERIOD_MIN_NS || probe->period_ns > PERIOD_MAX_NS)
			return lexer_fail(reading->lexer, reading->token, EINVAL,
				"the period is not between 10 us and 1,000,000 s");
		return 0;
	}
	return fail_usage(reading);
}

/* The event may have ':' itself, as "cycles:u" has; a number at the end is the count. */
static int read_event_count(struct reading *reading)
{
	const struct part *last;
	struct part event;

	if (!reading->count)
		return fail_usage(reading);
	last = &reading->parts[reading->count - 1];
	if (reading->count > 1 && take_number(*last, &reading->probe->count))
		last--;
	event = reading->parts[0];
	event.length = (size_t)(last->text + last->length - event.text);
	return keep(reading, event, &reading->probe->name);
}

static int (*const readers[])(struct reading *reading) = {
	[KIND_NO_PARTS] = read_nothing,
	[KIND_SYSTEM_NAME] = read_system_name,
	[KIND_NAME] = read_name,
	[KIND_FUNCTION] = read_function,
	[KIND_SYSCALL] = read_syscall,
	[KIND_PATH_FUNCTION] = read_path_function,
	[KIND_PATH_NAME] = read_path_name,
	[KIND_PERIOD] = read_period,
	[KIND_EVENT_COUNT] = read_event_count,
};

static int find_kind(struct reading *reading, size_t length)
{
	const struct token *token = reading->token;
	const char *refused;

	if (!length)
		return lexer_fail(reading->lexer, token, EINVAL, "a probe is missing");
	reading->row = kind_find(token->text, length);
	if (reading->row)
		return 0;
	refused = refused_find(REFUSED_PROBE, token->text, length);
	if (refused)
		return lexer_fail(reading->lexer, token, EOPNOTSUPP, "%s", refused);
	return lexer_fail(reading->lexer, token, EINVAL, "there is no kind of probes '%.*s'",
		(int)(length > AST_NAME_MAX ? AST_NAME_MAX : length), token->text);
}

int probe_text_parse(struct ast *ast, const struct lexer *lexer, const struct token *token,
	struct ast_probe **probe)
{
	struct reading reading = { .ast = ast, .lexer = lexer, .token = token };
	const char *colon = token->length ? memchr(token->text, ':', token->length) : NULL;
	size_t length = colon ? (size_t)(colon - token->text) : token->length;
	int ret = find_kind(&reading, length);

	if (ret)
		return ret;
	reading.probe = ast_new(ast, sizeof(*reading.probe));
	if (!reading.probe)
		return no_memory(&reading);
	*reading.probe = (struct ast_probe){ .kind = reading.row->kind, .place = token->place, .system = "",
		.name = "", .path = "", .text = ast_copy_text(ast, token->text, token->length) };
	if (!reading.probe->text)
		return no_memory(&reading);
	if (colon)
		ret = divide(&reading, colon + 1, token->length - length - 1);
	if (!ret)
		ret = readers[reading.row->parts](&reading);
	if (!ret)
		*probe = reading.probe;
	return ret;
}

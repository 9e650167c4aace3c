/* SPDX-License-Identifier: MIT */
/*
 * Formats events as lines: see trace_text.h.
 *
 * The text is made in a buffer of fixed size first, byte for byte as printf would, and then
 * appended line by line. The common cases (a number without width, a text without control bytes)
 * have a fast path, for a million lines a second.
 */
#include "trace/trace_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "ring/args.h"
#include "trace/arguments.h"
#include "trace/conversion.h"
#include "trace/escape.h"
#include "trace/number.h"
#include "trace/text_length.h"

#define DIGITS_MAX 20

struct trace_text {
	size_t used, header_bytes;
	bool cut;
	GString *scratch;
	struct text_length *length; /* for trace_text_measure(); NULL if it was not needed yet */
	char header[TRACE_TEXT_HEADER_MAX];
	char text[TRACE_TEXT_BYTES_MAX];
};

struct trace_text *trace_text_create(void)
{
	struct trace_text *trace_text = g_new0(struct trace_text, 1);

	trace_text->scratch = g_string_new(NULL);
	return trace_text;
}

void trace_text_destroy(struct trace_text *trace_text)
{
	if (!trace_text)
		return;
	g_string_free(trace_text->scratch, TRUE);
	text_length_destroy(trace_text->length);
	g_free(trace_text);
}

/* ---- the text ---------------------------------------------------------------------------------
 */

static void put(struct trace_text *trace_text, const char *bytes, size_t count)
{
	if (count > TRACE_TEXT_BYTES_MAX - trace_text->used) {
		count = TRACE_TEXT_BYTES_MAX - trace_text->used;
		trace_text->cut = true;
	}
	memcpy(trace_text->text + trace_text->used, bytes, count);
	trace_text->used += count;
}

static void put_string(struct trace_text *trace_text, const char *text)
{
	put(trace_text, text, strlen(text));
}

static void put_blanks(struct trace_text *trace_text, size_t count)
{
	if (count > TRACE_TEXT_BYTES_MAX - trace_text->used) {
		count = TRACE_TEXT_BYTES_MAX - trace_text->used;
		trace_text->cut = true;
	}
	memset(trace_text->text + trace_text->used, ' ', count);
	trace_text->used += count;
}

static size_t make_digits(char digits[DIGITS_MAX], uint64_t value, uint32_t base)
{
	size_t count = 0;

	do {
		digits[DIGITS_MAX - ++count] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	return count;
}

static void put_number(struct trace_text *trace_text, uint64_t value, uint32_t base, bool negative)
{
	char digits[DIGITS_MAX];
	size_t count = base == 10 ? make_digits(digits, value, 10) : make_digits(digits, value, 16);

	if (negative)
		put(trace_text, "-", 1);
	put(trace_text, digits + DIGITS_MAX - count, count);
}

static void put_padded(struct trace_text *trace_text, const struct args_conversion *c,
	const char *text, size_t count)
{
	size_t width = c->width > 0 ? (size_t)c->width : 0,
	       blanks = width > count ? width - count : 0;

	if (blanks && !c->minus)
		put_blanks(trace_text, blanks);
	put(trace_text, text, count);
	if (blanks && c->minus)
		put_blanks(trace_text, blanks);
}

static void put_formatted(
	struct trace_text *trace_text, const struct args_conversion *c, uint64_t word)
{
	char text[NUMBER_TEXT_MAX];

	/* if the buffer is full, don't spend time on digits; %.0d may have none to add */
	if (trace_text->used == TRACE_TEXT_BYTES_MAX && c->precision)
		trace_text->cut = true;
	else
		put(trace_text, text, number_format(text, c, word));
}

static bool is_plain(const struct args_conversion *c)
{
	return c->width == ARGS_NONE && c->precision == ARGS_NONE && !c->plus && !c->space &&
	       !c->hash;
}

static void put_integer(
	struct trace_text *trace_text, const struct args_conversion *c, uint64_t word)
{
	word = conversion_narrow(c, word);
	if (!is_plain(c) || c->letter == 'o' || c->letter == 'X')
		put_formatted(trace_text, c, word);
	else if (c->letter == 'd' && (int64_t)word < 0)
		put_number(trace_text, -word, 10, true);
	else
		put_number(trace_text, word, c->letter == 'x' ? 16 : 10, false);
}

static void put_pointer(
	struct trace_text *trace_text, const struct args_conversion *c, uint64_t word)
{
	char text[2 + DIGITS_MAX] = "0x", digits[DIGITS_MAX];
	size_t count;

	if (!word) {
		put_padded(trace_text, c, "(nil)", strlen("(nil)"));
		return;
	}
	count = make_digits(digits, word, 16);
	memcpy(text + 2, digits + DIGITS_MAX - count, count);
	put_padded(trace_text, c, text, 2 + count);
}

static void put_argument(
	struct trace_text *trace_text, const struct args_conversion *c, struct arguments *args)
{
	const char *text;
	uint64_t word;
	size_t count;
	char byte;

	if (c->letter == 's') {
		if (!arguments_take_string(args, &text, &count)) {
			put_string(trace_text, "(missing)");
			return;
		}
		if (!text)
			put_padded(trace_text, c, "(null)", strlen("(null)"));
		else
			put_padded(trace_text, c, text,
				c->precision >= 0 ? MIN(count, (size_t)c->precision) : count);
		return;
	}
	if (!arguments_take_word(args, &word)) {
		put_string(trace_text, "(missing)");
		return;
	}
	byte = (char)word;
	if (c->letter == 'c')
		put_padded(trace_text, c, &byte, 1);
	else if (c->letter == 'p')
		put_pointer(trace_text, c, word);
	else if (strchr("douxX", c->letter))
		put_integer(trace_text, c, word);
	else
		put_formatted(trace_text, c, word);
}

static void put_stack(struct trace_text *trace_text, struct arguments *args)
{
	uint64_t count, address;

	if (!arguments_take_word(args, &count))
		return;
	while (count-- && arguments_take_word(args, &address)) {
		put_string(trace_text, "\n  0x");
		put_number(trace_text, address, 16, false);
	}
}

static void make_text(struct trace_text *trace_text, const struct trace_text_event *event)
{
	struct args_format format = {event->format, event->format + event->format_bytes};
	struct arguments args = {event->args, event->args_bytes};
	struct args_conversion conversion;
	int more;

	trace_text->used = 0;
	trace_text->cut = event->flags & KPROF_RECORD_CUT;
	while ((more = args_next(&format, &conversion)) > 0) {
		put(trace_text, conversion.literal, conversion.literal_bytes);
		if (conversion.letter == '%') {
			put(trace_text, "%", 1);
			continue;
		}
		conversion_complete(&conversion, &args);
		put_argument(trace_text, &conversion, &args);
	}
	put(trace_text, conversion.literal, conversion.literal_bytes);
	if (more < 0)
		put_string(trace_text, "(bad format)");
	if (trace_text->used && trace_text->text[trace_text->used - 1] == '\n')
		trace_text->used--; /* it is added again at the end of each line */
	if (event->flags & KPROF_RECORD_STACK)
		put_stack(trace_text, &args);
}

/* ---- the header -------------------------------------------------------------------------------
 */

static char *add_number(char *at, uint64_t value)
{
	char digits[DIGITS_MAX];
	size_t count = make_digits(digits, value, 10);

	memcpy(at, digits + DIGITS_MAX - count, count);
	return at + count;
}

static char *add_string(char *at, const char *text, size_t max)
{
	size_t count = strnlen(text, max);

	memcpy(at, text, count);
	return at + count;
}

static char *add_time(char *at, uint64_t time_ns, uint32_t cpu)
{
	uint32_t rest = (uint32_t)(time_ns % NSEC_PER_SEC);
	int i;

	*at++ = '[';
	at = add_number(at, time_ns / NSEC_PER_SEC);
	*at++ = '.';
	for (i = 8; i >= 0; i--, rest /= 10)
		at[i] = (char)('0' + rest % 10);
	at = add_string(at + 9, "]:cpu", 5);
	if (cpu == KPROF_CPU_UNKNOWN)
		*at++ = '?';
	else
		at = add_number(at, cpu);
	return at;
}

static void make_header(struct trace_text *trace_text, const struct trace_text_event *event)
{
	char *at = add_time(trace_text->header, event->time_ns, event->cpu);

	at = add_string(at, ": ", 2);
	at = add_string(at, event->program, TEXT_EVENT_PROGRAM_MAX);
	*at++ = '[';
	at = add_number(at, event->pid);
	if (event->tid != event->pid) {
		*at++ = '/';
		at = add_number(at, event->tid);
	}
	*at++ = ']';
	if (event->label[0]) {
		*at++ = ' ';
		at = add_string(at, event->label, TEXT_EVENT_LABEL_MAX);
	}
	at = add_string(at, ": ", 2);
	trace_text->header_bytes = (size_t)(at - trace_text->header);
}

/* ---- out --------------------------------------------------------------------------------------
 */

static char *add_escaped(char *at, unsigned char byte)
{
	if (!escape_is_needed(byte)) {
		*at = (char)byte;
		return at + 1;
	}
	*at++ = '\\';
	*at++ = 'x';
	*at++ = "0123456789abcdef"[byte >> 4];
	*at++ = "0123456789abcdef"[byte & 15];
	return at;
}

/* Makes `out` longer by `bytes` and returns where they begin; end_at() sets its true end. */
static char *make_room(GString *out, size_t bytes)
{
	size_t len = out->len;

	g_string_set_size(out, len + bytes);
	return out->str + len;
}

static void end_at(GString *out, const char *at)
{
	g_string_truncate(out, (gsize)(at - out->str));
}

static void append_slowly(struct trace_text *trace_text, bool goes_on, GString *out)
{
	static const char mark[] = " [cut]";
	uint32_t lines = 1;
	size_t i, last = out->len; /* the header of the last line */
	char *at = make_room(out, TRACE_TEXT_EVENT_MAX + sizeof(mark));

	memcpy(at, trace_text->header, trace_text->header_bytes);
	at += trace_text->header_bytes;
	for (i = 0; i < trace_text->used; i++) {
		unsigned char byte = (unsigned char)trace_text->text[i];

		if (byte != '\n' || ++lines > TRACE_TEXT_LINES_MAX) {
			at = add_escaped(at, byte);
			continue;
		}
		*at++ = '\n';
		last = (size_t)(at - out->str);
		memcpy(at, trace_text->header, trace_text->header_bytes);
		at += trace_text->header_bytes;
	}
	if (trace_text->cut)
		at = add_string(at, mark, sizeof(mark) - 1);
	*at++ = '\n';
	end_at(out, at);
	if (goes_on)
		g_string_insert_c(out, (gssize)(last + trace_text->header_bytes - strlen(": ")), '+');
}

void trace_text_append(
	struct trace_text *trace_text, const struct trace_text_event *event, GString *out)
{
	const bool goes_on = event->flags & KPROF_RECORD_GOES_ON;
	char *at;

	make_header(trace_text, event);
	make_text(trace_text, event);
	if (goes_on || trace_text->cut || !escape_is_clean(trace_text->text, trace_text->used)) {
		append_slowly(trace_text, goes_on, out);
		return;
	}
	at = make_room(out, trace_text->header_bytes + trace_text->used + 1);
	memcpy(at, trace_text->header, trace_text->header_bytes);
	memcpy(at + trace_text->header_bytes, trace_text->text, trace_text->used);
	at[trace_text->header_bytes + trace_text->used] = '\n';
}

const char *trace_text_format(struct trace_text *trace_text, const struct trace_text_event *event,
	size_t *bytes, bool *cut)
{
	make_text(trace_text, event);
	*bytes = trace_text->used;
	*cut = trace_text->cut;
	return trace_text->text;
}

bool trace_text_skip_arguments(const struct trace_text_event *event, struct arguments *args)
{
	struct args_plan plan[KPROF_ARGS_MAX];
	int i, count = args_plan(event->format, event->format_bytes, plan);
	const char *text;
	uint64_t word;
	size_t bytes;

	for (i = 0; i < count; i++) {
		if (plan[i].kind == ARGS_STRING ? !arguments_take_string(args, &text, &bytes)
						: !arguments_take_word(args, &word))
			return false;
	}
	return count >= 0;
}

uint32_t trace_text_take_stack(struct trace_text_event *event, uint64_t *stack, uint32_t max)
{
	struct arguments args = {event->args, event->args_bytes};
	uint64_t count;
	uint32_t i;

	if (!(event->flags & KPROF_RECORD_STACK) || !trace_text_skip_arguments(event, &args) ||
		!arguments_take_word(&args, &count) || count > max)
		return 0;
	for (i = 0; i < count; i++)
		if (!arguments_take_word(&args, &stack[i]))
			return 0;
	event->flags &= ~(uint32_t)KPROF_RECORD_STACK;
	return (uint32_t)count;
}

void trace_text_append_note(
	uint64_t time_ns, uint32_t cpu, uint64_t count, const char *what, GString *out)
{
	char text[TRACE_TEXT_HEADER_MAX], *at = add_time(text, time_ns, cpu);

	g_string_append_len(out, text, at - text);
	g_string_append_printf(out, ": %" PRIu64 " events %s\n", count, what);
}

uint64_t trace_text_measure(struct trace_text *trace_text, const struct trace_text_event *event)
{
	struct trace_text_event split;
	uint64_t bytes;

	if (!trace_text->length)
		trace_text->length = text_length_create();
	if (trace_text->length && text_length(trace_text->length, event, &bytes))
		return bytes;
	split = *event;
	if (!split.format)
		trace_text_split(&split);
	g_string_truncate(trace_text->scratch, 0);
	trace_text_append(trace_text, &split, trace_text->scratch);
	return trace_text->scratch->len;
}

bool trace_text_split(struct trace_text_event *event)
{
	struct arguments args = {event->args, event->args_bytes};
	struct args_plan plan[KPROF_ARGS_MAX];
	const char *format = "";
	size_t count = 0;
	bool good = arguments_take_string(&args, &format, &count) && format &&
		    count <= KPROF_FORMAT_MAX && args_plan(format, (uint32_t)count, plan) >= 0;

	event->format = good ? format : "";
	event->format_bytes = good ? (uint32_t)count : 0;
	event->args = good ? args.at : "";
	event->args_bytes = good ? (uint32_t)args.left : 0;
	return good;
}

/* SPDX-License-Identifier: MIT */
/* The length of an event's lines: see text_length.h. trace_text.c makes the lines. */
#include "trace/text_length.h"

#include <string.h>

#include "base/units.h"
#include "trace/arguments.h"
#include "trace/conversion.h"
#include "trace/escape.h"
#include "trace/format_plan.h"
#include "trace/number_length.h"

/* The last header, whose length is that of the next one mostly. */
struct text_header {
	const char *program, *label; /* of an event that `stays` */
	uint64_t seconds;
	uint32_t pid, tid, cpu;
	size_t bytes; /* 0 if there is none yet */
};

struct text_length {
	struct format_plans *plans;
	const struct format_plan *plan; /* of the last event that `stays`; NULL if there is none yet */
	struct text_header last;
};

struct text_length *text_length_create(void)
{
	struct text_length *length = g_new0(struct text_length, 1);

	length->plans = format_plans_create();
	if (length->plans)
		return length;
	g_free(length);
	return NULL;
}

void text_length_destroy(struct text_length *length)
{
	if (!length)
		return;
	format_plans_destroy(length->plans);
	g_free(length);
}

/* A text so far. */
struct text_sum {
	size_t bytes;	 /* before escapes */
	size_t newlines; /* of these bytes */
	size_t escaped;	 /* others of these bytes that are shown as \xNN */
	bool ends_line;	 /* the last byte is a newline */
};

static void add_plain(struct text_sum *sum, size_t bytes)
{
	sum->bytes += bytes;
	sum->ends_line = sum->ends_line && !bytes;
}

static void add_text(struct text_sum *sum, const char *text, size_t bytes)
{
	add_plain(sum, bytes);
	if (!bytes || escape_is_clean(text, bytes))
		return;
	for (size_t i = 0; i < bytes; i++) {
		sum->newlines += text[i] == '\n';
		sum->escaped += text[i] != '\n' && escape_is_needed((unsigned char)text[i]);
	}
	sum->ends_line = text[bytes - 1] == '\n';
}

static void add_literal(struct text_sum *sum, const struct format_literal *literal)
{
	add_plain(sum, literal->bytes);
	sum->newlines += literal->newlines;
	sum->escaped += literal->escaped;
	sum->ends_line |= literal->ends_line;
}

static void add_padded(struct text_sum *sum, const struct args_conversion *c, const char *text, size_t bytes)
{
	size_t width = c->width > 0 ? (size_t)c->width : 0;
	size_t blanks = width > bytes ? width - bytes : 0;

	if (!c->minus)
		add_plain(sum, blanks);
	add_text(sum, text, bytes);
	if (c->minus)
		add_plain(sum, blanks);
}

static void add_string(struct text_sum *sum, const struct args_conversion *c, struct arguments *args)
{
	const char *text;
	size_t count;

	if (!arguments_take_string(args, &text, &count))
		add_plain(sum, strlen("(missing)"));
	else if (!text)
		add_padded(sum, c, "(null)", strlen("(null)"));
	else
		add_padded(sum, c, text, c->precision >= 0 ? MIN(count, (size_t)c->precision) : count);
}

static void add_word(struct text_sum *sum, const struct args_conversion *c, uint64_t word)
{
	size_t width = c->width > 0 ? (size_t)c->width : 0, bytes;
	char byte = (char)word;

	switch (c->letter) {
	case 'c':
		add_padded(sum, c, &byte, 1);
		return;
	case 'p':
		bytes = word ? strlen("0x") + number_length_hex(word) : strlen("(nil)");
		add_plain(sum, MAX(bytes, width));
		return;
	case 'd':
	case 'o':
	case 'u':
	case 'x':
	case 'X':
		word = conversion_narrow(c, word);
		break;
	}
	add_plain(sum, number_length(c, word));
}

static void add_argument(struct text_sum *sum, const struct format_step *step, struct arguments *args)
{
	struct args_conversion c;
	uint64_t word;

	if (step->is_plain) {
		/* the usual integer; without a width it does not need the conversion */
		if (arguments_take_word(args, &word)) {
			bool is_signed = step->conversion.letter == 'd';

			word = conversion_narrow(&step->conversion, word);
			if (is_signed && (int64_t)word < 0)
				add_plain(sum, 1 + number_length_decimal(-word));
			else
				add_plain(sum, number_length_decimal(word));
			return;
		}
		add_plain(sum, strlen("(missing)"));
		return;
	}
	c = step->conversion;
	conversion_complete(&c, args);
	if (c.letter == 's')
		add_string(sum, &c, args);
	else if (arguments_take_word(args, &word))
		add_word(sum, &c, word);
	else
		add_plain(sum, strlen("(missing)"));
}

static void add_stack(struct text_sum *sum, struct arguments *args)
{
	uint64_t count, address;

	if (!arguments_take_word(args, &count))
		return;
	for (; count-- && arguments_take_word(args, &address); sum->newlines++)
		sum->bytes += strlen("\n  0x") + number_length_hex(address);
}

static size_t count_header(const struct trace_text_event *event, uint64_t seconds)
{
	size_t bytes = strlen("[.]:cpu: []: ") + 9 + number_length_decimal(seconds);

	bytes += event->cpu == KPROF_CPU_UNKNOWN ? 1 : number_length_decimal(event->cpu);
	bytes += strnlen(event->program, TEXT_EVENT_PROGRAM_MAX) + number_length_decimal(event->pid);
	if (event->tid != event->pid)
		bytes += 1 + number_length_decimal(event->tid);
	if (event->label[0])
		bytes += 1 + strnlen(event->label, TEXT_EVENT_LABEL_MAX);
	return bytes;
}

static size_t measure_header(struct text_header *last, const struct trace_text_event *event)
{
	uint64_t seconds = event->time_ns / NSEC_PER_SEC;

	if (!event->stays)
		return count_header(event, seconds);
	if (last->bytes && last->seconds == seconds && last->cpu == event->cpu &&
		last->program == event->program && last->label == event->label &&
		last->pid == event->pid && last->tid == event->tid)
		return last->bytes;
	*last = (struct text_header){event->program, event->label, seconds, event->pid, event->tid,
		event->cpu, count_header(event, seconds)};
	return last->bytes;
}

/*
 * Returns the format of a text that carries it, and moves `args` behind it. Returns NULL if the
 * text is not valid.
 */
static const struct format_plan *take_format(struct format_plans *plans, struct arguments *args)
{
	const struct format_plan *plan;
	const char *format;
	size_t count;

	if (!arguments_take_string(args, &format, &count) || !format || count > KPROF_FORMAT_MAX)
		return NULL;
	plan = format_plans_get(plans, format, (uint32_t)count, false);
	return plan && plan->is_valid ? plan : NULL;
}

static const struct format_plan *find_plan(
	struct text_length *length, const struct trace_text_event *event)
{
	const struct format_plan *plan = length->plan;

	if (!event->stays)
		return format_plans_get(length->plans, event->format, event->format_bytes, false);
	if (!plan || plan->format != event->format || plan->bytes != event->format_bytes)
		plan = format_plans_get(length->plans, event->format, event->format_bytes, true);
	length->plan = plan;
	return plan;
}

static void add_format(struct text_sum *sum, const struct format_plan *plan, struct arguments *args)
{
	for (unsigned int i = 0; i < plan->count; i++) {
		add_literal(sum, &plan->steps[i].before);
		add_argument(sum, &plan->steps[i], args);
	}
	add_literal(sum, &plan->rest);
}

bool text_length(
	struct text_length *length, const struct trace_text_event *event, uint64_t *bytes)
{
	struct arguments args = {event->args, event->args_bytes};
	const struct format_plan *plan;
	struct text_sum sum = {0};
	size_t header = measure_header(&length->last, event), lines;

	if (event->format) {
		plan = find_plan(length, event);
		if (!plan || !plan->is_valid)
			return false;
		add_format(&sum, plan, &args);
	} else {
		plan = take_format(length->plans, &args);
		if (plan)
			add_format(&sum, plan, &args);
		else
			args.left = 0;
	}
	if (sum.bytes > TRACE_TEXT_BYTES_MAX)
		return false;
	if (sum.ends_line) {
		sum.bytes--;
		sum.newlines--;
	}
	if (event->flags & KPROF_RECORD_STACK)
		add_stack(&sum, &args);
	if (sum.bytes > TRACE_TEXT_BYTES_MAX)
		return false;
	/* each newline is followed by a header, up to the last line; later ones are escaped */
	lines = MIN(sum.newlines, TRACE_TEXT_LINES_MAX - 1);
	*bytes = header * (1 + lines) + sum.bytes + 3 * (sum.escaped + sum.newlines - lines) + 1;
	if (event->flags & KPROF_RECORD_CUT)
		*bytes += strlen(" [cut]");
	if (event->flags & KPROF_RECORD_GOES_ON)
		*bytes += strlen("+");
	return true;
}

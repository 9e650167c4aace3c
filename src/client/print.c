/* SPDX-License-Identifier: MIT */
/*
 * Events whose format is not a literal: the values are taken from a va_list, and the record has the format.
 * As event.c: any thread, any signal handler, no lock.
 */
#include "client/client.h"

#include <errno.h>
#include <string.h>

static uint64_t get_int(const struct args_plan *plan, va_list *list)
{
	if (plan->bytes == sizeof(long long))
		return va_arg(*list, unsigned long long);
	/* smaller types are passed as int */
	return plan->is_signed ? (uint64_t)(int64_t)va_arg(*list, int) :
				 va_arg(*list, unsigned int);
}

static void get_values(const char *format, uint32_t bytes, const struct args_plan *plan,
	uint64_t *values, va_list *list)
{
	struct args_format walk = {.at = format, .end = format + bytes};
	struct args_conversion conversion;
	uint32_t i = 0;

	while (args_next(&walk, &conversion) > 0) {
		if (conversion.letter == '%')
			continue;
		if (conversion.width == ARGS_STAR)
			values[i++] = (uint64_t)(int64_t)va_arg(*list, int);
		if (conversion.precision == ARGS_STAR)
			values[i++] = (uint64_t)(int64_t)va_arg(*list, int);
		if (plan[i].kind == ARGS_DOUBLE)
			values[i] = kprof_double_(conversion.bytes == 0 ?
					(double)va_arg(*list, long double) :
					va_arg(*list, double));
		else if (plan[i].kind == ARGS_INT)
			values[i] = get_int(&plan[i], list);
		else
			values[i] = kprof_pointer_(va_arg(*list, void *));
		i++;
	}
}

static void write_string(struct kprof_event *event, const char *text)
{
	static const struct args_plan one_string = {.kind = ARGS_STRING};
	const uint64_t value = kprof_pointer_(text);

	event_write_format(event, "%s", 2, &one_string, &value, 1);
}

/* A format with an unknown conversion is written as a string. */
static void print_list(struct kprof_event *event, const char *format, va_list *list)
{
	struct args_plan plan[KPROF_ARGS_MAX];
	uint64_t values[KPROF_ARGS_MAX];
	size_t bytes = strnlen(format, KPROF_FORMAT_MAX + 1);
	int args = bytes <= KPROF_FORMAT_MAX ? args_plan(format, (uint32_t)bytes, plan) : -E2BIG;

	if (args < 0) {
		write_string(event, format);
		return;
	}
	get_values(format, (uint32_t)bytes, plan, values, list);
	event_write_format(event, format, (uint32_t)bytes, plan, values, (uint32_t)args);
}

static bool is_on(const struct kprof_event *event)
{
	return __atomic_load_n(&event->on, __ATOMIC_RELAXED) != CLIENT_OFF;
}

void kprof_print_(int kind, const char *format, ...)
{
	struct kprof_event *event = kind == KPROF_SITE_PRINTX_ ? &client.textx : &client.text;
	va_list list;

	if (!is_on(event))
		return;
	va_start(list, format);
	print_list(event, format, &list);
	va_end(list);
}

void kprof_vprintf(const char *format, va_list args)
{
	va_list list;

	if (!is_on(&client.text))
		return;
	va_copy(list, args);
	print_list(&client.text, format, &list);
	va_end(list);
}

void kprof_vprintx(const char *format, va_list args)
{
	va_list list;

	if (!is_on(&client.textx))
		return;
	va_copy(list, args);
	print_list(&client.textx, format, &list);
	va_end(list);
}

void print_puts(const char *text)
{
	if (is_on(&client.text))
		write_string(&client.text, text);
}

/* SPDX-License-Identifier: MIT */
/* The parser of formats. See args.h. */
#include "ring/args.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

static int32_t parse_number(struct args_format *format)
{
	int32_t value = 0;

	while (format->at < format->end && *format->at >= '0' && *format->at <= '9') {
		value = value * 10 + (*format->at++ - '0');
		if (value > (int32_t)KPROF_WIDTH_MAX)
			return -EINVAL;
	}
	return value;
}

static int parse_number_or_star(struct args_format *format, int32_t *value)
{
	if (format->at < format->end && *format->at == '*') {
		format->at++;
		*value = ARGS_STAR;
		return 0;
	}
	*value = parse_number(format);
	return *value < 0 ? -EINVAL : 0;
}

static void parse_flags(struct args_format *format, struct args_conversion *conversion)
{
	for (; format->at < format->end; format->at++) {
		switch (*format->at) {
		case '-':
			conversion->minus = true;
			break;
		case '+':
			conversion->plus = true;
			break;
		case ' ':
			conversion->space = true;
			break;
		case '#':
			conversion->hash = true;
			break;
		case '0':
			conversion->zero = true;
			break;
		default:
			return;
		}
	}
}

/*
 * The bytes of an integer. *is_long: an l, which makes %c and %s wide. *is_other: a length that %f
 * does not take.
 */
static uint8_t parse_length(struct args_format *format, bool *is_long, bool *is_other)
{
	static const struct {
		char text[3];
		uint8_t bytes;
		bool is_long, is_other;
	} lengths[] = {
		/* longest first */
		{"hh", sizeof(char), false, true},
		{"h", sizeof(short), false, true},
		{"ll", sizeof(long long), false, true},
		{"l", sizeof(long), true, false},
		{"q", sizeof(long long), false, true},
		{"j", sizeof(intmax_t), false, true},
		{"z", sizeof(size_t), false, true},
		{"t", sizeof(ptrdiff_t), false, true},
		{"L", 0, false, false},
	};
	size_t left = (size_t)(format->end - format->at);

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t bytes = strlen(lengths[i].text);

		if (left < bytes || memcmp(format->at, lengths[i].text, bytes) != 0)
			continue;
		format->at += bytes;
		*is_long = lengths[i].is_long;
		*is_other = lengths[i].is_other;
		return lengths[i].bytes;
	}
	return sizeof(int);
}

static int parse_conversion(struct args_format *format, struct args_conversion *conversion)
{
	bool is_long = false, is_other = false;
	char letter;

	if (format->at < format->end && *format->at == '%') {
		format->at++;
		conversion->letter = '%';
		return 1;
	}
	parse_flags(format, conversion);
	if (parse_number_or_star(format, &conversion->width))
		return -EINVAL;
	if (conversion->width == 0)
		conversion->width = ARGS_NONE;
	if (format->at < format->end && *format->at == '.') {
		format->at++;
		if (parse_number_or_star(format, &conversion->precision))
			return -EINVAL;
	}
	conversion->bytes = parse_length(format, &is_long, &is_other);
	if (format->at >= format->end)
		return -EINVAL;
	letter = *format->at++;
	conversion->letter = letter == 'i' ? 'd' : letter;
	if (letter && strchr("dioxXu", letter))
		return conversion->bytes ? 1 : -EINVAL; /* %Ld is not valid C */
	if (letter && strchr("fFeEgGaA", letter))
		return is_other ? -EINVAL : 1;
	if (letter && strchr("csp", letter))
		return conversion->bytes == sizeof(int) && !is_long && !is_other ? 1 : -EINVAL;
	return -EINVAL;
}

int args_next(struct args_format *format, struct args_conversion *conversion)
{
	const char *start = format->at;

	memset(conversion, 0, sizeof(*conversion));
	conversion->literal = start;
	conversion->width = ARGS_NONE;
	conversion->precision = ARGS_NONE;
	while (format->at < format->end && *format->at != '%')
		format->at++;
	conversion->literal_bytes = (uint32_t)(format->at - start);
	if (format->at == format->end)
		return 0;
	format->at++;
	return parse_conversion(format, conversion);
}

static int add(struct args_plan plan[KPROF_ARGS_MAX], int *count, struct args_plan one)
{
	if (*count >= (int)KPROF_ARGS_MAX)
		return -E2BIG;
	plan[(*count)++] = one;
	return 0;
}

static struct args_plan plan_value(const struct args_conversion *conversion)
{
	struct args_plan one = {.kind = ARGS_INT, .bytes = conversion->bytes};

	switch (conversion->letter) {
	case 's':
		one.kind = ARGS_STRING;
		one.limited = conversion->precision != ARGS_NONE;
		one.limit = conversion->precision == ARGS_STAR ? ARGS_LIMIT_STAR :
								 (uint16_t)conversion->precision;
		break;
	case 'p':
		one.kind = ARGS_POINTER;
		one.bytes = sizeof(void *);
		break;
	case 'd':
	case 'c':
		one.is_signed = 1;
		break;
	case 'o':
	case 'u':
	case 'x':
	case 'X':
		break;
	default:
		one.kind = ARGS_DOUBLE;
	}
	return one;
}

int args_plan(const char *text, uint32_t bytes, struct args_plan plan[KPROF_ARGS_MAX])
{
	static const struct args_plan star = {.kind = ARGS_INT, .bytes = sizeof(int), .is_signed = 1};
	struct args_format format = {.at = text, .end = text + bytes};
	struct args_conversion conversion;
	int count = 0, more, error = 0;

	while ((more = args_next(&format, &conversion)) > 0) {
		if (conversion.letter == '%')
			continue;
		if (conversion.width == ARGS_STAR)
			error = add(plan, &count, star);
		if (!error && conversion.precision == ARGS_STAR)
			error = add(plan, &count, star);
		if (!error)
			error = add(plan, &count, plan_value(&conversion));
		if (error)
			return error;
	}
	return more < 0 ? more : count;
}

uint32_t args_hash(const char *format, uint32_t bytes)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)format[i]) * 16777619u;
	return hash;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool args_word(const struct args_conversion *conversion, char word[ARGS_WORD_MAX + 1])
{
	const char *begin = conversion->literal, *end = begin + conversion->literal_bytes, *at;

	while (end > begin && (end[-1] == ' ' || end[-1] == '"'))
		end--;
	if (end > begin && (end[-1] == '=' || end[-1] == ':'))
		end--;
	for (at = end; at > begin && is_word(at[-1]); at--)
		;
	if (at == end || (size_t)(end - at) > ARGS_WORD_MAX || (*at >= '0' && *at <= '9'))
		return false;
	memcpy(word, at, (size_t)(end - at));
	word[end - at] = '\0';
	return true;
}

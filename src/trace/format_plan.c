/* SPDX-License-Identifier: MIT */
/* Formats that were parsed once: see format_plan.h. */
#include "trace/format_plan.h"

#include <glib.h>
#include <string.h>

#include "trace/escape.h"

/*
 * Each format has one place, by a hash; another one with the same hash replaces it. Pages of places that
 * are not used take no memory.
 */
#define PLACES_BITS 10
#define PLACES (1u << PLACES_BITS)

struct format_plans {
	struct format_plan places[PLACES];
};

struct format_plans *format_plans_create(void)
{
	return g_try_new0(struct format_plans, 1);
}

void format_plans_destroy(struct format_plans *plans)
{
	if (!plans)
		return;
	for (size_t i = 0; i < PLACES; i++)
		g_free(plans->places[i].copy);
	g_free(plans);
}

/* 2^64 divided by the golden ratio spreads what differs in any bit over the upper bits. */
static size_t place_of(uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15u) >> (64 - PLACES_BITS);
}

/* Of the first and last bytes: formats of one program mostly differ there or in their length. */
static size_t place_of_bytes(const char *format, uint32_t bytes)
{
	uint64_t first = 0, last = 0;
	size_t count = MIN(bytes, sizeof(first));

	memcpy(&first, format, count);
	memcpy(&last, format + bytes - count, count);
	return place_of(first ^ (last << 13 | last >> 51) ^ bytes);
}

static void add_bytes(struct format_literal *literal, const char *text, uint32_t bytes)
{
	if (!bytes)
		return;
	literal->bytes += (uint16_t)bytes;
	for (uint32_t i = 0; i < bytes; i++) {
		literal->newlines += text[i] == '\n';
		literal->escaped += text[i] != '\n' && escape_is_needed((unsigned char)text[i]);
	}
	literal->ends_line = text[bytes - 1] == '\n';
}

static bool is_plain(const struct args_conversion *c)
{
	return (c->letter == 'd' || c->letter == 'u') && c->width == ARGS_NONE &&
	       c->precision == ARGS_NONE && !c->plus && !c->space;
}

static void make_plan(struct format_plan *plan, const char *format, uint32_t bytes)
{
	struct args_plan accepted[KPROF_ARGS_MAX];
	struct args_format walk = { format, format + bytes };
	struct format_literal literal = { 0 };
	struct args_conversion c;

	plan->format = format;
	plan->bytes = bytes;
	plan->count = 0;
	plan->is_valid = bytes <= KPROF_FORMAT_MAX && args_plan(format, bytes, accepted) >= 0;
	if (!plan->is_valid)
		return;
	while (args_next(&walk, &c) > 0) {
		add_bytes(&literal, c.literal, c.literal_bytes);
		if (c.letter == '%') {
			add_bytes(&literal, "%", 1);
			continue;
		}
		plan->steps[plan->count++] = (struct format_step){ literal, is_plain(&c), c };
		literal = (struct format_literal){ 0 };
	}
	add_bytes(&literal, c.literal, c.literal_bytes);
	plan->rest = literal;
}

static bool copy_format(struct format_plan *plan, const char *format, uint32_t bytes)
{
	if (bytes > plan->copy_bytes || !plan->copy) {
		char *copy = g_try_realloc(plan->copy, bytes + 1);

		if (!copy)
			return false;
		plan->copy = copy;
		plan->copy_bytes = bytes;
	}
	memcpy(plan->copy, format, bytes);
	return true;
}

const struct format_plan *format_plans_get(
	struct format_plans *plans, const char *format, uint32_t bytes, bool stays)
{
	struct format_plan *plan = &plans->places[stays ? place_of((uintptr_t)format)
							: place_of_bytes(format, bytes)];

	if (plan->format && plan->bytes == bytes) {
		if (stays ? plan->format == format : !memcmp(plan->format, format, bytes))
			return plan;
	}
	if (!stays) {
		plan->format = NULL;
		if (!copy_format(plan, format, bytes))
			return NULL;
		format = plan->copy;
	}
	make_plan(plan, format, bytes);
	return plan;
}

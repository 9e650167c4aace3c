/* SPDX-License-Identifier: MIT */
/* Formats that were parsed once: see format_plan.h. */
#include "trace/format_plan.h"

#include <glib.h>
#include <string.h>

/* Each format has one place, by a hash; another one with the same hash replaces it. */
#define PLACES_BITS 6
#define PLACES (1u << PLACES_BITS)

struct format_plans {
	struct format_plan *places[PLACES];
};

struct format_plans *format_plans_create(void)
{
	return g_new0(struct format_plans, 1);
}

static void destroy_plan(struct format_plan *plan)
{
	if (!plan)
		return;
	g_free(plan->format);
	g_free(plan);
}

void format_plans_destroy(struct format_plans *plans)
{
	if (!plans)
		return;
	for (size_t i = 0; i < PLACES; i++)
		destroy_plan(plans->places[i]);
	g_free(plans);
}

/* Of the first and last bytes: formats of one program mostly differ there or in their length. */
static size_t place_of(const char *format, uint32_t bytes)
{
	uint64_t first = 0, last = 0;
	size_t count = MIN(bytes, sizeof(first));

	memcpy(&first, format, count);
	memcpy(&last, format + bytes - count, count);
	/* 2^64 divided by the golden ratio spreads what differs in any bit over the upper bits */
	return ((first ^ (last << 13 | last >> 51) ^ bytes) * 0x9e3779b97f4a7c15u) >> (64 - PLACES_BITS);
}

static bool is_clean(const char *format, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		if ((unsigned char)format[i] < 32 || format[i] == 127)
			return false;
	return true;
}

static struct format_plan *make_plan(const char *format, uint32_t bytes)
{
	struct format_plan *plan = g_new0(struct format_plan, 1);
	struct args_conversion c;
	struct args_format walk;
	int more;

	plan->format = g_memdup2(format, bytes);
	plan->bytes = bytes;
	plan->is_clean = is_clean(format, bytes);
	walk = (struct args_format){ plan->format, plan->format + bytes };
	while ((more = args_next(&walk, &c)) > 0) {
		plan->literal_bytes += c.literal_bytes;
		if (c.letter == '%')
			plan->literal_bytes++;
		else if (plan->count < KPROF_ARGS_MAX)
			plan->conversions[plan->count++] = c;
		else
			return plan;
	}
	plan->literal_bytes += c.literal_bytes;
	plan->is_valid = !more;
	return plan;
}

const struct format_plan *format_plans_get(
	struct format_plans *plans, const char *format, uint32_t bytes)
{
	struct format_plan **place = &plans->places[place_of(format, bytes)];

	/* g_memdup2() of no bytes is NULL, which memcmp() does not take */
	if (*place && (*place)->bytes == bytes &&
		(!bytes || !memcmp((*place)->format, format, bytes)))
		return *place;
	destroy_plan(*place);
	*place = make_plan(format, bytes);
	return *place;
}

/* SPDX-License-Identifier: MIT */
/* The few names nearest to one that does not exist: see nearest.h. */
#include "base/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A name that begins like the wanted one counts as near as one with this many wrong letters. */
#define BEGINNING_DISTANCE 2

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	if (b < a)
		a = b;
	return c < a ? c : a;
}

/* Letters to change, insert, remove, or swap with their neighbour, from a to b; case does not count. */
static unsigned int measure(const char *a, const char *b)
{
	unsigned int rows[3][NEAREST_NAME_MAX + 1];
	unsigned int *before = rows[0], *above = rows[1], *row = rows[2];
	size_t i, j, length = strlen(b);

	for (j = 0; j <= length; j++)
		above[j] = j;
	for (i = 1; a[i - 1]; i++) {
		unsigned int *oldest = before;

		row[0] = i;
		for (j = 1; j <= length; j++) {
			int ca = tolower((unsigned char)a[i - 1]);
			int cb = tolower((unsigned char)b[j - 1]);

			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (ca != cb));
			if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
				cb == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = above;
		above = row;
		row = oldest;
	}
	return above[length];
}

static unsigned int distance(const char *wanted, const char *name)
{
	unsigned int found = measure(wanted, name);
	size_t length = strlen(wanted), other = strlen(name);

	if (length >= 3 && found > BEGINNING_DISTANCE) {
		if (!strncasecmp(wanted, name, length))
			return BEGINNING_DISTANCE;
		if (strcasestr(name, wanted))
			return BEGINNING_DISTANCE + 1;
	}
	/* of a short name half of the letters may differ: more is no typing error */
	return found * 2 > (length > other ? length : other) ? UINT_MAX : found;
}

void nearest_init(struct nearest *nearest, const char *wanted)
{
	size_t length;

	memset(nearest, 0, sizeof(*nearest));
	snprintf(nearest->wanted, sizeof(nearest->wanted), "%s", wanted);
	length = strlen(nearest->wanted);
	/* a third of the letters wrong may still be a typing error; more is another name */
	nearest->limit = length / 3 > BEGINNING_DISTANCE + 1 ? length / 3 : BEGINNING_DISTANCE + 1;
}

/* The rank of `text` among the names kept; *d: the distance of `name`. NEAREST_NAMES: not kept. */
static unsigned int find_rank(const struct nearest *nearest, const char *name, const char *text,
	unsigned int *d)
{
	unsigned int at, i;

	if (!name[0] || strlen(name) >= NEAREST_NAME_MAX || strlen(text) >= NEAREST_NAME_MAX)
		return NEAREST_NAMES;
	*d = distance(nearest->wanted, name);
	if (*d > nearest->limit || *d >= strlen(name))
		return NEAREST_NAMES;
	for (i = 0; i < nearest->count; i++)
		if (!strcmp(nearest->names[i], text))
			return NEAREST_NAMES;
	for (at = nearest->count; at > 0 && nearest->distances[at - 1] > *d; at--)
		;
	return at;
}

bool nearest_wants(const struct nearest *nearest, const char *name)
{
	unsigned int d;

	return find_rank(nearest, name, name, &d) < NEAREST_NAMES;
}

void nearest_offer_text(struct nearest *nearest, const char *name, const char *text)
{
	unsigned int d, at, i;

	at = find_rank(nearest, name, text, &d);
	if (at == NEAREST_NAMES)
		return;
	if (nearest->count < NEAREST_NAMES)
		nearest->count++;
	for (i = nearest->count - 1; i > at; i--) {
		nearest->distances[i] = nearest->distances[i - 1];
		memcpy(nearest->names[i], nearest->names[i - 1], NEAREST_NAME_MAX);
	}
	nearest->distances[at] = d;
	strcpy(nearest->names[at], text);
}

void nearest_offer(struct nearest *nearest, const char *name)
{
	nearest_offer_text(nearest, name, name);
}

const char *nearest_text(const struct nearest *nearest, char *buf, size_t size)
{
	size_t length = 0;
	unsigned int i;

	if (size)
		buf[0] = '\0';
	for (i = 0; i < nearest->count && length < size; i++)
		length += snprintf(buf + length, size - length, "%s%s", i ? ", " : "; nearest: ",
			nearest->names[i]);
	return buf;
}

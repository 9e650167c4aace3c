/* SPDX-License-Identifier: MIT */
/* What Rust's names are made of: see v0.h. */
#include "sym/v0.h"

#include <inttypes.h>
#include <string.h>

#define DEPTH_MAX 200 /* types in types; frames of some hundred bytes each */
#define STEPS_MAX 20000
#define PUNYCODE_MAX 256 /* letters in one identifier that has others than ASCII */

/* ---- in and out ------------------------------------------------------------------------------- */

char v0_peek(const struct v0 *v)
{
	return v->at < v->length && !v->failed ? v->in[v->at] : '\0';
}

char v0_take(struct v0 *v)
{
	char c = v0_peek(v);

	if (c)
		v->at++;
	else
		v->failed = true;
	return c;
}

bool v0_take_if(struct v0 *v, char c)
{
	if (v0_peek(v) != c)
		return false;
	v->at++;
	return true;
}

void v0_put_bytes(struct v0 *v, const char *bytes, size_t length)
{
	if (v->silent || v->failed)
		return;
	if (v->out->len + length > V0_OUTPUT_MAX)
		v->failed = v->cut = true;
	else
		g_string_append_len(v->out, bytes, (gssize)length);
}

void v0_put(struct v0 *v, const char *text)
{
	v0_put_bytes(v, text, strlen(text));
}

void v0_put_number(struct v0 *v, uint64_t number)
{
	char text[24];

	g_snprintf(text, sizeof(text), "%" PRIu64, number);
	v0_put(v, text);
}

bool v0_enter(struct v0 *v)
{
	if (++v->depth > DEPTH_MAX || ++v->steps > STEPS_MAX)
		v->failed = true;
	return !v->failed;
}

void v0_leave(struct v0 *v)
{
	v->depth--;
}

/* ---- numbers and identifiers -------------------------------------------------------------------- */

uint64_t v0_take_base62(struct v0 *v)
{
	uint64_t sum = 0, digit = 0;

	if (v0_take_if(v, '_'))
		return 0;
	while (!v0_take_if(v, '_')) {
		char c = v0_take(v);

		if (g_ascii_isdigit(c))
			digit = (uint64_t)(c - '0');
		else if (g_ascii_islower(c))
			digit = (uint64_t)(c - 'a') + 10;
		else if (g_ascii_isupper(c))
			digit = (uint64_t)(c - 'A') + 36;
		else
			v->failed = true;
		if (v->failed || __builtin_mul_overflow(sum, 62, &sum) ||
			__builtin_add_overflow(sum, digit, &sum)) {
			v->failed = true;
			return 0;
		}
	}
	if (sum == UINT64_MAX)
		v->failed = true;
	return sum + 1;
}

uint64_t v0_take_optional(struct v0 *v, char tag)
{
	uint64_t number;

	if (!v0_take_if(v, tag))
		return 0;
	number = v0_take_base62(v);
	if (number == UINT64_MAX)
		v->failed = true;
	return number + 1;
}

void v0_take_identifier(struct v0 *v, struct v0_identifier *id)
{
	uint64_t length = 0;

	id->length = 0;
	id->punycode = v0_take_if(v, 'u');
	if (!g_ascii_isdigit(v0_peek(v))) {
		v->failed = true;
		return;
	}
	/* no number has a leading 0: what follows one is the identifier */
	if (!v0_take_if(v, '0')) {
		while (g_ascii_isdigit(v0_peek(v)) && length <= v->length)
			length = length * 10 + (uint64_t)(v0_take(v) - '0');
	}
	v0_take_if(v, '_');
	if (length > v->length - v->at) {
		v->failed = true;
		return;
	}
	id->bytes = v->in + v->at;
	id->length = length;
	v->at += length;
}

/* RFC 3492, section 6.1 */
static uint32_t adapt(uint32_t delta, uint32_t points, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / 700 : delta / 2;
	delta += delta / points;
	for (; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/* RFC 3492, section 6.2: the letters inserted into those before the last '_'. Their number, or 0. */
static size_t decode_punycode(const struct v0_identifier *id, gunichar *letters)
{
	const char *split = id->length ? memrchr(id->bytes, '_', id->length) : NULL;
	const char *at = split ? split + 1 : id->bytes, *end = id->bytes + id->length;
	uint32_t n = 128, i = 0, bias = 72;
	size_t count = 0;
	const char *c;

	for (c = id->bytes; split && c < split; c++) {
		if (count == PUNYCODE_MAX)
			return 0;
		letters[count++] = (gunichar)(unsigned char)*c;
	}
	while (at < end) {
		uint32_t old = i, weight = 1, k;

		for (k = 36;; k += 36) {
			uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, digit, add;

			if (at == end)
				return 0;
			digit = g_ascii_islower(*at) ? (uint32_t)(*at - 'a')
				: g_ascii_isdigit(*at) ? (uint32_t)(*at - '0') + 26
						       : UINT32_MAX;
			at++;
			if (digit == UINT32_MAX || __builtin_mul_overflow(digit, weight, &add) ||
				__builtin_add_overflow(i, add, &i))
				return 0;
			if (digit < t)
				break;
			if (__builtin_mul_overflow(weight, 36 - t, &weight))
				return 0;
		}
		if (count == PUNYCODE_MAX)
			return 0;
		count++;
		bias = adapt(i - old, (uint32_t)count, old == 0);
		if (__builtin_add_overflow(n, i / (uint32_t)count, &n) ||
			!g_unichar_validate(n))
			return 0;
		i %= (uint32_t)count;
		memmove(letters + i + 1, letters + i, (count - 1 - i) * sizeof(*letters));
		letters[i++] = n;
	}
	return count;
}

void v0_put_identifier(struct v0 *v, const struct v0_identifier *id)
{
	gunichar letters[PUNYCODE_MAX];
	char text[8];
	size_t count, i;

	if (!id->punycode) {
		v0_put_bytes(v, id->bytes, id->length);
		return;
	}
	count = decode_punycode(id, letters);
	if (!count)
		v->failed = true;
	for (i = 0; i < count; i++)
		v0_put_bytes(v, text, (size_t)g_unichar_to_utf8(letters[i], text));
}

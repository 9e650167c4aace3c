/* SPDX-License-Identifier: MIT */
/*
 * Unpacks records: see packed.h, and packed_form.h for what it reads. Nothing is read or written beyond the
 * packed bytes and the records, whatever the packed bytes are.
 */
#include "prof/packed.h"

#include <glib.h>
#include <string.h>

#include "prof/packed_form.h"
#include "prof/varint.h"

struct unpacker {
	const uint8_t *in, *end; /* PACKED_END_BYTES that are 0 follow the end */
	uint8_t *records, *out, *out_end;
	struct packed_last last;
	uint32_t count; /* of parts */
	struct packed_part parts[PACKED_PARTS_MAX];
};

/* ---- numbers --------------------------------------------------------------------------------- */

/* One of more than 8 bytes, or on a machine with another byte order. */
static uint64_t take_long(struct unpacker *u)
{
	uint64_t value = 0;
	unsigned int shift;

	for (shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = *u->in++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	u->in = u->end + 1;
	return 0;
}

/* A varint. Behind the end it is any number, and `in` is behind the end after it. */
static inline uint64_t take(struct unpacker *u)
{
	uint64_t value, ends;
	unsigned int bits;

	if (u->in > u->end)
		return 0;
	memcpy(&value, u->in, sizeof(value));
	ends = ~value & 0x8080808080808080ull;
	if (!ends || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		return take_long(u);
	/* most have 1 to 4 bytes, and which is not predictable: all together, without a branch */
	bits = (unsigned int)__builtin_ctzll(ends) + 1;
	u->in += bits / 8;
	value &= UINT64_MAX >> (64 - bits);
	value = (value & 0x7f007f007f007f00ull) >> 1 | (value & 0x007f007f007f007full);
	value = (value & 0x3fff00003fff0000ull) >> 2 | (value & 0x00003fff00003fffull);
	return (value & 0x0fffffff00000000ull) >> 4 | (value & 0x000000000fffffffull);
}

/* One of so many bytes, like take(). */
static inline uint64_t take_difference(struct unpacker *u, unsigned int length)
{
	static const uint64_t masks[16] = {
		0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
		[8 ... 15] = UINT64_MAX,
	};
	uint64_t value;

	if (u->in > u->end)
		return 0;
	memcpy(&value, u->in, sizeof(value));
	u->in += length;
	return GUINT64_FROM_LE(value) & masks[length];
}

/* So many bytes of the packed ones; NULL if there are not. */
static const uint8_t *take_bytes(struct unpacker *u, uint64_t len)
{
	const uint8_t *bytes = u->in;

	if (u->in > u->end || len > (size_t)(u->end - u->in))
		return NULL;
	u->in += len;
	return bytes;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

struct stack {
	struct packed_part *first, *second; /* second: NULL if there is none */
	struct packed_part unnumbered[2];
	uint64_t words;
};

/* A part that is there, or a new one of which only the length is known. NULL if it is not valid. */
static struct packed_part *take_part(struct unpacker *u, bool is_new, struct packed_part *unnumbered)
{
	struct packed_part *part = unnumbered;
	const uint64_t number = take(u);

	if (!is_new)
		return number < u->count ? &u->parts[number] : NULL;
	if (!number || number > UINT16_MAX)
		return NULL;
	if (u->count < PACKED_PARTS_MAX)
		part = &u->parts[u->count++];
	*part = (struct packed_part){ 0, (uint32_t)number };
	return part;
}

static bool take_stack(struct unpacker *u, unsigned int item, struct stack *stack)
{
	stack->second = NULL;
	stack->first = take_part(u, item & PACKED_NEW_FIRST, &stack->unnumbered[0]);
	if (!stack->first)
		return false;
	stack->words = stack->first->words;
	if (!(item & PACKED_SECOND))
		return true;
	stack->second = take_part(u, item & PACKED_NEW_SECOND, &stack->unnumbered[1]);
	if (!stack->second)
		return false;
	stack->words += 1 + stack->second->words;
	return true;
}

/* The words of a new part, to where the next bytes go. */
static bool put_new_words(struct unpacker *u, struct packed_part *part, enum packed_side side)
{
	const struct packed_part *last = &u->last.parts[side];
	const uint64_t same = take(u);
	const uint64_t count = part->words - same;
	const uint8_t *lengths;
	uint64_t word, i = count;

	if (same > part->words || same > last->words)
		return false;
	lengths = take_bytes(u, (count + 1) / 2);
	if (!lengths)
		return false;
	memcpy(u->out + i * sizeof(word), u->records + last->at + (last->words - same) * sizeof(word),
		same * sizeof(word));
	word = packed_base(u->records, last, same, same ? packed_word(u->out, i) : 0);
	while (i-- > 0) {
		const uint64_t n = count - 1 - i;

		word += packed_unzigzag(take_difference(u, lengths[n / 2] >> n % 2 * 4 & 0xf));
		memcpy(u->out + i * sizeof(word), &word, sizeof(word));
	}
	part->at = (uint32_t)(u->out - u->records);
	u->last.parts[side] = *part;
	return true;
}

static bool put_part(struct unpacker *u, struct packed_part *part, bool is_new, enum packed_side side)
{
	const size_t bytes = part->words * sizeof(uint64_t);

	if (is_new) {
		if (!put_new_words(u, part, side))
			return false;
	} else {
		memcpy(u->out, u->records + part->at, bytes);
	}
	u->out += bytes;
	return true;
}

static bool put_stack(struct unpacker *u, unsigned int item, struct stack *stack)
{
	const uint64_t marker = KPROF_CONTEXT_USER;

	if (!put_part(u, stack->first, item & PACKED_NEW_FIRST, packed_first_side(item & PACKED_KIND_MASK)))
		return false;
	if (!stack->second)
		return true;
	memcpy(u->out, &marker, sizeof(marker));
	u->out += sizeof(marker);
	return put_part(u, stack->second, item & PACKED_NEW_SECOND, PACKED_USER);
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Type, size and what the payload has before its stack of so many words. */
static bool put_head(struct unpacker *u, unsigned int type, const void *head, size_t head_bytes,
	uint64_t words)
{
	const size_t size = head_bytes + words * sizeof(uint64_t);
	uint8_t envelope[2 * VARINT_MAX];
	const size_t n = (size_t)(varint_put(varint_put(envelope, type), size) - envelope);

	if (n + size > (size_t)(u->out_end - u->out))
		return false;
	memcpy(u->out, envelope, n);
	memcpy(u->out + n, head, head_bytes);
	u->out += n + head_bytes;
	return true;
}

static bool unpack_trace(struct unpacker *u, unsigned int item)
{
	struct packed_last *last = &u->last;
	struct kprof_rec_trace trace;
	struct stack stack;
	uint32_t pid = last->pid;

	if (item & PACKED_OTHER_SOURCE) {
		last->cpu = (uint16_t)take(u);
		last->info = take(u);
	}
	if (item & PACKED_OTHER_PID)
		pid = (uint32_t)take(u);
	else if (item & PACKED_OLD_PID)
		pid = last->old_pid;
	if (pid != last->pid) {
		last->old_pid = last->pid;
		last->pid = pid;
	}
	last->time_ns += packed_unzigzag(take(u));
	if (!take_stack(u, item, &stack) || stack.words > UINT16_MAX)
		return false;
	trace = (struct kprof_rec_trace){
		last->info, last->time_ns, last->pid, last->cpu, (uint16_t)stack.words
	};
	return put_head(u, item & PACKED_KIND_MASK, &trace, sizeof(trace), stack.words) &&
	       put_stack(u, item, &stack);
}

static bool unpack_away(struct unpacker *u, unsigned int item)
{
	const uint64_t len = take(u);
	const uint8_t *payload = take_bytes(u, len);
	struct stack stack = { .words = 0 };

	if (!payload || ((item & PACKED_HAS_STACK) && !take_stack(u, item, &stack)))
		return false;
	if (!put_head(u, KPROF_REC_AWAY, payload, len, stack.words))
		return false;
	return !(item & PACKED_HAS_STACK) || put_stack(u, item, &stack);
}

static bool unpack_records(struct unpacker *u)
{
	const uint64_t len = take(u);
	const uint8_t *bytes = take_bytes(u, len);

	if (!bytes || len > (size_t)(u->out_end - u->out))
		return false;
	memcpy(u->out, bytes, len);
	u->out += len;
	return true;
}

static bool unpack_item(struct unpacker *u)
{
	const unsigned int item = *u->in++;

	switch (item & PACKED_KIND_MASK) {
	case PACKED_RECORDS:
		return unpack_records(u);
	case PACKED_AWAY:
		return unpack_away(u, item);
	default:
		return unpack_trace(u, item);
	}
}

bool packed_unpack(const uint8_t *packed, size_t size, uint8_t *records, size_t len)
{
	const uint8_t end[PACKED_END_BYTES] = { 0 };
	struct unpacker u;

	if (size < sizeof(end) || memcmp(packed + size - sizeof(end), end, sizeof(end)))
		return false;
	u.in = packed;
	u.end = packed + size - sizeof(end);
	u.records = u.out = records;
	u.out_end = records + len;
	u.last = (struct packed_last){ 0 };
	u.count = 0;
	while (u.in < u.end)
		if (!unpack_item(&u))
			return false;
	return u.in == u.end && u.out == u.out_end;
}

/* SPDX-License-Identifier: MIT */
/* Packs records: see packed.h, and packed_form.h for what it writes. */
#include <glib.h>
#include <string.h>

#include "prof/packed.h"
#include "prof/packed_form.h"
#include "prof/varint.h"

/* The index of parts by their words: at most half full. */
#define SLOTS (2 * PACKED_PARTS_MAX)
/*
 * How many slots are searched. A part that finds none of them free is not found later: so programs can't make
 * searches long by the stacks that they have.
 */
#define PROBES_MAX 8

/* An item without its words, and RECORDS without its records. */
#define ITEM_MAX 64

struct slot {
	uint32_t hash;
	uint16_t generation; /* of another one: empty */
	uint16_t number;
};

struct packer {
	uint16_t generation;
	struct slot slots[SLOTS];
	struct packed_part parts[PACKED_PARTS_MAX];
	/* what is being packed */
	uint32_t count; /* of parts */
	const uint8_t *records;
	size_t packed_upto; /* of the records; those up to the next item are written as they are */
	uint8_t *out, *end;
	struct packed_last last;
};

struct packer *packer_create(void)
{
	return g_new0(struct packer, 1);
}

void packer_destroy(struct packer *packer)
{
	g_free(packer);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static uint64_t hash_words(const uint8_t *words, size_t count)
{
	uint64_t a = count, b = 0;
	size_t i;

	/* two independent chains, which a processor computes at the same time */
	for (i = 0; i + 1 < count; i += 2) {
		a = (a ^ packed_word(words, i)) * 0xff51afd7ed558ccdull;
		b = (b ^ packed_word(words, i + 1)) * 0xc4ceb9fe1a85ec53ull;
	}
	if (i < count)
		a = (a ^ packed_word(words, i)) * 0xff51afd7ed558ccdull;
	a ^= b >> 29 ^ b << 35;
	return (a ^ a >> 32) * 0x9e3779b97f4a7c15ull;
}

/* The number of a part; or false, and it gets one as far as there are any. */
static bool find_part(struct packer *p, const struct packed_part *part, uint64_t *number)
{
	const uint64_t hash = hash_words(p->records + part->at, part->words);
	struct slot *slot, *empty = NULL;
	unsigned int i;

	for (i = 0; i < PROBES_MAX && !empty; i++) {
		slot = &p->slots[((hash >> 32) + i) % SLOTS];
		if (slot->generation != p->generation) {
			empty = slot;
		} else if (slot->hash == (uint32_t)hash) {
			const struct packed_part *other = &p->parts[slot->number];

			*number = slot->number;
			if (other->words == part->words && !memcmp(p->records + other->at,
				    p->records + part->at, part->words * sizeof(uint64_t)))
				return true;
		}
	}
	if (p->count == PACKED_PARTS_MAX)
		return false;
	if (empty)
		*empty = (struct slot){ (uint32_t)hash, p->generation, (uint16_t)p->count };
	p->parts[p->count++] = *part;
	return false;
}

static void put(struct packer *p, uint64_t value)
{
	p->out = varint_put(p->out, value);
}

/* Differences: see packed_form.h. */
struct differences {
	uint8_t *lengths;
	unsigned int count;
};

static void begin_differences(struct packer *p, struct differences *d, size_t count)
{
	*d = (struct differences){ .lengths = p->out };
	memset(p->out, 0, (count + 1) / 2);
	p->out += (count + 1) / 2;
}

static inline void put_difference(struct packer *p, struct differences *d, uint64_t value)
{
	const unsigned int length = value ? (71 - (unsigned int)__builtin_clzll(value)) / 8 : 0;

	d->lengths[d->count / 2] |= (uint8_t)(length << d->count % 2 * 4);
	d->count++;
	value = GUINT64_TO_LE(value);
	memcpy(p->out, &value, sizeof(value)); /* the next one overwrites the bytes beyond `length` */
	p->out += length;
}

static void put_new_part(struct packer *p, const struct packed_part *part, enum packed_side side)
{
	const uint8_t *words = p->records + part->at;
	const struct packed_part *last = &p->last.parts[side];
	const uint8_t *others = p->records + last->at;
	const size_t most = MIN(part->words, last->words);
	struct differences differences;
	uint64_t word, base;
	size_t same = 0, i;

	while (same < most && packed_word(words, part->words - same - 1) ==
				      packed_word(others, last->words - same - 1))
		same++;
	put(p, same);
	i = part->words - same;
	begin_differences(p, &differences, i);
	base = packed_base(p->records, last, same, same ? packed_word(words, i) : 0);
	while (i-- > 0) {
		word = packed_word(words, i);
		put_difference(p, &differences, packed_zigzag(word - base));
		base = word;
	}
	p->last.parts[side] = *part;
}

/* The words of a stack of at least one; sets the flags of the item. */
static void put_stack(struct packer *p, const struct packed_part *all, uint8_t *item, bool is_user)
{
	const enum packed_side side = is_user ? PACKED_USER : PACKED_KERNEL;
	const uint8_t *words = p->records + all->at;
	struct packed_part first = *all, second;
	uint64_t number;
	uint32_t i = 0;

	while (!is_user && i < all->words && packed_word(words, i) != KPROF_CONTEXT_USER)
		i++;
	if (i && i + 1 < all->words) {
		first.words = i;
		second = (struct packed_part){
			all->at + (i + 1) * (uint32_t)sizeof(uint64_t), all->words - i - 1
		};
		*item |= PACKED_SECOND;
	}
	if (!find_part(p, &first, &number)) {
		*item |= PACKED_NEW_FIRST;
		number = first.words;
	}
	put(p, number);
	if (*item & PACKED_SECOND) {
		if (!find_part(p, &second, &number)) {
			*item |= PACKED_NEW_SECOND;
			number = second.words;
		}
		put(p, number);
	}
	if (*item & PACKED_NEW_FIRST)
		put_new_part(p, &first, side);
	if (*item & PACKED_NEW_SECOND)
		put_new_part(p, &second, PACKED_USER);
}

/* ---- items ----------------------------------------------------------------------------------- */

/* The records before `upto` that are not packed otherwise. Returns false if there is no room. */
static bool put_records(struct packer *p, size_t upto)
{
	const size_t len = upto - p->packed_upto;

	if (!len)
		return true;
	if ((size_t)(p->end - p->out) < ITEM_MAX + len)
		return false;
	*p->out++ = PACKED_RECORDS;
	put(p, len);
	memcpy(p->out, p->records + p->packed_upto, len);
	p->out += len;
	return true;
}

static void put_trace(struct packer *p, unsigned int type, const struct kprof_rec_trace *trace,
	const struct packed_part *stack)
{
	struct packed_last *last = &p->last;
	uint8_t *item = p->out++;

	*item = (uint8_t)type;
	if (trace->cpu != last->cpu || trace->info != last->info) {
		*item |= PACKED_OTHER_SOURCE;
		put(p, trace->cpu);
		put(p, trace->info);
		last->cpu = trace->cpu;
		last->info = trace->info;
	}
	if (trace->pid != last->pid) {
		*item |= trace->pid == last->old_pid ? PACKED_OLD_PID : PACKED_OTHER_PID;
		if (trace->pid != last->old_pid)
			put(p, trace->pid);
		last->old_pid = last->pid;
		last->pid = trace->pid;
	}
	put(p, packed_zigzag(trace->time_ns - last->time_ns));
	last->time_ns = trace->time_ns;
	put_stack(p, stack, item, type == KPROF_REC_USER_TRACE);
}

static void put_away(struct packer *p, const uint8_t *payload, size_t len, const struct packed_part *stack)
{
	uint8_t *item = p->out++;

	*item = PACKED_AWAY;
	put(p, len);
	memcpy(p->out, payload, len);
	p->out += len;
	if (stack->words) {
		*item |= PACKED_HAS_STACK;
		put_stack(p, stack, item, false);
	}
}

/* How many bytes the payload of a record has before its stack; 0 if it is packed as it is. */
static size_t find_stack(unsigned int type, const uint8_t *payload, size_t size, uint32_t *words)
{
	struct kprof_rec_trace trace;
	struct kprof_rec_away away;
	size_t before;

	if ((type == KPROF_REC_KERN_TRACE || type == KPROF_REC_USER_TRACE) && size > sizeof(trace)) {
		memcpy(&trace, payload, sizeof(trace));
		*words = trace.num_traces;
		before = sizeof(trace);
	} else if (type == KPROF_REC_AWAY && size > sizeof(away)) {
		memcpy(&away, payload, sizeof(away));
		*words = away.num_traces;
		payload += sizeof(away);
		before = sizeof(away) + strnlen((const char *)payload, size - sizeof(away)) + 1;
	} else {
		return 0;
	}
	return size == before + *words * sizeof(uint64_t) ? before : 0;
}

/* Packs the record at *at, which is then behind it. Returns false if there is no room. */
static bool put_record(struct packer *p, size_t *at)
{
	const size_t start = *at;
	struct packed_part stack;
	const uint8_t *payload;
	uint64_t type, size;
	size_t before;

	payload = varint_get(varint_get(p->records + start, &type), &size);
	*at = (size_t)(payload - p->records) + size;
	before = find_stack((unsigned int)MIN(type, KPROF_REC_AWAY + 1), payload, size, &stack.words);
	/* the form has no numbers that are longer than needed */
	if (!before || !payload[-1] || p->records[start] != type)
		return true;
	if (!put_records(p, start))
		return false;
	if ((size_t)(p->end - p->out) < ITEM_MAX + before + stack.words * VARINT_MAX)
		return false;
	stack.at = (uint32_t)((size_t)(payload - p->records) + before);
	if (type == KPROF_REC_AWAY) {
		put_away(p, payload, before, &stack);
	} else {
		struct kprof_rec_trace trace;

		memcpy(&trace, payload, sizeof(trace));
		put_trace(p, (unsigned int)type, &trace, &stack);
	}
	p->packed_upto = *at;
	return true;
}

static void begin(struct packer *p, const uint8_t *records, uint8_t *packed, size_t room)
{
	if (!++p->generation) {
		memset(p->slots, 0, sizeof(p->slots));
		p->generation = 1;
	}
	p->count = 0;
	p->records = records;
	p->packed_upto = 0;
	p->out = packed;
	p->end = packed + room - PACKED_END_BYTES;
	p->last = (struct packed_last){ 0 };
}

size_t packer_pack(struct packer *p, const uint8_t *records, size_t len, uint8_t *packed, size_t room)
{
	size_t at = 0;

	if (room < PACKED_END_BYTES || len > PACKED_RECORDS_MAX)
		return 0;
	begin(p, records, packed, room);
	while (at < len)
		if (!put_record(p, &at))
			return 0;
	if (!put_records(p, len))
		return 0;
	memset(p->out, 0, PACKED_END_BYTES);
	return (size_t)(p->out - packed) + PACKED_END_BYTES;
}

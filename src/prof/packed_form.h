/* SPDX-License-Identifier: MIT */
/*
 * The form of packed records, shared by packer.c, which writes it, and packed.c, which reads it.
 *
 * Items follow each other, then PACKED_END_BYTES that are 0. Each item begins with a byte: kind and flags.
 *
 *	RECORDS  varint length, and so many bytes: whole records as they are
 *	trace    a record of the type 1 or 2: [varint CPU, varint info] [varint pid] varint time, stack
 *	AWAY     a record of the type 78: varint length, so many bytes (its payload before the stack), [stack]
 *
 * The time is the difference to that of the trace before; differences are in zigzag. A stack has one
 * part, or two with KPROF_CONTEXT_USER between them, that of the kernel and that of user space:
 *
 *	stack    varint first, [varint second], [new first part], [new second part]
 *
 * first and second are the number of a part that is there already, or how many words a new one has,
 * which gets the next number. A new part:
 *
 *	varint same, (n + 1) / 2 bytes, n differences: of the words but `same`, outermost first
 *
 * A difference has 0 to 8 bytes, the lowest first. The bytes before them say how many, 4 bits for each,
 * the low ones first: a reader then need not know one to find the next.
 *
 * `same` is how many of its outermost words are those of the new part before it of the same side. The
 * first difference is to that part's word at this place, if it has one, each other one to the next outer
 * word, or 0.
 */
#ifndef KPROFS_PROF_PACKED_FORM_H
#define KPROFS_PROF_PACKED_FORM_H

#include <stdint.h>
#include <string.h>

#include "kprof/records.h"

enum packed_kind {
	PACKED_RECORDS = 0,
	PACKED_KERN_TRACE = KPROF_REC_KERN_TRACE,
	PACKED_USER_TRACE = KPROF_REC_USER_TRACE,
	PACKED_AWAY = 3,
	PACKED_KIND_MASK = 3,
};

enum packed_flags {
	PACKED_OTHER_SOURCE = 1 << 2, /* trace: not CPU and info of the one before */
	PACKED_HAS_STACK = 1 << 2,    /* AWAY */
	PACKED_OTHER_PID = 1 << 3,    /* trace: not that of the one before */
	PACKED_OLD_PID = 1 << 4,      /* trace: the pid before the last change */
	PACKED_NEW_FIRST = 1 << 5,
	PACKED_SECOND = 1 << 6,
	PACKED_NEW_SECOND = 1 << 7,
};

/* Readers read a number as 8 bytes, also where it ends the last item. */
#define PACKED_END_BYTES 8

/* So many parts get numbers; later ones are always new. */
#define PACKED_PARTS_MAX 4096u

/* The sides of which new parts are compared. */
enum packed_side { PACKED_KERNEL, PACKED_USER, PACKED_SIDES };

/* Where in the records the words of a part are. */
struct packed_part {
	uint32_t at;
	uint32_t words;
};

/* What the next item may refer to; all 0 at first. */
struct packed_last {
	uint64_t time_ns, info;
	uint32_t pid, old_pid;
	uint16_t cpu;
	struct packed_part parts[PACKED_SIDES];
};

static inline uint64_t packed_zigzag(uint64_t difference)
{
	return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t packed_unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

static inline enum packed_side packed_first_side(unsigned int kind)
{
	return kind == PACKED_USER_TRACE ? PACKED_USER : PACKED_KERNEL;
}

static inline uint64_t packed_word(const uint8_t *words, size_t i)
{
	uint64_t word;

	memcpy(&word, words + i * sizeof(word), sizeof(word));
	return word;
}

/* To what the first word that a new part does not share is a difference; `next` is the word outside of it. */
static inline uint64_t packed_base(const uint8_t *records, const struct packed_part *last, size_t same,
	uint64_t next)
{
	return last->words > same ? packed_word(records + last->at, last->words - same - 1) : next;
}

#endif

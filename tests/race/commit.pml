/* SPDX-License-Identifier: MIT */
/*
 * How an event gets from a writer to a reader: the letters of include/kprof/ring_abi.h, for spin.
 * model.sh says how it is run.
 *
 * A chunk that is full of an older stretch (ticket 1) is taken again (ticket 2), gets its RUN record
 * and two events, and is given back. A reader comes once, at any time, and is as slow as it likes. A
 * writer that was killed is one that does not go on.
 *
 * Memory is weaker than any machine's: the writer's stores wait in a buffer and reach memory in any
 * order but for this: stores to one word keep theirs, a release store goes after all before it, and
 * nothing overtakes a release fence. The reader's loads between two acquire fences are made in any
 * order; without a fence some of those behind it are made before it. What is claimed of a reader that did not find the ticket changed:
 *
 *	whole		an event that it takes for committed has its own value, and a RUN before it
 *	complete	what was committed in the chunk before it began is there
 *	quiet		where it made one copy only, nothing was missing in it
 *
 * Broken on purpose, each a letter or step less: NO_A, NO_B, NO_D, NO_E (the writer's), NO_LEAVE (the
 * position goes before the head is closed), NO_a, NO_b, NO_d (the reader's fences), ONE_COPY (the
 * values from the copy in which the head words were seen), NO_TICKET (not looked at again).
 */
#define EVENTS 2

/* words of memory */
#define WORD 0	 /* the chunk's head: FULL or HELD, and its end */
#define TICKET 1
#define RUN 2	 /* the RUN record: its tag */
#define VALUE(i) (3 + 2 * (i))
#define HEAD(i) (4 + 2 * (i))
#define POS 7	 /* the slot's */
#define DONE 8
#define WORDS 9
#define FENCE 9

#define FULL 1
#define HELD 2
#define HEAD_WORD(state, end) ((state) + 4 * (end))
/* ends and offsets count records, the RUN included; position without a chunk: ticket 0 */
#define POSITION(ticket, offset, count) ((ticket) + 4 * (offset) + 16 * (count))
#define TICKET_OF(pos) ((pos) % 4)
#define OFFSET_OF(pos) ((pos) / 4 % 4)
#define COUNT_OF(pos) ((pos) / 16)
#define NAME(ticket, i) (10 * (ticket) + (i))

byte memory[WORDS];

/* ---- the writer's stores on their way -------------------------------------------------------- */

#define ROOM 5

byte to[ROOM], what[ROOM];
bool last[ROOM]; /* release: goes after all before it */
byte pending;

inline put(word, value, release)
{
	atomic {
		pending < ROOM;
		to[pending] = word;
		what[pending] = value;
		last[pending] = release;
		pending++
	}
}

#ifdef NO_A
#define FENCE_A skip
#else
#define FENCE_A put(FENCE, 0, true)
#endif
#ifdef NO_B
#define RELEASE_B false
#else
#define RELEASE_B true
#endif
#ifdef NO_D
#define RELEASE_D false
#else
#define RELEASE_D true
#endif
#ifdef NO_E
#define RELEASE_E false
#else
#define RELEASE_E true
#endif
#ifdef NO_LEAVE
#define RELEASE_LEAVE false
#else
#define RELEASE_LEAVE true
#endif

proctype writer()
{
	byte i;

	put(WORD, HEAD_WORD(HELD, 0), true);
	put(TICKET, 2, true);
	FENCE_A;
	put(RUN, 2, RELEASE_D);
	put(POS, POSITION(2, 1, EVENTS), RELEASE_B);
	do
	:: i < EVENTS ->
		put(POS, POSITION(2, 2 + i, EVENTS + 1 + i), false); /* C */
		put(VALUE(i), NAME(2, i), false);
		put(HEAD(i), 2, RELEASE_D);
		put(DONE, EVENTS + 1 + i, RELEASE_E);
		i++
	:: else -> break
	od;
	put(WORD, HEAD_WORD(FULL, 1 + EVENTS), true); /* F */
	put(POS, POSITION(0, 3, 2 * EVENTS), RELEASE_LEAVE)
}

inline take_out(k)
{
	j = k;
	do
	:: j + 1 < pending ->
		to[j] = to[j + 1];
		what[j] = what[j + 1];
		last[j] = last[j + 1];
		j++
	:: else -> break
	od;
	pending--;
	to[pending] = 0;
	what[pending] = 0;
	last[pending] = false;
	j = 0
}

/* no fence before it, no store to the same word, and nothing at all before a release */
#define MAY(k) (k < pending && (k == 0 || (!last[k] && to[k] != FENCE && \
	to[0] != FENCE && to[0] != to[k] && \
	(k < 2 || (to[1] != FENCE && to[1] != to[k])) && \
	(k < 3 || (to[2] != FENCE && to[2] != to[k])) && \
	(k < 4 || (to[3] != FENCE && to[3] != to[k])))))

#define OUT(k) \
	if \
	:: to[k] != FENCE -> memory[to[k]] = what[k] \
	:: else \
	fi; \
	take_out(k)

active proctype bus()
{
	byte j;

end:	do
	:: atomic { MAY(0) -> OUT(0) }
	:: atomic { MAY(1) -> OUT(1) }
	:: atomic { MAY(2) -> OUT(2) }
	:: atomic { MAY(3) -> OUT(3) }
	:: atomic { MAY(4) -> OUT(4) }
	od
}

/* ---- the reader ------------------------------------------------------------------------------ */

/* Copies of the data: what is loaded, in any order. */
byte first[WORDS], second[WORDS];

/* bits of loads that are still to be made */
#define LOAD(bit, from, into) \
	atomic { (todo & (1 << (bit))) -> into = memory[from]; todo = todo - (1 << (bit)) }

proctype reader()
{
	byte done, pos, word, ticket, word2, ticket2, ticket3, end, i;
	byte before[EVENTS], ticket_before;
	short todo;
	bool uncommitted, twice, taken;

	atomic { /* what has been committed in the chunk before we begin */
		before[0] = memory[HEAD(0)];
		before[1] = memory[HEAD(1)];
		ticket_before = memory[TICKET]
	}
	done = memory[DONE];
	/* the slot, then the head until two copies are the same */
#ifndef NO_b
	pos = memory[POS]; /* b */
#endif
	todo = 6;
	do
	:: LOAD(1, WORD, word)
	:: LOAD(2, TICKET, ticket)
	:: todo == 0 -> break
	od;
	do
	:: true ->
		todo = 6;
		do
		:: LOAD(1, WORD, word2)
		:: LOAD(2, TICKET, ticket2)
		:: todo == 0 -> break
		od;
		if
		:: word2 == word && ticket2 == ticket -> break
		:: else -> word = word2; ticket = ticket2
		fi
	od;
#ifdef NO_b
	pos = memory[POS];
#endif
	uncommitted = done != COUNT_OF(pos) || TICKET_OF(pos) < ticket ||
		(TICKET_OF(pos) == ticket && word % 4 != HELD);
	if
	:: word % 4 == HELD && TICKET_OF(pos) == ticket -> end = OFFSET_OF(pos)
	:: else -> end = word / 4
	fi;
	twice = uncommitted;
#ifdef ONE_COPY
	twice = false;
#endif
	if
	:: end == 0 -> goto judge
	:: else
	fi;

	/* the data; bits 0 to 4 once, 5 to 9 again, 10 the ticket */
	todo = 31;
#ifdef NO_d
	todo = (twice -> 992 : 31);
#endif
#ifdef NO_a
	todo = todo + 1024;
#endif
	do
	:: LOAD(0, RUN, first[RUN])
	:: LOAD(1, VALUE(0), first[VALUE(0)])
	:: LOAD(2, HEAD(0), first[HEAD(0)])
	:: LOAD(3, VALUE(1), first[VALUE(1)])
	:: LOAD(4, HEAD(1), first[HEAD(1)])
	:: LOAD(5, RUN, second[RUN])
	:: LOAD(6, VALUE(0), second[VALUE(0)])
	:: LOAD(7, HEAD(0), second[HEAD(0)])
	:: LOAD(8, VALUE(1), second[VALUE(1)])
	:: LOAD(9, HEAD(1), second[HEAD(1)])
	:: LOAD(10, TICKET, ticket3)
	:: (todo & 1023) == 0 ->
		if
#ifdef NO_d
		:: twice && first[HEAD(0)] == 0 -> todo = todo + 31
#else
		:: twice && second[HEAD(0)] == 0 -> todo = todo + 992 /* d */
#endif
		:: else -> break
		fi
	od;
	do
	:: LOAD(10, TICKET, ticket3)
	:: todo == 0 -> break
	od;
#ifndef NO_a
	ticket3 = memory[TICKET]; /* a */
#endif
#ifdef NO_TICKET
	ticket3 = ticket;
#endif
	if
	:: ticket3 != ticket -> goto stale
	:: else
	fi;
	assert(first[RUN] == ticket);
	assert((twice -> second[RUN] : first[RUN]) == ticket);
judge:
	i = 0;
	do
	:: i < EVENTS ->
		taken = i + 1 < end && first[HEAD(i)] == ticket;
		assert(!taken || (twice -> second[VALUE(i)] : first[VALUE(i)]) == NAME(ticket, i));
		assert(taken || uncommitted || i + 1 >= end);
		assert(taken || before[i] != ticket_before || memory[TICKET] != ticket_before ||
			(ticket_before == 1 && memory[WORD] % 4 == HELD)); /* it is given up */
		i++
	:: else -> break
	od;
stale:
	skip
}

init {
	atomic {
		memory[WORD] = HEAD_WORD(FULL, 1 + EVENTS);
		memory[TICKET] = 1;
		memory[RUN] = 1;
		memory[VALUE(0)] = NAME(1, 0);
		memory[HEAD(0)] = 1;
		memory[VALUE(1)] = NAME(1, 1);
		memory[HEAD(1)] = 1;
		memory[POS] = POSITION(0, 3, EVENTS);
		memory[DONE] = EVENTS;
		run writer();
		run reader()
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * How threads take and give back the chunks of a flight recorder (src/ring/write.c: change_chunk,
 * take_oldest, find_oldest, make_available), for spin. model.sh says how it is run.
 *
 * As many threads as chunks, the hardest case. Each starts without a chunk, changes it CHANGES
 * times, and ends. Every read and write of a shared word is one step; the words are sequentially
 * consistent here, which the acquire and release of the code give for what is claimed:
 *
 *	one owner	no two threads ever have the same chunk
 *	no drop		a scan that finds none has seen `given` move: another thread has got on, and one
 *			looks again
 *
 * Broken on purpose: TAKE_FIRST (the next chunk before the old one is given back), LOOK_ONCE (no
 * look again), GIVEN_EARLY (`given` before the chunk is there), NO_EXCHANGE (a look, then a store).
 */
#ifndef THREADS
#define THREADS 3
#endif
#ifndef CHANGES
#define CHANGES 2
#endif
#define CHUNKS THREADS
#define NO_OWNER 255
#define NONE 255

byte since[CHUNKS]; /* 0: a thread has it; else the number at which it was given back */
byte numbers;	    /* the last number given */
byte given;	    /* how often one was given back */
byte owner[CHUNKS]; /* what is claimed, not what the code knows */

inline give_back(chunk)
{
#ifdef GIVEN_EARLY
	given++;
#endif
	atomic { numbers++; number = numbers; }
	assert(owner[chunk] == _pid);
	atomic { owner[chunk] = NO_OWNER; since[chunk] = number; }
#ifndef GIVEN_EARLY
	given++;
#endif
}

/* best: the chunk, word: what its since was; best NONE: all were taken when they were looked at */
inline find_oldest()
{
	best = NONE;
	word = 0;
	i = 0;
	do
	:: i < CHUNKS ->
		atomic {
			if
			:: since[i] != 0 && (best == NONE || since[i] < word) ->
				best = i;
				word = since[i]
			:: else
			fi;
			i++
		}
	:: else -> break
	od;
	i = 0
}

inline take_oldest()
{
	before = given;
	do
	:: true ->
		find_oldest();
		if
		:: best == NONE ->
			now = given;
#ifdef LOOK_ONCE
			assert(false);
#endif
			assert(now != before); /* else the event is dropped */
			before = now
		:: else ->
#ifdef NO_EXCHANGE
			if
			:: since[best] == word -> since[best] = 0; break
			:: else
			fi
#else
			atomic {
				if
				:: since[best] == word -> since[best] = 0; owner_of(best); break
				:: else
				fi
			}
#endif
		fi;
		word = 0;
		best = NONE
	od;
#ifdef NO_EXCHANGE
	owner_of(best);
#endif
	word = 0;
	now = 0;
	before = 0
}

inline owner_of(chunk)
{
	assert(owner[chunk] == NO_OWNER);
	owner[chunk] = _pid
}

proctype thread()
{
	byte have = NONE, changes, i, best = NONE, word, number, before, now;

	do
	:: changes < CHANGES ->
#ifdef TAKE_FIRST
		take_oldest();
		if
		:: have != NONE -> give_back(have)
		:: else
		fi;
#else
		if
		:: have != NONE -> give_back(have)
		:: else
		fi;
		take_oldest();
#endif
		have = best;
		best = NONE;
		number = 0;
		changes++
	:: else -> break
	od;
	give_back(have)
}

init {
	byte c;

	atomic {
		do
		:: c < CHUNKS ->
			since[c] = c + 1;
			owner[c] = NO_OWNER;
			c++
		:: else -> break
		od;
		numbers = CHUNKS;
		c = 0;
		do
		:: c < THREADS -> run thread(); c++
		:: else -> break
		od
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * What can be written to a switch: on, off, toggle, or a number, of which 0 is off and any other
 * one is on. All switches take these words. Pure functions; thread-safe.
 */
#ifndef KPROFS_BASE_SWITCH_WORD_H
#define KPROFS_BASE_SWITCH_WORD_H

#include <stdbool.h>

/* The words, as usages show them. */
#define SWITCH_WORD_USAGE "on|off|toggle|NUMBER"

/* A bool converts to the first two. */
enum switch_word {
	SWITCH_WORD_OFF = 0,
	SWITCH_WORD_ON = 1,
	SWITCH_WORD_TOGGLE,
};

/*
 * Parses a word. Numbers are in C syntax (units_parse_u64), with a sign or without. Returns
 * -ERANGE if a number is too large, -EINVAL for any other text; *word is then unchanged.
 */
int switch_word_parse(const char *text, enum switch_word *word);

/* Returns the new state of a switch that is `on`. */
static inline bool switch_word_apply(enum switch_word word, bool on)
{
	return word == SWITCH_WORD_TOGGLE ? !on : word == SWITCH_WORD_ON;
}

#endif

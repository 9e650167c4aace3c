/* SPDX-License-Identifier: MIT */
/* How often tests repeat what is random: a fifth where KPROFS_TEST_SHORT is set, as under valgrind. */
#ifndef KPROFS_TESTS_ROUNDS_H
#define KPROFS_TESTS_ROUNDS_H

#include <stdlib.h>

static inline unsigned int rounds(unsigned int all)
{
	return getenv("KPROFS_TEST_SHORT") ? (all + 4) / 5 : all;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What a fuzz target defines. Under libFuzzer only the first function is used; elsewhere driver.c
 * calls both, so that `make check` needs no special compiler.
 */
#ifndef KPROFS_TESTS_FUZZ_H
#define KPROFS_TESTS_FUZZ_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Feeds the input to what is tested; aborts where an invariant does not hold. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Appends input `number` of the corpus to `out`; false behind the last. */
bool fuzz_seed(unsigned int number, GByteArray *out);

/* An invariant: says which and aborts, also where NDEBUG is set. */
#define FUZZ_CHECK(condition)                                                                    \
	do {                                                                                     \
		if (!(condition)) {                                                              \
			g_printerr("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
			abort();                                                                 \
		}                                                                                \
	} while (0)

#endif

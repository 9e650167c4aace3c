/* SPDX-License-Identifier: MIT */
/*
 * symbolizerd/demangle with names that anyone may have written: it returns, and what it returns is
 * a text of a bounded size. A name that takes too long ends the process by SIGVTALRM, as in the
 * parser.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "symbolizerd/demangle.h"

/* What a name of DEMANGLE_INPUT_MAX bytes may become; more is none of what is shown. */
#define OUTPUT_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *name = g_strndup((const char *)data, size);
	g_autofree char *shown = demangle_name(name);

	if (shown)
		FUZZ_CHECK(strlen(shown) < OUTPUT_MAX);
	return 0;
}

bool fuzz_seed(unsigned int number, GByteArray *out)
{
	static const char *const names[] = {
		"main",
		"_ZNSt6vectorIiSaIiEE9push_backEOi",
		"_ZN1A1fEv.constprop.0",
		"_ZN4core3ptr13drop_in_place17h0123456789abcdefE",
		"_ZN35_$LT$Test$u20$as$u20$Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
		"_RNvNtCs1234_7mycrate3foo3bar",
		"_RINvCs6xxl1lAjzDf_1a3genNCNvB2_4mains0_0EB2_",
		"_RNvXs1_NtCs6xxl1lAjzDf_1a5innerINtB5_4WrapmENtB5_2Op2op",
	};

	if (number >= G_N_ELEMENTS(names))
		return false;
	g_byte_array_append(out, (const guint8 *)names[number], (guint)strlen(names[number]));
	return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * symbolizerd/demangle: names of C++ and Rust are those of the specification of v0 (rust-lang RFC
 * 2603, whose examples are marked) or of c++filt of binutils, without the hashes of crates and the
 * types of constants, which are not shown; names of the older scheme, and suffixes, are those of
 * rustfilt.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib.h>

#include "symbolizerd/demangle.h"

struct row {
	int line; /* a failing row names itself */
	const char *name;
	const char *expected; /* NULL if it is shown as it is */
};

static const struct row rows[] = {
	/* not mangled */
	{__LINE__, "main", NULL},
	{__LINE__, "", NULL},
	{__LINE__, "_", NULL},
	{__LINE__, "_start", NULL},
	{__LINE__, "_Z", NULL},
	{__LINE__, "_R", NULL},
	{__LINE__, "_ReadFile", NULL},
	{__LINE__, "_Zebra", NULL},

	/* C++ */
	{__LINE__, "_Z3fooi", "foo(int)"},
	{__LINE__, "_ZNSt6vectorIiSaIiEE9push_backEOi",
		"std::vector<int, std::allocator<int> >::push_back(int&&)"},
	{__LINE__, "_ZN1A1fEv.constprop.0", "A::f() [clone .constprop.0]"},
	{__LINE__, "_ZN1A1fEv.cold", "A::f() [clone .cold]"},
	{__LINE__, "_ZTv0_n24_N1B1gEv", "virtual thunk to B::g()"},

	/* Rust's first way */
	{__LINE__, "_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"},
	{__LINE__, "_ZN3foo3bar17h0123456789abcdefE.llvm.1234", "foo::bar"},
	{__LINE__, "_ZN3foo3bar17h0123456789abcdefE.cold", "foo::bar.cold"},
	{__LINE__,
		"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		"3bar17h930b740aa94f1d3aE",
		"<Test + 'static as foo::Bar<Test>>::bar"},
	{__LINE__, "_ZN28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "{{closure}}"},
	{__LINE__, "_ZN12$RF$mut$SP$x17h0123456789abcdefE", "&mut@x"},
	/* no such escape: as it is written (rustfilt) */
	{__LINE__, "_ZN5$XY$x17h0123456789abcdefE", "$XY$x"},
	/* no hash, or damaged: C++, or nothing */
	{__LINE__, "_ZN3foo3barE", "foo::bar"},
	{__LINE__, "_ZN3foo17h0123456789abcdegE", "foo::h0123456789abcdeg"},
	{__LINE__, "_ZN999999999999999999999foo17h0123456789abcdefE", NULL},

	/* v0: the examples of the RFC */
	{__LINE__, "_RNvCs1234_7mycrate3foo", "mycrate::foo"},
	{__LINE__, "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
	{__LINE__, "_RNvCs1234_7mycrateu3gdel", NULL}, /* punycode without a letter */
	{__LINE__, "_RINvNtC3std3mem8align_ofjEC3bar", "std::mem::align_of::<usize>"},
	{__LINE__, "_RNvNvMCs4fqI2P2rA04_13const_genericINtB4_8UnsignedKhb_E1f3foo",
		"<const_generic::Unsigned<11>>::f::foo"},
	/* v0: c++filt */
	{__LINE__, "_RINvCs6xxl1lAjzDf_1a3arrKj0_ReEB2_", "a::arr::<0, &str>"},
	{__LINE__, "_RINvCs6xxl1lAjzDf_1a3genNCNvB2_4mains0_0EB2_",
		"a::gen::<a::main::{closure#2}>"},
	{__LINE__, "_RNvMNtCs6xxl1lAjzDf_1a5innerINtB2_4WrapmE4showB4_",
		"<a::inner::Wrap<u32>>::show"},
	{__LINE__, "_RNvXs1_NtCs6xxl1lAjzDf_1a5innerINtB5_4WrapmENtB5_2Op2op",
		"<a::inner::Wrap<u32> as a::inner::Op>::op"},
	{__LINE__,
		"_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCslNYArtu3iFV_5alloc5boxed3BoxD"
		"INtNtNtB4_3ops8function6FnOnceuEp6OutputuNtNtB4_6marker4SendEL_EECs6xxl1lAjzDf_1a"
		".llvm.4300876430684541219",
		"core::ptr::drop_in_place::<alloc::boxed::Box<dyn core::ops::function::FnOnce<(), "
		"Output = ()> + core::marker::Send>>"},
	{__LINE__,
		"_RNSNvYNCINvNtCsjrHSEGnQ3l9_3std2rt10lang_startuE0INtNtNtCsgEmfK2I1SDS_4core3ops"
		"8function6FnOnceuE9call_once6vtableCs6xxl1lAjzDf_1a",
		"<std::rt::lang_start<()>::{closure#0} as "
		"core::ops::function::FnOnce<()>>::call_once"
		"::{shim:vtable#0}"},
	{__LINE__,
		"_RINvNtNtCsjrHSEGnQ3l9_3std3sys9backtrace28___rust_begin_short_backtraceFEuuE"
		"Cs6xxl1lAjzDf_1a",
		"std::sys::backtrace::__rust_begin_short_backtrace::<fn(), ()>"},
	{__LINE__, "_RNvC6_123foo3bar", "123foo::bar"},
	{__LINE__,
		"_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_EC",
		NULL},
	{__LINE__, "_RINvC1a1fTmEE", "a::f::<(u32,)>"},
	{__LINE__, "_RINvC1a1fTmhEAhj3_ShPhOhRhQhE",
		"a::f::<(u32, u8), [u8; 3], [u8], *const u8, *mut u8, &u8, &mut u8>"},
	{__LINE__, "_RINvC1a1fFG_RL0_hEBa_E", "a::f::<for<'a> fn(&'a u8) -> &'a u8>"},
	{__LINE__, "_RINvC1a1fFG_RL0_hEuE", "a::f::<for<'a> fn(&'a u8)>"},
	{__LINE__, "_RINvC1a1fFUK10system_v_xlEmE",
		"a::f::<unsafe extern \"system-v-x\" fn(i32) -> u32>"},
	{__LINE__, "_RINvC1a1fFUKClEmE", "a::f::<unsafe extern \"C\" fn(i32) -> u32>"},
	{__LINE__, "_RINvC1a1fKln5_Kb1_Kc41_Kca_Kc0_KpE",
		"a::f::<-5, true, 'A', '\\n', '\\u{0}', _>"},
	{__LINE__, "_RINvC1a1fKo7fffffffffffffffffffffffffffffff_E",
		"a::f::<0x7fffffffffffffffffffffffffffffff>"},
	/* punycode as Python's codec of that name writes it */
	{__LINE__, "_RNvC7mycrateu8gdel_5qa",
		"mycrate::g\xc3\xb6"
		"del"},
	{__LINE__, "_RNvC1au24_ihqwcrb4cv8a8dqg056pqjye",
		"a::\xe4\xbb\x96\xe4\xbb\xac\xe4\xb8\xba\xe4\xbb\x80\xe4\xb9\x88"
		"\xe4\xb8\x8d\xe8\xaf\xb4\xe4\xb8\xad\xe6\x96\x87"},
	{__LINE__, "_RNvC1au12gdel_99999999", NULL}, /* no letter has this number */
	{__LINE__, "_RNvC1a3foo.cold.1", "a::foo.cold.1"},
	/* v0: references that lead nowhere, or to themselves */
	{__LINE__, "_RNvB_1f", NULL},
	{__LINE__, "_RB_", NULL},
	{__LINE__, "_RNvB0_1f", NULL},
	{__LINE__, "_RIC1aB_E", NULL},
	{__LINE__, "_RNvC99999999999999999999a1f", NULL},
};

static void test_mangled_names_are_demangled(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *shown = demangle_name(rows[i].name);

		if (g_strcmp0(shown, rows[i].expected) != 0)
			fail_msg("row of line %d: %s", rows[i].line, shown ? shown : "(as it is)");
	}
}

/*
 * Names that no compiler writes, and names that libiberty 2.40 and c++filt print wrongly:
 * demangling them ends, with any result.
 */
static void test_odd_names_end(void **state)
{
	static const char *const names[] = {
		"_RINvC1a1fRL0_hE", /* a lifetime that is not bound */
		"_RNvC1au7gdel_5q", /* punycode that is cut short */
		"_RNvC1au8gdel_5q",
		"_RNvCszzzzzzzzzzzzzzzzzzzz_1a1f", /* a number of more than 64 bits */
		"_RINvC1a1fFGzzzzzzzzzz_EuE", /* 62^10 lifetimes, printed */
		"_RINvC1a1fKc27_E", /* '\'', printed without the backslash */
	};
	size_t i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(names); i++)
		g_free(demangle_name(names[i]));
}

/* 62^10 lifetimes in a part of the name that is not printed: the time limit ends the process. */
static void test_endless_name_ends_the_process(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (!pid) {
		g_free(demangle_name("_RNvMIC1aFGzzzzzzzzzz_EuEm1f"));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGVTALRM);
}

/* What base 62 numbers look like: "_" is 0, "0_" is 1. */
static void append_base62(GString *to, size_t number)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t at = to->len;

	if (number--) {
		do
			g_string_insert_c(to, (gssize)at, digits[number % 62]);
		while (number /= 62);
	}
	g_string_append_c(to, '_');
}

/* Each type is a pair of the one before: 2^20 types in a name of some hundred bytes. */
static void test_exponential_name_is_bounded(void **state)
{
	GString *name = g_string_new("_RINvC1a1f");
	size_t last = name->len - 2, here;
	g_autofree char *shown = NULL;
	int i;

	(void)state;
	g_string_append(name, "TmmE");
	for (i = 0; i < 20; i++) {
		here = name->len - 2;
		g_string_append(name, "TB");
		append_base62(name, last);
		g_string_append_c(name, 'B');
		append_base62(name, last);
		g_string_append_c(name, 'E');
		last = here;
	}
	g_string_append_c(name, 'E');
	assert_true(name->len < 300);
	/* cut off, not left out: it begins as it should */
	shown = demangle_name(name->str);
	assert_non_null(shown);
	assert_true(g_str_has_prefix(shown, "a::f::<(u32, u32), ((u32, u32), (u32, u32)), ((("));
	assert_true(strlen(shown) <= 8192);
	g_string_free(name, TRUE);
}

/* Deeply nested: no name, and no stack overflow. */
static void test_deep_name_is_refused_without_a_crash(void **state)
{
	GString *name = g_string_new("_RINvC1a1f");
	int i;

	(void)state;
	for (i = 0; i < 8000; i++)
		g_string_append_c(name, 'S');
	g_string_append(name, "mE");
	assert_null(demangle_name(name->str));
	g_string_assign(name, "_Z1f");
	for (i = 0; i < 15000; i++)
		g_string_append_c(name, 'P');
	g_string_append_c(name, 'i');
	g_free(demangle_name(name->str)); /* it may be one or not */
	for (i = 0; i < 2000; i++)
		g_string_append_c(name, 'i');
	assert_null(demangle_name(name->str)); /* too long to be tried */
	g_string_free(name, TRUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mangled_names_are_demangled),
		cmocka_unit_test(test_odd_names_end),
		cmocka_unit_test(test_endless_name_ends_the_process),
		cmocka_unit_test(test_exponential_name_is_bounded),
		cmocka_unit_test(test_deep_name_is_refused_without_a_crash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

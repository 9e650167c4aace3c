/* SPDX-License-Identifier: MIT */
/* A view of a capture that was written by hand: what it wrote and returned. */
#ifndef KPROFS_TESTS_VIEW_FIXTURE_H
#define KPROFS_TESTS_VIEW_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fixtures/gen.h"
#include "formats/view.h"

typedef int view_write(const struct view_input *input, FILE *out, struct err *err);

/*
 * /bin/a has a function in each of its first pages of 256 bytes; the kernel two of them. In the
 * last 16 bytes of a function of /bin/a "inner" is inlined, and in that "innermost".
 */
static int view_resolve(void *self, const struct symbols_file *file, const uint64_t *offsets,
	size_t count, const struct symbols_how *how, struct symbols_arena *arena,
	struct symbols_place *places)
{
	static const char *const functions[] = { "main", "call_a", "call_b", "work", "a;b 1\n<&>" };
	static const char *const kernel[] = { "entry", "read" };
	size_t i;

	for (i = 0; i < count; i++) {
		const uint64_t page = offsets[i] / 256;
		const uint64_t kernel_page = (offsets[i] - 0xffffffff81000000ull) / 256;
		struct symbols_frame frames[] = { { "innermost", NULL, 0 }, { "inner", NULL, 0 },
			{ NULL, NULL, 0 } };
		struct symbols_frame *frame = &frames[2];
		struct symbols_place place = { frame, 1, 0, 0 };

		if (strcmp(file->path, "/bin/a") == 0 && page < G_N_ELEMENTS(functions))
			frame->function = functions[page];
		if (file->kind == SYMBOLS_KERNEL && kernel_page < G_N_ELEMENTS(kernel))
			frame->function = kernel[kernel_page];
		if (file->kind == SYMBOLS_ELF && offsets[i] % 256 >= 240)
			place = (struct symbols_place){ frames, 3, 0, 0 };
		if (frame->function)
			symbols_arena_place(arena, &place, &places[i]);
	}
	return 0;
}

static void view_destroy(void *self)
{
}

static const struct symbols_source view_source = {
	.resolve = view_resolve,
	.destroy = view_destroy,
};

/* How captures are loaded; a test that sets a member resets it. */
static struct profile_options view_options;

static inline void view_load_gen(const struct gen *gen, struct symbols *symbols, struct profile **profile,
	struct functions **names)
{
	struct decoder decoder;

	decode_init_memory(&decoder, gen->bytes->data, gen->bytes->len);
	assert_int_equal(profile_load_with(&decoder, &view_options, profile, NULL), 0);
	decode_fini(&decoder);
	*names = functions_create(*profile, symbols, NULL);
}

/*
 * What a view writes of a capture, compared with an earlier one if `before` is not NULL; the caller frees
 * it. `cancelled` may be NULL.
 */
static inline char *view_text_versus(const struct gen *before, const struct gen *gen, view_write *write,
	bool (*cancelled)(void *arg), int expected)
{
	struct symbols *symbols = symbols_create(&view_source, NULL, 0);
	struct view_input input = { .capture_fd = -1, .cancel = { cancelled, NULL, -1 } };
	struct view_input earlier = input;
	struct err err = { "" };
	struct profile *profile, *profile_before = NULL;
	struct functions *names, *names_before = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	view_load_gen(gen, symbols, &profile, &names);
	input.profile = profile;
	input.functions = names;
	if (before) {
		view_load_gen(before, symbols, &profile_before, &names_before);
		earlier.profile = profile_before;
		earlier.functions = names_before;
		input.before = &earlier;
	}
	assert_int_equal(write(&input, out, &err), expected);
	if (expected && expected != -EINTR)
		assert_string_not_equal(err.text, "");
	fclose(out);
	if (before) {
		functions_destroy(names_before);
		profile_destroy(profile_before);
	}
	functions_destroy(names);
	symbols_destroy(symbols);
	profile_destroy(profile);
	return text;
}

static inline char *view_text(const struct gen *gen, view_write *write,
	bool (*cancelled)(void *arg), int expected)
{
	return view_text_versus(NULL, gen, write, cancelled, expected);
}

static inline void view_check(const struct gen *gen, view_write *write, const char *expected)
{
	char *text = view_text(gen, write, NULL, 0);

	assert_string_equal(text, expected);
	free(text);
}

/* Samples of up to three user frames, innermost first; 0 if there is no such frame. */
static inline void view_sample(struct gen *gen, uint64_t event, uint32_t pid, int times, uint64_t a,
	uint64_t b, uint64_t c)
{
	uint64_t frames[] = { a, b, c };

	for (; times; times--)
		gen_trace(gen, 2, event, 100, pid, 0, c ? 3 : b ? 2 : a ? 1 : 0, frames);
}

/*
 * A capture of wall, event 1: in `work` for call_a the process was on the CPU for 3 ms in 3 samples, and
 * away for 6 ms in one; in call_b away for 1 ms. An AWAY of another process does not count.
 */
static inline void view_wall(struct gen *gen)
{
	gen_init(gen, false);
	gen_event(gen, 1, 1000, KPROF_EVENT_WALL | KPROF_EVENT_FREQ, "wall");
	gen_mmap(gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(gen, 5, 10, 10, "prog");
	gen_period(gen, 0, 1, 1000000);
	view_sample(gen, 1, 10, 2, 0x1310, 0x1111, 0x1011);
	gen_away(gen, 100, 11, 0, 9000000);
	view_sample(gen, 1, 10, 1, 0x1310, 0x1111, 0x1011);
	gen_period(gen, 0, 1, 6000000);
	gen_away(gen, 100, 10, 0, 6000000);
	view_sample(gen, 1, 10, 1, 0x1310, 0x1111, 0x1011);
	gen_period(gen, 0, 1, 1000000);
	gen_away(gen, 100, 10, 0, 1000000);
	view_sample(gen, 1, 10, 1, 0x1210, 0x1011, 0);
}

/*
 * A capture of offcpu, event 1: prog, 10, waited in `work` for call_a for 6 ms, until `by` in process 11 woke
 * it, in an inlined function; for 1 ms until the idle task did; and for 2 ms until it is not known who did.
 */
static inline void view_woken(struct gen *gen)
{
	static const uint64_t frames[] = { 0xffffffff81000110ull, 0xffffffff81000010ull, GEN_USER, 0x12f8,
		0x1011 };
	const struct gen_waker by = { 11, "by", 5, frames }, idle = { GEN_IDLE, "swapper/0", 1, frames };

	gen_init(gen, false);
	gen_event(gen, 1, 1, KPROF_EVENT_OFFCPU, "offcpu:waker");
	gen_kernel_mmap(gen, 5, 0xffffffff81000000, 0x1000000, "[kernel.kallsyms]");
	gen_mmap(gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_mmap(gen, 5, 11, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(gen, 5, 10, 10, "prog");
	gen_period(gen, 0, 1, 6000000);
	gen_woken(gen, 100, 10, 0, 6000000, &by);
	view_sample(gen, 1, 10, 1, 0x1310, 0x1111, 0x1011);
	gen_period(gen, 0, 1, 1000000);
	gen_woken(gen, 100, 10, 0, 1000000, &idle);
	view_sample(gen, 1, 10, 1, 0x1310, 0x1111, 0x1011);
	gen_period(gen, 0, 1, 2000000);
	gen_away(gen, 100, 10, 0, 2000000);
	view_sample(gen, 1, 10, 1, 0x1310, 0x1111, 0x1011);
}

static inline bool view_is_cancelled(void *arg)
{
	return true;
}

#endif

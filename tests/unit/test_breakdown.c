/* SPDX-License-Identifier: MIT */
/* formats/breakdown: rows of small captures have the figures that were calculated by hand. */
#include "tests/unit/view_fixture.h"

#include <inttypes.h>

#include "formats/breakdown.h"

#define BIT(field) (1u << BREAKDOWN_##field)

struct capture {
	struct gen gen;
	struct profile *profile;
	struct symbols *symbols;
	struct functions *names;
};

static void begin(struct capture *c)
{
	gen_init(&c->gen, false);
	gen_clock(&c->gen, 1, 2);
	gen_event(&c->gen, 1, 1, 0, "e");
	gen_mmap(&c->gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(&c->gen, 5, 10, 10, "prog");
	gen_mmap(&c->gen, 5, 11, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(&c->gen, 5, 11, 11, "other");
	gen_comm(&c->gen, 6, 10, 20, "worker");
}

static void load(struct capture *c)
{
	struct decoder decoder;

	decode_init_memory(&decoder, c->gen.bytes->data, c->gen.bytes->len);
	assert_int_equal(profile_load(&decoder, &c->profile, NULL), 0);
	decode_fini(&decoder);
	c->symbols = symbols_create(&view_source, NULL, 0);
	c->names = functions_create(c->profile, c->symbols, NULL);
}

static void end(struct capture *c)
{
	functions_destroy(c->names);
	symbols_destroy(c->symbols);
	profile_destroy(c->profile);
	gen_fini(&c->gen);
}

/* "VALUE VALUE: SAMPLES SHARE [TOTAL SHARE] | ..." a line a row; - for a column without samples */
static char *print(const struct breakdown *b, bool total)
{
	GString *text = g_string_new(NULL);
	uint32_t i, column;
	int field;

	for (i = 0; i < b->rows->len; i++) {
		const struct breakdown_row *row = breakdown_row(b, i);

		for (field = 0; field < BREAKDOWN_FIELDS; field++)
			if (row->values[field])
				g_string_append_printf(text, "%s ", row->values[field]);
		for (column = 0; column < b->columns; column++) {
			const struct breakdown_count *c = breakdown_count(b, row, column);

			g_string_append_printf(text, "%s%" PRIu64 " %.1f", column ? " | " : ": ",
				c->self.samples, breakdown_share(b, row, column, c->self.weight));
			if (total)
				g_string_append_printf(text, " %" PRIu64 " %.1f", c->total.samples,
					breakdown_share(b, row, column, c->total.weight));
		}
		g_string_append_c(text, '\n');
	}
	return g_string_free(text, FALSE);
}

static void check(const struct capture *captures, size_t count,
	const struct breakdown_options *options, const struct breakdown_order *order,
	const char *expected)
{
	struct breakdown_input inputs[2];
	struct breakdown *b;
	g_autofree char *text = NULL;
	size_t i;

	for (i = 0; i < count; i++)
		inputs[i] = (struct breakdown_input){ captures[i].profile, captures[i].names };
	b = breakdown_create(inputs, count, options);
	breakdown_sort(b, order);
	text = print(b, options->total);
	assert_string_equal(text, expected);
	breakdown_destroy(b);
}

/* Ten samples: prog 6 in work for main, 1 in main; other 3 in call_a. */
static void fill(struct capture *c)
{
	begin(c);
	gen_task(&c->gen, 0, 10, 20);
	view_sample(&c->gen, 1, 10, 4, 0x1310, 0x1011, 0);
	gen_task(&c->gen, 0, 10, 10);
	view_sample(&c->gen, 1, 10, 2, 0x1320, 0x1011, 0);
	view_sample(&c->gen, 1, 10, 1, 0x1010, 0, 0);
	view_sample(&c->gen, 1, 11, 3, 0x1110, 0, 0);
	view_sample(&c->gen, 1, GEN_IDLE, 9, 0x5, 0, 0);
	load(c);
}

static void test_samples_are_grouped_by_each_field(void **state)
{
	static const struct {
		int line;
		unsigned int fields;
		const char *expected;
	} rows[] = {
		{ __LINE__, BIT(PROCESS), "prog : 7 70.0\nother : 3 30.0\n" },
		{ __LINE__, BIT(FUNCTION), "work : 6 60.0\ncall_a : 3 30.0\nmain : 1 10.0\n" },
		{ __LINE__, BIT(FILE), "/bin/a : 10 100.0\n" },
		{ __LINE__, BIT(CPU), "0 : 10 100.0\n" },
		{ __LINE__, BIT(PID), "10 : 7 70.0\n11 : 3 30.0\n" },
		{ __LINE__, BIT(THREAD), "20 : 4 40.0\n10 : 3 30.0\n11 : 3 30.0\n" },
		{ __LINE__, BIT(COMM), "worker : 4 40.0\nother : 3 30.0\nprog : 3 30.0\n" },
		{ __LINE__, BIT(ADDRESS),
			"0x310 : 4 40.0\n0x110 : 3 30.0\n0x320 : 2 20.0\n0x10 : 1 10.0\n" },
		{ __LINE__, BIT(EVENT) | BIT(PROCESS) | BIT(FUNCTION),
			"e prog work : 6 60.0\ne other call_a : 3 30.0\ne prog main : 1 10.0\n" },
		{ __LINE__, 0, ": 10 100.0\n" },
	};
	const struct breakdown_order order = { .field = BREAKDOWN_FIELDS };
	struct capture c;
	size_t i;

	fill(&c);
	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct breakdown_options options = { .fields = rows[i].fields };

		print_message("line %d\n", rows[i].line);
		check(&c, 1, &options, &order, rows[i].expected);
	}
	end(&c);
}

static void test_total_counts_callers_once(void **state)
{
	const struct breakdown_options options = { .fields = BIT(FUNCTION), .total = true };
	struct breakdown_order order = { .field = BREAKDOWN_FIELDS, .total = true };
	struct capture c;

	fill(&c);
	check(&c, 1, &options, &order,
		"main : 1 10.0 7 70.0\nwork : 6 60.0 6 60.0\ncall_a : 3 30.0 3 30.0\n");
	order.reverse = true;
	check(&c, 1, &options, &order,
		"call_a : 3 30.0 3 30.0\nwork : 6 60.0 6 60.0\nmain : 1 10.0 7 70.0\n");
	end(&c);
}

static void test_filters_select_and_exclude_samples(void **state)
{
	static const struct {
		int line;
		size_t count;
		struct breakdown_filter filters[2];
		const char *expected;
	} rows[] = {
		{ __LINE__, 1, { { BREAKDOWN_FUNCTION, false, "*a*" } }, "call_a : 3 30.0\nmain : 1 10.0\n" },
		{ __LINE__, 1, { { BREAKDOWN_FUNCTION, true, "work" } }, "call_a : 3 30.0\nmain : 1 10.0\n" },
		{ __LINE__, 2, { { BREAKDOWN_FUNCTION, false, "work" },
				    { BREAKDOWN_FUNCTION, false, "main" } },
			"work : 6 60.0\nmain : 1 10.0\n" },
		{ __LINE__, 2, { { BREAKDOWN_PROCESS, false, "prog" },
				    { BREAKDOWN_FUNCTION, false, "*a*" } },
			"main : 1 10.0\n" },
		{ __LINE__, 2, { { BREAKDOWN_FILE, false, "/bin/*" },
				    { BREAKDOWN_THREAD, true, "20" } },
			"call_a : 3 30.0\nwork : 2 20.0\nmain : 1 10.0\n" },
		{ __LINE__, 1, { { BREAKDOWN_CPU, false, "1" } }, "" },
	};
	const struct breakdown_order order = { .field = BREAKDOWN_FIELDS };
	struct capture c;
	size_t i;

	fill(&c);
	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct breakdown_options options = {
			.fields = BIT(FUNCTION),
			.filters = rows[i].filters,
			.filter_count = rows[i].count,
		};

		print_message("line %d\n", rows[i].line);
		check(&c, 1, &options, &order, rows[i].expected);
	}
	end(&c);
}

/* Numbers by their value, hexadecimal ones too. */
static void test_numbers_sort_by_value(void **state)
{
	struct breakdown_options options = { .fields = BIT(ADDRESS) };
	struct breakdown_order order = { .field = BREAKDOWN_ADDRESS };
	struct capture c;

	fill(&c);
	check(&c, 1, &options, &order,
		"0x10 : 1 10.0\n0x110 : 3 30.0\n0x310 : 4 40.0\n0x320 : 2 20.0\n");
	options.fields = BIT(PROCESS);
	order.field = BREAKDOWN_PROCESS;
	check(&c, 1, &options, &order, "other : 3 30.0\nprog : 7 70.0\n");
	end(&c);
}

/* Event 2 weighs: 3 samples of 1, and one of 7 in another function. */
static void test_events_stand_side_by_side(void **state)
{
	const struct breakdown_options options = { .fields = BIT(FUNCTION), .side_by_side = true };
	const struct breakdown_order order = { .field = BREAKDOWN_FIELDS };
	struct capture c;

	begin(&c);
	gen_event(&c.gen, 2, 1, 0, "f");
	view_sample(&c.gen, 1, 10, 4, 0x1310, 0, 0);
	view_sample(&c.gen, 2, 10, 3, 0x1310, 0, 0);
	gen_period(&c.gen, 0, 2, 7);
	view_sample(&c.gen, 2, 10, 1, 0x1010, 0, 0);
	load(&c);
	check(&c, 1, &options, &order, "work : 4 100.0 | 3 30.0\nmain : 0 0.0 | 1 70.0\n");
	end(&c);
}

/*
 * The largest change is first, up or down: main 10 -> 60, work 60 -> 40, call_a has no samples
 * left.
 */
static void test_largest_change_comes_first(void **state)
{
	const struct breakdown_options options = { .fields = BIT(FUNCTION) };
	const struct breakdown_order order = { .field = BREAKDOWN_FIELDS, .difference = true };
	struct capture c[2];

	fill(&c[0]);
	gen_init(&c[1].gen, false);
	gen_event(&c[1].gen, 1, 1, 0, "at another rate");
	gen_mmap(&c[1].gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	view_sample(&c[1].gen, 1, 10, 12, 0x1010, 0, 0);
	view_sample(&c[1].gen, 1, 10, 8, 0x1310, 0, 0);
	load(&c[1]);
	check(c, 2, &options, &order,
		"main : 1 10.0 | 12 60.0\ncall_a : 3 30.0 | 0 0.0\nwork : 6 60.0 | 8 40.0\n");
	end(&c[1]);
	end(&c[0]);
}

/* main with `inlined` in it, from 0x1100 on; the rest without lines. */
static int resolve_lines(void *self, const struct symbols_file *file, const uint64_t *offsets,
	size_t count, const struct symbols_how *how, struct symbols_arena *arena,
	struct symbols_place *places)
{
	const struct symbols_frame frames[] = {
		{ "inlined", "/src/b.h", 7 },
		{ "main", "/src/a.c", 20 },
	};
	const struct symbols_place deep = { frames, 2, 0, 0 }, plain = { frames + 1, 1, 0, 0 };
	const struct symbols_frame unknown = { "other", NULL, 0 };
	const struct symbols_place bare = { &unknown, 1, 0, 0 };
	size_t i;

	for (i = 0; i < count; i++)
		symbols_arena_place(arena,
			offsets[i] >= 0x200 ? &bare : offsets[i] >= 0x100 ? &deep : &plain, &places[i]);
	return 0;
}

/* The line is the innermost one, the function the one around it. */
static void test_line_is_the_innermost_one(void **state)
{
	static const struct symbols_source source = {
		.resolve = resolve_lines,
		.destroy = view_destroy,
	};
	struct breakdown_options options = { .fields = BIT(LINE) | BIT(FUNCTION) };
	const struct breakdown_filter only = { BREAKDOWN_LINE, false, "*.c:20" };
	const struct breakdown_order order = { .field = BREAKDOWN_FIELDS };
	struct capture c;

	begin(&c);
	view_sample(&c.gen, 1, 10, 5, 0x1110, 0x1010, 0);
	view_sample(&c.gen, 1, 10, 3, 0x1010, 0, 0);
	view_sample(&c.gen, 1, 10, 1, 0x1210, 0, 0);
	view_sample(&c.gen, 1, 10, 1, 0, 0, 0);
	load(&c);
	functions_destroy(c.names);
	symbols_destroy(c.symbols);
	c.symbols = symbols_create(&source, NULL, 0);
	c.names = functions_create(c.profile, c.symbols, NULL);
	check(&c, 1, &options, &order,
		"/src/b.h:7 main : 5 50.0\n"
		"/src/a.c:20 main : 3 30.0\n"
		"- - : 1 10.0\n"
		"- other : 1 10.0\n");
	options.filters = &only;
	options.filter_count = 1;
	check(&c, 1, &options, &order, "/src/a.c:20 main : 3 30.0\n");
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_are_grouped_by_each_field),
		cmocka_unit_test(test_total_counts_callers_once),
		cmocka_unit_test(test_filters_select_and_exclude_samples),
		cmocka_unit_test(test_numbers_sort_by_value),
		cmocka_unit_test(test_events_stand_side_by_side),
		cmocka_unit_test(test_largest_change_comes_first),
		cmocka_unit_test(test_line_is_the_innermost_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * formats/flame: frames have the positions that were calculated by hand (the picture is 1180 pixels
 * wide, from 10 on, with rows of 18). Any names make well-formed XML. The size is limited.
 */
#include "tests/unit/view_fixture.h"

#include "formats/flame.h"

static void begin(struct gen *gen)
{
	gen_init(gen, false);
	gen_event(gen, 1, 1, 0, "e");
	gen_mmap(gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(gen, 5, 10, 10, "prog");
}

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

static void check_has(const char *text, const char *part)
{
	if (!has(text, part))
		fail_msg("missing: %s", part);
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

/* 5 of 10 samples in work for call_a, 4 in call_b, 1 in main: each is a tenth, 118 pixels. */
static void test_blocks_have_the_width_of_their_share(void **state)
{
	struct gen gen;
	char *svg;

	begin(&gen);
	view_sample(&gen, 1, 10, 5, 0x1310, 0x1111, 0x1011);
	view_sample(&gen, 1, 10, 4, 0x1210, 0x1022, 0);
	view_sample(&gen, 1, 10, 1, 0x1010, 0, 0);
	view_sample(&gen, 1, GEN_IDLE, 7, 0x5, 0, 0);
	svg = view_text(&gen, flame_write, NULL, 0);
	check_has(svg, ">Flame graph of 17 samples of 1 event in 0.000 s on 1 CPU<");
	check_has(svg, ">e: 17 samples, 7 of them idle, 0 lost<");
	/* six rows one below the other; the first is where the event's text ends */
	check_has(svg, "<title>e\n10 samples, 100.00%\nevent</title>"
		       "<rect class=\"e w\" x=\"10.000\" y=\"112\" width=\"1180.000\" height=\"17\"/>"
		       "<text x=\"13.0\" y=\"125\">e</text>");
	check_has(svg, "<title>prog\n10 samples, 100.00%\nprocess</title>"
		       "<rect class=\"p w\" x=\"10.000\" y=\"130\" width=\"1180.000\"");
	check_has(svg, "<title>main\n10 samples, 100.00%, 10.00% in itself\n/bin/a</title><rect class=\"u");
	check_has(svg, " x=\"10.000\" y=\"148\" width=\"1180.000\"");
	check_has(svg, "<title>call_a\n5 samples, 50.00%\n/bin/a</title>");
	check_has(svg, " x=\"10.000\" y=\"166\" width=\"590.000\"");
	check_has(svg, "<title>work\n5 samples, 50.00%\n/bin/a</title>");
	check_has(svg, " x=\"10.000\" y=\"184\" width=\"590.000\"");
	/* beside the five of call_a */
	check_has(svg, "<title>call_b\n4 samples, 40.00%\n/bin/a</title>");
	check_has(svg, " x=\"600.000\" y=\"166\" width=\"472.000\"");
	assert_int_equal(count_of(svg, "<g><title>"), 6);
	assert_false(has(svg, "narrower than"));
	free(svg);
	gen_fini(&gen);
}

/*
 * 20,000 samples: one is 0.059 pixels, too narrow; two siblings of one each are drawn as one block.
 */
static void test_narrow_siblings_are_one_block(void **state)
{
	struct gen gen;
	char *svg;

	begin(&gen);
	view_sample(&gen, 1, 10, 19998, 0x1310, 0x1011, 0);
	view_sample(&gen, 1, 10, 1, 0x1110, 0x1011, 0);
	view_sample(&gen, 1, 10, 1, 0x1210, 0x1011, 0);
	svg = view_text(&gen, flame_write, NULL, 0);
	check_has(svg, "<title>(2 functions not drawn)\n2 samples, 0.01%</title>"
		       "<rect class=\"n\" x=\"1189.882\" y=\"166\" width=\"0.118\"");
	check_has(svg, ">2 times functions were narrower than 0.10 pixels or deeper than 512 rows, "
		       "and are drawn as blocks: 2 samples.<");
	assert_false(has(svg, "<title>call_a"));
	assert_int_equal(count_of(svg, "<g><title>"), 5);
	free(svg);
	gen_fini(&gen);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void check_xml(const char *svg)
{
	GMarkupParser parser = { NULL };
	GMarkupParseContext *context = g_markup_parse_context_new(&parser, 0, NULL, NULL);
	g_autoptr(GError) error = NULL;

	if (!g_markup_parse_context_parse(context, svg, (gssize)strlen(svg), &error) ||
		!g_markup_parse_context_end_parse(context, &error))
		fail_msg("%s", error->message);
	g_markup_parse_context_free(context);
}

static void test_names_are_escaped(void **state)
{
	char path[400];
	struct gen gen;
	char *svg;

	begin(&gen);
	memset(path, '&', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	gen_event(&gen, 2, 1, 0, "</g>\"&\001");
	gen_comm(&gen, 5, 11, 11, "]]><script>'\303\244\377");
	gen_mmap(&gen, 5, 11, 0x1000, 0x1000, 0, "/bin/a");
	gen_mmap(&gen, 5, 11, 0x3000, 0x1000, 0, path);
	view_sample(&gen, 1, 11, 1, 0x1410, 0x3010, 0);
	view_sample(&gen, 2, 11, 1, 0x1410, 0, 0);
	svg = view_text(&gen, flame_write, NULL, 0);
	check_xml(svg);
	check_has(svg, "<title>]]&gt;&lt;script&gt;'\303\244\\xff\n1 sample, 100.00%\nprocess</title>");
	check_has(svg, ">]]&gt;&lt;script&gt;'\303\244\\xff</text>");
	check_has(svg, "<title>a;b 1\\x0a&lt;&amp;&gt;\n1 sample, 100.00%\n/bin/a</title>");
	check_has(svg, ">&lt;/g&gt;&quot;&amp;\\x01: 1 sample, 0 of them idle, 0 lost<");
	assert_int_equal(count_of(svg, "<script>"), 1);
	/* nothing from outside: all that may be named are the languages that it is written in */
	assert_int_equal(count_of(svg, "://"), 2 + 1);
	assert_int_equal(count_of(svg, "http://www.w3.org/"), 3);
	assert_false(has(svg, "url("));
	assert_false(has(svg, "href"));
	free(svg);
	gen_fini(&gen);
}

static void test_idle_capture_draws_no_block(void **state)
{
	struct gen gen;
	char *svg;

	begin(&gen);
	view_sample(&gen, 1, GEN_IDLE, 7, 0x5, 0, 0);
	svg = view_text(&gen, flame_write, NULL, 0);
	check_xml(svg);
	check_has(svg, ">e: 7 samples, 7 of them idle, 0 lost<");
	assert_int_equal(count_of(svg, "<g><title>"), 0);
	free(svg);
	gen_fini(&gen);
}

/* ---- size ------------------------------------------------------------------------------------ */

/*
 * 11,000 processes with names of 250 bytes, one sample in each: wide enough to be drawn, 0.107
 * pixels, but together more than what is allowed. So none is drawn, and all are counted.
 */
static void test_too_large_drawing_counts_what_is_left_out(void **state)
{
	enum { PROCESSES = 11000 };
	g_autofree char *fill = g_strnfill(244, 'x');
	struct gen gen;
	uint32_t i;
	char *svg;

	begin(&gen);
	for (i = 0; i < PROCESSES; i++) {
		g_autofree char *name = g_strdup_printf("%06u%s", i, fill);

		gen_comm(&gen, 5, 1000 + i, 1000 + i, name);
		view_sample(&gen, 1, 1000 + i, 1, 0x5, 0, 0);
	}
	svg = view_text(&gen, flame_write, NULL, 0);
	check_xml(svg);
	assert_true(strlen(svg) < 5000000);
	check_has(svg, "<title>(11000 functions not drawn)\n11000 samples, 100.00%</title>");
	check_has(svg, ">11000 times functions were narrower than 0.15 pixels");
	free(svg);
	gen_fini(&gen);
}

/* Rows end at some depth, their samples don't. */
static void test_depth_of_the_drawing_is_bounded(void **state)
{
	enum { DEPTH = 2000 };
	uint64_t *frames = g_new(uint64_t, DEPTH);
	struct gen gen;
	char *svg;
	int i;

	begin(&gen);
	for (i = 0; i < DEPTH; i++)
		frames[i] = i % 2 ? 0x1311 : 0x1111;
	gen_trace(&gen, 2, 1, 100, 10, 0, DEPTH, frames);
	svg = view_text(&gen, flame_write, NULL, 0);
	check_xml(svg);
	assert_int_equal(count_of(svg, "<g><title>"), FLAME_ROWS_MAX + 1);
	check_has(svg, "<title>(1 function not drawn)\n1 sample, 100.00%</title>");
	free(svg);
	g_free(frames);
	gen_fini(&gen);
}

static void test_cancelled_view_is_interrupted(void **state)
{
	struct gen gen;

	begin(&gen);
	view_sample(&gen, 1, 10, 1, 0x1010, 0, 0);
	free(view_text(&gen, flame_write, view_is_cancelled, -EINTR));
	gen_fini(&gen);
}

/* Both sides of a wall are in one picture, in other colours, and the key names them. */
static void test_times_away_have_their_colours(void **state)
{
	struct gen gen;
	char *svg;

	view_wall(&gen);
	svg = view_text(&gen, flame_write, NULL, 0);
	check_has(svg, ">wall: 5 samples, 0 of them idle, 0 lost, 0.007 s off CPU, 0.003 s on CPU<");
	check_has(svg, "<title>wall\n10.000 ms, 5 samples, 100.00%\nevent</title>");
	check_has(svg, "<title>prog (off CPU)\n7.000 ms, 2 samples, 70.00%\nprocess</title>");
	check_has(svg, "<title>work\n6.000 ms, 1 sample, 60.00%\noff CPU\n/bin/a</title><rect class=\"v");
	check_has(svg, "<title>work\n3.000 ms, 3 samples, 30.00%\n/bin/a</title><rect class=\"u");
	check_has(svg, ">program, off CPU<");
	check_has(svg, ".v0{fill:");
	free(svg);
	gen_fini(&gen);
	begin(&gen);
	view_sample(&gen, 1, 10, 5, 0x1310, 0x1111, 0x1011);
	svg = view_text(&gen, flame_write, NULL, 0);
	assert_false(has(svg, "off CPU<"));
	free(svg);
	gen_fini(&gen);
}

/* Wakers have colours of their own, and the key names them where they are shown. */
static void test_wakers_have_their_colours(void **state)
{
	struct gen gen;
	char *svg;

	view_woken(&gen);
	svg = view_text(&gen, flame_write, NULL, 0);
	assert_false(has(svg, ">waker<"));
	free(svg);
	view_options.wakers = true;
	svg = view_text(&gen, flame_write, NULL, 0);
	view_options.wakers = false;
	check_has(svg, ">waker<");
	check_has(svg, "<title>work\n9.000 ms, 3 samples, 100.00%, 22.22% in itself\noff CPU\n/bin/a</title>"
		"<rect class=\"v");
	check_has(svg, "<title>call_b\n6.000 ms, 1 sample, 66.67%\nwaker\n/bin/a</title><rect class=\"x");
	check_has(svg, "<title>entry\n6.000 ms, 1 sample, 66.67%\nkernel\nwaker\n[kernel.kallsyms]</title>"
		"<rect class=\"y");
	check_has(svg, "<title>by\n6.000 ms, 1 sample, 66.67%\nwaker\n-</title><rect class=\"x");
	free(svg);
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_have_the_width_of_their_share),
		cmocka_unit_test(test_narrow_siblings_are_one_block),
		cmocka_unit_test(test_names_are_escaped),
		cmocka_unit_test(test_idle_capture_draws_no_block),
		cmocka_unit_test(test_too_large_drawing_counts_what_is_left_out),
		cmocka_unit_test(test_depth_of_the_drawing_is_bounded),
		cmocka_unit_test(test_cancelled_view_is_interrupted),
		cmocka_unit_test(test_times_away_have_their_colours),
		cmocka_unit_test(test_wakers_have_their_colours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

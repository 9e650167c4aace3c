/* SPDX-License-Identifier: MIT */
/*
 * formats/html_data: the bytes of a small capture are those that html_data.h defines. formats/html: no
 * name leaves its place in the page.
 */
#include "tests/unit/view_fixture.h"

#include "formats/html.h"
#include "formats/html_data.h"

static void begin(struct gen *gen)
{
	gen_init(gen, false);
	gen_event(gen, 1, 1000, 0, "e");
	gen_mmap(gen, 5, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_comm(gen, 5, 10, 10, "prog");
}

struct loaded {
	struct profile *profile;
	struct symbols *symbols;
	struct functions *names;
	struct view_input input;
};

static void load(struct loaded *loaded, const struct gen *gen, bool (*cancelled)(void *arg))
{
	const struct profile_options options = { .moments = true };
	struct decoder decoder;

	decode_init_memory(&decoder, gen->bytes->data, gen->bytes->len);
	assert_int_equal(profile_load_with(&decoder, &options, &loaded->profile, NULL), 0);
	decode_fini(&decoder);
	loaded->symbols = symbols_create(&view_source, NULL, 0);
	loaded->names = functions_create(loaded->profile, loaded->symbols, NULL);
	loaded->input = (struct view_input){
		.profile = loaded->profile,
		.functions = loaded->names,
		.capture_fd = -1,
		.cancel = { cancelled, NULL, -1 },
	};
}

static void unload(struct loaded *loaded)
{
	functions_destroy(loaded->names);
	symbols_destroy(loaded->symbols);
	profile_destroy(loaded->profile);
}

/*
 * Two samples of work called by main, at 1 ms and 2.5 ms, of 1000 and 999 ns, on the CPUs 3 and
 * 0; one of the idle task at 1.5 ms on CPU 1.
 */
static void test_data_are_the_columns_of_the_samples(void **state)
{
	static const char header[] =
		"{\"start_ms\":0,\"events\":[[\"e\",1]],\"cpu_times\":[[2,2000,300,200,100,1400,0]],"
		"\"processes\":[\"prog\"],"
		"\"functions\":[[\"main\",0],[\"work\",0]],\"files\":[\"/bin/a\"],"
		"\"tracks\":[[0,\"prog\",\"prog\",10,10,0,2],"
		"[0,\"[idle]\",\"[idle]\",4294967295,4294967295,1,1]]}";
	static const uint8_t columns[] = {
		3, /* nodes: prog, main, work, each below the one before */
		1, 1, 1,
		0 << 2 | 0, 0 << 2 | 1, 1 << 2 | 1,
		3,					      /* samples: two of prog, one idle */
		0, 0x80 | 1500 % 128, 1500 / 128, 0x80 | 500 % 128, 500 / 128, /* us since 1 ms */
		3, 0, 1,				      /* CPUs */
		3, 3, 0,				      /* work, work, none */
		0x80 | 2000 % 128, 2000 / 128, 1, 0x80 | 2000 % 128, 2000 / 128, /* 1000, -1; 1000 */
	};
	const uint64_t frames[] = { 0x1310, 0x1011 };
	const uint64_t idle[] = { 0x5 };
	const uint64_t times[] = { 100000, 200000, 300000, 1400000, 0 }; /* irq, kern, user, idle, steal */
	struct loaded loaded;
	GByteArray *data;
	struct gen gen;
	size_t length = sizeof(header) - 1;

	begin(&gen);
	gen_cpu_times(&gen, 1000000, 3000000, 2, times);
	gen_trace(&gen, 2, 1, 1000000, 10, 3, 2, frames);
	gen_period(&gen, 0, 1, 999);
	gen_trace(&gen, 2, 1, 2500000, 10, 0, 2, frames);
	gen_trace(&gen, 1, 1, 1500000, GEN_IDLE, 1, 1, idle);
	load(&loaded, &gen, NULL);
	assert_int_equal(html_data_make(&loaded.input, &data, NULL), 0);
	assert_true(length >= 128 && length < 128 * 128);
	assert_int_equal(data->data[0], 0x80 | length % 128);
	assert_int_equal(data->data[1], length / 128);
	assert_int_equal(data->len, 2 + length + sizeof(columns));
	assert_memory_equal(data->data + 2, header, length);
	assert_memory_equal(data->data + 2 + length, columns, sizeof(columns));
	g_byte_array_free(data, TRUE);
	unload(&loaded);
	gen_fini(&gen);
}

/* What html_write() writes; the caller frees it. */
static char *write_page(const struct gen *gen, bool (*cancelled)(void *arg), int expected)
{
	struct loaded loaded;
	struct err err = { "" };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	load(&loaded, gen, cancelled);
	assert_int_equal(html_write(&loaded.input, out, &err), expected);
	if (expected)
		assert_string_not_equal(err.text, "");
	fclose(out);
	unload(&loaded);
	return text;
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

static void test_names_are_escaped(void **state)
{
	struct gen gen;
	char *page;

	begin(&gen);
	gen_event(&gen, 2, 1, 0, "</li></script><script>evil\"'\001\377");
	gen_comm(&gen, 5, 11, 11, "</script><img src=x>\001\377");
	view_sample(&gen, 1, 11, 1, 0x1410, 0, 0);
	view_sample(&gen, 2, 11, 1, 0x1410, 0, 0);
	page = write_page(&gen, NULL, 0);
	assert_non_null(strstr(page, "<li>&lt;/li&gt;&lt;/script&gt;&lt;script&gt;evil&quot;'\\x01\\xff: "));
	assert_int_equal(count_of(page, "<script"), 2);
	assert_int_equal(count_of(page, "</script"), 2);
	assert_int_equal(count_of(page, "<img"), 0);
	assert_int_equal(count_of(page, "\001"), 0);
	assert_true(g_utf8_validate(page, -1, NULL));
	assert_int_equal(count_of(page, "http:") + count_of(page, "https:"), 0);
	free(page);
	gen_fini(&gen);
}

static void test_capture_without_samples_has_no_page(void **state)
{
	struct gen gen;

	begin(&gen);
	free(write_page(&gen, NULL, -ENODATA));
	gen_fini(&gen);
}

static void test_cancelled_view_is_interrupted(void **state)
{
	struct gen gen;

	begin(&gen);
	view_sample(&gen, 1, 10, 1, 0x1310, 0, 0);
	free(write_page(&gen, view_is_cancelled, -EINTR));
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data_are_the_columns_of_the_samples),
		cmocka_unit_test(test_names_are_escaped),
		cmocka_unit_test(test_capture_without_samples_has_no_page),
		cmocka_unit_test(test_cancelled_view_is_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

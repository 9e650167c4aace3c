/* SPDX-License-Identifier: MIT */
/*
 * capture/query and capture/query_filter: which texts are conditions, and which records of captures
 * made by hand belong to a query.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/fixtures/gen.h"
#include "capture/dump.h"
#include "capture/query.h"
#include "capture/query_filter.h"

#define S 1000000000ull

/* ---- texts ----------------------------------------------------------------------------------- */

struct text_row {
	int line;
	enum query_key key;
	const char *text;
	int ret;
	uint64_t value;
};

static const struct text_row texts[] = {
	{__LINE__, QUERY_LAST, "10s", 0, 10 * S},
	{__LINE__, QUERY_LAST, "1.5s", 0, 1500000000},
	{__LINE__, QUERY_LAST, "7ns", 0, 7},
	{__LINE__, QUERY_LAST, "7us", 0, 7000},
	{__LINE__, QUERY_LAST, "250ms", 0, 250000000},
	{__LINE__, QUERY_LAST, "2m", 0, 120 * S},
	{__LINE__, QUERY_LAST, "1h", 0, 3600 * S},
	{__LINE__, QUERY_LAST, "0.000000001s", 0, 1},
	{__LINE__, QUERY_LAST, "0.0000000001s", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "0s", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "10", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "s", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "-1s", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "+1s", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "1 s", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "1.s", -EINVAL, 0},
	{__LINE__, QUERY_LAST, ".5s", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "1.5.5s", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "1S", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "0x10s", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "18446744073709551615ns", 0, UINT64_MAX},
	{__LINE__, QUERY_LAST, "18446744073709551616ns", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "18446744073.709551615s", 0, UINT64_MAX},
	{__LINE__, QUERY_LAST, "18446744073.709551616s", -EINVAL, 0},
	{__LINE__, QUERY_LAST, "99999999999999999999999h", -EINVAL, 0},
	{__LINE__, QUERY_SINCE, "1234.5", 0, 1234500000000},
	{__LINE__, QUERY_SINCE, "0", 0, 0},
	{__LINE__, QUERY_SINCE, "@1700000000.25", 0, 1700000000250000000},
	{__LINE__, QUERY_SINCE, "@2023-11-14T22:13:20Z", 0, 1700000000 * S},
	{__LINE__, QUERY_SINCE, "@2023-11-14T22:13:20.5Z", 0, 1700000000 * S + S / 2},
	{__LINE__, QUERY_SINCE, "@2023-11-14", -EINVAL, 0},
	{__LINE__, QUERY_SINCE, "@1950-01-01T00:00:00Z", -EINVAL, 0},
	{__LINE__, QUERY_SINCE, "@", -EINVAL, 0},
	{__LINE__, QUERY_SINCE, "1s", -EINVAL, 0},
	{__LINE__, QUERY_SINCE, "99999999999999", -EINVAL, 0},
	{__LINE__, QUERY_PID, "42", 0, 42},
	{__LINE__, QUERY_PID, "idle", 0, 0xffffffff},
	{__LINE__, QUERY_PID, "gone", 0, 0xfffffffe},
	{__LINE__, QUERY_PID, "4294967294", -EINVAL, 0},
	{__LINE__, QUERY_PID, "4294967293", 0, 4294967293},
	{__LINE__, QUERY_PID, "99999999999999999999999", -EINVAL, 0},
	{__LINE__, QUERY_PID, "-1", -EINVAL, 0},
	{__LINE__, QUERY_PID, "0x2a", -EINVAL, 0},
	{__LINE__, QUERY_PID, "", -EINVAL, 0},
	{__LINE__, QUERY_CPU, "3", 0, 3},
	{__LINE__, QUERY_CPU, "3,4", -EINVAL, 0},
	{__LINE__, QUERY_CPU, "idle", -EINVAL, 0},
	{__LINE__, QUERY_UID, "0", 0, 0},
	{__LINE__, QUERY_UID, "4294967294", 0, 4294967294},
	{__LINE__, QUERY_UID, "4294967295", -EINVAL, 0}, /* which stands for an unknown user */
	{__LINE__, QUERY_UID, "root", -EINVAL, 0},
};

static uint64_t value_of(const struct query *query, enum query_key key)
{
	return key == QUERY_LAST ? query->last_ns :
	       key == QUERY_SINCE ? query->since_ns :
	       key == QUERY_PID ? query->pid :
	       key == QUERY_CPU ? query->cpu :
	       key == QUERY_UID ? query->uid : 0;
}

static void test_texts_are_conditions_or_refused(void **state)
{
	const struct text_row *row;

	for (row = texts; row < texts + G_N_ELEMENTS(texts); row++) {
		struct query query = {0};
		struct err err = {""};
		int ret = query_add(&query, row->key, row->text, &err);

		const bool right = ret ? err.text[0] && !query.keys :
					 value_of(&query, row->key) == row->value;

		if (ret != row->ret || !right)
			fail_msg("line %d: %d, %llu: %s", row->line, ret,
				(unsigned long long)value_of(&query, row->key), err.text);
	}
}

static void test_keys_are_given_once_and_texts_have_limits(void **state)
{
	char text[QUERY_EXE_MAX + 1];
	struct query query = {0};
	struct err err;

	assert_int_equal(query_add(&query, QUERY_COMM, "a", &err), 0);
	assert_int_equal(query_add(&query, QUERY_COMM, "b", &err), -EEXIST);
	assert_string_equal(query.comm, "a");
	memset(text, 'x', sizeof(text));
	text[QUERY_EXE_MAX] = '\0';
	assert_int_equal(query_add(&query, QUERY_EXE, text, &err), -ENAMETOOLONG);
	text[QUERY_EXE_MAX - 1] = '\0';
	assert_int_equal(query_add(&query, QUERY_EXE, text, &err), 0);
	assert_int_equal(query_find("comm"), QUERY_COMM);
	assert_int_equal(query_find("by"), QUERY_KEYS);
}

static void test_a_query_is_shown_as_words(void **state)
{
	static const struct {
		enum query_key key;
		const char *value;
	} all[] = {
		{QUERY_EXE, "/bin/a"}, {QUERY_PID, "idle"}, {QUERY_TID, "7"}, {QUERY_COMM, "a b"},
		{QUERY_SINCE, "@12.5"}, {QUERY_UNTIL, "3"}, {QUERY_LAST, "20ms"}, {QUERY_CPU, "3"},
	};
	g_autoptr(GString) text = g_string_new(NULL);
	struct query query = {0};
	struct err err;
	size_t i;

	query_append(text, &query);
	assert_string_equal(text->str, "");
	for (i = 0; i < G_N_ELEMENTS(all); i++)
		assert_int_equal(query_add(&query, all[i].key, all[i].value, &err), 0);
	query_append(text, &query);
	assert_string_equal(text->str,
		"last 0.02 s, since @12.5 s, until 3 s, pid idle, tid 7, comm a b, cpu 3, exe /bin/a");
}

static void test_values_are_names_of_files(void **state)
{
	static const char *const rows[][2] = {
		{"nginx", "nginx"}, {"/bin/a", "%2Fbin%2Fa"}, {"100%", "100%25"}, {".", "%2E"},
		{"..", "%2E%2E"}, {"...", "..."}, {"", "%"}, {"%", "%25"},
	};
	static const char *const wrong[] = {"%2", "a%", "%zz", "%00", "%%"};
	char value[QUERY_VALUE_MAX];
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autoptr(GString) name = g_string_new(NULL);

		query_escape(rows[i][0], name);
		assert_string_equal(name->str, rows[i][1]);
		assert_int_equal(query_unescape(name->str, value), 0);
		assert_string_equal(value, rows[i][0]);
	}
	for (i = 0; i < G_N_ELEMENTS(wrong); i++)
		assert_int_equal(query_unescape(wrong[i], value), -EINVAL);
}

static void test_times_are_settled(void **state)
{
	struct query query = {0};

	assert_int_equal(query_add(&query, QUERY_SINCE, "@1000", NULL), 0);
	assert_int_equal(query_add(&query, QUERY_LAST, "5s", NULL), 0);
	query_settle_wall(&query, 300 * S, 1200 * S); /* 1000 is 200 s before: 100 */
	assert_int_equal(query.since_ns, 100 * S);
	query_settle_last(&query, 107 * S);
	assert_int_equal(query.since_ns, 102 * S); /* the later of both */
	assert_false(query_has_time(&query, 102 * S - 1));
	assert_true(query_has_time(&query, 102 * S));
	query_add(&query, QUERY_UNTIL, "103", NULL);
	assert_true(query_has_time(&query, 103 * S - 1));
	assert_false(query_has_time(&query, 103 * S));
}

/* ---- records --------------------------------------------------------------------------------- */

/* The part as kprof dump shows it, without offsets. */
static char *part_of(const struct gen *gen, const struct query *query, struct query_filter_result *result)
{
	GString *all = g_string_new(NULL), *line = g_string_new(NULL);
	struct decode_record record;
	struct decoder decoder;
	struct err err;

	decode_init_memory(&decoder, gen->bytes->data, gen->bytes->len);
	assert_int_equal(query_filter_make(&decoder, query, NULL, NULL, result, &err), 0);
	decode_fini(&decoder);
	decode_init_pread(&decoder, result->fd, 0);
	while (decode_next(&decoder, &record, NULL) > 0) {
		g_string_truncate(line, 0);
		dump_record(&record, line);
		g_string_append(all, strchr(line->str, ' ') + 1);
	}
	decode_fini(&decoder);
	close(result->fd);
	g_string_free(line, TRUE);
	return g_string_free(all, FALSE);
}

static void sample(struct gen *gen, uint64_t time, uint32_t pid, uint16_t cpu, uint64_t event)
{
	const uint64_t frame = 0x1000;

	gen_trace(gen, 2, event, time, pid, cpu, 1, &frame);
}

/*
 * Process 100 "parent" forks 101 at 15, which is "child" from 30 on; 200 is "other". Samples:
 *	10 20 40 of 100, CPU 0, event 1;  25 35 of 101, CPU 1, event 1 (thread 102 at 35);
 *	50 of 200, CPU 1, event 2;  60 of idle, CPU 0
 * Lost: 5 before 20 of CPU 0 event 1; 7 after 50 of CPU 1 event 2.
 */
static void make_capture(struct gen *gen)
{
	gen_init(gen, false);
	gen_clock(gen, 100, 1100);
	gen_event(gen, 1, 1000, 0, "one");
	gen_event(gen, 2, 1000, 0, "two");
	gen_new_process(gen, 1, 100, "/bin/parent");
	gen_comm(gen, 1, 100, 100, "parent");
	gen_mmap(gen, 1, 100, 0x1000, 0x1000, 0, "/bin/parent");
	gen_new_process(gen, 1, 200, "/bin/other");
	gen_comm(gen, 1, 200, 200, "other");
	gen_mmap(gen, 1, 200, 0x1000, 0x1000, 0, "/bin/other");
	gen_fork(gen, 15, 101, 101, 100, 100);
	gen_comm(gen, 30, 101, 101, "child");
	gen_period(gen, 0, 1, 1);
	sample(gen, 10, 100, 0, 1);
	gen_lost(gen, 0, 1, 1, 5);
	sample(gen, 20, 100, 0, 1);
	sample(gen, 25, 101, 1, 1);
	gen_task(gen, 1, 101, 102);
	sample(gen, 35, 101, 1, 1);
	sample(gen, 40, 100, 0, 1);
	sample(gen, 50, 200, 1, 2);
	gen_lost(gen, 1, 2, 1, 7);
	sample(gen, 60, 0xffffffff, 0, 1);
}

struct part_row {
	int line;
	const char *path[8];
	uint64_t samples, lost;
	const char *has, *lacks;
};

static const struct part_row parts[] = {
	{__LINE__, {"pid", "100"}, 3, 12, "path=\"/bin/parent\"", "/bin/other"},
	{__LINE__, {"pid", "101"}, 2, 12, "path=\"/bin/parent\"", "/bin/other"}, /* its parent's mapping */
	{__LINE__, {"pid", "idle"}, 1, 12, "pid=idle", "/bin/parent"},
	{__LINE__, {"pid", "7"}, 0, 12, "clock", "user_trace"},
	{__LINE__, {"tid", "102"}, 1, 12, "time=35", "time=25"},
	{__LINE__, {"tid", "101"}, 1, 12, "time=25", "time=35"},
	{__LINE__, {"comm", "parent"}, 4, 12, "time=25", "time=35"}, /* a child has the name until 30 */
	{__LINE__, {"comm", "child"}, 1, 12, "time=35", "time=25"},
	{__LINE__, {"exe", "/bin/parent"}, 5, 12, "time=35", "/bin/other"},
	{__LINE__, {"cpu", "1"}, 3, 7, "event=2", "cpu=0"},
	{__LINE__, {"event", "two"}, 1, 7, "time=50", "text=\"one\""},
	{__LINE__, {"since", "0.000000020"}, 6, 7, "time=20", "reason=ring count=5"},
	{__LINE__, {"until", "0.000000020"}, 1, 5, "time=10", "time=20"},
	{__LINE__, {"since", "@0.000001050"}, 2, 7, "time=50", "time=40"}, /* 1100 is 100: 1050 is 50 */
	{__LINE__, {"last", "10ns"}, 2, 7, "time=50", "time=40"},
	{__LINE__, {"last", "25ns", "cpu", "1", "comm", "child"}, 1, 7, "time=35", "time=50"},
	{__LINE__, {"since", "0.000000030", "until", "0.000000010"}, 0, 0, "clock", "user_trace"},
};

static void test_parts_have_the_samples_that_fit_and_what_they_need(void **state)
{
	const struct part_row *row;
	struct gen gen;

	make_capture(&gen);
	for (row = parts; row < parts + G_N_ELEMENTS(parts); row++) {
		struct query_filter_result result;
		struct query query = {0};
		char *text;
		int i;

		for (i = 0; row->path[i]; i += 2) {
			const enum query_key key = query_find(row->path[i]);

			assert_int_equal(query_add(&query, key, row->path[i + 1], NULL), 0);
		}
		text = part_of(&gen, &query, &result);
		if (result.samples != row->samples || result.lost != row->lost ||
			!strstr(text, row->has) || strstr(text, row->lacks))
			fail_msg("line %d: %d samples, %d lost:\n%s", row->line, (int)result.samples,
				(int)result.lost, text);
		g_free(text);
	}
	gen_fini(&gen);
}

/* A copied stack belongs to the sample behind it. */
static void test_a_copied_stack_comes_with_its_sample(void **state)
{
	struct query_filter_result result;
	struct query query = {0};
	struct gen gen;
	char *text;
	int i;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 1000, 0, "one");
	for (i = 0; i < 2; i++) {
		gen_begin(&gen); /* USER_STACK without registers and bytes */
		gen_u64(&gen, (uint64_t)(10 + i));
		gen_u32(&gen, (uint32_t)(100 + i));
		gen_u16(&gen, 0);
		gen_u16(&gen, 62);
		gen_u16(&gen, 16);
		gen_u16(&gen, 0);
		gen_u32(&gen, 0);
		gen_end(&gen, 74);
		sample(&gen, (uint64_t)(10 + i), (uint32_t)(100 + i), 0, 1);
	}
	query_add(&query, QUERY_PID, "101", NULL);
	text = part_of(&gen, &query, &result);
	assert_int_equal(result.samples, 1);
	assert_non_null(strstr(text, "user_stack time=11 pid=101"));
	assert_null(strstr(text, "user_stack time=10"));
	g_free(text);
	gen_fini(&gen);
}

static char *values_of(const struct gen *gen, const struct query *query, enum query_key key)
{
	struct query_values *values = query_values_create(query, NULL, key);
	GString *text = g_string_new(NULL);
	struct decode_record record;
	struct decoder decoder;
	GHashTable *found;
	GList *list, *link;

	decode_init_memory(&decoder, gen->bytes->data, gen->bytes->len);
	while (decode_next(&decoder, &record, NULL) > 0)
		query_values_learn(values, &record);
	assert_int_equal(decode_rewind(&decoder), 0);
	while (decode_next(&decoder, &record, NULL) > 0)
		query_values_add(values, &record);
	decode_fini(&decoder);
	found = query_values_finish(values);
	list = g_list_sort(g_hash_table_get_keys(found), (GCompareFunc)strcmp);
	for (link = list; link; link = link->next)
		g_string_append_printf(text, "%s ", (const char *)link->data);
	g_list_free(list);
	g_hash_table_unref(found);
	return g_string_free(text, FALSE);
}

static void test_values_are_those_of_the_samples(void **state)
{
	static const struct {
		enum query_key key;
		const char *all, *of_cpu_1;
	} rows[] = {
		{QUERY_PID, "100 101 200 idle ", "101 200 "},
		{QUERY_TID, "100 101 102 200 idle ", "101 102 200 "},
		{QUERY_COMM, "child other parent ", "child other parent "},
		{QUERY_CPU, "0 1 ", "1 "},
		{QUERY_EVENT, "one two ", "one two "},
		{QUERY_EXE, "/bin/other /bin/parent ", "/bin/other /bin/parent "},
	};
	struct query all = {0}, of_cpu_1 = {0};
	struct gen gen;
	size_t i;

	make_capture(&gen);
	query_add(&of_cpu_1, QUERY_CPU, "1", NULL);
	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_autofree char *a = values_of(&gen, &all, rows[i].key);
		g_autofree char *b = values_of(&gen, &of_cpu_1, rows[i].key);

		assert_string_equal(a, rows[i].all);
		assert_string_equal(b, rows[i].of_cpu_1);
	}
	gen_fini(&gen);
}

/* Records of every kind with any bytes: the part can be read, or an error says why not. */
static void test_damaged_captures_are_survived(void **state)
{
	struct query query = {0};
	struct gen gen;
	guint i;

	make_capture(&gen);
	query_add(&query, QUERY_COMM, "parent", NULL);
	query_add(&query, QUERY_LAST, "30ns", NULL);
	for (i = 0; i < gen.bytes->len * 3; i++) {
		struct query_filter_result result;
		g_autofree uint8_t *bytes = g_memdup2(gen.bytes->data, gen.bytes->len);
		struct decoder decoder;
		struct err err;

		bytes[i / 3] ^= (uint8_t)(i % 3 == 0 ? 1 : i % 3 == 1 ? 0x80 : 0xff);
		decode_init_memory(&decoder, bytes, gen.bytes->len);
		if (!query_filter_make(&decoder, &query, NULL, NULL, &result, &err))
			close(result.fd);
		decode_fini(&decoder);
	}
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_are_conditions_or_refused),
		cmocka_unit_test(test_keys_are_given_once_and_texts_have_limits),
		cmocka_unit_test(test_a_query_is_shown_as_words),
		cmocka_unit_test(test_values_are_names_of_files),
		cmocka_unit_test(test_times_are_settled),
		cmocka_unit_test(test_parts_have_the_samples_that_fit_and_what_they_need),
		cmocka_unit_test(test_a_copied_stack_comes_with_its_sample),
		cmocka_unit_test(test_values_are_those_of_the_samples),
		cmocka_unit_test(test_damaged_captures_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

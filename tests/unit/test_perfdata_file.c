/* SPDX-License-Identifier: MIT */
/* formats/perfdata/perfdata: header, attributes, features and limits of the file are correct. */
#include "tests/unit/perfdata_fixture.h"

/* ---- a reader of perf.data ------------------------------------------------------------------- */

/* A feature section: its offset, 0 where there is none. */
static uint64_t feature(const struct file *f, unsigned int number, uint64_t *size)
{
	uint64_t table = f->events + f->events_size;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		if (!(word(f, 72, 8) >> bit & 1))
			continue;
		*size = word(f, table + 8, 8);
		assert_true(word(f, table, 8) + *size <= f->size);
		if (bit == number)
			return word(f, table, 8);
		table += 16;
	}
	return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What the view returns for a capture. */
static int write_bounded(const struct gen *gen, bool (*cancelled)(void *arg), size_t bytes_max)
{
	struct viewing viewing;
	struct err err;
	uint8_t *data;
	size_t size;
	int ret;

	viewing_init(&viewing, gen->bytes->data, gen->bytes->len);
	viewing.input.cancel.cancelled = cancelled;
	viewing.input.bytes_max = bytes_max;
	ret = viewing_write(&viewing, "perf.data", &data, &size, &err);
	assert_int_equal(ret == 0, err.text[0] == '\0');
	viewing_fini(&viewing);
	free(data);
	return ret;
}

static int write_status(const struct gen *gen, bool (*cancelled)(void *arg))
{
	return write_bounded(gen, cancelled, 0);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_attributes_are_written(void **state)
{
	struct gen gen;
	struct file f;

	gen_init(&gen, false);
	make_all(&gen);
	write_file(&gen, &f);
	assert_int_equal(f.attr_size, 128);
	assert_int_equal(f.attrs_size / f.attr_size, 2);
	assert_int_equal(word(&f, f.attrs + 4, 4), 112);
	assert_int_equal(word(&f, f.attrs + 16, 8), 999);
	assert_int_equal(word(&f, f.attrs + 24, 8), SAMPLE_TYPE);
	/* mmap 8, comm 9, freq 10, task 13, sample_id_all 18, mmap2 23, use_clockid 25 */
	assert_int_equal(word(&f, f.attrs + 40, 8), 0x2842700);
	assert_int_equal(word(&f, f.attrs + 92, 4), 1); /* CLOCK_MONOTONIC */
	assert_int_equal(word(&f, f.attrs + 128 + 16, 8), 7);
	assert_int_equal(word(&f, f.attrs + 128 + 40, 8), 0x2842300); /* no freq */
	/* one id each */
	assert_int_equal(word(&f, f.attrs + 112 + 8, 8), 8);
	assert_int_equal(word(&f, word(&f, f.attrs + 112, 8), 8), 1);
	assert_int_equal(word(&f, word(&f, f.attrs + 128 + 112, 8), 8), 2);
	free(f.data);
	gen_fini(&gen);
}

/* Two events that differ only in config1, and a capture from before config1 was recorded. */
static void check_configs(bool big_endian)
{
	uint64_t ip = 0x1010;
	struct gen gen;
	struct file f;

	gen_init(&gen, big_endian);
	gen_clock(&gen, 500, 1700000000000000500);
	gen_raw_event(&gen, 1, 0x1c6, 0x11, 0x8000000000000022, "one");
	gen_raw_event(&gen, 2, 0x1c6, 0x12, 0, "two");
	gen_event(&gen, 3, 999, 1, "three");
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	write_file(&gen, &f);
	assert_int_equal(f.attrs_size / f.attr_size, 3);
	assert_int_equal(word(&f, f.attrs, 4), 4);
	assert_int_equal(word(&f, f.attrs + 8, 8), 0x1c6);
	assert_int_equal(word(&f, f.attrs + 56, 8), 0x11);
	assert_int_equal(word(&f, f.attrs + 64, 8), 0x8000000000000022);
	assert_int_equal(word(&f, f.attrs + 128 + 8, 8), 0x1c6);
	assert_int_equal(word(&f, f.attrs + 128 + 56, 8), 0x12);
	assert_int_equal(word(&f, f.attrs + 128 + 64, 8), 0);
	assert_int_equal(word(&f, f.attrs + 2 * 128 + 56, 8), 0);
	assert_int_equal(word(&f, f.attrs + 2 * 128 + 64, 8), 0);
	free(f.data);
	gen_fini(&gen);
}

static void test_configs_are_written(void **state)
{
	check_configs(false);
	check_configs(true);
}

static void test_features_are_written(void **state)
{
	uint64_t at, size;
	struct gen gen;
	struct file f;

	gen_init(&gen, false);
	make_all(&gen);
	write_file(&gen, &f);
	/* event names: so many, their size, then attribute, ids, name, id of each */
	at = feature(&f, 12, &size);
	assert_int_not_equal(at, 0);
	assert_int_equal(word(&f, at, 4), 2);
	assert_int_equal(word(&f, at + 4, 4), 112);
	assert_int_equal(word(&f, at + 8 + 112, 4), 1);
	assert_int_equal(word(&f, at + 8 + 116, 4), 64);
	assert_string_equal(text_at(&f, at + 8 + 120, at + size), "cycles:freq=999");
	assert_int_equal(word(&f, at + 8 + 184, 8), 1);
	assert_string_equal(text_at(&f, at + 8 + 192 + 120, at + size), "page-faults:period=7");
	assert_int_equal(size, 8 + 2 * 192);
	/* build-ids: of the kernel and of /bin/a */
	at = feature(&f, 2, &size);
	assert_int_equal(size, 2 * (36 + 64));
	assert_int_equal(word(&f, at + 4, 2), 0x8001);
	assert_int_equal(word(&f, at + 6, 2), 100);
	assert_memory_equal(f.data + at + 12, "kernel-build-id-0123", 20);
	assert_int_equal(f.data[at + 32], 20);
	assert_string_equal(text_at(&f, at + 36, at + 100), "[kernel.kallsyms]");
	assert_int_equal(word(&f, at + 104, 2), 0x8002);
	assert_int_equal(f.data[at + 132], 3);
	assert_string_equal(text_at(&f, at + 136, at + 200), "/bin/a");
	/* first and last sample; the clock and the wall clock */
	at = feature(&f, 21, &size);
	assert_int_equal(word(&f, at, 8), 100);
	assert_int_equal(word(&f, at + 8, 8), 150);
	at = feature(&f, 29, &size);
	assert_int_equal(word(&f, at + 4, 4), 1);
	assert_int_equal(word(&f, at + 8, 8), 1700000000000000500);
	assert_int_equal(word(&f, at + 16, 8), 500);
	/* nothing about the machine: the capture is of another one */
	assert_int_equal(feature(&f, 3, &size), 0);
	assert_int_equal(feature(&f, 4, &size), 0);
	assert_int_equal(feature(&f, 7, &size), 0);
	free(f.data);
	gen_fini(&gen);
}

/* Each file with a build-id once; one whose build-id is another is another file. */
static void test_each_build_id_is_written_once(void **state)
{
	static const char *const paths[] = { "/bin/a", "/bin/a", "/bin/b" };
	static const char ids[] = { 1, 2, 1 };
	uint64_t ip = 0x1010, at, size;
	struct gen gen;
	struct file f;
	uint32_t i;

	gen_init(&gen, false);
	gen_build_id(&gen, 1, 0, 0, "\x01", 1); /* of no mapping */
	for (i = 0; i < 2; i++) {
		gen_mmap(&gen, 1, 10 + i, 0x1000, 0x1000, 0, "/bin/a");
		gen_build_id(&gen, 1, 10 + i, 0x1000, "\x01", 1);
		gen_mmap(&gen, 1, 10 + i, 0x2000, 0x1000, 0, "/bin/c");
		gen_build_id(&gen, 1, 10 + i, 0x3000, "\x03", 1); /* of another mapping */
		gen_build_id(&gen, 1, 12, 0x2000, "\x03", 1);	  /* of another process */
		gen_build_id(&gen, 1, 10 + i, 0x2000, "", 0);
		gen_mmap(&gen, 1, 10 + i, 0x4000, 0x1000, 0, "/bin/a");
		gen_build_id(&gen, 1, 10 + i, 0x4000, "\x02", 1);
		gen_mmap(&gen, 1, 10 + i, 0x5000, 0x1000, 0, "/bin/b");
		gen_build_id(&gen, 1, 10 + i, 0x5000, "\x01", 1);
	}
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	write_file(&gen, &f);
	at = feature(&f, 2, &size);
	assert_int_equal(size, G_N_ELEMENTS(paths) * (36 + 64));
	for (i = 0; i < G_N_ELEMENTS(paths); i++, at += 36 + 64) {
		assert_int_equal(f.data[at + 12], ids[i]);
		assert_int_equal(f.data[at + 32], 1);
		assert_string_equal(text_at(&f, at + 36, at + 100), paths[i]);
	}
	free(f.data);
	gen_fini(&gen);
}

/*
 * Sorts as perf does: each round takes out the events that are not newer than the newest one of the
 * round before. No later event may be older than these. Returns the number of rounds.
 */
static unsigned int check_rounds(const struct file *f)
{
	uint64_t at = f->events, newest = 0, limit = 0, out = 0, time;
	unsigned int rounds = 0;

	for (; at < f->events + f->events_size; at += word(f, at + 6, 2)) {
		switch (word(f, at, 4)) {
		case 68:
			out = limit;
			limit = newest;
			rounds++;
			break;
		case 9:
			time = word(f, at + 32, 8);
			assert_true(time >= out);
			newest = MAX(newest, time);
			break;
		default:
			time = word(f, at + word(f, at + 6, 2) - 24, 8);
			assert_true(time == 0 || time >= out);
			newest = MAX(newest, time);
			break;
		}
	}
	return rounds;
}

/* Two CPUs in runs of 1,000 samples, each run of one starting where that of the other started. */
static void test_samples_of_several_cpus_are_sorted_in_rounds(void **state)
{
	uint64_t ip = 0x1010, i, run;
	struct gen gen;
	struct file f;

	gen_init(&gen, false);
	gen_comm(&gen, 1, 10, 10, "p");
	for (run = 0; run < 60; run++) {
		for (i = 0; i < 1000; i++)
			gen_trace(&gen, 2, 1, 1000 + 10 * (run / 2 * 1000 + i), 10,
				(uint16_t)(run % 2), 1, &ip);
	}
	write_file(&gen, &f);
	/* 60,000 records are 15 chunks, and most of them may end a round */
	assert_in_range(check_rounds(&f), 8, 15);
	free(f.data);
	/* one sample that is much too late: fewer rounds, and the order still holds */
	gen_trace(&gen, 2, 1, 100000, 10, 0, 1, &ip);
	write_file(&gen, &f);
	assert_in_range(check_rounds(&f), 1, 7);
	free(f.data);
	gen_fini(&gen);
}

/* Events have 16 bits for their size: the outer frames of a stack that is too deep are cut off. */
static void test_too_deep_stacks_are_cut(void **state)
{
	g_autofree uint64_t *frames = g_new(uint64_t, 65535);
	g_autofree char *path = g_strnfill(6000, 'x');
	struct gen gen;
	struct file f;
	uint64_t i;

	for (i = 0; i < 65535; i++)
		frames[i] = 0x1000 + i;
	frames[1] = 0xfffffffffffff123; /* no address, and no mark of perf's */
	gen_init(&gen, false);
	gen_comm(&gen, 1, 10, 10, path);
	gen_mmap(&gen, 2, 10, 0x1000, 0x1000, 0, path);
	gen_trace(&gen, 1, 1, 100, 10, 0, 65535, frames);
	write_file(&gen, &f);
	/* 16 + 255 + 1 + 32, then 72 + 4095 + 1 + 32 */
	assert_int_equal(word(&f, f.events + 6, 2), 304);
	assert_int_equal(word(&f, f.events + 304 + 6, 2), 4200);
	i = f.events + 4504;
	assert_int_equal(word(&f, i + 6, 2), 65528);
	assert_int_equal(word(&f, i + 56, 8), 8183);
	assert_int_equal(word(&f, i + 64, 8), 0xffffffffffffff80);
	assert_int_equal(word(&f, i + 72, 8), 0x1000);
	assert_int_equal(word(&f, i + 80, 8), 0);
	assert_int_equal(word(&f, i + 65528 - 8, 8), 0x1000 + 8181);
	free(f.data);
	gen_fini(&gen);
}

static bool always(void *arg)
{
	return true;
}

static void test_empty_and_cancelled_captures_are_refused(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;
	uint32_t i;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_lost(&gen, 0, 1, 1, 5);
	assert_int_equal(write_status(&gen, NULL), -ENODATA);
	for (i = 0; i < 1023; i++)
		gen_trace(&gen, 2, i, 100, 10, 0, 1, &ip);
	assert_int_equal(write_status(&gen, NULL), 0);
	assert_int_equal(write_status(&gen, always), -EINTR);
	gen_trace(&gen, 2, 1023, 100, 10, 0, 1, &ip);
	assert_int_equal(write_status(&gen, NULL), 0);
	gen_trace(&gen, 2, 1024, 100, 10, 0, 1, &ip);
	assert_int_equal(write_status(&gen, NULL), -EFBIG);
	gen_fini(&gen);
}

/* 10,000 processes with a mapping each take more than 30 bytes and less than 10,000 each. */
static void test_too_large_file_is_refused(void **state)
{
	uint64_t ip = 0x1010;
	struct gen gen;
	uint32_t i;

	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_trace(&gen, 2, 1, 100, 10, 0, 1, &ip);
	for (i = 0; i < 10000; i++)
		gen_mmap(&gen, 5, i, 0x1000, 0x1000, 0, "/bin/a");
	assert_int_equal(write_bounded(&gen, NULL, 30 * 10000), -EFBIG);
	assert_int_equal(write_bounded(&gen, NULL, 10000 * 10000), 0);
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attributes_are_written),
		cmocka_unit_test(test_configs_are_written),
		cmocka_unit_test(test_features_are_written),
		cmocka_unit_test(test_each_build_id_is_written_once),
		cmocka_unit_test(test_samples_of_several_cpus_are_sorted_in_rounds),
		cmocka_unit_test(test_too_deep_stacks_are_cut),
		cmocka_unit_test(test_empty_and_cancelled_captures_are_refused),
		cmocka_unit_test(test_too_large_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: any bytes as kpdata, through the decoder, the model of a capture and both views.
 *
 * Invariants: records lie one behind the other inside of the input; everything that a record points
 * to lies in its payload; the cells of a profile add up to its samples, and so do its events.
 */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fixtures/gen.h"
#include "capture/dump.h"
#include "formats/flat.h"
#include "capture/profile.h"

static void check_record(const struct decode_record *record, const uint8_t *data, size_t size)
{
	const uint8_t *end = record->payload + record->size;
	uint64_t sum = 0;
	uint16_t i;

	FUZZ_CHECK(record->payload >= data && record->size <= size);
	FUZZ_CHECK(end <= data + size);
	FUZZ_CHECK(record->offset < size);
	if (record->text)
		FUZZ_CHECK((const uint8_t *)record->text + strlen(record->text) < end);
	if (record->known && record->type <= KPROF_REC_USER_TRACE) {
		for (i = 0; i < record->trace.num_traces; i++)
			sum += decode_frame(record, i);
		FUZZ_CHECK(record->bytes + 8 * (size_t)record->trace.num_traces <= end);
	}
	if (record->known && record->type == KPROF_REC_BUILD_ID)
		FUZZ_CHECK(record->bytes + record->build_id.length <= end);
	(void)sum;
}

static void check_records(const uint8_t *data, size_t size)
{
	GString *line = g_string_new(NULL);
	struct decode_record record;
	struct decoder decoder;
	uint64_t offset = 0;
	struct err err;
	int ret;

	decode_init_memory(&decoder, data, size);
	while ((ret = decode_next(&decoder, &record, &err)) > 0 || ret == -EBADMSG) {
		FUZZ_CHECK(record.offset == offset);
		FUZZ_CHECK(decoder.offset > offset && decoder.offset <= size);
		offset = decoder.offset;
		if (ret < 0)
			continue;
		check_record(&record, data, size);
		g_string_truncate(line, 0);
		dump_record(&record, line);
		FUZZ_CHECK(strchr(line->str, '\n') == line->str + line->len - 1);
	}
	FUZZ_CHECK(ret == 0 || ret == -EPROTO || ret == -ENODATA);
	FUZZ_CHECK((ret == 0) == (offset == size));
	FUZZ_CHECK(decode_next(&decoder, &record, &err) == ret);
	decode_fini(&decoder);
	g_string_free(line, TRUE);
}

static void check_profile(const uint8_t *data, size_t size)
{
	static const struct flat_options options = { .callers = true, .total = true };
	uint64_t cells = 0, events = 0;
	struct profile *profile;
	struct decoder decoder;
	struct functions *names;
	FILE *out;
	guint i;

	decode_init_memory(&decoder, data, size);
	FUZZ_CHECK(profile_load(&decoder, &profile, NULL) == 0);
	decode_fini(&decoder);
	for (i = 0; i < profile->cells->len; i++)
		cells += profile_cell(profile, i)->count.samples;
	for (i = 0; i < profile->events->len; i++)
		events += profile_event(profile, i)->all.samples;
	FUZZ_CHECK(cells == profile->samples && events == profile->samples);
	names = functions_create(profile, NULL, NULL);
	out = fopen("/dev/null", "we");
	FUZZ_CHECK(out);
	flat_write(profile, names, &options, out);
	fclose(out);
	functions_destroy(names);
	profile_destroy(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_records(data, size);
	check_profile(data, size);
	return 0;
}

/* One of each record, with what they say about one another. */
static void make_all(struct gen *gen)
{
	uint64_t frames[] = { 0xffffffff81000010, GEN_USER, 0x1010, 0x1021 };

	gen_clock(gen, 1, 2);
	gen_event(gen, 1, 999, 1, "cpu-clock:freq=999");
	gen_kernel_mmap(gen, 3, 0xffffffff81000000, 0x1000000, "[kernel.kallsyms]");
	gen_build_id(gen, 3, GEN_IDLE, 0xffffffff81000000, "kernel", 6);
	gen_new_process(gen, 4, 10, "/bin/a");
	gen_comm(gen, 4, 10, 10, "a");
	gen_mmap(gen, 4, 10, 0x1000, 0x1000, 0, "/bin/a");
	gen_build_id(gen, 4, 10, 0x1000, "one", 3);
	gen_fork(gen, 6, 11, 11, 10, 10);
	gen_period(gen, 0, 1, 1001001);
	gen_task(gen, 0, 10, 12);
	gen_trace(gen, 1, 1, 7, 10, 0, 4, frames);
	gen_trace(gen, 2, 1, 8, 11, 1, 2, frames + 2);
	gen_throttle(gen, 9, 0, 1, 1);
	gen_lost(gen, 0, 1, 1, 5);
	gen_throttle(gen, 10, 0, 1, 0);
	gen_exit(gen, 11, 11, 11, 10, 10);
	gen_trace(gen, 1, 1, 12, GEN_IDLE, 0, 1, frames);
}

/* Forks of forks, programs after programs, mappings over mappings. */
static void make_history(struct gen *gen)
{
	uint64_t frames[] = { 0x1010, 0x5021, 0x7000 };
	uint32_t i;

	gen_clock(gen, 1, 2);
	for (i = 1; i < 12; i++) {
		gen_fork(gen, 10 * i, 10 + i, 10 + i, 9 + i, 9 + i);
		gen_mmap(gen, 10 * i + 1, 10 + i, 0x1000 * i, 0x3000, 0, "/lib/x");
		if (i % 3 == 0)
			gen_new_process(gen, 10 * i + 2, 10 + i, "/bin/b");
		gen_comm(gen, 10 * i + 2, 10 + i, 10 + i, "b");
		gen_trace(gen, 2, i % 2, 10 * i + 5, 10 + i, (uint16_t)i, 3, frames);
	}
}

bool fuzz_seed(unsigned int number, GByteArray *out)
{
	struct gen gen;

	if (number > 3)
		return false;
	gen_init(&gen, number == 1);
	if (number == 2)
		make_history(&gen);
	else
		make_all(&gen);
	if (number == 3) /* a capture behind another */
		make_history(&gen);
	g_byte_array_append(out, gen.bytes->data, gen.bytes->len);
	gen_fini(&gen);
	return true;
}

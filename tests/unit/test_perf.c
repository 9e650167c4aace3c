/* SPDX-License-Identifier: MIT */
/*
 * sys/perf: sysctls, the ring (one made by hand, and the kernel's), counts and features are read
 * correctly. `test_perf expect ERRNO` tests that an event that is opened in this process fails with
 * ERRNO; the scripts in tests/deny run it under a filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/perf.h"

/* ---- sysctls ----------------------------------------------------------------------------------- */

struct sysctl_row {
	int line;
	const char *content; /* NULL if there is no such file */
	int ret;
	int64_t value;
};

static const struct sysctl_row sysctl_rows[] = {
	{ __LINE__, "-1\n", 0, -1 },
	{ __LINE__, "0\n", 0, 0 },
	{ __LINE__, "100000\n", 0, 100000 },
	{ __LINE__, "516", 0, 516 },
	{ __LINE__, "", -EINVAL, 0 },
	{ __LINE__, "-\n", -EINVAL, 0 },
	{ __LINE__, "many\n", -EINVAL, 0 },
	{ __LINE__, "1 2\n", -EINVAL, 0 },
	{ __LINE__, "9223372036854775808\n", -EINVAL, 0 },
	{ __LINE__, NULL, -ENOENT, 0 },
};

/* A directory that stands for /proc, with one sysctl in it. */
struct fixture {
	char root[32];
	char file[96];
};

static void make_fixture(struct fixture *fixture)
{
	char path[64];

	strcpy(fixture->root, "/tmp/test_perf.XXXXXX");
	assert_non_null(mkdtemp(fixture->root));
	snprintf(path, sizeof(path), "%s/sys", fixture->root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/sys/kernel", fixture->root);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(fixture->file, sizeof(fixture->file), "%s/perf_event_paranoid", path);
}

static void write_fixture(const struct fixture *fixture, const char *content)
{
	FILE *file;

	unlink(fixture->file);
	if (!content)
		return;
	file = fopen(fixture->file, "w");
	assert_non_null(file);
	fputs(content, file);
	fclose(file);
}

static void remove_fixture(struct fixture *fixture)
{
	unlink(fixture->file);
	*strrchr(fixture->file, '/') = '\0';
	rmdir(fixture->file);
	*strrchr(fixture->file, '/') = '\0';
	rmdir(fixture->file);
	assert_int_equal(rmdir(fixture->root), 0);
}

static void test_sysctls_are_parsed(void **state)
{
	struct fixture fixture;
	size_t i;

	(void)state;
	make_fixture(&fixture);
	for (i = 0; i < sizeof(sysctl_rows) / sizeof(sysctl_rows[0]); i++) {
		const struct sysctl_row *row = &sysctl_rows[i];
		int64_t value = 4711;
		int ret;

		write_fixture(&fixture, row->content);
		ret = perf_sysctl(fixture.root, PERF_SYSCTL_PARANOID, &value);
		if (ret != row->ret || value != (row->ret ? 4711 : row->value))
			fail_msg("row of line %d: ret %d, value %lld", row->line, ret,
				(long long)value);
	}
	remove_fixture(&fixture);
}

struct explain_row {
	int line;
	int code;
	const char *paranoid;
	const char *words; /* must be in the sentence */
};

static const struct explain_row explain_rows[] = {
	{ __LINE__, EACCES, "3\n", "kernel.perf_event_paranoid is 3" },
	{ __LINE__, EPERM, "2\n", "CAP_PERFMON" },
	{ __LINE__, EACCES, "-1\n", "seccomp" },
	{ __LINE__, EACCES, NULL, "not allowed" },
	{ __LINE__, EMFILE, "2\n", "RLIMIT_NOFILE" },
	{ __LINE__, ENOENT, "2\n", "can't sample" },
	{ __LINE__, ENODEV, "2\n", "offline" },
	{ __LINE__, ENOSYS, "2\n", "CONFIG_PERF_EVENTS" },
	{ __LINE__, EINVAL, "2\n", "Invalid argument" },
};

static void test_errors_are_explained(void **state)
{
	struct fixture fixture;
	size_t i;

	(void)state;
	make_fixture(&fixture);
	for (i = 0; i < sizeof(explain_rows) / sizeof(explain_rows[0]); i++) {
		const struct explain_row *row = &explain_rows[i];
		struct err err = { "" };
		int ret;

		write_fixture(&fixture, row->paranoid);
		ret = perf_explain(-row->code, fixture.root, &err);
		if (ret != -row->code || !strstr(err.text, row->words))
			fail_msg("row of line %d: ret %d, '%s'", row->line, ret, err.text);
	}
	remove_fixture(&fixture);
}

/* ---- a ring made by hand ----------------------------------------------------------------------- */

#define HAND_BYTES 4096

struct hand {
	struct perf_event_mmap_page page;
	_Alignas(8) unsigned char data[HAND_BYTES];
	struct perf_ring ring;
};

static void hand_init(struct hand *hand, uint64_t start)
{
	memset(hand, 0, sizeof(*hand));
	hand->ring.page = &hand->page;
	hand->ring.data = hand->data;
	hand->ring.size = HAND_BYTES;
	hand->ring.mask = HAND_BYTES - 1;
	hand->ring.tail = start;
	hand->page.data_head = hand->page.data_tail = start;
}

/* The kernel's side: false where the record does not fit. Its body is the low byte of `mark`. */
static bool hand_write(struct hand *hand, uint32_t mark, uint16_t size)
{
	struct perf_event_header header = { .type = mark, .size = size };
	uint64_t head = hand->page.data_head;
	uint16_t i;

	if (head + size - hand->page.data_tail > HAND_BYTES)
		return false;
	for (i = 0; i < size; i++)
		hand->data[(head + i) % HAND_BYTES] = i < sizeof(header) ?
			((unsigned char *)&header)[i] : (unsigned char)mark;
	hand->page.data_head = head + size;
	return true;
}

static _Alignas(8) unsigned char scratch[PERF_RECORD_MAX];

static void check_record(const struct perf_event_header *header, uint32_t mark, uint16_t size)
{
	const unsigned char *bytes = (const unsigned char *)header;
	uint16_t i;

	assert_non_null(header);
	assert_int_equal(header->type, mark);
	assert_int_equal(header->size, size);
	for (i = sizeof(*header); i < size; i++)
		assert_int_equal(bytes[i], (unsigned char)mark);
}

static void test_ring_gives_records_in_order(void **state)
{
	struct hand hand;

	(void)state;
	hand_init(&hand, 0);
	assert_int_equal(perf_ring_begin(&hand.ring), 0);
	assert_null(perf_ring_next(&hand.ring, scratch));

	assert_true(hand_write(&hand, 1, 8));
	assert_true(hand_write(&hand, 2, 40));
	assert_int_equal(perf_ring_fill(&hand.ring), 48);
	assert_int_equal(perf_ring_begin(&hand.ring), 48);
	/* records after the begin are for the next drain */
	assert_true(hand_write(&hand, 3, 16));
	check_record(perf_ring_next(&hand.ring, scratch), 1, 8);
	check_record(perf_ring_next(&hand.ring, scratch), 2, 40);
	assert_null(perf_ring_next(&hand.ring, scratch));
	/* space is given back at the end, not before */
	assert_int_equal(hand.page.data_tail, 0);
	perf_ring_end(&hand.ring);
	assert_int_equal(hand.page.data_tail, 48);
	assert_int_equal(perf_ring_begin(&hand.ring), 16);
	check_record(perf_ring_next(&hand.ring, scratch), 3, 16);
	assert_int_equal(hand.ring.damaged, 0);
}

static void test_records_wrap_around_the_ring(void **state)
{
	const struct perf_event_header *header;
	struct hand hand;

	(void)state;
	/* positions only ever grow: begin just before 2^64 as well */
	hand_init(&hand, UINT64_MAX - 7);
	assert_true(hand_write(&hand, 7, 32));
	assert_true(hand_write(&hand, 8, HAND_BYTES - 32));
	assert_false(hand_write(&hand, 9, 8));
	assert_int_equal(perf_ring_begin(&hand.ring), HAND_BYTES);
	header = perf_ring_next(&hand.ring, scratch);
	assert_ptr_equal(header, scratch);
	check_record(header, 7, 32);
	/* this one is in one piece and is not copied */
	header = perf_ring_next(&hand.ring, scratch);
	assert_ptr_equal(header, hand.data + 24);
	check_record(header, 8, HAND_BYTES - 32);
	assert_null(perf_ring_next(&hand.ring, scratch));
	perf_ring_end(&hand.ring);
	assert_true(hand_write(&hand, 9, HAND_BYTES));
	assert_int_equal(perf_ring_begin(&hand.ring), HAND_BYTES);
	check_record(perf_ring_next(&hand.ring, scratch), 9, HAND_BYTES);

	/* to the last byte is not beyond it */
	hand_init(&hand, 0);
	assert_true(hand_write(&hand, 10, HAND_BYTES));
	perf_ring_begin(&hand.ring);
	assert_ptr_equal(perf_ring_next(&hand.ring, scratch), hand.data);
}

/* Records of all sizes, drained in runs of all lengths: none missing, none twice, all whole. */
static void test_drained_sequence_is_complete(void **state)
{
	uint32_t written = 0, read = 0, random = 12345;
	struct hand hand;

	(void)state;
	hand_init(&hand, 0);
	while (read < 20000) {
		unsigned int n;

		for (n = random % 60; n > 0; n--) {
			if (!hand_write(&hand, written, 8 + written * 24 % 512))
				break;
			written++;
		}
		random = random * 1103515245 + 12345;
		perf_ring_begin(&hand.ring);
		for (n = random % 50; n > 0; n--) {
			const struct perf_event_header *header = perf_ring_next(&hand.ring, scratch);

			if (!header)
				break;
			check_record(header, read, 8 + read * 24 % 512);
			read++;
		}
		perf_ring_end(&hand.ring);
	}
	assert_int_equal(hand.ring.damaged, 0);
}

struct damage_row {
	int line;
	uint16_t size; /* the size in the second record's header; it has 24 bytes, a third has 8 */
	bool is_fine;
};

static const struct damage_row damage_rows[] = {
	{ __LINE__, 24, true },
	{ __LINE__, 32, true }, /* takes the third along: nothing wrong with that header */
	{ __LINE__, 0, false },
	{ __LINE__, 4, false },
	{ __LINE__, 12, false },
	{ __LINE__, 40, false },
	{ __LINE__, 65535, false },
};

static void test_damaged_record_skips_the_rest(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(damage_rows) / sizeof(damage_rows[0]); i++) {
		const struct damage_row *row = &damage_rows[i];
		const struct perf_event_header *header;
		struct hand hand;

		hand_init(&hand, 0);
		assert_true(hand_write(&hand, 1, 16));
		assert_true(hand_write(&hand, 2, 24));
		assert_true(hand_write(&hand, 3, 8));
		((struct perf_event_header *)(hand.data + 16))->size = row->size;
		assert_int_equal(perf_ring_begin(&hand.ring), 48);
		check_record(perf_ring_next(&hand.ring, scratch), 1, 16);
		header = perf_ring_next(&hand.ring, scratch);
		if ((header != NULL) != row->is_fine || hand.ring.damaged != !row->is_fine)
			fail_msg("row of line %d: header %p, damaged %llu", row->line,
				(const void *)header, (unsigned long long)hand.ring.damaged);
		if (row->is_fine)
			continue;
		/* the ring continues after the damage */
		assert_null(perf_ring_next(&hand.ring, scratch));
		perf_ring_end(&hand.ring);
		assert_int_equal(hand.page.data_tail, 48);
		assert_true(hand_write(&hand, 4, 64));
		perf_ring_begin(&hand.ring);
		check_record(perf_ring_next(&hand.ring, scratch), 4, 64);
	}
}

static void test_wrong_head_is_damage(void **state)
{
	struct hand hand;

	(void)state;
	hand_init(&hand, 0);
	hand.page.data_head = HAND_BYTES + 8;
	assert_int_equal(perf_ring_begin(&hand.ring), 0);
	assert_int_equal(hand.ring.damaged, 1);
	assert_null(perf_ring_next(&hand.ring, scratch));
	perf_ring_end(&hand.ring);
	assert_true(hand_write(&hand, 1, 8));
	assert_int_equal(perf_ring_begin(&hand.ring), 8);
}

/* ---- the kernel's ------------------------------------------------------------------------------ */

/* Page faults of this thread, each a sample; counts nothing before perf_enable(). */
static const struct perf_event_attr faults_attr = {
	.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_PAGE_FAULTS,
	.sample_period = 1,
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR,
	.disabled = 1,
	.exclude_kernel = 1,
	.exclude_hv = 1,
};

/* The fields that faults_attr requests, after the header. */
struct fault_sample {
	struct perf_event_header header;
	uint64_t id;
	uint64_t ip;
	uint64_t addr;
};

static struct perf_features features;

/* Skips the test if this process may not count its own events. */
static void need_perf(void)
{
	if (perf_probe(&features))
		skip();
}

/* Maps, touches and unmaps fresh pages: as many faults, at the addresses from *base on. */
static void touch_pages(size_t pages, uintptr_t *base)
{
	size_t page = sysconf(_SC_PAGESIZE), i;
	volatile char *memory;

	memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true((void *)memory != MAP_FAILED);
	madvise((void *)memory, pages * page, MADV_NOHUGEPAGE);
	*base = (uintptr_t)memory;
	for (i = 0; i < pages; i++)
		memory[i * page] = 1;
	munmap((void *)memory, pages * page);
}

static void test_counts_match_the_samples_in_the_ring(void **state)
{
	size_t page = sysconf(_SC_PAGESIZE), pages = 300, samples = 0, hits = 0;
	struct perf_event_attr attr = faults_attr;
	const struct fault_sample *sample;
	struct perf_count count;
	struct perf_ring ring;
	uintptr_t base;
	uint64_t id;
	int fd;

	(void)state;
	need_perf();
	attr.read_format = features.has_lost ? PERF_FORMAT_LOST : 0;
	assert_int_equal(perf_open(&attr, 0, -1, &fd), 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(perf_id(fd, &id), 0);
	/* 16 KiB, of which 300 records of 32 bytes take more than half */
	assert_int_equal(perf_ring_map(fd, 4 * page, &ring), 0);
	assert_int_equal(perf_enable(fd), 0);
	touch_pages(pages, &base);
	assert_int_equal(perf_disable(fd), 0);
	perf_ring_begin(&ring);
	while ((sample = (const void *)perf_ring_next(&ring, scratch))) {
		if (sample->header.type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(sample->id, id);
		samples++;
		/* in order, each page once; others (the stack's) in between do not matter */
		if ((sample->addr & -page) == base + hits * page)
			hits++;
	}
	perf_ring_end(&ring);
	assert_int_equal(hits, pages);
	assert_int_equal(perf_read_count(fd, &count), 0);
	assert_int_equal(count.value, samples);
	assert_int_equal(count.has_lost, features.has_lost);
	assert_int_equal(count.lost, 0);
	perf_ring_unmap(&ring);
	perf_ring_unmap(&ring);
	close(fd);
}

/* The smallest ring, never drained: each event is counted as delivered or lost. */
static void test_lost_and_delivered_samples_add_up(void **state)
{
	size_t page = sysconf(_SC_PAGESIZE), samples = 0;
	struct perf_event_attr attr = faults_attr;
	const struct perf_event_header *header;
	struct perf_count count;
	struct perf_ring ring;
	uintptr_t base;
	int fd;

	(void)state;
	need_perf();
	if (!features.has_lost)
		skip();
	attr.read_format = PERF_FORMAT_LOST;
	assert_int_equal(perf_open(&attr, 0, -1, &fd), 0);
	assert_int_equal(perf_ring_map(fd, page, &ring), 0);
	assert_int_equal(perf_enable(fd), 0);
	touch_pages(1000, &base);
	assert_int_equal(perf_disable(fd), 0);
	perf_ring_begin(&ring);
	while ((header = perf_ring_next(&ring, scratch)))
		samples += header->type == PERF_RECORD_SAMPLE;
	perf_ring_end(&ring);
	assert_int_equal(perf_read_count(fd, &count), 0);
	assert_true(count.has_lost);
	assert_true(count.value >= 1000);
	/* a page holds 128 records of 32 bytes */
	assert_in_range(samples, 1, page / sizeof(struct fault_sample));
	assert_int_equal(samples + count.lost, count.value);
	perf_ring_unmap(&ring);
	close(fd);
}

/* Two events in one ring are distinguished by their ids. */
static void test_events_in_a_shared_ring_are_told_apart(void **state)
{
	size_t page = sysconf(_SC_PAGESIZE), of_first = 0, of_second = 0;
	struct perf_event_attr second_attr = faults_attr;
	const struct fault_sample *sample;
	uint64_t id, second_id;
	struct perf_ring ring;
	int fd, second;
	uintptr_t base;

	(void)state;
	need_perf();
	second_attr.config = PERF_COUNT_SW_PAGE_FAULTS_MIN;
	second_attr.sample_period = 10;
	assert_int_equal(perf_open(&faults_attr, 0, -1, &fd), 0);
	assert_int_equal(perf_open(&second_attr, 0, -1, &second), 0);
	assert_int_equal(perf_id(fd, &id), 0);
	assert_int_equal(perf_id(second, &second_id), 0);
	assert_int_not_equal(id, second_id);
	assert_int_equal(perf_ring_map(fd, 16 * page, &ring), 0);
	assert_int_equal(perf_set_output(second, fd), 0);
	assert_int_equal(perf_enable(second), 0);
	assert_int_equal(perf_enable(fd), 0);
	touch_pages(200, &base);
	assert_int_equal(perf_disable(fd), 0);
	assert_int_equal(perf_disable(second), 0);
	perf_ring_begin(&ring);
	while ((sample = (const void *)perf_ring_next(&ring, scratch))) {
		of_first += sample->id == id;
		of_second += sample->id == second_id;
	}
	assert_in_range(of_first, 200, 300); /* a sanitizer accesses further memory */
	assert_in_range(of_second, of_first / 10, of_first / 10 + 2);
	assert_int_equal(perf_set_output(second, -1), 0);
	perf_ring_unmap(&ring);
	close(second);
	close(fd);
}

static void test_refused_attributes_leave_nothing_open(void **state)
{
	struct perf_event_attr attr = faults_attr;
	size_t page = sysconf(_SC_PAGESIZE);
	struct perf_ring ring = { 0 };
	struct perf_count count;
	int fd = 4711;

	(void)state;
	need_perf();
	attr.type = 0x7fffffff; /* no such PMU */
	assert_int_equal(perf_open(&attr, 0, -1, &fd), -ENOENT);
	attr = faults_attr;
	attr.sample_type = UINT64_MAX;
	assert_int_equal(perf_open(&attr, 0, -1, &fd), -EINVAL);
	assert_int_equal(perf_open(&faults_attr, 0x3fffffff, -1, &fd), -ESRCH);
	assert_int_equal(fd, 4711);
	assert_int_equal(perf_enable(-1), -EBADF);
	assert_int_equal(perf_read_count(-1, &count), -EBADF);
	assert_int_equal(perf_set_output(-1, -1), -EBADF);

	assert_int_equal(perf_ring_map(-1, 0, &ring), -EINVAL);
	assert_int_equal(perf_ring_map(-1, page / 2, &ring), -EINVAL);
	assert_int_equal(perf_ring_map(-1, 3 * page, &ring), -EINVAL);
	assert_int_equal(perf_ring_map(-1, page, &ring), -EBADF);
	assert_null(ring.page);
}

/* The kernels that are known to have a feature must be seen to have it. */
static void test_known_features_are_detected(void **state)
{
	struct utsname name;
	int major;

	(void)state;
	need_perf();
	assert_int_equal(uname(&name), 0);
	assert_int_equal(sscanf(name.release, "%d", &major), 1);
	if (major >= 6)
		assert_true(features.has_lost);
	if (geteuid() == 0)
		assert_true(features.has_kernel);
	/* without any hardware PMU in sysfs there are no cycles */
	if (access("/sys/bus/event_source/devices/software", F_OK) == 0 &&
		access("/sys/bus/event_source/devices/cpu", F_OK) != 0 &&
		access("/sys/bus/event_source/devices/cpu_core", F_OK) != 0 &&
		strcmp(name.machine, "x86_64") == 0)
		assert_false(features.has_cycles);
}

/* ---- under a filter ---------------------------------------------------------------------------- */

static int expect(const char *wanted)
{
	const char *got, *probed;
	int fd, ret;

	ret = perf_open(&faults_attr, 0, -1, &fd);
	got = ret ? strerrorname_np(-ret) : "success";
	ret = perf_probe(&features);
	probed = ret ? strerrorname_np(-ret) : "success";
	if (!strcmp(got, wanted) && !strcmp(probed, wanted))
		return 0;
	fprintf(stderr, "perf_open: %s, perf_probe: %s; expected %s\n", got, probed, wanted);
	return 1;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sysctls_are_parsed),
		cmocka_unit_test(test_errors_are_explained),
		cmocka_unit_test(test_ring_gives_records_in_order),
		cmocka_unit_test(test_records_wrap_around_the_ring),
		cmocka_unit_test(test_drained_sequence_is_complete),
		cmocka_unit_test(test_damaged_record_skips_the_rest),
		cmocka_unit_test(test_wrong_head_is_damage),
		cmocka_unit_test(test_counts_match_the_samples_in_the_ring),
		cmocka_unit_test(test_lost_and_delivered_samples_add_up),
		cmocka_unit_test(test_events_in_a_shared_ring_are_told_apart),
		cmocka_unit_test(test_refused_attributes_leave_nothing_open),
		cmocka_unit_test(test_known_features_are_detected),
	};

	if (argc == 3 && !strcmp(argv[1], "expect"))
		return expect(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

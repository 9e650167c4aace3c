/* SPDX-License-Identifier: MIT */
/*
 * prof/taskevents: the kernel's records about tasks, written by hand in its layout, are understood in
 * every order of arrival; cut and random ones are refused.
 */
#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "prof/taskevents.h"
#include "task_stream.h"

struct record {
	_Alignas(8) uint8_t bytes[512];
	size_t used;
};

static void put(struct record *r, const void *data, size_t len)
{
	memcpy(r->bytes + r->used, data, len);
	r->used += len;
}

static void put_u32(struct record *r, uint32_t value)
{
	put(r, &value, sizeof(value));
}

static void put_u64(struct record *r, uint64_t value)
{
	put(r, &value, sizeof(value));
}

static void set_size(struct record *r, size_t size)
{
	const uint16_t value = (uint16_t)size;

	memcpy(r->bytes + 6, &value, sizeof(value));
}

/* u32 type, u16 misc, u16 size */
static void begin(struct record *r, uint32_t type, uint16_t misc)
{
	memset(r, 0, sizeof(*r));
	put_u32(r, type);
	put(r, &misc, sizeof(misc));
	r->used += 2;
}

/* A text, padded with NULs to 8 bytes. */
static void put_text(struct record *r, const char *text)
{
	put(r, text, strlen(text));
	do
		r->bytes[r->used++] = 0;
	while (r->used % 8);
}

/* sample_id: u32 pid, tid; u64 time */
static const struct perf_event_header *end(struct record *r, uint32_t pid, uint64_t time_ns)
{
	put_u32(r, pid);
	put_u32(r, pid);
	put_u64(r, time_ns);
	set_size(r, r->used);
	return (const struct perf_event_header *)(const void *)r->bytes;
}

/* u32 pid, ppid, tid, ptid; u64 time */
static const struct perf_event_header *make_task(struct record *r, uint32_t type, uint64_t time_ns,
	uint32_t pid, uint32_t tid, uint32_t parent)
{
	begin(r, type, 0);
	put_u32(r, pid);
	put_u32(r, parent);
	put_u32(r, tid);
	put_u32(r, parent);
	put_u64(r, time_ns);
	return end(r, pid, time_ns);
}

static const struct perf_event_header *make_comm(struct record *r, uint64_t time_ns, uint32_t pid,
	const char *name, bool exec)
{
	begin(r, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	put_u32(r, pid);
	put_u32(r, pid);
	put_text(r, name);
	return end(r, pid, time_ns);
}

/* u32 pid, tid; u64 addr, len, pgoff; u8 build-id's size, 3 of padding, 20 of id; u32 prot, flags; path */
static const struct perf_event_header *make_mmap(struct record *r, uint64_t time_ns, uint32_t pid,
	uint64_t addr, uint32_t protection, int id_length, const char *path)
{
	uint8_t id[24] = { 0 };

	begin(r, PERF_RECORD_MMAP2, id_length >= 0 ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0);
	put_u32(r, pid);
	put_u32(r, pid);
	put_u64(r, addr);
	put_u64(r, 0x1000);
	put_u64(r, 0);
	if (id_length >= 0) {
		id[0] = (uint8_t)id_length;
		put(r, id, sizeof(id));
	} else {
		put_u32(r, 8); /* device */
		put_u32(r, 1);
		put_u64(r, strcmp(path, "//anon") ? 77 : 0); /* inode */
		put_u64(r, 5);				     /* its generation */
	}
	put_u32(r, protection);
	put_u32(r, MAP_PRIVATE);
	put_text(r, path);
	return end(r, pid, time_ns);
}

#define EXEC (PROT_READ | PROT_EXEC)

struct fixture {
	struct tasks *tasks;
	struct taskevents *events;
};

static struct fixture create(void)
{
	return (struct fixture){ tasks_create(), taskevents_create() };
}

static void destroy(struct fixture *f)
{
	taskevents_destroy(f->events);
	tasks_destroy(f->tasks);
}

static void check(struct fixture *f, int line, uint64_t until_ns, const char *expected)
{
	g_autoptr(GString) text = NULL;
	struct task_stream stream;

	taskevents_apply(f->events, f->tasks, until_ns);
	task_stream_init(&stream);
	task_stream_read(&stream, f->tasks);
	text = task_stream_text(&stream);
	task_stream_fini(&stream);
	if (strcmp(text->str, expected))
		fail_msg("line %d: told\n%sexpected\n%s", line, text->str, expected);
}

static void test_records_of_the_kernel_are_read(void **state)
{
	struct fixture f = create();
	struct record r;

	(void)state;
	taskevents_add(f.events, make_task(&r, PERF_RECORD_FORK, 100, 11, 11, 10));
	taskevents_add(f.events, make_task(&r, PERF_RECORD_FORK, 101, 11, 12, 11));
	taskevents_add(f.events, make_comm(&r, 102, 11, "name", false));
	taskevents_add(f.events, make_comm(&r, 103, 11, "15-bytes-a-name", true));
	taskevents_add(f.events, make_mmap(&r, 104, 11, 0x1000, EXEC, 20, "/bin/x"));
	taskevents_add(f.events, make_mmap(&r, 105, 11, 0x8000, EXEC, -1, "/lib/no-id"));
	taskevents_add(f.events, make_mmap(&r, 106, 11, 0x9000, EXEC, -1, "//anon"));
	taskevents_add(f.events, make_task(&r, PERF_RECORD_EXIT, 106, 11, 11, 10));
	check(&f, __LINE__, 200,
		"fork 101 11/12 of 11/11\n"
		"fork 100 11/11 of 10/10\ncomm 103 11/11 15-bytes-a-name\n"
		"new 103 11 /bin/x\nmmap 104 11 1000+1000 /bin/x\nid 104 11 1000 20\n"
		"mmap 105 11 8000+1000 /lib/no-id\nfile 105 11 8000 77 of 8:1 generation 5\n"
		"mmap 106 11 9000+1000 //anon\n"
		"exit 103 11/12 of 11/11\nexit 106 11/11 of 10/10\n");
	destroy(&f);
}

/*
 * Mappings that are not executable, and records of idle tasks and of tasks in other namespaces, are
 * left out.
 */
static void test_data_mappings_and_foreign_tasks_are_left_out(void **state)
{
	struct fixture f = create();
	struct record r;

	(void)state;
	taskevents_add(f.events, make_mmap(&r, 1, 11, 0x1000, PROT_READ | PROT_WRITE, 20, "/x"));
	taskevents_add(f.events, make_mmap(&r, 1, 0, 0x1000, EXEC, 20, "/x"));
	taskevents_add(f.events, make_mmap(&r, 1, UINT32_MAX, 0x1000, EXEC, 20, "/x"));
	taskevents_add(f.events, make_comm(&r, 1, 0, "swapper", false));
	taskevents_add(f.events, make_comm(&r, 1, UINT32_MAX, "gone", true));
	taskevents_add(f.events, make_task(&r, PERF_RECORD_FORK, 1, 0, 0, 0));
	taskevents_add(f.events, make_task(&r, PERF_RECORD_EXIT, 1, UINT32_MAX, UINT32_MAX, 0));
	check(&f, __LINE__, UINT64_MAX, "");
	destroy(&f);
}

/* A build-id longer than the field is damage: the mapping counts, the id does not. */
static void test_too_long_build_id_is_left_out(void **state)
{
	struct fixture f = create();
	struct record r;

	(void)state;
	taskevents_add(f.events, make_mmap(&r, 1, 11, 0x1000, EXEC, 21, "/x"));
	taskevents_add(f.events, make_mmap(&r, 2, 11, 0x2000, EXEC, 255, "/y"));
	taskevents_add(f.events, make_mmap(&r, 3, 11, 0x3000, EXEC, 0, "/z"));
	check(&f, __LINE__, 9,
		"new 1 11 /x\nmmap 1 11 1000+1000 /x\nmmap 2 11 2000+1000 /y\nmmap 3 11 3000+1000 /z\n");
	destroy(&f);
}

/* The five events of one life, in every order of arrival, in one drain. */
static void test_every_order_of_arrival_gives_the_order_of_time(void **state)
{
	int order[5] = { 0, 1, 2, 3, 4 }, swaps[5] = { 0 }, i = 0;

	(void)state;
	for (;;) {
		struct fixture f = create();
		struct record r;
		int j;

		for (j = 0; j < 5; j++) {
			const struct perf_event_header *of[5];
			struct record records[5];

			of[0] = make_task(&records[0], PERF_RECORD_FORK, 100, 11, 11, 10);
			of[1] = make_comm(&records[1], 101, 11, "x", true);
			of[2] = make_mmap(&records[2], 102, 11, 0x1000, EXEC, -1, "/bin/x");
			of[3] = make_comm(&records[3], 103, 11, "y", false);
			of[4] = make_task(&records[4], PERF_RECORD_EXIT, 104, 11, 11, 10);
			taskevents_add(f.events, of[order[j]]);
		}
		taskevents_add(f.events, make_task(&r, PERF_RECORD_FORK, 300, 20, 20, 10));
		check(&f, __LINE__, 200,
			"fork 100 11/11 of 10/10\ncomm 103 11/11 y\nnew 101 11 /bin/x\n"
			"mmap 102 11 1000+1000 /bin/x\nfile 102 11 1000 77 of 8:1 generation 5\n"
			"exit 104 11/11 of 10/10\n");
		destroy(&f);
		/* the next permutation (Heap's way) */
		while (i < 5 && swaps[i] >= i)
			swaps[i++] = 0;
		if (i == 5)
			break;
		j = i % 2 ? swaps[i] : 0;
		order[j] ^= order[i];
		order[i] ^= order[j];
		order[j] ^= order[i];
		swaps[i]++;
		i = 0;
	}
}

/* Later records wait. Records of one time keep their order of arrival. */
static void test_later_events_wait(void **state)
{
	struct fixture f = create();
	struct record r;

	(void)state;
	taskevents_add(f.events, make_comm(&r, 300, 11, "third", false));
	taskevents_add(f.events, make_comm(&r, 100, 11, "first", false));
	check(&f, __LINE__, 99, "");
	check(&f, __LINE__, 100, "comm 100 11/11 first\n");
	taskevents_add(f.events, make_comm(&r, 200, 11, "second", false));
	check(&f, __LINE__, 299, "comm 200 11/11 second\n");
	check(&f, __LINE__, 299, "comm 200 11/11 second\n");
	taskevents_add(f.events, make_comm(&r, 300, 11, "fourth", false));
	check(&f, __LINE__, 300, "comm 300 11/11 fourth\n");
	taskevents_add(f.events, make_comm(&r, 400, 11, "never", false));
	destroy(&f); /* with one that waits */
}

/*
 * Each record cut at each size, in memory of just that size, so that a read beyond it is detected.
 */
static void cut_everywhere(const struct perf_event_header *whole)
{
	uint16_t size;

	for (size = 0; size < whole->size; size++) {
		struct fixture f = create();
		const size_t room = MAX(size, sizeof(*whole));
		struct perf_event_header *cut = malloc(room);

		assert_non_null(cut);
		memcpy(cut, whole, room);
		cut->size = size;
		taskevents_add(f.events, cut);
		free(cut);
		taskevents_apply(f.events, f.tasks, UINT64_MAX); /* any result must be consistent */
		destroy(&f);
	}
}

static void test_cut_records_are_refused(void **state)
{
	struct record r;

	(void)state;
	cut_everywhere(make_task(&r, PERF_RECORD_FORK, 100, 11, 11, 10));
	cut_everywhere(make_task(&r, PERF_RECORD_EXIT, 100, 11, 11, 10));
	cut_everywhere(make_comm(&r, 102, 11, "name", true));
	cut_everywhere(make_mmap(&r, 104, 11, 0x1000, EXEC, 20, "/bin/x"));
}

/* A name or a path that never ends would be read into the trailer and beyond. */
static void test_unterminated_names_are_bounded(void **state)
{
	struct fixture f = create();
	struct record r;

	(void)state;
	make_comm(&r, UINT64_MAX, UINT32_MAX, "12345678", false);
	memset(r.bytes + 16, 'x', r.used - 16 - 16);
	r.bytes[8] = 11; /* pid */
	taskevents_add(f.events, (const struct perf_event_header *)(const void *)r.bytes);
	make_mmap(&r, UINT64_MAX, UINT32_MAX, 0x1000, EXEC, 20, "/12345678");
	memset(r.bytes + 72, 'x', r.used - 72 - 16);
	taskevents_add(f.events, (const struct perf_event_header *)(const void *)r.bytes);
	check(&f, __LINE__, UINT64_MAX, "");
	destroy(&f);
}

static void test_other_types_are_left_out(void **state)
{
	struct fixture f = create();
	struct record r;
	uint32_t type;

	(void)state;
	for (type = 0; type < 40; type++) {
		if (type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT ||
			type == PERF_RECORD_COMM || type == PERF_RECORD_MMAP2)
			continue;
		taskevents_add(f.events, make_task(&r, type, 100, 11, 11, 10));
	}
	check(&f, __LINE__, UINT64_MAX, "");
	destroy(&f);
}

/* Any bytes in records of the four types. */
static void test_random_bytes_are_harmless(void **state)
{
	static const uint32_t types[] = {
		PERF_RECORD_FORK, PERF_RECORD_EXIT, PERF_RECORD_COMM, PERF_RECORD_MMAP2,
	};
	struct fixture f = create();
	unsigned int seed = 4711;
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		const size_t size = 8 + (size_t)(rand_r(&seed) % 60) * 8;
		uint8_t *bytes = malloc(size);
		struct perf_event_header header = {
			.type = types[i % 4], .misc = (uint16_t)rand_r(&seed), .size = (uint16_t)size
		};
		size_t j;

		assert_non_null(bytes);
		for (j = 0; j < size; j++)
			bytes[j] = rand_r(&seed) % 3 ? 0 : (uint8_t)rand_r(&seed);
		memcpy(bytes, &header, sizeof(header));
		taskevents_add(f.events, (const struct perf_event_header *)(const void *)bytes);
		free(bytes);
		if (i % 500 == 0) {
			struct task_stream stream;

			taskevents_apply(f.events, f.tasks, UINT64_MAX);
			tasks_settle(f.tasks, (uint64_t)i, (uint64_t)i, (uint64_t)i);
			task_stream_init(&stream);
			task_stream_read(&stream, f.tasks); /* the records are well formed */
			task_stream_fini(&stream);
		}
	}
	destroy(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records_of_the_kernel_are_read),
		cmocka_unit_test(test_data_mappings_and_foreign_tasks_are_left_out),
		cmocka_unit_test(test_too_long_build_id_is_left_out),
		cmocka_unit_test(test_every_order_of_arrival_gives_the_order_of_time),
		cmocka_unit_test(test_later_events_wait),
		cmocka_unit_test(test_cut_records_are_refused),
		cmocka_unit_test(test_unterminated_names_are_bounded),
		cmocka_unit_test(test_other_types_are_left_out),
		cmocka_unit_test(test_random_bytes_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

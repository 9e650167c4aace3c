/* SPDX-License-Identifier: MIT */
/*
 * prof/encoder: a reader that begins at any run and misses any other one knows the thread and the
 * period of every sample.
 */
#include "tests/unit/encoder_fixture.h"

/* ---- runs that stand alone ------------------------------------------------------------------- */

#define RUNS 60
#define RUN_SAMPLES 20

struct truth {
	uint32_t pid, tid;
	uint64_t period;
	unsigned int index;
};

struct capture_of_runs {
	struct {
		uint8_t *data;
		size_t len;
	} runs[2 * RUNS];
	size_t count;
	struct truth *truth; /* by the samples' time */
	uint64_t samples;
};

static void hand_on(struct capture_of_runs *all, struct encoder *e)
{
	const uint8_t *run;
	size_t len;

	run = encoder_run(e, &len);
	all->runs[all->count].data = g_memdup2(run, len);
	all->runs[all->count++].len = len;
	encoder_next_run(e);
}

/* The state of a reader; pids are small numbers here. */
struct knowledge {
	uint32_t tids[16384]; /* of each process on this CPU; 0 for the process itself */
	uint64_t periods[16]; /* by event; 0 if no record had it */
};

static void read_run(struct knowledge *know, const struct capture_of_runs *all, size_t run)
{
	struct decoded r;
	size_t at = 0;

	while (decode_next(all->runs[run].data, all->runs[run].len, &at, &r)) {
		const struct truth *truth;
		uint32_t pid, tid;

		if (r.type == 65) {
			know->tids[decode_u32(&r, 4)] = decode_u32(&r, 8);
			continue;
		}
		if (r.type == 73) {
			know->periods[decode_u32(&r, 4)] = decode_u64(&r, 8);
			continue;
		}
		truth = &all->truth[decode_u64(&r, 8)];
		pid = decode_u32(&r, 16);
		tid = know->tids[pid] ? know->tids[pid] : pid;
		assert_int_equal(pid, truth->pid);
		if (tid != truth->tid)
			fail_msg("run %zu: thread %u of %u is taken for %u", run, truth->tid, pid, tid);
		assert_int_equal(decode_u64(&r, 0), truth->index ? 9 : 7);
		if (know->periods[decode_u64(&r, 0)] != truth->period)
			fail_msg("run %zu: a period of %llu is taken for %llu", run,
				(unsigned long long)truth->period,
				(unsigned long long)know->periods[decode_u64(&r, 0)]);
	}
}

static void add_truth(struct capture_of_runs *all, struct encoder *e, struct truth truth)
{
	static struct kernel_record k;

	make_plain(&k, truth.pid, truth.tid, all->samples);
	if (truth.index)
		put(&k, truth.period);
	all->truth[all->samples++] = truth;
	assert_int_equal(encoder_sample(e, truth.index, &k.header), 0);
}

/* For each start and any selection of runs, the decoded tasks are right. */
static void read_any_runs(const struct capture_of_runs *all, unsigned int *seed)
{
	static struct knowledge know;
	size_t start, i;
	int tries;

	for (start = 0; start < all->count; start++) {
		memset(&know, 0, sizeof(know));
		for (i = start; i < all->count; i++)
			read_run(&know, all, i);
	}
	for (tries = 0; tries < 300; tries++) {
		memset(&know, 0, sizeof(know));
		for (i = 0; i < all->count; i++)
			if (rand_r(seed) % 3 == 0)
				read_run(&know, all, i);
	}
}

static void free_runs(struct capture_of_runs *all)
{
	size_t i;

	for (i = 0; i < all->count; i++)
		g_free(all->runs[i].data);
	free(all->truth);
}

/*
 * Processes of one thread and of several, pids that come again with other threads, and a second
 * encoder for the same CPU, as after stop and start: its runs follow the first one's.
 */
static void test_each_run_decodes_alone(void **state)
{
	struct capture_of_runs all = { 0 };
	struct rings_config config;
	unsigned int seed = 20160719;
	struct encoder *e;
	int round, run, i;

	(void)state;
	make_config(&config, false);
	all.truth = calloc(2 * RUNS * RUN_SAMPLES, sizeof(*all.truth));
	assert_non_null(all.truth);
	for (round = 0; round < 2; round++) {
		e = encoder_create(&config, CPU, false, round > 0);
		for (run = 0; run < RUNS; run++) {
			for (i = 0; i < RUN_SAMPLES; i++) {
				struct truth t = { .pid = 10 + rand_r(&seed) % 6 * 10 };

				/* the first encoder meets threads that the second one never sees */
				t.tid = t.pid;
				if (round == 0 || t.pid < 30)
					t.tid += rand_r(&seed) % (t.pid / 10);
				t.index = rand_r(&seed) % 2;
				t.period = t.index ? 1 + rand_r(&seed) % 3 : 1000;
				add_truth(&all, e, t);
			}
			hand_on(&all, e);
		}
		encoder_destroy(e);
	}
	read_any_runs(&all, &seed);
	free_runs(&all);
}

/* More processes with threads than the encoder stores. */
static void test_more_threaded_processes_than_remembered_decode(void **state)
{
	struct capture_of_runs all = { 0 };
	static struct knowledge know;
	struct rings_config config;
	struct encoder *e;
	uint32_t pid;
	size_t i;

	(void)state;
	make_config(&config, false);
	all.truth = calloc(65536, sizeof(*all.truth));
	assert_non_null(all.truth);
	e = encoder_create(&config, CPU, false, false);
	for (pid = 1; pid <= 9000; pid++) {
		add_truth(&all, e, (struct truth){ .pid = pid, .tid = 10000, .period = 1000 });
		if (pid % 500 == 0)
			hand_on(&all, e);
	}
	for (pid = 1; pid <= 9000; pid += 7) {
		add_truth(&all, e, (struct truth){ .pid = pid, .tid = pid, .period = 1000 });
		if (pid % 500 == 0)
			hand_on(&all, e);
	}
	hand_on(&all, e);
	for (i = 0; i < all.count; i++)
		read_run(&know, &all, i);
	encoder_destroy(e);
	free_runs(&all);
}

/* No record is written that is not needed. */
static void test_known_tasks_are_not_repeated(void **state)
{
	static struct kernel_record k;
	struct rings_config config;
	struct encoder *e;
	uint32_t i;

	(void)state;
	make_config(&config, false);
	e = encoder_create(&config, CPU, false, false);
	for (i = 1; i <= 100; i++) { /* processes of one thread */
		make_plain(&k, i, i, i);
		encoder_sample(e, 0, &k.header);
	}
	assert_int_equal(count_type(e, 65), 0);
	assert_int_equal(count_type(e, 73), 1);
	for (i = 0; i < 50; i++) { /* one thread for long, with another process between */
		make_plain(&k, 200, 201, i);
		encoder_sample(e, 0, &k.header);
		make_plain(&k, 300, 300, i);
		encoder_sample(e, 0, &k.header);
	}
	assert_int_equal(count_type(e, 65), 1);
	make_plain(&k, 200, 200, i); /* back to the first thread: a TASK record is needed */
	encoder_sample(e, 0, &k.header);
	assert_int_equal(count_type(e, 65), 2);
	encoder_sample(e, 0, &k.header);
	assert_int_equal(count_type(e, 65), 2);
	encoder_next_run(e);
	assert_int_equal(count_type(e, 73), 0);
	encoder_sample(e, 0, &k.header);
	assert_int_equal(count_type(e, 65), 1); /* and in the next run again */
	assert_int_equal(count_type(e, 73), 1);
	encoder_destroy(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_run_decodes_alone),
		cmocka_unit_test(test_more_threaded_processes_than_remembered_decode),
		cmocka_unit_test(test_known_tasks_are_not_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

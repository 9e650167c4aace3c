/* SPDX-License-Identifier: MIT */
/*
 * The profiler on the perf events of this machine: each sample is in the stream or counted in it as
 * lost, to the last one.
 */
#include "tests/unit/profiler_fixture.h"

/* ---- the profiler's surroundings ----------------------------------------------------------------- */

/* The sampler stops until release_sampler() is called. */
static void hold_sampler(struct host *h)
{
	pthread_mutex_lock(&h->lock);
	h->hold = true;
	while (!h->held)
		if (!wait_changed(h))
			fail_msg("the sampler does not come by");
	pthread_mutex_unlock(&h->lock);
}

static void release_sampler(struct host *h)
{
	pthread_mutex_lock(&h->lock);
	h->hold = false;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

/* ---- work ---------------------------------------------------------------------------------------- */

/* Two processes that take turns so many times, each waiting for the other. */
static void play_ping_pong(int rounds)
{
	int there[2], back[2], i, status;
	char byte = 0;
	pid_t child;

	assert_int_equal(pipe(there), 0);
	assert_int_equal(pipe(back), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		for (i = 0; i < rounds; i++)
			if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1)
				_exit(1);
		_exit(0);
	}
	for (i = 0; i < rounds; i++) {
		assert_int_equal(write(there[1], &byte, 1), 1);
		assert_int_equal(read(back[0], &byte, 1), 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
}

/* ---- to the last sample -------------------------------------------------------------------------- */

static void test_page_faults_are_counted_exactly(void **state)
{
	struct host *h;
	struct sums sums = { 0 };
	struct cursor *c;
	uint64_t count;

	if (!can_sample())
		skip();
	(void)state;
	h = create_host(FAULTS);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	start(h);
	touch_pages(100000, &sums.pid);
	stop(h);
	read_on(c, &sums);
	count = check_balance(h, &sums, 1);
	assert_true(count >= 100000);
	assert_int_equal(sums.all_lost, 0);
	/* each page once; beside them what a process needs to begin and to end */
	assert_in_range(sums.of_pid, 100000, 101000);
	profiler_close_cursor(c);
	free_sums(&sums);
	destroy_host(h);
}

static void test_context_switches_are_counted_exactly(void **state)
{
	struct host *h;
	struct sums sums = { 0 };
	struct cursor *c;

	if (!can_sample() || !has_tracefs())
		skip();
	(void)state;
	h = create_host(SWITCHES);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	/* rings for all samples, since a busy machine may run the sampler too late */
	assert_int_equal(profiler_set_cpubufsz_kb(h->p, 16384, NULL), 0);
	start(h);
	play_ping_pong(20000);
	stop(h);
	read_on(c, &sums);
	/* each side waits for the other each time, but where both run at once */
	assert_true(check_balance(h, &sums, 1) >= 20000);
	assert_int_equal(sums.all_lost, 0);
	profiler_close_cursor(c);
	free_sums(&sums);
	destroy_host(h);
}

/*
 * The smallest ring, not drained for a while and then drained again: thousands of samples are lost,
 * and counted.
 */
static void test_overflowing_rings_are_counted(void **state)
{
	const char *events = has_tracefs() ? FAULTS "," SWITCHES : FAULTS;
	struct host *h;
	struct sums sums = { 0 };
	struct cursor *c;
	int round;

	if (!can_sample())
		skip();
	(void)state;
	h = create_host(events);
	assert_int_equal(profiler_set_cpubufsz_kb(h->p, 16, NULL), 0);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	start(h);
	for (round = 0; round < 3; round++) {
		hold_sampler(h);
		touch_pages(40000, NULL);
		play_ping_pong(2000);
		if (round == 1) /* a flush is carried out by the caller's thread */
			assert_int_equal(profiler_flush(h->p, NULL), 0);
		release_sampler(h);
		touch_pages(5000, NULL);
	}
	stop(h);
	read_on(c, &sums);
	check_balance(h, &sums, has_tracefs() ? 2 : 1);
	assert_true(sums.reasons[KPROF_LOST_RING] > 50000);
	assert_true(sums.all_delivered > 1000);
	profiler_close_cursor(c);
	free_sums(&sums);
	destroy_host(h);
}

/* ---- a full queue -------------------------------------------------------------------------------- */

static void set_smallest_queue(struct host *h)
{
	uint64_t kb = 1024;

	while (profiler_set_qlimit_kb(h->p, kb, NULL)) { /* 1/32 of a very small memory */
		kb /= 2;
		assert_true(kb > 0);
	}
}

/* Each makes 10,000 samples; packed, their records fill the smallest queue several times. */
#define FULL_ROUNDS 60

static void test_full_queue_discards_and_counts(void **state)
{
	struct host *h;
	struct sums sums = { 0 };
	struct cursor *c;
	bool eof;
	int i;

	if (!can_sample())
		skip();
	(void)state;
	h = create_host(FAULTS);
	set_smallest_queue(h);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	start(h);
	for (i = 0; i < FULL_ROUNDS; i++) {
		int reads;

		touch_pages(10000, NULL);
		for (reads = 0; reads < 20; reads++) /* far less than the samples need */
			read_once(c, 5000 + (size_t)i, &sums, &eof);
	}
	stop(h);
	read_on(c, &sums);
	check_balance(h, &sums, 1);
	assert_true(sums.reasons[KPROF_LOST_QUEUE] > 10000);
	assert_int_equal(sums.reasons[KPROF_LOST_OVERWRITE], 0);
	assert_true(profiler_memory_bytes(h->p) <= 1100 * 1024);
	profiler_close_cursor(c);
	free_sums(&sums);
	destroy_host(h);
}

static void test_reader_gets_the_number_of_overwritten_samples(void **state)
{
	struct host *h;
	struct sums sums = { 0 };
	struct cursor *c;
	bool eof;
	int i;

	if (!can_sample())
		skip();
	(void)state;
	h = create_host(FAULTS);
	set_smallest_queue(h);
	assert_int_equal(profiler_set_mode(h->p, PROFILER_OVERWRITE, NULL), 0);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	start(h);
	for (i = 0; i < FULL_ROUNDS; i++) {
		touch_pages(10000, NULL);
		read_once(c, 3333, &sums, &eof); /* in the middle of blocks and of records */
	}
	stop(h);
	read_on(c, &sums);
	check_balance(h, &sums, 1);
	assert_true(sums.reasons[KPROF_LOST_OVERWRITE] > 10000);
	assert_int_equal(sums.reasons[KPROF_LOST_QUEUE], 0);
	profiler_close_cursor(c);
	free_sums(&sums);
	destroy_host(h);
}

/* ---- readers ------------------------------------------------------------------------------------- */

static void *read_slowly(void *arg)
{
	struct cursor *c = ((void **)arg)[0];
	struct sums *sums = ((void **)arg)[1];
	bool eof = false;

	while (!eof)
		if (!read_once(c, 40000, sums, &eof))
			sched_yield();
	return NULL;
}

/*
 * Several threads read and one requests statistics while the profiler runs. The counts of each
 * reader balance.
 */
static void test_readers_get_their_whole_account_while_sampling(void **state)
{
	struct sums sums[3] = { 0 };
	void *args[3][2];
	pthread_t threads[3];
	struct host *h;
	int i;

	if (!can_sample())
		skip();
	(void)state;
	h = create_host(FAULTS);
	set_smallest_queue(h);
	assert_int_equal(profiler_set_mode(h->p, PROFILER_OVERWRITE, NULL), 0);
	start(h);
	/* each counts from the first sample: they are opened before anything is overwritten */
	for (i = 0; i < 3; i++) {
		assert_int_equal(profiler_open_cursor(h->p, (struct cursor **)&args[i][0]), 0);
		args[i][1] = &sums[i];
	}
	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_slowly, args[i]), 0);
	for (i = 0; i < 20; i++) {
		struct stats *stats = stats_create();

		touch_pages(5000, NULL);
		profiler_print_stats(h->p, stats);
		stats_destroy(stats);
	}
	stop(h);
	for (i = 0; i < 3; i++) {
		struct stats *stats = stats_create();

		pthread_join(threads[i], NULL);
		profiler_print_stats(h->p, stats);
		assert_int_equal(sums[i].all_delivered + sums[i].all_lost,
			find_stat(stats, "samples.received"));
		stats_destroy(stats);
		profiler_close_cursor(args[i][0]);
		free_sums(&sums[i]);
	}
	destroy_host(h);
}

/* Never started: end of file at once, every time. Stopped: the same at the end. */
static void test_stopped_profiler_gives_end_of_file(void **state)
{
	struct sums sums = { 0 };
	struct cursor *c;
	struct host *h;
	bool eof;
	int i;

	if (!can_sample())
		skip();
	(void)state;
	h = create_host(FAULTS);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	for (i = 0; i < 5; i++) {
		assert_true(cursor_readable(c));
		assert_int_equal(read_once(c, 1000, &sums, &eof), 0);
		assert_true(eof);
	}
	start(h);
	read_on(c, &sums);
	assert_int_equal(read_once(c, 0, &sums, &eof), 0);
	assert_false(eof);
	stop(h);
	read_on(c, &sums);
	for (i = 0; i < 5; i++) {
		assert_true(cursor_readable(c));
		assert_int_equal(read_once(c, 1000, &sums, &eof), 0);
		assert_true(eof);
	}
	check_balance(h, &sums, 1);
	profiler_close_cursor(c);
	free_sums(&sums);
	destroy_host(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_faults_are_counted_exactly),
		cmocka_unit_test(test_context_switches_are_counted_exactly),
		cmocka_unit_test(test_overflowing_rings_are_counted),
		cmocka_unit_test(test_full_queue_discards_and_counts),
		cmocka_unit_test(test_reader_gets_the_number_of_overwritten_samples),
		cmocka_unit_test(test_readers_get_their_whole_account_while_sampling),
		cmocka_unit_test(test_stopped_profiler_gives_end_of_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

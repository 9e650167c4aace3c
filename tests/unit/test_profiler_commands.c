/* SPDX-License-Identifier: MIT */
/*
 * The profiler on the perf events of this machine: start, stop, flush, clear and the choice of CPUs
 * leave the right state. The number of samples is exact.
 */
#include "tests/unit/profiler_fixture.h"

/* ---- commands while it runs ---------------------------------------------------------------------- */

static void test_stop_and_flush_deliver_all_samples(void **state)
{
	struct host *h;
	struct sums sums = { 0 };
	struct cursor *c;
	int i;

	if (!can_sample())
		skip();
	(void)state;
	h = create_host(FAULTS);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	for (i = 0; i < 20; i++) {
		uint64_t before;

		start(h);
		start(h); /* running already: nothing */
		touch_pages(500, &sums.pid);
		before = sums.of_pid;
		assert_int_equal(profiler_flush(h->p, NULL), 0);
		read_on(c, &sums);
		assert_in_range(sums.of_pid - before, 500, 1500); /* flush brought them all */
		touch_pages(500, &sums.pid);
		before = sums.of_pid;
		stop(h);
		stop(h);
		read_on(c, &sums);
		assert_in_range(sums.of_pid - before, 500, 1500);
	}
	assert_true(check_balance(h, &sums, 1) >= 20 * 1000);
	assert_int_equal(sums.all_lost, 0);
	profiler_close_cursor(c);
	free_sums(&sums);
	destroy_host(h);
}

/* After a clear all counts begin at 0, for a new reader and for one that continues. */
static void test_clear_resets_the_counts_of_all_readers(void **state)
{
	struct host *h;
	struct sums following = { 0 }, fresh = { 0 };
	struct cursor *c, *late;
	bool eof;
	int i;

	if (!can_sample())
		skip();
	(void)state;
	h = create_host(FAULTS);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	start(h);
	for (i = 0; i < 10; i++) {
		touch_pages(2000, NULL);
		read_once(c, 3001 + (size_t)i, &following, &eof);
		assert_int_equal(profiler_clear(h->p, NULL), 0);
	}
	/* the record that was begun is completed, and no record from before the clear follows it */
	while (following.rest && following.rest->len)
		assert_true(read_once(c, 8, &following, &eof) > 0);
	touch_pages(3000, NULL);
	stop(h);
	assert_int_equal(profiler_open_cursor(h->p, &late), 0);
	read_on(late, &fresh);
	check_balance(h, &fresh, 1);
	assert_int_equal(fresh.all_lost, 0);
	assert_true(fresh.all_delivered >= 3000);
	profiler_close_cursor(late);
	profiler_close_cursor(c);
	/* and stopped */
	assert_int_equal(profiler_clear(h->p, NULL), 0);
	assert_int_equal(profiler_memory_bytes(h->p), 0);
	free_sums(&following);
	free_sums(&fresh);
	destroy_host(h);
}

/* A second for each start so far (profiler_fixture.h): of ten runs the newest eight are 3 to 10. */
static void test_the_times_of_the_newest_runs_are_read(void **state)
{
	struct sums sums = { 0 };
	struct cursor *c;
	struct host *h;
	int i;

	if (!can_sample())
		skip();
	h = create_host("page-faults:u:period=1");
	for (i = 0; i < 10; i++) {
		start(h);
		touch_pages(10, NULL);
		stop(h);
	}
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	read_on(c, &sums);
	profiler_close_cursor(c);
	assert_int_equal(sums.times, 8);
	assert_int_equal(sums.times_idle_ns, 52 * NSEC_PER_SEC);
	/* a clear forgets them, and a reader that follows gets the times at the end of a run */
	assert_int_equal(profiler_clear(h->p, NULL), 0);
	start(h);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	sums.times = sums.times_idle_ns = 0;
	touch_pages(10, NULL);
	stop(h);
	read_on(c, &sums);
	profiler_close_cursor(c);
	assert_int_equal(sums.times, 1);
	assert_int_equal(sums.times_idle_ns, 11 * NSEC_PER_SEC);
	free_sums(&sums);
	destroy_host(h);
}

static unsigned int count_lines(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned int lines = 0;
	int c;

	assert_non_null(file);
	while ((c = getc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

static void test_start_and_stop_leave_nothing_behind(void **state)
{
	struct leftovers before;
	unsigned int maps = 0;
	struct host *h;
	int i;

	if (!can_sample())
		skip();
	(void)state;
	h = create_host("cpu-clock:freq=99,page-faults");
	for (i = 0; i < 210; i++) {
		if (i == 10) { /* allocators and libraries have settled */
			before = leftovers_count();
			maps = count_lines("/proc/self/maps");
		}
		start(h);
		if (i % 50 == 0)
			touch_pages(100, NULL);
		stop(h);
		profiler_clear(h->p, NULL);
	}
	leftovers_check(&before);
	/* each run has at least two rings for each CPU: 200 runs would leave 800 */
	assert_true(count_lines("/proc/self/maps") < maps + 40);
	destroy_host(h);
}

static void *interrupt_often(void *arg)
{
	struct host *h = arg;
	bool ends = false;

	while (!ends) {
		profiler_interrupt(h->p);
		pthread_mutex_lock(&h->lock);
		ends = h->cpus_changed; /* stands for the end here */
		pthread_mutex_unlock(&h->lock);
		sched_yield();
	}
	return NULL;
}

static void test_interrupted_start_leaves_nothing_behind(void **state)
{
	struct leftovers before;
	struct sums sums = { 0 };
	struct cursor *c;
	pthread_t thread;
	struct host *h;
	int i, interrupted = 0;

	if (!can_sample())
		skip();
	(void)state;
	h = create_host(FAULTS);
	start(h);
	stop(h);
	before = leftovers_count();
	assert_int_equal(pthread_create(&thread, NULL, interrupt_often, h), 0);
	for (i = 0; i < 20; i++) {
		struct err err = { "" };
		const int ret = profiler_start(h->p, &err);

		assert_true(ret == 0 || ret == -EINTR);
		assert_int_equal(profiler_running(h->p), ret == 0);
		interrupted += ret == -EINTR;
		stop(h);
	}
	cpus_changed(h);
	pthread_join(thread, NULL);
	assert_true(interrupted > 0);
	leftovers_check(&before);
	/* and it works as before */
	profiler_clear(h->p, NULL);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	start(h);
	touch_pages(1000, &sums.pid);
	stop(h);
	read_on(c, &sums);
	check_balance(h, &sums, 1);
	assert_true(sums.of_pid >= 1000);
	profiler_close_cursor(c);
	free_sums(&sums);
	destroy_host(h);
}

/* ---- several, and some CPUs ---------------------------------------------------------------------- */

static void test_two_profilers_do_not_mix(void **state)
{
	struct host *a, *b;
	struct sums of_a = { 0 }, of_b = { 0 };
	struct cursor *c, *d;

	if (!can_sample())
		skip();
	(void)state;
	a = create_host(FAULTS);
	b = create_host(has_tracefs() ? SWITCHES "," FAULTS : FAULTS);
	assert_int_equal(profiler_open_cursor(a->p, &c), 0);
	assert_int_equal(profiler_open_cursor(b->p, &d), 0);
	start(a);
	touch_pages(1000, NULL);
	start(b);
	touch_pages(20000, &of_a.pid);
	of_b.pid = of_a.pid;
	stop(a);
	touch_pages(1000, NULL);
	stop(b);
	read_on(c, &of_a);
	read_on(d, &of_b);
	check_balance(a, &of_a, 1);
	check_balance(b, &of_b, has_tracefs() ? 2 : 1);
	assert_in_range(of_a.of_pid, 20000, 21000);
	assert_true(of_b.of_pid >= 20000);
	profiler_close_cursor(c);
	profiler_close_cursor(d);
	free_sums(&of_a);
	free_sums(&of_b);
	destroy_host(a);
	destroy_host(b);
}

static void run_on(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static bool is_online(unsigned int cpu)
{
	unsigned char online[CPU_BITMAP_BYTES];

	return !cpu_read_list(CPU_ONLINE_PATH, online) && cpu_in_bitmap(online, cpu);
}

static void check_cpus(struct host *h, const char *list, const char *line)
{
	g_autoptr(GString) text = g_string_new(NULL);

	assert_int_equal(profiler_set_cpus(h->p, list, NULL), 0);
	profiler_print_settings(h->p, text);
	if (!strstr(text->str, line))
		fail_msg("cpus %s: no '%s' in %s", list, line, text->str);
}

/* A list of any length is printed so that it can be written back. */
static void test_printed_cpu_list_can_be_written_back(void **state)
{
	struct host *h;

	if (!is_online(1))
		skip();
	(void)state;
	h = create_host(FAULTS);
	check_cpus(h, "0,0,0,0,0,0", "\ncpus 0\n");
	check_cpus(h, "1", "\ncpus 1\n");
	check_cpus(h, "1,0", "\ncpus 0-1\n");
	check_cpus(h, "all", "\ncpus all\n");
	destroy_host(h);
}

static void test_one_cpu_is_sampled_alone(void **state)
{
	struct host *h;
	struct sums sums = { 0 };
	struct cursor *c;
	cpu_set_t before;

	if (!can_sample() || !is_online(1))
		skip();
	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	h = create_host(FAULTS);
	assert_int_equal(profiler_set_cpus(h->p, "1", NULL), 0);
	assert_int_equal(profiler_set_cpus(h->p, "63", NULL), -EINVAL);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	start(h);
	run_on(0);
	touch_pages(3000, NULL);
	run_on(1);
	touch_pages(2000, &sums.pid);
	sched_setaffinity(0, sizeof(before), &before);
	stop(h);
	read_on(c, &sums);
	check_balance(h, &sums, 1);
	assert_int_equal(sums.delivered[1][0], 0);
	assert_in_range(sums.of_pid, 2000, 3000);
	assert_int_equal(sums.delivered[1][1], sums.all_delivered);
	profiler_close_cursor(c);
	free_sums(&sums);
	destroy_host(h);
}

/* ---- CPUs that come and go ----------------------------------------------------------------------- */

#define CPU1_ONLINE "/sys/devices/system/cpu/cpu1/online"

static bool set_cpu1(bool online)
{
	const int fd = open(CPU1_ONLINE, O_WRONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return false;
	done = write(fd, online ? "1" : "0", 1) == 1;
	close(fd);
	return done;
}

/* A process that puts CPU 1 back online at any end of this one: it waits for the end of a pipe. */
static pid_t guard_cpu1(int *end)
{
	int fds[2];
	pid_t guard;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	guard = fork();
	assert_true(guard >= 0);
	if (!guard) {
		char byte;

		close(fds[1]);
		while (read(fds[0], &byte, 1) > 0 || (errno == EINTR))
			;
		set_cpu1(true);
		_exit(0);
	}
	close(fds[0]);
	*end = fds[1];
	return guard;
}

/* What the control thread of a server does, until the CPU is sampled or not. */
static void serve_until(struct host *h, bool sampled)
{
	const time_t until = time(NULL) + DEADLINE_S;

	for (;;) {
		struct stats *stats = stats_create();
		uint64_t before, after;

		profiler_cpus_changed(h->p);
		/* a CPU that is sampled counts what happens on it */
		profiler_print_stats(h->p, stats);
		before = find_stat(stats, "event.1.cpu.1.count");
		stats_destroy(stats);
		if (!sampled && !is_online(1))
			return;
		if (sampled) {
			run_on(1);
			touch_pages(100, NULL);
			run_on(0);
			stats = stats_create();
			profiler_print_stats(h->p, stats);
			after = find_stat(stats, "event.1.cpu.1.count");
			stats_destroy(stats);
			if (after >= before + 100)
				return;
		}
		assert_true(time(NULL) < until);
		pthread_mutex_lock(&h->lock);
		if (!h->cpus_changed)
			wait_changed(h);
		h->cpus_changed = false;
		pthread_mutex_unlock(&h->lock);
	}
}

static void test_cpu_may_go_offline_and_return(void **state)
{
	struct host *h;
	struct sums sums = { 0 };
	cpu_set_t affinity;
	struct cursor *c;
	int round, end;
	pid_t guard;

	if (!can_sample() || !is_online(1) || access(CPU1_ONLINE, W_OK))
		skip();
	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(affinity), &affinity), 0);
	guard = guard_cpu1(&end);
	h = create_host(FAULTS);
	assert_int_equal(profiler_open_cursor(h->p, &c), 0);
	start(h);
	for (round = 0; round < 3; round++) {
		run_on(1);
		touch_pages(3000, NULL);
		run_on(0);
		assert_true(set_cpu1(false));
		touch_pages(3000, NULL);
		if (round < 2)
			serve_until(h, false);
		/* the last time it is back before anybody looked */
		assert_true(set_cpu1(true));
		serve_until(h, true);
		run_on(1);
		touch_pages(3000, &sums.pid);
		run_on(0);
	}
	stop(h);
	sched_setaffinity(0, sizeof(affinity), &affinity);
	read_on(c, &sums);
	check_balance(h, &sums, 1);
	assert_int_equal(sums.all_lost, 0);
	assert_in_range(sums.of_pid, 3000, 4000); /* after it came back the last time */
	profiler_close_cursor(c);
	free_sums(&sums);
	destroy_host(h);
	close(end);
	waitpid(guard, NULL, 0);
	assert_true(is_online(1));
}

static void start_with(const char *symbols, struct err *err)
{
	struct host *h = create_host_with(symbols, FAULTS);

	assert_int_equal(profiler_start(h->p, err), 0);
	stop(h);
	destroy_host(h);
}

/* What runs already has no names then; the start succeeds. */
static void test_start_without_kprof_symbols_is_noted(void **state)
{
	struct err with = { "" }, without = { "" };

	(void)state;
	if (!can_sample())
		skip();
	start_with(built_program("kprof-symbols"), &with);
	assert_null(strstr(with.text, "kprof-symbols"));
	start_with("/nonexistent/kprof-symbols", &without);
	assert_non_null(strstr(without.text, "kprof-symbols can't be started"));
}

/* ---- a session of an ordinary user ---------------------------------------------------------------- */

#define RING_KB 2048

/* Starts a run with these events in a session of a user who has none, and 2 rings a CPU are all there is. */
static int start_restricted(const char *events, struct err *err)
{
	const struct profiler_paths paths = { .symbols = NULL };
	const uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
	struct budget *budget = budget_create(2 * cpus * RING_KB);
	struct host h = { .budget = budget };
	const struct profiler_hooks hooks = { .data_ready = data_ready, .data_drained = data_ready,
		.cpus_changed = cpus_changed, .times_begin = times_begin, .times_read = times_read,
		.arg = &h };
	int ret;

	pthread_mutex_init(&h.lock, NULL);
	pthread_cond_init(&h.changed, NULL);
	assert_int_equal(profiler_create(&hooks, &paths, budget, &h.p, NULL), 0);
	profiler_restrict(h.p, 65533, 65533, false);
	assert_int_equal(profiler_set_events(h.p, events, NULL), 0);
	assert_int_equal(profiler_set_stack(h.p, "none", NULL, NULL), 0);
	assert_int_equal(profiler_set_cpubufsz_kb(h.p, RING_KB, NULL), 0);
	ret = profiler_start(h.p, err);
	profiler_destroy(h.p);
	budget_destroy(budget);
	pthread_cond_destroy(&h.changed);
	pthread_mutex_destroy(&h.lock);
	return ret;
}

/* Half of the memory for rings is one for each CPU; these events have one each (rings.h). */
static void test_a_user_has_half_of_the_rings(void **state)
{
	struct err err = { "" };
	g_autofree char *whole = NULL;

	if (!can_sample())
		skip();
	whole = g_strdup_printf("its rings need %ld KB, ", 2 * sysconf(_SC_NPROCESSORS_CONF) * RING_KB);
	assert_int_not_equal(start_restricted("page-faults:u:period=1000000", &err), -ENOSPC);
	assert_int_equal(start_restricted(
		"page-faults:u:period=1000000,minor-faults:u:period=1000000", &err), -ENOSPC);
	assert_memory_equal(err.text, whole, strlen(whole));
	assert_int_equal(start_restricted("page-faults:u:period=1000000,minor-faults:u:period=1000000,"
		"major-faults:u:period=1000000", &err), -ENOSPC);
	assert_memory_equal(err.text, "the rings of this run need ", 27);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_user_has_half_of_the_rings),
		cmocka_unit_test(test_printed_cpu_list_can_be_written_back),
		cmocka_unit_test(test_stop_and_flush_deliver_all_samples),
		cmocka_unit_test(test_clear_resets_the_counts_of_all_readers),
		cmocka_unit_test(test_the_times_of_the_newest_runs_are_read),
		cmocka_unit_test(test_start_and_stop_leave_nothing_behind),
		cmocka_unit_test(test_interrupted_start_leaves_nothing_behind),
		cmocka_unit_test(test_start_without_kprof_symbols_is_noted),
		cmocka_unit_test(test_two_profilers_do_not_mix),
		cmocka_unit_test(test_one_cpu_is_sampled_alone),
		cmocka_unit_test(test_cpu_may_go_offline_and_return),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

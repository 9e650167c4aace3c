/* SPDX-License-Identifier: MIT */
/*
 * bare_event: samples page-faults of all CPUs with period 1, with the fields of a sample of kprofs with
 * `stack none`, for what `bench/run only` compares a filter with. It reads words, one a line, and prints
 * "done" once each is in effect:
 *
 *	counting    the event has no period: each page fault is counted
 *	discarded   each is a sample, and has no buffer to be written to
 *	refused     each is a sample that a program refuses, which does no more than to return 0
 *	off         the event is closed
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/code.h"
#include "bpf/program.h"
#include "sys/perf.h"

#define CPUS_MAX 4096

static int events[CPUS_MAX], opened; /* an event of each CPU that is online */

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "bare_event: %s: %s\n", what, why);
	return 1;
}

static int load_refusing(int *fd, struct err *err)
{
	const struct program_spec spec = { .name = "bench_refuse", .type = BPF_PROG_TYPE_PERF_EVENT };
	struct code code;
	int ret;

	code_init(&code);
	code_return(&code, 0);
	ret = code_finish(&code, err);
	if (!ret)
		ret = program_load(&spec, &code, fd, err);
	code_fini(&code);
	return ret;
}

static void close_events(void)
{
	while (opened)
		close(events[--opened]);
}

/* program -1: none */
static int open_events(bool is_sampling, int program)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = is_sampling,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	struct err err = { "" };

	for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_CONF) && opened < CPUS_MAX; cpu++) {
		int ret = perf_open(&attr, -1, cpu, &events[opened]);

		if (ret == -ENODEV)
			continue;
		if (ret)
			return fail("perf_event_open", strerror(-ret));
		if (program >= 0 && program_attach_perf(program, events[opened], &err))
			return fail("a program", err.text);
		opened++;
	}
	return 0;
}

int main(void)
{
	struct err err = { "" };
	char line[64];
	int program;

	if (load_refusing(&program, &err))
		return fail("a program", err.text);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		int ret = 0;

		close_events();
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "off") != 0)
			ret = open_events(strcmp(line, "counting") != 0,
				strcmp(line, "refused") == 0 ? program : -1);
		if (ret)
			return ret;
		puts("done");
	}
	close_events();
	close(program);
	return 0;
}

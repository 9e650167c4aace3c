/* SPDX-License-Identifier: MIT */
/*
 * kernel_programs: what `bench/run kernel` compares the recorder of kernel events with.
 *
 *	kernel_programs empty   attaches programs that do nothing at the entry and the return of system
 *	                        calls, at sched_switch and at sched_wakeup; prints a line, and detaches
 *	                        them when its input ends
 *	kernel_programs read    fills a ring of 2 MiB with system calls and prints in ms how long a reader
 *	                        takes to copy and check it: the median of some tries
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "timing.h"
#include "bpf/code.h"
#include "bpf/program.h"
#include "bpf/types.h"
#include "kernel/kernel.h"

#define RING_KB 2048u
#define TRIES 51
#define CALLS 100000 /* more than a ring has room for */

static int fail(const char *what, const struct err *err)
{
	fprintf(stderr, "kernel_programs: %s: %s\n", what, err->text);
	return 1;
}

static int attach_empty(const struct types *types, const char *tracepoint, struct err *err)
{
	struct program_spec spec = { .name = "bench_empty", .type = BPF_PROG_TYPE_TRACING,
		.attach = BPF_TRACE_RAW_TP };
	struct types_function found;
	struct code code;
	int fd, link, ret = types_tracepoint(types, tracepoint, &found);

	if (ret)
		return err_set(err, -ret, "there is no such tracepoint");
	spec.attach_type_id = found.type;
	code_init(&code);
	code_return(&code, 0);
	ret = code_finish(&code, err);
	if (!ret)
		ret = program_load(&spec, &code, &fd, err);
	if (!ret)
		ret = program_attach_tracing(fd, &link, err);
	code_fini(&code);
	return ret;
}

static int run_empty(void)
{
	static const char *const tracepoints[] = { "sys_enter", "sys_exit", "sched_switch", "sched_wakeup" };
	struct types *types;
	struct err err = { "" };
	char input[64];

	if (types_open(NULL, &types, &err))
		return fail("types", &err);
	for (size_t i = 0; i < sizeof(tracepoints) / sizeof(tracepoints[0]); i++)
		if (attach_empty(types, tracepoints[i], &err))
			return fail(tracepoints[i], &err);
	types_close(types);
	puts("attached");
	fflush(stdout);
	while (read(0, input, sizeof(input)) > 0)
		;
	return 0;
}

/* A reader's copy, as one that opens kptrace makes; returns the bytes of its records. */
static uint64_t read_ring(struct rings *rings, uint32_t cpu)
{
	struct rings_copy copy;
	uint64_t at, bytes = 0;

	if (rings_copy(rings, cpu, 0, true, &copy))
		return 0;
	at = copy.begin;
	while (rings_next(&copy, &at))
		bytes = at - copy.begin;
	rings_copy_clear(&copy);
	return bytes;
}

/* By a child on CPU 0, since the calls of this process are left out. */
static int make_calls(void)
{
	pid_t child = fork();
	cpu_set_t cpus;
	int status;

	if (!child) {
		CPU_ZERO(&cpus);
		CPU_SET(0, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus))
			_exit(1);
		for (int i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status) {
		perror("kernel_programs: a child on CPU 0");
		return -1;
	}
	return 0;
}

static int run_read(void)
{
	struct kernel *kernel = kernel_create(RING_KB, 64 * GIB);
	struct rings *rings;
	struct err err = { "" };
	double ms[TRIES];
	uint64_t most = 0;

	if (kernel_set(kernel, "syscall:getppid", "1", &err))
		return fail("syscall:getppid", &err);
	if (make_calls())
		return 1;
	if (kernel_set(kernel, "syscall:getppid", "0", &err))
		return fail("syscall:getppid", &err);
	rings = kernel_get_rings(kernel);
	for (int i = 0; i < TRIES; i++) {
		double begin = timing_now_ns(CLOCK_MONOTONIC);
		uint64_t bytes = read_ring(rings, 0);

		ms[i] = (timing_now_ns(CLOCK_MONOTONIC) - begin) / 1e6;
		most = bytes > most ? bytes : most;
	}
	kernel_put_rings(kernel, rings);
	kernel_destroy(kernel);
	if (most < (RING_KB - KERNEL_CHUNK_BYTES / KIB) * KIB) {
		fprintf(stderr, "kernel_programs: the ring has %llu bytes only\n", (unsigned long long)most);
		return 1;
	}
	qsort(ms, TRIES, sizeof(ms[0]), timing_by_value);
	printf("%.4f\n", ms[TRIES / 2]);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "empty") == 0)
		return run_empty();
	if (argc == 2 && strcmp(argv[1], "read") == 0)
		return run_read();
	fprintf(stderr, "usage: kernel_programs empty | read\n");
	return 2;
}

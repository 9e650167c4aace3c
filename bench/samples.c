/* SPDX-License-Identifier: MIT */
/*
 * Writes a capture of many samples to standard output: threads of some processes on several CPUs, with
 * stacks from a random walk through functions of a program.
 *
 * usage: samples COUNT PATH BEGIN END
 *
 * Stacks have addresses between the offsets BEGIN and END of the file PATH. Each call writes the
 * same capture.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fixtures/gen.h"

#define BASE 0x550000000000ull
#define FUNCTIONS 3000
#define CALLEES 4
#define DEPTH_MIN 10
#define DEPTH_MAX 40
#define PROCESSES 20
#define THREADS 10 /* in each */
#define CPUS 8
#define INTERVAL_NS 1000000 /* between two samples of a CPU, about */

static uint64_t state = 1;

/* xorshift64 */
static uint32_t random_below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * limit >> 32);
}

/* Most calls go to the first callee. */
static uint32_t callee(uint32_t function)
{
	uint32_t i = 0;

	while (i < CALLEES - 1 && random_below(40) == 0)
		i++;
	return (function * 7919 + i * 104729 + 13) % FUNCTIONS;
}

static void add_sample(struct gen *gen, uint64_t time, uint32_t cpu, uint64_t begin, uint64_t end)
{
	uint32_t depth = DEPTH_MIN + random_below(DEPTH_MAX - DEPTH_MIN), i;
	uint32_t pid = 1000 + 100 * random_below(PROCESSES), function = random_below(20);
	uint64_t frames[DEPTH_MAX];

	for (i = depth; i--; function = callee(function))
		frames[i] = BASE + begin + (end - begin) / FUNCTIONS * function + (i ? 4 : random_below(4));
	gen_task(gen, cpu, pid, pid + random_below(THREADS));
	gen_trace(gen, 2, 1, time, pid, (uint16_t)cpu, (uint16_t)depth, frames);
}

static int flush(struct gen *gen)
{
	size_t n = fwrite(gen->bytes->data, 1, gen->bytes->len, stdout);

	if (n < gen->bytes->len)
		return 1;
	g_byte_array_set_size(gen->bytes, 0);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t count, begin, end, i, time = 0;
	struct gen gen;
	int failed = 0;

	if (argc != 5) {
		fputs("usage: samples COUNT PATH BEGIN END\n", stderr);
		return 2;
	}
	count = strtoull(argv[1], NULL, 0);
	begin = strtoull(argv[3], NULL, 0);
	end = strtoull(argv[4], NULL, 0);
	gen_init(&gen, false);
	gen_clock(&gen, 1, 2);
	gen_event(&gen, 1, 999, 1, "cpu-clock:freq=999");
	for (i = 0; i < PROCESSES; i++) {
		g_autofree char *name = g_strdup_printf("process-%d", (int)i);

		gen_new_process(&gen, 1, 1000 + 100 * (uint32_t)i, argv[2]);
		gen_comm(&gen, 1, 1000 + 100 * (uint32_t)i, 1000 + 100 * (uint32_t)i, name);
		gen_mmap(&gen, 1, 1000 + 100 * (uint32_t)i, BASE, 1 << 30, 0, argv[2]);
	}
	for (i = 0; i < CPUS; i++)
		gen_period(&gen, (uint32_t)i, 1, 1001001);
	for (i = 0; i < count && !failed; i++) {
		time += INTERVAL_NS / CPUS / 2 + random_below(INTERVAL_NS / CPUS);
		add_sample(&gen, time, (uint32_t)(i % CPUS), begin, end);
		failed = flush(&gen);
	}
	gen_fini(&gen);
	return failed || fflush(stdout) ? 1 : 0;
}

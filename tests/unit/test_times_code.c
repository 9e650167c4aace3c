/* SPDX-License-Identifier: MIT */
/*
 * acct/times_code: the programs at interrupts, run one by one without a tracepoint; what they make of a
 * cell. Skipped where bpf(2) is refused.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "acct/cells.h"
#include "acct/times_code.h"
#include "bpf/map.h"
#include "bpf/program.h"
#include "sys/clock.h"

/* states of a CPU that starts: what it is to reach, and a step on its way */
#define ONLINE	200
#define BRINGUP 77

enum program { IRQ_ENTRY, IRQ_EXIT, SOFTIRQ_ENTRY, SOFTIRQ_EXIT, CPU_STARTS, LOOK, PROGRAMS };

static void (*const makers[PROGRAMS])(const struct times_env *env, struct code *code) = {
	times_code_irq_entry,
	times_code_irq_exit,
	times_code_softirq_entry,
	times_code_softirq_exit,
	times_code_cpu_starts,
	times_code_look,
};

static int programs[PROGRAMS];
static struct cell *cells;
static unsigned int cpu; /* the only one that this process may use */

static uint64_t sum(void)
{
	uint64_t ns = 0;
	int s;

	for (s = 0; s < CELL_STATES; s++)
		ns += cells[cpu].ns[s];
	return ns;
}

/* Runs a program, and checks the state of the CPU and the depth behind it, and that the sums go up to it. */
static void step(int line, enum program program, const uint64_t *args, uint32_t count,
	enum exact_state expected, uint32_t depth)
{
	const struct cell *cell = &cells[cpu];
	const uint64_t before = clock_monotonic_ns();
	uint32_t result;
	int ret = program_run(programs[program], args, count, &result);

	if (ret)
		fail_msg("line %d: %s", line, strerror(-ret));
	if ((cell->last & (CELL_STATES - 1)) != expected || cell->depth != depth)
		fail_msg("line %d: state %d, depth %u", line, (int)(cell->last & (CELL_STATES - 1)),
			cell->depth);
	if (cell->last >> CELL_STATE_BITS < before || cell->last >> CELL_STATE_BITS > clock_monotonic_ns())
		fail_msg("line %d: the time is not now", line);
	if (cell->base + sum() != cell->last >> CELL_STATE_BITS)
		fail_msg("line %d: the sums do not go up to the newest change", line);
}

static void begin(void)
{
	cells_begin(&cells[cpu], clock_monotonic_ns());
}

static void test_hard_interrupts_nest(void **state)
{
	uint64_t irq;

	begin();
	step(__LINE__, IRQ_ENTRY, NULL, 0, EXACT_IRQ, 1);
	assert_int_equal(cells[cpu].ns[EXACT_IRQ], 0);
	assert_true(cells[cpu].ns[EXACT_TASK] > 0);
	step(__LINE__, IRQ_ENTRY, NULL, 0, EXACT_IRQ, 2);
	step(__LINE__, IRQ_EXIT, NULL, 0, EXACT_IRQ, 1);
	step(__LINE__, IRQ_EXIT, NULL, 0, EXACT_TASK, 0);
	irq = cells[cpu].ns[EXACT_IRQ];
	assert_true(irq > 0);
	/* an exit whose entry was not seen, as while attaching */
	step(__LINE__, IRQ_EXIT, NULL, 0, EXACT_TASK, 0);
	assert_int_equal(cells[cpu].ns[EXACT_IRQ], irq);
}

static void test_a_hard_interrupt_returns_to_the_soft_one(void **state)
{
	begin();
	step(__LINE__, SOFTIRQ_ENTRY, NULL, 0, EXACT_SOFTIRQ, 0);
	step(__LINE__, IRQ_ENTRY, NULL, 0, EXACT_IRQ, 1);
	step(__LINE__, IRQ_EXIT, NULL, 0, EXACT_SOFTIRQ, 0);
	step(__LINE__, LOOK, NULL, 0, EXACT_SOFTIRQ, 0);
	step(__LINE__, SOFTIRQ_EXIT, NULL, 0, EXACT_TASK, 0);
	/* a hard interrupt whose exit was not seen ends with the next soft one */
	step(__LINE__, IRQ_ENTRY, NULL, 0, EXACT_IRQ, 1);
	step(__LINE__, SOFTIRQ_ENTRY, NULL, 0, EXACT_SOFTIRQ, 0);
	step(__LINE__, SOFTIRQ_EXIT, NULL, 0, EXACT_TASK, 0);
}

/* A task is interrupted, and its CPU counted as idle: the switch to the task was not reported. */
static void test_a_switch_that_was_not_reported_is_found(void **state)
{
	begin();
	cells[cpu].last = (clock_monotonic_ns() - 1000) << CELL_STATE_BITS | EXACT_IDLE;
	cells[cpu].base = cells[cpu].last >> CELL_STATE_BITS;
	step(__LINE__, IRQ_ENTRY, NULL, 0, EXACT_IRQ, 1);
	assert_int_equal(cells[cpu].ns[EXACT_IDLE], 0);
	assert_true(cells[cpu].ns[EXACT_TASK] >= 1000);
}

static void test_the_time_offline_is_in_no_state(void **state)
{
	const uint64_t starts[] = { cpu, ONLINE, BRINGUP, 0 }, other[] = { cpu, BRINGUP, BRINGUP - 1, 0 };
	uint64_t base, before;
	uint32_t result;

	begin();
	step(__LINE__, IRQ_ENTRY, NULL, 0, EXACT_IRQ, 1);
	before = sum();
	base = cells[cpu].base;
	assert_int_equal(program_run(programs[CPU_STARTS], other, 4, &result), 0);
	assert_int_equal(cells[cpu].base, base);
	step(__LINE__, CPU_STARTS, starts, 4, EXACT_IDLE, 0);
	assert_int_equal(sum(), before);
	assert_true(cells[cpu].base > base);
}

/* On another CPU by an interrupt, if there is one; an offline one changes nothing. */
static void test_a_cpu_can_be_asked(void **state)
{
	uint64_t last;

	begin();
	last = cells[cpu].last;
	assert_int_equal(program_run_on(programs[LOOK], cpu), 0);
	assert_true(cells[cpu].last > last);
	assert_int_equal(cells[cpu].base + sum(), cells[cpu].last >> CELL_STATE_BITS);
	assert_true(program_run_on(programs[LOOK], 100000) < 0);
}

static int load(const struct times_env *env, enum program program, struct err *err)
{
	const struct program_spec spec = { .name = "kp_test", .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	struct code code;
	int ret;

	code_init(&code);
	makers[program](env, &code);
	ret = code_finish(&code, err);
	if (!ret)
		ret = program_load(&spec, &code, &programs[program], err);
	code_fini(&code);
	return ret;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hard_interrupts_nest),
		cmocka_unit_test(test_a_hard_interrupt_returns_to_the_soft_one),
		cmocka_unit_test(test_a_switch_that_was_not_reported_is_found),
		cmocka_unit_test(test_the_time_offline_is_in_no_state),
		cmocka_unit_test(test_a_cpu_can_be_asked),
	};
	struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_test", .key_bytes = 4, .entries = 1,
		.flags = BPF_F_MMAPABLE };
	struct times_env env = { .tasks = -1, .bringup_state = BRINGUP };
	struct err err = { "" };
	size_t bytes;
	void *memory;
	cpu_set_t set;
	int i, ret;

	sched_getaffinity(0, sizeof(set), &set);
	for (cpu = 0; cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &set); cpu++)
		;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	env.cpus = cpu + 1;
	bytes = env.cpus * sizeof(struct cell);
	spec.value_bytes = (uint32_t)bytes;
	ret = map_create(&spec, &env.cells, &err);
	for (i = 0; !ret && i < PROGRAMS; i++)
		ret = load(&env, (enum program)i, &err);
	if (!ret)
		ret = map_mmap(env.cells, bytes, 1, &memory);
	if (ret == -EPERM || ret == -ENOSYS || ret == -EACCES) {
		print_message("skipped: %s\n", err.text);
		return 77;
	}
	if (ret) {
		print_error("%s: %s\n", strerror(-ret), err.text);
		return 1;
	}
	cells = memory;
	ret = cmocka_run_group_tests_name("times_code", tests, NULL, NULL);
	munmap(memory, bytes);
	for (i = 0; i < PROGRAMS; i++)
		close(programs[i]);
	close(env.cells);
	return ret;
}

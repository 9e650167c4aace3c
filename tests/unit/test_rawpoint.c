/* SPDX-License-Identifier: MIT */
/*
 * kernel/rawpoint: tracepoints of the scheduler are recorded both ways at the same time, and each pair of
 * records must be the same. Skipped where bpf(2) is refused, or the kernel's arguments are others.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/units.h"
#include "bpf/program.h"
#include "kernel/kernel_state.h"

#define ID_RAW KERNEL_ID_TRACEPOINTS
#define ID_COPIED (KERNEL_ID_TRACEPOINTS + 1)
#define SLEEPS 50
#define SPIN_NS (30 * (uint64_t)NSEC_PER_MSEC)

static struct kernel *kernel;
static const struct emit_machine *machine;
static struct types *types;

/* ---- what is recorded --------------------------------------------------------------------------- */

static void spin(void)
{
	struct timespec used;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while ((uint64_t)used.tv_sec * NSEC_PER_SEC + (uint64_t)used.tv_nsec < SPIN_NS);
}

static void stop(void)
{
	raise(SIGSTOP);
}

static void stop_traced(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
}

static pid_t start(void (*run)(void))
{
	pid_t child = fork();

	if (child < 0)
		_exit(1);
	if (!child) {
		run();
		_exit(0);
	}
	return child;
}

static void await(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		_exit(1);
}

/* The parent waits until its child ends, and can't be interrupted. */
static void await_vfork(void)
{
	/* longer than the parent takes to begin its wait, also on an emulated CPU */
	const struct timespec while_parent_waits = { .tv_nsec = 50000000 };
	/* the thread sanitizer replaces vfork(2) with fork(2), but not this; the child has its own memory */
	pid_t child = (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL);

	if (!child) {
		nanosleep(&while_parent_waits, NULL);
		_exit(0);
	}
	if (child < 0)
		_exit(1);
	await(child);
}

/*
 * Waits until a stopped child has left its CPU: a kernel that preempts itself may let the parent, which hears
 * of the stop, run before. Until then the child has not waited for anything.
 */
static void await_stop(pid_t child)
{
	const struct timespec little = { .tv_nsec = 100000 };
	char path[32], line[128];
	unsigned long switches = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)child);
	while (!switches) {
		file = fopen(path, "re");
		if (!file)
			_exit(1);
		while (!switches && fgets(line, sizeof(line), file))
			if (!strncmp(line, "voluntary_ctxt_switches:", 24))
				switches = strtoul(line + 24, NULL, 10);
		fclose(file);
		if (!switches)
			nanosleep(&little, NULL);
	}
}

/* Each state that a task can be left in, on one CPU, so that two that spin take turns. */
static void work(void)
{
	const struct timespec little = { .tv_nsec = 100000 };
	cpu_set_t cpus;
	pid_t child, other;
	int status;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		_exit(1);
	for (int i = 0; i < SLEEPS; i++)
		nanosleep(&little, NULL);
	await_vfork();
	child = start(stop);
	if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
		_exit(1);
	await_stop(child);
	if (kill(child, SIGCONT))
		_exit(1);
	await(child);
	child = start(stop_traced);
	if (waitpid(child, &status, 0) != child || ptrace(PTRACE_CONT, child, NULL, NULL))
		_exit(1);
	await(child);
	child = start(spin);
	other = start(spin);
	await(child);
	await(other);
}

/* ---- both ways ---------------------------------------------------------------------------------- */

struct both {
	struct point *point;
	int programs[2], links[2]; /* the one that makes the record, the one that copies the kernel's */
};

static void attach(const char *name, const struct filter *filter, struct both *both)
{
	struct err err = { "" };
	struct rawpoint raw;
	struct pointprogram_spec spec = { .filter = filter };
	struct program_spec loaded;

	if (kernel_read_point(name, &both->point, &err))
		fail_msg("%s", err.text);
	if (rawpoint_find(name, both->point, types, &raw)) {
		point_destroy(both->point);
		print_message("the kernel's %s is not one that is known\n", name);
		skip();
	}
	spec.point = both->point;
	spec.raw = &raw;
	spec.id = ID_RAW;
	if (pointprogram_load(machine, &spec, &both->programs[0], &loaded, &err) ||
		program_attach_tracing(both->programs[0], &both->links[0], &err))
		fail_msg("%s", err.text);
	spec.raw = NULL;
	spec.id = ID_COPIED;
	if (pointprogram_load(machine, &spec, &both->programs[1], &loaded, &err) ||
		program_attach_tracepoint(both->programs[1], both->point->event, &both->links[1], &err))
		fail_msg("%s", err.text);
}

static void detach(struct both *both)
{
	for (int i = 0; i < 2; i++) {
		close(both->links[i]);
		close(both->programs[i]);
	}
}

/* By a process of its own, since those of this one are left out. */
static void record(void)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		work();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

struct pairs {
	uint64_t made, copied, pairs; /* records of either way, and pairs of both */
	uint64_t states; /* by bits: those that were seen */
};

static void compare(const struct point *point, const struct kernel_record *made,
	const struct kernel_record *copied)
{
	const char *a = (const char *)(made + 1), *b = (const char *)(copied + 1);

	assert_int_equal(KERNEL_HEAD_UNITS(made->head), KERNEL_HEAD_UNITS(copied->head));
	for (uint32_t i = 0; i < point->count; i++) {
		const struct point_field *field = &point->fields[i];

		if (memcmp(a + field->offset - 8, b + field->offset - 8, field->bytes) != 0)
			fail_msg("the field %s of %.16s differs", field->name, made->comm);
	}
	assert_int_equal(made->tid, copied->tid);
}

static uint64_t state_of(const struct point *point, const struct kernel_record *record)
{
	uint64_t state = 0;

	for (uint32_t i = 0; i < point->count; i++)
		if (strcmp(point->fields[i].name, "prev_state") == 0)
			memcpy(&state, (const char *)(record + 1) + point->fields[i].offset - 8,
				sizeof(state));
	return state;
}

/*
 * Both programs run one after the other with interrupts off, always in the same order: their records stand
 * side by side.
 */
static void read_cpu(struct rings *rings, uint32_t cpu, const struct point *point, struct pairs *pairs)
{
	const struct kernel_record *record, *before = NULL;
	struct rings_copy copy;
	uint32_t first = 0, id;
	uint64_t at;

	assert_int_equal(rings_copy(rings, cpu, 0, true, &copy), 0);
	at = copy.begin;
	while ((record = rings_next(&copy, &at))) {
		id = KERNEL_HEAD_ID(record->head);
		first = first ? first : id;
		pairs->made += id == ID_RAW;
		pairs->copied += id == ID_COPIED;
		if (before && id != first) {
			compare(point, id == ID_RAW ? record : before, id == ID_RAW ? before : record);
			pairs->pairs++;
			pairs->states |= state_of(point, record);
		}
		before = id == first ? record : NULL;
	}
	rings_copy_clear(&copy);
}

/* Since the rings are empty at first; they are given back with the kernel. */
static void make_kernel(void)
{
	struct err err = { "" };
	int ret;

	kernel = kernel_create(RINGS_KB_DEFAULT, 64 * GIB);
	ret = kernel_hold(kernel, &machine, &err);
	if (!ret)
		ret = types_open(NULL, &types, &err);
	if (ret) {
		print_message("%s\n", err.text);
		skip();
	}
}

static void assert_same(const char *name, const char *filter_text, struct pairs *pairs)
{
	struct rings *rings;
	struct both both;
	struct filter *filter = NULL;
	struct err err = { "" };

	make_kernel();
	if (filter_text) {
		if (kernel_read_point(name, &both.point, &err) ||
			point_filter(both.point, filter_text, &filter, &err))
			fail_msg("%s", err.text);
		point_destroy(both.point);
	}
	/* both begin at the same event */
	kernel_enable(kernel, false);
	attach(name, filter, &both);
	kernel_enable(kernel, true);
	record();
	kernel_enable(kernel, false);
	detach(&both);
	*pairs = (struct pairs){ 0 };
	rings = kernel_get_rings(kernel);
	for (uint32_t cpu = 0; cpu < rings_cpus(rings); cpu++)
		read_cpu(rings, cpu, both.point, pairs);
	kernel_put_rings(kernel, rings);
	filter_destroy(filter);
	point_destroy(both.point);
	types_close(types);
	kernel_release(kernel);
	kernel_destroy(kernel);
	/* the kernel drops the one that copies while another such program is interrupted */
	if (pairs->copied > pairs->made + 2)
		fail_msg("%llu records are made, and %llu copied", (unsigned long long)pairs->made,
			(unsigned long long)pairs->copied);
	assert_true(pairs->pairs * 10 >= pairs->made * 9);
	assert_true(pairs->pairs > 0);
}

static void test_switches_are_the_same_in_all_states(void **state)
{
	/*
	 * interruptible, uninterruptible, stopped, traced, an ended one. A task that is preempted in user
	 * space is left as running; 0x100 is one that is preempted in the kernel, which no program can force.
	 */
	static const uint64_t states[] = { 0x1, 0x2, 0x4, 0x8, 0x10 | 0x20 };
	struct pairs pairs;

	assert_same("sched:sched_switch", NULL, &pairs);
	assert_true(pairs.pairs > SLEEPS);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!(pairs.states & states[i]))
			fail_msg("no task was left in state %#x", (unsigned int)states[i]);
}

static void test_filters_see_the_same_fields(void **state)
{
	struct pairs pairs;

	assert_same("sched:sched_switch",
		"prev_state == 1 && prev_comm == \"test_rawpoint\" && next_pid != 1 && prev_prio > 0",
		&pairs);
	assert_int_equal(pairs.states, 1);
}

static void test_wakeups_are_the_same(void **state)
{
	struct pairs pairs;

	assert_same("sched:sched_wakeup", NULL, &pairs);
	assert_same("sched:sched_waking", NULL, &pairs);
	assert_same("sched:sched_wakeup_new", NULL, &pairs);
}

static void test_other_fields_are_copied(void **state)
{
	static const char other[] = "name: sched_wakeup\nID: 7\nformat:\n"
				    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
				    "\tfield:int success;\toffset:28;\tsize:4;\tsigned:1;\n";
	static const char gap[] = "name: sched_wakeup\nID: 7\nformat:\n"
				  "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				  "\tfield:pid_t pid;\toffset:28;\tsize:4;\tsigned:1;\n";
	/* without the text that says what the bits of a state are */
	static const char states[] = "name: sched_switch\nID: 7\nformat:\n"
				     "\tfield:long prev_state;\toffset:8;\tsize:8;\tsigned:1;\n";
	static const struct {
		const char *name, *format;
		int line;
	} rows[] = {
		{ "sched:sched_wakeup", other, __LINE__ },
		{ "sched:sched_wakeup", gap, __LINE__ },
		{ "sched:sched_switch", states, __LINE__ },
		{ "sched:sched_stat_runtime", gap, __LINE__ },
	};
	struct err err = { "" };

	if (types_open(NULL, &types, &err)) {
		print_message("%s\n", err.text);
		skip();
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rawpoint raw;
		struct point *point;

		assert_int_equal(point_parse(rows[i].format, &point, &err), 0);
		if (rawpoint_find(rows[i].name, point, types, &raw) != -EOPNOTSUPP)
			fail_msg("line %d: it is made from the arguments", rows[i].line);
		point_destroy(point);
	}
	types_close(types);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_switches_are_the_same_in_all_states),
		cmocka_unit_test(test_filters_see_the_same_fields),
		cmocka_unit_test(test_wakeups_are_the_same),
		cmocka_unit_test(test_other_fields_are_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

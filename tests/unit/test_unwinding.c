/* SPDX-License-Identifier: MIT */
/*
 * capture/unwinding: captures that were made by hand, with children of the test as parsers, get
 * samples with complete stacks; all other bytes stay the same.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib.h>

#include "symbolizer/proto.h"
#include "symbolizer/unwind_row.h"
#include "tests/fixtures/gen.h"
#include "capture/unwinding.h"

#define MACHINE 62 /* x86_64 */
#define RBP 6
#define RSP 7
#define RA 16

/* How long what is to come at once is waited for. */
#define PATIENCE_MS 20000

#define PID 42
#define CPU 3
#define SP 0x7ffc0000ull
#define BASE 0x400000ull
#define PC (BASE + 0x1000)

/* ---- parsers --------------------------------------------------------------------------------- */

enum behaviour { ANSWERS, SAYS_NONSENSE, ENDS, RUNS_ON };

static enum behaviour behaviour;
static int connects;

/*
 * CFA = rsp + 16, the return address below it; but what returns to 0x1300 and above, whose call
 * ends a byte before, has no caller.
 */
static void answer(struct proto_message *message)
{
	struct unwind_row row = {.machine = MACHINE, .return_reg = RA, .reg_count = 17};
	uint64_t offset = message->address;
	unsigned int i;

	proto_init(message, PROTO_ROW);
	if (offset < 0x1000 && behaviour != RUNS_ON) {
		message->head.error = -ENOENT;
		return;
	}
	for (i = 0; i < 17; i++)
		row.regs[i].rule = UNWIND_ROW_SAME;
	row.cfa = (struct unwind_row_value){.rule = UNWIND_ROW_REGISTER, .reg = RSP, .number = 16};
	row.regs[RA] = (struct unwind_row_value){.rule = UNWIND_ROW_AT_CFA, .number = -8};
	if (offset >= 0x12ff)
		row.regs[RA].rule = UNWIND_ROW_UNDEFINED;
	if (behaviour == SAYS_NONSENSE)
		row.return_reg = 200;
	if (behaviour == RUNS_ON) { /* each place is its own caller, a byte higher */
		row.cfa.number = 1;
		row.regs[RA].rule = UNWIND_ROW_SAME;
	}
	message->head.count = (uint32_t)unwind_row_bytes(&row);
	memcpy(message->tail.bytes, &row, message->head.count);
}

static int connect_parser(void *self, const struct symbols_file *file, const struct symbols_how *how)
{
	struct proto_message *message;
	int pair[2];
	pid_t pid;

	(void)self;
	(void)how;
	assert_string_equal(file->path, "/bin/program");
	connects++;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid) {
		close(pair[1]);
		return pair[0];
	}
	close(pair[0]);
	message = g_new(struct proto_message, 1);
	while (behaviour != ENDS && proto_receive(pair[1], message, NULL, NULL) == 0) {
		answer(message);
		if (proto_send(pair[1], message, -1, NULL))
			break;
	}
	/* what runs at an exit, under valgrind, would write the stream of the parent again */
	kill(getpid(), SIGKILL);
	return -1;
}

static const struct symbols_source with_parsers = { .connect = connect_parser };
static const struct symbols_source without_parsers;

/* ---- captures -------------------------------------------------------------------------------- */

/* Where it returns to: words 1, 3, 5 are return addresses by the rows above. */
static const uint64_t words[] = { 1, BASE + 0x1100, 2, BASE + 0x1200, 3, BASE + 0x1300, 4, 5 };

static void put_stack(struct gen *gen, uint64_t time, uint16_t depth, uint64_t rbp)
{
	size_t i;

	gen_begin(gen);
	gen_u64(gen, time);
	gen_u32(gen, PID);
	gen_u16(gen, CPU);
	gen_u16(gen, MACHINE);
	gen_u16(gen, depth);
	gen_u16(gen, 17);
	gen_u32(gen, sizeof(words));
	for (i = 0; i < 17; i++)
		gen_u64(gen, i == RSP ? SP : i == RBP ? rbp : i == RA ? PC : 0);
	for (i = 0; i < G_N_ELEMENTS(words); i++)
		gen_u64(gen, words[i]);
	gen_end(gen, 74);
}

static void begin_capture(struct gen *gen)
{
	gen_init(gen, false);
	gen_clock(gen, 1, 2);
	gen_event(gen, 1, 1000, 0, "cpu-clock");
	gen_new_process(gen, 10, PID, "/bin/program");
	gen_mmap(gen, 10, PID, BASE, 0x2000, 0, "/bin/program");
}

/* Returns the result, to be freed. */
static uint8_t *unwind(const struct gen *gen, const struct symbols_source *source, size_t *size,
	struct unwinding_counts *counts)
{
	struct symbols *symbols = symbols_create(source, NULL, 0);
	struct decoder decoder;
	struct stat st;
	uint8_t *bytes;
	bool needed;
	struct err err = { "" };
	int fd;

	connects = 0;
	decode_init_memory(&decoder, gen->bytes->data, gen->bytes->len);
	assert_int_equal(unwinding_is_needed(&decoder, &needed), 0);
	assert_true(needed);
	if (unwinding_make(&decoder, symbols, NULL, &fd, counts, &err))
		fail_msg("%s", err.text);
	symbols_destroy(symbols);
	decode_fini(&decoder);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = g_malloc((gsize)st.st_size + 1);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size + 1), st.st_size);
	close(fd);
	*size = (size_t)st.st_size;
	return bytes;
}

/* The capture with `expected` in place of what is unwound: the same bytes. */
static void check_same(const struct gen *expected, const uint8_t *bytes, size_t size, int line)
{
	if (size != expected->bytes->len || memcmp(bytes, expected->bytes->data, size) != 0)
		fail_msg("line %d: %zu bytes, not the %u expected, or others", line, size,
			expected->bytes->len);
}

struct case_row {
	int line;
	int type;
	uint16_t count;
	uint64_t frames[8]; /* of the sample as taken */
	uint16_t depth;
	uint64_t rbp;
	bool rows; /* a parser answers */
	enum behaviour behaviour;
	uint16_t whole_count;
	uint64_t whole[8];
	uint64_t complete;
};

#define R(n) (BASE + 0x1000 + (n))

static const struct case_row cases[] = {
	{ __LINE__, 2, 1, { PC }, 127, 0, true, ANSWERS, 4, { PC, R(0x100), R(0x200), R(0x300) }, 1 },
	{ __LINE__, 1, 4, { 9, 8, GEN_USER, PC }, 127, 0, true, ANSWERS, 7,
		{ 9, 8, GEN_USER, PC, R(0x100), R(0x200), R(0x300) }, 1 },
	/* at most DEPTH frames, of both sides together */
	{ __LINE__, 2, 1, { PC }, 3, 0, true, ANSWERS, 3, { PC, R(0x100), R(0x200) }, 0 },
	{ __LINE__, 1, 4, { 9, 8, GEN_USER, PC }, 4, 0, true, ANSWERS, 5,
		{ 9, 8, GEN_USER, PC, R(0x100) }, 0 },
	{ __LINE__, 1, 4, { 9, 8, GEN_USER, PC }, 3, 0, true, ANSWERS, 4, { 9, 8, GEN_USER, PC }, 0 },
	{ __LINE__, 2, 1, { PC }, 0, 0, true, ANSWERS, 1, { PC }, 0 },
	/* no row: the frame pointer, as far as it leads: to words 2 and 3, then nowhere */
	{ __LINE__, 2, 1, { PC }, 127, SP + 16, false, ANSWERS, 2, { PC, R(0x200) }, 0 },
	{ __LINE__, 2, 1, { PC }, 127, SP + 16, true, SAYS_NONSENSE, 2, { PC, R(0x200) }, 0 },
	{ __LINE__, 2, 1, { PC }, 127, SP + 16, true, ENDS, 2, { PC, R(0x200) }, 0 },
	{ __LINE__, 2, 1, { PC }, 127, 0, false, ANSWERS, 1, { PC }, 0 },
	/* a frame pointer that leads to what is no place in the program */
	{ __LINE__, 2, 1, { PC }, 127, SP + 8, false, ANSWERS, 1, { PC }, 0 },
};

static void check_case(const struct case_row *row)
{
	struct unwinding_counts counts;
	struct gen gen, expected;
	g_autofree uint8_t *bytes = NULL;
	size_t size;

	behaviour = row->behaviour;
	begin_capture(&gen);
	gen_period(&gen, CPU, 1, 77);
	put_stack(&gen, 100, row->depth, row->rbp);
	gen_trace(&gen, row->type, 1, 100, PID, CPU, row->count, row->frames);
	gen_lost(&gen, CPU, 1, 2, 5);
	begin_capture(&expected);
	gen_period(&expected, CPU, 1, 77);
	gen_trace(&expected, row->type, 1, 100, PID, CPU, row->whole_count, row->whole);
	gen_lost(&expected, CPU, 1, 2, 5);
	bytes = unwind(&gen, row->rows ? &with_parsers : &without_parsers, &size, &counts);
	check_same(&expected, bytes, size, row->line);
	if (counts.stacks != 1 || counts.complete != row->complete)
		fail_msg("line %d: %d of %d complete", row->line, (int)counts.complete,
			(int)counts.stacks);
	gen_fini(&gen);
	gen_fini(&expected);
}

static void test_stacks_are_unwound_case_by_case(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < G_N_ELEMENTS(cases); i++)
		check_case(&cases[i]);
}

/*
 * A stack whose sample is missing is left out and given to no other sample. One parser serves all
 * samples.
 */
static void test_stray_stack_belongs_to_no_other_sample(void **state)
{
	static const uint64_t pc = PC, more[] = { PC, R(0x100), R(0x200), R(0x300) };
	struct unwinding_counts counts;
	struct gen gen, expected;
	g_autofree uint8_t *bytes = NULL;
	size_t size;
	uint64_t time;

	(void)state;
	behaviour = ANSWERS;
	begin_capture(&gen);
	begin_capture(&expected);
	put_stack(&gen, 100, 127, 0);
	put_stack(&gen, 101, 127, 0);
	gen_trace(&gen, 2, 1, 100, PID, CPU, 1, &pc); /* another time */
	gen_trace(&expected, 2, 1, 100, PID, CPU, 1, &pc);
	put_stack(&gen, 102, 127, 0);
	gen_trace(&gen, 2, 1, 102, PID, CPU + 1, 1, &pc);
	gen_trace(&expected, 2, 1, 102, PID, CPU + 1, 1, &pc);
	put_stack(&gen, 103, 127, 0);
	gen_lost(&gen, CPU, 1, 2, 1); /* something between */
	gen_lost(&expected, CPU, 1, 2, 1);
	gen_trace(&gen, 2, 1, 103, PID, CPU, 1, &pc);
	gen_trace(&expected, 2, 1, 103, PID, CPU, 1, &pc);
	for (time = 200; time < 300; time++) {
		put_stack(&gen, time, 127, 0);
		gen_trace(&gen, 2, 1, time, PID, CPU, 1, &pc);
		gen_trace(&expected, 2, 1, time, PID, CPU, 4, more);
	}
	put_stack(&gen, 400, 127, 0); /* the last */
	bytes = unwind(&gen, &with_parsers, &size, &counts);
	check_same(&expected, bytes, size, __LINE__);
	assert_int_equal(counts.complete, 100);
	assert_int_equal(connects, 1);
	gen_fini(&gen);
	gen_fini(&expected);
}

/* A file whose tables have no end: stacks as long as may be, and not much more than came in. */
static void test_endless_tables_give_bounded_stacks(void **state)
{
	static const uint64_t pc = PC;
	struct unwinding_counts counts;
	struct gen gen;
	g_autofree uint8_t *bytes = NULL;
	uint64_t time;
	size_t size;

	(void)state;
	behaviour = RUNS_ON;
	begin_capture(&gen);
	for (time = 0; time < 2000; time++) {
		put_stack(&gen, time, 127, 0);
		gen_trace(&gen, 2, 1, time, PID, CPU, 1, &pc);
	}
	bytes = unwind(&gen, &with_parsers, &size, &counts);
	assert_int_equal(counts.stacks, 2000);
	assert_true(size > gen.bytes->len); /* 2000 * 126 * 8 bytes would come */
	assert_true(size < gen.bytes->len + (1 << 20));
	gen_fini(&gen);
}

/* Cut anywhere, the rest is what it would be, and ends in what is cut. */
static void test_cut_capture_gives_its_whole_samples(void **state)
{
	static const uint64_t pc = PC;
	struct gen gen;
	guint whole, len;

	(void)state;
	behaviour = ANSWERS;
	begin_capture(&gen);
	put_stack(&gen, 100, 127, 0);
	gen_trace(&gen, 2, 1, 100, PID, CPU, 1, &pc);
	put_stack(&gen, 101, 127, 0);
	whole = gen.bytes->len;
	gen_trace(&gen, 2, 1, 101, PID, CPU, 1, &pc);
	for (len = gen.bytes->len; len > whole; len--) {
		struct unwinding_counts counts;
		g_autofree uint8_t *bytes = NULL;
		size_t size;

		gen.bytes->len = len;
		bytes = unwind(&gen, &without_parsers, &size, &counts);
		if (len > whole && counts.stacks == 1)
			assert_memory_equal(bytes + size - (len - whole), gen.bytes->data + whole,
				len - whole);
	}
	gen_fini(&gen);
}

/*
 * Registers or bytes are missing: the record stays as damaged as it is, and its stack belongs to no
 * sample.
 */
static void test_damaged_stack_belongs_to_no_sample(void **state)
{
	static const uint64_t pc = PC;
	size_t field;

	(void)state;
	behaviour = ANSWERS;
	for (field = 18; field <= 20; field += 2) { /* n, then s, in the payload */
		struct unwinding_counts counts;
		struct gen gen;
		g_autofree uint8_t *bytes = NULL;
		size_t size, damaged, all;

		begin_capture(&gen);
		put_stack(&gen, 100, 127, 0);
		gen_trace(&gen, 2, 1, 100, PID, CPU, 1, &pc);
		damaged = gen.bytes->len;
		put_stack(&gen, 101, 127, 0);
		all = gen.bytes->len;
		gen.bytes->data[all - 24 - 17 * 8 - sizeof(words) + field] += 1;
		gen_trace(&gen, 2, 1, 101, PID, CPU, 1, &pc);
		bytes = unwind(&gen, &with_parsers, &size, &counts);
		assert_int_equal(counts.stacks, 1);
		assert_memory_equal(bytes + size - (gen.bytes->len - damaged),
			gen.bytes->data + damaged, gen.bytes->len - damaged);
		gen_fini(&gen);
	}
}

static void test_capture_without_copied_stacks_needs_no_unwinding(void **state)
{
	static const uint64_t pc = PC;
	struct decoder decoder;
	struct gen gen;
	bool needed;

	(void)state;
	begin_capture(&gen);
	gen_trace(&gen, 2, 1, 100, PID, CPU, 1, &pc);
	decode_init_memory(&decoder, gen.bytes->data, gen.bytes->len);
	assert_int_equal(unwinding_is_needed(&decoder, &needed), 0);
	assert_false(needed);
	assert_int_equal(decoder.offset, 0);
	decode_fini(&decoder);
	gen_fini(&gen);
}

static bool always(void *arg)
{
	(void)arg;
	return true;
}

/* Takes as long as it is not cancelled. */
static int connect_slowly(void *self, const struct symbols_file *file, const struct symbols_how *how)
{
	struct pollfd cancel = { .fd = how->cancel_fd, .events = POLLIN };

	(void)self;
	(void)file;
	assert_int_equal(poll(&cancel, 1, PATIENCE_MS), 1);
	return -ECANCELED;
}

static void test_cancelled_unwinding_is_interrupted(void **state)
{
	const struct symbols_source slow = { .connect = connect_slowly };
	struct symbols *symbols = symbols_create(&slow, NULL, 0);
	struct cancel cancel = { .cancelled = always };
	struct decoder decoder;
	struct err err = { "" };
	struct gen gen;
	uint64_t pc = PC;
	int i, fd = -7;

	(void)state;
	cancel.cancel_fd = eventfd(1, EFD_CLOEXEC);
	assert_true(cancel.cancel_fd >= 0);
	begin_capture(&gen);
	put_stack(&gen, 100, 127, 0);
	gen_trace(&gen, 2, 1, 100, PID, CPU, 1, &pc);
	for (i = 0; i < 1000; i++)
		gen_period(&gen, CPU, 1, 77);
	decode_init_memory(&decoder, gen.bytes->data, gen.bytes->len);
	assert_int_equal(unwinding_make(&decoder, symbols, &cancel, &fd, NULL, &err), -EINTR);
	assert_int_equal(fd, -7);
	close(cancel.cancel_fd);
	symbols_destroy(symbols);
	gen_fini(&gen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks_are_unwound_case_by_case),
		cmocka_unit_test(test_stray_stack_belongs_to_no_other_sample),
		cmocka_unit_test(test_endless_tables_give_bounded_stacks),
		cmocka_unit_test(test_cut_capture_gives_its_whole_samples),
		cmocka_unit_test(test_damaged_stack_belongs_to_no_sample),
		cmocka_unit_test(test_capture_without_copied_stacks_needs_no_unwinding),
		cmocka_unit_test(test_cancelled_unwinding_is_interrupted),
	};

	signal(SIGCHLD, SIG_IGN); /* the parsers are not waited for */
	return cmocka_run_group_tests(tests, NULL, NULL);
}

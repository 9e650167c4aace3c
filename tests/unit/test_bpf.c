/* SPDX-License-Identifier: MIT */
/*
 * bpf/types, bpf/map, bpf/program and bpf/machine with the running kernel. Skipped where bpf(2) is
 * refused or the kernel does not describe its types.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/code.h"
#include "bpf/machine.h"
#include "bpf/map.h"
#include "bpf/program.h"
#include "bpf/stub.h"
#include "bpf/types.h"

#define CALLS 1000

static struct types *types;

/* ---- types -------------------------------------------------------------------------------------- */

/* Structs that programs share with the kernel have the same layout in the headers of the C library. */
static void test_fields_are_where_the_headers_have_them(void **state)
{
	struct types_field field;

	(void)state;
	assert_int_equal(types_field_of(types, "sockaddr_in", "sin_port", &field, NULL), 0);
	assert_int_equal(field.offset, offsetof(struct sockaddr_in, sin_port));
	assert_int_equal(field.value.bytes, 2);
	assert_int_equal(field.value.class, TYPES_INTEGER);
	assert_false(field.value.is_signed);
	assert_int_equal(types_field_of(types, "sockaddr_in", "sin_addr.s_addr", &field, NULL), 0);
	assert_int_equal(field.offset, offsetof(struct sockaddr_in, sin_addr.s_addr));
	/* an array within a union within a struct */
	assert_int_equal(types_field_of(types, "sockaddr_in6", "sin6_addr.in6_u.u6_addr8", &field, NULL), 0);
	assert_int_equal(field.offset, offsetof(struct sockaddr_in6, sin6_addr));
	assert_int_equal(field.value.class, TYPES_ARRAY);
	assert_int_equal(field.value.count, 16);
	assert_int_equal(field.value.bytes, 16);
	/* two bit fields in the first byte */
	assert_int_equal(types_field_of(types, "iphdr", "version", &field, NULL), 0);
	assert_int_equal(field.offset, 0);
	assert_int_equal(field.bits, 4);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	assert_int_equal(field.bit_shift, 4);
#endif
	assert_int_equal(types_field_of(types, "task_struct", "comm", &field, NULL), 0);
	assert_int_equal(field.value.count, 16);
	assert_true(field.value.is_char);
	assert_int_equal(types_field_of(types, "task_struct", "real_parent", &field, NULL), 0);
	assert_int_equal(field.value.class, TYPES_POINTER);
	assert_string_equal(field.value.name, "task_struct");
}

static void test_unknown_names_are_reported(void **state)
{
	struct err err = { "" };
	struct types_function function;
	struct types_field field;
	const char *name;

	(void)state;
	assert_int_equal(types_field_of(types, "no_struct", "x", &field, &err), -ENOENT);
	assert_string_equal(err.text, "this kernel has no struct 'no_struct'");
	assert_int_equal(types_field_of(types, "sockaddr_in", "sin_addr.no", &field, &err), -ENOENT);
	assert_string_equal(err.text, "'in_addr' of this kernel has no field 'no'");
	assert_int_equal(types_field_of(types, "sockaddr_in", "sin_por", &field, &err), -ENOENT);
	assert_int_equal(types_field_of(types, "sockaddr_in", "", &field, &err), -ENOENT);
	assert_int_equal(types_field_of(types, "sockaddr_in", "sin_addr.", &field, &err), -ENOENT);
	assert_int_equal(types_field_of(types, "sockaddr_in", "sin_port.x", &field, &err), -ENOENT);
	assert_int_equal(types_function(types, "no_function", &function), -ENOENT);
	assert_int_equal(types_tracepoint(types, "no_tracepoint", &function), -ENOENT);
	assert_int_equal(types_find(types, TYPES_ENUM, "sockaddr_in"), 0);
	assert_int_equal(types_field_at(types, types_find(types, TYPES_STRUCT, "in_addr"), 1, &name, &field),
		-ENOENT);
	assert_int_equal(types_open("/dev/null", &types, &err), -EINVAL);
}

static void test_arguments_have_names_and_types(void **state)
{
	struct types_function function;

	(void)state;
	assert_int_equal(types_tracepoint(types, "sys_enter", &function), 0);
	assert_int_equal(function.count, 2); /* struct pt_regs *regs, long id */
	assert_int_equal(function.params[0].value.class, TYPES_POINTER);
	assert_string_equal(function.params[0].value.name, "pt_regs");
	assert_int_equal(function.params[1].value.bytes, sizeof(long));
	assert_true(function.params[1].value.is_signed);
	assert_int_equal(types_function(types, "bpf_fentry_test2", &function), 0);
	assert_int_equal(function.count, 2); /* int bpf_fentry_test2(int a, u64 b) */
	assert_string_equal(function.params[0].name, "a");
	assert_string_equal(function.params[1].value.name, "u64");
	assert_int_equal(function.params[1].value.bytes, 8);
	assert_int_equal(function.result.value.class, TYPES_INTEGER);
}

static void test_enums_have_names(void **state)
{
	uint32_t type = types_find(types, TYPES_ENUM, "bpf_map_type");
	int64_t value;

	(void)state;
	assert_string_equal(types_enum_name(types, type, BPF_MAP_TYPE_ARRAY), "BPF_MAP_TYPE_ARRAY");
	assert_null(types_enum_name(types, type, 123456));
	assert_int_equal(types_enum_value(types, type, "BPF_MAP_TYPE_LRU_HASH", &value), 0);
	assert_int_equal(value, BPF_MAP_TYPE_LRU_HASH);
	assert_int_equal(types_constant(types, "BPF_PROG_TYPE_TRACING", &value), 0);
	assert_int_equal(value, BPF_PROG_TYPE_TRACING);
	assert_int_equal(types_constant(types, "NO_SUCH_CONSTANT", &value), -ENOENT);
}

/* ---- programs ----------------------------------------------------------------------------------- */

/* Adds 1 to the only value of the array if this thread calls getppid. */
static void count_getppid(struct code *code, int map)
{
	int out = code_label(code);

	code_load(code, BPF_DW, BPF_REG_6, BPF_REG_1, 8); /* the second argument of sys_enter */
	code_jump_if_imm(code, BPF_JNE, BPF_REG_6, SYS_getppid, out);
	code_call(code, BPF_FUNC_get_current_pid_tgid);
	code_jump_if_imm(code, BPF_JEQ, BPF_REG_0, 0, out);
	code_alu32(code, BPF_MOV, BPF_REG_0, BPF_REG_0);
	code_jump_if_imm(code, BPF_JNE, BPF_REG_0, (int32_t)syscall(SYS_gettid), out);
	code_map_value(code, BPF_REG_1, map, 8);
	code_mov_imm(code, BPF_REG_2, 1);
	code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_1, 0, BPF_REG_2);
	code_place(code, out);
	code_return(code, 0);
}

static void call_getppid(void)
{
	int i;

	for (i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
}

/* Exactly the calls between attaching and the close of the link are counted, in shared memory. */
static void check_counting(enum bpf_prog_type type)
{
	struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_test", .key_bytes = 4,
		.value_bytes = 16, .entries = 1, .flags = BPF_F_MMAPABLE };
	struct program_spec program = { .name = "kp_test", .type = type };
	struct types_function tracepoint;
	struct program_counts counts;
	struct err err = { "" };
	struct code code;
	int map, fd, link, rc;
	volatile uint64_t *value;
	void *memory;

	assert_int_equal(map_create(&spec, &map, &err), 0);
	assert_int_equal(map_mmap(map, 16, 0, &memory), 0);
	value = memory;
	if (type == BPF_PROG_TYPE_TRACING) {
		assert_int_equal(types_tracepoint(types, "sys_enter", &tracepoint), 0);
		program.attach = BPF_TRACE_RAW_TP;
		program.attach_type_id = tracepoint.type;
	}
	code_init(&code);
	count_getppid(&code, map);
	assert_int_equal(code_finish(&code, &err), 0);
	rc = program_load(&program, &code, &fd, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(rc, 0);
	code_fini(&code);
	call_getppid();
	assert_int_equal(value[1], 0);
	if (type == BPF_PROG_TYPE_TRACING)
		assert_int_equal(program_attach_tracing(fd, &link, &err), 0);
	else
		assert_int_equal(program_attach_raw(fd, "sys_enter", &link, &err), 0);
	call_getppid();
	assert_int_equal(value[1], CALLS);
	close(link);
	call_getppid();
	assert_int_equal(value[1], CALLS);
	assert_int_equal(value[0], 0);
	assert_int_equal(program_counts(fd, &counts), 0);
	assert_int_equal(counts.missed, 0);
	close(fd);
	close(map);
	munmap(memory, 16);
}

static void test_a_tracepoint_counts_exactly(void **state)
{
	(void)state;
	check_counting(BPF_PROG_TYPE_TRACING);
}

static void test_a_raw_tracepoint_counts_exactly(void **state)
{
	(void)state;
	check_counting(BPF_PROG_TYPE_RAW_TRACEPOINT);
}

/* A program that returns a number. */
static int load_number(const struct program_spec *spec, int number)
{
	struct err err = { "" };
	struct code code;
	int fd;

	code_init(&code);
	code_return(&code, number);
	assert_int_equal(code_finish(&code, &err), 0);
	assert_int_equal(program_load(spec, &code, &fd, &err), 0);
	code_fini(&code);
	return fd;
}

static void assert_result(int program, uint32_t expected)
{
	const uint64_t args[1] = { 0 };
	uint32_t result;

	assert_int_equal(program_run(program, args, 1, &result), 0);
	assert_int_equal(result, expected);
}

/* It has the result of the program that was put last, and of none whose type is another one. */
static void test_a_stub_calls_the_newest_program(void **state)
{
	const struct program_spec spec = { .name = "kp_test", .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	const struct program_spec other = { .name = "kp_test", .type = BPF_PROG_TYPE_TRACEPOINT };
	struct err err = { "" };
	int program = load_number(&spec, 41), stub, array;

	(void)state;
	assert_int_equal(stub_load(&spec, program, &stub, &array, &err), 0);
	close(program);
	assert_result(stub, 41);
	program = load_number(&spec, 42);
	assert_int_equal(stub_replace(array, program), 0);
	close(program);
	assert_result(stub, 42);
	program = load_number(&other, 43);
	assert_int_equal(stub_replace(array, program), -EINVAL);
	assert_int_equal(stub_load(&spec, program, &stub, &array, &err), -EINVAL);
	close(program);
	assert_result(stub, 42);
	close(array);
	close(stub);
}

/* A read of a register that was never set: the last line that the verifier writes about it. */
static void test_refused_programs_say_why(void **state)
{
	struct program_spec program = { .name = "kp_test", .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	struct err err = { "" };
	struct code code;
	int fd = 4711;

	(void)state;
	code_init(&code);
	code_mov(&code, BPF_REG_0, BPF_REG_5);
	code_exit(&code);
	assert_int_equal(code_finish(&code, &err), 0);
	assert_int_equal(program_load(&program, &code, &fd, &err), -EACCES);
	assert_string_equal(err.text, "the kernel refuses the program 'kp_test': R5 !read_ok");
	assert_int_equal(fd, 4711);
	code_fini(&code);
}

static void give_up_capabilities(void)
{
	if (setresuid(65534, 65534, 65534) != 0)
		_exit(2);
}

static void forbid_bpf(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(rules) / sizeof(*rules), rules };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		_exit(2);
}

static int try_program(struct err *err)
{
	return machine_try_program(err);
}

static int try_map(struct err *err)
{
	struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_test", .key_bytes = 4,
		.value_bytes = 8, .entries = 1 };
	int fd;

	return map_create(&spec, &fd, err);
}

/* Whether it is refused with EPERM and these words, in a process that has given something up. */
static bool is_refused(void (*give_up)(void), int (*try_it)(struct err *), const char *words)
{
	struct err err = { "" };
	int status;
	pid_t child = fork();

	if (child == 0) {
		give_up();
		if (try_it(&err) == -EPERM && strstr(err.text, words))
			_exit(0);
		fprintf(stderr, "'%s' is not in '%s'\n", words, err.text);
		_exit(1);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* The capabilities are named as what is missing only where they are missing. */
static void test_missing_rights_are_named(void **state)
{
	(void)state;
	assert_int_equal(machine_try_program(NULL), 0);
	assert_true(is_refused(give_up_capabilities, try_program,
		"'kp_try': it needs the capabilities CAP_BPF and CAP_PERFMON"));
	assert_true(is_refused(forbid_bpf, try_program, "although this process has the capabilities"));
	assert_true(is_refused(forbid_bpf, try_program, "a security module forbids programs of this kind"));
	assert_true(is_refused(forbid_bpf, try_map, "although this process has CAP_BPF and CAP_PERFMON"));
}

static void test_keys_are_walked(void **state)
{
	struct map_spec spec = { .type = BPF_MAP_TYPE_HASH, .name = "kp_test", .key_bytes = 4,
		.value_bytes = 8, .entries = 2 };
	struct map_spec wrong = { .type = BPF_MAP_TYPE_HASH, .name = "kp_test", .entries = 2 };
	uint64_t value = 7, got = 0;
	uint32_t key, seen = 0, *last = NULL, last_key;
	struct err err = { "" };
	int map;

	(void)state;
	assert_int_equal(map_create(&spec, &map, &err), 0);
	for (key = 1; key <= 2; key++)
		assert_int_equal(map_update(map, &key, &value, BPF_NOEXIST), 0);
	key = 3;
	assert_int_equal(map_update(map, &key, &value, 0), -E2BIG);
	while (map_next_key(map, last, &key) == 0) {
		seen |= 1u << key;
		last_key = key;
		last = &last_key;
	}
	assert_int_equal(seen, 6);
	assert_int_equal(map_lookup(map, last, &got), 0);
	assert_int_equal(got, 7);
	assert_int_equal(map_delete(map, last), 0);
	assert_int_equal(map_lookup(map, last, &got), -ENOENT);
	close(map);
	assert_int_equal(map_create(&wrong, &map, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'kp_test'"));
	assert_true(map_possible_cpus() >= sysconf(_SC_NPROCESSORS_ONLN));
}

/* Each part works, or has an errno and a sentence; what was used above works. */
static void test_the_machine_says_what_works(void **state)
{
	struct machine machine;
	struct err err = { "" };
	int part, rc;

	(void)state;
	machine_look(&machine, types, 0, NULL);
	for (part = 0; part < MACHINE_PARTS; part++) {
		rc = machine_needs(&machine, part, &err);
		assert_int_equal(rc == 0, machine.has[part]);
		if (rc != 0)
			assert_true(rc < 0 && machine.why[part].text[0]);
	}
	assert_true(machine.has[MACHINE_MAPS] && machine.has[MACHINE_TYPES]);
	assert_true(machine.has[MACHINE_SHARED_MAPS] && machine.has[MACHINE_TRACEPOINTS]);
	/* without types */
	err_set(&err, ENOENT, "there are none");
	machine_look(&machine, NULL, -ENOENT, &err);
	assert_true(machine.has[MACHINE_MAPS]);
	assert_int_equal(machine_needs(&machine, MACHINE_TYPES, &err), -ENOENT);
	assert_string_equal(err.text, "there are none");
	assert_int_equal(machine_needs(&machine, MACHINE_FUNCTIONS, &err), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields_are_where_the_headers_have_them),
		cmocka_unit_test(test_unknown_names_are_reported),
		cmocka_unit_test(test_arguments_have_names_and_types),
		cmocka_unit_test(test_enums_have_names),
		cmocka_unit_test(test_a_tracepoint_counts_exactly),
		cmocka_unit_test(test_a_raw_tracepoint_counts_exactly),
		cmocka_unit_test(test_a_stub_calls_the_newest_program),
		cmocka_unit_test(test_refused_programs_say_why),
		cmocka_unit_test(test_missing_rights_are_named),
		cmocka_unit_test(test_keys_are_walked),
		cmocka_unit_test(test_the_machine_says_what_works),
	};
	struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_test", .key_bytes = 4,
		.value_bytes = 8, .entries = 1 };
	struct err err = { "" };
	int fd, failed;

	if (map_create(&spec, &fd, &err) != 0 || types_open(NULL, &types, &err) != 0) {
		printf("skipped: %s\n", err.text);
		return 77;
	}
	close(fd);
	failed = cmocka_run_group_tests_name("bpf", tests, NULL, NULL);
	types_close(types);
	return failed;
}

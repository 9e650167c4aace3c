/* SPDX-License-Identifier: MIT */
/* What of BPF works on this machine: each part is tried with the smallest program that uses it. */
#include "bpf/machine.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/code.h"
#include "bpf/map.h"
#include "bpf/program.h"

/* A tracepoint that every kernel has, and that is hit only when a program starts. */
#define QUIET_TRACEPOINT "sched_process_exec"
/* Functions that the kernel has for its own tests of BPF and never calls otherwise. */
#define QUIET_FUNCTION "bpf_fentry_test1"

static void set(struct machine *machine, enum machine_part part, int rc, const struct err *why)
{
	machine->has[part] = rc == 0;
	machine->error[part] = rc;
	if (rc != 0)
		machine->why[part] = *why;
}

/* A program that does nothing. */
static int load_empty(const struct program_spec *spec, int *fd, struct err *err)
{
	struct code code;
	int rc;

	code_init(&code);
	code_return(&code, 0);
	rc = code_finish(&code, err);
	if (rc == 0)
		rc = program_load(spec, &code, fd, err);
	code_fini(&code);
	return rc;
}

int machine_try_program(struct err *err)
{
	const struct program_spec spec = { .name = "kp_try", .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	int fd, rc = load_empty(&spec, &fd, err);

	if (rc == 0)
		close(fd);
	return rc;
}

static int try_map(uint32_t flags, struct err *err)
{
	struct map_spec spec = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_try", .key_bytes = 4,
		.value_bytes = 8, .entries = 1, .flags = flags };
	int fd, rc = map_create(&spec, &fd, err);

	if (rc == 0)
		close(fd);
	return rc;
}

/* Loads a program for a tracepoint or function and attaches it for a moment. */
static int try_tracing(enum bpf_attach_type attach, uint32_t type, struct err *err)
{
	struct program_spec spec = { .name = "kp_try", .type = BPF_PROG_TYPE_TRACING, .attach = attach,
		.attach_type_id = type };
	int fd, link, rc;

	rc = load_empty(&spec, &fd, err);
	if (rc != 0)
		return rc;
	rc = program_attach_tracing(fd, &link, err);
	if (rc == 0)
		close(link);
	close(fd);
	return rc;
}

static int try_tracepoint(const struct types *types, struct err *err)
{
	struct types_function tracepoint;

	if (!types)
		return err_set(err, EOPNOTSUPP, "typed tracepoints need the types of the kernel");
	if (types_tracepoint(types, QUIET_TRACEPOINT, &tracepoint) != 0)
		return err_set(err, EOPNOTSUPP, "the types of the kernel do not have its tracepoints");
	return try_tracing(BPF_TRACE_RAW_TP, tracepoint.type, err);
}

static int try_function(const struct types *types, struct err *err)
{
	struct types_function function;

	if (!types)
		return err_set(err, EOPNOTSUPP, "functions need the types of the kernel");
	if (types_function(types, QUIET_FUNCTION, &function) != 0)
		return err_set(err, EOPNOTSUPP, "the types of the kernel do not have its functions");
	return try_tracing(BPF_TRACE_FEXIT, function.type, err);
}

static int try_many_functions(struct err *err)
{
	struct program_spec spec = { .name = "kp_try", .type = BPF_PROG_TYPE_KPROBE,
		.attach = BPF_TRACE_KPROBE_MULTI };
	const char *name = QUIET_FUNCTION;
	LIBBPF_OPTS(bpf_link_create_opts, opts, .kprobe_multi = { .cnt = 1, .syms = &name });
	int fd, link, rc;

	rc = load_empty(&spec, &fd, err);
	if (rc != 0)
		return rc;
	link = bpf_link_create(fd, 0, BPF_TRACE_KPROBE_MULTI, &opts);
	close(fd);
	if (link < 0)
		return err_set(err, -link,
			"the kernel does not attach to many functions at once (CONFIG_FPROBE): %s",
			strerror(-link));
	close(link);
	return 0;
}

static int try_kernel_memory(struct err *err)
{
	struct program_spec spec = { .name = "kp_try", .type = BPF_PROG_TYPE_RAW_TRACEPOINT };
	struct code code;
	int fd, rc, at;

	code_init(&code);
	at = code_stack(&code, 8);
	code_mov(&code, BPF_REG_3, BPF_REG_10);
	code_mov(&code, BPF_REG_1, BPF_REG_10);
	code_alu_imm(&code, BPF_ADD, BPF_REG_1, at);
	code_mov_imm(&code, BPF_REG_2, 8);
	code_call(&code, BPF_FUNC_probe_read_kernel);
	code_return(&code, 0);
	rc = code_finish(&code, err);
	if (rc == 0)
		rc = program_load(&spec, &code, &fd, err);
	if (rc == 0)
		close(fd);
	code_fini(&code);
	return rc;
}

void machine_look(struct machine *machine, const struct types *types, int types_error,
	const struct err *types_why)
{
	struct err err = { "" };
	int part, rc;

	memset(machine, 0, sizeof(*machine));
	rc = try_map(0, &err);
	set(machine, MACHINE_MAPS, rc, &err);
	if (rc != 0) {
		for (part = 0; part < MACHINE_PARTS; part++)
			set(machine, (enum machine_part)part, rc, &err);
		return;
	}
	set(machine, MACHINE_TYPES, types ? 0 : types_error, types_why);
	set(machine, MACHINE_SHARED_MAPS, try_map(BPF_F_MMAPABLE, &err), &err);
	set(machine, MACHINE_TRACEPOINTS, try_tracepoint(types, &err), &err);
	set(machine, MACHINE_FUNCTIONS, try_function(types, &err), &err);
	set(machine, MACHINE_MANY_FUNCTIONS, try_many_functions(&err), &err);
	set(machine, MACHINE_KERNEL_MEMORY, try_kernel_memory(&err), &err);
}

int machine_needs(const struct machine *machine, enum machine_part part, struct err *err)
{
	if (machine->has[part])
		return 0;
	return err_set(err, -machine->error[part], "%s", machine->why[part].text);
}

const char *machine_part_name(enum machine_part part)
{
	static const char *const names[MACHINE_PARTS] = { "maps", "types", "shared maps", "tracepoints",
		"functions", "many functions", "kernel memory" };

	return names[part];
}

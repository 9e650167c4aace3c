/* SPDX-License-Identifier: MIT */
/* A program that calls another one, which can be replaced. */
#include "bpf/stub.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bpf/code.h"
#include "bpf/map.h"

/* With a constant index the kernel makes the call a jump to the program. */
#define ONLY_ELEMENT 0

static const struct map_spec stub_array = { .type = BPF_MAP_TYPE_PROG_ARRAY, .name = "kp_next",
	.key_bytes = 4, .value_bytes = 4, .entries = 1 };

static int load(const struct program_spec *spec, int array, int *stub, struct err *err)
{
	struct program_spec own = *spec;
	struct code code;
	int ret;

	own.name = "kp_stub";
	code_init(&code);
	/* R1 is the context */
	code_map(&code, BPF_REG_2, array);
	code_mov_imm(&code, BPF_REG_3, ONLY_ELEMENT);
	code_call(&code, BPF_FUNC_tail_call);
	code_return(&code, 0);
	ret = code_finish(&code, err);
	if (!ret)
		ret = program_load(&own, &code, stub, err);
	code_fini(&code);
	return ret;
}

int stub_load(const struct program_spec *spec, int program, int *stub, int *array, struct err *err)
{
	int made, ret = map_create(&stub_array, &made, err);

	if (ret)
		return ret;
	ret = stub_replace(made, program);
	if (ret)
		err_set(err, -ret, "the kernel does not put the program into an array: %s", strerror(-ret));
	else
		ret = load(spec, made, stub, err);
	if (ret)
		close(made);
	else
		*array = made;
	return ret;
}

/* The kernel's number of the only map of a program; 0 if it has several or none. */
static uint32_t only_map(int program)
{
	uint32_t map = 0;
	struct bpf_prog_info info = { .nr_map_ids = 1, .map_ids = (uintptr_t)&map };
	__u32 bytes = sizeof(info);

	return bpf_obj_get_info_by_fd(program, &info, &bytes) || info.nr_map_ids != 1 ? 0 : map;
}

int stub_find(int link, int array, int *stub)
{
	struct bpf_link_info attached = { 0 };
	struct bpf_map_info map = { 0 };
	__u32 link_bytes = sizeof(attached), map_bytes = sizeof(map);
	int found;

	if (bpf_obj_get_info_by_fd(link, &attached, &link_bytes) ||
		bpf_obj_get_info_by_fd(array, &map, &map_bytes) ||
		map.type != BPF_MAP_TYPE_PROG_ARRAY)
		return -EINVAL;
	found = bpf_prog_get_fd_by_id(attached.prog_id);
	if (found < 0)
		return found;
	if (only_map(found) != map.id) {
		close(found);
		return -EINVAL;
	}
	*stub = found;
	return 0;
}

bool stub_is_tracing(int stub)
{
	struct bpf_prog_info info = { 0 };
	__u32 bytes = sizeof(info);

	return !bpf_obj_get_info_by_fd(stub, &info, &bytes) && info.type == BPF_PROG_TYPE_TRACING;
}

int stub_replace(int array, int program)
{
	const uint32_t key = ONLY_ELEMENT;

	return map_update(array, &key, &program, BPF_ANY);
}

/* SPDX-License-Identifier: MIT */
/*
 * A kernel of a few types, functions and tracepoints, in files below a temporary folder: what tests of
 * src/probes look at in place of the running one. Offsets and sizes are set by hand.
 */
#ifndef KPROFS_TESTS_UNIT_PROBES_FIXTURE_H
#define KPROFS_TESTS_UNIT_PROBES_FIXTURE_H

#include <bpf/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/targets.h"

struct probes_fixture {
	char folder[64], btf[128], tracefs[128];
	struct targets_paths paths;
	struct targets *targets;
};

static inline void probes_fixture_file(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static inline void probes_fixture_event(const char *tracefs, const char *system, const char *name, int id,
	const char *fields)
{
	char path[400], text[2048];

	snprintf(path, sizeof(path), "%s/events/%s", tracefs, system);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/events/%s/%s", tracefs, system, name);
	mkdir(path, 0700);
	snprintf(text, sizeof(text), "%d\n", id);
	probes_fixture_file(path, "id", text);
	snprintf(text, sizeof(text), "name: %s\nID: %d\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n%s\nprint fmt: "
		"\"%%d\", REC->x\n",
		name, id, fields);
	probes_fixture_file(path, "format", text);
}

static inline void probes_fixture_events(const char *tracefs)
{
	probes_fixture_event(tracefs, "syscalls", "sys_enter_open", 11,
		"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:const char * filename;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:int flags;\toffset:24;\tsize:8;\tsigned:0;\n");
	probes_fixture_event(tracefs, "syscalls", "sys_enter_openat", 12,
		"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
		"\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n");
	probes_fixture_event(tracefs, "syscalls", "sys_exit_open", 13,
		"\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n");
	probes_fixture_event(tracefs, "sched", "sched_switch", 14,
		"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] what;\toffset:28;\tsize:4;\tsigned:0;\n"
		"\tfield:struct sock * sk;\toffset:32;\tsize:8;\tsigned:0;\n"
		"\tfield:__u8 saddr[4];\toffset:40;\tsize:4;\tsigned:0;\n"
		"\tfield:unsigned short port;\toffset:44;\tsize:2;\tsigned:0;\n"
		"\tfield:__rel_loc char[] where;\toffset:48;\tsize:4;\tsigned:0;\n");
}

/*
 *	struct inner { int a; char name[8]; };                                  12 bytes
 *	struct task_struct { int pid; task_struct *parent @8; char comm[16] @16; inner in @32; int arr[3] @44;
 *		unsigned flag : 3 @56, bit 5; long utime @64; void *data @72; };        80
 *	struct sock { unsigned short family; unsigned addr @4; unsigned char v6[16] @8; };   24
 *	enum state { ST_ONE = 1, ST_NEG = -1 };
 *	long vfs_read(struct task_struct *task, int flags, unsigned long n); int vfs_write(the same);
 *	struct sock *get_sock(void); void do_nothing(int a);
 *	raw tracepoint my_switch(int flags, struct task_struct *n)
 */
static inline void probes_fixture_function(struct btf *btf, const char *name, int result, int a,
	int b, int c)
{
	static const char *const names[] = { "task", "flags", "n" };
	const int params[] = { a, b, c }, proto = btf__add_func_proto(btf, result);

	for (int i = 0; i < 3; i++)
		if (params[i])
			btf__add_func_param(btf, names[i], params[i]);
	btf__add_func(btf, name, BTF_FUNC_STATIC, proto);
}

static inline void probes_fixture_types(const char *path)
{
	struct btf *btf = btf__new_empty();
	const int i32 = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	const int u32 = btf__add_int(btf, "unsigned int", 4, 0);
	const int i64 = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	const int u64 = btf__add_int(btf, "unsigned long", 8, 0);
	const int u16 = btf__add_int(btf, "unsigned short", 2, 0);
	const int u8 = btf__add_int(btf, "unsigned char", 1, 0);
	const int chars = btf__add_int(btf, "char", 1, BTF_INT_SIGNED);
	const int chars8 = btf__add_array(btf, i32, chars, 8), chars16 = btf__add_array(btf, i32,
		chars, 16);
	const int ints3 = btf__add_array(btf, i32, i32, 3), u8s16 = btf__add_array(btf, i32, u8, 16);
	const int to_void = btf__add_ptr(btf, 0);
	int inner, to_task, to_sock, proto;
	const void *data;
	uint32_t bytes;
	FILE *file;

	btf__add_typedef(btf, "pid_t", i32);
	btf__add_typedef(btf, "__u8", u8);
	inner = btf__add_struct(btf, "inner", 12);
	btf__add_field(btf, "a", i32, 0, 0);
	btf__add_field(btf, "name", chars8, 4 * 8, 0);
	/* what a pointer points to is the next type */
	to_task = btf__add_ptr(btf, (int)btf__type_cnt(btf) + 1);
	btf__add_struct(btf, "task_struct", 80);
	btf__add_field(btf, "pid", i32, 0, 0);
	btf__add_field(btf, "parent", to_task, 8 * 8, 0);
	btf__add_field(btf, "comm", chars16, 16 * 8, 0);
	btf__add_field(btf, "in", inner, 32 * 8, 0);
	btf__add_field(btf, "arr", ints3, 44 * 8, 0);
	btf__add_field(btf, "flag", u32, 56 * 8 + 5, 3);
	btf__add_field(btf, "utime", i64, 64 * 8, 0);
	btf__add_field(btf, "data", to_void, 72 * 8, 0);
	to_sock = btf__add_ptr(btf, (int)btf__type_cnt(btf) + 1);
	btf__add_struct(btf, "sock", 24);
	btf__add_field(btf, "family", u16, 0, 0);
	btf__add_field(btf, "addr", u32, 4 * 8, 0);
	btf__add_field(btf, "v6", u8s16, 8 * 8, 0);
	btf__add_enum(btf, "state", 4);
	btf__add_enum_value(btf, "ST_ONE", 1);
	btf__add_enum_value(btf, "ST_NEG", -1);
	probes_fixture_function(btf, "vfs_read", i64, to_task, i32, u64);
	probes_fixture_function(btf, "vfs_write", i32, to_task, i32, u64);
	probes_fixture_function(btf, "get_sock", to_sock, 0, 0, 0);
	probes_fixture_function(btf, "do_nothing", 0, 0, i32, 0);
	probes_fixture_function(btf, "__traceiter_my_switch", i32, to_void, i32, to_task);
	proto = btf__add_func_proto(btf, 0);
	btf__add_func_param(btf, NULL, to_void);
	btf__add_func_param(btf, NULL, i32);
	btf__add_func_param(btf, NULL, to_task);
	btf__add_typedef(btf, "btf_trace_my_switch", btf__add_ptr(btf, proto));

	data = btf__raw_data(btf, &bytes);
	file = fopen(path, "w");
	if (!data || !file || fwrite(data, 1, bytes, file) != bytes || fclose(file))
		abort();
	btf__free(btf);
}

static inline void probes_fixture_open(struct probes_fixture *fixture)
{
	char path[160];
	struct err err;

	strcpy(fixture->folder, "/tmp/probes_fixture.XXXXXX");
	if (!mkdtemp(fixture->folder))
		abort();
	snprintf(fixture->btf, sizeof(fixture->btf), "%s/btf", fixture->folder);
	snprintf(fixture->tracefs, sizeof(fixture->tracefs), "%s/tracefs", fixture->folder);
	mkdir(fixture->tracefs, 0700);
	snprintf(path, sizeof(path), "%s/events", fixture->tracefs);
	mkdir(path, 0700);
	probes_fixture_types(fixture->btf);
	probes_fixture_events(fixture->tracefs);
	probes_fixture_file(fixture->tracefs, "available_filter_functions",
		"vfs_write\nvfs_read\nvfs_static.constprop.0\nget_sock\ndo_nothing\next_sync "
		"[ext]\nvfs_read\n");
	fixture->paths = (struct targets_paths){ fixture->btf, fixture->tracefs };
	if (targets_open(&fixture->paths, &fixture->targets, &err))
		abort();
}

static inline void probes_fixture_close(struct probes_fixture *fixture)
{
	char command[128];

	targets_close(fixture->targets);
	snprintf(command, sizeof(command), "rm -rf %s", fixture->folder);
	if (system(command))
		abort();
}

#endif

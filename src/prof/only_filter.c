/* SPDX-License-Identifier: MIT */
/* The programs of `only`: see only_filter.h. Registers: R6 the context, R8 the task. */
#include "prof/only_filter.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "bpf/map.h"
#include "bpf/program.h"

/* Of one CPU: counts by event, in cache lines of its own. */
struct slot {
	uint64_t refused[EVENTS_MAX]; /* by the expression */
	uint64_t others[EVENTS_MAX];  /* of other users than the owner of the session */
};

_Static_assert(sizeof(struct slot) % 64 == 0, "no slots share a cache line");

struct only_filter {
	unsigned int events; /* invariant, as all others but `checks` */
	uint32_t cpus;
	int table;	     /* the programs that check, by event */
	int slots_fd;
	struct slot *slots;  /* mapped: by CPU */
	int entries[EVENTS_MAX]; /* the programs that are attached */
	int checks[EVENTS_MAX];	 /* those that the table has; -1: none. Written by the control thread */
	bool is_own;
	struct sample_user user; /* is_own: whose samples are taken */
};

bool only_filter_takes(const struct event *event)
{
	return event->attr.type != PERF_TYPE_TRACEPOINT &&
	       !(event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_BPF_OUTPUT);
}

/* What a kernel lacks, or forbids, is one error. */
static int refuse(int ret, struct err *err)
{
	if (ret == -ENOMEM || ret == -EMFILE || ret == -ENFILE)
		return ret;
	err_prefix(err, "a choice of samples needs BPF");
	return -EOPNOTSUPP;
}

static int load_program(struct code *code, const char *name, int *fd, struct err *err)
{
	const struct program_spec spec = { .name = name, .type = BPF_PROG_TYPE_PERF_EVENT };
	int ret = code_finish(code, err);

	if (!ret)
		ret = program_load(&spec, code, fd, err);
	code_fini(code);
	return ret;
}

/*
 * Adds 1 to a member of the slot of this CPU. Only this CPU writes, and no program interrupts another one
 * there.
 */
static void emit_count(const struct only_filter *filter, int member, struct code *code, int end)
{
	code_call(code, BPF_FUNC_get_smp_processor_id);
	code_jump_if_imm(code, BPF_JGE, BPF_REG_0, (int32_t)filter->cpus, end);
	code_map_value(code, BPF_REG_2, filter->slots_fd, 0);
	code_alu_imm(code, BPF_MUL, BPF_REG_0, sizeof(struct slot));
	code_alu(code, BPF_ADD, BPF_REG_2, BPF_REG_0);
	code_load(code, BPF_DW, BPF_REG_1, BPF_REG_2, member);
	code_alu_imm(code, BPF_ADD, BPF_REG_1, 1);
	code_store(code, BPF_DW, BPF_REG_2, member, BPF_REG_1);
}

void only_filter_emit_refused(const struct only_filter *filter, unsigned int index, struct code *code,
	int end)
{
	emit_count(filter, (int)(offsetof(struct slot, refused) + index * sizeof(uint64_t)), code, end);
}

/* ---- the program of an event ------------------------------------------------------------------ */

static int load_entry(struct only_filter *filter, const struct sample_owner *owner, unsigned int index,
	struct err *err)
{
	struct code code;
	int refused = 0, end = 0;

	code_init(&code);
	if (filter->is_own) {
		refused = code_label(&code);
		end = code_label(&code);
		code_mov(&code, BPF_REG_6, BPF_REG_1);
		sample_owner_emit(owner, &filter->user, &code, refused);
		code_mov(&code, BPF_REG_1, BPF_REG_6);
	}
	code_map(&code, BPF_REG_2, filter->table);
	code_mov_imm(&code, BPF_REG_3, (int32_t)index);
	code_call(&code, BPF_FUNC_tail_call);
	code_return(&code, 1);
	if (filter->is_own) {
		code_place(&code, refused);
		emit_count(filter, (int)(offsetof(struct slot, others) + index * sizeof(uint64_t)), &code,
			end);
		code_place(&code, end);
		code_return(&code, 0);
	}
	return load_program(&code, "kp_only", &filter->entries[index], err);
}

static int create_maps(struct only_filter *filter, struct err *err)
{
	const size_t bytes = filter->cpus * sizeof(struct slot);
	const struct map_spec table = { .type = BPF_MAP_TYPE_PROG_ARRAY, .name = "kp_only",
		.key_bytes = 4, .value_bytes = 4, .entries = EVENTS_MAX };
	const struct map_spec slots = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_only_counts",
		.key_bytes = 4, .value_bytes = (uint32_t)bytes, .entries = 1, .flags = BPF_F_MMAPABLE };
	void *memory;
	int ret = map_create(&table, &filter->table, err);

	if (!ret)
		ret = map_create(&slots, &filter->slots_fd, err);
	if (ret)
		return ret;
	ret = map_mmap(filter->slots_fd, bytes, false, &memory);
	if (ret)
		return err_set(err, -ret, "the counts of `only` can't be mapped: %s", g_strerror(-ret));
	filter->slots = memory;
	return 0;
}

/* Loads the program of each event. The kernel's types have the offsets of the fields that it reads. */
static int load_entries(struct only_filter *filter, struct err *err)
{
	struct sample_owner owner = { 0 };
	struct types *types;
	int ret = 0;

	if (filter->is_own) {
		ret = types_open(NULL, &types, err);
		if (ret)
			return ret;
		ret = sample_owner_init(&owner, types, err);
		types_close(types);
	}
	for (unsigned int i = 0; !ret && i < filter->events; i++)
		ret = load_entry(filter, &owner, i, err);
	return ret;
}

int only_filter_open(unsigned int events, const struct sample_user *user, struct only_filter **out,
	struct err *err)
{
	const int cpus = map_possible_cpus();
	struct only_filter *filter = g_new0(struct only_filter, 1);
	unsigned int i;
	int ret;

	filter->events = events;
	filter->is_own = user != NULL;
	if (user)
		filter->user = *user;
	filter->cpus = cpus > 0 ? (uint32_t)cpus : 1;
	filter->table = filter->slots_fd = -1;
	for (i = 0; i < EVENTS_MAX; i++)
		filter->entries[i] = filter->checks[i] = -1;
	ret = create_maps(filter, err);
	if (!ret)
		ret = load_entries(filter, err);
	if (ret) {
		only_filter_close(filter);
		return refuse(ret, err);
	}
	*out = filter;
	return 0;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void only_filter_close(struct only_filter *filter)
{
	if (!filter)
		return;
	for (unsigned int i = 0; i < EVENTS_MAX; i++) {
		close_fd(filter->entries[i]);
		close_fd(filter->checks[i]);
	}
	if (filter->slots)
		munmap(filter->slots, filter->cpus * sizeof(struct slot));
	close_fd(filter->table);
	close_fd(filter->slots_fd);
	g_free(filter);
}

/* ---- the program that checks ------------------------------------------------------------------ */

static int load_check(const struct only_filter *filter, const struct only *only,
	const struct only_fields *fields, unsigned int index, int *fd, struct err *err)
{
	struct code code;
	int wanted, end;

	code_init(&code);
	wanted = code_label(&code);
	end = code_label(&code);
	code_call(&code, BPF_FUNC_get_current_task_btf);
	code_mov(&code, BPF_REG_8, BPF_REG_0);
	only_emit(only, fields, true, &code);
	code_jump_if_imm(&code, BPF_JNE, BPF_REG_0, 0, wanted);
	only_filter_emit_refused(filter, index, &code, end);
	code_place(&code, end);
	code_return(&code, 0);
	code_place(&code, wanted);
	code_return(&code, 1);
	return load_program(&code, "kp_only_check", fd, err);
}

/* All are loaded before the first one is used. */
static int load_checks(struct only_filter *filter, const struct only *only, int *fds, struct err *err)
{
	struct only_fields fields;
	unsigned int i;
	int ret = only_fields_find(&fields, err);

	for (i = 0; !ret && i < filter->events; i++)
		ret = load_check(filter, only, &fields, i, &fds[i], err);
	return ret;
}

/* Program -1: none. Taking one away does not fail: -ENOENT says that there is none. */
static int put_check(const struct only_filter *filter, uint32_t index, int program)
{
	if (program >= 0)
		return map_update(filter->table, &index, &program, BPF_ANY);
	(void)map_delete(filter->table, &index);
	return 0;
}

/* Puts these programs into the table, all or none. */
static int put_checks(const struct only_filter *filter, const int *fds, struct err *err)
{
	uint32_t i, done;
	int ret = 0;

	for (done = 0; done < filter->events; done++) {
		ret = put_check(filter, done, fds[done]);
		if (ret)
			break;
	}
	for (i = 0; ret && i < done; i++)
		(void)put_check(filter, i, filter->checks[i]); /* its place in the table exists */
	return ret ? err_set(err, -ret, "the table of programs: %s", g_strerror(-ret)) : 0;
}

int only_filter_set(struct only_filter *filter, const struct only *only, struct err *err)
{
	int fds[EVENTS_MAX], unused[EVENTS_MAX], ret;

	memset(fds, -1, sizeof(fds));
	ret = only ? load_checks(filter, only, fds, err) : 0;
	if (!ret)
		ret = put_checks(filter, fds, err);
	memcpy(unused, ret ? fds : filter->checks, sizeof(unused));
	if (!ret)
		memcpy(filter->checks, fds, sizeof(fds));
	for (int i = 0; i < EVENTS_MAX; i++)
		close_fd(unused[i]);
	return ret ? refuse(ret, err) : 0;
}

/* ---- in use ----------------------------------------------------------------------------------- */

int only_filter_attach(struct only_filter *filter, unsigned int index, int perf_event, struct err *err)
{
	int ret = program_attach_perf(filter->entries[index], perf_event, err);

	return ret ? refuse(ret, err) : 0;
}

uint64_t only_filter_count(const struct only_filter *filter, unsigned int cpu, unsigned int index)
{
	return cpu < filter->cpus ? atomic_plain_read_acquire(&filter->slots[cpu].refused[index]) : 0;
}

uint64_t only_filter_count_others(const struct only_filter *filter, unsigned int cpu, unsigned int index)
{
	return cpu < filter->cpus ? atomic_plain_read_acquire(&filter->slots[cpu].others[index]) : 0;
}

int only_filter_try(const struct only *only, struct err *err)
{
	struct only_filter *filter;
	int ret = only_filter_open(1, NULL, &filter, err);

	if (ret)
		return ret;
	ret = only_filter_set(filter, only, err);
	only_filter_close(filter);
	return ret;
}

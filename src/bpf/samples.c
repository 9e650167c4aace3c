/* SPDX-License-Identifier: MIT */
/* The samples that a program takes: see samples.h. */
#include "bpf/samples.h"

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "bpf/map.h"

/* a: atomic; all others are invariant */
struct samples {
	_Atomic unsigned int references; /* a */
	int outputs, slots_fd;
	uint32_t cpus;
	size_t bytes;
	struct samples_slot *slots; /* shared with the programs */
	struct samples_condition condition;
};

static int create_maps(struct samples *s, struct err *err)
{
	const struct map_spec outputs = { .type = BPF_MAP_TYPE_PERF_EVENT_ARRAY, .name = "kp_samples",
		.key_bytes = 4, .value_bytes = 4, .entries = s->cpus };
	const struct map_spec slots = { .type = BPF_MAP_TYPE_ARRAY, .name = "kp_samples_cnt",
		.key_bytes = 4, .value_bytes = (uint32_t)s->bytes, .entries = 1, .flags = BPF_F_MMAPABLE };
	void *memory;
	int ret = map_create(&outputs, &s->outputs, err);

	if (!ret)
		ret = map_create(&slots, &s->slots_fd, err);
	if (ret)
		return ret;
	ret = map_mmap(s->slots_fd, s->bytes, false, &memory);
	if (ret)
		return err_set(err, -ret, "the counts of samples can't be mapped: %s", strerror(-ret));
	s->slots = memory;
	return 0;
}

int samples_create(struct samples **out, struct err *err)
{
	const int cpus = map_possible_cpus();
	struct samples *s;
	int ret;

	if (cpus <= 0)
		return err_set(err, EOPNOTSUPP, "the possible CPUs of this machine can't be read (/sys)");
	s = g_new0(struct samples, 1);
	s->outputs = s->slots_fd = -1;
	for (s->cpus = 1; s->cpus < (uint32_t)cpus; s->cpus *= 2)
		;
	s->bytes = s->cpus * sizeof(*s->slots);
	atomic_write_relaxed(&s->references, 1);
	ret = create_maps(s, err);
	if (ret) {
		samples_put(s);
		return ret;
	}
	*out = s;
	return 0;
}

void samples_set_condition(struct samples *s, const struct samples_condition *condition)
{
	s->condition = *condition;
}

struct samples *samples_get(struct samples *s)
{
	atomic_add_relaxed(&s->references, 1);
	return s;
}

void samples_put(struct samples *s)
{
	/* acq_rel: what others did with it is done before it is freed */
	if (!s || atomic_add_acq_rel(&s->references, -1u) != 1)
		return;
	if (s->condition.destroy)
		s->condition.destroy(s->condition.arg);
	if (s->slots)
		munmap(s->slots, s->bytes);
	if (s->outputs >= 0)
		close(s->outputs);
	if (s->slots_fd >= 0)
		close(s->slots_fd);
	g_free(s);
}

int samples_outputs(const struct samples *s)
{
	return s->outputs;
}

int samples_slots(const struct samples *s)
{
	return s->slots_fd;
}

uint32_t samples_cpus(const struct samples *s)
{
	return s->cpus;
}

/* Adds to a member of the slot of this CPU. R0 to R2 are lost. */
static void emit_add(const struct samples *s, uint32_t member, int32_t by, struct code *code)
{
	code_call(code, BPF_FUNC_get_smp_processor_id);
	code_alu_imm(code, BPF_AND, BPF_REG_0, (int32_t)s->cpus - 1);
	code_alu_imm(code, BPF_MUL, BPF_REG_0, (int32_t)sizeof(struct samples_slot));
	code_map_value(code, BPF_REG_1, s->slots_fd, member);
	code_alu(code, BPF_ADD, BPF_REG_1, BPF_REG_0);
	code_mov_imm(code, BPF_REG_2, by);
	code_atomic(code, BPF_DW, BPF_ADD, BPF_REG_1, 0, BPF_REG_2);
}

void samples_emit_count(const struct samples *s, int32_t by, struct code *code)
{
	emit_add(s, offsetof(struct samples_slot, taken), by, code);
}

void samples_emit_check(const struct samples *s, struct code *code, int end)
{
	int refused, taken;

	if (!s->condition.emit)
		return;
	refused = code_label(code);
	taken = code_label(code);
	s->condition.emit(s->condition.arg, code, refused);
	code_jump(code, taken);
	code_place(code, refused);
	emit_add(s, offsetof(struct samples_slot, refused), 1, code);
	code_jump(code, end);
	code_place(code, taken);
}

int samples_add_cpu(struct samples *s, unsigned int cpu, int perf_event)
{
	const uint32_t key = cpu;

	return map_update(s->outputs, &key, &perf_event, BPF_ANY);
}

void samples_remove_cpu(struct samples *s, unsigned int cpu)
{
	const uint32_t key = cpu;

	(void)map_delete(s->outputs, &key); /* -ENOENT: it was not added */
}

uint64_t samples_taken(const struct samples *s, unsigned int cpu)
{
	return cpu < s->cpus ? atomic_plain_read_acquire(&s->slots[cpu].taken) : 0;
}

uint64_t samples_refused(const struct samples *s, unsigned int cpu)
{
	return cpu < s->cpus ? atomic_plain_read_acquire(&s->slots[cpu].refused) : 0;
}

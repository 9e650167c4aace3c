/* SPDX-License-Identifier: MIT */
/* Runs of records from the samples of one CPU: see encoder.h. */
#include "prof/encoder.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "prof/capture.h"

/*
 * Processes with several threads that are remembered for each CPU. Beyond that all are forgotten
 * and every process is treated as one of them: this costs 14 bytes a process and run, and stays
 * correct.
 */
#define THREADED_MAX 4096

/* TASK and PERIOD before a sample, with their envelopes. */
#define SIDE_BYTES 64

struct encoder {
	const struct rings_config *config;
	unsigned int cpu;
	bool foreign;
	bool unsure; /* a reader may know threads of a process that is not in `threaded` */
	GHashTable *threaded; /* pid to struct last_thread: processes seen with another thread */
	uint64_t run;	      /* number of this run of records */
	struct {
		uint64_t period;
		uint64_t run; /* in which PERIOD was written */
	} periods[EVENTS_MAX];
	uint32_t last_pid, last_tid; /* of the previous sample, */
	uint64_t last_run;	     /* if it was in this run */
	struct encoder_counts counts;
	struct record_buf buf;
	uint64_t samples[EVENTS_MAX]; /* in this run */
	const struct perf_user_regs *user_regs; /* NULL if stacks are not copied */
	uint8_t memory[CAPTURE_RUN_MAX];
};

struct last_thread {
	uint32_t tid;
	uint64_t run; /* in which TASK was written */
};

/* A decoded PERF_RECORD_SAMPLE, as sample_attr() of rings.c requests it. */
struct sample {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t period;
	const uint64_t *chain; /* with the kernel's context markers */
	uint64_t chain_count;
	const uint64_t *regs; /* NULL if not in the record */
	const uint8_t *stack;
	uint32_t stack_bytes;
};

struct encoder *encoder_create(const struct rings_config *config, unsigned int cpu, bool foreign,
	bool follows)
{
	struct encoder *e = g_new0(struct encoder, 1);

	e->config = config;
	e->cpu = cpu;
	e->foreign = foreign;
	e->unsure = follows;
	e->user_regs = config->stack_copied ? perf_user_regs() : NULL;
	e->threaded = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	e->run = 1;
	record_buf_fixed(&e->buf, e->memory, sizeof(e->memory));
	return e;
}

void encoder_destroy(struct encoder *e)
{
	if (!e)
		return;
	g_hash_table_destroy(e->threaded);
	g_free(e);
}

const uint8_t *encoder_run(const struct encoder *e, size_t *len)
{
	*len = e->buf.used;
	return e->buf.data;
}

void encoder_next_run(struct encoder *e)
{
	record_buf_fixed(&e->buf, e->memory, sizeof(e->memory));
	memset(e->samples, 0, e->config->events.count * sizeof(e->samples[0]));
	e->run++;
}

uint64_t encoder_run_samples(const struct encoder *e, unsigned int index)
{
	return e->samples[index];
}

void encoder_place_run(struct encoder *e, uint8_t *place, size_t size)
{
	record_buf_fixed(&e->buf, place, size);
}

const struct encoder_counts *encoder_get_counts(const struct encoder *e)
{
	return &e->counts;
}

void encoder_clear_counts(struct encoder *e)
{
	e->counts = (struct encoder_counts){ 0 };
}

/* ---- decoding a record ----------------------------------------------------------------------- */

/*
 * Follows the chain if stacks are copied: u64 abi, [u64 regs[]]; u64 size, [bytes[size], u64
 * filled]. The parts in brackets are missing if abi or size is 0, as for a task without user space.
 * Stacks of 32-bit programs are not kept.
 */
static int take_user_stack(const struct perf_user_regs *user_regs, const uint64_t *p, size_t words,
	struct sample *s)
{
	const uint64_t *const end = p + words;
	uint64_t abi, size, filled;

	if (p == end)
		return -EBADMSG;
	abi = *p++;
	if (abi == PERF_SAMPLE_REGS_ABI_64)
		s->regs = p;
	if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
		if ((size_t)(end - p) < user_regs->count)
			return -EBADMSG;
		p += user_regs->count;
	}
	if (p == end)
		return -EBADMSG;
	size = *p++;
	if (!size)
		return 0;
	if (size % sizeof(*p) || size / sizeof(*p) >= (size_t)(end - p))
		return -EBADMSG;
	filled = p[size / sizeof(*p)];
	if (filled > size)
		return -EBADMSG;
	s->stack = (const uint8_t *)p;
	s->stack_bytes = (uint32_t)filled;
	return 0;
}

/*
 * The kernel's layout: u64 id, ip; u32 pid, tid; u64 time; [u64 period]; [u64 n, u64 ips[n]];
 * then the input of take_user_stack(). Records are aligned to 8 bytes in the ring and in the
 * scratch buffer.
 */
static int decode_sample(const struct perf_event_attr *attr, bool has_chain,
	const struct perf_user_regs *user_regs, const struct perf_event_header *header,
	struct sample *s)
{
	const uint64_t *p = (const uint64_t *)(const void *)(header + 1);
	const size_t words = header->size / sizeof(uint64_t) - 1; /* after the header */
	const size_t fixed = 4 + (attr->freq ? 1 : 0) + (has_chain ? 1 : 0);

	if (header->size < sizeof(*header) || words < fixed)
		return -EBADMSG;
	s->ip = p[1];
	memcpy(&s->pid, &p[2], sizeof(s->pid));
	memcpy(&s->tid, (const uint8_t *)&p[2] + sizeof(s->pid), sizeof(s->tid));
	s->time_ns = p[3];
	s->period = attr->freq ? p[4] : attr->sample_period;
	s->chain_count = has_chain ? p[fixed - 1] : 0;
	s->chain = p + fixed;
	s->regs = NULL;
	s->stack = NULL;
	s->stack_bytes = 0;
	if (s->chain_count > words - fixed)
		return -EBADMSG;
	if (!user_regs)
		return 0;
	return take_user_stack(user_regs, s->chain + s->chain_count,
		words - fixed - s->chain_count, s);
}

/* The kernel's markers of contexts (PERF_CONTEXT_*) are the top 4095 numbers. */
static bool is_context(uint64_t word)
{
	return word >= (uint64_t)PERF_CONTEXT_MAX;
}

struct frames {
	const uint64_t *kernel, *user;
	size_t kernel_count, user_count;
};

/* Splits a chain at its markers. Frames of one side are always adjacent. */
static void split_chain(const struct sample *s, struct frames *f)
{
	const uint64_t *word = s->chain, *const end = s->chain + s->chain_count;

	*f = (struct frames){ 0 };
	while (word < end && !is_context(*word))
		word++; /* before the first marker */
	while (word < end) {
		const bool kernel = *word == (uint64_t)PERF_CONTEXT_KERNEL ||
				    *word == (uint64_t)PERF_CONTEXT_HV;
		const uint64_t **side = kernel ? &f->kernel : &f->user;
		size_t *count = kernel ? &f->kernel_count : &f->user_count;
		const uint64_t *first = ++word;

		if (*count)
			return; /* a second part of the same side: a guest's; left out */
		while (word < end && !is_context(*word))
			word++;
		*side = first;
		*count = (size_t)(word - first);
	}
}

/* ---- records before a sample ----------------------------------------------------------------- */

static int encode_task(struct encoder *e, uint32_t pid, uint32_t tid)
{
	struct last_thread *last;
	int ret;

	if (e->last_run == e->run && e->last_pid == pid && e->last_tid == tid)
		return 0;
	last = g_hash_table_lookup(e->threaded, GUINT_TO_POINTER(pid));
	if (!last && tid == pid && !e->unsure)
		return 0;
	if (last && last->tid == tid && last->run == e->run)
		return 0;
	ret = record_task(&e->buf, e->cpu, pid, tid);
	if (ret)
		return ret;
	if (!last) {
		if (g_hash_table_size(e->threaded) >= THREADED_MAX) {
			g_hash_table_remove_all(e->threaded);
			e->unsure = true;
		}
		last = g_new0(struct last_thread, 1);
		g_hash_table_insert(e->threaded, GUINT_TO_POINTER(pid), last);
	}
	last->tid = tid;
	last->run = e->run;
	return 0;
}

static int encode_period(struct encoder *e, unsigned int index, uint64_t period)
{
	int ret;

	if (e->periods[index].run == e->run && e->periods[index].period == period)
		return 0;
	ret = record_period(&e->buf, e->cpu, e->config->numbers[index], period);
	if (ret)
		return ret;
	e->periods[index].run = e->run;
	e->periods[index].period = period;
	return 0;
}

/* The registers, in DWARF's order, and the stack. */
static int encode_user_stack(struct encoder *e, const struct sample *s)
{
	const struct perf_user_regs *user_regs = e->user_regs;
	const struct kprof_rec_user_stack head = {
		.time_ns = s->time_ns,
		.pid = s->pid,
		.cpu = (uint16_t)e->cpu,
		.machine = user_regs->machine,
		.depth = (uint16_t)e->config->depth,
		.num_regs = user_regs->count,
		.size = s->stack_bytes,
	};
	uint64_t regs[PERF_USER_REGS_MAX];
	unsigned int i;

	for (i = 0; i < user_regs->count; i++)
		regs[i] = s->regs[user_regs->order[i]];
	return record_user_stack(&e->buf, &head, regs, s->stack);
}

/* From the kernel's numbers of a task to those of kpdata. */
static void name_task(const struct encoder *e, uint32_t *pid, uint32_t *tid)
{
	if (*pid == 0)
		*pid = e->foreign ? KPROF_PID_GONE : KPROF_PID_KERNEL;
	else if (*pid == UINT32_MAX)
		*pid = KPROF_PID_GONE;
	else if (*tid == 0 || *tid == UINT32_MAX)
		*tid = KPROF_PID_GONE; /* a thread is released before its process */
	if (*pid >= KPROF_PID_GONE)
		*tid = *pid;
}

/* ---- samples --------------------------------------------------------------------------------- */

int encoder_sample(struct encoder *e, unsigned int index, const struct perf_event_header *header)
{
	const struct perf_event_attr *attr = &e->config->events.events[index].attr;
	const bool has_chain = e->config->stack_kernel || e->config->stack_user;
	struct kprof_rec_trace head;
	struct sample s;
	struct frames f;
	size_t need;
	bool kernel;
	int ret;

	ret = decode_sample(attr, has_chain, e->user_regs, header, &s);
	if (ret)
		return ret;
	need = SIDE_BYTES + record_trace_bytes(s.chain_count + 3);
	if (s.regs)
		need += record_user_stack_bytes(e->user_regs->count, s.stack_bytes);
	if (e->buf.size - e->buf.used < need)
		return -ENOSPC;
	name_task(e, &s.pid, &s.tid);
	encode_task(e, s.pid, s.tid); /* room for all of them was checked above */
	encode_period(e, index, s.period);
	e->last_pid = s.pid;
	e->last_tid = s.tid;
	e->last_run = e->run;

	split_chain(&s, &f);
	if (has_chain) {
		e->counts.stacks++;
		if (f.kernel_count + f.user_count >= e->config->depth)
			e->counts.stacks_cut++;
	}
	if (s.regs && f.kernel_count < e->config->depth) {
		/* the program counter is in the sample too, for readers that do not unwind */
		encode_user_stack(e, &s);
		f.user = &s.regs[e->user_regs->order[e->user_regs->count - 1]];
		f.user_count = 1;
	}
	kernel = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	if (kernel ? !f.kernel_count : !f.kernel_count && !f.user_count) {
		/* no stack of that side was requested, or it has none: the interrupted address */
		*(kernel ? &f.kernel : &f.user) = &s.ip;
		*(kernel ? &f.kernel_count : &f.user_count) = 1;
	}
	kernel = f.kernel_count > 0;
	e->samples[index]++;
	head = (struct kprof_rec_trace){
		.info = e->config->numbers[index],
		.time_ns = s.time_ns,
		.pid = s.pid,
		.cpu = (uint16_t)e->cpu,
	};
	return record_trace(&e->buf, kernel ? KPROF_REC_KERN_TRACE : KPROF_REC_USER_TRACE, &head,
		f.kernel, f.kernel_count, f.user, f.user_count);
}

int encoder_throttle(struct encoder *e, unsigned int index, uint64_t time_ns, bool throttled)
{
	return record_throttle(&e->buf, time_ns, e->cpu, e->config->numbers[index], throttled);
}

/* SPDX-License-Identifier: MIT */
/* Runs of records from the samples of one CPU: see encoder.h. */
#include "prof/encoder.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "prof/capture.h"
#include "prof/sample.h"

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
	unsigned int first[EVENTS_MAX]; /* of the events with the number of this one, the first */
	uint32_t last_pid, last_tid; /* of the previous sample, */
	uint64_t last_run;	     /* if it was in this run */
	uint64_t last_ns;
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

struct encoder *encoder_create(const struct rings_config *config, unsigned int cpu, bool foreign,
	bool follows)
{
	struct encoder *e = g_new0(struct encoder, 1);
	unsigned int i;

	e->config = config;
	e->cpu = cpu;
	e->foreign = foreign;
	e->unsure = follows;
	e->user_regs = config->stack_copied ? perf_user_regs() : NULL;
	for (i = 0; i < config->events.count; i++)
		e->first[i] = i && config->numbers[i] == config->numbers[i - 1] ? e->first[i - 1] : i;
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

void encoder_last(const struct encoder *e, uint32_t *pid, uint64_t *time_ns)
{
	*pid = e->last_pid;
	*time_ns = e->last_ns;
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

	index = e->first[index];
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

/* When it left, and who woke it. */
static void encode_away(struct encoder *e, const struct sample *s, const struct sample_away *away)
{
	static const struct offcpu_wake unknown = { .tgid = UINT32_MAX, .tid = UINT32_MAX };
	const struct offcpu_wake *wake = away->wake ? away->wake : &unknown;
	const uint32_t frames = wake->kernel_bytes / sizeof(uint64_t);
	const uint32_t skipped = offcpu_waking_frames(e->config->offcpu, wake->kernel, frames);
	uint32_t pid = e->foreign ? UINT32_MAX : wake->tgid, tid = e->foreign ? UINT32_MAX : wake->tid;
	struct kprof_rec_away head = {
		.time_ns = s->time_ns,
		.pid = s->pid,
		.cpu = (uint16_t)e->cpu,
		.left_ns = away->head->left_ns,
		.back_ns = away->head->back_ns,
		.state = (uint32_t)away->head->state,
		.woken_ns = wake->woken_ns,
	};

	name_task(e, &pid, &tid);
	head.waker_pid = pid;
	head.waker_tid = tid;
	record_away(&e->buf, &head, wake->comm, wake->kernel + skipped, frames - skipped,
		wake->user, wake->user_bytes / sizeof(uint64_t));
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The records of one sample. */
struct parts {
	unsigned int index;
	bool kernel; /* taken in the kernel */
	struct sample s;
	struct sample_frames f;
	struct sample_away away; /* of offcpu only: head is NULL of others */
};

static size_t count_bytes(const struct encoder *e, const struct parts *p)
{
	size_t need = SIDE_BYTES + record_trace_bytes(p->s.chain_count + 3);

	if (p->s.regs)
		need += record_user_stack_bytes(e->user_regs->count, p->s.stack_bytes);
	if (p->away.head)
		need += p->away.kernel_count * sizeof(uint64_t) +
			record_away_bytes(2 * OFFCPU_WAKER_FRAMES_MAX + 1);
	return need;
}

/* If no stack of a sample's side was requested, or it has none: the interrupted address. */
static void complete_frames(const struct parts *p, struct sample_frames *f)
{
	if (p->kernel ? f->kernel_count : f->kernel_count || f->user_count)
		return;
	*(p->kernel ? &f->kernel : &f->user) = &p->s.ip;
	*(p->kernel ? &f->kernel_count : &f->user_count) = 1;
}

/* Appends the parts; there is room for them. */
static int encode_parts(struct encoder *e, const struct parts *p)
{
	const struct sample *s = &p->s;
	struct sample_frames f = p->f;
	const struct kprof_rec_trace head = {
		.info = e->config->numbers[p->index],
		.time_ns = s->time_ns,
		.pid = s->pid,
		.cpu = (uint16_t)e->cpu,
	};

	encode_task(e, s->pid, s->tid);
	encode_period(e, p->index, s->period);
	e->last_pid = s->pid;
	e->last_tid = s->tid;
	e->last_ns = s->time_ns;
	e->last_run = e->run;
	if (p->away.head)
		encode_away(e, s, &p->away);
	if (e->config->stack_kernel || e->config->stack_user) {
		e->counts.stacks++;
		if (f.kernel_count + f.user_count >= e->config->depth)
			e->counts.stacks_cut++;
	}
	if (s->regs && f.kernel_count < e->config->depth) {
		/* the program counter is in the sample too, for readers that do not unwind */
		encode_user_stack(e, s);
		f.user = &s->regs[e->user_regs->order[e->user_regs->count - 1]];
		f.user_count = 1;
	}
	if (!p->away.head)
		complete_frames(p, &f);
	e->samples[p->index]++;
	return record_trace(&e->buf, f.kernel_count ? KPROF_REC_KERN_TRACE : KPROF_REC_USER_TRACE, &head,
		f.kernel, f.kernel_count, f.user, f.user_count);
}

/*
 * A sample of the programs of offcpu. Perf's process and user stack are those of another task if it was
 * not written in the task's own context.
 */
static int take_away(struct encoder *e, struct parts *p)
{
	const struct rings_config *config = e->config;
	struct sample_frames *f = &p->f;
	uint32_t skipped;
	int ret = sample_away(&p->s, &p->away);

	if (ret)
		return ret;
	p->s.period = p->away.head->back_ns - p->away.head->left_ns;
	if (!(p->away.head->flags & OFFCPU_OWN)) {
		p->s.pid = e->foreign ? UINT32_MAX : p->away.head->tgid;
		p->s.tid = e->foreign ? UINT32_MAX : p->away.head->tid;
	}
	if (p->away.head->flags & OFFCPU_USER) {
		sample_frames(&p->s, f);
	} else {
		p->s.regs = NULL;
		if (p->away.head->user_ip && (config->stack_user || config->stack_copied)) {
			f->user = &p->away.head->user_ip;
			f->user_count = 1;
		}
	}
	skipped = offcpu_scheduler_frames(config->offcpu, p->away.kernel, p->away.kernel_count);
	f->kernel = p->away.kernel + skipped;
	f->kernel_count = config->stack_kernel ? p->away.kernel_count - skipped : 0;
	f->kernel_count = MIN(f->kernel_count, config->depth);
	f->user_count = MIN(f->user_count, config->depth - f->kernel_count);
	if (f->kernel_count || f->user_count || p->s.regs)
		return 0;
	/* no stack was requested, or there is none: one address */
	if (p->away.head->user_ip) {
		f->user = &p->away.head->user_ip;
		f->user_count = 1;
	} else {
		f->kernel_count = MIN(p->away.kernel_count - skipped, 1);
	}
	return 0;
}

int encoder_sample(struct encoder *e, unsigned int index, const struct perf_event_header *header)
{
	const struct sample_form form = {
		.attr = &e->config->events.events[index].attr,
		.has_chain = rings_has_chain(e->config, index),
		.has_raw = rings_is_offcpu(e->config, index),
		.user_regs = e->user_regs,
	};
	struct parts p = { .index = index };
	int ret = sample_decode(&form, header, &p.s);

	if (ret)
		return ret;
	p.kernel = (header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	if (!form.has_raw)
		sample_frames(&p.s, &p.f);
	else if (take_away(e, &p))
		return -EBADMSG;
	if (e->buf.size - e->buf.used < count_bytes(e, &p))
		return -ENOSPC;
	name_task(e, &p.s.pid, &p.s.tid);
	return encode_parts(e, &p);
}

int encoder_throttle(struct encoder *e, unsigned int index, uint64_t time_ns, bool throttled)
{
	return record_throttle(&e->buf, time_ns, e->cpu, e->config->numbers[index], throttled);
}

/* SPDX-License-Identifier: MIT */
/* Unwinds the copied stacks of a capture: see unwinding.h. */
#include "capture/unwinding.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "capture/processes.h"
#include "capture/profile.h"
#include "capture/symbolize.h"
#include "symbolizer/proto.h"
#include "symbolizer/unwind.h"
#include "symbolizer/unwind_table.h"
#include "sys/memfile.h"

/*
 * Frames of one sample. The kernel limits them to kernel.perf_event_max_stack, 127 by default; this
 * is the limit for captures from elsewhere.
 */
#define FRAMES_MAX 1024

/* How long parsers may run in all; stacks that need more are cut where their tables are missing. */
#define ASK_NS (30 * NSEC_PER_SEC)

/*
 * How much larger the output may be than the input. Copied stacks are some ten times as long as
 * their frames, so frames are cut only if malicious tables make long stacks of small copies.
 */
#define GROWTH_MAX MIB

/* Cancellation is checked once for this many records: a few ms of work. */
#define CANCEL_RECORDS 256

#define VARINT_MAX 10

struct unwinding {
	struct processes *processes;
	struct unwind_table *table;
	uint32_t section;
	uint64_t section_records;
	FILE *out;
	GByteArray *stack; /* payload of the last USER_STACK */
	struct kprof_rec_user_stack head; /* of the last USER_STACK */
	bool has_stack; /* the last record was a USER_STACK: its sample is next */
	int64_t room; /* bytes by which the output may still grow */
	struct unwinding_counts *counts;
	uint64_t frames[FRAMES_MAX];
};

int unwinding_is_needed(struct decoder *decoder, bool *needed)
{
	struct decode_record record;
	int ret;

	*needed = false;
	while (!*needed && ((ret = decode_next(decoder, &record, NULL)) > 0 || ret == -EBADMSG))
		*needed = ret > 0 && record.type == KPROF_REC_USER_STACK;
	return decode_rewind(decoder);
}

static void enter_record(struct unwinding *u, const struct decode_record *record)
{
	if (record->type == KPROF_REC_CLOCK && u->section_records) {
		u->section++;
		u->section_records = 0;
	}
	u->section_records++;
}

/* ---- one stack ------------------------------------------------------------------------------- */

/* The row of an address; false if nothing is mapped there. */
static bool find_row(struct unwinding *u, uint32_t life, uint64_t address, uint64_t time,
	const struct unwind_row **row)
{
	struct symbolize_query question;
	struct processes_hit hit;

	processes_find_user(u->processes, life, address, time, &hit);
	if (hit.file == PROCESSES_NONE)
		return false;
	if (!unwind_table_has_file(u->table, hit.file)) {
		symbolize_describe(u->processes, processes_file(u->processes, hit.file), &question);
		unwind_table_add_file(u->table, hit.file, &question.file);
	}
	*row = unwind_table_find(u->table, hit.file, hit.offset);
	return true;
}

/*
 * Writes the callers of the sampled address, at most `max`, into u->frames. A return address is the
 * one after the call; the row is that of the call.
 */
static size_t find_callers(struct unwinding *u, struct unwind *unwind, uint32_t life, uint64_t time,
	size_t max)
{
	enum unwind_result result;
	const struct unwind_row *row;
	bool called = false;
	size_t n = 0;

	for (;;) {
		if (!find_row(u, life, unwind_pc(unwind) - called, time, &row))
			return n ? n - 1 : 0; /* outside of all mappings: the last step was wrong */
		called = !row || !row->signal;
		result = row ? unwind_step(unwind, row) : unwind_step_by_frame_pointer(unwind);
		if (result == UNWIND_END)
			u->counts->complete++;
		if (result != UNWIND_CALLER || n == max)
			return n;
		u->frames[n++] = unwind_pc(unwind);
	}
}

static size_t unwind_sample(struct unwinding *u, const struct decode_record *sample)
{
	const struct kprof_rec_user_stack *head = &u->head;
	/* KPROF_CONTEXT_USER, between the kernel's frames and those of user space, is no frame */
	const size_t marks = sample->type == KPROF_REC_KERN_TRACE && sample->trace.num_traces > 0;
	const size_t have = sample->trace.num_traces - marks;
	const size_t regs_bytes = head->num_regs * sizeof(uint64_t);
	const size_t most = MIN(head->depth, FRAMES_MAX);
	uint64_t regs[UNWIND_ROW_REGS_MAX];
	struct unwind unwind;
	uint32_t life;

	u->counts->stacks++;
	if (head->num_regs > UNWIND_ROW_REGS_MAX || have >= most)
		return 0;
	memcpy(regs, u->stack->data, regs_bytes);
	if (!unwind_begin(&unwind, head->machine, regs, head->num_regs,
			u->stack->data + regs_bytes, head->size))
		return 0;
	life = processes_find_life(u->processes, u->section, head->pid, head->time_ns);
	return find_callers(u, &unwind, life, head->time_ns, most - have);
}

/* ---- records --------------------------------------------------------------------------------- */

static size_t put_varint(uint8_t *bytes, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (uint8_t)(value | 0x80);
	bytes[n++] = (uint8_t)value;
	return n;
}

/*
 * Writes the sample with `count` more frames. All are in this machine's byte order: a capture in
 * the other one is not unwound.
 */
static void write_sample(struct unwinding *u, const struct decode_record *r, size_t count)
{
	const size_t own = r->trace.num_traces * sizeof(uint64_t), more = count * sizeof(uint64_t);
	struct kprof_rec_trace head = r->trace;
	uint8_t envelope[2 * VARINT_MAX];
	size_t n = put_varint(envelope, r->type);

	n += put_varint(envelope + n, sizeof(head) + own + more);
	head.num_traces = (uint16_t)(head.num_traces + count);
	u->room -= (int64_t)more;
	(void)!fwrite(envelope, 1, n, u->out);
	(void)!fwrite(&head, 1, sizeof(head), u->out);
	(void)!fwrite(r->bytes, 1, own, u->out);
	(void)!fwrite(u->frames, 1, more, u->out);
}

static void keep_stack(struct unwinding *u, const struct decode_record *r)
{
	u->head = r->user_stack;
	u->room += r->size;
	g_byte_array_set_size(u->stack, 0);
	g_byte_array_append(u->stack, r->bytes,
		(guint)(r->user_stack.num_regs * sizeof(uint64_t) + r->user_stack.size));
	u->has_stack = !r->swap; /* stacks in the other byte order are not unwound */
}

static bool matches_stack(const struct unwinding *u, const struct decode_record *r)
{
	return u->has_stack &&
	       (r->type == KPROF_REC_KERN_TRACE || r->type == KPROF_REC_USER_TRACE) &&
	       r->trace.time_ns == u->head.time_ns && r->trace.pid == u->head.pid &&
	       r->trace.cpu == u->head.cpu;
}

static void take_record(struct unwinding *u, const struct decode_record *r, size_t size)
{
	size_t count;

	if (r->type == KPROF_REC_USER_STACK) {
		keep_stack(u, r);
		return;
	}
	if (matches_stack(u, r)) {
		count = unwind_sample(u, r);
		write_sample(u, r, MIN(count, (size_t)u->room / sizeof(uint64_t)));
	} else {
		(void)!fwrite(r->payload + r->size - size, 1, size, u->out);
	}
	u->has_stack = false;
}

/* ---- passes ---------------------------------------------------------------------------------- */

static int learn(struct unwinding *u, struct decoder *decoder)
{
	struct decode_record record;
	int ret;

	while ((ret = decode_next(decoder, &record, NULL)) > 0 || ret == -EBADMSG) {
		if (ret < 0)
			continue;
		enter_record(u, &record);
		profile_learn(u->processes, u->section, &record);
	}
	processes_finish(u->processes);
	u->section = 0;
	u->section_records = 0;
	return decode_rewind(decoder);
}

static int rewrite(struct unwinding *u, struct decoder *decoder, const struct cancel *cancel)
{
	uint64_t taken = 0, count = 0;
	struct decode_record record;
	int ret;

	while ((ret = decode_next(decoder, &record, NULL)) > 0 || ret == -EBADMSG) {
		if (++count % CANCEL_RECORDS == 0 && cancel_requested(cancel))
			return -EINTR;
		if (ret > 0) {
			enter_record(u, &record);
			take_record(u, &record, (size_t)(decoder->offset - taken));
		} else {
			(void)!fwrite(record.payload + record.size - (decoder->offset - taken), 1,
				(size_t)(decoder->offset - taken), u->out);
		}
		taken = decoder->offset;
	}
	/*
	 * after bytes that are no record nothing can be decoded: copying a part of them is enough
	 */
	if (ret < 0)
		(void)!fwrite(decoder->window + decoder->pos, 1, decoder->filled - decoder->pos,
			u->out);
	if (fflush(u->out) || ferror(u->out))
		return -ENOSPC;
	return 0;
}

/* A stream into an unnamed file; *fd stays open when the stream is closed. */
static FILE *open_stream(int *fd)
{
	FILE *out = NULL;
	int other;

	*fd = memfile_create_sealable("unwound");
	if (*fd < 0)
		return NULL;
	other = dup(*fd);
	if (other >= 0)
		out = fdopen(other, "w");
	if (!out) {
		if (other >= 0)
			close(other);
		close(*fd);
	}
	return out;
}

int unwinding_make(struct decoder *decoder, struct symbols *symbols,
	const struct cancel *cancel, int *fd, struct unwinding_counts *counts, struct err *err)
{
	const struct symbols_how how = {
		.cancel_fd = cancel ? cancel->cancel_fd : -1,
		.deadline_ns = proto_now_ns() + ASK_NS,
	};
	struct unwinding_counts own = { 0 };
	struct unwinding *u;
	int ret, made;
	FILE *out = open_stream(&made);

	if (!out)
		return err_set(err, ENOMEM, "there is not enough memory for the unwound capture");
	u = g_new0(struct unwinding, 1);
	u->out = out;
	u->counts = counts ? counts : &own;
	u->room = GROWTH_MAX;
	*u->counts = own;
	u->processes = processes_create();
	u->table = unwind_table_create(symbols, &how);
	u->stack = g_byte_array_new();
	ret = learn(u, decoder);
	if (!ret)
		ret = rewrite(u, decoder, cancel);
	g_byte_array_free(u->stack, TRUE);
	unwind_table_destroy(u->table);
	processes_destroy(u->processes);
	g_free(u);
	fclose(out);
	decode_seal(made);
	if (!ret && lseek(made, 0, SEEK_SET) < 0)
		ret = -errno;
	if (!ret) {
		*fd = made;
		return 0;
	}
	close(made);
	return err_set(err, -ret, "the stacks can't be unwound: %s", strerror(-ret));
}

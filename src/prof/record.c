/* SPDX-License-Identifier: MIT */
/* Encodes kpdata's records: see record.h, also for the ownership of buffers. */
#include "prof/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "prof/tally.h"
#include "prof/varint.h"

/* type and payload size as varints: our types need 1 byte, sizes up to 32 MiB need 4 */
#define ENVELOPE_MAX 5
#define BUF_GROW_MIN 4096

void record_buf_fixed(struct record_buf *buf, uint8_t *memory, size_t size)
{
	*buf = (struct record_buf){ .data = memory, .size = size };
}

void record_buf_init(struct record_buf *buf)
{
	*buf = (struct record_buf){ .grows = true };
}

void record_buf_fini(struct record_buf *buf)
{
	if (buf->grows)
		free(buf->data);
	*buf = (struct record_buf){ 0 };
}

static int make_room(struct record_buf *buf, size_t bytes)
{
	uint8_t *data;
	size_t size;

	if (bytes <= buf->size - buf->used)
		return 0;
	if (!buf->grows)
		return -ENOSPC;
	size = buf->size * 2 > BUF_GROW_MIN ? buf->size * 2 : BUF_GROW_MIN;
	while (bytes > size - buf->used)
		size *= 2;
	data = realloc(buf->data, size);
	if (!data)
		return -ENOMEM;
	buf->data = data;
	buf->size = size;
	return 0;
}

/* Writes the envelope, and sets *payload to the place of the payload of `size` bytes. */
static int begin_record(struct record_buf *buf, enum kprof_record_type type, size_t size,
	uint8_t **payload)
{
	uint8_t *p;
	int ret;

	ret = make_room(buf, ENVELOPE_MAX + size);
	if (ret)
		return ret;
	p = varint_put(buf->data + buf->used, (uint64_t)type);
	p = varint_put(p, size);
	*payload = p;
	buf->used = (size_t)(p - buf->data) + size;
	return 0;
}

/* A record of a fixed head and what follows it. */
static int add_record(struct record_buf *buf, enum kprof_record_type type, const void *head,
	size_t head_size, const void *tail, size_t tail_size)
{
	uint8_t *payload;
	int ret;

	ret = begin_record(buf, type, head_size + tail_size, &payload);
	if (ret)
		return ret;
	memcpy(payload, head, head_size);
	if (tail_size)
		memcpy(payload + head_size, tail, tail_size);
	return 0;
}

int record_append(struct record_buf *buf, const uint8_t *records, size_t len)
{
	int ret = make_room(buf, len);

	if (ret)
		return ret;
	if (len)
		memcpy(buf->data + buf->used, records, len);
	buf->used += len;
	return 0;
}

size_t record_trace_bytes(size_t words)
{
	return ENVELOPE_MAX + sizeof(struct kprof_rec_trace) + words * sizeof(uint64_t);
}

/* How many words a stack has: between its two sides is a marker. */
static size_t count_words(size_t kernel_count, size_t user_count)
{
	return kernel_count + (kernel_count && user_count) + user_count;
}

static void put_stack(uint8_t *p, const uint64_t *kernel, size_t kernel_count, const uint64_t *user,
	size_t user_count)
{
	const uint64_t marker = KPROF_CONTEXT_USER;

	if (kernel_count) /* memcpy must not get NULL, even for 0 bytes */
		memcpy(p, kernel, kernel_count * sizeof(uint64_t));
	p += kernel_count * sizeof(uint64_t);
	if (kernel_count && user_count) {
		memcpy(p, &marker, sizeof(marker));
		p += sizeof(marker);
	}
	if (user_count)
		memcpy(p, user, user_count * sizeof(uint64_t));
}

int record_trace(struct record_buf *buf, enum kprof_record_type type,
	const struct kprof_rec_trace *head, const uint64_t *kernel, size_t kernel_count,
	const uint64_t *user, size_t user_count)
{
	const size_t words = count_words(kernel_count, user_count);
	uint8_t *p;
	int ret;

	ret = begin_record(buf, type, sizeof(*head) + words * sizeof(uint64_t), &p);
	if (ret)
		return ret;
	memcpy(p, head, sizeof(*head));
	((struct kprof_rec_trace *)p)->num_traces = (uint16_t)words;
	put_stack(p + sizeof(*head), kernel, kernel_count, user, user_count);
	return 0;
}

#define COMM_MAX 16 /* with its NUL */

size_t record_away_bytes(size_t words)
{
	return ENVELOPE_MAX + sizeof(struct kprof_rec_away) + COMM_MAX + words * sizeof(uint64_t);
}

int record_away(struct record_buf *buf, const struct kprof_rec_away *head, const char *comm,
	const uint64_t *kernel, size_t kernel_count, const uint64_t *user, size_t user_count)
{
	const size_t words = count_words(kernel_count, user_count), name = strnlen(comm, COMM_MAX - 1);
	uint8_t *p;
	int ret = begin_record(buf, KPROF_REC_AWAY, sizeof(*head) + name + 1 + words * sizeof(uint64_t), &p);

	if (ret)
		return ret;
	memcpy(p, head, sizeof(*head));
	((struct kprof_rec_away *)p)->num_traces = (uint16_t)words;
	p += sizeof(*head);
	memcpy(p, comm, name);
	p[name] = '\0';
	put_stack(p + name + 1, kernel, kernel_count, user, user_count);
	return 0;
}

int record_mmap(struct record_buf *buf, const struct kprof_rec_mmap *head, const char *path)
{
	return add_record(buf, KPROF_REC_MMAP, head, sizeof(*head), path, strlen(path) + 1);
}

int record_kernel_mmap(struct record_buf *buf, uint64_t addr, uint64_t size, const char *path)
{
	const struct kprof_rec_mmap head = { .addr = addr, .size = size, .pid = KPROF_PID_KERNEL };

	return add_record(buf, KPROF_REC_KERNEL_MMAP, &head, sizeof(head), path, strlen(path) + 1);
}

int record_new_process(struct record_buf *buf, uint64_t time_ns, uint32_t pid, const char *path)
{
	const struct kprof_rec_new_process head = { .time_ns = time_ns, .pid = pid };

	return add_record(buf, KPROF_REC_NEW_PROCESS, &head, sizeof(head), path, strlen(path) + 1);
}

int record_event(struct record_buf *buf, const struct kprof_rec_event *head, const char *text,
	const struct kprof_rec_event_configs *configs)
{
	const size_t text_bytes = strlen(text) + 1;
	uint8_t *p;
	int ret;

	ret = begin_record(buf, KPROF_REC_EVENT, sizeof(*head) + text_bytes + sizeof(*configs), &p);
	if (ret)
		return ret;
	memcpy(p, head, sizeof(*head));
	memcpy(p + sizeof(*head), text, text_bytes);
	memcpy(p + sizeof(*head) + text_bytes, configs, sizeof(*configs));
	return 0;
}

int record_task(struct record_buf *buf, uint32_t cpu, uint32_t pid, uint32_t tid)
{
	const struct kprof_rec_task head = { .cpu = cpu, .pid = pid, .tid = tid };

	return add_record(buf, KPROF_REC_TASK, &head, sizeof(head), NULL, 0);
}

int record_lost(struct record_buf *buf, uint32_t cpu, uint32_t event,
	enum kprof_lost_reason reason, uint64_t count)
{
	const struct kprof_rec_lost head = {
		.cpu = cpu, .event = event, .reason = (uint32_t)reason, .count = count
	};

	return add_record(buf, KPROF_REC_LOST, &head, sizeof(head), NULL, 0);
}

int record_comm(struct record_buf *buf, uint64_t time_ns, uint32_t pid, uint32_t tid,
	const char *name)
{
	const struct kprof_rec_comm head = { .time_ns = time_ns, .pid = pid, .tid = tid };

	return add_record(buf, KPROF_REC_COMM, &head, sizeof(head), name, strlen(name) + 1);
}

int record_fork(struct record_buf *buf, enum kprof_record_type type,
	const struct kprof_rec_fork *fork)
{
	return add_record(buf, type, fork, sizeof(*fork), NULL, 0);
}

int record_build_id(struct record_buf *buf, uint64_t time_ns, uint32_t pid, uint64_t addr,
	const uint8_t *id, uint8_t length)
{
	const struct kprof_rec_build_id head = {
		.time_ns = time_ns, .pid = pid, .addr = addr, .length = length
	};

	return add_record(buf, KPROF_REC_BUILD_ID, &head, sizeof(head), id, length);
}

int record_file_id(struct record_buf *buf, const struct kprof_rec_file_id *head,
	const uint64_t details[3])
{
	return add_record(buf, KPROF_REC_FILE_ID, head, sizeof(*head), details,
		3 * sizeof(*details));
}

int record_clock(struct record_buf *buf, uint64_t time_ns, uint64_t wall_ns, uint32_t writer)
{
	struct {
		char name[sizeof("CLOCK_MONOTONIC")];
		uint32_t writer;
	} __attribute__((packed)) tail = { "CLOCK_MONOTONIC", writer };
	const struct kprof_rec_clock head = {
		.time_ns = time_ns,
		.wall_ns = wall_ns,
		.byte_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? KPROF_BYTE_ORDER_LITTLE
									: KPROF_BYTE_ORDER_BIG,
	};

	return add_record(buf, KPROF_REC_CLOCK, &head, sizeof(head), &tail, sizeof(tail));
}

int record_host(struct record_buf *buf, const struct kprof_rec_host *head, const char *name)
{
	return add_record(buf, KPROF_REC_HOST, head, sizeof(*head), name, strlen(name) + 1);
}

int record_user(struct record_buf *buf, uint64_t time_ns, uint32_t pid, uint32_t uid)
{
	const struct kprof_rec_user head = { .time_ns = time_ns, .pid = pid, .uid = uid };

	return add_record(buf, KPROF_REC_USER, &head, sizeof(head), NULL, 0);
}

int record_throttle(struct record_buf *buf, uint64_t time_ns, uint32_t cpu, uint32_t event,
	bool throttled)
{
	const struct kprof_rec_throttle head = {
		.time_ns = time_ns, .cpu = cpu, .event = event, .throttled = throttled
	};

	return add_record(buf, KPROF_REC_THROTTLE, &head, sizeof(head), NULL, 0);
}

int record_cpu_times(struct record_buf *buf, const struct kprof_rec_cpu_times *times)
{
	return add_record(buf, KPROF_REC_CPU_TIMES, times, sizeof(*times), NULL, 0);
}

int record_period(struct record_buf *buf, uint32_t cpu, uint32_t event, uint64_t period)
{
	const struct kprof_rec_period head = { .cpu = cpu, .event = event, .period = period };

	return add_record(buf, KPROF_REC_PERIOD, &head, sizeof(head), NULL, 0);
}

size_t record_user_stack_bytes(size_t regs, size_t stack_bytes)
{
	return ENVELOPE_MAX + sizeof(struct kprof_rec_user_stack) + regs * sizeof(uint64_t) +
	       stack_bytes;
}

int record_user_stack(struct record_buf *buf, const struct kprof_rec_user_stack *head,
	const uint64_t *regs, const uint8_t *stack)
{
	const size_t regs_bytes = head->num_regs * sizeof(*regs);
	uint8_t *p;
	int ret;

	ret = begin_record(buf, KPROF_REC_USER_STACK, sizeof(*head) + regs_bytes + head->size, &p);
	if (ret)
		return ret;
	memcpy(p, head, sizeof(*head));
	p += sizeof(*head);
	memcpy(p, regs, regs_bytes);
	if (head->size)
		memcpy(p + regs_bytes, stack, head->size);
	return 0;
}

size_t record_length(const uint8_t *data)
{
	uint64_t type, size;
	const uint8_t *payload;

	payload = varint_get(varint_get(data, &type), &size);
	return (size_t)(payload - data) + size;
}

size_t record_fit(const uint8_t *data, size_t len, size_t want, size_t *first)
{
	size_t at = 0, step;

	*first = len ? record_length(data) : 0;
	if (len <= want)
		return len;
	while (at < len) {
		step = record_length(data + at);
		if (step > want - at)
			break;
		at += step;
	}
	return at;
}

/* The next sample from *at on, which is then behind it. Returns false if there is none. */
static bool next_sample(const uint8_t *data, size_t len, size_t *at, struct kprof_rec_trace *trace)
{
	uint64_t type, size;
	const uint8_t *payload;

	while (*at < len) {
		payload = varint_get(varint_get(data + *at, &type), &size);
		*at = (size_t)(payload - data) + size;
		if (type == KPROF_REC_KERN_TRACE || type == KPROF_REC_USER_TRACE) {
			memcpy(trace, payload, sizeof(*trace));
			return true;
		}
	}
	return false;
}

bool record_first_time(const uint8_t *data, size_t len, uint64_t *time_ns)
{
	struct kprof_rec_trace trace;
	size_t at = 0;

	if (!next_sample(data, len, &at, &trace))
		return false;
	*time_ns = trace.time_ns;
	return true;
}

void record_pids(const uint8_t *data, size_t len, GHashTable *pids)
{
	struct kprof_rec_trace trace;
	bool any = false;
	uint32_t last = 0; /* most samples are of the process of the one before */
	size_t at = 0;

	while (next_sample(data, len, &at, &trace)) {
		if (!any || trace.pid != last)
			g_hash_table_add(pids, GUINT_TO_POINTER(trace.pid));
		last = trace.pid;
		any = true;
	}
}

void record_count(const uint8_t *data, size_t len, struct record_counts *counts)
{
	struct kprof_rec_lost record;
	uint64_t type, size;
	const uint8_t *payload;
	size_t at = 0;

	while (at < len) {
		payload = varint_get(varint_get(data + at, &type), &size);
		if (type == KPROF_REC_KERN_TRACE || type == KPROF_REC_USER_TRACE) {
			counts->samples++;
		} else if (type == KPROF_REC_LOST) {
			memcpy(&record, payload, sizeof(record));
			counts->lost += record.count;
		}
		at = (size_t)(payload - data) + size;
	}
}

void record_tally(const uint8_t *data, size_t len, enum kprof_lost_reason reason,
	struct tally *tally)
{
	uint64_t samples = 0; /* consecutive samples of one event and CPU, as nearly all are */
	uint32_t cpu = 0, event = 0;
	size_t at = 0;

	while (at < len) {
		struct kprof_rec_trace trace;
		struct kprof_rec_lost lost;
		uint64_t type, size;
		const uint8_t *payload;

		payload = varint_get(varint_get(data + at, &type), &size);
		if (type == KPROF_REC_KERN_TRACE || type == KPROF_REC_USER_TRACE) {
			memcpy(&trace, payload, sizeof(trace));
			if (samples && (trace.cpu != cpu || trace.info != event)) {
				tally_add(tally, cpu, event, reason, samples);
				samples = 0;
			}
			cpu = trace.cpu;
			event = (uint32_t)trace.info;
			samples++;
		} else if (type == KPROF_REC_LOST) {
			memcpy(&lost, payload, sizeof(lost));
			tally_add(tally, lost.cpu, lost.event, lost.reason, lost.count);
		}
		at = (size_t)(payload - data) + size;
	}
	if (samples)
		tally_add(tally, cpu, event, reason, samples);
}

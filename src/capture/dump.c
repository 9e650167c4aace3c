/* SPDX-License-Identifier: MIT */
/* kpdata as text: see dump.h. */
#include "capture/dump.h"

#include <inttypes.h>

#include "base/text.h"

/* A number that is shown as a word: flags and reasons. */
struct dump_word {
	uint64_t value;
	const char *word;
};

static const struct dump_word event_flags[] = {
	{ KPROF_EVENT_FREQ, "freq" },
	{ KPROF_EVENT_FALLBACK, "fallback" },
	{ KPROF_EVENT_SCOPE_USER, "scope_user" },
	{ KPROF_EVENT_SCOPE_OWN, "scope_own" },
	{ KPROF_EVENT_OFFCPU, "offcpu" },
	{ KPROF_EVENT_WALL, "wall" },
	{ 0, NULL },
};

static const struct dump_word lost_reasons[] = {
	{ KPROF_LOST_RING, "ring" },
	{ KPROF_LOST_QUEUE, "queue" },
	{ KPROF_LOST_OVERWRITE, "overwrite" },
	{ KPROF_LOST_INVALID, "invalid" },
	{ KPROF_LOST_RING_RECORDS, "ring_records" },
	{ 0, NULL },
};

static void append_u64(GString *out, const char *key, uint64_t value)
{
	g_string_append_printf(out, " %s=%" PRIu64, key, value);
}

static void append_hex(GString *out, const char *key, uint64_t value)
{
	g_string_append_printf(out, " %s=0x%" PRIx64, key, value);
}

static void append_text(GString *out, const char *key, const char *text)
{
	g_string_append_printf(out, " %s=", key);
	text_append_quoted(out, text);
}

/* `all`: the word for pid 0xffffffff in this record. */
static void append_pid_as(GString *out, const char *key, uint32_t pid, const char *all)
{
	if (pid == KPROF_PID_KERNEL)
		g_string_append_printf(out, " %s=%s", key, all);
	else if (pid == KPROF_PID_GONE)
		g_string_append_printf(out, " %s=gone", key);
	else
		append_u64(out, key, pid);
}

static void append_pid(GString *out, uint32_t pid, const char *all)
{
	append_pid_as(out, "pid", pid, all);
}

static void append_flags(GString *out, uint64_t flags)
{
	const struct dump_word *w;
	char sep = '=';

	g_string_append(out, " flags");
	for (w = event_flags; w->word; w++) {
		if (!(flags & w->value))
			continue;
		g_string_append_printf(out, "%c%s", sep, w->word);
		flags &= ~w->value;
		sep = ',';
	}
	if (flags || sep == '=')
		g_string_append_printf(out, "%c0x%" PRIx64, sep, flags);
}

static void append_reason(GString *out, uint64_t reason)
{
	const struct dump_word *w;

	for (w = lost_reasons; w->word && w->value != reason; w++)
		;
	if (w->word)
		g_string_append_printf(out, " reason=%s", w->word);
	else
		append_u64(out, "reason", reason);
}

static void append_frames(const struct decode_record *r, uint16_t count, GString *out)
{
	uint16_t i;

	g_string_append(out, " trace=");
	for (i = 0; i < count; i++) {
		uint64_t address = decode_frame(r, i);

		if (i)
			g_string_append_c(out, ',');
		if (address == KPROF_CONTEXT_USER)
			g_string_append(out, "user");
		else
			g_string_append_printf(out, "0x%" PRIx64, address);
	}
}

static void put_trace(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->trace.time_ns);
	append_u64(out, "event", r->trace.info);
	append_pid(out, r->trace.pid, "idle");
	append_u64(out, "cpu", r->trace.cpu);
	append_u64(out, "frames", r->trace.num_traces);
	append_frames(r, r->trace.num_traces, out);
}

static void put_away(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->away.time_ns);
	append_pid(out, r->away.pid, "idle");
	append_u64(out, "cpu", r->away.cpu);
	append_u64(out, "left", r->away.left_ns);
	append_u64(out, "back", r->away.back_ns);
	append_hex(out, "state", r->away.state);
	append_pid_as(out, "waker_pid", r->away.waker_pid, "idle");
	append_u64(out, "waker_tid", r->away.waker_tid);
	append_text(out, "waker", r->text);
	append_u64(out, "woken", r->away.woken_ns);
	append_u64(out, "frames", r->away.num_traces);
	append_frames(r, r->away.num_traces, out);
}

static void put_mmap(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->mmap.time_ns);
	append_pid(out, r->mmap.pid, "kernel");
	append_hex(out, "addr", r->mmap.addr);
	append_hex(out, "size", r->mmap.size);
	append_hex(out, "offset", r->mmap.offset);
	append_text(out, "path", r->text);
}

static void put_new_process(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->new_process.time_ns);
	append_pid(out, r->new_process.pid, "kernel");
	append_text(out, "path", r->text);
}

static void put_event(const struct decode_record *r, GString *out)
{
	append_u64(out, "number", r->event.number);
	append_u64(out, "perf_type", r->event.perf_type);
	append_hex(out, "config", r->event.config);
	append_u64(out, "rate", r->event.rate);
	append_flags(out, r->event.flags);
	append_text(out, "text", r->text);
	append_hex(out, "config1", r->configs.config1);
	append_hex(out, "config2", r->configs.config2);
}

static void put_task(const struct decode_record *r, GString *out)
{
	append_u64(out, "cpu", r->task.cpu);
	append_pid(out, r->task.pid, "idle");
	append_u64(out, "tid", r->task.tid);
}

static void put_lost(const struct decode_record *r, GString *out)
{
	append_u64(out, "cpu", r->lost.cpu);
	append_u64(out, "event", r->lost.event);
	append_reason(out, r->lost.reason);
	append_u64(out, "count", r->lost.count);
}

static void put_comm(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->comm.time_ns);
	append_pid(out, r->comm.pid, "idle");
	append_u64(out, "tid", r->comm.tid);
	append_text(out, "name", r->text);
}

static void put_fork(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->fork.time_ns);
	append_pid(out, r->fork.pid, "idle");
	append_u64(out, "tid", r->fork.tid);
	append_u64(out, "parent_pid", r->fork.parent_pid);
	append_u64(out, "parent_tid", r->fork.parent_tid);
}

static void append_id(GString *out, const char *key, const uint8_t *id, size_t length)
{
	size_t i;

	g_string_append_printf(out, " %s=", key);
	for (i = 0; i < length; i++)
		g_string_append_printf(out, "%02x", id[i]);
}

static void put_build_id(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->build_id.time_ns);
	append_pid(out, r->build_id.pid, "kernel");
	append_hex(out, "addr", r->build_id.addr);
	append_id(out, "id", r->bytes, r->build_id.length);
}

static void put_file_id(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->file_id.time_ns);
	append_pid(out, r->file_id.pid, "kernel");
	append_hex(out, "addr", r->file_id.addr);
	g_string_append_printf(out, " dev=%" PRIu32 ":%" PRIu32, r->file_id.dev_major,
		r->file_id.dev_minor);
	append_u64(out, "inode", r->file_id.inode);
	append_u64(out, "generation", r->file.generation);
	append_u64(out, "size", r->file.size);
	append_u64(out, "mtime", r->file.mtime_ns);
}

static void put_clock(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->clock.time_ns);
	append_u64(out, "wall", r->clock.wall_ns);
	g_string_append_printf(out, " byte_order=%s",
		r->clock.byte_order == KPROF_BYTE_ORDER_LITTLE ? "little" : "big");
	append_text(out, "name", r->text);
	if (r->writer_pid)
		append_u64(out, "writer", r->writer_pid);
}

static void put_throttle(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->throttle.time_ns);
	append_u64(out, "cpu", r->throttle.cpu);
	append_u64(out, "event", r->throttle.event);
	append_u64(out, "throttled", r->throttle.throttled);
}

static void put_period(const struct decode_record *r, GString *out)
{
	append_u64(out, "cpu", r->period.cpu);
	append_u64(out, "event", r->period.event);
	append_u64(out, "period", r->period.period);
}

static void put_user_stack(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->user_stack.time_ns);
	append_pid(out, r->user_stack.pid, "idle");
	append_u64(out, "cpu", r->user_stack.cpu);
	append_u64(out, "machine", r->user_stack.machine);
	append_u64(out, "depth", r->user_stack.depth);
	append_u64(out, "regs", r->user_stack.num_regs);
	append_u64(out, "bytes", r->user_stack.size);
}

static void put_cpu_times(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->cpu_times.time_ns);
	append_u64(out, "since", r->cpu_times.since_ns);
	append_u64(out, "cpu", r->cpu_times.cpu);
	append_u64(out, "irq", r->cpu_times.irq_ns);
	append_u64(out, "kern", r->cpu_times.kern_ns);
	append_u64(out, "user", r->cpu_times.user_ns);
	append_u64(out, "idle", r->cpu_times.idle_ns);
	append_u64(out, "steal", r->cpu_times.steal_ns);
}

static void put_host(const struct decode_record *r, GString *out)
{
	append_id(out, "machine", r->host.machine_id, KPROF_HOST_ID_BYTES);
	append_id(out, "boot", r->host.boot_id, KPROF_HOST_ID_BYTES);
	append_text(out, "name", r->text);
}

static void put_user(const struct decode_record *r, GString *out)
{
	append_u64(out, "time", r->user.time_ns);
	append_u64(out, "pid", r->user.pid);
	append_u64(out, "uid", r->user.uid);
}

static const struct {
	enum kprof_record_type type;
	const char *name;
	void (*put)(const struct decode_record *record, GString *out);
} types[] = {
	{ KPROF_REC_KERN_TRACE, "kern_trace", put_trace },
	{ KPROF_REC_USER_TRACE, "user_trace", put_trace },
	{ KPROF_REC_MMAP, "mmap", put_mmap },
	{ KPROF_REC_NEW_PROCESS, "new_process", put_new_process },
	{ KPROF_REC_EVENT, "event", put_event },
	{ KPROF_REC_TASK, "task", put_task },
	{ KPROF_REC_LOST, "lost", put_lost },
	{ KPROF_REC_COMM, "comm", put_comm },
	{ KPROF_REC_FORK, "fork", put_fork },
	{ KPROF_REC_EXIT, "exit", put_fork },
	{ KPROF_REC_BUILD_ID, "build_id", put_build_id },
	{ KPROF_REC_CLOCK, "clock", put_clock },
	{ KPROF_REC_THROTTLE, "throttle", put_throttle },
	{ KPROF_REC_PERIOD, "period", put_period },
	{ KPROF_REC_USER_STACK, "user_stack", put_user_stack },
	{ KPROF_REC_KERNEL_MMAP, "kernel_mmap", put_mmap },
	{ KPROF_REC_FILE_ID, "file_id", put_file_id },
	{ KPROF_REC_CPU_TIMES, "cpu_times", put_cpu_times },
	{ KPROF_REC_AWAY, "away", put_away },
	{ KPROF_REC_HOST, "host", put_host },
	{ KPROF_REC_USER, "user", put_user },
};

void dump_record(const struct decode_record *record, GString *out)
{
	size_t i;

	g_string_append_printf(out, "%" PRIu64, record->offset);
	for (i = 0; record->known && i < G_N_ELEMENTS(types); i++) {
		if ((uint64_t)types[i].type != record->type)
			continue;
		g_string_append_printf(out, " %s", types[i].name);
		types[i].put(record, out);
		g_string_append_c(out, '\n');
		return;
	}
	g_string_append(out, " unknown");
	append_u64(out, "type", record->type);
	append_u64(out, "size", record->size);
	g_string_append_c(out, '\n');
}

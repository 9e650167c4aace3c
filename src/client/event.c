/* SPDX-License-Identifier: MIT */
/*
 * Writing an event: the hot path. Any thread, any signal handler, at any time; no lock, no
 * allocation, no system call except when a thread begins, ends or changes chunk. errno is
 * preserved.
 */
#include "client/client.h"
#include "client/text.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* a thread without a slot tries again after so many events */
#define STARVED_EVENTS 1024u
/* more than handlers and new pools can cause; else another process keeps changing the slot */
#define RESERVE_TRIES 64u

/*
 * The state of a thread. Initial-exec: no call and no allocation at the first use in a library
 * loaded by dlopen; the few bytes come from the reserve of the loader.
 *
 *	slot	that of the writer, for the fast path; NULL if there is none, or if the
 *		clock of the pool or the number of the CPU takes a call
 */
static __thread struct {
	struct ring_writer *writer;
	struct kprof_slot *slot;
	struct pool *pool;
	uint32_t starved;
} this_thread __attribute__((tls_model("initial-exec")));

/* The kernel keeps the number of the CPU in the rseq area of each thread. */
static inline uint32_t current_cpu(void)
{
	uint32_t cpu = KPROF_CPU_UNKNOWN;
#if defined(__x86_64__)
	intptr_t offset = client.rseq_offset;

	if (__builtin_expect(offset != 0, 1))
		__asm__("movl %%fs:4(%1), %0" : "=r"(cpu) : "r"(offset));
	else
#endif
		cpu = (uint32_t)sched_getcpu();
	return cpu < KPROF_CPU_UNKNOWN ? cpu : KPROF_CPU_UNKNOWN;
}

/*
 * The same without a call, if there is such an area; see set_writer. 16 bits are enough for the
 * number of a CPU; in an area that is unregistered the kernel leaves -1, here KPROF_CPU_UNKNOWN.
 */
static inline uint32_t quick_cpu(void)
{
#if defined(__x86_64__)
	uint32_t cpu;

	__asm__("movzwl %%fs:4(%1), %0" : "=r"(cpu) : "r"(client.rseq_offset));
	return cpu;
#else
	return KPROF_CPU_UNKNOWN;
#endif
}

static inline uint32_t record_flags(const struct kprof_event *event)
{
	return (__atomic_load_n(&event->on, __ATOMIC_RELAXED) & ~CLIENT_PROBED) == CLIENT_PROVISIONAL ?
		KPROF_RECORD_PROVISIONAL : 0;
}

/* It changes when a program of probes/ wants the event. */
static inline uint32_t shape_of(const struct kprof_event *event)
{
	return __atomic_load_n(&event->shape, __ATOMIC_RELAXED);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* A signal handler may run at any point: slot is only set while writer is. */
static void set_writer(struct ring_writer *writer)
{
	this_thread.slot = NULL;
	atomic_fence_signal();
	this_thread.writer = writer;
	atomic_fence_signal();
	if (writer && writer->clock == KPROF_CLOCK_COUNTER && client.rseq_offset != 0)
		this_thread.slot = writer->slot;
}

void event_thread_ends(void *writer)
{
	if (this_thread.writer == writer && this_thread.pool) {
		int saved = errno;

		if (*this_thread.pool->alive)
			ring_writer_end(&this_thread.pool->ring, writer);
		errno = saved;
	}
	set_writer(NULL);
}

static struct ring_writer *begin_thread(struct pool *pool)
{
	struct ring_writer *writer = ring_writer_begin(&pool->ring);

	if (!writer && ring_pool_reap(&pool->ring) > 0)
		writer = ring_writer_begin(&pool->ring);
	if (writer && client.has_key)
		pthread_setspecific(client.key, writer);
	return writer;
}

/* The calling thread's writer, made if it has none. Returns NULL if the event is lost; it is counted. */
static struct ring_writer *get_writer(void)
{
	struct pool *pool = atomic_read_acquire(&client.pool); /* its memory is laid out */
	struct ring_writer *writer = this_thread.writer;
	uint64_t all = ~0ull, saved;

	/* a child that was forked without the fork handlers: its parent's pool is not its own */
	if (!pool || !*pool->alive)
		return NULL;
	if (writer && this_thread.pool == pool && writer->slot)
		return writer;
	if (this_thread.starved > 0 && this_thread.pool == pool) {
		this_thread.starved--;
		ring_pool_starved(&pool->ring);
		return NULL;
	}
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &saved, sizeof(all));
	writer = this_thread.writer; /* a handler may have set it */
	if (!writer || this_thread.pool != pool || !writer->slot) {
		if (writer && this_thread.pool != pool && *this_thread.pool->alive)
			ring_writer_end(&this_thread.pool->ring, writer);
		set_writer(writer = begin_thread(pool));
		this_thread.pool = pool;
		if (!writer) {
			this_thread.starved = STARVED_EVENTS;
			ring_pool_starved(&pool->ring);
		}
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, sizeof(saved));
	return writer;
}

/* The slow path of reserve(). */
static __attribute__((noinline, cold)) struct ring_writer *reserve_slowly(uint32_t units,
	struct ring_room *room)
{
	struct ring_writer *writer;
	uint32_t tries = 0;
	int saved = errno;

	/* again each time: the pool may have been replaced meanwhile */
	while ((writer = get_writer()) != NULL && !ring_reserve(writer, units, room)) {
		if (this_thread.pool != atomic_read_relaxed(&client.pool))
			continue;
		if (++tries == RESERVE_TRIES)
			ring_pool_starved(&this_thread.pool->ring);
		if (tries == RESERVE_TRIES ||
			!ring_writer_switch(&this_thread.pool->ring, writer, units)) {
			writer = NULL;
			break;
		}
	}
	errno = saved;
	return writer;
}

static inline struct ring_writer *reserve(uint32_t units, struct ring_room *room)
{
	struct ring_writer *writer = this_thread.writer;

	if (__builtin_expect(writer && ring_reserve(writer, units, room), 1))
		return writer;
	return reserve_slowly(units, room);
}

/* ---- arguments that are not all words -------------------------------------------------------- */

/* The most bytes of a string argument that may be read. */
static inline size_t string_limit(const struct args_plan *plan, const uint64_t *values, uint32_t i)
{
	if (__builtin_expect(!plan[i].limited, 1))
		return SIZE_MAX;
	if (plan[i].limit != ARGS_LIMIT_STAR)
		return plan[i].limit;
	return (int)values[i - 1] >= 0 ? (size_t)(int)values[i - 1] : SIZE_MAX;
}

/*
 * Measures the strings into bytes[]; together they get what is left of `room` units after one for
 * each argument. Returns the units of all arguments.
 */
static inline uint32_t measure(const struct args_plan *plan, const uint64_t *values, uint32_t args,
	uint32_t room, uint16_t *bytes, uint32_t *flags)
{
	uint32_t units = args;

	room -= args;
	for (uint32_t i = 0; i < args; i++) {
		const char *text = (const char *)(uintptr_t)values[i];
		size_t most = ((size_t)room + 1) * 8 - 2, limit;
		uint32_t whole;

		if (plan[i].kind != ARGS_STRING)
			continue;
		if (__builtin_expect(!text, 0)) {
			bytes[i] = KPROF_STRING_NULL;
			continue;
		}
		whole = plan[i].limited ? TEXT_LONG : text_short(text);
		bytes[i] = (uint16_t)whole;
		if (whole > most) {
			limit = string_limit(plan, values, i);
			/* no byte after the limit is read: it may not be mapped */
			bytes[i] = (uint16_t)strnlen(text, limit < most ? limit : most);
			if (bytes[i] == most && limit > most && text[most])
				*flags |= KPROF_RECORD_CUT;
		}
		units += text_units(bytes[i]) - 1;
		room -= text_units(bytes[i]) - 1;
	}
	return units;
}

static inline uint64_t *store(const struct args_plan *plan, const uint64_t *values, uint32_t args,
	const uint16_t *bytes, uint64_t *at)
{
	for (uint32_t i = 0; i < args; i++) {
		if (plan[i].kind == ARGS_STRING)
			at = text_store(at, (const char *)(uintptr_t)values[i], bytes[i]);
		else
			*at++ = values[i];
	}
	return at;
}

/*
 * Writes any event, with or without the return addresses of the callers. Returns its timestamp, 0 if it
 * was not written. An event that is probed comes here always.
 */
static __attribute__((noinline)) uint64_t write_packed(struct kprof_event *event,
	const uint64_t *values, uint32_t flags, const uint64_t *stack, uint32_t stack_units)
{
	const struct registry_entry *entry = __atomic_load_n(&event->entry, __ATOMIC_RELAXED);
	uint16_t bytes[KPROF_ARGS_MAX];
	const uint8_t on = __atomic_load_n(&event->on, __ATOMIC_RELAXED);
	struct ring_writer *writer;
	struct ring_room room;
	uint32_t units;
	uint64_t *at;

	if (!entry) /* unloaded at this moment */
		return 0;
	if (__builtin_expect(on & CLIENT_PROBED, 0))
		probe_event(entry, values);
	/* also one that was probed alone when it was tested, and is no more */
	if (__builtin_expect(!(on & ~CLIENT_PROBED), 0))
		return 0;
	units = measure(entry->plan, values, entry->args, KPROF_RECORD_MAX / 8 - 2 - stack_units,
		bytes, &flags);
	writer = reserve(2 + units + stack_units, &room);
	if (__builtin_expect(!writer, 0))
		return 0;
	at = store(entry->plan, values, entry->args, bytes, room.words + 2);
	for (uint32_t i = 0; i < stack_units; i++)
		at[i] = stack[i];
	ring_commit(writer, &room, flags, entry->id, current_cpu());
	return room.stamp;
}

void event_write_format(struct kprof_event *event, const char *format, uint32_t bytes,
	const struct args_plan *plan, const uint64_t *values, uint32_t args)
{
	uint16_t lengths[KPROF_ARGS_MAX];
	uint32_t units = text_units(bytes), flags = record_flags(event);
	struct ring_writer *writer;
	struct ring_room room;

	units += measure(plan, values, args, KPROF_RECORD_MAX / 8 - 2 - units, lengths, &flags);
	writer = reserve(2 + units, &room);
	if (!writer)
		return;
	store(plan, values, args, lengths, text_store(room.words + 2, format, bytes));
	ring_commit(writer, &room, flags, event->id, current_cpu());
}

__attribute__((noinline)) void kprof_write_stack_(struct kprof_event *event, const uint64_t *values)
{
	uint64_t stack[1 + STACK_MAX];
	int saved = errno;

	stack[0] = stack_walk(stack + 1, __builtin_frame_address(0));
	errno = saved;
	write_packed(event, values, record_flags(event) | KPROF_RECORD_STACK, stack,
		1 + (uint32_t)stack[0]);
}

/* ---- the fast path --------------------------------------------------------------------------- */

/*
 * For threads with a slot, and events whose arguments are words or, up to two, strings. If all are
 * words, no function is called, except as the last thing when this path does not apply: so no
 * register is saved, and values stay in registers.
 */

static __attribute__((noinline)) void write_any(struct kprof_event *event, const uint64_t *values)
{
	write_packed(event, values, record_flags(event), NULL, 0);
}

static __attribute__((noinline)) void write_any_1(struct kprof_event *event, uint64_t a)
{
	write_any(event, &a);
}

static __attribute__((noinline)) void write_any_2(struct kprof_event *event, uint64_t a, uint64_t b)
{
	write_any(event, (uint64_t[]){a, b});
}

void kprof_write_(struct kprof_event *event, const uint64_t *values)
{
	uint32_t args = shape_of(event) - 1u; /* without a string */
	struct kprof_slot *slot = this_thread.slot;
	struct ring_writer *writer;
	struct ring_room room;

	if (__builtin_expect(args > KPROF_ARGS_MAX || !slot, 0)) {
		write_any(event, values);
		return;
	}
	ring_look(slot, &room);
	writer = this_thread.writer; /* after the slot: it is set */
	if (__builtin_expect(!ring_take(writer, slot, 2 + args, &room), 0)) {
		write_any(event, values);
		return;
	}
	for (uint32_t i = 0; i < args; i++)
		room.words[2 + i] = values[i];
	ring_commit_as(writer, &room, __atomic_load_n(&event->head, __ATOMIC_RELAXED), quick_cpu());
}

/* Two strings of this length fit into a record. */
#define QUICK_TEXT_MAX 1024u
#define QUICK_NOT UINT32_MAX

_Static_assert(2 * (QUICK_TEXT_MAX + 2 + 7) + 16 <= KPROF_RECORD_MAX, "they do");

/* The units of an argument and, of a string, its bytes. QUICK_NOT: not on this path. */
static inline uint32_t quick_units(uint64_t value, bool is_string, uint32_t *bytes)
{
	const char *text = (const char *)(uintptr_t)value;

	if (!is_string)
		return 1;
	if (__builtin_expect(!text, 0))
		return QUICK_NOT;
	*bytes = text_short(text);
	if (*bytes == TEXT_LONG) {
		*bytes = (uint32_t)strnlen(text, QUICK_TEXT_MAX + 1);
		if (*bytes > QUICK_TEXT_MAX)
			return QUICK_NOT;
	}
	return text_units(*bytes);
}

static inline uint64_t *quick_store(uint64_t *at, uint64_t value, bool is_string, uint32_t bytes)
{
	if (is_string)
		return text_store(at, (const char *)(uintptr_t)value, bytes);
	*at = value;
	return at + 1;
}

/* One or two arguments; `shape` has which are strings. Returns false if it is not on this path. */
static inline __attribute__((always_inline)) bool write_few(struct kprof_event *event, uint32_t args,
	uint64_t a, uint64_t b, uint32_t shape)
{
	bool a_text = shape & CLIENT_SHAPE_STRING(0), b_text = shape & CLIENT_SHAPE_STRING(1);
	uint32_t a_bytes = 0, b_bytes = 0, a_units, b_units = 0;
	struct kprof_slot *slot = this_thread.slot;
	struct ring_writer *writer;
	struct ring_room room;
	uint64_t *at;

	if (__builtin_expect(!slot, 0))
		return false;
	ring_look(slot, &room);
	writer = this_thread.writer; /* after the slot: it is set */
	a_units = quick_units(a, a_text, &a_bytes);
	if (args > 1)
		b_units = quick_units(b, b_text, &b_bytes);
	if (a_units == QUICK_NOT || b_units == QUICK_NOT ||
		!ring_take(writer, slot, 2 + a_units + b_units, &room))
		return false;
	at = quick_store(room.words + 2, a, a_text, a_bytes);
	if (args > 1)
		quick_store(at, b, b_text, b_bytes);
	ring_commit_as(writer, &room, __atomic_load_n(&event->head, __ATOMIC_RELAXED), quick_cpu());
	return true;
}

/* Apart from those without strings, since they need more registers. */
static __attribute__((noinline)) void write_string_1(struct kprof_event *event, uint64_t a)
{
	if (shape_of(event) != ((1 + 1) | CLIENT_SHAPE_STRING(0)) ||
		!write_few(event, 1, a, 0, CLIENT_SHAPE_STRING(0)))
		write_any_1(event, a);
}

static __attribute__((noinline)) void write_string_2(struct kprof_event *event, uint64_t a, uint64_t b)
{
	uint32_t shape = shape_of(event);

	if ((shape & CLIENT_SHAPE_ARGS) != 2 + 1 || !write_few(event, 2, a, b, shape))
		write_any_2(event, a, b);
}

void kprof_write_1_(struct kprof_event *event, uint64_t a)
{
	if (shape_of(event) != 1 + 1)
		write_string_1(event, a);
	else if (!write_few(event, 1, a, 0, 0))
		write_any_1(event, a);
}

void kprof_write_2_(struct kprof_event *event, uint64_t a, uint64_t b)
{
	if (shape_of(event) != 2 + 1)
		write_string_2(event, a, b);
	else if (!write_few(event, 2, a, b, 0))
		write_any_2(event, a, b);
}

/* ---- spans ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) void begin_any(
	struct kprof_event *event, const uint64_t *values, struct kprof_span *span)
{
	uint32_t flags = record_flags(event);

	span->head = KPROF_HEAD(0, flags, event->id, 0, 0);
	span->begun = write_packed(event, values, flags, NULL, 0);
}

void kprof_span_begin_(struct kprof_event *event, const uint64_t *values, struct kprof_span *span)
{
	uint32_t args = shape_of(event) - 1u; /* without a string */
	struct kprof_slot *slot = this_thread.slot;
	struct ring_writer *writer;
	struct ring_room room;

	if (__builtin_expect(args > KPROF_ARGS_MAX || !slot, 0)) {
		begin_any(event, values, span);
		return;
	}
	ring_look(slot, &room);
	writer = this_thread.writer; /* after the slot: it is set */
	if (__builtin_expect(!ring_take(writer, slot, 2 + args, &room), 0)) {
		begin_any(event, values, span);
		return;
	}
	for (uint32_t i = 0; i < args; i++)
		room.words[2 + i] = values[i];
	span->head = __atomic_load_n(&event->head, __ATOMIC_RELAXED);
	ring_commit_as(writer, &room, span->head, quick_cpu());
	span->begun = room.stamp;
}

/* The record of a span's end: its head, and the timestamp of the begin. */
#define END_UNITS 3u

static __attribute__((noinline)) void end_slowly(uint64_t begun, uint64_t head)
{
	struct ring_room room;
	struct ring_writer *writer = reserve(END_UNITS, &room);

	if (!writer)
		return;
	room.words[2] = begun;
	ring_commit_as(writer, &room, head, current_cpu());
}

void kprof_span_end_(uint64_t begun, uint64_t head)
{
	struct kprof_slot *slot = this_thread.slot;
	struct ring_writer *writer;
	struct ring_room room;

	head |= KPROF_HEAD(0, 0, KPROF_ID_SPAN_END, 0, 0);
	if (__builtin_expect(!slot, 0)) {
		end_slowly(begun, head);
		return;
	}
	ring_look(slot, &room);
	writer = this_thread.writer; /* after the slot: it is set */
	if (__builtin_expect(!ring_take(writer, slot, END_UNITS, &room), 0)) {
		end_slowly(begun, head);
		return;
	}
	room.words[2] = begun;
	ring_commit_as(writer, &room, head, quick_cpu());
}

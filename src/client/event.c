/* SPDX-License-Identifier: MIT */
/*
 * Writing an event: the path that programs pay for. Any thread, any signal handler, at any time;
 * no lock, no allocation, no system call but when a thread begins, ends or changes chunk, and errno
 * as it was.
 */
#include "client/client.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* what a thread that finds no slot does: looks again every so many events */
#define STARVED_PATIENCE 1024u

/*
 * The thread's writer and its pool. Initial-exec: no call and no allocation at the first use in a
 * library loaded late; the few bytes come from the reserve that the loader keeps for this.
 */
static __thread struct ring_writer *this_writer __attribute__((tls_model("initial-exec")));
static __thread struct pool *this_pool __attribute__((tls_model("initial-exec")));
static __thread uint32_t this_starved __attribute__((tls_model("initial-exec")));

/* The kernel keeps the number of the CPU in each thread's rseq area. */
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

static inline uint32_t record_flags(const struct kprof_event *event)
{
	return __atomic_load_n(&event->on, __ATOMIC_RELAXED) == CLIENT_PROVISIONAL ?
		KPROF_RECORD_PROVISIONAL : 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

void event_thread_ends(void *writer)
{
	if (this_writer == writer && this_pool) {
		int saved = errno;

		if (*this_pool->alive)
			ring_writer_end(&this_pool->ring, writer);
		errno = saved;
	}
	this_writer = NULL;
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

/* The calling thread's writer, made if it has none. NULL: the event is lost, and counted. */
static struct ring_writer *get_writer(void)
{
	struct pool *pool = atomic_read_acquire(&client.pool); /* its memory is laid out */
	struct ring_writer *writer = this_writer;
	uint64_t all = ~0ull, saved;

	/* a child that was forked behind our back: its parent's pool is not its own */
	if (!pool || !*pool->alive)
		return NULL;
	if (writer && this_pool == pool && writer->slot)
		return writer;
	if (this_starved > 0 && this_pool == pool) {
		this_starved--;
		ring_pool_starved(&pool->ring);
		return NULL;
	}
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &saved, sizeof(all));
	writer = this_writer; /* a handler may have been here */
	if (!writer || this_pool != pool || !writer->slot) {
		if (writer && this_pool != pool && *this_pool->alive)
			ring_writer_end(&this_pool->ring, writer);
		this_writer = writer = begin_thread(pool);
		this_pool = pool;
		if (!writer) {
			this_starved = STARVED_PATIENCE;
			ring_pool_starved(&pool->ring);
		}
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, sizeof(saved));
	return writer;
}

/* Reserves where the quick way could not. */
static __attribute__((noinline, cold)) struct ring_writer *reserve_slowly(uint32_t units,
	struct ring_room *room)
{
	int saved = errno;
	struct ring_writer *writer;

	/* anew each time: the pool may have been replaced meanwhile */
	while ((writer = get_writer()) != NULL && !ring_reserve(writer, units, room))
		if (this_pool == atomic_read_relaxed(&client.pool) &&
			!ring_writer_switch(&this_pool->ring, writer, units)) {
			writer = NULL;
			break;
		}
	errno = saved;
	return writer;
}

static inline struct ring_writer *reserve(uint32_t units, struct ring_room *room)
{
	struct ring_writer *writer = this_writer;

	if (__builtin_expect(writer && ring_reserve(writer, units, room), 1))
		return writer;
	return reserve_slowly(units, room);
}

/* ---- arguments that are not all words -------------------------------------------------------- */

static inline uint32_t string_units(uint32_t bytes)
{
	return bytes == KPROF_STRING_NULL ? 1 : (2 + bytes + 7) / 8;
}

/* How many bytes of a string argument are to be read at most, before it must end. */
static inline size_t string_limit(const struct args_plan *plan, const uint64_t *values, uint32_t i)
{
	if (__builtin_expect(!plan[i].limited, 1))
		return SIZE_MAX;
	if (plan[i].limit != ARGS_LIMIT_STAR)
		return plan[i].limit;
	return (int)values[i - 1] >= 0 ? (size_t)(int)values[i - 1] : SIZE_MAX;
}

/*
 * Measures the strings into bytes[]; together they get what is left of `room` units when each
 * argument has one. Returns the units of all arguments.
 */
static inline uint32_t measure(const struct args_plan *plan, const uint64_t *values, uint32_t args,
	uint32_t room, uint16_t *bytes, uint32_t *flags)
{
	uint32_t units = args;

	room -= args;
	for (uint32_t i = 0; i < args; i++) {
		const char *text = (const char *)(uintptr_t)values[i];
		size_t most = ((size_t)room + 1) * 8 - 2, limit;

		if (plan[i].kind != ARGS_STRING)
			continue;
		if (__builtin_expect(!text, 0)) {
			bytes[i] = KPROF_STRING_NULL;
			continue;
		}
		limit = string_limit(plan, values, i);
		/* no byte behind the limit is looked at: there may be none */
		bytes[i] = (uint16_t)strnlen(text, limit < most ? limit : most);
		if (bytes[i] == most && limit > most && text[most])
			*flags |= KPROF_RECORD_CUT;
		units += string_units(bytes[i]) - 1;
		room -= string_units(bytes[i]) - 1;
	}
	return units;
}

/* Most strings are short, and a call costs more than two moves that overlap. */
static inline void copy_short(char *to, const char *from, uint32_t bytes)
{
	if (bytes > 16) {
		memcpy(to, from, bytes);
	} else if (bytes >= 8) {
		uint64_t head, tail;

		memcpy(&head, from, 8);
		memcpy(&tail, from + bytes - 8, 8);
		memcpy(to, &head, 8);
		memcpy(to + bytes - 8, &tail, 8);
	} else if (bytes >= 4) {
		uint32_t head, tail;

		memcpy(&head, from, 4);
		memcpy(&tail, from + bytes - 4, 4);
		memcpy(to, &head, 4);
		memcpy(to + bytes - 4, &tail, 4);
	} else {
		for (uint32_t i = 0; i < bytes; i++)
			to[i] = from[i];
	}
}

static inline uint64_t *store_text(uint64_t *at, const char *text, uint32_t bytes)
{
	uint32_t units = string_units(bytes);

	at[units - 1] = 0;
	memcpy(at, &(uint16_t){(uint16_t)bytes}, 2);
	if (bytes != KPROF_STRING_NULL)
		copy_short((char *)at + 2, text, bytes);
	return at + units;
}

static inline uint64_t *store(const struct args_plan *plan, const uint64_t *values, uint32_t args,
	const uint16_t *bytes, uint64_t *at)
{
	for (uint32_t i = 0; i < args; i++) {
		if (plan[i].kind == ARGS_STRING)
			at = store_text(at, (const char *)(uintptr_t)values[i], bytes[i]);
		else
			*at++ = values[i];
	}
	return at;
}

/* Events with strings, or with the callers' addresses behind the arguments. */
static __attribute__((noinline)) void write_packed(struct kprof_event *event,
	const uint64_t *values, uint32_t flags, const uint64_t *stack, uint32_t stack_units)
{
	const struct args_plan *plan = ((const struct entry *)event->entry)->plan;
	uint32_t args = event->args;
	uint16_t bytes[KPROF_ARGS_MAX];
	uint32_t units = measure(plan, values, args, KPROF_RECORD_MAX / 8 - 2 - stack_units, bytes,
		&flags);
	struct ring_writer *writer;
	struct ring_room room;
	uint64_t *at;

	writer = reserve(2 + units + stack_units, &room);
	if (__builtin_expect(!writer, 0))
		return;
	at = store(plan, values, args, bytes, room.words + 2);
	for (uint32_t i = 0; i < stack_units; i++)
		at[i] = stack[i];
	ring_commit(writer, &room, flags, event->id, current_cpu());
}

__attribute__((noinline)) void kprof_write_stack_(struct kprof_event *event, const uint64_t *values)
{
	uint64_t stack[1 + STACK_MAX];
	int saved = errno;

	stack[0] = stack_walk(stack + 1, __builtin_frame_address(0));
	errno = saved;
	if (event->entry) /* not unloaded this moment */
		write_packed(event, values, record_flags(event) | KPROF_RECORD_STACK, stack,
			1 + (uint32_t)stack[0]);
}

void kprof_write_(struct kprof_event *event, const uint64_t *values)
{
	uint32_t args = event->args;
	struct ring_writer *writer;
	struct ring_room room;

	if (__builtin_expect(!event->plain, 0)) {
		if (event->entry)
			write_packed(event, values, record_flags(event), NULL, 0);
		return;
	}
	writer = reserve(2 + args, &room);
	if (__builtin_expect(!writer, 0))
		return;
	for (uint32_t i = 0; i < args; i++)
		room.words[2 + i] = values[i];
	ring_commit(writer, &room, record_flags(event), event->id, current_cpu());
}

/* ---- formats that are not literals ----------------------------------------------------------- */

static uint64_t get_int(const struct args_plan *plan, va_list *list)
{
	if (plan->bytes == sizeof(long long))
		return va_arg(*list, unsigned long long);
	/* what is smaller than an int has been passed as one */
	return plan->is_signed ? (uint64_t)(int64_t)va_arg(*list, int) :
				 va_arg(*list, unsigned int);
}

static void get_values(const char *format, uint32_t bytes, const struct args_plan *plan,
	uint64_t *values, va_list *list)
{
	struct args_format walk = {.at = format, .end = format + bytes};
	struct args_conversion conversion;
	uint32_t i = 0;

	while (args_next(&walk, &conversion) > 0) {
		if (conversion.letter == '%')
			continue;
		if (conversion.width == ARGS_STAR)
			values[i++] = (uint64_t)(int64_t)va_arg(*list, int);
		if (conversion.precision == ARGS_STAR)
			values[i++] = (uint64_t)(int64_t)va_arg(*list, int);
		if (plan[i].kind == ARGS_DOUBLE)
			values[i] = kprof_double_(conversion.bytes == 0 ?
					(double)va_arg(*list, long double) :
					va_arg(*list, double));
		else if (plan[i].kind == ARGS_INT)
			values[i] = get_int(&plan[i], list);
		else
			values[i] = kprof_pointer_(va_arg(*list, void *));
		i++;
	}
}

/* The record carries its format. One that is not on the list is shown as it is. */
static void print_list(struct kprof_event *event, const char *format, va_list *list)
{
	static const struct args_plan one_string = {.kind = ARGS_STRING};
	struct args_plan plan[KPROF_ARGS_MAX];
	uint64_t values[KPROF_ARGS_MAX];
	uint16_t lengths[KPROF_ARGS_MAX];
	uint32_t units, flags = record_flags(event);
	size_t bytes = strnlen(format, KPROF_FORMAT_MAX + 1);
	int args = bytes <= KPROF_FORMAT_MAX ? args_plan(format, (uint32_t)bytes, plan) : -E2BIG;
	struct ring_writer *writer;
	struct ring_room room;

	if (args < 0) {
		plan[0] = one_string;
		values[0] = kprof_pointer_(format);
		args = 1;
		format = "%s";
		bytes = 2;
	} else {
		get_values(format, (uint32_t)bytes, plan, values, list);
	}
	units = string_units((uint32_t)bytes);
	units += measure(plan, values, (uint32_t)args, KPROF_RECORD_MAX / 8 - 2 - units, lengths,
		&flags);
	writer = reserve(2 + units, &room);
	if (!writer)
		return;
	store(plan, values, (uint32_t)args, lengths,
		store_text(room.words + 2, format, (uint32_t)bytes));
	ring_commit(writer, &room, flags, event->id, current_cpu());
}

static bool is_on(const struct kprof_event *event)
{
	return __atomic_load_n(&event->on, __ATOMIC_RELAXED) != CLIENT_OFF;
}

void kprof_print_(int kind, const char *format, ...)
{
	struct kprof_event *event = kind == KPROF_SITE_PRINTX_ ? &client.textx : &client.text;
	va_list list;

	if (!is_on(event))
		return;
	va_start(list, format);
	print_list(event, format, &list);
	va_end(list);
}

void kprof_vprintf(const char *format, va_list args)
{
	va_list list;

	if (!is_on(&client.text))
		return;
	va_copy(list, args);
	print_list(&client.text, format, &list);
	va_end(list);
}

void kprof_vprintx(const char *format, va_list args)
{
	va_list list;

	if (!is_on(&client.textx))
		return;
	va_copy(list, args);
	print_list(&client.textx, format, &list);
	va_end(list);
}

/* SPDX-License-Identifier: MIT */
/* Programs that are attached to a trace, with pools that the test writes. */
#ifndef KPROFS_TESTS_UNIT_TRACING_H
#define KPROFS_TESTS_UNIT_TRACING_H

#include <glib.h>

#include "../race/fixture.h"
#include "producers/producers.h"

#define TRACING_INT 2u	    /* "net:packet", "n %d" */
#define TRACING_EARLY 3u    /* was off when its program came */
#define TRACING_TEXT 4u	    /* a printf: "text %s" */
#define TRACING_WIDE 5u	    /* "%s" */
#define TRACING_UNKNOWN 100u

struct program {
	struct fixture pool;
	struct producer producer;
	struct producer_event *_Atomic block[PRODUCER_BLOCK];
};

static inline void tracing_define(struct program *program, uint16_t id, const char *label,
	const char *format, bool show)
{
	struct producer_event *event = g_new0(struct producer_event, 1);

	event->number = id;
	event->kind = label[0] ? KPROF_KIND_EVENT : KPROF_KIND_PRINTF;
	event->show_provisional = show;
	event->label = label;
	event->format = format;
	event->format_bytes = (uint32_t)strlen(format);
	/* relaxed: no other thread knows the program yet */
	atomic_write_relaxed(&program->block[id], event);
}

static inline struct program *tracing_create(uint64_t serial, uint64_t bytes, uint32_t mode)
{
	struct program *program = g_new0(struct program, 1);

	fixture_open(&program->pool, bytes, mode);
	program->producer.serial = serial;
	program->producer.pid = (pid_t)(1000 + serial);
	g_snprintf(program->producer.program, sizeof(program->producer.program), "prog%u",
		(unsigned int)serial);
	program->producer.reader = program->pool.reader;
	for (uint32_t id = 0; id < KPROF_ID_FIRST; id++)
		program->producer.texts[id] = (struct producer_event){
			.kind = KPROF_KIND_PRINTF, .show_provisional = true, .label = "", .format = ""
		};
	atomic_write_relaxed(&program->producer.blocks[0], program->block);
	tracing_define(program, TRACING_INT, "net:packet", "n %d", true);
	tracing_define(program, TRACING_EARLY, "net:early", "n %d", false);
	tracing_define(program, TRACING_TEXT, "", "text %s", true);
	tracing_define(program, TRACING_WIDE, "net:wide", "%s", true);
	return program;
}

static inline void tracing_destroy(struct program *program)
{
	for (uint32_t id = 0; id < PRODUCER_BLOCK; id++)
		g_free(atomic_read_relaxed(&program->block[id]));
	fixture_close(&program->pool);
	g_free(program);
}

/* As producers_all() returns them, but owned by the test. */
static inline GPtrArray *tracing_list(struct program **programs, size_t count)
{
	GPtrArray *list = g_ptr_array_new();

	for (size_t i = 0; i < count; i++)
		g_ptr_array_add(list, &programs[i]->producer);
	return list;
}

/* One event with a stamp of the test's, which must not be before the chunk was taken. */
static inline bool tracing_write_at(struct program *program, struct ring_writer *writer,
	uint32_t id, uint32_t cpu, uint32_t flags, uint64_t stamp, const uint64_t *words,
	uint32_t count)
{
	struct ring_room room;

	while (!ring_reserve(writer, 2 + count, &room))
		if (!ring_writer_switch(&program->pool.pool, writer, 2 + count))
			return false;
	for (uint32_t i = 0; i < count; i++)
		room.words[2 + i] = words[i];
	if (stamp)
		room.stamp = stamp;
	ring_commit(writer, &room, flags, id, cpu);
	return true;
}

static inline bool tracing_write(struct program *program, struct ring_writer *writer, uint64_t n)
{
	return tracing_write_at(program, writer, TRACING_INT, 1, 0, 0, &n, 1);
}

#endif

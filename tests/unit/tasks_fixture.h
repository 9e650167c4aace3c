/* SPDX-License-Identifier: MIT */
/*
 * A table of tasks with rings that are drained by hand, and its records as text.
 */
#ifndef KPROFS_TESTS_UNIT_TASKS_FIXTURE_H
#define KPROFS_TESTS_UNIT_TASKS_FIXTURE_H

#include <glib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "task_stream.h"

/* Anonymous and file mappings of pages of 0x1000 bytes. */
static inline void map(struct tasks *t, uint64_t time_ns, uint32_t pid, uint64_t page, uint64_t pages,
	const char *path)
{
	const struct tasks_mapping m = {
		.addr = page * 0x1000, .size = pages * 0x1000, .path = path
	};

	tasks_add_mapping(t, time_ns, pid, &m);
}

/* The records that a reader gets who last read at `since`. */
static inline void check_stream(struct tasks *t, int line, struct task_stream *stream, const char *expected)
{
	g_autoptr(GString) text = NULL;

	g_array_set_size(stream->rows, 0);
	task_stream_read(stream, t);
	text = task_stream_text(stream);
	if (strcmp(text->str, expected))
		fail_msg("line %d: told\n%sexpected\n%s", line, text->str, expected);
	assert_int_equal(stream->stamp, tasks_stamp(t));
}

static inline void check_whole_stream(struct tasks *t, int line, const char *expected)
{
	struct task_stream fresh;

	task_stream_init(&fresh);
	check_stream(t, line, &fresh, expected);
	task_stream_fini(&fresh);
}

/* A drain in which one run was stored into block `newest`. */
static uint64_t runs;

static inline void drain(struct tasks *t, uint64_t newest, uint64_t oldest)
{
	tasks_settle(t, newest, ++runs, oldest);
}

/* Drains until all that ended before is forgotten where block `oldest` is the first held. */
static inline void drain_past(struct tasks *t, uint64_t seq)
{
	drain(t, seq - 1, 1);
	drain(t, seq - 1, 1);
	drain(t, seq, seq);
}

#endif

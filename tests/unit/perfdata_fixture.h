/* SPDX-License-Identifier: MIT */
/*
 * Reads perf.data with numbers from Linux's description of the format, and prints each event as a line
 * of text.
 */
#ifndef KPROFS_TESTS_UNIT_PERFDATA_FIXTURE_H
#define KPROFS_TESTS_UNIT_PERFDATA_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/fixtures/gen.h"
#include "tests/fixtures/viewing.h"
#include "formats/perfdata/perfdata.h"

#define KERNEL 0xffffffff81000000ull
#define SAMPLE_TYPE 0x101a7ull /* identifier, period, cpu, callchain, time, tid, ip */

/* ---- a reader of perf.data ------------------------------------------------------------------- */

struct file {
	uint8_t *data;
	size_t size;
	uint64_t attrs, attr_size, attrs_size, events, events_size;
	uint64_t sample_type; /* of the first event */
};

static inline uint64_t word(const struct file *f, uint64_t at, unsigned int width)
{
	uint64_t value = 0;

	assert_true(at <= f->size && width <= f->size - at);
	memcpy(&value, f->data + at, width); /* little-endian, as this machine */
	return value;
}

static inline void open_file(struct file *f, uint8_t *data, size_t size)
{
	f->data = data;
	f->size = size;
	assert_memory_equal(data, "PERFILE2", 8);
	assert_int_equal(word(f, 8, 8), 104);
	f->attr_size = word(f, 16, 8);
	f->attrs = word(f, 24, 8);
	f->attrs_size = word(f, 32, 8);
	f->events = word(f, 40, 8);
	f->events_size = word(f, 48, 8);
	assert_int_equal(f->attrs_size % f->attr_size, 0);
	assert_true(f->events <= size && f->events_size <= size - f->events);
	f->sample_type = word(f, f->attrs + 24, 8);
}

static inline const char *text_at(const struct file *f, uint64_t at, uint64_t end)
{
	assert_non_null(memchr(f->data + at, '\0', end - at));
	return (const char *)f->data + at;
}

/* ---- writing --------------------------------------------------------------------------------- */

static inline void write_file(const struct gen *gen, struct file *f)
{
	struct viewing viewing;
	uint8_t *data;
	size_t size;
	struct err err;

	viewing_init(&viewing, gen->bytes->data, gen->bytes->len);
	assert_int_equal(viewing_write(&viewing, "perf.data", &data, &size, &err), 0);
	viewing_fini(&viewing);
	open_file(f, data, size);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static inline void make_all(struct gen *gen)
{
	uint64_t both[] = { KERNEL + 0x110, KERNEL + 0x20, GEN_USER, 0x1310, 0x1111 };
	uint64_t user[] = { 0x1320, 0x1011 };
	uint64_t marked[] = { GEN_USER, 0x1330 };

	gen_clock(gen, 500, 1700000000000000500);
	gen_event(gen, 1, 999, 1, "cycles:freq=999");
	gen_event(gen, 2, 7, 0, "page-faults:period=7");
	gen_kernel_mmap(gen, 0, KERNEL, 0x1000000, "[kernel.kallsyms]");
	gen_build_id(gen, 0, GEN_IDLE, KERNEL, "kernel-build-id-0123", 20);
	gen_kernel_mmap(gen, 0, 0xffffffffc0000000, 0x5000, "[fuse]");
	gen_fork(gen, 50, 10, 10, 1, 1);
	gen_comm(gen, 60, 10, 10, "prog");
	gen_new_process(gen, 60, 10, "/bin/prog");
	gen_mmap(gen, 70, 10, 0x1000, 0x1000, 0x3000, "/bin/a");
	gen_build_id(gen, 70, 10, 0x1000, "\x01\x02\xfe", 3);
	gen_mmap(gen, 71, 10, 0x9000, 0x1000, 0, "/bin/longer-name");
	gen_fork(gen, 80, 10, 11, 10, 10);
	gen_period(gen, 0, 1, 1001001);
	gen_trace(gen, 1, 1, 100, 10, 0, 5, both);
	gen_task(gen, 0, 10, 11);
	gen_trace(gen, 2, 1, 110, 10, 0, 2, user);
	gen_trace(gen, 1, 2, 120, 10, 3, 2, marked);
	gen_trace(gen, 1, 1, 130, GEN_IDLE, 0, 1, both);
	gen_trace(gen, 1, 1, 140, 0xfffffffe, 0, 1, both + 1);
	gen_trace(gen, 2, 2, 150, 10, 3, 0, NULL);
	gen_lost(gen, 3, 2, 1, 41);
	gen_lost(gen, 0, 1, 5, 42);
	gen_throttle(gen, 160, 0, 1, 1);
	gen_throttle(gen, 170, 0, 1, 0);
	gen_exit(gen, 180, 10, 11, 10, 10);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A profiler that stores given bytes, in place of src/prof, for tests of the server alone: what kpdata holds
 * and when a command takes long is the test's choice.
 *
 *	prof_qlimit N	appends N records of 16 bytes: "record 00000001\n", numbered from 1
 *	event slow	a later `start` takes until it is interrupted (or a minute)
 *	event quick	it does not
 *	stack wild N	appends N samples of 127 frames, no two of which are the same
 *	stack long N	appends an event whose text has 4,000 bytes, and N samples of it
 *	stack files N	appends a process with N files, and a sample in each of them
 *	flush		wakes the readers, whether there is something new or not
 *
 * The bytes stay where they are, and clear only moves where a new cursor begins.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prof/profiler.h"
#include "tests/fixtures/gen.h"

#define RECORD_BYTES 16
#define WILD_FRAMES 127
#define LONG_BYTES 4000
#define FILES_PID 11
#define FILES_ADDRESS 0x10000
#define FILE_BYTES 0x1000
#define HELD_MAX (64 * 1024 * 1024)
#define PIECE_BYTES (64 * 1024)
#define SLOW_S 60

struct profiler {
	struct profiler_hooks hooks;
	pthread_mutex_t lock;
	pthread_cond_t interrupt;
	char *bytes;
	size_t first, end; /* what is held: from, to */
	unsigned int records;
	bool running, slow, starting, interrupted;
};

struct cursor {
	struct profiler *profiler;
	size_t at, taking;
};

struct budget *profiler_budget_create(void)
{
	return NULL;
}

void budget_destroy(struct budget *budget)
{
}

int profiler_create(const struct profiler_hooks *hooks, const struct profiler_paths *paths,
	struct budget *budget, struct profiler **profiler, struct err *err)
{
	struct profiler *p = g_new0(struct profiler, 1);

	p->hooks = *hooks;
	p->bytes = g_malloc(HELD_MAX);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->interrupt, NULL);
	*profiler = p;
	return 0;
}

void profiler_release(struct profiler *p)
{
}

void profiler_destroy(struct profiler *p)
{
	g_free(p->bytes);
	g_free(p);
}

bool profiler_has_spare(struct profiler *p)
{
	return false;
}

void profiler_trim(struct profiler *p)
{
}

int profiler_start(struct profiler *p, struct err *err)
{
	struct timespec until;
	int ret = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += SLOW_S;
	pthread_mutex_lock(&p->lock);
	p->starting = true;
	p->interrupted = false;
	while (p->slow && !p->interrupted && !ret)
		ret = pthread_cond_timedwait(&p->interrupt, &p->lock, &until);
	p->starting = false;
	p->running = !p->interrupted;
	ret = p->interrupted ? -EINTR : 0;
	pthread_mutex_unlock(&p->lock);
	return ret ? err_set(err, EINTR, "interrupted") : 0;
}

void profiler_interrupt(struct profiler *p)
{
	pthread_mutex_lock(&p->lock);
	p->interrupted = true;
	pthread_cond_signal(&p->interrupt);
	pthread_mutex_unlock(&p->lock);
}

int profiler_stop(struct profiler *p, struct err *err)
{
	pthread_mutex_lock(&p->lock);
	p->running = false;
	pthread_mutex_unlock(&p->lock);
	p->hooks.data_ready(p->hooks.arg);
	return 0;
}

int profiler_add_program(struct profiler *p, const char *text, const struct samples **samples,
	struct err *err)
{
	return err_set(err, EOPNOTSUPP, "no programs take samples here");
}

bool profiler_is_of_this_boot(const struct profiler *p)
{
	return true;
}

bool profiler_is_loaded(const struct profiler *p)
{
	return false;
}

uint64_t profiler_capacity(struct profiler *p)
{
	return HELD_MAX;
}

int profiler_load(struct profiler *p, const uint8_t *records, size_t size, struct err *err)
{
	return -EOPNOTSUPP;
}

int profiler_take_image(struct profiler *profiler, struct profiler_image **image, struct err *err)
{
	return err_set(err, EOPNOTSUPP, "no images here");
}

void profiler_image_drop_settings(struct profiler_image *image)
{
}

int profiler_read_image(struct capture_pool *pool, struct disk *disk, const char *session,
	struct budget *budget, struct profiler_image **image, struct err *err)
{
	return -ENOENT;
}

void profiler_keep_files(struct profiler *profiler, struct disk *disk, const char *session)
{
}

void profiler_forget_files(struct profiler *profiler)
{
}

int profiler_create_of_image(const struct profiler_hooks *hooks, const struct profiler_paths *paths,
	struct profiler_image *image, struct profiler **profiler, struct err *err)
{
	return err_set(err, EOPNOTSUPP, "no images here");
}

void profiler_remove_program(struct profiler *p, const char *text)
{
}

int profiler_flush(struct profiler *p, struct err *err)
{
	p->hooks.data_ready(p->hooks.arg);
	return 0;
}

int profiler_clear(struct profiler *p, struct err *err)
{
	pthread_mutex_lock(&p->lock);
	p->first = p->end;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

int profiler_set_events(struct profiler *p, const char *specs, struct err *err)
{
	if (strcmp(specs, "slow") && strcmp(specs, "quick"))
		return err_set(err, ENOENT, "no event '%s' in the can", specs);
	pthread_mutex_lock(&p->lock);
	p->slow = !strcmp(specs, "slow");
	pthread_mutex_unlock(&p->lock);
	return 0;
}

int profiler_set_cpus(struct profiler *p, const char *list, struct err *err)
{
	return strcmp(list, "all") ? err_set(err, EINVAL, "not a list of CPUs") : 0;
}

static int append_bytes(struct profiler *p, const GByteArray *bytes, struct err *err)
{
	bool fits;

	pthread_mutex_lock(&p->lock);
	fits = bytes->len <= HELD_MAX - p->end;
	if (fits) {
		memcpy(p->bytes + p->end, bytes->data, bytes->len);
		p->end += bytes->len;
	}
	pthread_mutex_unlock(&p->lock);
	return fits ? 0 : err_set(err, EINVAL, "the can is full");
}

static int append_wild(struct profiler *p, unsigned long samples, struct err *err)
{
	uint64_t frames[WILD_FRAMES], address = 0x1000;
	struct gen gen;
	int ret, i;

	gen_init(&gen, false);
	for (; samples; samples--) {
		for (i = 0; i < WILD_FRAMES; i++)
			frames[i] = address += 16;
		gen_trace(&gen, 2, 1, 100, 10, 0, WILD_FRAMES, frames);
	}
	ret = append_bytes(p, gen.bytes, err);
	gen_fini(&gen);
	return ret;
}

static int append_long(struct profiler *p, unsigned long samples, struct err *err)
{
	g_autofree char *text = g_strnfill(LONG_BYTES, 'e');
	struct gen gen;
	int ret;

	gen_init(&gen, false);
	gen_event(&gen, 1, 1, 0, text);
	for (; samples; samples--)
		gen_trace(&gen, 2, 1, 100, 10, 0, 0, NULL);
	ret = append_bytes(p, gen.bytes, err);
	gen_fini(&gen);
	return ret;
}

static int append_files(struct profiler *p, unsigned long files, struct err *err)
{
	uint64_t address = FILES_ADDRESS;
	struct gen gen;
	unsigned long i;
	int ret;

	gen_init(&gen, false);
	gen_new_process(&gen, 1, FILES_PID, "/bin/files");
	for (i = 0; i < files; i++, address += FILE_BYTES) {
		g_autofree char *path = g_strdup_printf("/file%lu", i);

		gen_mmap(&gen, 1, FILES_PID, address, FILE_BYTES, 0, path);
		gen_trace(&gen, 2, 1, 100, FILES_PID, 0, 1, &address);
	}
	ret = append_bytes(p, gen.bytes, err);
	gen_fini(&gen);
	return ret;
}

int profiler_set_only(struct profiler *p, const char *text, struct err *err)
{
	return err_set(err, EINVAL, "no tasks in the can");
}

int profiler_set_stack(struct profiler *p, const char *mode, const char *depth, struct err *err)
{
	if (strcmp(mode, "wild") == 0 && depth)
		return append_wild(p, strtoul(depth, NULL, 10), err);
	if (strcmp(mode, "long") == 0 && depth)
		return append_long(p, strtoul(depth, NULL, 10), err);
	if (strcmp(mode, "files") == 0 && depth)
		return append_files(p, strtoul(depth, NULL, 10), err);
	return err_set(err, EINVAL, "no stacks in the can");
}

void profiler_restrict(struct profiler *p, uid_t uid, gid_t gid, bool any_rate)
{
}

int profiler_set_qlimit_kb(struct profiler *p, uint64_t records, struct err *err)
{
	char text[RECORD_BYTES + 1];

	pthread_mutex_lock(&p->lock);
	if (records > (HELD_MAX - p->end) / RECORD_BYTES) {
		pthread_mutex_unlock(&p->lock);
		return err_set(err, EINVAL, "the can is full");
	}
	for (; records; records--) {
		snprintf(text, sizeof(text), "record %08u\n", ++p->records % 100000000u);
		memcpy(p->bytes + p->end, text, RECORD_BYTES);
		p->end += RECORD_BYTES;
	}
	pthread_mutex_unlock(&p->lock);
	p->hooks.data_ready(p->hooks.arg);
	return 0;
}

/* Not an error, but worth a note. */
int profiler_set_cpubufsz_kb(struct profiler *p, uint64_t kb, struct err *err)
{
	err_set(err, 0, "the can has no buffers");
	return 0;
}

int profiler_set_mode(struct profiler *p, enum profiler_mode mode, struct err *err)
{
	return 0;
}

void profiler_cpus_changed(struct profiler *p)
{
}

bool profiler_running(struct profiler *p)
{
	bool running;

	pthread_mutex_lock(&p->lock);
	running = p->running;
	pthread_mutex_unlock(&p->lock);
	return running;
}

void profiler_print_settings(struct profiler *p, GString *out)
{
	pthread_mutex_lock(&p->lock);
	g_string_append_printf(out, "event %s\n%s\n", p->slow ? "slow" : "quick",
		p->running ? "start" : "stop");
	pthread_mutex_unlock(&p->lock);
}

void profiler_print_stats(struct profiler *p, struct stats *stats)
{
	pthread_mutex_lock(&p->lock);
	stats_text(stats, p->starting ? "starting" : p->running ? "running" : "stopped", "state");
	pthread_mutex_unlock(&p->lock);
}

int profiler_add_address(struct profiler *p, uint64_t address, uint32_t pid, struct err *err)
{
	return -ENOSPC;
}

uint64_t profiler_runs_ns(struct profiler *p)
{
	(void)p;
	return 0;
}

uint64_t profiler_held_bytes(struct profiler *p)
{
	uint64_t held;

	pthread_mutex_lock(&p->lock);
	held = p->end - p->first;
	pthread_mutex_unlock(&p->lock);
	return held;
}

uint64_t profiler_memory_bytes(struct profiler *p)
{
	return profiler_held_bytes(p);
}

uint64_t profiler_stream_bytes(struct profiler *p)
{
	return profiler_held_bytes(p);
}

/* None of what is canned here is one. */
bool profiler_copied_stacks(struct profiler *p)
{
	return false;
}

bool profiler_has_wakers(struct profiler *p)
{
	return false;
}

int profiler_open_cursor(struct profiler *p, struct cursor **cursor)
{
	struct cursor *c = g_new0(struct cursor, 1);

	c->profiler = p;
	pthread_mutex_lock(&p->lock);
	c->at = p->first;
	pthread_mutex_unlock(&p->lock);
	*cursor = c;
	return 0;
}

int profiler_open_peek(struct profiler *p, struct cursor **cursor)
{
	return profiler_open_cursor(p, cursor);
}

int profiler_open_part(struct profiler *p, const struct capture_part *part, struct cursor **cursor)
{
	return profiler_open_cursor(p, cursor);
}

uint64_t profiler_late_time(struct profiler *p)
{
	return 0;
}

void profiler_close_cursor(struct cursor *c)
{
	g_free(c);
}

ssize_t cursor_begin(struct cursor *c, size_t want, struct iovec *iov, int *count, bool *eof)
{
	struct profiler *p = c->profiler;
	size_t size, done = 0;
	int n = 0;

	pthread_mutex_lock(&p->lock);
	size = MIN(want, p->end - c->at);
	if (size > RECORD_BYTES)
		size -= size % RECORD_BYTES;
	*eof = !p->running;
	pthread_mutex_unlock(&p->lock);
	for (; done < size && n < *count; n++) {
		iov[n].iov_base = p->bytes + c->at + done;
		iov[n].iov_len = MIN(size - done, (size_t)PIECE_BYTES);
		done += iov[n].iov_len;
	}
	*count = n;
	c->taking = done;
	return (ssize_t)done;
}

void cursor_end(struct cursor *c, bool taken)
{
	if (taken)
		c->at += c->taking;
}

bool cursor_readable(struct cursor *c)
{
	struct profiler *p = c->profiler;
	bool readable;

	pthread_mutex_lock(&p->lock);
	readable = c->at < p->end || !p->running;
	pthread_mutex_unlock(&p->lock);
	return readable;
}

/* SPDX-License-Identifier: MIT */
/*
 * reading: measures what readers do with the files of a mount.
 *
 *	reading rate FILE BYTES       one pass with reads of BYTES: prints `BYTES_READ NS`
 *	reading turns FILE COUNT      COUNT cycles of open, read to the end, close: prints `NS` of one cycle
 *	reading byte FILE             opens it and reads one byte: prints `NS` of both
 *	reading first KPCTL KPDATA    writes start, then waits for the first sample: prints
 *	                              `NS_OF_START NS_FROM_THERE_TO_THE_SAMPLE`
 *	reading count FILE            counts records: prints `SAMPLES LOST THROTTLES BYTES`
 *
 * The records are decoded independently here, so that the figures don't depend on kprofs's decoder.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "kprof/records.h"

#define READ_BYTES (1u << 20)
/*
 * bytes of the stream that `first` keeps: the records before the first sample describe the
 * processes
 */
#define FIRST_BYTES_MAX (256u << 20)

struct counts {
	uint64_t samples, lost, throttles;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int open_or_die(const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd < 0)
		die(path);
	return fd;
}

static unsigned char *allocate(size_t bytes)
{
	unsigned char *memory = malloc(bytes);

	if (!memory)
		die("malloc");
	return memory;
}

/* Reads a varint. Returns its length; 0 if the data end before it does. */
static size_t read_varint(const unsigned char *data, size_t bytes, uint64_t *value)
{
	unsigned int shift = 0;
	size_t at;

	*value = 0;
	for (at = 0; at < bytes && shift < 64; at++, shift += 7) {
		*value |= (uint64_t)(data[at] & 0x7f) << shift;
		if (!(data[at] & 0x80))
			return at + 1;
	}
	return 0;
}

/* Counts the complete records in data. Returns their length. */
static size_t count_records(const unsigned char *data, size_t bytes, struct counts *counts)
{
	size_t at = 0;

	for (;;) {
		uint64_t type, size;
		size_t n = read_varint(data + at, bytes - at, &type);
		size_t m = n ? read_varint(data + at + n, bytes - at - n, &size) : 0;

		if (!m || size > bytes - at - n - m)
			return at;
		at += n + m;
		if (type == KPROF_REC_KERN_TRACE || type == KPROF_REC_USER_TRACE)
			counts->samples++;
		if (type == KPROF_REC_THROTTLE)
			counts->throttles++;
		if (type == KPROF_REC_LOST && size >= sizeof(struct kprof_rec_lost)) {
			struct kprof_rec_lost lost;

			memcpy(&lost, data + at, sizeof(lost));
			counts->lost += lost.count;
		}
		at += size;
	}
}

static int time_rate(const char *path, size_t bytes)
{
	int fd = open_or_die(path, O_RDONLY);
	unsigned char *buffer = allocate(bytes);
	uint64_t total = 0, begin;
	ssize_t n;

	memset(buffer, 0, bytes); /* faults the pages in before the measurement */
	begin = now_ns();
	while ((n = read(fd, buffer, bytes)) > 0)
		total += (uint64_t)n;
	if (n < 0)
		die(path);
	printf("%llu %llu\n", (unsigned long long)total, (unsigned long long)(now_ns() - begin));
	return 0;
}

static int time_turns(const char *path, unsigned long turns)
{
	unsigned char *buffer = allocate(READ_BYTES);
	uint64_t begin = now_ns();
	unsigned long i;

	for (i = 0; i < turns; i++) {
		int fd = open_or_die(path, O_RDONLY);
		ssize_t n;

		while ((n = read(fd, buffer, READ_BYTES)) > 0)
			;
		if (n < 0)
			die(path);
		close(fd);
	}
	printf("%llu\n", (unsigned long long)((now_ns() - begin) / turns));
	return 0;
}

static int time_byte(const char *path)
{
	uint64_t begin = now_ns();
	int fd = open_or_die(path, O_RDONLY);
	char byte;
	ssize_t n = read(fd, &byte, 1);

	if (n != 1) {
		errno = n ? errno : ENODATA;
		die(path);
	}
	printf("%llu\n", (unsigned long long)(now_ns() - begin));
	return 0;
}

static int time_first(const char *control, const char *data)
{
	unsigned char *buffer = allocate(FIRST_BYTES_MAX);
	size_t held = 0, done = 0;
	struct counts counts = { 0 };
	uint64_t begin, started;
	int fd;

	fd = open_or_die(control, O_WRONLY);
	begin = now_ns();
	if (write(fd, "start\n", 6) != 6)
		die(control);
	started = now_ns();
	close(fd);

	fd = open_or_die(data, O_RDONLY);
	while (!counts.samples) {
		ssize_t n = read(fd, buffer + held, FIRST_BYTES_MAX - held);

		if (n <= 0) {
			errno = n ? errno : ENODATA;
			die(data);
		}
		held += (size_t)n;
		done += count_records(buffer + done, held - done, &counts);
	}
	printf("%llu %llu\n", (unsigned long long)(started - begin),
		(unsigned long long)(now_ns() - started));
	return 0;
}

static int count_file(const char *path)
{
	int fd = open_or_die(path, O_RDONLY);
	unsigned char *buffer = allocate(KPROF_REC_PAYLOAD_MAX + READ_BYTES);
	struct counts counts = { 0 };
	uint64_t total = 0;
	size_t held = 0, done;
	ssize_t n;

	while ((n = read(fd, buffer + held, KPROF_REC_PAYLOAD_MAX + READ_BYTES - held)) > 0) {
		total += (uint64_t)n;
		held += (size_t)n;
		done = count_records(buffer, held, &counts);
		memmove(buffer, buffer + done, held - done);
		held -= done;
	}
	if (n < 0 || held) {
		fprintf(stderr, "%s: %zu bytes at its end are no whole record\n", path, held);
		return 1;
	}
	printf("%llu %llu %llu %llu\n", (unsigned long long)counts.samples,
		(unsigned long long)counts.lost, (unsigned long long)counts.throttles,
		(unsigned long long)total);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "rate") == 0 && atol(argv[3]) > 0)
		return time_rate(argv[2], (size_t)atol(argv[3]));
	if (argc == 4 && strcmp(argv[1], "turns") == 0 && atol(argv[3]) > 0)
		return time_turns(argv[2], (unsigned long)atol(argv[3]));
	if (argc == 3 && strcmp(argv[1], "byte") == 0)
		return time_byte(argv[2]);
	if (argc == 4 && strcmp(argv[1], "first") == 0)
		return time_first(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "count") == 0)
		return count_file(argv[2]);
	fprintf(stderr, "usage: reading rate FILE BYTES | turns FILE COUNT | byte FILE | "
			"first KPCTL KPDATA | count FILE\n");
	return 2;
}

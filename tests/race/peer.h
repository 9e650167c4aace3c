/* SPDX-License-Identifier: MIT */
/*
 * A server for tests of libkprof: accepts programs, keeps their pools, switches events, and reads
 * the pools. No threads; the caller calls peer_poll.
 */
#ifndef KPROFS_TESTS_RACE_PEER_H
#define KPROFS_TESTS_RACE_PEER_H

#include <kprof/attach_abi.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring/read.h"

#define PEER_PROGRAMS 256
#define PEER_EVENTS 256

struct peer_event {
	bool known, gone;
	uint8_t kind, refusal;
	char provider[KPROF_NAME_MAX + 1], name[KPROF_NAME_MAX + 1], format[KPROF_FORMAT_MAX + 1];
};

struct peer_program {
	bool used, has_pool, ended;
	int fd, pool_fd;
	pid_t pid; /* as the kernel says */
	char name[KPROF_PROGRAM_MAX];
	struct ring_reader reader;
	struct peer_event events[PEER_EVENTS];
};

struct peer {
	char path[108];
	int fd;
	bool mute;	/* accepts no connection, answers nothing */
	uint32_t version; /* of the protocol, as it says */
	bool on;	/* what each event is switched to when it is announced */
	const char *but; /* not the one of this name */
	unsigned count; /* of programs */
	struct peer_program *programs[PEER_PROGRAMS];
};

/* Listens at `path`; ends the test program on failure. */
struct peer *peer_create(const char *path, bool on);
/* Ends all connections. The socket's file stays if `leave` (as after a kill). */
void peer_destroy(struct peer *peer, bool leave);

/* Does what there is to do; waits at most timeout_ms for something. */
void peer_poll(struct peer *peer, int timeout_ms);

/* Polls until done(data) or 30 s. */
bool peer_wait(struct peer *peer, bool (*done)(struct peer *peer, void *data), void *data);
bool peer_wait_programs(struct peer *peer, unsigned count); /* attached, ever */
bool peer_wait_ended(struct peer *peer, unsigned count);

/* Switches `count` ids from `first` on in one program. */
void peer_switch(struct peer_program *program, uint32_t first, uint32_t count, bool on);

/* The id of an event, gone or not, by its name or, for printf, its format; -1 if not known. */
int peer_find(const struct peer_program *program, const char *name_or_format);

/* What reading found of one thread's stretch of numbers, and in all. */
struct peer_sums {
	uint64_t events, gaps, runs, stale;
};
typedef void (*peer_record)(void *data, const struct ring_record *record,
	const struct kprof_run *run);
/* Reads all that a pool holds; record may be NULL. Chunks come in the order of their tickets. */
struct peer_sums peer_read(const struct ring_reader *reader, peer_record record, void *data);

/* ms of CLOCK_MONOTONIC */
int64_t peer_now_ms(void);

#endif

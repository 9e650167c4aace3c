/* SPDX-License-Identifier: MIT */
/*
 * What the tests of libkprof share: a server of the test's own (peer.h) at KPROF_SOCKET, and real
 * processes (roles.c) that are started, continued by commands, and ended. A test that includes this
 * calls take_arguments; its usage is: TEST [ROLES [PLUGIN [CASE]]], the two are beside it by default.
 */
#ifndef KPROFS_TESTS_RACE_RIG_H
#define KPROFS_TESTS_RACE_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "peer.h"

extern const char *roles, *plugin; /* programs */
extern char dir[64], path[108];	   /* of the server's socket */
extern struct peer *peer;

void take_arguments(int argc, char **argv);

/* For each case. */
int set_up(void **state);
int tear_down(void **state);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

struct child {
	pid_t pid;
	int in, out; /* to and from it */
};

/* Starts a role; in_child runs before its exec. */
struct child start_with(const char *role, const char *arg, void (*in_child)(void));
struct child start(const char *role, const char *arg);
/* Waits for the child to say so; the server works meanwhile. */
void hear_it(struct child *child, char c);
/* The same while there is no server. */
void hear_alone(struct child *child, char c);
/* Lets it go on. */
void let(struct child *child);
/* Waits for its end. Its exit status, or 256 and the signal. */
int finish(struct child *child);

/* The child has announced the event, and has taken what the server said about it. */
struct peer_program *await_event(const struct child *child, const char *event);
/* The library's thread in the process waits for something to happen. */
void await_sleeping_helper(pid_t pid);
struct peer_program *program_of(pid_t pid); /* NULL if it never came */

/* Of one program: events by id, and of one of them the first two words. */
struct tally {
	int id; /* whose words; -1 none */
	uint64_t total, of_id, provisional;
	bool broken;	  /* a word and its complement do not fit */
	uint64_t first, last; /* first words */
	uint64_t gaps_in_words;
	uint64_t by_event[PEER_EVENTS];
	char args[KPROF_RECORD_MAX]; /* of the last of id */
	uint32_t args_bytes;
	uint8_t flags;
};

/* For peer_read. */
void count(void *data, const struct ring_record *record, const struct kprof_run *run);
/* All that the program's memory holds; no gaps. */
struct tally tally_of(struct peer_program *program, const char *event);
struct ring_totals totals_of(struct peer_program *program);
uint64_t word_at(const struct tally *tally, uint32_t i);

#endif

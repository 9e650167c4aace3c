/* SPDX-License-Identifier: MIT */
/* Reads the state of a mounted profiler from its kpctl, and writes words to it. */
#ifndef KPROFS_CMD_KPCTL_CLIENT_H
#define KPROFS_CMD_KPCTL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct kpctl_client {
	/* the current settings, as kpctl takes them */
	char *event;
	char *stack;
	char *cpus;
	char *only;
	bool running;
};

/* Returns -errno of open(2) and read(2). kpctl_client_clear() frees the members. */
int kpctl_client_read(const char *dir, struct kpctl_client *kpctl, struct err *err);
void kpctl_client_clear(struct kpctl_client *kpctl);

/* Writes these lines in one write(2). An error has the reason that kperr gives. */
int kpctl_client_write(const char *dir, const char *lines, struct err *err);

/* The same for another file of the mount: an error has its path too, and the usage. */
int kpctl_client_write_file(const char *dir, const char *name, const char *lines, struct err *err);

/*
 * What kperr says of a write of this process that succeeded, as a narrower scope of `start`; to be freed,
 * NULL if it says nothing. since_ns: CLOCK_MONOTONIC before the write.
 */
char *kpctl_client_note(const char *dir, uint64_t since_ns);
/*
 * Calls take() with the file and the reason, without usage, of each line of kperr that is later than a time,
 * which becomes that of the last line.
 */
void kpctl_client_notes(const char *dir, uint64_t *since_ns,
	void (*take)(void *arg, const char *file, const char *reason), void *arg);

/* The text in a row of kpstat, to be freed; NULL if there is no such row. */
char *kpctl_client_text(const char *dir, const char *name);

/* The number in a row of kpstat; 0 if there is no such row. */
uint64_t kpctl_client_stat(const char *dir, const char *name);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Samples for as long as a subcommand of kprof needs it: with the mounted server, or a private one
 * (private_server.h). Afterwards all settings are restored. One thread.
 */
#ifndef KPROFS_CMD_SAMPLING_H
#define KPROFS_CMD_SAMPLING_H

#include <signal.h>
#include <stdbool.h>

#include "base/err.h"
#include "cmd/kpctl_client.h"
#include "cmd/private_server.h"

struct sampling_choice {
	const char *mount; /* directory; NULL as in mount_choice.h */
	bool private;          /* use a private server, whatever is mounted */
	bool shares; /* a profiler that runs already is used as it is */
};

struct sampling {
	char *dir; /* the mount point of the server */
	struct private_server server;
	struct kpctl_client kpctl; /* the settings before */
	bool started;              /* the profiler was started here */
	bool event_set, stack_set, cpus_set, only_set; /* was written: to be restored */
};

/*
 * Finds the server, or starts a private one (mask: see private_server.h) if none is mounted that
 * this user may use, and reads its settings. If the profiler of the server that it finds runs already, it
 * prints that and starts a private one, unless the choice names the mount or `shares`. Returns 0 or -errno.
 * The caller calls sampling_close() in every case.
 */
int sampling_open(struct sampling *sampling, const struct sampling_choice *choice,
	const sigset_t *mask, struct err *err);

/* As kpctl takes them; NULL for the current setting. */
struct sampling_settings {
	const char *event, *stack, *cpus, *only;
};

/* Starts the profiler with these settings. Returns -EBUSY if it runs already. */
int sampling_start(
	struct sampling *sampling, const struct sampling_settings *settings, struct err *err);

/*
 * After sampling_start(): prints a line on standard error if less than the whole machine is sampled,
 * since this user may not do that.
 */
void sampling_print_scope(const struct sampling *sampling);

/* Stops the profiler if sampling_start() started it, and restores the settings. */
int sampling_stop(struct sampling *sampling, struct err *err);

/* Stops, ends a private server, frees. */
void sampling_close(struct sampling *sampling);

#endif

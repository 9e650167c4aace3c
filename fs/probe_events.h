/* SPDX-License-Identifier: MIT */
/* Events of programs that are linked with libkprof, as programs of probes/ see them. Any thread. */
#ifndef KPROFS_FS_PROBE_EVENTS_H
#define KPROFS_FS_PROBE_EVENTS_H

#include <stdbool.h>

#include "base/err.h"
#include "probes/check.h"

/* struct check_events and attach_hooks; arg is the struct session. */
int probe_events_each(void *arg, const char *provider, const char *name,
	int (*each)(void *arg, const char *provider, const char *name), void *each_arg);
int probe_events_value(void *arg, const char *provider, const char *event, const char *name,
	struct check_event_value *value, struct err *err);
void probe_events_programs(void *arg, void (*each)(void *arg, const char *path, int pid), void *each_arg);
void probe_events_want(void *arg, const char *label, bool more);

#endif

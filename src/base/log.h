/* SPDX-License-Identifier: MIT */
/*
 * Messages of the server to its administrator: to stderr in the foreground, to syslog as a
 * daemon. Called at the boundary only (see err.h). Thread-safe after log_init(); blocks at most
 * for the write.
 */
#ifndef KPROFS_BASE_LOG_H
#define KPROFS_BASE_LOG_H

#include <stdbool.h>

struct log {
	bool to_syslog; /* invariant once threads exist */
};

/*
 * With to_syslog messages are sent to syslog (facility daemon, as "kprofs"), otherwise to stderr.
 */
void log_init(struct log *log, bool to_syslog);

void log_error(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_notice(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

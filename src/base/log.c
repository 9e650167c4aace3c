/* SPDX-License-Identifier: MIT */
/* Messages to the administrator: see log.h. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <syslog.h>

void log_init(struct log *log, bool to_syslog)
{
	log->to_syslog = to_syslog;
	if (to_syslog)
		openlog("kprofs", LOG_PID | LOG_NDELAY, LOG_DAEMON);
}

static void log_line(struct log *log, int priority, const char *format, va_list ap)
{
	char line[1024];

	if (log->to_syslog) {
		vsyslog(priority, format, ap);
		return;
	}
	vsnprintf(line, sizeof(line), format, ap);
	/* one call, so that lines of two threads do not mix */
	fprintf(stderr, "kprofs: %s\n", line);
}

void log_error(struct log *log, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	log_line(log, LOG_ERR, format, ap);
	va_end(ap);
}

void log_notice(struct log *log, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	log_line(log, LOG_NOTICE, format, ap);
	va_end(ap);
}

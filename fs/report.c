/* SPDX-License-Identifier: MIT */
/* Reports: see report.h. */
#include "fs/report.h"

#include <glib.h>
#include <pthread.h>
#include <unistd.h>

#include "base/log.h"
#include "base/ratelimit.h"
#include "base/units.h"
#include "fs/kperr.h"
#include "sys/clock.h"

struct report {
	struct kperr *kperr;	/* invariant */
	struct log *log;	/* invariant */
	pthread_mutex_t lock;	/* a leaf */
	struct ratelimit limit; /* (lock) of the log */
};

struct report *report_create(struct kperr *kperr, struct log *log)
{
	struct report *report = g_new0(struct report, 1);

	report->kperr = kperr;
	report->log = log;
	pthread_mutex_init(&report->lock, NULL);
	ratelimit_init(&report->limit, REPORT_LOG_PER_SECOND, NSEC_PER_SEC / REPORT_LOG_PER_SECOND,
		clock_monotonic_ns());
	return report;
}

void report_destroy(struct report *report)
{
	if (!report)
		return;
	pthread_mutex_destroy(&report->lock);
	g_free(report);
}

static bool may_log(struct report *report, uint64_t time_ns)
{
	bool may;

	pthread_mutex_lock(&report->lock);
	may = ratelimit_take(&report->limit, 0, time_ns);
	pthread_mutex_unlock(&report->lock);
	return may;
}

void report_add(struct report *report, struct kperr_entry *entry)
{
	g_autofree char *line = NULL;

	entry->time_ns = clock_monotonic_ns();
	line = kperr_add(report->kperr, entry);
	if (!may_log(report, entry->time_ns))
		return;
	if (entry->pid == getpid()) /* no command: what the server itself has found */
		log_notice(report->log, "%s: %s%s%s", entry->file, entry->reason,
			entry->usage ? "; usage: " : "", entry->usage ? entry->usage : "");
	else
		log_notice(report->log, "%s", line);
}

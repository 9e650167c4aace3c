/* SPDX-License-Identifier: MIT */
/*
 * kpstat and mpstat-raw as OpenMetrics text.
 *
 * A row `event.1.cpu.0.delivered 5` becomes `kprofs_event_cpu_delivered{event="1",cpu="0"} 5`: a
 * number in a name is a label, called by the word before it. What is in ns is printed in seconds. A
 * text is a label of the value 1, in a metric that ends in _info; `unknown` is no value and is left
 * out. All are gauges, which is the one type that OpenMetrics and the older text form of Prometheus
 * write alike.
 */
#ifndef KPROFS_FS_METRICS_H
#define KPROFS_FS_METRICS_H

#include <glib.h>

/* If mpstat_raw is "", its metric is missing. Thread-safe. */
void metrics_append(GString *out, const char *kpstat, const char *mpstat_raw);

#endif

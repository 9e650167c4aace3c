/* SPDX-License-Identifier: MIT */
/*
 * kpstat and mpstat-raw as OpenMetrics text.
 *
 * A row `event.1.cpu.0.delivered 5` becomes `kprofs_event_cpu_delivered{event="1",cpu="0"} 5`: a
 * number in a name is a label, called by the word before it. What is in ns is printed in seconds. A
 * text is a label of the value 1, in a metric that ends in _info; `unknown` and `not counted` are no
 * values and are left out. All are gauges, which is the one type that OpenMetrics and the older text
 * form of Prometheus write alike.
 */
#ifndef KPROFS_FS_METRICS_H
#define KPROFS_FS_METRICS_H

#include "base/openmetrics.h"

/* If mpstat_raw is "", its metric is missing. The caller adds others and destroys it. Thread-safe. */
struct openmetrics *metrics_create(const char *kpstat, const char *mpstat_raw);

#endif

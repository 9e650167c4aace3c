/* SPDX-License-Identifier: MIT */
/*
 * The functions of libpfm4, for the files that call it: see pfm.h. Private to them.
 *
 * The library is loaded when it is first needed, with dlopen(3), and never unloaded: its tables have
 * 40,000 pointers, whose relocation took longer than all else that a small subcommand of kprof does.
 */
#ifndef KPROFS_SYS_PFM_LIBRARY_H
#define KPROFS_SYS_PFM_LIBRARY_H

#include <perfmon/pfmlib_perf_event.h>

#include "base/err.h"

/*
 * Takes the lock, and loads and initialises the library if needed. Returns 0, or -EOPNOTSUPP with a
 * sentence; the lock is then not held, and the next call tries again.
 */
int pfm_library_enter(struct err *err);
void pfm_library_leave(void);

/* The functions of the same names, for events of perf_event_open(2). Only while the lock is held. */
int pfm_library_encode(const char *text, pfm_perf_encode_arg_t *arg);
int pfm_library_find_event(const char *text);
int pfm_library_next_event(int event);
int pfm_library_event_info(int event, pfm_event_info_t *info);
int pfm_library_attr_info(int event, int attr, pfm_event_attr_info_t *info);
int pfm_library_pmu_info(int pmu, pfm_pmu_info_t *info);
const char *pfm_library_strerror(int code);

#endif

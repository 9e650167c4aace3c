/* SPDX-License-Identifier: MIT */
/*
 * libpfm4: names of events to what perf_event_open(2) wants.
 *
 * libpfm4 keeps its state for the whole process. It is initialised at the first call here, so a
 * server that never hears of an event other than `default` does not pay for its tables, and all
 * calls take turns on one lock: thread-safe. LIBPFM_FORCE_PMU (see libpfm(3)) is obeyed by libpfm4
 * at that first call: then that PMU's events are the only ones that exist.
 */
#ifndef KPROFS_SYS_PFM_H
#define KPROFS_SYS_PFM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/nearest.h"

/*
 * What libpfm4 makes of a text. It is no struct perf_event_attr because libpfm4's header brings a
 * definition of its own of that struct, which no file can see beside <linux/perf_event.h>.
 */
struct pfm_encoding {
	uint32_t type;	      /* perf's: PERF_TYPE_* or the number of a dynamic PMU */
	uint64_t config;
	uint64_t config1;
	uint64_t config2;
	uint64_t rate;	      /* as in the text, unchecked: may be huge; 0: none in the text */
	bool is_freq;	      /* rate is in Hz, else a period */
	bool exclude_user;
	bool exclude_kernel;
	bool exclude_hv;
	bool exclude_host;
	bool exclude_guest;
	uint8_t precise_ip;   /* 0 to 3 */
	bool pinned;
	bool exclusive;
	int cpu;	      /* -1: none in the text */
};

/*
 * Encodes one event with its unit masks and modifiers; user and kernel are both on unless the text
 * says u or k. -ESRCH: no event of that name, *err is untouched, pfm_nearest() knows the nearest;
 * -ENOENT: no such PMU or unit mask, *err names what there is; -EINVAL: a modifier or value that
 * libpfm4 refuses; -EOPNOTSUPP: libpfm4 can't be initialised; -ENOMEM.
 */
int pfm_encode(const char *text, struct pfm_encoding *encoding, struct err *err);

/*
 * Offers the events of all PMUs that are present, or of the one that the text names, each as a text that
 * pfm_encode() takes: those that need a unit mask have one. Some thousand names: ms. Where libpfm4 can't
 * be initialised it offers none.
 */
void pfm_nearest(const char *text, struct nearest *nearest);

/* ---- what there is --------------------------------------------------------------------------------- */

enum pfm_attr_kind {
	PFM_UNIT_MASK,
	PFM_SWITCH, /* a modifier that is on when it is named */
	PFM_NUMBER, /* a modifier with a value: NAME=N */
};

struct pfm_listed_attr {
	enum pfm_attr_kind kind;
	const char *name;
	const char *text; /* what it is, "" where libpfm4 does not say */
	bool is_default;  /* of unit masks: taken where none is named */
};

struct pfm_listed {
	const char *pmu;
	const char *pmu_text;
	const char *name;
	const char *text;
	bool present; /* the PMU is in this machine, or forced */
	bool generic; /* perf's own, that the kernel maps to the machine's */
	const struct pfm_listed_attr *attrs;
	size_t attr_count;
};

/*
 * Calls event() for each event of the PMUs that are present (or forced), or with `all` of all that
 * libpfm4 knows, until it returns other than 0, and returns that. Strings are libpfm4's and stay; the
 * attributes are valid during the call. event() runs with the lock held: it must not call anything here.
 * -EOPNOTSUPP: libpfm4 can't be initialised.
 */
int pfm_list(bool all, int (*event)(void *arg, const struct pfm_listed *listed), void *arg);

/* The event's own name in a text: without PMU, unit masks, modifiers. Cut to size. Returns buf. */
const char *pfm_event_name(const char *text, char *buf, size_t size);

#endif

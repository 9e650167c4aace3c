/* SPDX-License-Identifier: MIT */
/*
 * libpfm4: from the names of events to the attr of perf_event_open(2).
 *
 * libpfm4 keeps its state for the whole process. It is loaded and initialised at the first call
 * here, so programs that need none of its events start without it, also where it is missing. All
 * calls are serialised by one lock: thread-safe. libpfm4 reads LIBPFM_FORCE_PMU (see libpfm(3)) at
 * that first call: then only the events of that PMU exist.
 */
#ifndef KPROFS_SYS_PFM_H
#define KPROFS_SYS_PFM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/nearest.h"

/*
 * The result of libpfm4. It is no struct perf_event_attr, since libpfm4's header has its own
 * definition of that struct, which conflicts with <linux/perf_event.h>.
 */
struct pfm_encoding {
	uint32_t type;	      /* perf's: PERF_TYPE_* or the number of a dynamic PMU */
	uint64_t config;
	uint64_t config1;
	uint64_t config2;
	uint64_t rate;	      /* as in the text, unchecked: may be huge; 0 if not in the text */
	bool is_freq;	      /* rate is in Hz, else it is a period */
	bool exclude_user;
	bool exclude_kernel;
	bool exclude_hv;
	bool exclude_host;
	bool exclude_guest;
	uint8_t precise_ip;   /* 0 to 3 */
	bool pinned;
	bool exclusive;
	int cpu;	      /* -1 if not in the text */
};

/*
 * Encodes one event with its unit masks and modifiers; user and kernel are both on unless the text
 * has u or k. Returns -ESRCH if no event has that name (*err is then unchanged, and pfm_nearest()
 * finds the nearest), -ENOENT if there is no such PMU or unit mask (*err then lists those that
 * exist), -EINVAL if libpfm4 refuses a modifier or value, -EOPNOTSUPP if libpfm4 cannot be
 * loaded or initialised, or -ENOMEM.
 */
int pfm_encode(const char *text, struct pfm_encoding *encoding, struct err *err);

/*
 * Offers the events of all PMUs that are present, or of the one in the text, each as a text that
 * pfm_encode() accepts: events that need a unit mask get one. Some thousand names: ms. If libpfm4
 * cannot be loaded it offers none.
 */
void pfm_nearest(const char *text, struct nearest *nearest);

/* ---- lists of events ------------------------------------------------------------------------- */

enum pfm_attr_kind {
	PFM_UNIT_MASK,
	PFM_SWITCH, /* a modifier that is on if it is given */
	PFM_NUMBER, /* a modifier with a value: NAME=N */
};

struct pfm_listed_attr {
	enum pfm_attr_kind kind;
	const char *name;
	const char *text; /* description, "" if libpfm4 has none */
	bool is_default;  /* unit masks: used if none is given */
};

struct pfm_listed {
	const char *pmu;
	const char *pmu_text;
	const char *name;
	const char *text;
	bool present; /* the PMU is in this machine, or forced */
	bool generic; /* perf's own, which the kernel maps to the machine's */
	const struct pfm_listed_attr *attrs;
	size_t attr_count;
};

/*
 * Calls event() for each event of the PMUs that are present (or forced), or with `all` for all that
 * libpfm4 knows, until it returns other than 0, and returns that value. Strings are libpfm4's and
 * stay valid; the attributes are valid during the call. event() runs with the lock held, so it must
 * not call functions of this header. Returns -EOPNOTSUPP, with a sentence, if libpfm4 cannot be
 * loaded or initialised.
 */
int pfm_list(bool all, int (*event)(void *arg, const struct pfm_listed *listed), void *arg,
	struct err *err);

/*
 * The name of the event in a text, without PMU, unit masks and modifiers. Cut to size. Returns
 * buf.
 */
const char *pfm_event_name(const char *text, char *buf, size_t size);

/* Whether libpfm4 can be used: 0, or -EOPNOTSUPP with a sentence. */
int pfm_probe(struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Kernel events: their switches, the programs that record them, and their rings.
 *
 * Nothing of it exists in the kernel until the first event is switched on. kernel_set() and
 * kernel_expire() attach, detach, load and free, which takes up to some 100 ms: a thread that may block
 * calls them. All other functions answer from memory, or read tracefs, in any thread.
 */
#ifndef KPROFS_KERNEL_KERNEL_H
#define KPROFS_KERNEL_KERNEL_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/stats.h"
#include "bpf/emit.h"
#include "bpf/record.h"
#include "bpf/rings.h"
#include "probes/output.h"
#include "probes/value.h"

struct calltext;
struct function;
struct kernel;
struct point;

/* Programs of probes/ that have ended and whose records are still shown: 1 or 2 MB of what they print. */
#define KERNEL_ENDED_MAX 1024u
/* The time after which rings are given back when no event has been on. */
#define KERNEL_KEPT_S 60u

/* kb: of the ring of one CPU; less is taken if all together would be more than 1/32 of memory. */
struct kernel *kernel_create(uint32_t kb, uint64_t memory_bytes);
/* Detaches everything. NULL is allowed. */
void kernel_destroy(struct kernel *kernel);
/*
 * Before any thread uses it: the bell that is rung when kernel_expires_in() may have changed by another
 * thread's doing.
 */
void kernel_set_bell(struct kernel *kernel, int bell);

/* ---- what outlives the server ------------------------------------------------------------------ */

/*
 * Keeps the events in a folder of a bpf file system (kernel_keep.c), and takes over what another
 * process has left there, which may take some 100 ms. Before anything is switched on. -ESTALE: what was
 * there is of another version or damaged, and was removed; what is switched on now is kept. Other
 * errors: nothing is kept.
 */
int kernel_keep(struct kernel *kernel, const char *path, struct err *err);
/* The trace is cleared at this time; of what was taken over the time of the last clear, 0 for none. */
void kernel_note_clear(struct kernel *kernel, uint64_t time_ns);
uint64_t kernel_kept_clear_ns(const struct kernel *kernel);

/* ---- switches --------------------------------------------------------------------------------- */

/* Whether there is such an event: syscalls, syscall:NAME, SUBSYSTEM:TRACEPOINT, function:NAME. */
bool kernel_has(struct kernel *kernel, const char *name);
/* Appends "0", or "1" with " stack" and " /FILTER/" where set, and a newline. */
void kernel_get(struct kernel *kernel, const char *name, GString *out);
/*
 * Sets a switch to "0" or "1 [stack] [/FILTER/]". If it fails, the switch is as before: -EINVAL for what is
 * not one of these, with the column of a wrong filter, -ENOENT if the event is not there any more,
 * -ENOMEM, -EPERM and -EOPNOTSUPP with what would give it.
 */
int kernel_set(struct kernel *kernel, const char *name, const char *text, struct err *err);
/* The switch above all. */
void kernel_enable(struct kernel *kernel, bool on);
/*
 * The processes whose events are recorded: "all", or "PID[,PID...]", with all that they start; "exec
 * PID": from the next program on that it executes. -EINVAL, -ESRCH, and as kernel_set().
 */
int kernel_set_pids(struct kernel *kernel, const char *text, struct err *err);
void kernel_get_pids(struct kernel *kernel, GString *out);
/* Appends the names of all events, which are to be freed. Some ms. */
void kernel_list(struct kernel *kernel, GPtrArray *names);
/* Appends a line for each event: name, format, setting. Some 100 ms. */
void kernel_print_info(struct kernel *kernel, GString *out);

/* The seconds until kernel_expire() has something to give back; 0 if it has not. */
unsigned int kernel_expires_in(struct kernel *kernel);
void kernel_expire(struct kernel *kernel);

/*
 * After kernel_set(): appends a sentence about what the records of the switch lack, if it is on and they lack
 * something; and, for the first such switch, that trace.kernel.missed lacks events which the kernel does not
 * count (Linux before 6.7).
 */
void kernel_note(struct kernel *kernel, const char *name, GString *out);

/* trace.kernel.{recorded,overwritten,missed,missed_uncounted,torn,bytes,events} */
void kernel_print_stats(struct kernel *kernel, struct stats *stats);
uint64_t kernel_overwritten(struct kernel *kernel);

/* ---- programs of probes/ ---------------------------------------------------------------------- */

/*
 * Makes the rings, and keeps them until kernel_release(). *machine is invariant meanwhile. Some ms; -EPERM,
 * -EOPNOTSUPP, -ENOMEM with what would give it.
 */
int kernel_hold(struct kernel *kernel, const struct emit_machine **machine, struct err *err);
void kernel_release(struct kernel *kernel);
/* The number of a system call by the name of its tracepoint, without sys_enter_; -ENOENT. */
int kernel_call_number(struct kernel *kernel, const char *name);
/* What records with this serial number mean: it takes a reference of the outputs. */
void kernel_add_probe(struct kernel *kernel, uint32_t serial, const char *label, struct outputs *outputs);
/*
 * The program with this serial number has ended. What its records mean is known until KERNEL_ENDED_MAX
 * further programs that print have ended.
 */
void kernel_end_probe(struct kernel *kernel, uint32_t serial);

/* ---- readers ---------------------------------------------------------------------------------- */

/*
 * The rings, which stay until kernel_put_rings(); NULL if there are none, for which nothing is to be
 * put.
 */
struct rings *kernel_get_rings(struct kernel *kernel);
void kernel_put_rings(struct kernel *kernel, struct rings *rings);
/* Without bpf(2): takes what the kernel has recorded into the rings, which are held. Some ms. */
void kernel_gather(struct kernel *kernel);

/*
 * Appends the calls that threads are in now and that will be recorded when they return, as far as that
 * is known: struct begun_thread of begun.h. Only while the rings are held.
 */
void kernel_list_begun(struct kernel *kernel, GArray *threads);

/* Formats of a function besides the one of a call that was seen from its entry on. */
#define KERNEL_VARIANTS 2

/*
 * Around the use of meanings: what a record means stays at least until the end of the readings that have
 * begun before.
 */
void kernel_begin_reading(struct kernel *kernel);
void kernel_end_reading(struct kernel *kernel);

/* What a record means to the readers of the trace. */
struct kernel_meaning {
	char *label;  /* "syscall:openat", "sched:sched_switch" */
	char *format; /* of the arguments that kernel_describe() makes, as those of programs' events */
	uint32_t format_bytes;
	struct point *point; /* of a tracepoint, else NULL */
	struct function *function; /* of a function, else NULL */
	struct kernel_meaning *variants[KERNEL_VARIANTS]; /* of a function: the same for other flags */
	/* of a system call, else NULL: */
	const struct calltext *calltext;
	uint32_t key; /* as calltext.h has it */
	struct outputs *outputs; /* of a program of probes/; else NULL */
};

/* NULL for a record that means nothing. */
const struct kernel_meaning *kernel_meaning(struct kernel *kernel, const struct kernel_record *record);
/*
 * Whether the record is of something that took time, a call that has returned: then *ns is that time, which
 * ends with the time of the record.
 */
bool kernel_duration(const struct kernel_meaning *meaning, const struct kernel_record *record, uint64_t *ns);
/* The same for system calls only, whatever else the record is of. */
bool kernel_call_duration(const struct kernel_record *record, uint64_t *ns);
/*
 * Appends the arguments of a record in the form of ring_abi.h, with these names of addresses that a program
 * of probes/ prints. Returns its flags there.
 */
uint32_t kernel_describe(const struct kernel_meaning *meaning, const struct kernel_record *record,
	const struct value_names *names, GString *args);

#endif

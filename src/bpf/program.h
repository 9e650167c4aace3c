/* SPDX-License-Identifier: MIT */
/*
 * BPF programs: loading, and attaching to tracepoints, functions and perf events.
 *
 * A program is attached as long as its link, a descriptor, is open; links end with their process.
 * Loading takes 0.2..0.6 ms, attaching and detaching 0.2..65 ms each: none of it under a lock that
 * workers take. Thread-safe. Functions return 0 or -errno.
 */
#ifndef KPROFS_BPF_PROGRAM_H
#define KPROFS_BPF_PROGRAM_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/code.h"
#include "bpf/types.h"

struct program_spec {
	const char *name; /* at most 15 of [A-Za-z0-9_.], shown by bpftool */
	enum bpf_prog_type type;
	/*
	 * BPF_PROG_TYPE_TRACING: BPF_TRACE_RAW_TP, _FENTRY, _FEXIT, _ITER;
	 * BPF_PROG_TYPE_KPROBE: BPF_TRACE_KPROBE_MULTI or 0; else 0
	 */
	enum bpf_attach_type attach;
	uint32_t attach_type_id; /* TRACING: the kernel's type of the tracepoint (btf_trace_X) or function */
	int btf_fd;              /* TRACING: the types of the module that it is in, 0 for the kernel itself */
};

/*
 * Loads the code, which was finished by code_finish(); the caller closes the descriptor. If the kernel's
 * verifier refuses it, the sentence ends with the last line of its log.
 */
int program_load(const struct program_spec *spec, const struct code *code, int *fd, struct err *err);

/*
 * Attaches a program and returns its link; closing the link detaches it. The first is for
 * BPF_PROG_TYPE_RAW_TRACEPOINT with the name of a tracepoint (without its subsystem), the second for
 * BPF_PROG_TYPE_TRACING, which knows its place.
 */
int program_attach_raw(int fd, const char *name, int *link, struct err *err);
int program_attach_tracing(int fd, int *link, struct err *err);
/*
 * After an attach that returned `error`: whether to try again, for which it waits 10 ms; *tries is 0 at
 * first. A tracepoint takes 64 programs and a function 38 (-E2BIG), and those that were detached leave some
 * ms later, in particular pinned ones.
 */
bool program_waits_for_room(int error, unsigned int *tries);
/*
 * A classic tracepoint (BPF_PROG_TYPE_TRACEPOINT) by its number in tracefs, on all CPUs: the link is a
 * perf event.
 */
int program_attach_tracepoint(int fd, uint64_t id, int *link, struct err *err);
/*
 * The entry or the return of a function of the kernel, for BPF_PROG_TYPE_KPROBE, whose context is the
 * registers: by a perf event (needs CONFIG_KPROBE_EVENTS), or, for a program that was loaded with
 * BPF_TRACE_KPROBE_MULTI, by ftrace (Linux 5.18 with CONFIG_FPROBE).
 */
int program_attach_kprobe(int fd, const char *function, uint64_t offset, bool is_return, int *link,
	struct err *err);
/* Several functions by one link: all or none. */
struct program_functions {
	const char *const *names;
	const uint64_t *cookies; /* what get_attach_cookie gives at each; NULL: 0 */
	uint32_t count;
};
int program_attach_kprobe_multi(int fd, const struct program_functions *functions, bool is_return, int *link,
	struct err *err);
/* The program runs at each sample of the perf event, which stays the caller's, until both are closed. */
int program_attach_perf(int fd, int perf_event, struct err *err);

/*
 * A program of BPF_TRACE_ITER: a link, and a list, which is read once with read(2): the program runs
 * for each item of it and writes what is read. -EINVAL or -EOPNOTSUPP before Linux 5.8.
 */
int program_attach_list(int fd, int *link, struct err *err);
int program_open_list(int link, int *fd);

struct program_counts {
	uint64_t missed;  /* times that it did not run, since it was running on that CPU */
	bool knows_missed; /* the kernel counts them (Linux 5.12) */
	uint64_t run_ns;  /* 0 unless the kernel's statistics are on */
	uint64_t run_count;
};

int program_counts(int fd, struct program_counts *counts);

/*
 * The kernel finds a call again at its return only for a number of calls at a time that it chooses
 * (kretprobes, ftrace): further ones it leaves out, and counts them by link. A link of another kind has none.
 * -EOPNOTSUPP: this kernel does not tell it, as before Linux 6.7; program_link_tells() knows that before
 * there is a link. `types` may be NULL.
 */
int program_link_missed(int link, uint64_t *missed);
bool program_link_tells(const struct types *types);
/* Whether the kernel measures run_ns and run_count: on until the descriptor is closed. */
int program_measure(int *fd);

/*
 * Runs a RAW_TRACEPOINT program once on this CPU with these arguments (Linux 5.10), for tests: its
 * result is put into `result`.
 */
int program_run(int fd, const uint64_t *args, uint32_t count, uint32_t *result);
/*
 * Runs a RAW_TRACEPOINT program once on that CPU, without arguments (Linux 5.10): another CPU is
 * interrupted for it. -ENXIO if the CPU is offline.
 */
int program_run_on(int fd, unsigned int cpu);

#endif

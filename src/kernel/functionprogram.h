/* SPDX-License-Identifier: MIT */
/*
 * The two programs that record a function of the kernel: one at its entry, which keeps the time, one at its
 * return, which writes the record. There are three ways to attach them, which are tried in this order.
 */
#ifndef KPROFS_KERNEL_FUNCTIONPROGRAM_H
#define KPROFS_KERNEL_FUNCTIONPROGRAM_H

#include <stdbool.h>

#include "base/err.h"
#include "bpf/emit.h"
#include "kernel/filter.h"
#include "kernel/function.h"

struct functionprogram;

enum functionprogram_way {
	FUNCTIONPROGRAM_FENTRY, /* trampolines with typed arguments */
	FUNCTIONPROGRAM_KPROBE, /* perf's kprobes, with registers */
	FUNCTIONPROGRAM_FPROBE, /* ftrace (kprobe_multi), with registers */
	FUNCTIONPROGRAM_WAYS,
};

/* The map of calls that are under way, which all these programs share. -ENOMEM, -EPERM */
int functionprogram_create_map(int *map, struct err *err);

struct functionprogram_spec {
	int calls; /* the map */
	const struct function *function; /* other than by fentry: after function_limit() */
	int btf_fd;                  /* of the function's module, or -1 */
	uint32_t id;                 /* of its records */
	const struct filter *filter; /* NULL if there is none; only needed during the call */
	bool stacks;
};

/* Loads both for one way, which attaches nothing: some ms. What refuses it is said without its name. */
int functionprogram_load(const struct emit_machine *machine, const struct functionprogram_spec *spec,
	enum functionprogram_way way, struct functionprogram **program, struct err *err);
/* Attaches them, also again: some 10 to 100 ms. `function` is its name. */
int functionprogram_attach(struct functionprogram *program, const char *function, struct err *err);
/* Detaches them for a while: up to 200 ms. NULL is allowed. */
void functionprogram_pause(struct functionprogram *program);
/* The same, for good. */
void functionprogram_destroy(struct functionprogram *program);
/* Times that the kernel did not run the program at the return, since it was running there; 0 for NULL. */
uint64_t functionprogram_missed(const struct functionprogram *program);
/* What attaches them, for pinning. */
void functionprogram_links(const struct functionprogram *program, int links[2]);
/* "fentry", "kprobes", "ftrace" */
const char *functionprogram_way_name(enum functionprogram_way way);

#endif

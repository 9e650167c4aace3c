/* SPDX-License-Identifier: MIT */
/*
 * The two programs that record a function of the kernel: one at its entry, which keeps the time, one at its
 * return, which writes the record. The three ways to attach them are tried in the order of function_way.h.
 */
#ifndef KPROFS_KERNEL_FUNCTIONPROGRAM_H
#define KPROFS_KERNEL_FUNCTIONPROGRAM_H

#include <stdbool.h>

#include "base/err.h"
#include "bpf/emit.h"
#include "bpf/function_way.h"
#include "bpf/map.h"
#include "kernel/filter.h"
#include "kernel/function.h"

struct functionprogram;

/* The map of calls that are under way, which all these programs share. */
extern const struct map_spec functionprogram_map;

struct functionprogram_spec {
	int calls; /* the map */
	const struct function *function; /* other than by fentry: after function_limit() */
	int btf_fd;                  /* of the function's module, or -1 */
	uint32_t id;                 /* of its records */
	uint8_t generation;          /* emit_task() */
	const struct filter *filter; /* NULL if there is none; only needed during the call */
	bool stacks;
	/*
	 * Where a return that the kernel follows goes to first (kretprobes and ftrace); 0: it is not known,
	 * or links tell how many it drops.
	 */
	uint64_t return_hook;
};

/* Loads both for one way, which attaches nothing: some ms. What refuses it is said without its name. */
int functionprogram_load(const struct emit_machine *machine, const struct functionprogram_spec *spec,
	enum function_way way, struct functionprogram **program, struct err *err);
/*
 * Replaces what attached programs record: others, with the spec's filter and stacks, take their places, so
 * that each call is recorded by one of them. Of a call that is under way the former one has kept the begin:
 * so the map, the id and the generation are those of the former ones. If it can't, those go on.
 * -EOPNOTSUPP: they have no stubs.
 */
int functionprogram_replace(const struct emit_machine *machine, const struct functionprogram_spec *spec,
	const struct functionprogram *program, struct err *err);
/* Attaches them: some 10 to 100 ms. `function` is its name. They record when their generation is chosen. */
int functionprogram_attach(struct functionprogram *program, const char *function, struct err *err);
/* Detaches them: up to 200 ms. NULL is allowed. */
void functionprogram_destroy(struct functionprogram *program);
/*
 * Of programs that are detached, and no others with this id: what their calls under way have left in the map,
 * so that these are not taken for missed ones. Some 10 ms at most: some may be left while others change the
 * map.
 */
void functionprogram_forget(int calls, uint32_t id);
/*
 * Times that the kernel did not run the program at the return: it was running there, or too many threads
 * were in the function, if the kernel tells that by link (program_link_missed()); else the program at the
 * entry counts these in the rings. 0 for NULL.
 */
uint64_t functionprogram_missed(const struct functionprogram *program);
enum function_way functionprogram_way(const struct functionprogram *program);
/* For pinning: what attaches them, and the arrays of their stubs, -1 if there are none. */
void functionprogram_links(const struct functionprogram *program, int links[2], int arrays[2]);
/*
 * From what another process has pinned, to be replaced: takes the descriptors, unless it fails. -EINVAL:
 * they do not belong together.
 */
int functionprogram_adopt(enum function_way way, const int links[2], const int arrays[2],
	struct functionprogram **program);

#endif

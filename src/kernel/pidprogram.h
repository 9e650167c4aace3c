/* SPDX-License-Identifier: MIT */
/*
 * The threads whose events are recorded, if not all are: a map by thread, and the programs that add
 * what these threads start, and remove them when they have ended.
 */
#ifndef KPROFS_KERNEL_PIDPROGRAM_H
#define KPROFS_KERNEL_PIDPROGRAM_H

#include <stdint.h>

#include "base/err.h"
#include "bpf/emit.h"
#include "bpf/types.h"

/* Threads that are followed at a time; those that are started beyond it are counted and not followed. */
#define PIDPROGRAM_THREADS_MAX 16384u

/* Their programs. */
#define PIDPROGRAM_LINKS 3

struct map_spec;
struct pidprogram;

/* The map, for struct emit_machine. */
extern const struct map_spec pidprogram_map;
/*
 * Attaches the programs. `lost_at`: offset in the control map of a u32 that counts the threads that found no
 * room.
 */
int pidprogram_attach(const struct emit_machine *machine, const struct types *types, uint32_t lost_at,
	struct pidprogram **program, struct err *err);
/* What attaches them, for pinning. */
void pidprogram_links(const struct pidprogram *program, int links[PIDPROGRAM_LINKS]);
/* NULL is allowed. */
void pidprogram_detach(struct pidprogram *program);

#endif

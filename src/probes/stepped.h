/* SPDX-License-Identifier: MIT */
/* What a uprobe costs at an instruction. A pure function; any thread. */
#ifndef KPROFS_PROBES_STEPPED_H
#define KPROFS_PROBES_STEPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of an instruction that are looked at. */
#define STEPPED_BYTES 6u

/*
 * Whether the kernel may have to single-step the instruction, which takes some 12 us each time, in place of
 * 1 us for those that it emulates: on x86_64 nops, pushes of registers, calls and jumps (uprobes of Linux
 * 6.1; newer ones emulate more). False where it is not known: on other machines.
 */
bool stepped_is_likely(const uint8_t *code, size_t bytes);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A stub: a small program that is attached in place of another one, which it calls as the only element of a
 * prog array (bpf_tail_call). The kernel replaces the element atomically: each event runs the former
 * program or the next one, never both or none of them.
 *
 * The call can't fail while the stub is attached: the array has its element before, which is only ever
 * replaced, and each event makes one such call (the kernel allows 33). But the kernel empties the array when
 * its last descriptor and its last pinned name are gone. So these go after the link.
 *
 * The former program may still run on other CPUs when stub_replace() returns; the kernel keeps it, and the
 * maps that it uses, until then. What the kernel left out, since the program was running already on that
 * CPU, is counted for the stub.
 *
 * Functions return 0 or -errno. Thread-safe.
 */
#ifndef KPROFS_BPF_STUB_H
#define KPROFS_BPF_STUB_H

#include <stdbool.h>

#include "base/err.h"
#include "bpf/program.h"

/*
 * Loads a stub for a program that was loaded with this spec, and makes its array; the caller closes both
 * descriptors. The program's own is not needed any more.
 */
int stub_load(const struct program_spec *spec, int program, int *stub, int *array, struct err *err);

/*
 * The stub that a link attaches, by which this array was made, in another process perhaps. -EINVAL if what it
 * attaches is not one of this array. The caller closes the descriptor.
 */
int stub_find(int link, int array, int *stub);

/* Whether it is of a type that a link to BTF attaches (BPF_PROG_TYPE_TRACING), which tells what it missed. */
bool stub_is_tracing(int stub);

/* From then on the stub calls this program. -EINVAL: it is of another type, or for another place. */
int stub_replace(int array, int program);

#endif

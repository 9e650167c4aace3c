/* SPDX-License-Identifier: MIT */
/*
 * A source for symbols.h that reads the file in this process: for tests, and for measuring the cost
 * of the other one (remote.h). It reads ELF files by their path only, and no separate debug files.
 */
#ifndef KPROFS_SYMBOLIZERD_LOCAL_H
#define KPROFS_SYMBOLIZERD_LOCAL_H

#include "symbolizer/symbols.h"

/* Has no state: self is NULL. Thread-safe. */
extern const struct symbols_source local_source;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A source of names that reads the file in this process: for tests, and for measuring what the
 * other one (remote.h) costs. ELF files by their path only, no separate debug files.
 */
#ifndef KPROFS_SYMBOLIZERD_LOCAL_H
#define KPROFS_SYMBOLIZERD_LOCAL_H

#include "symbolizer/symbols.h"

/* Has no state: self is NULL. Thread-safe. */
extern const struct symbols_source local_source;

#endif

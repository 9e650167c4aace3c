/* SPDX-License-Identifier: MIT */
/*
 * Names of C++ and Rust as people write them. Mangled names come from files that anyone may have
 * written: output and depth are bounded, and a name that takes half a second of CPU time ends the
 * process (SIGVTALRM). So it runs in the parser's child only; one thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_DEMANGLE_H
#define KPROFS_SYMBOLIZERD_DEMANGLE_H

/* A longer one is left as it is; the longest of a large C++ program has some thousand bytes. */
#define DEMANGLE_INPUT_MAX 16384

/*
 * To be freed with g_free; NULL where the name is not mangled, or not by rules we know. Rust's
 * hashes are left out; what compilers append to parts and copies of functions (.cold, .isra.0)
 * stays, in C++ as [clone .cold].
 */
char *demangle_name(const char *name);

#endif

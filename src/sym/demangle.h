/* SPDX-License-Identifier: MIT */
/*
 * Names of C++ and Rust as people write them. Mangled names come from files that anyone may have
 * written: output and depth are bounded. Runs in the parser; thread-safe.
 */
#ifndef KPROFS_SYM_DEMANGLE_H
#define KPROFS_SYM_DEMANGLE_H

/* A longer one is left as it is; the longest of a large C++ program has some thousand bytes. */
#define DEMANGLE_INPUT_MAX 16384

/*
 * To be freed with g_free; NULL where the name is not mangled, or not by rules we know. Rust's hashes
 * are left out; what compilers append to parts and copies of functions (.cold, .isra.0) stays, in C++
 * as [clone .cold].
 */
char *demangle_name(const char *name);

/* The two ways of Rust; NULL as above. */
char *demangle_rust_legacy(const char *name);
char *demangle_rust_v0(const char *name);

#endif

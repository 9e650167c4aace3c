/* SPDX-License-Identifier: MIT */
/*
 * Demangles names of C++ and Rust. Any user may have written the file with the mangled names:
 * output and depth are bounded, and a name that takes half a second of CPU time ends the process
 * (SIGVTALRM). So this runs only in the parser's child; one thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_DEMANGLE_H
#define KPROFS_SYMBOLIZERD_DEMANGLE_H

/* Longer names are not demangled; the longest of a large C++ program has some thousand bytes. */
#define DEMANGLE_INPUT_MAX 16384

/*
 * Returns the demangled name, which the caller frees with g_free, or NULL if the name is not
 * mangled or by an unknown scheme. Rust's hashes are left out. Suffixes that compilers append to
 * parts and copies of functions (.cold, .isra.0) are kept, in C++ as [clone .cold].
 */
char *demangle_name(const char *name);

#endif

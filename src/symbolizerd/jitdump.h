/* SPDX-License-Identifier: MIT */
/*
 * The file jit-PID.dump in which a JIT records the functions that it compiles, with their code
 * (tools/perf/Documentation/jitdump-specification.txt in the source of Linux). Runs in the parser.
 * One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_JITDUMP_H
#define KPROFS_SYMBOLIZERD_JITDUMP_H

#include <stdbool.h>
#include <stdint.h>

/* The first four bytes, as this machine reads them. */
#define JITDUMP_MAGIC 0x4a695444u

/* Bytes of records and names that are read; the code between them is skipped. */
#define JITDUMP_BYTES_MAX (128u << 20)

/* Whether the file begins as a jitdump of this byte order. Its offset is unchanged. */
bool jitdump_is(int fd);

/*
 * Returns the text of a perf map (textsyms_offer_jit) with a line for each function that was
 * compiled or moved, in the order of the file; the caller frees it with g_free(). Control
 * characters in names become '?', and names are cut at SYMBOLS_TEXT_MAX. Reading ends at a record
 * that is cut or malformed; the text has what precedes it. Returns NULL if it has no function.
 */
char *jitdump_read(int fd);

#endif

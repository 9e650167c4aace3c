/* SPDX-License-Identifier: MIT */
/*
 * One file's answers: what the parser does with a descriptor that was handed to it. Everything in
 * the file may be hostile; whoever calls this holds no rights, or is a test.
 *
 * A file is loaded (parse_elf, parse_vdso, parse_kernel or parse_jit), perhaps its debug file and
 * what that shares, then asked. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_PARSE_H
#define KPROFS_SYMBOLIZERD_PARSE_H

#include <limits.h>
#include <stdbool.h>

#include "symbolizer/proto.h"
#include "symbolizer/unwind_row.h"
#include "symbolizer/symbols.h"
#include "symbolizerd/textsyms.h"

struct parse;

struct parse_info {
	unsigned int flags; /* PROTO_HAS_SYMBOLS and so on */
	uint8_t build_id[PROTO_BUILD_ID_MAX]; /* of the file; with PROTO_WANTS_ALT of the shared one */
	size_t build_id_length;
	char debuglink[NAME_MAX + 1]; /* the name of its debug file; "" where it does not say */
};

struct parse *parse_create(void);
void parse_destroy(struct parse *parse);

/*
 * Loads a file, unless it has another build-id (length 0: any): -ESTALE then; -ENOEXEC: no ELF
 * file. flags: SYMBOLS_LINES. fd is borrowed, here and below.
 */
int parse_elf(struct parse *parse, int fd, const uint8_t *build_id, size_t build_id_length,
	unsigned int flags, struct parse_info *info);

/* The separate debug file of the loaded one, and what debug files share. Errors as above. */
int parse_debug(struct parse *parse, int fd, const uint8_t *build_id, size_t build_id_length,
	unsigned int flags, struct parse_info *info);
int parse_alt(struct parse *parse, int fd, const uint8_t *build_id, size_t build_id_length,
	struct parse_info *info);

/* The vdso of this process. */
int parse_vdso(struct parse *parse, struct parse_info *info);

/*
 * The file with the kernel's symbols; the struct is copied. -ESTALE: see textsyms_offer_kernel().
 */
int parse_kernel(struct parse *parse, int fd, const struct textsyms_kernel *kernel);

/* The map that a JIT wrote. */
int parse_jit(struct parse *parse, int fd);

/*
 * Calls found() for each offset that has an answer (in an ELF file perhaps only its address,
 * without frames), in no order. What is passed is valid during the call. Returns how much of flags
 * it could honour (SYMBOLS_LINES); -ESTALE: not that kernel, and found() was not called; -EINVAL:
 * nothing is loaded. A kernel or a JIT can be asked once.
 */
int parse_resolve(struct parse *parse, const uint64_t *offsets, size_t count, unsigned int flags,
	void (*found)(void *arg, size_t i, const struct symbols_place *place), void *arg);

/*
 * How the function at an offset of the loaded ELF file is unwound. -ENOENT: the file does not say;
 * -E2BIG: in a way that a row can't hold; -EINVAL: no ELF file is loaded.
 */
int parse_row(struct parse *parse, uint64_t offset, struct unwind_row *row);

#endif

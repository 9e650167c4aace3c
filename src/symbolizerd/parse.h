/* SPDX-License-Identifier: MIT */
/*
 * Results for one file, from a descriptor that the parser received. Everything in the file may be
 * hostile; the caller has no privileges, or is a test.
 *
 * First load a file (parse_elf, parse_vdso, parse_kernel or parse_jit), perhaps its debug file and
 * alternate debug file, then request results. One thread at a time.
 */
#ifndef KPROFS_SYMBOLIZERD_PARSE_H
#define KPROFS_SYMBOLIZERD_PARSE_H

#include <limits.h>
#include <stdbool.h>

#include "symbolizer/proto.h"
#include "symbolizer/symbols.h"
#include "symbolizer/unwind_row.h"
#include "symbolizerd/textsyms.h"

struct parse;

struct parse_info {
	unsigned int flags; /* PROTO_HAS_SYMBOLS and so on */
	/* of the file; with PROTO_WANTS_ALT of the alternate debug file */
	uint8_t build_id[PROTO_BUILD_ID_MAX];
	size_t build_id_length;
	char debuglink[NAME_MAX + 1]; /* the name of its debug file; "" if there is none */
};

struct parse *parse_create(void);
void parse_destroy(struct parse *parse);

/*
 * Loads a file. Returns -ESTALE if it has another build-id (length 0 stands for any), -ENOEXEC if
 * it is not an ELF file. The only flag is SYMBOLS_LINES. fd is borrowed, here and below.
 */
int parse_elf(struct parse *parse, int fd, const uint8_t *build_id, size_t build_id_length,
	unsigned int flags, struct parse_info *info);

/* The separate debug file of the loaded one, and the alternate debug file. Errors as above. */
int parse_debug(struct parse *parse, int fd, const uint8_t *build_id, size_t build_id_length,
	unsigned int flags, struct parse_info *info);
int parse_alt(struct parse *parse, int fd, const uint8_t *build_id, size_t build_id_length,
	struct parse_info *info);

/* The vDSO of this process. */
int parse_vdso(struct parse *parse, struct parse_info *info);

/*
 * Loads the file with the kernel's symbols; the struct is copied. Returns -ESTALE as
 * textsyms_offer_kernel() does.
 */
int parse_kernel(struct parse *parse, int fd, const struct textsyms_kernel *kernel);

/* The perf map or the jitdump that a JIT wrote. */
int parse_jit(struct parse *parse, int fd);

/*
 * Calls found() for each offset with a result (in an ELF file perhaps only its address, without
 * frames), in no order. The arguments of found() are valid during the call. Returns those of
 * `flags` that could be satisfied (SYMBOLS_LINES), -ESTALE if it is not that kernel, in which case
 * found() was not called, or -EINVAL if nothing is loaded. For a kernel or a JIT only one call is
 * possible.
 */
int parse_resolve(struct parse *parse, const uint64_t *offsets, size_t count, unsigned int flags,
	void (*found)(void *arg, size_t i, const struct symbols_place *place), void *arg);

/*
 * Calls each() for the functions of a file whose names match a pattern, as functions_each() (functions.h)
 * does; the file is loaded for it. -ENOEXEC if it is no ELF file.
 */
struct functions_query;
int parse_functions(struct parse *parse, int fd, const struct functions_query *query);

/*
 * Finds the unwind row for an offset of the loaded ELF file. Returns -ENOENT if there is no row,
 * -E2BIG if it does not fit into a struct unwind_row, -EINVAL if no ELF file is loaded.
 */
int parse_row(struct parse *parse, uint64_t offset, struct unwind_row *row);

#endif

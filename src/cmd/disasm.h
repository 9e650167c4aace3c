/* SPDX-License-Identifier: MIT */
/*
 * The machine code of a part of a file, disassembled by objdump, with its source lines if
 * available. objdump runs with the rights of the caller, on a file that another user may have
 * written.
 */
#ifndef KPROFS_CMD_DISASM_H
#define KPROFS_CMD_DISASM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct disasm_file {
	const char *path;
	const uint8_t *build_id; /* of the file that was sampled */
	size_t build_id_length;  /* 0 if not known, then the file is not checked */
};

struct disasm_line {
	bool is_code;     /* else a source line or a label */
	uint64_t offset;  /* code: in the file */
	uint64_t address; /* code: virtual address in the file */
	char *text;
};

/*
 * Appends the lines (struct disasm_line; make the array with disasm_lines()) between two offsets.
 * Returns -ESTALE if the file is not the one that was sampled, -ENOEXEC if it is not a 64-bit ELF
 * file of our byte order or the offsets are not loaded, -ENOENT if there is no such file or no
 * objdump, -EFBIG if there are too many bytes, -EIO if objdump failed, or -errno of open(2).
 */
int disasm_read(const struct disasm_file *file, uint64_t begin, uint64_t end, bool source,
	GArray *lines, struct err *err);

GArray *disasm_lines(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The machine code of a part of a file, as objdump shows it, with its source lines where there are
 * any. objdump runs with the rights of the caller, on a file that somebody else may have written.
 */
#ifndef KPROFS_CMD_DISASM_H
#define KPROFS_CMD_DISASM_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct disasm_file {
	const char *path;
	const uint8_t *build_id; /* as it was sampled */
	size_t build_id_length;  /* 0: not known, the file is taken as it is */
};

struct disasm_line {
	bool is_code;     /* else of the source, or a label */
	uint64_t offset;  /* code: in the file */
	uint64_t address; /* code: as the file has it */
	char *text;
};

/*
 * Appends the lines (struct disasm_line; make the array with disasm_lines()) of what is between two
 * offsets. -ESTALE: the file is another one now; -ENOEXEC: not ELF of 64 bits in our byte order, or
 * nothing of it is loaded there; -ENOENT: no such file, no objdump; -EFBIG: too much; -EIO: objdump
 * failed; -errno of open(2).
 */
int disasm_read(const struct disasm_file *file, uint64_t begin, uint64_t end, bool source,
	GArray *lines, struct err *err);

GArray *disasm_lines(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The system calls of 32-bit programs. A file of its own, since the headers with the two sets of
 * numbers can't be included together.
 */
#include "kernel/callnames.h"

#include <string.h>

#ifdef __x86_64__
#include <asm/unistd_32.h>

static const struct callnames_row rows[] = {
#include "kernel/callnames.list.h"
	/* Arguments of 64 bits are two of 32, the lower half first; and some calls take a struct. */
	CALL(clone, "clone_flags:clone newsp:p parent_tidptr:p tls:p child_tidptr:p")
	CALL(fadvise64, "fd offset_low:u offset_high:u len:u advice:fadvise")
	CALL(fadvise64_64, "fd offset_low:u offset_high:u len_low:u len_high:u advice:fadvise")
	CALL(fallocate, "fd mode:fallocate offset_low:u offset_high:u len_low:u len_high:u")
	CALL(fanotify_mark, "fanotify_fd flags:x mask_low:x mask_high:x dfd:dirfd pathname:p")
	CALL(ftruncate64, "fd length_low:u length_high:u")
	CALL(mmap, "=p arg:p")
	CALL(pread64, "fd buf:p count:n pos_low:u pos_high:u")
	CALL(pwrite64, "fd buf:p count:n pos_low:u pos_high:u")
	CALL(readahead, "fd offset_low:u offset_high:u count:n")
	CALL(select, "arg:p")
	CALL(sync_file_range, "fd offset_low:u offset_high:u nbytes_low:u nbytes_high:u flags:sync_range")
	CALL(truncate64, "path:s length_low:u length_high:u")
};

void callnames_init_compat(struct callnames *callnames)
{
	memset(callnames, 0, sizeof(*callnames));
	callnames_add(callnames, rows, sizeof(rows) / sizeof(*rows));
}
#else
void callnames_init_compat(struct callnames *callnames)
{
	memset(callnames, 0, sizeof(*callnames));
}
#endif

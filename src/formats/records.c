/* SPDX-License-Identifier: MIT */
/* The records themselves: see records.h. */
#include "formats/records.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

#define COPY_BYTES MIB

int records_write(const struct view_input *input, FILE *out, struct err *err)
{
	g_autofree char *buffer = g_malloc(COPY_BYTES);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(input->capture_fd, buffer, COPY_BYTES, at)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, errno, "the records: %s", strerror(errno));
		if (view_cancelled(input))
			return -EINTR;
		if (fwrite(buffer, 1, (size_t)n, out) != (size_t)n)
			return 0; /* the caller checks ferror */
		at += n;
	}
	return 0;
}

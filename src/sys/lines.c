/* SPDX-License-Identifier: MIT */
/* Lines of a pseudo file: see lines.h. */
#include "sys/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void lines_init(struct lines *lines, int fd, char *buf, size_t size)
{
	*lines = (struct lines){ .fd = fd, .buf = buf, .size = size };
}

/* Moves unread bytes to the front and reads more behind them. Returns the result of read(2). */
static ssize_t fill(struct lines *lines)
{
	ssize_t n;

	memmove(lines->buf, lines->buf + lines->start, lines->end - lines->start);
	lines->end -= lines->start;
	lines->start = 0;
	do /* one byte is kept for the NUL of a last line */
		n = read(lines->fd, lines->buf + lines->end, lines->size - 1 - lines->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		lines->error = -errno;
	else
		lines->end += n;
	return n;
}

char *lines_next(struct lines *lines)
{
	size_t seen = 0; /* bytes of this line that hold no newline */

	for (;;) {
		char *line = lines->buf + lines->start;
		size_t held = lines->end - lines->start;
		char *newline = memchr(line + seen, '\n', held - seen);
		ssize_t n;

		if (newline) {
			*newline = '\0';
			lines->start = newline + 1 - lines->buf;
			seen = 0;
			if (!lines->skipping)
				return line;
			lines->skipping = false;
			continue;
		}
		lines->skipping |= held == lines->size - 1;
		if (lines->skipping) {
			lines->start = lines->end = 0;
			held = 0;
		}
		seen = held;
		n = fill(lines);
		if (n > 0)
			continue;
		if (n < 0 || !held)
			return NULL;
		lines->buf[lines->end] = '\0';
		lines->start = lines->end;
		return lines->buf;
	}
}

int lines_read_first(int dir, const char *path, char *text, size_t size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC), ret;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	ret = n < 0 ? -errno : 0;
	close(fd);
	if (!ret) {
		text[n] = '\0';
		text[strcspn(text, "\n")] = '\0';
	}
	return ret;
}

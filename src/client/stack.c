/* SPDX-License-Identifier: MIT */
/*
 * Return addresses by frame pointers. In a program without frame pointers the register has another
 * value, so no pointer is dereferenced: process_vm_readv copies the stack, and fails instead of
 * raising a signal.
 */
#include "client/client.h"

#include <sys/uio.h>
#include <unistd.h>

/* copied at a time; most stacks of 32 frames need one or two */
#define WINDOW_BYTES 4096u
/* a larger frame is taken as a wrong frame pointer */
#define FRAME_BYTES_MAX (1u << 20)

struct window {
	uint64_t words[WINDOW_BYTES / 8];
	uintptr_t from, end;
};

/* Copies the two words at `at`: the caller's frame pointer and the return address. */
static bool read_frame(struct window *window, uintptr_t at, uint64_t frame[2])
{
	if (at < window->from || at + 16 > window->end) {
		struct iovec to = {window->words, sizeof(window->words)};
		/* the window may reach beyond the stack: only what can be read is copied */
		struct iovec from[2] = {{(void *)at, 4096 - at % 4096}};
		ssize_t got;

		from[1].iov_base = (char *)from[0].iov_base + from[0].iov_len;
		from[1].iov_len = sizeof(window->words) - from[0].iov_len;
		got = process_vm_readv(getpid(), &to, 1, from, 2, 0);
		if (got < 16)
			return false;
		window->from = at;
		window->end = at + (uintptr_t)got;
	}
	frame[0] = window->words[(at - window->from) / 8];
	frame[1] = window->words[(at - window->from) / 8 + 1];
	return true;
}

uint32_t stack_walk(uint64_t *addresses, const void *start)
{
	struct window window = {.from = 0, .end = 0};
	uintptr_t at = (uintptr_t)start;
	uint32_t count = 0;

	while (count < STACK_MAX && at % 8 == 0) {
		uint64_t frame[2];

		if (!read_frame(&window, at, frame) || frame[1] == 0)
			break;
		addresses[count++] = frame[1];
		/* stacks grow down: a caller's frame is above */
		if (frame[0] <= at || frame[0] - at > FRAME_BYTES_MAX)
			break;
		at = (uintptr_t)frame[0];
	}
	return count;
}

/* SPDX-License-Identifier: MIT */
/* The other side of MARK (attach_abi.h): sends a message to a server. For the command kprof. */
#ifndef KPROFS_PRODUCERS_MARK_CLIENT_H
#define KPROFS_PRODUCERS_MARK_CLIENT_H

#include <stddef.h>

#include "base/err.h"

/* The time for which it waits for the server. */
#define MARK_CLIENT_WAIT_S 2

/*
 * Sends a message of `bytes` bytes to the server at `path`, or, if path is NULL, at $KPROF_SOCKET,
 * else $XDG_RUNTIME_DIR/kprofs/trace or /run/kprofs/trace, the first at which a server listens.
 * Returns 0 when the message is in the trace, or -errno with a sentence. Blocks for twice
 * MARK_CLIENT_WAIT_S at most.
 */
int mark_client_send(const char *path, const char *text, size_t bytes, struct err *err);

#endif

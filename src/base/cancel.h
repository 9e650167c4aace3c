/* SPDX-License-Identifier: MIT */
/*
 * Cancellation: tells a function that takes long that its result is no longer needed. The function
 * calls cancel_requested() between its steps, and waits for cancel_fd too when it blocks.
 */
#ifndef KPROFS_BASE_CANCEL_H
#define KPROFS_BASE_CANCEL_H

#include <stdbool.h>
#include <stddef.h>

struct cancel {
	bool (*cancelled)(void *arg); /* true if the result is no longer needed; NULL if never */
	void *arg;
	int cancel_fd; /* becomes readable at the cancellation; -1 if there is none */
};

/*
 * Returns whether the result is no longer needed. `cancel` is NULL if the work cannot be cancelled.
 */
static inline bool cancel_requested(const struct cancel *cancel)
{
	return cancel && cancel->cancelled && cancel->cancelled(cancel->arg);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Whether what takes long is still wanted: asked between steps, waited for within one. */
#ifndef KPROFS_CAPTURE_WISH_H
#define KPROFS_CAPTURE_WISH_H

#include <stdbool.h>

struct view_wish {
	bool (*cancelled)(void *arg); /* true: nobody wants it any more */
	void *arg;
	int cancel_fd; /* readable from then on; -1: there is none */
};

#endif

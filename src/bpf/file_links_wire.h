/* SPDX-License-Identifier: MIT */
/* What the server and its process kp-links send each other: see file_links.h. Both are of the same build. */
#ifndef KPROFS_BPF_FILE_LINKS_WIRE_H
#define KPROFS_BPF_FILE_LINKS_WIRE_H

#include <stdint.h>

#include "base/err.h"

/* The socket in the process, of packets; the end of it is the end of the server. */
#define FILE_LINKS_FD 3
/* The first argument of the process. */
#define FILE_LINKS_WORD "--file-links"

enum file_links_kind {
	FILE_LINKS_ATTACH, /* with the file and the program as descriptors */
	FILE_LINKS_CHECK,
	FILE_LINKS_DETACH, /* without an answer */
};

struct file_links_request {
	uint32_t kind;
	uint32_t number; /* its answer has the same */
	uint64_t group, offset, counter;
	int32_t pid;
	uint32_t at_return;
};

enum file_links_news {
	FILE_LINKS_ANSWER,
	FILE_LINKS_DETACHED, /* the group has no links any more */
	FILE_LINKS_HELD,     /* the process `error` is held: what is left is detached later */
	FILE_LINKS_PROGRESS, /* a link was closed behind the end of the server */
};

struct file_links_answer {
	uint32_t news;
	uint32_t number;
	uint64_t group;
	int32_t error; /* 0, -errno, or the number of a process */
	struct err err;
};

#endif

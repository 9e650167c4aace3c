/* SPDX-License-Identifier: MIT */
/* The rights and limits of this process: capabilities, locked memory, seccomp. */
#ifndef KPROFS_SYS_LIMITS_H
#define KPROFS_SYS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

/* numbers of the kernel's, see capabilities(7) */
#define LIMITS_CAP_IPC_LOCK 14
#define LIMITS_CAP_SYS_ADMIN 21
#define LIMITS_CAP_PERFMON 38
#define LIMITS_CAP_BPF 39

struct limits {
	uint64_t capabilities; /* effective: bits, 1 << number */
	bool seccomp;	       /* this process has a filter */
	uint64_t memlock_bytes; /* RLIMIT_MEMLOCK; UINT64_MAX: no limit */
};

/* If proc is NULL, "/proc" is read. A limit that cannot be read is 0 or false. */
void limits_read(const char *proc, struct limits *limits);

static inline bool limits_can(const struct limits *limits, unsigned int capability)
{
	return limits->capabilities >> capability & 1;
}

/* Whether the capabilities allow BPF programs that trace the kernel. */
static inline bool limits_can_bpf(const struct limits *limits)
{
	return limits_can(limits, LIMITS_CAP_SYS_ADMIN) ||
	       (limits_can(limits, LIMITS_CAP_BPF) && limits_can(limits, LIMITS_CAP_PERFMON));
}

/* The same for this process. */
bool limits_has_bpf(void);

#endif

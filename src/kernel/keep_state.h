/* SPDX-License-Identifier: MIT */
/* What kernel_keep.c, which pins, and kernel_takeover.c, for the next server, share. */
#ifndef KPROFS_KERNEL_KEEP_STATE_H
#define KPROFS_KERNEL_KEEP_STATE_H

#include "bpf/map.h"
#include "bpf/pins.h"
#include "kernel/kernel_state.h"

/* To be raised whenever records, rings, the control map or the rows change. */
#define KEEP_VERSION 4

#define KEEP_NAME_BYTES 256
#define KEEP_TEXT_BYTES 1200
#define KEEP_ROWS_MAX 32768u

enum keep_kind { KEEP_HEADER = 1, KEEP_MEANING, KEEP_PIDS, KEEP_SETTING };

/* The keys of the rows: those of meanings and settings begin here. */
#define KEEP_KEY_HEADER 0u
#define KEEP_KEY_PIDS 1u
#define KEEP_KEY_MEANINGS 16u
#define KEEP_KEY_SETTINGS (KEEP_KEY_MEANINGS + KERNEL_POINTS_MAX)

struct keep_row {
	uint32_t kind;
	uint32_t reserved;
	uint64_t number; /* header: the last clear; meaning: a fingerprint; setting of a function: its way */
	char name[KEEP_NAME_BYTES];
	char text[KEEP_TEXT_BYTES]; /* of the header the layout; of a setting what is written to the switch */
};

struct kernel_keep {
	struct pins *pins;
	int meta; /* -1 while nothing is recorded; changed under the kernel's lock */
	bool taking_over;
	uint32_t next;	   /* key of the next setting */
	GHashTable *keys;  /* name -> key, of the settings with a row */
	guint meanings;	   /* those that have rows */
	const struct callprogram *calls; /* whose links are pinned */
	unsigned int call_files; /* 0 or 1: their names have it */
	uint64_t cleared_ns;
	_Atomic uint64_t refused; /* switches that could not be restored, and folders */
};

/* The map of the rows. */
extern const struct map_spec kernel_keep_meta;
/* What the header says of the sizes of all that is pinned. */
void kernel_keep_layout(char text[KEEP_TEXT_BYTES]);
/* The files of a switch: two links, then the arrays of their stubs. A tracepoint has the first of each. */
#define KEEP_FILES 4
#define KEEP_ARRAYS 2
void kernel_keep_file(int i, uint32_t key, char name[PINS_NAME_MAX]);

/* What a meaning was made of, so that it is known to be the same. */
uint64_t kernel_keep_fingerprint(const struct kernel_meaning *meaning);

/* kernel_takeover.c: what another process has pinned, whose map "meta" is there. -EINVAL if it is damaged */
int kernel_takeover(struct kernel *kernel, struct err *err);

#endif

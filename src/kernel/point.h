/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint: its fields, as tracefs describes them. A struct point does not change once it is made.
 */
#ifndef KPROFS_KERNEL_POINT_H
#define KPROFS_KERNEL_POINT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/record.h"
#include "kernel/filter.h"

/* The header that each record of the kernel has: type, flags, preemption, process. */
#define POINT_HEADER 8u
/* The fields of a record that follow the kernel's own header of 8 bytes are copied, at most this much. */
#define POINT_BODY_MAX 1024u

enum point_kind {
	POINT_NUMBER,
	POINT_POINTER,
	POINT_TEXT,   /* an array of characters */
	POINT_STRING, /* a text elsewhere in the record: at `offset` are its place and length */
	POINT_STATE,  /* a state of a task, which is shown by letters */
	POINT_BYTES,  /* any other: shown as numbers of 8 bytes or less where it is one, else left out */
};

struct point_field {
	char *name;
	char *declaration; /* "char prev_comm[16]" */
	enum point_kind kind;
	uint32_t offset, bytes; /* in the kernel's record */
	bool is_signed;
	int string; /* POINT_STRING: its number among the copied texts; -1 if it is not copied */
};

struct point {
	uint64_t event; /* number in tracefs */
	bool is_of_tasks; /* fields of it name threads that it is about, as next_pid of sched_switch */
	uint32_t body;	/* bytes of the record that are copied, from byte 8 on */
	uint32_t count;
	struct point_field *fields;
};

/*
 * The bits of a task's state in a record: those of include/linux/sched.h that have a letter, idle "I", and a
 * task that could have gone on. A field is POINT_STATE if the kernel's text has the same letters for them.
 */
#define POINT_STATE_LETTERS "SDTtXZPI"
#define POINT_STATES 0x7fu
#define POINT_STATE_D 0x2
#define POINT_STATE_IDLE 0x80
#define POINT_STATE_PREEMPTED 0x100

/* Parses the text of a `format` file. -EINVAL if it is not one. */
int point_parse(const char *format, struct point **point, struct err *err);
void point_destroy(struct point *point);

/* Appends a task's state as the kernel's text has it: "S", "D|I", "R" for no bit, "R+". */
void point_print_state(uint64_t state, GString *out);

/* The filter of this text. */
int point_filter(const struct point *point, const char *text, struct filter **filter, struct err *err);

#endif

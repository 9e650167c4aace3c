/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint: its fields, as tracefs describes them, and the program that records it. A struct point does
 * not change once it is made; its programs are the caller's.
 */
#ifndef KPROFS_KERNEL_POINT_H
#define KPROFS_KERNEL_POINT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/emit.h"
#include "kernel/filter.h"

/* The fields of a record that follow the kernel's own header of 8 bytes are copied, at most this much. */
#define POINT_BODY_MAX 1024u

enum point_kind {
	POINT_NUMBER,
	POINT_POINTER,
	POINT_TEXT,   /* an array of characters */
	POINT_STRING, /* a text elsewhere in the record: at `offset` are its place and length */
	POINT_BYTES,  /* any other: shown as numbers of 8 bytes or less where it is one, else left out */
};

struct point_field {
	char *name;
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

/* Parses the text of a `format` file. -EINVAL if it is not one. */
int point_parse(const char *format, struct point **point, struct err *err);
void point_destroy(struct point *point);

/* The filter of this text. */
int point_filter(const struct point *point, const char *text, struct filter **filter, struct err *err);

/*
 * Loads the program that writes records with this id, those for which the filter holds if it is not
 * NULL, perhaps with stacks. The caller closes the descriptor.
 */
int point_load(const struct point *point, const struct emit_machine *machine, uint32_t id,
	const struct filter *filter, bool stacks, int *program, struct err *err);

/* Times that the kernel did not run the program, since another one was running; 0 for -1. */
uint64_t point_missed(int program);

#endif

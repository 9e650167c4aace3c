/* SPDX-License-Identifier: MIT */
/*
 * The event classes of a CTF trace, and its metadata: TSDL, the text that describes the bytes of
 * the streams.
 *
 * A class is made from an event's name and format when the first such event is written; programs
 * with the same event share it. The fields are the arguments. A field's name is the word before it
 * in the format ("size=%u"), or argN. It is written with an underscore before it, which readers
 * drop: so no word of a producer is a keyword of TSDL. One thread at a time.
 */
#ifndef KPROFS_TRACE_CTF_CTF_CLASS_H
#define KPROFS_TRACE_CTF_CTF_CLASS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include <kprof/attach_abi.h>

#include "ring/args.h"
#include "trace/ctf/ctf_packet.h"

/* What an event has after its arguments, or instead of them. Each combination is a class. */
enum ctf_shape {
	CTF_STACK = 1 << 0, /* addresses after the arguments */
	CTF_CUT = 1 << 1,   /* something was cut; the last field is 1 */
	CTF_TEXT = 1 << 2,  /* its text instead of its arguments, some of which are missing */
};

/* The classes of texts: of kprof_printf, and of what was written to kptrace. */
#define CTF_NAME_PRINTF "kprof_printf"
#define CTF_NAME_MESSAGE "kptrace"

struct ctf_class {
	uint32_t id;
	int count; /* of fields */
	struct args_plan plan[KPROF_ARGS_MAX];
};

/* The rest of the metadata. */
struct ctf_info {
	unsigned char uuid[CTF_UUID_BYTES];
	uint64_t offset_ns; /* the wall clock at CLOCK_MONOTONIC's 0 */
	uint64_t lost, left_out;
};

struct ctf_classes;

struct ctf_classes *ctf_classes_create(void);
void ctf_classes_destroy(struct ctf_classes *classes);

/* The class of messages: field text, no context. */
uint32_t ctf_classes_message(struct ctf_classes *classes);

/* `shape`: bits of enum ctf_shape; with CTF_TEXT `format` is not used. Valid until destroy. */
const struct ctf_class *ctf_classes_find(struct ctf_classes *classes, const char *name,
	const char *format, unsigned int shape);

/* The bytes of metadata that the classes take so far. */
size_t ctf_classes_bytes(const struct ctf_classes *classes);

/* Allocates memory for the metadata of at least 16 more classes; -ENOMEM. */
int ctf_classes_reserve(struct ctf_classes *classes);

/* Appends the whole metadata. -ENOMEM */
int ctf_classes_print(const struct ctf_classes *classes, const struct ctf_info *info, GString *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The event classes of a CTF trace, and its metadata: TSDL, the text that says what the bytes of
 * the streams are.
 *
 * A class is made of an event's name and format, when the first such event comes: programs with the
 * same event share it. The fields are the arguments, each called by the word before it in the
 * format ("size=%u") or argN, and spelled with an underscore in front, which readers drop: so no
 * word that a stranger wrote is one of TSDL's. One thread at a time.
 */
#ifndef KPROFS_TRACE_CTF_CTF_CLASS_H
#define KPROFS_TRACE_CTF_CTF_CLASS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include <kprof/attach_abi.h>

#include "ring/args.h"
#include "trace/ctf/ctf_packet.h"

/* What an event has besides, or instead: a class each. */
enum ctf_shape {
	CTF_STACK = 1 << 0, /* addresses behind the arguments */
	CTF_CUT = 1 << 1,   /* something did not fit whole; the last field is 1 */
	CTF_TEXT = 1 << 2,  /* its text instead of its arguments, which are not all there */
};

/* The classes of texts: kprof_printf's of programs, and what was written through kptrace. */
#define CTF_NAME_PRINTF "kprof_printf"
#define CTF_NAME_MESSAGE "kptrace"

struct ctf_class {
	uint32_t id;
	int count; /* of fields */
	struct args_plan plan[KPROF_ARGS_MAX];
};

/* What the metadata says besides. */
struct ctf_head {
	unsigned char uuid[CTF_UUID_BYTES];
	uint64_t offset_ns; /* the wall clock at CLOCK_MONOTONIC's 0 */
	uint64_t lost, left_out;
};

struct ctf_classes;

struct ctf_classes *ctf_classes_create(void);
void ctf_classes_destroy(struct ctf_classes *classes);

/* The class of messages: field text, no context. */
uint32_t ctf_classes_message(struct ctf_classes *classes);

/* `shape` of enum ctf_shape; with CTF_TEXT the format is not looked at. Stays until destroy. */
const struct ctf_class *ctf_classes_find(struct ctf_classes *classes, const char *name,
	const char *format, unsigned int shape);

/* What they take in the metadata so far. */
size_t ctf_classes_bytes(const struct ctf_classes *classes);

/* Memory for what some 16 more of them take there, at least; -ENOMEM. */
int ctf_classes_reserve(struct ctf_classes *classes);

/* Appends the whole metadata. -ENOMEM */
int ctf_classes_print(const struct ctf_classes *classes, const struct ctf_head *head, GString *out);

#endif

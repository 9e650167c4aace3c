/* SPDX-License-Identifier: MIT */
/*
 * Counts the system calls, and other events, in lines of kptrace: how often, how many failed, and the
 * time that they took, which the lines have in tenths of a microsecond. One thread at a time.
 */
#ifndef KPROFS_CMD_CALL_SUMMARY_H
#define KPROFS_CMD_CALL_SUMMARY_H

#include <stddef.h>
#include <stdio.h>

struct call_summary;

struct call_summary *call_summary_create(void);
void call_summary_destroy(struct call_summary *summary);

/* A line without its newline. Lines of which nothing is counted are allowed. */
void call_summary_add(struct call_summary *summary, const char *line, size_t bytes);

/* Prints the table: what took longest first, then what has no time; and a sum. */
void call_summary_print(struct call_summary *summary, FILE *out);

#endif

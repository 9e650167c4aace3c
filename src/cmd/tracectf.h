/* SPDX-License-Identifier: MIT */
/* Copies of cpu/N/trace as CTF, by the code that makes views/ctf. */
#ifndef KPROFS_CMD_TRACECTF_H
#define KPROFS_CMD_TRACECTF_H

struct tracecopies;

/*
 * Writes the copies, of which nothing was read yet, into a new folder. Returns CMD_FAILED after
 * printing the error and removing the folder.
 */
int tracectf_write(struct tracecopies *copies, int count, const char *dir);

#endif

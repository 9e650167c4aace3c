/* SPDX-License-Identifier: MIT */
/* Copies of cpu/N/trace as CTF, by the code that makes views/ctf. */
#ifndef KPROFS_CMD_TRACECTF_H
#define KPROFS_CMD_TRACECTF_H

struct tracecopies;

/*
 * Writes the copies, of which nothing was read yet, into a new folder. CMD_FAILED: the error has
 * been printed and the folder removed.
 */
int tracectf_write(struct tracecopies *copies, int count, const char *dir);

#endif

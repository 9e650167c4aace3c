/* SPDX-License-Identifier: MIT */
/* Copies of cpu/N/trace as CTF, by the code that makes views/ctf. */
#ifndef KPROFS_CMD_TRACECTF_H
#define KPROFS_CMD_TRACECTF_H

struct tracecopies;

/*
 * Writes so many copies, of which nothing was taken yet, into a new folder. CMD_FAILED, with the reason
 * said: then it is gone again.
 */
int tracectf_write(struct tracecopies *copies, int count, const char *dir);

#endif

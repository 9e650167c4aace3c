/* SPDX-License-Identifier: MIT */
/*
 * Shows the output of a command that reads in a pager, as git does: if standard output is a
 * terminal, by the program in KPROF_PAGER or PAGER, otherwise by less. One thread.
 */
#ifndef KPROFS_CMD_PAGER_H
#define KPROFS_CMD_PAGER_H

struct pager {
	int pid; /* 0 if there is none */
};

/* Redirects standard output to the pager; if there is none, it is not changed. */
void pager_begin(struct pager *pager);

/* Flushes standard output, and waits until the pager ends. */
void pager_end(struct pager *pager);

#endif

/* SPDX-License-Identifier: MIT */
/* The size of a terminal. */
#ifndef KPROFS_SYS_TERMINAL_H
#define KPROFS_SYS_TERMINAL_H

/* -ENOTTY where fd is none; 80 columns and 24 rows where it does not know. */
int terminal_size(int fd, unsigned int *rows, unsigned int *columns);

#endif

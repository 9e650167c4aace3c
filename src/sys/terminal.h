/* SPDX-License-Identifier: MIT */
/* The size of a terminal. */
#ifndef KPROFS_SYS_TERMINAL_H
#define KPROFS_SYS_TERMINAL_H

/* -ENOTTY if fd is no terminal; 80 columns and 24 rows if it reports no size. */
int terminal_size(int fd, unsigned int *rows, unsigned int *columns);

#endif

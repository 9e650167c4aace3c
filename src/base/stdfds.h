/* SPDX-License-Identifier: MIT */
/*
 * Standard input, output and error of a program that was started without some of them (`<&-`, by some
 * daemons): what it opens first would get their numbers, and messages or output would go into it, or
 * whoever becomes a daemon would close it.
 */
#ifndef KPROFS_BASE_STDFDS_H
#define KPROFS_BASE_STDFDS_H

/*
 * Takes the numbers of those that are closed. Using them is an error as before, and who is started does
 * not have them. -errno. At the beginning of main().
 */
int stdfds_fill(void);

#endif

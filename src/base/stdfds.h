/* SPDX-License-Identifier: MIT */
/*
 * Standard input, output and error of a program that was started without some of them (`<&-`, or
 * by some daemons). The next files that it opens would get their numbers: messages and output
 * would be written to these files, and becoming a daemon would close them.
 */
#ifndef KPROFS_BASE_STDFDS_H
#define KPROFS_BASE_STDFDS_H

/*
 * Opens /dev/null for those that are closed. Using them still fails as before, and programs that
 * are executed do not inherit them. Returns 0 or -errno. Called at the beginning of main().
 */
int stdfds_fill(void);

#endif

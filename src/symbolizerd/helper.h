/* SPDX-License-Identifier: MIT */
/*
 * The program kprof-symbols: the processes that find and parse files for kprofs and kprof (why
 * there are several: symbolizer/symbols.h). One file a role; each gives up its rights
 * (sys/confine.h), then serves its connection until it closes. The return value is the exit status:
 * 0 at its end, else what was wrong is on stderr.
 */
#ifndef KPROFS_SYMBOLIZERD_HELPER_H
#define KPROFS_SYMBOLIZERD_HELPER_H

#include <sys/types.h>

int opener_serve(int fd);
int parser_serve(int fd);
int reader_serve(int fd);
int fetcher_serve(int fd, uid_t uid, gid_t gid);

#endif

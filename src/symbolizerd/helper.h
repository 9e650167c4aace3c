/* SPDX-License-Identifier: MIT */
/*
 * The program kprof-symbols: the helper processes that find and parse files for kprofs and kprof
 * (symbolizer/symbols.h says why there are several). Each role has one file. Each role drops its
 * privileges (sys/confine.h), then serves its connection until that closes. The return value is the
 * exit status: 0 at the end of the connection, otherwise 1 after an error was written to stderr.
 */
#ifndef KPROFS_SYMBOLIZERD_HELPER_H
#define KPROFS_SYMBOLIZERD_HELPER_H

#include <sys/types.h>

int opener_serve(int fd);
int parser_serve(int fd);
int reader_serve(int fd);
int fetcher_serve(int fd, uid_t uid, gid_t gid);

#endif

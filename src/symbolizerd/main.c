/* SPDX-License-Identifier: MIT */
/*
 * kprof-symbols ROLE UID GID: started by kprofs and kprof, not by users.
 *
 *	opener   opener.c   finds and opens files, parses none
 *	parser   parser.c   parses files, opens none
 *	reader   reader.c   reads /proc of other processes, and the build-ids of mapped files
 *	fetcher  fetcher.c  downloads from debuginfod, as the user UID, GID
 *
 * The connection is descriptor 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizerd/helper.h"
#include "sys/child.h"
#include "sys/confine.h"

#define CONNECTION_FD 3

/* The sanitizers report there. gcc defines a macro, clang a feature. */
#define LAST_STREAM STDERR_FILENO
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef LAST_STREAM
#define LAST_STREAM STDOUT_FILENO
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef LAST_STREAM
#define LAST_STREAM STDOUT_FILENO
#endif

static int is_connection(int fd)
{
	int type;
	socklen_t size = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

int main(int argc, char **argv)
{
	if (argc != 4 || !is_connection(CONNECTION_FD)) {
		fprintf(stderr, "kprof-symbols is started by kprofs and kprof only\n");
		return 2;
	}
	/* their output has no reader, and a hostile file may cause it */
	(void)child_close_streams(LAST_STREAM);
	confine_close_from(CONNECTION_FD + 1);
	if (strcmp(argv[1], "opener") == 0)
		return opener_serve(CONNECTION_FD);
	if (strcmp(argv[1], "parser") == 0)
		return parser_serve(CONNECTION_FD);
	if (strcmp(argv[1], "reader") == 0)
		return reader_serve(CONNECTION_FD);
	if (strcmp(argv[1], "fetcher") == 0)
		return fetcher_serve(CONNECTION_FD, (uid_t)strtoul(argv[2], NULL, 10),
			(gid_t)strtoul(argv[3], NULL, 10));
	return 2;
}

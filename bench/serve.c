/* SPDX-License-Identifier: MIT */
/*
 * serve SOCKET: a server for programs with libkprof, without a mount.
 *
 * Accepts all programs and enables every event except those called `off`; reads no events. Prints a
 * line when it listens. At SIGTERM, when all programs have exited, it prints what they wrote:
 *	programs N begun N held N overwritten N dropped N bytes N
 * summed over all; bytes is the size of the largest pool. Exit status 1 if a program does not exit.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../tests/race/peer.h"

static volatile sig_atomic_t ended;

static void end(int sig)
{
	ended = 1;
}

static bool add_up(const struct peer *peer)
{
	struct ring_index *index = malloc(sizeof(*index));
	struct ring_totals sum = {0}, one;
	uint64_t largest = 0;

	for (unsigned i = 0; i < peer->count; i++) {
		const struct ring_reader *reader = &peer->programs[i]->reader;
		struct stat st;

		if (!index || !peer->programs[i]->has_pool || fstat(reader->fd, &st) < 0 ||
			ring_index_copy(reader, index) < 0 || ring_totals(reader, index, &one) < 0)
			return false;
		sum.reserved += one.reserved;
		sum.held += one.held;
		sum.overwritten += one.overwritten;
		sum.dropped += one.dropped;
		if ((uint64_t)st.st_blocks * 512 > largest)
			largest = (uint64_t)st.st_blocks * 512;
	}
	free(index);
	printf("programs %u begun %" PRIu64 " held %" PRIu64 " overwritten %" PRIu64 " dropped %" PRIu64
	       " bytes %" PRIu64 "\n", peer->count, sum.reserved + sum.dropped, sum.held,
		sum.overwritten, sum.dropped, largest);
	return true;
}

int main(int argc, char **argv)
{
	bool good;

	struct peer *peer;

	if (argc != 2)
		return 2;
	signal(SIGTERM, end);
	peer = peer_create(argv[1], true);
	peer->but = "off";
	puts("listening");
	fflush(stdout);
	while (!ended)
		peer_poll(peer, 1000);
	good = peer_wait_ended(peer, peer->count) && add_up(peer);
	peer_destroy(peer, false);
	return !good;
}

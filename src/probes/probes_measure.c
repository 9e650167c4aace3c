/* SPDX-License-Identifier: MIT */
/*
 * The kernel measures what programs take while somebody reads it: it costs each run of every program on the
 * machine two readings of the clock.
 */
#include <unistd.h>

#include "base/bell.h"
#include "base/units.h"
#include "bpf/program.h"
#include "probes/probes_state.h"
#include "sys/clock.h"

void probes_measure(struct probes *probes)
{
	bool is_measured, is_kept;
	int fd;

	pthread_mutex_lock(&probes->lock);
	is_measured = probes->measuring >= 0 || !g_hash_table_size(probes->entries);
	probes->measuring_until_ns = clock_monotonic_ns() + PROBES_MEASURED_S * NSEC_PER_SEC;
	pthread_mutex_unlock(&probes->lock);
	/* it takes long, for a lock that others wait for */
	if (is_measured || program_measure(&fd))
		return;
	pthread_mutex_lock(&probes->lock);
	is_kept = probes->measuring < 0 && !probes->closing;
	if (is_kept)
		probes->measuring = fd;
	pthread_mutex_unlock(&probes->lock);
	if (is_kept)
		bell_ring(probes->bell);
	else
		close(fd);
}

int probes_expire_measuring(struct probes *probes)
{
	const uint64_t now_ns = clock_monotonic_ns();
	int fd = -1, left_ms = -1;

	pthread_mutex_lock(&probes->lock);
	if (probes->measuring < 0) {
		/* nothing to end */
	} else if (now_ns >= probes->measuring_until_ns || !g_hash_table_size(probes->entries)) {
		fd = probes->measuring;
		probes->measuring = -1;
	} else {
		left_ms = (int)((probes->measuring_until_ns - now_ns) / NSEC_PER_MSEC) + 1;
	}
	pthread_mutex_unlock(&probes->lock);
	if (fd >= 0)
		close(fd);
	return left_ms;
}

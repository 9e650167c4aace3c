/* SPDX-License-Identifier: MIT */
/*
 * A capture that was saved, as that of a profiler that is stopped: see profiler.h. Its records are stored as
 * they are, and readers get nothing before them: they begin with their own CLOCK and describe everything to
 * which they refer. So a run can't add samples to them, and no block of them may be removed alone.
 */
#include "prof/profiler.h"

#include <errno.h>
#include <inttypes.h>

#include "base/units.h"
#include "prof/profiler_state.h"

bool profiler_is_of_this_boot(const struct profiler *p)
{
	return !profiler_is_loaded(p) && !atomic_read_relaxed(&p->saved_other_boot);
}

bool profiler_is_loaded(const struct profiler *p)
{
	return atomic_read_acquire(&p->loaded);
}

int profiler_refuse_loaded(const struct profiler *p, struct err *err)
{
	return !profiler_is_loaded(p) ?
		       0 : err_set(err, EBUSY, "a capture that was loaded is held: clear it first");
}

uint64_t profiler_capacity(struct profiler *p)
{
	uint64_t kb;

	pthread_mutex_lock(&p->lock);
	kb = p->settings.qlimit_kb;
	pthread_mutex_unlock(&p->lock);
	return kb * KIB;
}

/* In pieces of whole records. Returns false if there is no room or no memory. */
static bool store(struct capture *capture, const uint8_t *records, size_t size)
{
	size_t at = 0, first, n;
	struct tally sums;
	bool stored = true;

	tally_init(&sums);
	while (at < size && stored) {
		n = record_fit(records + at, size - at, CAPTURE_RUN_MAX, &first);
		tally_clear(&sums);
		record_tally_loaded(records + at, n, CAPTURE_RECEIVED, &sums);
		stored = n && capture_append(capture, records + at, n, &sums, 0);
		at += n;
	}
	tally_fini(&sums);
	return stored;
}

/*
 * Whether the records fit, packed: tried in another capture with this limit, since what is held must stay if
 * they do not. -ENOSPC, -ENOMEM.
 */
static int try_store(struct profiler *p, const uint8_t *records, size_t size, struct err *err)
{
	const uint64_t limit = profiler_capacity(p);
	struct capture *capture;
	bool fits;

	if (size <= limit)
		return 0;
	if (capture_create(limit, &capture))
		return err_set(err, ENOMEM, "there is no memory for its records");
	fits = store(capture, records, size);
	capture_destroy(capture);
	return fits ? 0 : err_set(err, ENOSPC, "its %" PRIu64 " KiB do not fit into prof_qlimit (%" PRIu64
		") when they are packed", (uint64_t)((size + KIB - 1) / KIB), (uint64_t)(limit / KIB));
}

int profiler_load(struct profiler *p, const uint8_t *records, size_t size, struct err *err)
{
	bool stored;
	int ret;

	if (p->run)
		return err_set(err, EBUSY, "not while the profiler runs: stop it first");
	ret = try_store(p, records, size, err);
	if (ret)
		return ret;
	profiler_clear(p, NULL);
	/* before the first record: its readers get no preamble */
	atomic_write_release(&p->loaded, true);
	atomic_write_relaxed(&p->stacks_copied, true); /* there may be some: views look for them */
	atomic_write_relaxed(&p->has_wakers, true);
	profiler_keep_header(p);
	stored = store(p->capture, records, size);
	capture_write_files(p->capture);
	if (!stored)
		profiler_clear(p, NULL);
	atomic_add_relaxed(&p->header_stamp, 1);
	p->hooks.data_ready(p->hooks.arg);
	return stored ? 0 : err_set(err, ENOMEM, "there is no memory for its records");
}

/* SPDX-License-Identifier: MIT */
/* The source that is used where times are not available: see source.h. */
#include "acct/source.h"

#include <errno.h>
#include <stddef.h>

static int create_none(const struct source_paths *paths, struct err *err, void **source)
{
	*source = NULL;
	return 0;
}

static void destroy_none(void *source)
{
}

static int sample_none(void *source, GArray *cpus)
{
	return -EOPNOTSUPP;
}

const struct source_ops source_none = {
	.name = "none",
	.create = create_none,
	.destroy = destroy_none,
	.sample = sample_none,
};

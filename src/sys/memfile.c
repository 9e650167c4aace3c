/* SPDX-License-Identifier: MIT */
/* Files in memory and their seals: see memfile.h. */
#include "sys/memfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

static int create(const char *name, unsigned int flags)
{
	const int fd = memfd_create(name, MFD_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

int memfile_create(const char *name)
{
	return create(name, 0);
}

int memfile_create_sealable(const char *name)
{
	return create(name, MFD_ALLOW_SEALING);
}

static bool has_seals(int fd, int wanted)
{
	const int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & wanted) == wanted;
}

int memfile_freeze(int fd)
{
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0 ? -errno : 0;
}

bool memfile_is_frozen(int fd)
{
	return has_seals(fd, F_SEAL_SHRINK | F_SEAL_WRITE);
}

bool memfile_cannot_shrink(int fd)
{
	return has_seals(fd, F_SEAL_SHRINK | F_SEAL_SEAL);
}

bool memfile_has_seals(int fd)
{
	return has_seals(fd, 0);
}

/* SPDX-License-Identifier: MIT */
/* BPF maps. */
#include "bpf/map.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sys/limits.h"

int map_create(const struct map_spec *spec, int *fd, struct err *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = spec->flags,
		.inner_map_fd = (uint32_t)spec->inner);
	int made = bpf_map_create(spec->type, spec->name, spec->key_bytes, spec->value_bytes, spec->entries,
		&opts);

	if (made >= 0) {
		*fd = made;
		return 0;
	}
	if (made == -EPERM)
		return err_set(err, EPERM, "bpf(2) is not allowed%s", limits_has_bpf() ?
			", although this process has CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN: a "
			"seccomp filter, a security module or a user namespace forbids it" :
			": it needs the capabilities CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN");
	if (made == -ENOSYS)
		return err_set(err, ENOSYS, "this kernel has no bpf(2)");
	return err_set(err, -made, "the kernel refuses the map '%s' of %u entries with %u bytes: %s",
		spec->name, spec->entries, spec->value_bytes, strerror(-made));
}

int map_lookup(int fd, const void *key, void *value)
{
	return bpf_map_lookup_elem(fd, key, value);
}

int map_update(int fd, const void *key, const void *value, uint64_t flags)
{
	return bpf_map_update_elem(fd, key, value, flags);
}

int map_delete(int fd, const void *key)
{
	return bpf_map_delete_elem(fd, key);
}

int map_next_key(int fd, const void *key, void *next)
{
	return bpf_map_get_next_key(fd, key, next);
}

int map_mmap(int fd, size_t bytes, int writable, void **memory)
{
	void *at = mmap(NULL, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	*memory = at;
	return 0;
}

int map_possible_cpus(void)
{
	return libbpf_num_possible_cpus();
}

int map_pin(int fd, const char *path)
{
	return bpf_obj_pin(fd, path);
}

int map_get_pinned(const char *path, int *fd)
{
	int got = bpf_obj_get(path);

	if (got < 0)
		return got;
	*fd = got;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Reads the facts of this machine: doctor_look() of doctor.h. */
#include "cmd/doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/machine.h"
#include "bpf/types.h"
#include "capture/functions.h"
#include "cmd/private_server.h"
#include "sys/host.h"
#include "sys/lockdown.h"
#include "sys/mounts.h"
#include "sys/perf_count.h"
#include "sys/pfm.h"
#include "sys/proc.h"
#include "sys/tracefs.h"

#define FUSE_DEVICE "/dev/fuse"

static int64_t sysctl_value(const char *name)
{
	int64_t value;

	return perf_sysctl(NULL, name, &value) ? DOCTOR_NO_SYSCTL : value;
}

static int try_fuse(void)
{
	int fd = open(FUSE_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int try_tracefs(void)
{
	int dirfd, ret = tracefs_open(NULL, &dirfd);

	if (!ret)
		close(dirfd);
	return ret;
}

static int try_bpf(void)
{
	struct err why = { "" };

	return machine_try_program(&why);
}

static int try_types(void)
{
	struct err why = { "" };
	struct types *types;
	int ret = types_open(NULL, &types, &why);

	if (!ret)
		types_close(types);
	return ret;
}

static bool sees_kernel(void)
{
	struct proc_kernel kernel;

	return proc_kernel(NULL, NULL, &kernel) == 0 && kernel.start != 0;
}

static bool has_program(const char *name)
{
	g_autofree char *path = g_find_program_in_path(name);

	return path != NULL;
}

static bool has_server(void)
{
	g_autofree char *path = private_server_find_server();

	return path != NULL;
}

/* Symbolizes a function that each C library exports. */
static bool can_name(void)
{
	struct symbols_arena *arena = symbols_arena_create();
	struct symbols *symbols = functions_open_symbols(NULL);
	const struct symbols_how how = { .cancel_fd = -1 };
	struct symbols_file file = { .kind = SYMBOLS_ELF };
	struct symbols_place place = { .count = 0 };
	uint64_t offset;
	Dl_info info;

	if (dladdr((void *)(uintptr_t)qsort, &info) && info.dli_fname) {
		file.path = info.dli_fname;
		offset = (uint64_t)((uintptr_t)qsort - (uintptr_t)info.dli_fbase);
		symbols_resolve(symbols, &file, &offset, 1, &how, arena, &place);
	}
	symbols_destroy(symbols);
	symbols_arena_destroy(arena);
	return place.count > 0;
}

static int add_mount(void *arg, const char *dir, uid_t owner)
{
	GString *all = arg;

	g_string_append_printf(all, "%s%s", all->len ? ", " : "", dir);
	return 0;
}

static char *find_mounts(void)
{
	GString *all = g_string_new(NULL);

	mounts_find(NULL, MOUNTS_KPROFS_TYPE, add_mount, all);
	return g_string_free(all, FALSE);
}

void doctor_look(struct doctor_facts *facts)
{
	struct host host;

	memset(facts, 0, sizeof(*facts));
	host_read(&host);
	facts->cpus = host.cpus_online;
	facts->perf = perf_probe(&facts->features);
	facts->whole_machine = perf_count_try_cpu();
	limits_read(NULL, &facts->limits);
	facts->paranoid = sysctl_value(PERF_SYSCTL_PARANOID);
	facts->kptr_restrict = sysctl_value("kptr_restrict");
	facts->mlock_kb = sysctl_value(PERF_SYSCTL_MLOCK_KB);
	facts->max_rate = sysctl_value(PERF_SYSCTL_MAX_RATE);
	facts->max_stack = sysctl_value(PERF_SYSCTL_MAX_STACK);
	facts->nmi_watchdog = sysctl_value("nmi_watchdog");
	facts->fuse = try_fuse();
	facts->is_root = geteuid() == 0;
	facts->has_fusermount = has_program("fusermount3");
	facts->tracefs = try_tracefs();
	facts->bpf = try_bpf();
	facts->types = try_types();
	facts->is_confidential = lockdown_is_confidential(NULL);
	facts->sees_kernel = sees_kernel();
	facts->has_server = has_server();
	facts->has_symbols = can_name();
	facts->has_objdump = has_program("objdump");
	facts->has_pfm = pfm_probe(NULL) == 0;
	facts->mounts = find_mounts();
}

void doctor_forget(struct doctor_facts *facts)
{
	g_clear_pointer(&facts->mounts, g_free);
}

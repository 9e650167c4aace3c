/* SPDX-License-Identifier: MIT */
/*
 * Reads facts about the machine for a profiler: the CPUs that are online, the kernel and its
 * modules. Members that other threads read are changed under profiler.lock.
 */
#include <string.h>
#include <unistd.h>

#include "prof/profiler_state.h"
#include "sys/host.h"
#include "sys/proc.h"

void profiler_online_cpus(const struct profiler *p, unsigned char *bitmap)
{
	g_autofree char *path = g_strconcat(p->paths.sys ? p->paths.sys : "/sys",
		"/devices/system/cpu/online", NULL);

	if (cpu_read_list(path, bitmap)) {
		/* without sysfs: those that libc reports */
		long count = sysconf(_SC_NPROCESSORS_ONLN), i;

		memset(bitmap, 0, CPU_BITMAP_BYTES);
		for (i = 0; i < count; i++)
			cpu_set_in_bitmap(bitmap, (unsigned int)i);
	}
}

void profiler_describe_host(struct profiler *p)
{
	g_autofree char *boot = g_strconcat(p->paths.proc ? p->paths.proc : "/proc",
		HOST_BOOT_ID_FILE, NULL);

	host_read_id(HOST_MACHINE_ID_PATH, p->host.machine_id);
	host_read_id(boot, p->host.boot_id);
}

static int add_module(void *arg, const struct proc_module *module)
{
	g_autofree char *path = g_strdup_printf("[%s]", module->name);

	record_kernel_mmap(arg, module->start, module->size, path);
	if (module->build_id_length)
		record_build_id(arg, 0, KPROF_PID_KERNEL, module->start, module->build_id,
			module->build_id_length);
	return 0;
}

void profiler_describe_kernel(struct profiler *p)
{
	const struct proc_kernel *kernel = &p->kernel_text;
	struct record_buf buf, old;
	uint64_t addr, size;

	record_buf_init(&buf);
	/* read once: it takes tens of ms and is valid until the machine restarts */
	if (p->kernel_known || !proc_kernel(p->paths.proc, p->paths.sys, &p->kernel_text)) {
		p->kernel_known = true;
		/* hidden addresses: the upper half, which contains every kernel */
		addr = kernel->size ? kernel->start : 1ull << 63;
		size = kernel->size ? kernel->size : 1ull << 63;
		record_kernel_mmap(&buf, addr, size, KPROF_PATH_KERNEL);
		if (kernel->build_id_length)
			record_build_id(&buf, 0, KPROF_PID_KERNEL, addr, kernel->build_id,
				kernel->build_id_length);
	}
	proc_modules(p->paths.proc, p->paths.sys, add_module, &buf);
	pthread_mutex_lock(&p->lock);
	old = p->kernel;
	p->kernel = buf;
	atomic_add_relaxed(&p->header_stamp, 1);
	pthread_mutex_unlock(&p->lock);
	record_buf_fini(&old);
}

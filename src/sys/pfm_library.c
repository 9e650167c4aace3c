/* SPDX-License-Identifier: MIT */
/* Loads libpfm4, and calls it: see pfm_library.h. */
#include "sys/pfm_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* The name of the interface that the header describes. */
#define LIBRARY "libpfm.so.4"
_Static_assert(PFM_MAJ_VERSION(LIBPFM_VERSION) == 4, "the header is of the library that is loaded");

/*
 * libpfm4 has one state for the whole process and no locks, so its functions and its lock are global
 * as well: the one mutable global of this room. No other lock is taken under it.
 */
static struct {
	pthread_mutex_t lock;
	void *handle; /* NULL: not loaded */
	__typeof__(pfm_initialize) *initialize;
	__typeof__(pfm_get_os_event_encoding) *encode;
	__typeof__(pfm_find_event) *find_event;
	__typeof__(pfm_get_event_next) *next_event;
	__typeof__(pfm_get_event_info) *event_info;
	__typeof__(pfm_get_event_attr_info) *attr_info;
	__typeof__(pfm_get_pmu_info) *pmu_info;
	__typeof__(pfm_strerror) *strerror;
} library = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const struct {
	const char *name;
	void *function; /* the address of its pointer */
} functions[] = {
	{ "pfm_initialize", &library.initialize },
	{ "pfm_get_os_event_encoding", &library.encode },
	{ "pfm_find_event", &library.find_event },
	{ "pfm_get_event_next", &library.next_event },
	{ "pfm_get_event_info", &library.event_info },
	{ "pfm_get_event_attr_info", &library.attr_info },
	{ "pfm_get_pmu_info", &library.pmu_info },
	{ "pfm_strerror", &library.strerror },
};

static int load(struct err *err)
{
	void *handle, *function;
	size_t i;

	if (library.handle)
		return 0;
	handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return err_set(err, EOPNOTSUPP, "libpfm4 can't be loaded: %s", dlerror());
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		function = dlsym(handle, functions[i].name);
		if (!function) {
			dlclose(handle);
			return err_set(err, EOPNOTSUPP, "libpfm4 has no %s", functions[i].name);
		}
		memcpy(functions[i].function, &function, sizeof(function));
	}
	library.handle = handle;
	return 0;
}

int pfm_library_enter(struct err *err)
{
	int ret;

	pthread_mutex_lock(&library.lock);
	ret = load(err);
	if (!ret) {
		ret = library.initialize(); /* returns at once if it is initialised */
		if (ret == PFM_SUCCESS)
			return 0;
		ret = err_set(err, EOPNOTSUPP, "libpfm4: %s", library.strerror(ret));
	}
	pthread_mutex_unlock(&library.lock);
	return ret;
}

void pfm_library_leave(void)
{
	pthread_mutex_unlock(&library.lock);
}

int pfm_library_encode(const char *text, pfm_perf_encode_arg_t *arg)
{
	return library.encode(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, arg);
}

int pfm_library_find_event(const char *text)
{
	return library.find_event(text);
}

int pfm_library_next_event(int event)
{
	return library.next_event(event);
}

int pfm_library_event_info(int event, pfm_event_info_t *info)
{
	return library.event_info(event, PFM_OS_PERF_EVENT_EXT, info);
}

int pfm_library_attr_info(int event, int attr, pfm_event_attr_info_t *info)
{
	return library.attr_info(event, attr, PFM_OS_PERF_EVENT_EXT, info);
}

int pfm_library_pmu_info(int pmu, pfm_pmu_info_t *info)
{
	return library.pmu_info(pmu, info);
}

const char *pfm_library_strerror(int code)
{
	return library.strerror(code);
}

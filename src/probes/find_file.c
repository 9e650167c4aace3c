/* SPDX-License-Identifier: MIT */
/* Programs and libraries by their names. */
#include "probes/find_file.h"

#include <glib.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

/* `libc` is libc.so.6: the last one of those that are there. */
static char *find_library(const char *path)
{
	g_autofree char *pattern = g_strconcat(path, ".so.[0-9]*", NULL);
	char *found = NULL;
	glob_t names;

	if (glob(pattern, 0, NULL, &names) == 0) {
		found = g_strdup(names.gl_pathv[names.gl_pathc - 1]);
		globfree(&names);
	}
	return found;
}

char *find_file_moved(const char *path)
{
	static const char *const moved[] = { "libpthread.so", "libdl.so", "librt.so", "libutil.so",
		"libanl.so" };
	g_autofree char *name = g_path_get_basename(path), *folder = g_path_get_dirname(path);

	for (size_t i = 0; i < G_N_ELEMENTS(moved); i++)
		if (g_str_has_prefix(name, moved[i]))
			return g_build_filename(folder, "libc.so.6", NULL);
	return NULL;
}

char *find_file(const char *name)
{
	static const char *const folders[] = { "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib",
#if defined(__x86_64__)
		"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
		"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
#endif
		"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin" };

	if (name[0] == '/')
		return g_strdup(name);
	for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
		g_autofree char *path = g_build_filename(folders[i], name, NULL);

		/* /lib/python3 is a folder */
		if (g_file_test(path, G_FILE_TEST_IS_REGULAR) && access(path, R_OK) == 0)
			return g_steal_pointer(&path);
		if (g_str_has_prefix(name, "lib") && !strchr(name, '.')) {
			char *library = find_library(path);

			if (library)
				return library;
		}
	}
	return NULL;
}

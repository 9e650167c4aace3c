/* SPDX-License-Identifier: MIT */
/* What can be probed on this machine. */
#include "probes/targets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fdio.h"
#include "base/text.h"
#include "bpf/types.h"
#include "sys/tracefs.h"

#define FORMAT_BYTES	65536u
#define FUNCTIONS_BYTES (64u << 20)

struct targets {
	struct types *types;
	struct err why_no_types;
	int tracefs; /* -1 */
	int why_no_tracefs;
	char *functions; /* the text of available_filter_functions, each name with a NUL; NULL */
	const char **names; /* sorted */
	size_t name_count;
};

bool targets_is_pattern(const char *text)
{
	return text[strcspn(text, "*?")] != '\0';
}

bool targets_match(const char *pattern, const char *name)
{
	return text_matches(pattern, name);
}

/* ---- opening ----------------------------------------------------------------------------------- */

/* All of a pseudo file, which has no size: NULL if it can't be read. */
static char *read_file(int dirfd, const char *path, size_t most)
{
	size_t room = 65536, bytes = 0;
	char *text = malloc(room), *larger;
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	while (text && fd >= 0 && bytes < most && (n = read(fd, text + bytes, room - bytes - 1)) > 0) {
		bytes += (size_t)n;
		if (room - bytes > 4096)
			continue;
		larger = realloc(text, room * 2);
		if (!larger)
			break;
		text = larger;
		room *= 2;
	}
	if (fd >= 0)
		close(fd);
	if (n != 0) {
		free(text);
		return NULL;
	}
	text[bytes] = '\0';
	return text;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "vfs_read" or "ext4_sync_file [ext4]", a line each. */
static int read_functions(struct targets *targets)
{
	size_t lines = 0;
	char *end;

	targets->functions = read_file(targets->tracefs, "available_filter_functions", FUNCTIONS_BYTES);
	if (!targets->functions || !targets->functions[0])
		return 0;
	for (const char *byte = targets->functions; *byte; byte++)
		lines += *byte == '\n';
	targets->names = calloc(lines + 1, sizeof(*targets->names));
	if (!targets->names)
		return -ENOMEM;
	for (char *line = targets->functions; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		line[strcspn(line, " \t")] = '\0';
		if (targets->name_count < lines + 1 && line[0])
			targets->names[targets->name_count++] = line;
	}
	qsort(targets->names, targets->name_count, sizeof(*targets->names), compare_names);
	return 0;
}

int targets_open(const struct targets_paths *paths, struct targets **targets, struct err *err)
{
	struct targets *made = calloc(1, sizeof(*made));
	int ret;

	if (!made)
		return err_set(err, ENOMEM, "there is no memory for the kernel's types");
	ret = types_open(paths ? paths->btf : NULL, &made->types, &made->why_no_types);
	made->tracefs = -1;
	if (ret != -ENOMEM)
		made->why_no_tracefs = tracefs_open(paths ? paths->tracefs : NULL, &made->tracefs);
	if (ret != -ENOMEM && made->tracefs >= 0)
		ret = read_functions(made);
	if (ret == -ENOMEM) {
		targets_close(made);
		return err_set(err, ENOMEM, "there is no memory for the kernel's types");
	}
	*targets = made;
	return 0;
}

void targets_close(struct targets *targets)
{
	if (!targets)
		return;
	types_close(targets->types);
	if (targets->tracefs >= 0)
		close(targets->tracefs);
	free(targets->names);
	free(targets->functions);
	free(targets);
}

const struct types *targets_types(const struct targets *targets, const char **why)
{
	if (!targets->types && why)
		*why = targets->why_no_types.text;
	return targets->types;
}

int targets_why_no_tracepoints(const struct targets *targets)
{
	return targets->why_no_tracefs;
}

/* ---- lists ------------------------------------------------------------------------------------- */

struct listing {
	const char *system, *name;
	targets_each *each;
	void *arg;
};

static int offer(void *arg, const char *system, const char *name)
{
	const struct listing *listing = arg;

	if (!targets_match(listing->system, system) || !targets_match(listing->name, name))
		return 0;
	return listing->each(listing->arg, system, name);
}

int targets_tracepoints(const struct targets *targets, const char *system, const char *name,
	targets_each *each, void *arg)
{
	struct listing listing = { system, name, each, arg };
	uint64_t id;
	int ret;

	if (targets->tracefs < 0)
		return targets->why_no_tracefs;
	if (!targets_is_pattern(system) && !targets_is_pattern(name)) {
		ret = tracefs_event_id(targets->tracefs, system, name, &id);
		return ret == -ENOENT ? 0 : ret ? ret : each(arg, system, name);
	}
	return tracefs_list(targets->tracefs, targets_is_pattern(system) ? NULL : system, offer, &listing);
}

static bool is_listed(const struct targets *targets, const char *name)
{
	return bsearch(&name, targets->names, targets->name_count, sizeof(name), compare_names) != NULL;
}

static bool has_types(const struct targets *targets, const char *name)
{
	return targets->types && types_find(targets->types, TYPES_FUNCTION, name);
}

/* Those of BTF with a name that begins with `prefix`, without it. */
static int list_types(const struct targets *targets, enum types_kind kind, const char *prefix,
	const char *pattern, targets_each *each, void *arg)
{
	const char *name;
	uint32_t id = 0;
	int ret = 0;

	while (!ret && (id = types_next(targets->types, kind, id, &name)))
		if (strncmp(name, prefix, strlen(prefix)) == 0 && targets_match(pattern,
			name + strlen(prefix)))
			ret = each(arg, "", name + strlen(prefix));
	return ret;
}

int targets_functions(const struct targets *targets, const char *name, bool with_types,
	targets_each *each, void *arg)
{
	int ret = 0;

	if (!targets->name_count && !targets->types)
		return -ENOENT;
	if (!targets_is_pattern(name)) {
		if (targets->name_count ? is_listed(targets, name) && (!with_types ||
			has_types(targets, name)) :
			has_types(targets, name))
			return each(arg, "", name);
		return 0;
	}
	if (!targets->name_count)
		return list_types(targets, TYPES_FUNCTION, "", name, each, arg);
	for (size_t i = 0; !ret && i < targets->name_count; i++) {
		/* a name may be there several times: functions of several files, and of modules */
		if ((i && strcmp(targets->names[i], targets->names[i - 1]) == 0) ||
			!targets_match(name, targets->names[i]) ||
			(with_types && !has_types(targets, targets->names[i])))
			continue;
		ret = each(arg, "", targets->names[i]);
	}
	return ret;
}

int targets_rawtracepoints(const struct targets *targets, const char *name, targets_each *each, void *arg)
{
	if (!targets->types)
		return -ENOENT;
	return list_types(targets, TYPES_TYPEDEF, "btf_trace_", name, each, arg);
}

int targets_format(const struct targets *targets, const char *system, const char *name,
	struct targets_format *format, struct err *err)
{
	char path[512], *text;
	int ret;

	if (targets->tracefs < 0)
		return err_set(err, -targets->why_no_tracefs, "tracepoints can't be read: %s",
			strerror(-targets->why_no_tracefs));
	if (strchr(system, '/') || strchr(name, '/') || system[0] == '.' || name[0] == '.' ||
		(size_t)snprintf(path, sizeof(path), "events/%s/%s/format", system, name) >= sizeof(path))
		return err_set(err, ENOENT, "there is no tracepoint '%s:%s'", system, name);
	text = read_file(targets->tracefs, path, FORMAT_BYTES);
	if (!text)
		return err_set(err, ENOENT, "there is no tracepoint '%s:%s'", system, name);
	ret = targets_parse_format(text, format);
	free(text);
	return ret ? err_set(err, EINVAL, "the fields of '%s:%s' can't be read", system, name) : 0;
}

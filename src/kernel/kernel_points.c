/* SPDX-License-Identifier: MIT */
/* The switches of tracepoints. */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bpf/program.h"
#include "kernel/describe.h"
#include "sys/tracefs.h"

/* A format file is at most some 10 KiB. */
#define FORMAT_BYTES_MAX 65536

/* Splits "SUBSYSTEM:NAME"; false if it is not that. System calls have their own switches. */
static bool split(const char *name, char **subsystem, const char **event)
{
	const char *colon = strchr(name, ':');

	if (!colon || colon == name || !colon[1] || strchr(colon + 1, ':') || strchr(name, '/') ||
		g_str_has_prefix(name, "syscall:") || g_str_has_prefix(name, "function:") || name[0] == '.')
		return false;
	*subsystem = g_strndup(name, (gsize)(colon - name));
	*event = colon + 1;
	return true;
}

bool kernel_has_point(const char *name)
{
	g_autofree char *subsystem = NULL;
	const char *event;
	uint64_t id;
	int dirfd;
	bool found;

	if (!split(name, &subsystem, &event) || tracefs_open(NULL, &dirfd))
		return false;
	found = !tracefs_event_id(dirfd, subsystem, event, &id);
	close(dirfd);
	return found;
}

static int add_name(void *arg, const char *subsystem, const char *name)
{
	g_ptr_array_add(arg, g_strdup_printf("%s:%s", subsystem, name));
	return 0;
}

void kernel_list_points(GPtrArray *names)
{
	int dirfd;

	if (tracefs_open(NULL, &dirfd))
		return;
	tracefs_list(dirfd, NULL, add_name, names);
	close(dirfd);
}

int kernel_read_point(const char *name, struct point **point, struct err *err)
{
	g_autofree char *subsystem = NULL, *path = NULL, *text = NULL;
	const char *event;
	size_t bytes = 0;
	ssize_t length;
	int dirfd, fd, ret;

	if (!split(name, &subsystem, &event))
		return err_set(err, ENOENT, "there is no kernel event '%s'", name);
	ret = tracefs_open(NULL, &dirfd);
	if (ret)
		return err_set(err, -ret, "the fields of tracepoints can't be read: tracefs: %s",
			g_strerror(-ret));
	path = g_strdup_printf("events/%s/%s/format", subsystem, event);
	fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ret = fd < 0 ? -errno : 0;
	close(dirfd);
	if (ret)
		return err_set(err, -ret, "the kernel has no tracepoint '%s': %s", name, g_strerror(-ret));
	text = g_malloc(FORMAT_BYTES_MAX + 1);
	/* the kernel gives a page at a time */
	while ((length = read(fd, text + bytes, FORMAT_BYTES_MAX - bytes)) > 0)
		bytes += (size_t)length;
	ret = length < 0 ? -errno : 0;
	close(fd);
	if (ret)
		return err_set(err, -ret, "the fields of '%s' can't be read: %s", name, g_strerror(-ret));
	text[bytes] = '\0';
	ret = point_parse(text, point, err);
	if (!ret)
		(*point)->is_of_tasks = strcmp(subsystem, "sched") == 0;
	return ret;
}

static struct kernel_meaning *make_meaning(const char *name, struct point *point)
{
	struct kernel_meaning *meaning = g_new0(struct kernel_meaning, 1);

	meaning->label = g_strdup(name);
	meaning->format = describe_point_format(point);
	meaning->format_bytes = (uint32_t)strlen(meaning->format);
	meaning->point = point;
	return meaning;
}

struct kernel_meaning *kernel_describe_point(const char *name)
{
	struct point *point;

	return kernel_read_point(name, &point, NULL) ? NULL : make_meaning(name, point);
}

/* The id of a tracepoint with these fields. Takes the point. */
static int find_id(
	struct kernel *kernel, const char *name, struct point *point, uint32_t *id, struct err *err)
{
	return kernel_add_meaning(kernel, make_meaning(name, point), id, err);
}

static void detach(struct kernel *kernel, const char *name, struct kernel_setting *setting)
{
	if (!setting)
		return;
	if (kernel->instance)
		kernel_untrace_point(kernel, name);
	if (setting->link >= 0)
		close(setting->link);
	if (setting->program >= 0) {
		kernel_count_missed(kernel, point_missed(setting->program));
		close(setting->program);
	}
	setting->link = setting->program = -1;
}

/* A new filter takes the place of the old one: the tracepoint is not recorded for a moment, and
 * never twice. */
int kernel_set_point(struct kernel *kernel, const char *name, const struct kernel_choice *choice,
	struct err *err)
{
	struct kernel_setting *setting, *old = kernel_find(kernel, name);
	struct point *point;
	struct filter *filter = NULL;
	uint32_t id = 0;
	int ret, program = -1;

	if (!choice->on) {
		detach(kernel, name, old);
		kernel_store(kernel, name, NULL);
		return 0;
	}
	ret = kernel_read_point(name, &point, err);
	if (ret)
		return ret;
	if (choice->filter)
		ret = point_filter(point, choice->filter, &filter, err);
	if (ret) {
		point_destroy(point);
		return ret;
	}
	ret = find_id(kernel, name, point, &id, err);
	if (!ret && kernel->instance) {
		ret = kernel_trace_point(kernel, name, filter, id, err);
		if (!ret)
			kernel_store(kernel, name, kernel_make_setting(choice));
		filter_destroy(filter);
		return ret;
	}
	if (!ret) {
		point = kernel_point_meaning(kernel, id)->point;
		ret = point_load(point, &kernel->machine.emit, id, filter, choice->stacks, &program, err);
	}
	filter_destroy(filter);
	if (ret)
		return ret;
	detach(kernel, name, old);
	setting = kernel_make_setting(choice);
	setting->program = program;
	ret = program_attach_tracepoint(program, point->event, &setting->link, err);
	kernel_store(kernel, name, setting);
	if (ret) {
		detach(kernel, name, setting);
		kernel_store(kernel, name, NULL);
	}
	return ret;
}

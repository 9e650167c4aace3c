/* SPDX-License-Identifier: MIT */
/* The switches of tracepoints. */
#include "kernel/kernel_state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "bpf/program.h"
#include "bpf/stub.h"
#include "bpf/types.h"
#include "kernel/describe.h"
#include "sys/tracefs.h"

/* A format file is at most some 10 KiB. */
#define FORMAT_BYTES_MAX 65536

/* This subsystem describes what tracers write into tracefs: none of its events can be switched on. */
#define FORMATS_ONLY "ftrace"

/* Splits "SUBSYSTEM:NAME"; false if it is not that. System calls have their own switches. */
static bool split(const char *name, char **subsystem, const char **event)
{
	const char *colon = strchr(name, ':');

	if (!colon || colon == name || !colon[1] || strchr(colon + 1, ':') || strchr(name, '/') ||
		g_str_has_prefix(name, "syscall:") || g_str_has_prefix(name, "function:") ||
		g_str_has_prefix(name, FORMATS_ONLY ":") || name[0] == '.')
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
	if (strcmp(subsystem, FORMATS_ONLY) != 0)
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

/* ---- which program records ---------------------------------------------------------------------- */

static uint8_t *generation_of(struct kernel *kernel, uint32_t id)
{
	return &kernel->control->points[id - KERNEL_ID_TRACEPOINTS];
}

uint8_t kernel_find_generation(struct kernel *kernel, uint32_t id)
{
	return atomic_plain_read_acquire(generation_of(kernel, id));
}

uint8_t kernel_choose_generation(struct kernel *kernel, uint32_t id)
{
	do
		kernel->point_generation = (uint8_t)(kernel->point_generation % UINT8_MAX + 1);
	while (kernel->point_generation == kernel_find_generation(kernel, id));
	return kernel->point_generation;
}

void kernel_switch_point(struct kernel *kernel, const struct kernel_setting *former, uint32_t id,
	uint8_t generation)
{
	if (former && former->id && former->id != id)
		atomic_plain_write_release(generation_of(kernel, former->id), 0);
	if (id)
		atomic_plain_write_release(generation_of(kernel, id), generation);
}

/* ---- attaching ---------------------------------------------------------------------------------- */

void kernel_close_point(struct kernel_setting *setting)
{
	kernel_close_fd(&setting->link);
	kernel_close_fd(&setting->array); /* after the link: stub.h */
	kernel_close_fd(&setting->program);
}

/*
 * The former program, which records no more. What it has missed goes over to the sum in one step: readers may
 * count it meanwhile.
 */
static void detach(struct kernel *kernel, const char *name, struct kernel_setting *setting)
{
	int program;

	if (!setting)
		return;
	if (kernel->instance)
		kernel_untrace_point(kernel, name);
	kernel_close_fd(&setting->link);
	pthread_mutex_lock(&kernel->lock);
	program = setting->program;
	setting->program = -1;
	kernel->missed += pointprogram_missed(program);
	pthread_mutex_unlock(&kernel->lock);
	kernel_close_point(setting);
	kernel_close_fd(&program);
}

/* The program that makes the record itself, where the kernel has what it needs; *program is -1 if not. */
static void load_raw(struct kernel *kernel, const char *name, struct pointprogram_spec *spec, int *program,
	struct program_spec *loaded)
{
	struct rawpoint raw;
	struct types *types;

	*program = -1;
	if (spec->stacks || !rawpoint_has(name) || types_open(NULL, &types, NULL))
		return;
	if (!rawpoint_find(name, spec->point, types, &raw)) {
		spec->raw = &raw;
		if (pointprogram_load(&kernel->machine.emit, spec, program, loaded, NULL))
			*program = -1;
		spec->raw = NULL;
	}
	types_close(types);
}

static int load(struct kernel *kernel, const char *name, struct pointprogram_spec *spec, int *program,
	struct program_spec *loaded, struct err *err)
{
	load_raw(kernel, name, spec, program, loaded);
	return *program >= 0 ? 0 : pointprogram_load(&kernel->machine.emit, spec, program, loaded, err);
}

/* Loads the program of a setting and attaches its stub, or itself; it does not record yet. */
static int attach(struct kernel *kernel, const char *name, struct pointprogram_spec *spec,
	struct kernel_setting *setting, struct err *err)
{
	struct program_spec loaded;
	unsigned int tries = 0;
	int program, ret = load(kernel, name, spec, &program, &loaded, err);

	if (ret)
		return ret;
	if (stub_load(&loaded, program, &setting->program, &setting->array, NULL))
		setting->program = program;
	else
		close(program);
	if (loaded.type == BPF_PROG_TYPE_TRACING)
		return program_attach_tracing(setting->program, &setting->link, err);
	setting->uncounted = !kernel->machine.emit.links_tell;
	do
		ret = program_attach_tracepoint(setting->program, spec->point->event, &setting->link, err);
	while (program_waits_for_room(ret, &tries));
	return ret;
}

static bool has_texts(const struct point *point)
{
	for (uint32_t i = 0; i < point->count; i++)
		if (point->fields[i].string >= 0)
			return true;
	return false;
}

/*
 * The new program takes the place of the former one in the array of its stub, which goes over to the new
 * setting. Not if the kernel has other fields or another place for the tracepoint now, or if the programs are
 * of different types: of switches and wakeups of tasks with and without stacks.
 */
static int exchange(struct kernel *kernel, const char *name, struct pointprogram_spec *spec,
	struct kernel_setting *former, struct kernel_setting *setting)
{
	struct program_spec loaded;
	int program, ret;

	if (!former || former->array < 0 || former->id != spec->id)
		return -EOPNOTSUPP;
	spec->generation = kernel_find_generation(kernel, spec->id);
	ret = load(kernel, name, spec, &program, &loaded, NULL);
	if (ret)
		return ret;
	ret = stub_replace(former->array, program);
	close(program);
	if (ret)
		return ret;
	setting->program = former->program;
	setting->link = former->link;
	setting->array = former->array;
	setting->uncounted = former->uncounted;
	return 0; /* the former setting is freed with its descriptors open */
}

/* The new program takes over from the former one. If it can't, that goes on. */
static int replace(struct kernel *kernel, const char *name, const struct kernel_choice *choice,
	const struct filter *filter, uint32_t id, struct err *err)
{
	struct kernel_setting *setting = kernel_make_setting(choice), *former = kernel_find(kernel, name);
	struct pointprogram_spec spec = { .point = kernel_point_meaning(kernel, id)->point, .id = id,
		.filter = filter, .stacks = choice->stacks };
	int ret = 0;

	setting->id = id;
	setting->without_texts = kernel->machine.emit.memory_refused && has_texts(spec.point);
	if (exchange(kernel, name, &spec, former, setting)) {
		spec.generation = kernel_choose_generation(kernel, id);
		ret = attach(kernel, name, &spec, setting, err);
		if (ret) {
			detach(kernel, name, setting);
			kernel_free_setting(setting);
			return ret;
		}
		kernel_switch_point(kernel, former, id, spec.generation);
		detach(kernel, name, former);
	}
	kernel_store(kernel, name, setting);
	return 0;
}

int kernel_set_point(struct kernel *kernel, const char *name, const struct kernel_choice *choice,
	struct err *err)
{
	struct kernel_setting *former = kernel_find(kernel, name);
	struct point *point;
	struct filter *filter = NULL;
	uint32_t id = 0;
	int ret;

	if (!choice->on) {
		if (!kernel->instance)
			kernel_switch_point(kernel, former, 0, 0);
		detach(kernel, name, former);
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
	} else if (!ret) {
		ret = replace(kernel, name, choice, filter, id, err);
	}
	filter_destroy(filter);
	return ret;
}

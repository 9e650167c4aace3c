/* SPDX-License-Identifier: MIT */
/*
 * The mount option keep: rings, programs and the table of events are pinned in a folder of a bpf file
 * system, so that events are recorded while there is no server, and the next one continues. For
 * kernel*.c; all under `changing`.
 *
 * In the folder: "rings", "control" and "chosen", maps of their names; "meta", the table of events
 * (kernel_keep.c); "a" and "b" with a number, the links of a switch, "c" and "d" the arrays of their stubs;
 * "functions", a map of its name, if there was one; "call" and "pids", the links of those programs.
 *
 * The table of events is a map of struct keep_row. What another process has pinned is checked as data
 * of others are: one row, map or name that is not as it must be, and all that is pinned is removed.
 */
#include "kernel/keep_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "bpf/map.h"
#include "bpf/pins.h"
#include "kernel/functionprogram.h"
#include "kernel/pidprogram.h"

const struct map_spec kernel_keep_meta = { .type = BPF_MAP_TYPE_HASH, .name = "kp_meta", .key_bytes = 4,
	.value_bytes = sizeof(struct keep_row), .entries = KEEP_ROWS_MAX, .flags = BPF_F_NO_PREALLOC };

void kernel_keep_layout(char text[KEEP_TEXT_BYTES])
{
	snprintf(text, KEEP_TEXT_BYTES, "kprofs %d: %zu %zu %zu %zu", KEEP_VERSION,
		sizeof(struct kernel_ring_head), sizeof(struct kernel_record), sizeof(struct call_control),
		sizeof(struct keep_row));
}

/* ---- rows -------------------------------------------------------------------------------------- */

static int write_row(struct kernel_keep *keep, uint32_t key, const struct keep_row *row, struct err *err)
{
	int ret = map_update(keep->meta, &key, row, 0);

	return ret ? err_set(err, -ret, "the table of kept events takes no row: %s", strerror(-ret)) : 0;
}

static int write_header(struct kernel_keep *keep, struct err *err)
{
	g_autofree struct keep_row *row = g_new0(struct keep_row, 1);

	row->kind = KEEP_HEADER;
	row->number = keep->cleared_ns;
	kernel_keep_layout(row->text);
	return write_row(keep, KEEP_KEY_HEADER, row, err);
}

uint64_t kernel_keep_fingerprint(const struct kernel_meaning *meaning)
{
	return (uint64_t)g_str_hash(meaning->format) << 32 |
		(uint32_t)(meaning->point ? meaning->point->event : 0);
}

static int write_meanings(struct kernel *kernel, struct err *err)
{
	struct kernel_keep *keep = kernel->keep;
	g_autofree struct keep_row *row = g_new0(struct keep_row, 1);
	const struct kernel_meaning *meaning;
	int ret = 0;

	while (!ret && (meaning = kernel_point_meaning(kernel, KERNEL_ID_TRACEPOINTS + keep->meanings))) {
		row->kind = KEEP_MEANING;
		row->number = kernel_keep_fingerprint(meaning);
		if (g_strlcpy(row->name, meaning->label, KEEP_NAME_BYTES) >= KEEP_NAME_BYTES)
			return err_set(err, ENAMETOOLONG, "the name '%s' is too long to be kept",
				meaning->label);
		ret = write_row(keep, KEEP_KEY_MEANINGS + keep->meanings, row, err);
		keep->meanings += !ret;
	}
	return ret;
}

/* The maps of system calls: a call that has begun before the next server takes over is known to it. */
static const struct {
	const char *name;
	size_t offset; /* of the descriptor in struct call_machine */
} call_maps[] = {
	{ "slots", offsetof(struct call_machine, slots) },
	{ "others", offsetof(struct call_machine, others) },
	{ "execs", offsetof(struct call_machine, execs) },
};

static int *call_map(struct kernel *kernel, size_t i)
{
	return (int *)(void *)((char *)&kernel->machine + call_maps[i].offset);
}

/* ---- maps -------------------------------------------------------------------------------------- */

bool kernel_keep_is_restoring(const struct kernel *kernel)
{
	return kernel->keep && kernel->keep->taking_over;
}

int kernel_keep_map(struct kernel *kernel, const char *name, const struct map_spec *spec, int *fd,
	struct err *err)
{
	struct pins_map found;
	int got, ret;

	if (!kernel_keep_is_restoring(kernel))
		return map_create(spec, fd, err);
	ret = pins_get(kernel->keep->pins, name, &got);
	if (ret)
		return err_set(err, -ret, "the pinned map '%s': %s", name, strerror(-ret));
	ret = pins_look_at_map(got, &found);
	if (!ret && (found.type != spec->type || found.key_bytes != spec->key_bytes ||
			    found.value_bytes != spec->value_bytes || found.entries != spec->entries ||
			    found.flags != spec->flags))
		ret = -EINVAL;
	if (ret) {
		close(got);
		return err_set(err, -ret, "the pinned map '%s' is not one of this version", name);
	}
	*fd = got;
	return 0;
}

/* Takes the pinned map in place of a new one of the same kind. */
static int adopt_map(struct kernel *kernel, const char *name, int *fd, struct err *err)
{
	struct pins_map own, found;
	int got, ret = pins_get(kernel->keep->pins, name, &got);

	if (ret)
		return err_set(err, -ret, "the pinned map '%s': %s", name, strerror(-ret));
	if (pins_look_at_map(*fd, &own) || pins_look_at_map(got, &found) ||
		memcmp(&own, &found, sizeof(own)) != 0) {
		close(got);
		return err_set(err, EINVAL, "the pinned map '%s' is not one of this version", name);
	}
	close(*fd);
	*fd = got;
	return 0;
}

int kernel_keep_call_maps(struct kernel *kernel, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(call_maps) && !ret && kernel_keep_is_restoring(kernel); i++)
		ret = adopt_map(kernel, call_maps[i].name, call_map(kernel, i), err);
	return ret;
}

int kernel_keep_rings(struct kernel *kernel, struct rings **rings, struct err *err)
{
	int fd, ret = pins_get(kernel->keep->pins, "rings", &fd);

	return ret ? err_set(err, EINVAL, "there are no pinned rings") : rings_adopt(fd, rings, err);
}

static int pin(struct kernel_keep *keep, const char *name, int fd, struct err *err)
{
	int ret = pins_put(keep->pins, name, fd);

	return ret ? err_set(err, -ret, "'%s' can't be pinned: %s%s", name, strerror(-ret),
			     ret == -EINVAL ? " (links of tracepoints: Linux 5.15)" : "")
		   : 0;
}

int kernel_keep_late_map(struct kernel *kernel, const char *name, const struct map_spec *spec, int *fd,
	struct err *err)
{
	struct kernel_keep *keep = kernel->keep;
	int ret;

	if (kernel_keep_is_restoring(kernel) && !kernel_keep_map(kernel, name, spec, fd, NULL))
		return 0;
	ret = map_create(spec, fd, err);
	if (ret || !keep || keep->meta < 0)
		return ret;
	ret = pin(keep, name, *fd, err);
	if (ret) {
		close(*fd);
		*fd = -1;
	}
	return ret;
}

int kernel_keep_begin(struct kernel *kernel, struct err *err)
{
	struct kernel_keep *keep = kernel->keep;
	int ret;

	if (!keep || keep->taking_over)
		return 0;
	pins_remove_all(keep->pins, "");
	ret = map_create(&kernel_keep_meta, &keep->meta, err);
	if (!ret)
		ret = write_header(keep, err);
	if (!ret)
		ret = pin(keep, "rings", rings_map(kernel->rings), err);
	if (!ret)
		ret = pin(keep, "control", kernel->machine.control, err);
	if (!ret)
		ret = pin(keep, "chosen", kernel->machine.emit.chosen, err);
	for (size_t i = 0; i < G_N_ELEMENTS(call_maps) && !ret; i++)
		ret = pin(keep, call_maps[i].name, *call_map(kernel, i), err);
	/* the last one: without it nothing is taken over */
	if (!ret)
		ret = pin(keep, "meta", keep->meta, err);
	return ret;
}

void kernel_keep_end(struct kernel *kernel)
{
	struct kernel_keep *keep = kernel->keep;

	if (!keep)
		return;
	pins_remove_all(keep->pins, "");
	pthread_mutex_lock(&kernel->lock);
	if (keep->meta >= 0)
		close(keep->meta);
	keep->meta = -1;
	pthread_mutex_unlock(&kernel->lock);
	keep->meanings = 0;
	keep->calls = NULL;
	g_hash_table_remove_all(keep->keys);
}

/* ---- switches ---------------------------------------------------------------------------------- */

void kernel_keep_file(int i, uint32_t key, char name[PINS_NAME_MAX])
{
	snprintf(name, PINS_NAME_MAX, "%c%" PRIu32, 'a' + i, key);
}

static void remove_links(struct kernel_keep *keep, uint32_t key)
{
	char name[PINS_NAME_MAX];

	/* the arrays are the last ones: stub.h */
	for (int i = 0; i < KEEP_FILES; i++) {
		kernel_keep_file(i, key, name);
		pins_remove(keep->pins, name);
	}
}

static int pin_setting(struct kernel_keep *keep, const struct kernel_setting *setting, uint32_t key,
	struct err *err)
{
	int files[KEEP_FILES] = { setting->link, -1, setting->array, -1 }, ret = 0;
	char name[PINS_NAME_MAX];

	if (setting->function)
		functionprogram_links(setting->function, files, files + KEEP_ARRAYS);
	/* the arrays first */
	for (int i = KEEP_FILES - 1; i >= 0 && !ret; i--) {
		kernel_keep_file(i, key, name);
		if (files[i] >= 0)
			ret = pin(keep, name, files[i], err);
	}
	return ret;
}

int kernel_keep_setting(struct kernel *kernel, const char *name, struct err *err)
{
	struct kernel_keep *keep = kernel->keep;
	g_autofree struct keep_row *row = g_new0(struct keep_row, 1);
	g_autoptr(GString) text = g_string_new(NULL);
	const struct kernel_setting *setting = kernel_find(kernel, name);
	uint32_t key, former;
	int ret;

	if (!keep || keep->meta < 0)
		return 0;
	former = GPOINTER_TO_UINT(g_hash_table_lookup(keep->keys, name));
	if (former) {
		map_delete(keep->meta, &former);
		remove_links(keep, former);
		g_hash_table_remove(keep->keys, name);
	}
	if (!setting)
		return 0;
	kernel_get(kernel, name, text);
	if (g_strlcpy(row->name, name, KEEP_NAME_BYTES) >= KEEP_NAME_BYTES ||
		g_strlcpy(row->text, text->str, KEEP_TEXT_BYTES) >= KEEP_TEXT_BYTES)
		return err_set(err, ENAMETOOLONG, "the name or filter is too long to be kept");
	row->kind = KEEP_SETTING;
	row->number = setting->function ? functionprogram_way(setting->function) : 0;
	key = keep->next++;
	ret = write_meanings(kernel, err);
	if (!ret)
		ret = pin_setting(keep, setting, key, err);
	if (!ret)
		ret = write_row(keep, key, row, err);
	if (ret)
		remove_links(keep, key);
	else
		g_hash_table_insert(keep->keys, g_strdup(name), GUINT_TO_POINTER(key));
	return ret;
}

/* Pins links by a name and numbers. */
static int pin_links(struct kernel_keep *keep, const char *name, unsigned int number, const int *links,
	unsigned int count, struct err *err)
{
	char file[PINS_NAME_MAX];
	int ret = 0;

	for (unsigned int i = 0; i < count && !ret; i++) {
		snprintf(file, sizeof(file), "%s%u_%u", name, number, i);
		ret = pin(keep, file, links[i], err);
	}
	return ret;
}

int kernel_keep_calls(struct kernel *kernel, struct err *err)
{
	struct kernel_keep *keep = kernel->keep;
	int links[PIDPROGRAM_LINKS], ret = 0;
	char former[PINS_NAME_MAX];

	if (!keep || keep->meta < 0 || keep->calls == kernel->program)
		return 0;
	snprintf(former, sizeof(former), "call%u_", keep->call_files);
	keep->call_files = !keep->call_files;
	if (kernel->program) {
		callprogram_links(kernel->program, links);
		ret = pin_links(keep, "call", keep->call_files, links, 2, err);
	}
	pins_remove_all(keep->pins, former);
	keep->calls = kernel->program;
	return ret;
}

int kernel_keep_pids(struct kernel *kernel, struct err *err)
{
	struct kernel_keep *keep = kernel->keep;
	g_autofree struct keep_row *row = g_new0(struct keep_row, 1);
	const uint32_t key = KEEP_KEY_PIDS;
	int links[PIDPROGRAM_LINKS], ret;

	if (!keep || keep->meta < 0)
		return 0;
	if (!kernel->pidprogram) {
		map_delete(keep->meta, &key);
		pins_remove_all(keep->pins, "pids");
		return 0;
	}
	row->kind = KEEP_PIDS;
	if (g_strlcpy(row->text, kernel->pids_text, KEEP_TEXT_BYTES) >= KEEP_TEXT_BYTES)
		return err_set(err, ENOSPC,
			"with the mount option keep the numbers of processes have at most %d bytes",
			KEEP_TEXT_BYTES - 1);
	pidprogram_links(kernel->pidprogram, links);
	ret = pin_links(keep, "pids", 0, links, PIDPROGRAM_LINKS, err);
	return ret ? ret : write_row(keep, key, row, err);
}

void kernel_note_clear(struct kernel *kernel, uint64_t time_ns)
{
	struct kernel_keep *keep = kernel->keep;

	if (!keep)
		return;
	/* a leaf, in any thread: switches may be changing meanwhile */
	pthread_mutex_lock(&kernel->lock);
	keep->cleared_ns = time_ns;
	if (keep->meta >= 0)
		write_header(keep, NULL);
	pthread_mutex_unlock(&kernel->lock);
}

uint64_t kernel_kept_clear_ns(const struct kernel *kernel)
{
	return kernel->keep ? kernel->keep->cleared_ns : 0;
}

/* ---- the folder -------------------------------------------------------------------------------- */

int kernel_keep(struct kernel *kernel, const char *path, struct err *err)
{
	struct kernel_keep *keep = g_new0(struct kernel_keep, 1);
	struct err why = { "" };
	int ret = pins_open(path, &keep->pins, err), fd;

	keep->meta = -1;
	keep->next = KEEP_KEY_SETTINGS;
	if (ret) {
		g_free(keep);
		return ret;
	}
	keep->keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	kernel->keep = keep;
	if (pins_get(keep->pins, "meta", &fd)) {
		/* of a server that was killed while it pinned or removed: it may have left programs */
		pins_remove_all(keep->pins, "");
		return 0;
	}
	close(fd);
	pthread_mutex_lock(&kernel->changing);
	keep->taking_over = true;
	ret = kernel_takeover(kernel, &why);
	keep->taking_over = false;
	if (ret) {
		atomic_add_relaxed(&keep->refused, 1);
		kernel_forget_settings(kernel);
		kernel_give_back(kernel);
		kernel_keep_end(kernel);
		ret = err_set(err, ESTALE, "the kernel events that were kept at %s are removed: %s", path,
			*why.text ? why.text : strerror(-ret));
	}
	pthread_mutex_unlock(&kernel->changing);
	return ret;
}

void kernel_keep_destroy(struct kernel *kernel)
{
	struct kernel_keep *keep = kernel->keep;

	if (!keep)
		return;
	kernel_keep_end(kernel);
	pins_close(keep->pins, true);
	g_hash_table_unref(keep->keys);
	g_free(keep);
	kernel->keep = NULL;
}

void kernel_keep_print_stats(struct kernel *kernel, struct stats *stats)
{
	if (!kernel->keep)
		return;
	stats_u64(stats, atomic_read_relaxed(&kernel->keep->refused), "trace.kernel.keep_refused");
}

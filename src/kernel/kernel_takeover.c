/* SPDX-License-Identifier: MIT */
/* The next server with the mount option keep takes over what is pinned: see keep_state.h. */
#include "kernel/keep_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "bpf/pins.h"
#include "bpf/stub.h"
#include "kernel/functionprogram.h"

/* A row whose texts end. -EINVAL, -ENOENT */
static int read_row(struct kernel_keep *keep, uint32_t key, enum keep_kind kind, struct keep_row *row)
{
	int ret = map_lookup(keep->meta, &key, row);

	if (ret)
		return ret;
	return row->kind != (uint32_t)kind || !memchr(row->name, '\0', KEEP_NAME_BYTES) ||
			!memchr(row->text, '\0', KEEP_TEXT_BYTES) ?
		-EINVAL : 0;
}

static int check_header(struct kernel_keep *keep, struct err *err)
{
	g_autofree struct keep_row *row = g_new0(struct keep_row, 1);
	char layout[KEEP_TEXT_BYTES];

	kernel_keep_layout(layout);
	if (read_row(keep, KEEP_KEY_HEADER, KEEP_HEADER, row) || strcmp(row->text, layout) != 0)
		return err_set(err, EINVAL, "they are of another version");
	keep->cleared_ns = row->number;
	return 0;
}

/* The same meaning as before; NULL if the kernel has it no more, so that its records mean nothing. */
static struct kernel_meaning *restore_meaning(const struct keep_row *row)
{
	for (int limited = 0; limited < 2; limited++) {
		struct kernel_meaning *meaning = kernel_is_function(row->name) ?
			kernel_describe_function(row->name, limited) : kernel_describe_point(row->name);

		if (meaning && kernel_keep_fingerprint(meaning) == row->number)
			return meaning;
		if (meaning)
			kernel_free_meaning(meaning);
	}
	return NULL;
}

static int restore_meanings(struct kernel *kernel, struct err *err)
{
	struct kernel_keep *keep = kernel->keep;
	g_autofree struct keep_row *row = g_new0(struct keep_row, 1);
	int ret = 0;

	for (uint32_t i = 0; i < KERNEL_POINTS_MAX && !ret; i++) {
		ret = read_row(keep, KEEP_KEY_MEANINGS + i, KEEP_MEANING, row);
		if (ret)
			break;
		pthread_mutex_lock(&kernel->lock);
		g_ptr_array_add(kernel->points, restore_meaning(row));
		pthread_mutex_unlock(&kernel->lock);
		keep->meanings++;
	}
	return ret && ret != -ENOENT ? err_set(err, EINVAL, "the table of events is damaged") : 0;
}

/* What the programs of links, whose files begin so, have missed; and the files are gone. */
static void drop_former(struct kernel *kernel, const char *name)
{
	int fd;

	if (!pins_get(kernel->keep->pins, name, &fd)) {
		kernel_count_missed(kernel, pins_missed(fd));
		close(fd);
	}
	pins_remove(kernel->keep->pins, name);
}

/* The id of a name whose records are recorded; 0 if there is none. */
static uint32_t find_recorded(struct kernel *kernel, const char *name)
{
	for (uint32_t i = 0; i < kernel->keep->meanings; i++) {
		const uint32_t id = KERNEL_ID_TRACEPOINTS + i;
		const struct kernel_meaning *meaning = kernel_point_meaning(kernel, id);

		if (meaning && strcmp(meaning->label, name) == 0 && kernel_find_generation(kernel, id))
			return id;
	}
	return 0;
}

/* What the files have, as a setting. */
static int make_former(
	const struct keep_row *row, const int files[KEEP_FILES], struct kernel_setting *setting)
{
	const int *arrays = files + KEEP_ARRAYS;

	if (kernel_is_function(row->name))
		return row->number >= FUNCTION_WAYS ? -EINVAL :
			functionprogram_adopt((enum function_way)row->number, files, arrays,
				&setting->function);
	if (files[1] >= 0 || arrays[1] >= 0 || stub_find(files[0], arrays[0], &setting->program))
		return -EINVAL;
	setting->link = files[0];
	setting->array = arrays[0];
	return 0;
}

/*
 * The programs that are attached, as the former setting of a switch: those of this server take their places.
 * False if they have no stubs or something of them is missing; then they are detached later.
 */
static bool adopt(struct kernel *kernel, const struct keep_row *row, uint32_t key)
{
	const struct kernel_choice choice = { .on = true };
	struct kernel_setting *setting = kernel_make_setting(&choice);
	int files[KEEP_FILES];
	char name[PINS_NAME_MAX];

	for (int i = 0; i < KEEP_FILES; i++) {
		kernel_keep_file(i, key, name);
		if (pins_get(kernel->keep->pins, name, &files[i]))
			files[i] = -1;
	}
	setting->id = find_recorded(kernel, row->name);
	/* the table may have two rows of a name, if a server was killed while it took over */
	if (!setting->id || kernel_find(kernel, row->name) || make_former(row, files, setting)) {
		for (int i = 0; i < KEEP_FILES; i++)
			if (files[i] >= 0)
				close(files[i]);
		kernel_free_setting(setting);
		return false;
	}
	setting->uncounted = !kernel->machine.emit.links_tell &&
		!(setting->function ? functionprogram_way(setting->function) == FUNCTION_FENTRY :
				      stub_is_tracing(setting->program));
	kernel_store(kernel, row->name, setting);
	return true;
}

/* A switch anew; an event that is not there any more is left out. */
static int restore_setting(struct kernel *kernel, uint32_t key, struct err *err)
{
	struct kernel_keep *keep = kernel->keep;
	g_autofree struct keep_row *row = g_new0(struct keep_row, 1);
	char file[PINS_NAME_MAX];
	bool is_adopted;

	if (read_row(keep, key, KEEP_SETTING, row))
		return err_set(err, EINVAL, "the table of switches is damaged");
	is_adopted = adopt(kernel, row, key);
	if (kernel_restore(kernel, row->name, row->text, err))
		atomic_add_relaxed(&keep->refused, 1);
	/* the former programs record until the new ones take over */
	for (int i = 0; i < KEEP_FILES; i++) {
		kernel_keep_file(i, key, file);
		if (is_adopted || i >= KEEP_ARRAYS)
			pins_remove(keep->pins, file); /* the setting knows what they have missed */
		else
			drop_former(kernel, file);
	}
	map_delete(keep->meta, &key);
	return 0;
}

static int restore_settings(struct kernel *kernel, struct err *err)
{
	struct kernel_keep *keep = kernel->keep;
	g_autoptr(GArray) keys = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	uint32_t key, before;
	int ret;

	for (ret = map_next_key(keep->meta, NULL, &key); !ret && keys->len < KEEP_ROWS_MAX; before = key,
	    ret = map_next_key(keep->meta, &before, &key)) {
		if (key < KEEP_KEY_SETTINGS)
			continue;
		g_array_append_val(keys, key);
		keep->next = MAX(keep->next, key + 1);
	}
	ret = 0;
	for (guint i = 0; i < keys->len && !ret; i++)
		ret = restore_setting(kernel, g_array_index(keys, uint32_t, i), err);
	return ret;
}

static int restore_pids(struct kernel *kernel, struct err *err)
{
	g_autofree struct keep_row *row = g_new0(struct keep_row, 1);
	int ret = read_row(kernel->keep, KEEP_KEY_PIDS, KEEP_PIDS, row);

	if (ret == -ENOENT)
		return 0;
	return ret ? err_set(err, EINVAL, "the row of processes is damaged") :
		     kernel_restore_pids(kernel, row->text, err);
}

int kernel_takeover(struct kernel *kernel, struct err *err)
{
	struct kernel_keep *keep = kernel->keep;
	int ret = kernel_keep_map(kernel, "meta", &kernel_keep_meta, &keep->meta, err);

	if (!ret)
		ret = check_header(keep, err);
	if (!ret)
		ret = kernel_prepare(kernel, err);
	if (!ret)
		ret = restore_meanings(kernel, err);
	if (!ret)
		ret = restore_pids(kernel, err);
	if (!ret)
		ret = restore_settings(kernel, err);
	/* the programs of system calls take over between two calls; then the former ones go */
	if (!ret)
		ret = kernel_apply_calls(kernel, err);
	if (!ret) {
		drop_former(kernel, "call0_1");
		drop_former(kernel, "call1_1");
		/* those of the entries, if no call is recorded now; what they missed costs no record */
		pins_remove(keep->pins, "call0_0");
		pins_remove(keep->pins, "call1_0");
		ret = kernel_keep_calls(kernel, err);
	}
	if (!ret) {
		pthread_mutex_lock(&kernel->lock);
		kernel_apply_enabled(kernel);
		pthread_mutex_unlock(&kernel->lock);
		kernel_note_use(kernel);
	}
	return ret;
}

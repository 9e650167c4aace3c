/* SPDX-License-Identifier: MIT */
/*
 * Programs at events of programs that are linked with libkprof. The library has one place that an event
 * reaches if it is wanted (src/client/probe.c); which one it is, the program of the kernel compares. A probe
 * at a place of a file is in all processes that map it, also in later ones; a program with a file that no
 * other one had is found when it attaches to the server.
 */
#include "probes/attach_state.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kprof/attach_abi.h>

#include "base/units.h"
#include "bpf/file_links.h"
#include "probes/find_file.h"
#include "sys/clock.h"

#define PLACE KPROF_PLACE_PROVIDER ":" KPROF_PLACE_NAME
/* Files with the library, of one unit: an attached place takes some 10 ms. */
#define FILES_MAX 64u
/* Files are read for so long at a time: users can make each take seconds, and others wait meanwhile. */
#define LOOK_NS (1 * NSEC_PER_SEC)
/* A file that could not be read in time is tried so often: a machine may be busy, or a user may delay it. */
#define TRIES_MAX 10u

/* Files are looked through. */
struct looking {
	struct attached *attached;
	GPtrArray *found; /* struct found_file: those that are new */
};

struct found_file {
	char *key, *path;
	int pid;
};

static void free_found(gpointer data)
{
	struct found_file *found = data;

	g_free(found->key);
	g_free(found->path);
	g_free(found);
}

/* The target of a link of the process, such as its root. NULL if it has ended. */
static char *read_link(int pid, const char *name)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/%s", pid, name);

	return g_file_read_link(path, NULL);
}

/* Whether it is attached, failed, or was tried often enough. */
static bool is_done(const struct attached *attached, const char *key)
{
	gpointer tries;

	return g_hash_table_lookup_extended(attached->files, key, NULL, &tries) &&
		(!tries || GPOINTER_TO_UINT(tries) >= TRIES_MAX);
}

/*
 * attach_hooks.programs: what another program has at the same path, below the same root of the same mounts,
 * is known. A user may have another root in the mount namespace of all, where that path is another file.
 */
static void take_program(void *arg, const char *path, int pid)
{
	struct looking *looking = arg;
	g_autofree char *mounts = read_link(pid, "ns/mnt"), *root = read_link(pid, "root");
	struct found_file *found;
	char *key;

	if (!mounts || !root)
		return;
	key = g_strdup_printf("%s %s %s", mounts, root, path);
	if (is_done(looking->attached, key)) {
		g_free(key);
		return;
	}
	found = g_new(struct found_file, 1);
	*found = (struct found_file){ .key = key, .path = g_strdup(path), .pid = pid };
	g_ptr_array_add(looking->found, found);
}

static int take_place(void *arg, const struct attach_place *place)
{
	if (strcmp(place->arguments, KPROF_PLACE_ARGUMENTS(KPROF_PLACE_SIGN)) != 0)
		return 0;
	*(uint64_t *)arg = place->offset;
	return 1;
}

/*
 * Those programs of the unit that are not attached to the file yet. -EBUSY: to the rest of them later. One
 * whose request was not answered in time is attached when the kernel goes on, and is not attached again.
 */
static int attach_programs(struct attached *attached, int file, uint64_t offset, struct err *err)
{
	const struct file_links_place place = { .file = file, .offset = offset, .pid = -1 };
	struct stat st;
	char *key;
	guint next;
	int ret = 0;

	if (fstat(file, &st))
		return -errno;
	key = g_strdup_printf("%llu %llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	for (next = GPOINTER_TO_UINT(g_hash_table_lookup(attached->files, key));
		next < attached->programs->len && !ret; next++) {
		ret = file_links_attach(attached->file_links, attached->group,
			g_array_index(attached->programs, int, next), &place, err);
		attached->in_files += !ret || ret == -ETIMEDOUT;
	}
	if (ret == -EBUSY)
		next--;
	else if (ret == -ETIMEDOUT)
		ret = next < attached->programs->len ? -EBUSY : 0;
	else
		next = attached->programs->len; /* one that failed for another reason fails again */
	g_hash_table_insert(attached->files, key, GUINT_TO_POINTER(next));
	return ret;
}

/* All programs of the unit at the place of a file. */
static int attach_file(struct attached *attached, const char *path, int pid, struct err *err)
{
	uint64_t offset = 0;
	const struct attach_file file = { .path = path, .pattern = PLACE, .wanted = ATTACH_STATIC_PROBES,
		.pid = pid, .each = take_place, .arg = &offset };
	int fd = -1, ret = attached->hooks->functions(attached->hooks->arg, &file, &fd, err);

	if (ret >= 0 && !offset)
		ret = err_set(err, ENOENT, "'%s' has no libkprof whose events can be probed", path);
	else if (ret >= 0)
		ret = attach_programs(attached, fd, offset, err);
	if (fd >= 0)
		close(fd);
	return ret;
}

static int refuse_more(struct attached *attached, struct err *err)
{
	if (!attached->is_full)
		err_set(err, ENOSPC, "events of programs are probed in %u files at most: those of further "
			"files are not", FILES_MAX);
	attached->is_full = true;
	return -ENOSPC;
}

/* Returns -EBUSY if no more can be attached now, -EAGAIN if this file is tried again. */
static int try_file(struct attached *attached, const struct found_file *found, struct err *err)
{
	guint tries = GPOINTER_TO_UINT(g_hash_table_lookup(attached->files, found->key));
	struct err why = { "" };
	int ret = attach_file(attached, found->path, found->pid, &why);

	/* the sentence comes once */
	if (why.text[0] && !tries)
		*err = why;
	if (ret == -EBUSY)
		return ret;
	tries = ret == -ETIMEDOUT ? tries + 1 : 0;
	g_hash_table_insert(attached->files, g_strdup(found->key), GUINT_TO_POINTER(tries));
	return tries && tries < TRIES_MAX ? -EAGAIN : 0;
}

/* Several processes may have the same file. One that is left is looked for again. */
static int attach_found(struct attached *attached, const GPtrArray *all, struct err *err)
{
	const uint64_t until_ns = clock_monotonic_ns() + LOOK_NS;
	bool is_left = false;
	guint i;

	for (i = 0; i < all->len && clock_monotonic_ns() < until_ns; i++) {
		const struct found_file *found = g_ptr_array_index(all, i);
		int ret;

		if (is_done(attached, found->key))
			continue;
		if (g_hash_table_size(attached->files) >= 2 * FILES_MAX)
			return refuse_more(attached, err);
		ret = try_file(attached, found, err);
		if (ret == -EBUSY)
			return -EAGAIN;
		is_left |= ret == -EAGAIN;
	}
	return is_left || i < all->len ? -EAGAIN : 0;
}

int attach_new_files(struct attached *attached, struct err *err)
{
	g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(free_found);
	struct looking looking = { attached, found };
	int ret;

	if (!attached->hooks || !attached->hooks->programs || !attached->hooks->functions ||
		!attached->file_links)
		return 0;
	attached->hooks->programs(attached->hooks->arg, take_program, &looking);
	/* the sentence comes once */
	if (found->len && file_links_check(attached->file_links, attached->has_more ? NULL : err))
		ret = -EAGAIN;
	else
		ret = attach_found(attached, found, err);
	attached->has_more = ret == -EAGAIN;
	return ret;
}

static int load_all(struct attaching *attaching)
{
	const struct program_spec spec = { .name = "kp_probe", .type = BPF_PROG_TYPE_KPROBE };
	int program, ret = 0;

	for (const struct ast_target *target = attaching->unit->targets; target && !ret;
		target = target->next) {
		struct gen_source source;

		attaching->target = target;
		source = attach_source(attaching, GEN_REGISTERS);
		source.provider = target->system;
		source.event = target->name;
		ret = attach_load(attaching, &source, &spec, &program);
	}
	return ret;
}

int attach_events(struct attaching *attaching)
{
	struct attached *attached = attaching->attached;
	const struct attach_hooks *hooks = attaching->machine->hooks;
	g_autofree char *library = find_file("libkprof");
	struct err why = { "" };
	int ret;

	if (!hooks || !hooks->want_event || !hooks->functions || !attached->file_links)
		return err_set(attaching->err, EOPNOTSUPP, "events of programs are not known here");
	ret = load_all(attaching);
	if (ret)
		return ret;
	attached->hooks = hooks;
	attached->files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	attached->events = g_ptr_array_new_with_free_func(g_free);
	/* the installed library, which is what most programs to come have */
	if (library && !file_links_check(attached->file_links, &why))
		(void)attach_file(attached, library, 0, &why);
	why.text[0] = '\0';
	(void)attach_new_files(attached, &why);
	if (why.text[0])
		attach_note(attaching, "events of a program can't be probed: %s", why.text);
	for (const struct ast_target *target = attaching->unit->targets; target; target = target->next) {
		char *label = g_strdup_printf("%s:%s", target->system, target->name);

		hooks->want_event(hooks->arg, label, true);
		g_ptr_array_add(attached->events, label);
	}
	return 0;
}

void attach_forget_events(struct attached *attached)
{
	for (guint i = 0; attached->events && i < attached->events->len; i++)
		attached->hooks->want_event(attached->hooks->arg, g_ptr_array_index(attached->events, i),
			false);
	g_clear_pointer(&attached->events, g_ptr_array_unref);
	g_clear_pointer(&attached->files, g_hash_table_unref);
}

/* SPDX-License-Identifier: MIT */
/* Chooses the mount that a command uses: see mount_choice.h. */
#include "cmd/mount_choice.h"

#include <errno.h>
#include <glib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "sys/mounts.h"

#define SESSIONS "/sessions/"

struct mount_choice_found {
	char *dir;
	uid_t owner;
};

struct mount_choice {
	char *folder; /* the working folder; NULL if it is not known */
	char *around; /* the mount or session that the working folder is in; NULL if there is none */
	GArray *mounts; /* struct mount_choice_found, the oldest first */
};

static void clear_found(gpointer found)
{
	g_free(((struct mount_choice_found *)found)->dir);
}

static bool is_inside(const char *path, const char *dir)
{
	const size_t length = strlen(dir);

	return strncmp(path, dir, length) == 0 && (path[length] == '/' || !path[length]);
}

/* The session of the mount that the folder is in, or the mount; to be freed. */
static char *session_around(const char *folder, const char *mount)
{
	const char *below = folder + strlen(mount);
	const char *name;

	if (strncmp(below, SESSIONS, strlen(SESSIONS)) != 0)
		return g_strdup(mount);
	name = below + strlen(SESSIONS);
	return g_strdup_printf("%s" SESSIONS "%.*s", mount, (int)strcspn(name, "/"), name);
}

static int take_mount(void *arg, const char *dir, uid_t owner)
{
	struct mount_choice *choice = arg;
	const struct mount_choice_found found = {g_strdup(dir), owner};

	if (choice->folder && is_inside(choice->folder, dir)) {
		g_free(choice->around);
		/* the last one is over the others */
		choice->around = session_around(choice->folder, dir);
	}
	g_array_append_val(choice->mounts, found);
	return 0;
}

static bool may_read(const char *dir)
{
	g_autofree char *file = g_build_filename(dir, "kpdata", NULL);

	return access(file, R_OK) == 0;
}

/* Keeps the mounts of this user and of root; the others only if there are no such. */
static void keep_trusted(GArray *mounts)
{
	const uid_t user = geteuid();
	guint i, trusted = 0;

	for (i = 0; i < mounts->len; i++) {
		const uid_t owner = g_array_index(mounts, struct mount_choice_found, i).owner;

		trusted += owner == user || owner == 0;
	}
	for (i = mounts->len; trusted && i-- > 0;) {
		const uid_t owner = g_array_index(mounts, struct mount_choice_found, i).owner;

		if (owner != user && owner != 0)
			g_array_remove_index(mounts, i);
	}
}

static void keep_readable(GArray *mounts)
{
	guint i;

	for (i = mounts->len; i-- > 0;)
		if (!may_read(g_array_index(mounts, struct mount_choice_found, i).dir))
			g_array_remove_index(mounts, i);
}

/* The oldest mount of this user; if there is none, the oldest one. */
static const char *find_oldest(const GArray *mounts)
{
	guint i;

	for (i = 0; i < mounts->len; i++)
		if (g_array_index(mounts, struct mount_choice_found, i).owner == geteuid())
			return g_array_index(mounts, struct mount_choice_found, i).dir;
	return g_array_index(mounts, struct mount_choice_found, 0).dir;
}

static int choose(struct mount_choice *choice, bool quiet, char **dir, struct err *err)
{
	const char *named = getenv("KPROF_MOUNT");
	guint all;

	if (choice->around || (named && *named)) {
		*dir = g_strdup(choice->around ? choice->around : named);
		return 0;
	}
	all = choice->mounts->len;
	if (!all)
		return err_set(err, ENOENT, "nothing is mounted (`kprofs DIR` mounts)");
	keep_trusted(choice->mounts);
	keep_readable(choice->mounts);
	if (!choice->mounts->len)
		return err_set(err, ENOENT,
			"nothing is mounted that this user may read (mounts of others: %u; `kprofs DIR`"
			" mounts)",
			all);
	*dir = g_strdup(find_oldest(choice->mounts));
	if (choice->mounts->len > 1 && !quiet)
		cmd_error("%s is used, the oldest of %u mounts; -m DIR or KPROF_MOUNT selects another",
			*dir, choice->mounts->len);
	return 0;
}

static int find(bool quiet, char **dir, struct err *err)
{
	struct mount_choice choice = {.folder = g_get_current_dir()};
	int ret;

	choice.mounts = g_array_new(FALSE, FALSE, sizeof(struct mount_choice_found));
	g_array_set_clear_func(choice.mounts, clear_found);
	ret = mounts_find(NULL, MOUNTS_KPROFS_TYPE, take_mount, &choice);
	if (ret)
		err_set(err, -ret, "the mounts can't be read: %s", strerror(-ret));
	else
		ret = choose(&choice, quiet, dir, err);
	g_array_free(choice.mounts, TRUE);
	g_free(choice.around);
	g_free(choice.folder);
	return ret;
}

int mount_choice_find(char **dir, struct err *err)
{
	return find(false, dir, err);
}

int mount_choice_find_quietly(char **dir, struct err *err)
{
	return find(true, dir, err);
}

int mount_choice_path(const char *mount, const char *name, char **path, struct err *err)
{
	g_autofree char *dir = NULL, *sessions = NULL, *above = NULL, *is_above = NULL, *whole = NULL;
	int ret = mount ? 0 : mount_choice_find(&dir, err);
	char *real;

	if (ret)
		return ret;
	*path = g_build_filename(mount ? mount : dir, name, NULL);
	/* the trace is the machine's: a session has no files of it */
	real = realpath(mount ? mount : dir, NULL);
	whole = g_strdup(real ? real : "/");
	free(real);
	sessions = g_path_get_dirname(whole);
	above = g_path_get_dirname(sessions);
	is_above = g_build_filename(above, name, NULL);
	if (g_str_has_suffix(sessions, "/sessions") && access(*path, F_OK) && !access(is_above, F_OK)) {
		g_free(*path);
		*path = g_steal_pointer(&is_above);
	}
	return 0;
}

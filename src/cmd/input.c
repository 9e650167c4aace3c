/* SPDX-License-Identifier: MIT */
/* The capture that a subcommand reads: see input.h. */
#include "cmd/input.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "sys/mounts.h"
#include "capture/functions.h"
#include "capture/unwinding.h"

#define READ_BYTES MIB /* the most that kpdata gives in one read */

/* ---- which file ------------------------------------------------------------------------------ */

static int add_mount(void *arg, const char *dir)
{
	g_ptr_array_add(arg, g_strdup(dir));
	return 0;
}

int input_find_mount(char **dir, struct err *err)
{
	g_autoptr(GPtrArray) dirs = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *list = NULL;
	int ret = mounts_find(NULL, MOUNTS_KPROFS_TYPE, add_mount, dirs);

	if (ret)
		return err_set(err, -ret, "the mounts can't be read: %s", strerror(-ret));
	if (!dirs->len)
		return err_set(
			err, ENOENT, "no FILE given, and nothing is mounted (`kprofs DIR` mounts)");
	if (dirs->len > 1) {
		g_ptr_array_add(dirs, NULL);
		list = g_strjoinv(", ", (char **)dirs->pdata);
		return err_set(
			err, EEXIST, "there are several mounts, select one with -m: %s", list);
	}
	*dir = g_strdup(dirs->pdata[0]);
	return 0;
}

int input_path(const char *mount, const char *name, char **path, struct err *err)
{
	g_autofree char *dir = NULL;
	int ret = mount ? 0 : input_find_mount(&dir, err);

	if (!ret)
		*path = g_build_filename(mount ? mount : dir, name, NULL);
	return ret;
}

static int open_path(const char *path, struct err *err)
{
	struct stat st;
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY, fd;

	if (stat(path, &st) < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	/* kpdata looks like a regular file; on regular files O_NONBLOCK has no effect */
	if (S_ISREG(st.st_mode))
		flags |= O_NONBLOCK;
	fd = open(path, flags);
	if (fd < 0)
		return err_set(err, errno, "%s: %s", path, strerror(errno));
	return fd;
}

static int open_choice(struct input *input, const struct input_choice *choice, struct err *err)
{
	int ret;

	if (choice->file && strcmp(choice->file, "-") == 0) {
		input->name = g_strdup("standard input");
		return STDIN_FILENO;
	}
	if (choice->file) {
		input->name = g_strdup(choice->file);
	} else {
		ret = input_path(choice->mount, "kpdata", &input->name, err);
		if (ret)
			return ret;
	}
	return open_path(input->name, err);
}

/* ---- reading ahead --------------------------------------------------------------------------- */

/* Reads the descriptor to its end; *size bytes, to be freed. */
static int read_all(int fd, uint8_t **data, size_t *size)
{
	GByteArray *array = g_byte_array_new();
	size_t filled = 0;
	ssize_t n;

	for (;;) {
		if (filled > G_MAXUINT - 2 * READ_BYTES) {
			g_byte_array_free(array, TRUE);
			return -EFBIG;
		}
		g_byte_array_set_size(array, (guint)(filled + READ_BYTES));
		n = read(fd, array->data + filled, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			n = -errno;
			g_byte_array_free(array, TRUE);
			return (int)n;
		}
		if (n <= 0)
			break;
		filled += (size_t)n;
	}
	*size = filled;
	*data = g_byte_array_free(array, FALSE);
	return 0;
}

int input_open(struct input *input, const struct input_choice *choice, bool twice,
	struct err *err)
{
	size_t size = 0;
	int ret;

	memset(input, 0, sizeof(*input));
	input->fd = -1;
	ret = open_choice(input, choice, err);
	if (ret < 0)
		goto fail;
	input->fd = ret;
	decode_init_fd(&input->decoder, input->fd);
	if (!twice || input->decoder.begin >= 0)
		return 0;
	ret = read_all(input->fd, &input->data, &size);
	if (ret) {
		err_set(err, -ret, "%s: %s", input->name, strerror(-ret));
		goto fail;
	}
	decode_init_memory(&input->decoder, input->data, size);
	return 0;
fail:
	input_close(input);
	return ret;
}

int input_unwind(struct input *input, struct err *err)
{
	struct symbols *symbols;
	bool needed;
	int fd, ret = unwinding_is_needed(&input->decoder, &needed);

	if (ret)
		return err_set(err, -ret, "%s: %s", input->name, strerror(-ret));
	if (!needed)
		return 0;
	symbols = functions_open_symbols(NULL);
	ret = unwinding_make(&input->decoder, symbols, NULL, &fd, NULL, err);
	symbols_destroy(symbols);
	if (ret)
		return ret;
	decode_fini(&input->decoder);
	g_clear_pointer(&input->data, g_free);
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	input->fd = fd;
	decode_init_fd(&input->decoder, fd);
	return 0;
}

void input_close(struct input *input)
{
	decode_fini(&input->decoder);
	g_free(input->data);
	g_free(input->name);
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	memset(input, 0, sizeof(*input));
	input->fd = -1;
}

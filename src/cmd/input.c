/* SPDX-License-Identifier: MIT */
/* The capture that a subcommand reads: see input.h. */
#include "cmd/input.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "capture/functions.h"
#include "capture/query_filter.h"
#include "capture/unwinding.h"
#include "cmd/cmd.h"
#include "cmd/input_merge.h"
#include "cmd/input_source.h"

#define READ_BYTES MIB /* the most that kpdata gives in one read */

/* ---- which file ------------------------------------------------------------------------------ */

int input_choose(const struct command *command, int argc, char **argv, struct input_choice *choice)
{
	if (optind < argc)
		choice->file = argv[optind++];
	if (optind < argc || (choice->file && choice->mount))
		return cmd_usage_error(command, "give at most one FILE or --mount DIR");
	return CMD_OK;
}

int input_choose_several(const struct command *command, int argc, char **argv, struct input_choice *choice)
{
	if (optind < argc)
		choice->file = argv[optind++];
	choice->more = argv + optind;
	choice->more_count = argc - optind;
	if (choice->file && choice->mount)
		return cmd_usage_error(command, "give FILEs or --mount DIR");
	return CMD_OK;
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

/* perf's own captures are the files that are most likely mistaken for ours. */
static int refuse_format(const struct input *input, struct err *err)
{
	static const char perf[] = "PERFILE2";
	char magic[sizeof(perf) - 1];

	if (pread(input->fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic) ||
		memcmp(magic, perf, sizeof(magic)) != 0)
		return 0;
	return err_set(err, EINVAL, "%s is a file of perf record: perf report -i %s reads it",
		input->name, input->name);
}

/* Opens one of several files and copies it behind the others. */
static int merge_file(struct input_merge *merge, const char *path, struct err *err)
{
	struct input one = { .name = (char *)path };
	int ret;

	one.fd = strcmp(path, "-") ? open_path(path, err) : STDIN_FILENO;
	if (one.fd < 0)
		return one.fd;
	ret = refuse_format(&one, err);
	if (!ret)
		ret = input_merge_add(merge, path, one.fd, err);
	if (one.fd != STDIN_FILENO)
		close(one.fd);
	return ret;
}

static int open_several(struct input *input, const struct input_choice *choice, struct err *err)
{
	g_autoptr(GString) names = g_string_new(choice->file);
	struct input_merge merge;
	int ret = input_merge_begin(&merge, err), i;

	if (ret)
		return ret;
	ret = merge_file(&merge, choice->file, err);
	for (i = 0; i < choice->more_count && !ret; i++) {
		g_string_append_printf(names, ", %s", choice->more[i]);
		ret = merge_file(&merge, choice->more[i], err);
	}
	if (!ret && lseek(merge.fd, 0, SEEK_SET) < 0)
		ret = err_set(err, errno, "the captures: %s", strerror(errno));
	if (ret) {
		close(merge.fd);
		return ret;
	}
	decode_seal(merge.fd);
	input->damaged = merge.damaged;
	input->name = g_strdup(names->str);
	input->source = g_strdup(names->str);
	return merge.fd;
}

/*
 * Whether a file is in a tree of another machine (sshfs, 9P). kpdata is a stream there, too, which these
 * can't read: they read at positions, and a read that waits would block all others.
 */
static bool is_remote(int fd)
{
	struct statfs fs;

	return lseek(fd, 0, SEEK_CUR) == 0 && fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == FUSE_SUPER_MAGIC || fs.f_type == V9FS_MAGIC);
}

/* Opens kpdata of a mount; of a tree of another machine views/kpdata beside it, which is the same. */
static int open_mounted(struct input *input, struct err *err)
{
	g_autofree char *dir = g_path_get_dirname(input->name);
	g_autofree char *view = g_build_filename(dir, "views", "kpdata", NULL);
	int fd = open_path(input->name, err);

	if (fd < 0 || !is_remote(fd) || access(view, F_OK))
		return fd;
	close(fd);
	g_free(input->name);
	input->name = g_steal_pointer(&view);
	return open_path(input->name, err);
}

static int open_choice(struct input *input, const struct input_choice *choice, struct err *err)
{
	int ret;

	if (choice->more_count)
		return open_several(input, choice, err);
	if (choice->file && strcmp(choice->file, "-") == 0) {
		input->name = g_strdup("standard input");
		input->source = g_strdup(input->name);
		return STDIN_FILENO;
	}
	if (choice->file)
		input->name = g_strdup(choice->file);
	else if (choice->mount)
		input->name = g_build_filename(choice->mount, "kpdata", NULL);
	else if ((ret = input_source_find(&input->name, err)))
		return ret;
	ret = choice->file ? open_path(input->name, err) : open_mounted(input, err);
	input->source = input_source_describe(input->name);
	input->control = input_source_control(input->name, &input->origin.run_ns);
	return ret;
}

/* Describes the input, with the part that is meant. */
static void describe(struct input *input, const struct query *query)
{
	g_autoptr(GString) part = g_string_new(NULL), words = g_string_new(NULL), name = g_string_new(NULL);
	g_autofree char *source = input->source;

	if (!query_is_empty(query)) {
		query_append(words, query);
		g_string_append(part, "; only ");
		text_append(part, words->str);
	}
	text_append(name, input->name);
	input->source = g_strconcat(source, part->str, NULL);
	input->named = g_strconcat(name->str, part->str, NULL);
	input->origin.name = input->named;
	input->origin.text = input->source;
	input->origin.control = input->control;
}

void input_print_source(const struct input *input, const struct input_choice *choice)
{
	if (input->control && strstr(input->source, INPUT_SOURCE_EMPTY))
		cmd_error("reading %s: nothing captured yet: echo start > %s", input->source, input->control);
	else if (!choice->file && !choice->mount && isatty(STDERR_FILENO))
		cmd_error("reading %s", input->source);
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

/* Decodes another file from now on. */
static void replace(struct input *input, int fd)
{
	decode_fini(&input->decoder);
	g_clear_pointer(&input->data, g_free);
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	input->fd = fd;
	decode_init_fd(&input->decoder, fd);
}

static int take_part(struct input *input, const struct query *query, struct err *err)
{
	struct query_filter_result part;
	g_autoptr(GString) words = g_string_new(NULL), text = g_string_new(NULL);
	int ret;

	if (query_is_empty(query))
		return 0;
	ret = query_filter_make(&input->decoder, query, NULL, NULL, &part, err);
	if (ret) {
		err_prefix(err, "%s", input->name);
		return ret;
	}
	replace(input, part.fd);
	if (part.samples)
		return 0;
	query_append(words, query);
	text_append(text, words->str);
	if (!part.lost)
		return err_set(err, ENODATA, "%s: no sample is there with %s", input->name, text->str);
	return err_set(err, ENODATA, "%s: no sample is there with %s, and %" PRIu64 " were lost", input->name,
		text->str, part.lost);
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
	describe(input, &choice->query);
	input->fd = ret;
	decode_init_fd(&input->decoder, input->fd);
	ret = refuse_format(input, err);
	if (ret)
		goto fail;
	if (!twice)
		return 0;
	if (input->decoder.begin >= 0) {
		ret = take_part(input, &choice->query, err);
		if (ret)
			goto fail;
		return 0;
	}
	ret = read_all(input->fd, &input->data, &size);
	if (ret) {
		err_set(err, -ret, "%s: %s", input->name, strerror(-ret));
		goto fail;
	}
	decode_init_memory(&input->decoder, input->data, size);
	ret = take_part(input, &choice->query, err);
	if (!ret)
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
	replace(input, fd);
	return 0;
}

void input_close(struct input *input)
{
	decode_fini(&input->decoder);
	g_free(input->data);
	g_free(input->name);
	g_free(input->source);
	g_free(input->named);
	g_free(input->control);
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	memset(input, 0, sizeof(*input));
	input->fd = -1;
}

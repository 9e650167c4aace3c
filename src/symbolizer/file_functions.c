/* SPDX-License-Identifier: MIT */
/* The functions of a file by their names: see file_functions.h. */
#include "symbolizer/file_functions.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

/* For the largest programs, with a million functions, some hundred ms. */
#define FIND_NS (5 * NSEC_PER_SEC)

static int open_file(struct helpers *helpers, const struct file_functions_query *query,
	struct proto_message *message, struct err *err)
{
	const struct proto_wait wait = { .cancel_fd = -1 };
	int ret;

	proto_init(message, PROTO_OPEN_PATH);
	message->pid = query->pid;
	ret = proto_set_path(message, query->path);
	if (!ret)
		ret = helpers_open(helpers, message, &wait);
	if (ret == -EXDEV)
		return err_set(err, EXDEV, "'%s' is on a file system that a user may serve (FUSE): functions "
			"of such files can't be probed", query->path);
	if (ret < 0)
		return err_set(err, -ret, "'%s' can't be opened: %s", query->path, g_strerror(-ret));
	return ret;
}

/* Calls each() for what a message has. Its bytes are checked: the parser has read a hostile file. */
static int take(const struct proto_message *message, const struct file_functions_query *query, bool *is_own)
{
	const uint8_t *at = message->tail.bytes;
	size_t left = message->head.count;
	int ret = 0;

	while (left && !ret) {
		struct proto_found found;
		struct proto_place place;

		if (left < sizeof(place))
			return -EBADMSG;
		memcpy(&place, at, sizeof(place));
		at += sizeof(place);
		left -= sizeof(place);
		found = (struct proto_found){ .name = (const char *)at,
			.arguments = (const char *)at + place.name_bytes, .offset = place.offset,
			.address = place.address, .counter = place.counter };
		if (!place.name_bytes || place.name_bytes >= place.bytes || place.bytes > left ||
			found.name[place.name_bytes - 1] || found.name[place.bytes - 1])
			return -EBADMSG;
		ret = query->each(query->arg, &found);
		*is_own = ret != 0;
		at += place.bytes;
		left -= place.bytes;
	}
	return ret;
}

/* Until DONE, whose error is returned. *is_own: the value is that of each(). */
static int receive(int parser, struct proto_message *message, const struct file_functions_query *query,
	const struct proto_wait *until, bool *is_own)
{
	int ret = 0;

	while (!ret) {
		ret = proto_receive(parser, message, NULL, until);
		if (!ret && message->head.type == PROTO_DONE)
			return message->head.error > 0 ? -EIO : message->head.error;
		if (!ret)
			ret = message->head.type == PROTO_FOUND ? take(message, query, is_own) : -EBADMSG;
	}
	return ret;
}

static int explain(int error, const char *path, struct err *err)
{
	switch (error) {
	case -ENOEXEC:
		return err_set(err, EINVAL, "'%s' is no ELF file of this machine, or it is damaged", path);
	case -E2BIG:
		return err_set(err, E2BIG, "'%s' has too many symbols", path);
	case -ETIMEDOUT:
		return err_set(err, ETIMEDOUT, "the functions of '%s' could not be read in time", path);
	default:
		return err_set(err, EIO, "kprof-symbols can't read '%s': %s", path, g_strerror(-error));
	}
}

int file_functions(struct helpers *helpers, const struct file_functions_query *query, int *fd,
	struct err *err)
{
	g_autofree struct proto_message *message = g_new(struct proto_message, 1);
	const struct proto_wait wait = { .cancel_fd = -1 }, until = helpers_until(&wait, FIND_NS);
	int file = open_file(helpers, query, message, err), parser, ret;
	bool is_own = false;

	if (file < 0)
		return file;
	parser = helpers_fork_parser(helpers, &until);
	ret = parser < 0 ? parser : 0;
	if (!ret) {
		proto_init(message, PROTO_FUNCTIONS);
		message->head.flags = query->flags;
		ret = proto_set_path(message, query->pattern);
	}
	if (!ret)
		ret = proto_send(parser, message, file, &until);
	if (!ret)
		ret = receive(parser, message, query, &until, &is_own);
	if (parser >= 0)
		close(parser);
	if (ret == -ETIMEDOUT)
		helpers_kill_parser(helpers);
	if (ret && !is_own) {
		close(file);
		return explain(ret, query->path, err);
	}
	*fd = file;
	return ret;
}

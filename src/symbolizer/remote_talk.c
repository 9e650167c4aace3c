/* SPDX-License-Identifier: MIT */
/* What is said to the parser, and what is made of its answers: see remote_internal.h. */
#include "symbolizer/remote_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/result_wire.h"

/*
 * What the answers about one file may take: names of C++ have some hundred bytes, and most
 * addresses share theirs with others.
 */
#define ANSWER_BYTES 1024
#define ANSWER_BYTES_MIN (1u << 20)

bool remote_is_over(const struct talk *talk, int ret)
{
	return ret == -ECANCELED || (ret == -ETIMEDOUT && talk->wait.deadline_ns &&
		proto_now_ns() >= talk->wait.deadline_ns);
}

void remote_hang_up(struct talk *talk)
{
	if (talk->parser >= 0)
		close(talk->parser);
	talk->parser = -1;
	talk->heard = false;
}

/*
 * After an error of the connection: a child that died is the file's doing, one that does not answer
 * has to be ended.
 */
static int give_up_parser(struct talk *talk, int ret)
{
	remote_hang_up(talk);
	if (ret == -ECANCELED || ret == -ETIMEDOUT)
		helpers_kill_parser(talk->helpers);
	/* a question that was given up says nothing about the file */
	if (remote_is_over(talk, ret))
		return ret;
	remote_shun(talk->remote, talk->file->path, ret == -ETIMEDOUT);
	return -EIO;
}

/* The message in talk->message, with a file (-1: none), and the reply to it. */
static int exchange(struct talk *talk, int fd, const struct proto_wait *until)
{
	int ret = proto_send(talk->parser, talk->message, fd, until);

	if (!ret)
		ret = proto_receive(talk->parser, talk->message, NULL, until);
	return !ret && talk->message->head.type != PROTO_INFO ? -EBADMSG : ret;
}

/* A parser that died before it had forked a child is no fault of the file. */
int remote_tell(struct talk *talk, int fd)
{
	struct proto_wait until = helpers_until(&talk->wait, HELPERS_PARSE_NS);
	struct proto_message *message = talk->message;
	bool fresh = !talk->heard;
	int ret = -EPIPE, tries;

	for (tries = 0; ret == -EPIPE && tries < 2; tries++) {
		if (talk->parser < 0)
			talk->parser = helpers_fork_parser(talk->helpers, &until);
		ret = talk->parser < 0 ? talk->parser : exchange(talk, fd, &until);
		if (ret != -EPIPE || !fresh || helpers_has_parser(talk->helpers))
			break;
		remote_hang_up(talk);
	}
	if (fd >= 0)
		close(fd);
	if (ret)
		return talk->parser < 0 ? ret : give_up_parser(talk, ret);
	talk->heard = true;
	if (message->head.error)
		return message->head.error < 0 ? message->head.error : -EIO;
	talk->flags = message->head.flags;
	talk->build_id_length = message->build_id_length;
	memcpy(talk->build_id, message->build_id, sizeof(talk->build_id));
	/* a name of a file, and nothing that leads elsewhere */
	if (strchr(message->tail.path, '/') || strlen(message->tail.path) > NAME_MAX)
		talk->debuglink[0] = '\0';
	else
		strcpy(talk->debuglink, message->tail.path);
	return 0;
}

static int send_offsets(struct talk *talk, const uint64_t *offsets, size_t count,
	const struct proto_wait *until)
{
	struct proto_message *message = talk->message;
	size_t done, n;
	int ret = 0;

	for (done = 0; !ret && done < count; done += n) {
		n = MIN(count - done, PROTO_OFFSETS_MAX);
		proto_init(message, PROTO_OFFSETS);
		message->head.count = (uint32_t)n;
		memcpy(message->tail.offsets, offsets + done, n * sizeof(*offsets));
		ret = proto_send(talk->parser, message, -1, until);
	}
	proto_init(message, PROTO_RESOLVE);
	message->head.flags = talk->how->flags;
	return ret ? ret : proto_send(talk->parser, message, -1, until);
}

static bool is_answered(const struct symbols_place *place)
{
	return place->count || place->located;
}

/*
 * Each address gets one answer, without lines of at most one frame, and all of them together stay
 * within bounds, whatever the parser says.
 */
static int take_answers(struct talk *talk, size_t count, struct symbols_arena *arena,
	struct symbols_place *places)
{
	const uint8_t *bytes = talk->message->tail.bytes;
	size_t left = talk->message->head.count, n;
	struct symbols_place place;
	uint32_t i;

	while (left) {
		n = result_wire_read(bytes, left, arena, &i, &place);
		if (!n || i >= count || !is_answered(&place) || is_answered(&places[i]))
			return -EBADMSG;
		if (!(talk->how->flags & SYMBOLS_LINES) && place.count > 1)
			return -EBADMSG;
		if (symbols_arena_bytes(arena) > talk->arena_max)
			return -EBADMSG;
		places[i] = place;
		bytes += n;
		left -= n;
	}
	return 0;
}

int remote_ask(struct talk *talk, const uint64_t *offsets, size_t count,
	struct symbols_arena *arena, struct symbols_place *places)
{
	struct proto_wait until = helpers_until(&talk->wait, HELPERS_PARSE_NS);
	struct proto_message *message = talk->message;
	int ret = send_offsets(talk, offsets, count, &until);

	talk->arena_max = symbols_arena_bytes(arena) + ANSWER_BYTES_MIN + count * ANSWER_BYTES;
	if (talk->how->arena_max)
		talk->arena_max = MIN(talk->arena_max, talk->how->arena_max);

	while (!ret) {
		ret = proto_receive(talk->parser, message, NULL, &until);
		if (ret)
			break;
		if (message->head.type == PROTO_DONE) {
			if (message->head.error)
				return message->head.error < 0 ? message->head.error : -EIO;
			return (int)(message->head.flags & talk->how->flags);
		}
		ret = message->head.type == PROTO_ANSWERS
			? take_answers(talk, count, arena, places)
			: -EBADMSG;
	}
	return give_up_parser(talk, ret);
}

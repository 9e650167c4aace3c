/* SPDX-License-Identifier: MIT */
/* Messages to the parser and its replies: see remote_state.h. */
#include "symbolizer/remote_state.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/result_wire.h"

/*
 * Space for the results of one file: C++ names have some hundred bytes, and most addresses share
 * theirs with others.
 */
#define RESULT_BYTES 1024
#define RESULT_BYTES_MIN (1u << 20)

bool remote_is_over(const struct remote_request *request, int ret)
{
	return ret == -ECANCELED || (ret == -ETIMEDOUT && request->wait.deadline_ns &&
					    proto_now_ns() >= request->wait.deadline_ns);
}

void remote_disconnect(struct remote_request *request)
{
	if (request->parser >= 0)
		close(request->parser);
	request->parser = -1;
	request->replied = false;
}

/*
 * After an error of the connection: if the child exited, the file caused it; a child that does not
 * reply must be killed.
 */
static int abandon_parser(struct remote_request *request, int ret)
{
	remote_disconnect(request);
	if (ret == -ECANCELED || ret == -ETIMEDOUT)
		helpers_kill_parser(request->helpers);
	/* a request that was cancelled does not show that the file is bad */
	if (remote_is_over(request, ret))
		return ret;
	remote_skip(request->remote, request->file->path, ret == -ETIMEDOUT);
	return -EIO;
}

/* Sends request->message with a file (-1 for none) and receives the reply. */
static int exchange(struct remote_request *request, int fd, const struct proto_wait *until)
{
	int ret = proto_send(request->parser, request->message, fd, until);

	if (!ret)
		ret = proto_receive(request->parser, request->message, NULL, until);
	return !ret && request->message->head.type != PROTO_INFO ? -EBADMSG : ret;
}

/* If the parser exited before it had forked a child, the file did not cause it. */
int remote_exchange(struct remote_request *request, int fd)
{
	struct proto_wait until = helpers_until(&request->wait, HELPERS_PARSE_NS);
	struct proto_message *message = request->message;
	bool fresh = !request->replied;
	int ret = -EPIPE, tries;

	for (tries = 0; ret == -EPIPE && tries < 2; tries++) {
		if (request->parser < 0)
			request->parser = helpers_fork_parser(request->helpers, &until);
		ret = request->parser < 0 ? request->parser : exchange(request, fd, &until);
		if (ret != -EPIPE || !fresh || helpers_has_parser(request->helpers))
			break;
		remote_disconnect(request);
	}
	if (fd >= 0)
		close(fd);
	if (ret)
		return request->parser < 0 ? ret : abandon_parser(request, ret);
	request->replied = true;
	if (message->head.error)
		return message->head.error < 0 ? message->head.error : -EIO;
	request->flags = message->head.flags;
	request->build_id_length = message->build_id_length;
	memcpy(request->build_id, message->build_id, sizeof(request->build_id));
	/* accept only a file name, not a path */
	if (strchr(message->tail.path, '/') || strlen(message->tail.path) > NAME_MAX)
		request->debuglink[0] = '\0';
	else
		strcpy(request->debuglink, message->tail.path);
	return 0;
}

static int send_offsets(struct remote_request *request, const uint64_t *offsets, size_t count,
	const struct proto_wait *until)
{
	struct proto_message *message = request->message;
	size_t done, n;
	int ret = 0;

	for (done = 0; !ret && done < count; done += n) {
		n = MIN(count - done, PROTO_OFFSETS_MAX);
		proto_init(message, PROTO_OFFSETS);
		message->head.count = (uint32_t)n;
		memcpy(message->tail.offsets, offsets + done, n * sizeof(*offsets));
		ret = proto_send(request->parser, message, -1, until);
	}
	proto_init(message, PROTO_RESOLVE);
	message->head.flags = request->how->flags;
	return ret ? ret : proto_send(request->parser, message, -1, until);
}

static bool has_result(const struct symbols_place *place)
{
	return place->count || place->located;
}

/*
 * Each address gets one result, without lines of at most one frame, and all results together stay
 * within bounds, whatever the parser sends.
 */
static int take_results(struct remote_request *request, size_t count, struct symbols_arena *arena,
	struct symbols_place *places)
{
	const uint8_t *bytes = request->message->tail.bytes;
	size_t left = request->message->head.count, n;
	struct symbols_place place;
	uint32_t i;

	while (left) {
		n = result_wire_read(bytes, left, arena, &i, &place);
		if (!n || i >= count || !has_result(&place) || has_result(&places[i]))
			return -EBADMSG;
		if (!(request->how->flags & SYMBOLS_LINES) && place.count > 1)
			return -EBADMSG;
		if (symbols_arena_bytes(arena) > request->arena_max)
			return -EBADMSG;
		places[i] = place;
		bytes += n;
		left -= n;
	}
	return 0;
}

int remote_resolve(struct remote_request *request, const uint64_t *offsets, size_t count,
	struct symbols_arena *arena, struct symbols_place *places)
{
	struct proto_wait until = helpers_until(&request->wait, HELPERS_PARSE_NS);
	struct proto_message *message = request->message;
	int ret = send_offsets(request, offsets, count, &until);

	request->arena_max = symbols_arena_bytes(arena) + RESULT_BYTES_MIN + count * RESULT_BYTES;
	if (request->how->arena_max)
		request->arena_max = MIN(request->arena_max, request->how->arena_max);

	while (!ret) {
		ret = proto_receive(request->parser, message, NULL, &until);
		if (ret)
			break;
		if (message->head.type == PROTO_DONE) {
			if (message->head.error)
				return message->head.error < 0 ? message->head.error : -EIO;
			return (int)(message->head.flags & request->how->flags);
		}
		ret = message->head.type == PROTO_RESULTS
			      ? take_results(request, count, arena, places)
			      : -EBADMSG;
	}
	return abandon_parser(request, ret);
}

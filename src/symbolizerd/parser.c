/* SPDX-License-Identifier: MIT */
/*
 * The parser: has no privileges. The process that is started parses nothing; it forks a child for
 * each file, so that the effects of a hostile file end with that file.
 */
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/units.h"
#include "symbolizer/proto.h"
#include "symbolizer/result_wire.h"
#include "symbolizerd/helper.h"
#include "symbolizerd/functions.h"
#include "symbolizerd/parse.h"
#include "sys/confine.h"

/*
 * Limit of memory: a debug file of 1 GB with compressed sections takes about this much; the symbol
 * table of the largest kernel a tenth of it.
 */
#define DATA_BYTES (1024 * MIB)
/* Limit of address space: files are mapped whole, and twice if their DWARF is read. */
#define MAPPED_BYTES (16 * 1024 * MIB)
#define CPU_SECONDS 20
#define FILES_MAX 16

/*
 * Addresses in one request: a capture of an hour has some hundred thousand, in all files together.
 */
#define OFFSETS_MAX (4u << 20)

struct parser_child {
	int fd;
	struct parse *parse;
	struct proto_message *message; /* received */
	struct proto_message *results; /* being filled, then sent */
	GArray *offsets;               /* uint64_t, of the request that is being received */
	int failed;		       /* -errno of sending */
};

/* ---- results --------------------------------------------------------------------------------- */

static void flush_results(struct parser_child *child)
{
	if (child->results->head.count && !child->failed)
		child->failed = proto_send(child->fd, child->results, -1, NULL);
	proto_init(child->results, PROTO_RESULTS);
}

static void add_result(void *arg, size_t i, const struct symbols_place *place)
{
	struct parser_child *child = arg;
	uint8_t *bytes = child->results->tail.bytes;
	uint32_t *used = &child->results->head.count;
	size_t n = result_wire_write(bytes + *used, PROTO_BYTES_MAX - *used, (uint32_t)i, place);

	if (!n) {
		flush_results(child);
		n = result_wire_write(bytes, PROTO_BYTES_MAX, (uint32_t)i, place);
	}
	*used += (uint32_t)n;
}

static int send_results(struct parser_child *child)
{
	unsigned int flags = child->message->head.flags;
	int ret = parse_resolve(child->parse, (const uint64_t *)child->offsets->data,
		child->offsets->len, flags, add_result, child);

	flush_results(child);
	g_array_set_size(child->offsets, 0);
	proto_init(child->message, PROTO_DONE);
	child->message->head.error = ret < 0 ? ret : 0;
	child->message->head.flags = ret < 0 ? 0 : (uint32_t)ret;
	return child->failed ? child->failed : proto_send(child->fd, child->message, -1, NULL);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int load_file(struct parser_child *child, int file, struct parse_info *info)
{
	const struct proto_message *m = child->message;
	struct textsyms_kernel kernel = {
		.path = m->tail.path, .text = m->address, .start = m->start, .end = m->end,
	};

	switch ((enum proto_type)m->head.type) {
	case PROTO_ELF:
		return parse_elf(child->parse, file, m->build_id, m->build_id_length,
			m->head.flags, info);
	case PROTO_DEBUG:
		return parse_debug(child->parse, file, m->build_id, m->build_id_length,
			m->head.flags, info);
	case PROTO_ALT:
		return parse_alt(child->parse, file, m->build_id, m->build_id_length, info);
	case PROTO_VDSO:
		return parse_vdso(child->parse, info);
	case PROTO_KERNEL:
		return parse_kernel(child->parse, file, &kernel);
	case PROTO_JIT:
		return parse_jit(child->parse, file);
	default:
		return -EINVAL;
	}
}

static int take_file(struct parser_child *child, int file)
{
	struct parse_info info = { 0 };
	int ret = load_file(child, file, &info);

	proto_init(child->message, PROTO_INFO);
	child->message->head.error = ret;
	if (!ret) {
		child->message->head.flags = info.flags;
		proto_set_build_id(child->message, info.build_id, info.build_id_length);
	}
	proto_set_path(child->message, info.debuglink);
	return proto_send(child->fd, child->message, -1, NULL);
}

static int take_offsets(struct parser_child *child)
{
	if (child->offsets->len + child->message->head.count > OFFSETS_MAX)
		return -E2BIG;
	g_array_append_vals(child->offsets, child->message->tail.offsets,
		child->message->head.count);
	return 0;
}

static int send_row(struct parser_child *child)
{
	struct proto_message *message = child->message;
	struct unwind_row row;
	int ret = parse_row(child->parse, message->address, &row);

	proto_init(message, PROTO_ROW);
	message->head.error = ret;
	if (!ret) {
		message->head.count = (uint32_t)unwind_row_bytes(&row);
		memcpy(message->tail.bytes, &row, message->head.count);
	}
	return proto_send(child->fd, message, -1, NULL);
}

/* Appends a function to the message that is being filled. */
static int add_function(void *arg, const struct proto_found *found)
{
	struct parser_child *child = arg;
	struct proto_message *message = child->results;
	const uint32_t name_bytes = (uint32_t)strlen(found->name) + 1;
	const uint32_t texts = name_bytes + (uint32_t)strlen(found->arguments) + 1;
	const struct proto_place place = { .offset = found->offset, .address = found->address,
		.counter = found->counter, .name_bytes = name_bytes, .bytes = (texts + 7) / 8 * 8 };
	uint8_t *to;

	if (PROTO_BYTES_MAX - message->head.count < sizeof(place) + place.bytes) {
		child->failed = proto_send(child->fd, message, -1, NULL);
		if (child->failed)
			return child->failed;
		message->head.count = 0;
	}
	to = message->tail.bytes + message->head.count;
	memcpy(to, &place, sizeof(place));
	to += sizeof(place);
	memset(to, 0, place.bytes);
	memcpy(to, found->name, name_bytes);
	memcpy(to + name_bytes, found->arguments, texts - name_bytes);
	message->head.count += (uint32_t)(sizeof(place) + place.bytes);
	return 0;
}

static int send_functions(struct parser_child *child, int file)
{
	const struct functions_query query = { .pattern = child->message->tail.path,
		.flags = child->message->head.flags, .each = add_function, .arg = child };
	struct proto_message *found = child->results;
	int ret;

	proto_init(found, PROTO_FOUND);
	ret = parse_functions(child->parse, file, &query);
	if (found->head.count && !child->failed)
		child->failed = proto_send(child->fd, found, -1, NULL);
	proto_init(found, PROTO_RESULTS);
	proto_init(child->message, PROTO_DONE);
	child->message->head.error = ret;
	return child->failed ? child->failed : proto_send(child->fd, child->message, -1, NULL);
}

/* For the test that the child can't open files. */
static int try_open(struct parser_child *child)
{
	FILE *file = fopen(child->message->tail.path, "re");

	proto_init(child->message, PROTO_OPENED);
	child->message->head.error = file ? 0 : -errno;
	if (file)
		fclose(file);
	return proto_send(child->fd, child->message, -1, NULL);
}

static int serve_request(struct parser_child *child, int file)
{
	switch ((enum proto_type)child->message->head.type) {
	case PROTO_OFFSETS:
		return take_offsets(child);
	case PROTO_RESOLVE:
		return send_results(child);
	case PROTO_ROW:
		return send_row(child);
	case PROTO_FUNCTIONS:
		return send_functions(child, file);
	case PROTO_TRY_OPEN:
		return try_open(child);
	default:
		return take_file(child, file);
	}
}

static int serve_child(int fd, struct proto_message *message)
{
	struct parser_child child = {.fd = fd, .message = message};
	int file, ret;

	child.parse = parse_create();
	child.results = g_new(struct proto_message, 1);
	child.offsets = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	proto_init(child.results, PROTO_RESULTS);
	do {
		ret = proto_receive(fd, message, &file, NULL);
		if (ret)
			break;
		ret = serve_request(&child, file);
		if (file >= 0)
			close(file);
	} while (!ret);
	parse_destroy(child.parse);
	g_free(child.results);
	g_array_free(child.offsets, TRUE);
	return ret == -EPIPE ? 0 : 1;
}

/* ---- the process that forks ------------------------------------------------------------------ */

static int fork_child(int fd, int connection, struct proto_message *message,
	const struct confine_child *confined)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid)
		return 0;
	close(fd);
	/* _exit: the exit handlers are the parent's */
	_exit(confine_parser_child(confined) ? 1 : serve_child(connection, message));
}

static int serve(int fd, struct proto_message *message, const struct confine_child *confined)
{
	int connection, ret;

	for (;;) {
		ret = proto_receive(fd, message, &connection, NULL);
		if (ret)
			break;
		if (message->head.type == PROTO_FORK && connection >= 0)
			ret = fork_child(fd, connection, message, confined);
		if (connection >= 0)
			close(connection);
		if (ret)
			break;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	/* the children exit when their own connections close */
	while (ret == -EPIPE && (waitpid(-1, NULL, 0) > 0 || errno == EINTR))
		;
	return ret == -EPIPE ? 0 : 1;
}

int parser_serve(int fd)
{
	const struct confine_limits limits = {
		.data_bytes = DATA_BYTES,
		.mapped_bytes = MAPPED_BYTES,
		.cpu_seconds = CPU_SECONDS,
		.files = FILES_MAX,
	};
	struct proto_message *message = g_new(struct proto_message, 1);
	struct confine_child *confined;

	if (confine_parser(&limits, &confined) != 0)
		return 1;
	_exit(serve(fd, message, confined));
}

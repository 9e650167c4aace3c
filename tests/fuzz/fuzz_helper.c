/* SPDX-License-Identifier: MIT */
/*
 * What a helper (kprof-symbols) sends, as the process that asks reads it: messages off a socket
 * (symbolizer/proto), and answers and rows in them. A helper may have been taken over by a file
 * that it read.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "symbolizer/result_wire.h"
#include "symbolizer/proto.h"
#include "symbolizer/unwind_row.h"

static void read_answers(const uint8_t *bytes, size_t size)
{
	struct symbols_arena *arena = symbols_arena_create();
	struct symbols_place place;
	uint32_t index, i;
	size_t taken;

	while (size && (taken = result_wire_read(bytes, size, arena, &index, &place))) {
		FUZZ_CHECK(taken <= size);
		FUZZ_CHECK(place.count <= SYMBOLS_FRAMES_MAX);
		for (i = 0; i < place.count; i++)
			if (place.frames[i].function)
				FUZZ_CHECK(strlen(place.frames[i].function) <= SYMBOLS_TEXT_MAX);
		bytes += taken;
		size -= taken;
	}
	symbols_arena_destroy(arena);
}

static void read_message(int fd, struct proto_message *message)
{
	int passed = -1;

	if (proto_receive(fd, message, &passed, NULL))
		return;
	FUZZ_CHECK(passed < 0);
	if (message->head.type == PROTO_RESULTS)
		read_answers(message->tail.bytes, message->head.count);
	if (message->head.type == PROTO_ROW)
		(void)unwind_row_is_sound(
			(const struct unwind_row *)(const void *)message->tail.bytes,
			message->head.count);
	if (message->head.type == PROTO_INFO)
		FUZZ_CHECK(memchr(message->tail.path, 0, sizeof(message->tail.path)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree struct proto_message *message = g_new(struct proto_message, 1);
	int pair[2];

	if (!size || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return 0;
	if (send(pair[1], data, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size)
		read_message(pair[0], message);
	close(pair[0]);
	close(pair[1]);
	return 0;
}

bool fuzz_seed(unsigned int number, GByteArray *out)
{
	static const struct symbols_frame frames[] = { { "inner", "a.c", 7 }, { "outer", NULL, 0 } };
	const struct symbols_place place = { .frames = frames, .count = 2, .start = 0x10, .size = 32 };
	g_autofree struct proto_message *message = g_new0(struct proto_message, 1);
	struct unwind_row row = {.return_reg = 16, .reg_count = 17};
	size_t bytes;

	switch (number) {
	case 0:
		proto_init(message, PROTO_RESULTS);
		bytes = result_wire_write(message->tail.bytes, PROTO_BYTES_MAX, 3, &place);
		bytes += result_wire_write(
			message->tail.bytes + bytes, PROTO_BYTES_MAX - bytes, 4, &place);
		break;
	case 1:
		proto_init(message, PROTO_ROW);
		bytes = unwind_row_bytes(&row);
		memcpy(message->tail.bytes, &row, bytes);
		break;
	case 2:
		proto_init(message, PROTO_INFO);
		FUZZ_CHECK(!proto_set_path(message, "debug.file"));
		bytes = message->head.count;
		break;
	default:
		return false;
	}
	message->head.count = (uint32_t)bytes;
	g_byte_array_append(out, (const guint8 *)message,
		(guint)(offsetof(struct proto_message, tail) + bytes));
	return true;
}

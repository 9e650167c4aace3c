/* SPDX-License-Identifier: MIT */
/* A source that reads the file in this process: see local.h. */
#include "symbolizerd/local.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "symbolizerd/parse.h"

struct local_results {
	struct symbols_arena *arena;
	struct symbols_place *places;
};

static void take_result(void *arg, size_t i, const struct symbols_place *place)
{
	struct local_results *results = arg;

	symbols_arena_place(results->arena, place, &results->places[i]);
}

static int resolve(void *self, const struct symbols_file *file, const uint64_t *offsets,
	size_t count, const struct symbols_how *how, struct symbols_arena *arena,
	struct symbols_place *places)
{
	struct local_results results = {arena, places};
	struct parse_info info;
	struct parse *parse;
	int fd, ret;

	if (file->kind != SYMBOLS_ELF)
		return -ENOENT;
	fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	parse = parse_create();
	ret = parse_elf(parse, fd, file->build_id, file->build_id_length, how->flags, &info);
	if (!ret)
		ret = parse_resolve(parse, offsets, count, how->flags, take_result, &results);
	parse_destroy(parse);
	close(fd);
	return ret;
}

const struct symbols_source local_source = {
	.resolve = resolve,
};

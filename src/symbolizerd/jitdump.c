/* SPDX-License-Identifier: MIT */
/* The functions in a jitdump: see jitdump.h. */
#include "symbolizerd/jitdump.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/symbols_arena.h"

/* The types of records that are used. */
#define CODE_LOAD 0
#define CODE_MOVE 1

struct file_head {
	uint32_t magic, version;
	uint32_t total_size; /* of this head; later versions may append to it */
	uint32_t elf_mach, pad, pid;
	uint64_t timestamp, flags;
};

struct record_head {
	uint32_t id;
	uint32_t total_size; /* with this head */
	uint64_t timestamp;
};

/* The name follows, with its NUL, and then the code. */
struct code_load {
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

struct code_move {
	uint32_t pid, tid;
	uint64_t vma, old_address, address, size, index;
};

_Static_assert(sizeof(struct file_head) == 40 && sizeof(struct record_head) == 16 &&
		sizeof(struct code_load) == 40 && sizeof(struct code_move) == 48,
	"as the specification has them");

struct reading {
	int fd;
	uint64_t at;       /* offset in the file */
	size_t left;       /* of JITDUMP_BYTES_MAX */
	GString *map;
	GHashTable *names; /* the index of a function -> the offset of its name in `map`, plus 1 */
};

/* Reads exactly `size` bytes at `at`. */
static bool read_at(struct reading *reading, uint64_t at, void *to, size_t size)
{
	ssize_t got;

	if (size > reading->left || at > INT64_MAX)
		return false;
	reading->left -= size;
	do
		got = pread(reading->fd, to, size, (off_t)at);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)size;
}

static void add_function(struct reading *reading, uint64_t address, uint64_t size, uint64_t index,
	const char *name)
{
	gsize offset;
	uint64_t *key;

	if (!size || !*name)
		return;
	g_string_append_printf(reading->map, "%" PRIx64 " %" PRIx64 " ", address, size);
	offset = reading->map->len;
	g_string_append(reading->map, name);
	g_string_append_c(reading->map, '\n');
	key = g_new(uint64_t, 1);
	*key = index;
	g_hash_table_replace(reading->names, key, GSIZE_TO_POINTER(offset + 1));
}

static bool take_load(struct reading *reading, const struct record_head *head)
{
	char name[SYMBOLS_TEXT_MAX + 1], *c;
	const size_t fixed = sizeof(*head) + sizeof(struct code_load);
	struct code_load load;
	size_t bytes;

	if (head->total_size <= fixed)
		return false;
	bytes = MIN(head->total_size - fixed, sizeof(name) - 1);
	if (!read_at(reading, reading->at + sizeof(*head), &load, sizeof(load)) ||
		!read_at(reading, reading->at + fixed, name, bytes))
		return false;
	name[bytes] = '\0'; /* behind a short name is code */
	for (c = name; *c; c++)
		if (g_ascii_iscntrl(*c))
			*c = '?';
	add_function(reading, load.address, load.size, load.index, name);
	return true;
}

static bool take_move(struct reading *reading, const struct record_head *head)
{
	struct code_move move;
	g_autofree char *name = NULL;
	gsize offset;

	if (head->total_size < sizeof(*head) + sizeof(move) ||
		!read_at(reading, reading->at + sizeof(*head), &move, sizeof(move)))
		return false;
	offset = GPOINTER_TO_SIZE(g_hash_table_lookup(reading->names, &move.index));
	if (offset) {
		const char *old = reading->map->str + offset - 1;

		name = g_strndup(old, strcspn(old, "\n"));
		add_function(reading, move.address, move.size, move.index, name);
	}
	return true;
}

static bool take_record(struct reading *reading)
{
	struct record_head head;
	bool ok = true;

	/* what is made of the file is bounded like what is read of it: a move repeats a name */
	if (reading->map->len > JITDUMP_BYTES_MAX ||
		!read_at(reading, reading->at, &head, sizeof(head)) ||
		head.total_size < sizeof(head))
		return false;
	if (head.id == CODE_LOAD)
		ok = take_load(reading, &head);
	else if (head.id == CODE_MOVE)
		ok = take_move(reading, &head);
	reading->at += head.total_size;
	return ok;
}

bool jitdump_is(int fd)
{
	uint32_t magic;

	return pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == JITDUMP_MAGIC;
}

char *jitdump_read(int fd)
{
	struct reading reading = {.fd = fd, .left = JITDUMP_BYTES_MAX};
	struct file_head head;
	bool is_empty;

	if (!read_at(&reading, 0, &head, sizeof(head)) || head.magic != JITDUMP_MAGIC ||
		head.total_size < sizeof(head))
		return NULL;
	reading.at = head.total_size;
	reading.map = g_string_new(NULL);
	reading.names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	while (take_record(&reading))
		;
	g_hash_table_destroy(reading.names);
	is_empty = !reading.map->len;
	return g_string_free(reading.map, is_empty);
}

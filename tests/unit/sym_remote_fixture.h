/* SPDX-License-Identifier: MIT */
/*
 * A program with known functions, symbols of kprof-symbols, and processes that run the program.
 */
#ifndef KPROFS_TESTS_UNIT_SYM_REMOTE_FIXTURE_H
#define KPROFS_TESTS_UNIT_SYM_REMOTE_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib.h>

#include "base/units.h"
#include "symbolizer/file_functions.h"
#include "symbolizer/result_wire.h"
#include "symbolizerd/local.h"
#include "symbolizer/remote.h"
#include "sys/proc.h"
#include "sys/procfile.h"
#include "tests/fixtures/built.h"
#include "tests/fixtures/symfixture.h"

#define HELPER built_program("kprof-symbols")

/* The time limit for anything here, on a slow machine with sanitizers. */
#define PATIENCE_NS (60 * NSEC_PER_SEC)

struct world {
	struct symfixture fixture;
	struct symbols *symbols;
	struct symbols_arena *arena;
	uint8_t kernel_id[64];
	struct symbols_kernel kernel; /* of the running kernel */
	uint8_t id[64];		      /* of "program" */
	size_t id_length;
	uint64_t offset; /* of "work" in it */
	GPid server;	 /* of a mount that does not answer; 0 if there is none */
	char *mount;
};

/* ---- a process that has the program mapped --------------------------------------------------- */

static const char program_c[] = "#include <stdio.h>\n"
				"#include <string.h>\n"
				"#include <unistd.h>\n"
				"__attribute__((noinline)) int work(int x)\n"
				"{\n"
				"	return x + getpid();\n"
				"}\n"
				"int main(int argc, char **argv)\n"
				"{\n"
				"	char line[8192], byte;\n"
				"	FILE *maps = fopen(\"/proc/self/maps\", \"r\");\n"
				"	unsigned long at = (unsigned long)work, start, end;\n"
				"	while (fgets(line, sizeof(line), maps))\n"
				"		if (sscanf(line, \"%lx-%lx\", &start, &end) == 2 &&\n"
				"			at >= start && at < end)\n"
				"			printf(\"%d %lx %lx\\n\", getpid(), start, end);\n"
				"	fflush(stdout);\n"
				"	return read(0, &byte, 1) < 0;\n"
				"}\n";

/* ---- questions ------------------------------------------------------------------------------- */

static inline struct symbols *open_symbols(const char *program)
{
	struct helpers_options options = { .program = program };

	return symbols_create(&remote_source, remote_create(&options), 0);
}

static inline int ask(struct world *world, const struct symbols_file *file, uint64_t offset,
	unsigned int flags, struct symbols_place *place)
{
	struct symbols_how how = { .flags = flags, .cancel_fd = -1,
		.deadline_ns = proto_now_ns() + PATIENCE_NS };

	return symbols_resolve(world->symbols, file, &offset, 1, &how, world->arena, place);
}

/* expected NULL if no name is expected */
static inline void expect(struct world *world, const struct symbols_file *file, uint64_t offset,
	const char *expected)
{
	struct symbols_place place;

	assert_int_equal(ask(world, file, offset, 0, &place), 0);
	if (!expected)
		assert_int_equal(place.count, 0);
	else if (!place.count)
		fail_msg("%s: no name, not %s", file->path, expected);
	else
		assert_string_equal(place.frames[0].function, expected);
}

static inline struct symbols_file describe(const struct world *world, const char *path, bool with_id,
	const struct symbols_mapping *mapping)
{
	struct symbols_file file = {
		.kind = SYMBOLS_ELF,
		.path = path,
		.build_id = world->id,
		.build_id_length = with_id ? world->id_length : 0,
		.kernel = &world->kernel,
		.mappings = mapping,
		.mapping_count = mapping ? 1 : 0,
	};

	return file;
}

static inline bool is_root(void)
{
	return geteuid() == 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

static inline void test_file_has_names(void **state)
{
	struct world *world = *state;
	g_autofree char *path = symfixture_path(&world->fixture, "program");
	struct symbols_file file = describe(world, path, true, NULL);
	struct symbols_place place;

	expect(world, &file, world->offset, "work");
	file.build_id_length = 0;
	expect(world, &file, world->offset, "work");
	file.build_id_length = world->id_length - 1;
	expect(world, &file, world->offset, NULL);
	/* lines, when asked for */
	file.build_id_length = world->id_length;
	assert_int_equal(ask(world, &file, world->offset, SYMBOLS_LINES, &place), 0);
	assert_int_equal(place.count, 1);
	assert_non_null(place.frames[0].source);
	assert_true(g_str_has_suffix(place.frames[0].source, "/program.c"));
	assert_int_equal(place.frames[0].line, 5);
	assert_int_equal(place.start, world->offset);
}

/* ---- a file system that hangs ---------------------------------------------------------------- */

static inline uint64_t count_of(struct symbols *symbols, const char *name)
{
	struct stats *stats = stats_create();
	GString *text = g_string_new(NULL);
	uint64_t value = 0;
	char *at;

	symbols_stats(symbols, stats);
	stats_render(stats, text);
	at = strstr(text->str, name);
	assert_non_null(at);
	assert_int_equal(sscanf(at + strlen(name), " %" SCNu64, &value), 1);
	g_string_free(text, TRUE);
	stats_destroy(stats);
	return value;
}

/* ---- wrong answers-------------------------------------------------------------------------------  */

enum wrong_answer {
	WRONG_NONE = 1000,
	WRONG_INDEX,	/* an answer to an offset that was not asked for */
	WRONG_TWICE,	/* two answers to one offset */
	WRONG_FRAMES,	/* more than was asked for */
	WRONG_GARBAGE,	/* bytes that are not a valid answer */
	WRONG_TYPE,	/* a message of a type that is not expected */
	WRONG_END,	/* no more */
	WRONG_SILENCE,	/* no answer at all */
	WRONG_DESCRIPTOR, /* descriptors that were not requested */
	WRONG_ENDLESS,	/* names without end */
	WRONG_SLOW,	/* right ones, but an opener that takes long to start */
};

/* A process may delay a file for 200 ms. */
#define SLOW_START_US 600000

static inline void send_wrong_answer(int fd, struct proto_message *message, enum wrong_answer wrong)
{
	struct symbols_frame frames[2] = { { "first", NULL, 0 }, { "second", NULL, 0 } };
	struct symbols_place place = { frames, wrong == WRONG_FRAMES ? 2 : 1, 0, 0 };
	uint8_t *bytes = message->tail.bytes;
	char name[SYMBOLS_TEXT_MAX + 1];
	uint32_t i;

	proto_init(message, PROTO_RESULTS);
	message->head.count = (uint32_t)result_wire_write(
		bytes, PROTO_BYTES_MAX, wrong == WRONG_INDEX ? 1 : 0, &place);
	if (wrong == WRONG_GARBAGE)
		memset(bytes, 0xff, message->head.count);
	if (wrong == WRONG_END)
		_exit(0); /* the child ends without the clean-up of the test */
	if (wrong == WRONG_TYPE)
		proto_init(message, PROTO_INFO), proto_set_path(message, "");
	if (wrong == WRONG_SILENCE)
		pause();
	for (i = 0; wrong == WRONG_ENDLESS; i++) {
		memset(name, 'x', SYMBOLS_TEXT_MAX);
		name[SYMBOLS_TEXT_MAX] = '\0';
		snprintf(name, sizeof(name), "%u", i);
		name[strlen(name)] = '_';
		frames[0].function = name;
		message->head.count =
			(uint32_t)result_wire_write(bytes, PROTO_BYTES_MAX, i, &place);
		if (proto_send(fd, message, -1, NULL))
			_exit(0);
	}
	proto_send(fd, message, wrong == WRONG_DESCRIPTOR ? STDIN_FILENO : -1, NULL);
	if (wrong == WRONG_TWICE)
		proto_send(fd, message, -1, NULL);
	proto_init(message, PROTO_DONE);
	proto_send(fd, message, -1, NULL);
}

static inline void run_wrong_child(int fd, struct proto_message *message, enum wrong_answer wrong)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!proto_receive(fd, message, NULL, NULL)) {
		if (message->head.type == PROTO_RESOLVE) {
			send_wrong_answer(fd, message, wrong);
		} else if (message->head.type != PROTO_OFFSETS) {
			proto_init(message, PROTO_INFO);
			message->head.flags = PROTO_HAS_SYMBOLS;
			proto_set_path(message, "../../etc/shadow");
			proto_send(fd, message, -1, NULL);
		}
	}
	_exit(0);
}

/* Runs as kprof-symbols. Its UID argument selects the wrong answer. */
static inline int run_wrong_helper(const char *role, enum wrong_answer wrong)
{
	struct proto_message *message = g_new0(struct proto_message, 1);
	int fd;

	signal(SIGCHLD, SIG_IGN);
	/* a failing test leaves no process behind */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strcmp(role, "opener") == 0) {
		if (wrong == WRONG_SLOW)
			g_usleep(SLOW_START_US);
		proto_init(message, PROTO_READY);
		proto_send(3, message, -1, NULL);
	}
	while (!proto_receive(3, message, &fd, NULL)) {
		if (strcmp(role, "parser") == 0) {
			if (fork() == 0)
				run_wrong_child(fd, message, wrong);
			close(fd);
		} else {
			proto_init(message, PROTO_OPENED);
			proto_send(3, message, STDIN_FILENO, NULL);
		}
	}
	g_free(message);
	return 0;
}

static inline struct symbols *open_wrong_helper(enum wrong_answer wrong)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	struct helpers_options options = { .program = self, .uid = (uid_t)wrong };

	return symbols_create(&remote_source, remote_create(&options), 0);
}

/* ---- */

static inline int set_up(void **state)
{
	struct world *world = g_new0(struct world, 1);
	struct proc_kernel kernel;

	world->arena = symbols_arena_create();
	symfixture_init(&world->fixture);
	if (proc_kernel(NULL, NULL, &kernel) != 0)
		return 1;
	memcpy(world->kernel_id, kernel.build_id, kernel.build_id_length);
	world->kernel.build_id = world->kernel_id;
	world->kernel.build_id_length = kernel.build_id_length;
	world->kernel.start = kernel.start;
	symfixture_write(&world->fixture, "program.c", program_c);
	if (!symfixture_run(&world->fixture, NULL,
		"gcc -g -O1 -Wl,--build-id -o program program.c"))
		return 1;
	world->id_length = symfixture_build_id_bytes(&world->fixture, "program", world->id,
		sizeof(world->id));
	world->offset = symfixture_offset(&world->fixture, "program",
		symfixture_find(&world->fixture, "program", "work").address);
	*state = world;
	return world->id_length == 0;
}

static inline int tear_down(void **state)
{
	struct world *world = *state;

	symfixture_fini(&world->fixture);
	symbols_arena_destroy(world->arena);
	g_free(world);
	return 0;
}

static inline int open_world(void **state)
{
	struct world *world = *state;

	world->symbols = open_symbols(HELPER);
	return 0;
}

/* Also after a failure, so that no later test meets a mount that does not answer. */
static inline void end_server(struct world *world)
{
	if (world->server) {
		kill(world->server, SIGKILL);
		assert_int_equal(waitpid(world->server, NULL, 0), world->server);
		umount2(world->mount, MNT_DETACH);
	}
	world->server = 0;
	g_clear_pointer(&world->mount, g_free);
}

static inline int close_world(void **state)
{
	struct world *world = *state;

	end_server(world);
	symbols_destroy(world->symbols);
	world->symbols = NULL;
	return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_world, close_world)

#endif

/* SPDX-License-Identifier: MIT */
/*
 * symbolizer/remote with the real kprof-symbols: files in all the states in which a profiler meets
 * them, and helpers that hang, die or lie. Called as kprof-symbols this program is such a liar
 * itself.
 */
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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <glib.h>

#include "base/units.h"
#include "symbolizer/result_wire.h"
#include "symbolizerd/local.h"
#include "symbolizer/remote.h"
#include "sys/proc.h"
#include "sys/procfile.h"
#include "tests/unit/symfixture.h"

#define HELPER TOP_BUILDDIR "/kprof-symbols"

/* So long anything may take here, on a slow machine with sanitizers. */
#define PATIENCE_NS (60 * NSEC_PER_SEC)

struct world {
	struct symfixture fixture;
	struct symbols *symbols;
	struct symbols_arena *arena;
	uint8_t kernel_id[64];
	struct symbols_kernel kernel; /* the running one */
	uint8_t id[64];		      /* of "program" */
	size_t id_length;
	uint64_t offset; /* of "work" in it */
};

/*
 * ---- a process that has the program mapped
 * -------------------------------------------------------
 */

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

struct running {
	pid_t pid; /* of what was started */
	int in;	   /* closing it ends the program */
	struct symbols_mapping mapping;
	unsigned int inner_pid; /* as the program itself sees it */
};

/* Runs a shell command that ends in executing the program. */
static void start_program(const struct symfixture *fixture, struct running *running,
	const char *command)
{
	char *arguments[] = { (char *)"sh", (char *)"-c", (char *)command, NULL };
	char line[128] = "";
	uint64_t start = 0, end = 0;
	int out;
	FILE *in;

	memset(running, 0, sizeof(*running));
	assert_true(g_spawn_async_with_pipes(fixture->dir, arguments, NULL,
		G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &running->pid,
		&running->in, &out, NULL, NULL));
	in = fdopen(out, "r");
	assert_non_null(in);
	if (!fgets(line, sizeof(line), in) ||
		sscanf(line, "%u %" SCNx64 " %" SCNx64, &running->inner_pid, &start, &end) != 3)
		fail_msg("%s: it said %s", command, line);
	fclose(in);
	running->mapping.pid = (uint32_t)running->pid;
	running->mapping.start = start;
	running->mapping.end = end;
}

static void end_program(struct running *running)
{
	close(running->in);
	assert_int_equal(waitpid(running->pid, NULL, 0), running->pid);
}

/*
 * ---- questions --------------------------------------------------------------------------------
 */

static struct symbols *open_symbols(const char *program)
{
	struct helpers_options options = { .program = program };

	return symbols_create(&remote_source, remote_create(&options), 0);
}

static int ask(struct world *world, const struct symbols_file *file, uint64_t offset,
	unsigned int flags, struct symbols_place *place)
{
	struct symbols_how how = { .flags = flags, .cancel_fd = -1,
		.deadline_ns = proto_now_ns() + PATIENCE_NS };

	return symbols_resolve(world->symbols, file, &offset, 1, &how, world->arena, place);
}

/* expected NULL: nothing can be told */
static void expect(struct world *world, const struct symbols_file *file, uint64_t offset,
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

static struct symbols_file describe(const struct world *world, const char *path, bool with_id,
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

static bool is_root(void)
{
	return geteuid() == 0;
}

/*
 * ---- files ------------------------------------------------------------------------------------
 */

static void test_file_has_names(void **state)
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

/*
 * One arena: equal texts are one pointer. What is very long is cut on its way through another
 * process.
 */
static void check_same(const char *here, const char *there)
{
	if (strlen(here) <= SYMBOLS_TEXT_MAX) {
		assert_ptr_equal(here, there);
		return;
	}
	assert_int_equal(strlen(there), SYMBOLS_TEXT_MAX);
	assert_memory_equal(here, there, SYMBOLS_TEXT_MAX);
}

/* Every offset of a large program, so that it takes several messages: as without processes. */
static void test_many_offsets_have_the_names_of_the_local_parser(void **state)
{
	struct world *world = *state;
	struct symbols *local = symbols_create(&local_source, NULL, 0);
	struct symbols_file file = describe(world, "/proc/self/exe", false, NULL);
	struct symbols_how how = { .flags = SYMBOLS_LINES, .cancel_fd = -1 };
	const size_t count = 30000;
	g_autofree uint64_t *offsets = g_new(uint64_t, count);
	g_autofree struct symbols_place *here = g_new(struct symbols_place, count);
	g_autofree struct symbols_place *there = g_new(struct symbols_place, count);
	g_autofree char *path = g_file_read_link("/proc/self/exe", NULL);
	size_t i, named = 0;
	struct stat st;
	uint32_t k;

	/* all over the file, wherever its compiler put the functions */
	file.path = path;
	assert_int_equal(stat(path, &st), 0);
	for (i = 0; i < count; i++)
		offsets[i] = (count - i) * ((uint64_t)st.st_size / count);
	assert_int_equal(symbols_resolve(local, &file, offsets, count, &how, world->arena, here), 0);
	assert_int_equal(symbols_resolve(world->symbols, &file, offsets, count, &how, world->arena,
		there), 0);
	for (i = 0; i < count; i++) {
		assert_int_equal(here[i].count, there[i].count);
		assert_int_equal(here[i].start, there[i].start);
		named += here[i].count > 0;
		for (k = 0; k < here[i].count; k++) {
			check_same(here[i].frames[k].function, there[i].frames[k].function);
			assert_ptr_equal(here[i].frames[k].source, there[i].frames[k].source);
			assert_int_equal(here[i].frames[k].line, there[i].frames[k].line);
		}
	}
	assert_true(named > 1000);
	symbols_destroy(local);
}

static void test_deleted_file_has_names(void **state)
{
	struct world *world = *state;
	g_autofree char *path = NULL;
	g_autofree char *deleted = NULL;
	g_autofree char *other = NULL;
	struct symbols_file file;
	struct running running;

	if (!is_root())
		skip();
	path = symfixture_path(&world->fixture, "gone");
	deleted = g_strdup_printf("%s (deleted)", path);
	other = symfixture_path(&world->fixture, "other_name");
	assert_true(symfixture_run(&world->fixture, NULL, "cp program gone"));
	start_program(&world->fixture, &running, "exec ./gone");
	assert_int_equal(unlink(path), 0);
	file = describe(world, path, true, &running.mapping);
	expect(world, &file, world->offset, "work");
	/* without a build-id its name must do */
	file.build_id_length = 0;
	expect(world, &file, world->offset, "work");
	file.path = deleted;
	expect(world, &file, world->offset, "work");
	file.path = other;
	expect(world, &file, world->offset, NULL);
	/* pids and addresses of another boot */
	file = describe(world, path, true, &running.mapping);
	file.kernel = NULL;
	expect(world, &file, world->offset, NULL);
	file.kernel = &world->kernel;
	world->kernel.start ^= 0x200000;
	expect(world, &file, world->offset, NULL);
	world->kernel.start ^= 0x200000;
	/* gone for good */
	end_program(&running);
	expect(world, &file, world->offset, NULL);
}

/* A package was upgraded: the name leads to another file now. */
static void test_replaced_file_keeps_its_names(void **state)
{
	struct world *world = *state;
	g_autofree char *path = NULL;
	struct symbols_file file;
	struct running running;

	if (!is_root())
		skip();
	path = symfixture_path(&world->fixture, "upgraded");
	assert_true(symfixture_run(&world->fixture, NULL,
		"cp program upgraded && gcc -O0 -Wl,--build-id -x c -o newer - <<-'END'\n"
		"	int before(void) { return 7; }\n"
		"	int wrong(void) { return before() * 3; }\n"
		"	int main(void) { return wrong(); }\n"
		"	END"));
	start_program(&world->fixture, &running, "exec ./upgraded");
	assert_true(symfixture_run(&world->fixture, NULL, "mv newer upgraded"));
	file = describe(world, path, true, &running.mapping);
	expect(world, &file, world->offset, "work");
	file.mapping_count = 0;
	expect(world, &file, world->offset, NULL);
	end_program(&running);
}

struct id_row {
	int line;
	bool elsewhere; /* the capture is of another kernel */
	/* what was recorded, as it differs from the file: added to what is there */
	unsigned int inode, generation, minor, size;
	int64_t mtime_ns;   /* INT64_MIN: not recorded, nor the size */
	int64_t mapped_ns;  /* when it was mapped, from its modification on; INT64_MIN: not known */
	bool replaced;
};

#define NOT INT64_MIN

static const struct id_row id_rows[] = {
	{ __LINE__, false, 0, 0, 0, 0, NOT, NOT, false },
	{ __LINE__, false, 0, 0, 0, 0, NOT, 1, false },
	{ __LINE__, false, 0, 0, 0, 0, NOT, 0, false },
	{ __LINE__, false, 0, 0, 0, 0, NOT, -1, true }, /* modified later */
	{ __LINE__, false, 1, 0, 0, 0, NOT, 1, true },
	{ __LINE__, false, 0, 0, 1, 0, NOT, 1, true },
	{ __LINE__, false, 0, 0, 0, 0, 0, -1, false }, /* what was recorded counts more */
	{ __LINE__, false, 0, 0, 0, 1, 0, 1, true },
	{ __LINE__, false, 0, 0, 0, 0, 1, 1, true },
	/* inodes and clocks of another machine say nothing */
	{ __LINE__, true, 1, 0, 1, 0, NOT, -1, false },
	{ __LINE__, true, 1, 0, 1, 0, 0, -1, false },
	{ __LINE__, true, 1, 0, 1, 1, 0, 1, true },
	{ __LINE__, true, 1, 0, 1, 0, 1, 1, true },
};

static void check_id(struct world *world, const struct id_row *row, const char *path,
	const struct procfile_id *id)
{
	struct symbols_file file = describe(world, path, false, NULL);
	struct symbols_place place;

	file.id = (struct symbols_file_id){
		.dev_major = id->dev_major,
		.dev_minor = id->dev_minor + row->minor,
		.inode = id->inode + row->inode,
		.size = row->mtime_ns == NOT ? 0 : id->size + row->size,
		.mtime_ns = row->mtime_ns == NOT ? 0 : id->mtime_ns + (uint64_t)row->mtime_ns,
	};
	file.mapped_ns = row->mapped_ns == NOT ? 0 : id->mtime_ns + (uint64_t)row->mapped_ns;
	if (row->elsewhere)
		world->kernel.start ^= 0x200000;
	assert_int_equal(ask(world, &file, world->offset, 0, &place), 0);
	if (row->elsewhere)
		world->kernel.start ^= 0x200000;
	if (place.replaced != row->replaced || place.count != !row->replaced)
		fail_msg("row of line %d: replaced %d, frames %u", row->line, place.replaced,
			place.count);
}

/* Without a build-id a file is told by its inode, and by when it was modified. */
static void test_file_without_build_id_is_told_by_its_inode(void **state)
{
	struct world *world = *state;
	g_autofree char *path = NULL;
	struct procfile_id id;
	struct stat st;
	size_t i;
	int fd;

	if (!is_root())
		skip();
	assert_true(symfixture_run(&world->fixture, NULL,
		"objcopy --remove-section .note.gnu.build-id program without"));
	path = symfixture_path(&world->fixture, "without");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	assert_int_equal(procfile_identify("/proc", fd, &id), 0);
	close(fd);
	assert_int_equal(id.inode, st.st_ino); /* as far as this file system tells the same to both */
	assert_int_equal(id.size, st.st_size);
	assert_int_equal(id.mtime_ns / NSEC_PER_SEC, st.st_mtim.tv_sec);
	for (i = 0; i < G_N_ELEMENTS(id_rows); i++)
		check_id(world, &id_rows[i], path, &id);
}

/* In a container: the host has nothing at that path, or something else. */
static void test_file_in_another_mount_namespace_has_names(void **state)
{
	struct world *world = *state;
	g_autofree char *path = NULL;
	struct symbols_file file;
	struct running running;
	struct stat st;

	if (!is_root() || !symfixture_run(&world->fixture, NULL, "unshare -m true"))
		skip();
	path = symfixture_path(&world->fixture, "inside/program");
	assert_true(symfixture_run(&world->fixture, NULL, "mkdir inside"));
	start_program(&world->fixture, &running,
		"exec unshare -m sh -c 'mount -t tmpfs none inside && cp program inside && "
		"exec inside/program'");
	assert_int_equal(stat(path, &st), -1);
	file = describe(world, path, true, &running.mapping);
	expect(world, &file, world->offset, "work");
	file.build_id_length = 0;
	expect(world, &file, world->offset, "work");
	/* a mapping that is no more: by its path in there */
	running.mapping.start += 0x1000;
	expect(world, &file, world->offset, "work");
	file.build_id_length = world->id_length;
	expect(world, &file, world->offset, "work");
	end_program(&running);
}

/* A stripped program whose debug file is where its distribution puts it, in its own root. */
static void test_debug_file_in_another_root_is_used(void **state)
{
	struct world *world = *state;
	g_autofree char *hex = NULL;
	struct symbols_file file;
	struct symbols_place place;
	struct running running;

	if (!is_root() || !symfixture_run(&world->fixture, NULL, "unshare -m true"))
		skip();
	hex = symfixture_build_id(&world->fixture, "program");
	assert_true(symfixture_run(&world->fixture, NULL,
		"mkdir -p root/proc root/bin root/usr/lib/debug/.build-id/%.2s && "
		"gcc -static -g -O2 -Wl,--build-id=0x%s -o whole program.c && "
		"objcopy --only-keep-debug whole root/usr/lib/debug/.build-id/%.2s/%s.debug && "
		"strip -o root/bin/program whole",
		hex, hex, hex, hex + 2));
	/* its own mount of /proc, where it finds its mappings */
	start_program(&world->fixture, &running,
		"exec unshare -m sh -c 'mount -t proc none root/proc && exec chroot root /bin/program'");
	file = describe(world, "/bin/program", true, &running.mapping);
	world->offset = symfixture_offset(&world->fixture, "whole",
		symfixture_find(&world->fixture, "whole", "work").address);
	assert_int_equal(ask(world, &file, world->offset, SYMBOLS_LINES, &place), 0);
	assert_int_equal(place.count, 1);
	assert_string_equal(place.frames[0].function, "work");
	assert_int_equal(place.frames[0].line, 5);
	end_program(&running);
	world->offset = symfixture_offset(&world->fixture, "program",
		symfixture_find(&world->fixture, "program", "work").address);
}

/* Stripped files that name their debug file: it lies beside them, or in a folder .debug. */
static void test_linked_debug_file_is_used(void **state)
{
	struct world *world = *state;
	g_autofree char *beside = symfixture_path(&world->fixture, "beside");
	g_autofree char *below = symfixture_path(&world->fixture, "below");
	struct symbols_file file;

	assert_true(symfixture_run(&world->fixture, NULL,
		"mkdir -p .debug && objcopy --only-keep-debug program beside.dbg && "
		"cp beside.dbg below.dbg && strip -o beside program && strip -o below program && "
		"objcopy --add-gnu-debuglink=beside.dbg beside && "
		"objcopy --add-gnu-debuglink=below.dbg below && mv below.dbg .debug"));
	file = describe(world, beside, true, NULL);
	expect(world, &file, world->offset, "work");
	file = describe(world, below, true, NULL);
	expect(world, &file, world->offset, "work");
	assert_true(symfixture_run(&world->fixture, NULL, "rm -r .debug"));
	world->offset += 1; /* not what is remembered */
	expect(world, &file, world->offset, NULL);
	world->offset -= 1;
}

/* Paths that are no file, or not to be opened: no names, no waiting, and nobody notices. */
static void test_paths_that_are_no_file_have_no_names(void **state)
{
	struct world *world = *state;
	g_autofree char *fifo = symfixture_path(&world->fixture, "fifo");
	g_autofree char *text = symfixture_path(&world->fixture, "program.c");
	g_autofree char *link = symfixture_path(&world->fixture, "loop");
	const char *const paths[] = { fifo, text, link, world->fixture.dir, "/nowhere/at/all",
		"/dev/zero", "/dev/tty", "/proc/self/exe/..", "[heap]", "//anon", "", "relative", "/",
		"/proc/1/root/etc/passwd", "/proc/self/fd/0" };
	uint64_t before = proto_now_ns();
	size_t i;

	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("loop", link), 0);
	for (i = 0; i < G_N_ELEMENTS(paths); i++) {
		struct symbols_file file = describe(world, paths[i], i % 2, NULL);

		expect(world, &file, 0x100, NULL);
	}
	assert_true(proto_now_ns() - before < HELPERS_OPEN_NS);
}

/*
 * ---- a file system that hangs
 * ----------------------------------------------------------------------
 */

static uint64_t count_of(struct symbols *symbols, const char *name)
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

static void test_hanging_file_system_delays_no_answer(void **state)
{
	struct world *world = *state;
	g_autofree char *mount = NULL;
	g_autofree char *path = NULL;
	char *arguments[] = { (char *)TOP_BUILDDIR "/kprofs", (char *)"-f", NULL, NULL };
	struct symbols_file file;
	uint64_t before, took;
	struct stat st;
	GPid server;
	int i;

	if (!is_root() || access("/dev/fuse", R_OK | W_OK) != 0)
		skip();
	mount = symfixture_path(&world->fixture, "mount");
	path = g_build_filename(mount, "kptrace", NULL);
	file = describe(world, path, true, NULL);
	arguments[2] = mount;
	assert_int_equal(mkdir(mount, 0700), 0);
	assert_true(g_spawn_async(NULL, arguments, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
		&server, NULL));
	for (i = 0; stat(path, &st) != 0 && i < 1000; i++)
		g_usleep(10000);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(kill(server, SIGSTOP), 0);
	before = proto_now_ns();
	expect(world, &file, 0x100, NULL);
	took = proto_now_ns() - before;
	/* not the patience of whoever asked, nor that for a file on a disk */
	assert_true(took >= HELPERS_PROCESS_NS && took < HELPERS_OPEN_NS);
	assert_in_range(count_of(world->symbols, "symbols.timeouts"), 1, 2); /* the place, and the file */
	/* not again, for a while; and others don't suffer */
	before = proto_now_ns();
	expect(world, &file, 0x100, NULL);
	test_file_has_names(state);
	assert_true(proto_now_ns() - before < HELPERS_OPEN_NS);
	kill(server, SIGCONT);
	kill(server, SIGTERM);
	assert_int_equal(waitpid(server, NULL, 0), server);
}

/*
 * ---- JITs -------------------------------------------------------------------------------------
 */

static void test_jit_code_has_names(void **state)
{
	struct world *world = *state;
	struct symbols_file file;
	struct running running;
	g_autofree char *path = NULL, *aside = NULL;

	start_program(&world->fixture, &running, "exec ./program");
	file = describe(world, "//anon", false, &running.mapping);
	file.kind = SYMBOLS_JIT;
	path = g_strdup_printf("/tmp/perf-%u.map", running.inner_pid);
	aside = symfixture_path(&world->fixture, "aside.map");
	expect(world, &file, 0x7f0000000010, NULL);
	assert_true(g_file_set_contents(path, "7f0000000000 20 compiled code\n", -1, NULL));
	expect(world, &file, 0x7f0000000010, "compiled code");
	expect(world, &file, 0x7f0000000020, NULL);
	/* it grows, and is read again */
	assert_true(g_file_set_contents(path,
		"7f0000000000 20 compiled code\n7f0000000020 20 more\n", -1, NULL));
	expect(world, &file, 0x7f0000000020, "more");
	/* of another machine */
	file.kernel = NULL;
	expect(world, &file, 0x7f0000000010, NULL);
	file.kernel = &world->kernel;
	/* a link, whoever made it */
	assert_int_equal(rename(path, aside), 0);
	assert_int_equal(symlink(aside, path), 0);
	expect(world, &file, 0x7f0000000010, NULL);
	assert_int_equal(unlink(path), 0);
	if (is_root()) {
		/* somebody else's */
		assert_true(symfixture_run(&world->fixture, NULL,
			"cp aside.map %s && chown 12345 %s", path, path));
		expect(world, &file, 0x7f0000000010, NULL);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(mkfifo(path, 0600), 0);
	expect(world, &file, 0x7f0000000010, NULL);
	assert_int_equal(unlink(path), 0);
	end_program(&running);
}

/* In a pid namespace, with a /tmp and a user of its own. */
static void test_jit_code_in_another_pid_namespace_has_names(void **state)
{
	struct world *world = *state;
	struct symbols_file file;
	struct running running;
	g_autofree char *children = NULL;
	g_autofree char *text = NULL;

	if (!is_root() || !symfixture_run(&world->fixture, NULL, "unshare -mpf true"))
		skip();
	assert_true(symfixture_run(&world->fixture, NULL, "chmod 755 ."));
	start_program(&world->fixture, &running,
		"exec unshare -mpf --mount-proc sh -c 'mount -t tmpfs none /dev/shm; D=$PWD; "
		"cp program /dev/shm/program; mount -t tmpfs none /tmp && "
		"echo 7f0000000000 20 inner >/tmp/perf-1.map && chown 12345 /tmp/perf-1.map && "
		"exec setpriv --reuid 12345 --clear-groups /dev/shm/program'");
	assert_int_equal(running.inner_pid, 1);
	/* unshare forks: the program is its child */
	children = g_strdup_printf("/proc/%d/task/%d/children", running.pid, running.pid);
	assert_true(g_file_get_contents(children, &text, NULL, NULL));
	running.mapping.pid = (uint32_t)strtoul(text, NULL, 10);
	assert_true(running.mapping.pid > 1);
	file = describe(world, "//anon", false, &running.mapping);
	file.kind = SYMBOLS_JIT;
	expect(world, &file, 0x7f0000000010, "inner");
	end_program(&running);
}

/*
 * ---- the kernel -------------------------------------------------------------------------------
 */

static void test_kernel_address_has_a_name(void **state)
{
	struct world *world = *state;
	struct symbols_file file = describe(world, "[kernel.kallsyms]", false, NULL);
	struct symbols_place place;
	g_autofree char *text = NULL;
	uint64_t address;

	file.kind = SYMBOLS_KERNEL;
	if (!world->kernel.start)
		skip();
	assert_true(symfixture_run(&world->fixture, &text,
		"grep -w vfs_read /proc/kallsyms | grep -v '\\['"));
	address = strtoull(text, NULL, 16);
	assert_true(address != 0);
	expect(world, &file, address, "vfs_read");
	assert_int_equal(ask(world, &file, address + 1, SYMBOLS_LINES, &place), 0);
	assert_int_equal(place.count, 1);
	assert_int_equal(place.start, address);
	file.path = "[no_such_module]";
	expect(world, &file, address, NULL);
	/* another kernel */
	file.path = "[kernel.kallsyms]";
	world->kernel_id[0] ^= 1;
	expect(world, &file, address, NULL);
	world->kernel_id[0] ^= 1;
	file.kernel = NULL;
	expect(world, &file, address, NULL);
}

static void test_vdso_address_has_a_name(void **state)
{
	struct world *world = *state;
	const char *vdso = (const char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	g_autofree char *path = NULL;
	struct symbols_file file = describe(world, "[vdso]", false, NULL), copy;
	g_autoptr(GArray) symbols = NULL;
	struct symbols_place place;
	uint32_t start, count;
	uint16_t size;

	if (!vdso || !world->kernel.start)
		skip();
	path = symfixture_path(&world->fixture, "vdso");
	/* the sections' heads end the file: e_shoff, e_shentsize, e_shnum */
	memcpy(&start, vdso + 40, sizeof(start));
	memcpy(&size, vdso + 58, sizeof(size));
	count = (uint8_t)vdso[60];
	assert_true(g_file_set_contents(path, vdso, (gssize)(start + size * count), NULL));
	symbols = symfixture_nm(&world->fixture, "vdso", "-D");
	assert_true(symbols->len > 0);
	file.kind = SYMBOLS_VDSO;
	copy = describe(world, path, false, NULL);
	assert_int_equal(ask(world, &copy,
		g_array_index(symbols, struct symfixture_symbol, 0).address, 0, &place), 0);
	assert_int_equal(place.count, 1);
	expect(world, &file, g_array_index(symbols, struct symfixture_symbol, 0).address,
		place.frames[0].function);
	file.kernel = NULL;
	expect(world, &file, g_array_index(symbols, struct symfixture_symbol, 0).address, NULL);
}

/*
 * ---- rights -----------------------------------------------------------------------------------
 */

static char *read_status(pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/status", pid);
	char *text = NULL;

	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return text;
}

/* A process of ours that runs kprof-symbols in this role, or its child; 0: none. */
static pid_t find_helper(pid_t parent, const char *role)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", parent, parent);
	g_autofree char *text = NULL;
	g_auto(GStrv) pids = NULL;
	int i;

	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	pids = g_strsplit(g_strchomp(text), " ", -1);
	for (i = 0; pids[i] && *pids[i]; i++) {
		g_autofree char *command = g_strdup_printf("/proc/%s/cmdline", pids[i]);
		g_autofree char *line = NULL;
		gsize length = 0;

		if (g_file_get_contents(command, &line, &length, NULL) && length &&
			strcmp(line, "kprof-symbols") == 0 &&
			strcmp(line + strlen(line) + 1, role) == 0)
			return (pid_t)atoi(pids[i]);
	}
	return 0;
}

static void has_line(const char *status, const char *line)
{
	if (!strstr(status, line))
		fail_msg("no line %s in %s", line, status);
}

static void test_helpers_have_no_rights(void **state)
{
	struct helpers_options options = { .program = HELPER };
	struct helpers *helpers = helpers_create(&options);
	struct proto_message *message = g_new0(struct proto_message, 1);
	struct proto_wait wait = { .cancel_fd = -1, .deadline_ns = proto_now_ns() + PATIENCE_NS };
	g_autofree char *status = NULL, *child_status = NULL, *opener_status = NULL;
	int connection, fd;
	pid_t parser;

	(void)state;
	connection = helpers_fork_parser(helpers, &wait);
	assert_true(connection >= 0);
	/* the child can't open what anybody may read */
	proto_init(message, PROTO_TRY_OPEN);
	assert_int_equal(proto_set_path(message, "/etc/passwd"), 0);
	assert_int_equal(proto_send(connection, message, -1, &wait), 0);
	assert_int_equal(proto_receive(connection, message, NULL, &wait), 0);
	assert_int_equal(message->head.type, PROTO_OPENED);
	assert_int_equal(message->head.error, -EPERM);
	parser = find_helper(getpid(), "parser");
	assert_true(parser > 0);
	status = read_status(parser);
	has_line(status, "\nCapPrm:\t0000000000000000\n");
	has_line(status, "\nCapEff:\t0000000000000000\n");
	has_line(status, "\nNoNewPrivs:\t1\n");
	has_line(status, "\nSeccomp:\t2\n");
	child_status = read_status(find_helper(parser, "parser"));
	has_line(child_status, "\nCapEff:\t0000000000000000\n");
	has_line(child_status, "\nSeccomp_filters:\t2\n");
	if (is_root()) {
		has_line(status, "\nUid:\t65534\t65534\t65534\t65534\n");
		has_line(child_status, "\nUid:\t65534\t65534\t65534\t65534\n");
	}
	proto_init(message, PROTO_OPEN_KERNEL);
	fd = helpers_open(helpers, message, &wait);
	assert_true(fd >= 0);
	opener_status = read_status(find_helper(getpid(), "opener"));
	has_line(opener_status, "\nSeccomp:\t2\n");
	has_line(opener_status, "\nNoNewPrivs:\t1\n");
	if (is_root()) /* checkpoint_restore, syslog, sys_ptrace, dac_read_search, if we had them */
		has_line(opener_status, "\nCapEff:\t0000010400080004\n");
	close(fd);
	close(connection);
	helpers_destroy(helpers);
	/* their connections are closed, and they are gone */
	assert_int_equal(find_helper(getpid(), "opener"), 0);
	assert_int_equal(find_helper(getpid(), "parser"), 0);
	g_free(message);
}

/* The answer never comes; whoever asked notices at once, and the next child is there. */
static void test_helper_killed_in_a_request_is_started_again(void **state)
{
	struct helpers_options options = { .program = HELPER };
	struct helpers *helpers = helpers_create(&options);
	struct proto_message *message = g_new0(struct proto_message, 1);
	struct proto_wait wait = { .cancel_fd = -1, .deadline_ns = proto_now_ns() + PATIENCE_NS };
	int one = helpers_fork_parser(helpers, &wait), two;
	struct helpers_counts counts;

	(void)state;
	assert_true(one >= 0);
	helpers_kill_parser(helpers);
	proto_init(message, PROTO_VDSO);
	/* it may still have been sent: what counts is that the answer's end is seen */
	(void)proto_send(one, message, -1, &wait);
	assert_int_equal(proto_receive(one, message, NULL, &wait), -EPIPE);
	two = helpers_fork_parser(helpers, &wait);
	assert_true(two >= 0);
	proto_init(message, PROTO_VDSO);
	assert_int_equal(proto_send(two, message, -1, &wait), 0);
	assert_int_equal(proto_receive(two, message, NULL, &wait), 0);
	assert_int_equal(message->head.type, PROTO_INFO);
	helpers_count(helpers, &counts);
	assert_int_equal(counts.started, 2);
	assert_int_equal(counts.killed, 1);
	close(one);
	close(two);
	helpers_destroy(helpers);
	g_free(message);
}

/* All helpers are killed between two questions: the next one is answered. */
static void test_killed_helpers_are_started_again(void **state)
{
	struct world *world = *state;
	const char *const roles[] = { "opener", "parser" };
	pid_t pid;
	size_t i;

	test_file_has_names(state);
	for (i = 0; i < G_N_ELEMENTS(roles); i++) {
		pid = find_helper(getpid(), roles[i]);
		assert_true(pid > 0);
		kill(pid, SIGKILL);
	}
	test_file_has_names(state);
	assert_int_equal(count_of(world->symbols, "symbols.helpers.started"), 4);
}

/* A name of Rust with 62^10 lifetimes in it: its file has no names, counted, and soon. */
static void test_endless_name_is_counted_and_ends_soon(void **state)
{
	struct world *world = *state;
	const struct symfixture *fixture = &world->fixture;
	g_autofree char *path = symfixture_path(fixture, "odd");
	g_autofree char *good = symfixture_path(fixture, "program");
	struct symbols_file file = describe(world, path, false, NULL);
	const char *name = "_RNvMIC1aFGzzzzzzzzzz_EuEm1f";
	uint64_t offset;

	assert_true(symfixture_run(fixture, NULL,
		"echo 'int work(int) __asm__(\"%s\"); int work(int x) { return x; } int main(void) {}' |"
		"cc -x c -o odd -", name));
	offset = symfixture_offset(fixture, "odd", symfixture_find(fixture, "odd", name).address);
	expect(world, &file, offset, NULL);
	assert_int_equal(count_of(world->symbols, "symbols.parser_failures"), 1);
	file = describe(world, good, true, NULL);
	expect(world, &file, world->offset, "work");
}

/*
 * ---- waiting ----------------------------------------------------------------------------------
 */

static void test_cancelled_request_ends_at_once(void **state)
{
	struct world *world = *state;
	g_autofree char *path = symfixture_path(&world->fixture, "program");
	struct symbols_file file = describe(world, path, true, NULL);
	struct symbols_how how = { .cancel_fd = -1, .deadline_ns = 1 };
	struct symbols_place place;
	int cancel[2];

	assert_int_equal(symbols_resolve(world->symbols, &file, &world->offset, 1, &how,
		world->arena, &place), -ETIMEDOUT);
	assert_int_equal(place.count, 0);
	assert_int_equal(count_of(world->symbols, "symbols.helpers.started"), 0);
	assert_int_equal(pipe(cancel), 0);
	assert_int_equal(write(cancel[1], "x", 1), 1);
	how.cancel_fd = cancel[0];
	how.deadline_ns = 0;
	assert_int_equal(symbols_resolve(world->symbols, &file, &world->offset, 1, &how,
		world->arena, &place), -ECANCELED);
	/* nor is a helper started for it, or ended */
	assert_int_equal(count_of(world->symbols, "symbols.helpers.started"), 0);
	assert_int_equal(count_of(world->symbols, "symbols.helpers.killed"), 0);
	close(cancel[0]);
	close(cancel[1]);
	/* that nobody wanted to wait is nothing against the file */
	test_file_has_names(state);
}

static void expect_nothing(struct world *world)
{
	g_autofree char *path = symfixture_path(&world->fixture, "program");
	struct symbols_file file = describe(world, path, true, NULL);

	file.build_id = world->kernel_id;
	file.build_id_length = MAX(world->kernel.build_id_length, 1);
	expect(world, &file, world->offset, NULL);
}

static void *ask_often(void *arg)
{
	struct world world = *(const struct world *)arg;
	void *state = &world;
	int i;

	world.arena = symbols_arena_create();
	for (i = 0; i < 20; i++) {
		test_file_has_names(&state);
		expect_nothing(&world);
	}
	symbols_arena_destroy(world.arena);
	return NULL;
}

static void test_threads_may_ask_at_once(void **state)
{
	GThread *threads[4];
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("asker", ask_often, *state);
	for (i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
}

/*
 * ---- debuginfod -------------------------------------------------------------------------------
 */

/* A stripped file whose debug file only a server has; the server is a folder, as file:// is one. */
static void ask_server(struct world *world, bool client)
{
	g_autofree char *path = symfixture_path(&world->fixture, "bare");
	g_autofree char *hex = symfixture_build_id(&world->fixture, "program");
	g_autofree char *urls = g_strdup_printf("file://%s/server", world->fixture.dir);
	g_autofree char *home = symfixture_path(&world->fixture, "home");
	struct helpers_options options = { .program = HELPER, .debuginfod_urls = urls, .home = home,
		.uid = geteuid(), .gid = getegid() };
	struct symbols_file file = describe(world, path, true, NULL);
	struct symbols *asks;

	/* for whoever would ask behind our back */
	setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("HOME", home, 1);
	assert_true(symfixture_run(&world->fixture, NULL,
		"mkdir -p home server/buildid/%s && strip -o bare program && "
		"objcopy --only-keep-debug program server/buildid/%s/debuginfo", hex, hex));
	expect(world, &file, world->offset, NULL);
	assert_int_equal(count_of(world->symbols, "symbols.helpers.started"), 2);
	assert_true(symfixture_run(&world->fixture, NULL, "test -z \"$(ls -A home)\""));
	if (!client)
		return;
	asks = symbols_create(&remote_source, remote_create(&options), 0);
	symbols_destroy(world->symbols);
	world->symbols = asks;
	expect(world, &file, world->offset, "work");
	assert_int_equal(count_of(asks, "symbols.helpers.started"), 3);
}

static void test_debuginfod_server_gives_names(void **state)
{
	struct world *world = *state;
	bool client = symfixture_can(&world->fixture, "ldconfig -p | grep -q libdebuginfod");

	ask_server(world, client);
	if (!client)
		skip();
}

/*
 * ---- liars ------------------------------------------------------------------------------------
 */

enum lie {
	LIE_NONE = 1000,
	LIE_INDEX,	/* an answer to no question */
	LIE_TWICE,	/* two answers to one */
	LIE_FRAMES,	/* more than was asked for */
	LIE_GARBAGE,	/* bytes that are no answer */
	LIE_TYPE,	/* a message out of place */
	LIE_END,	/* no more */
	LIE_SILENCE,	/* no answer at all */
	LIE_DESCRIPTOR, /* descriptors that nobody asked for */
	LIE_ENDLESS,	/* names without an end */
};

static void lie_about(int fd, struct proto_message *message, enum lie lie)
{
	struct symbols_frame frames[2] = { { "first", NULL, 0 }, { "second", NULL, 0 } };
	struct symbols_place place = { frames, lie == LIE_FRAMES ? 2 : 1, 0, 0 };
	uint8_t *bytes = message->tail.bytes;
	char name[SYMBOLS_TEXT_MAX + 1];
	uint32_t i;

	proto_init(message, PROTO_RESULTS);
	message->head.count = (uint32_t)result_wire_write(
		bytes, PROTO_BYTES_MAX, lie == LIE_INDEX ? 1 : 0, &place);
	if (lie == LIE_GARBAGE)
		memset(bytes, 0xff, message->head.count);
	if (lie == LIE_END)
		_exit(0); /* not the test's own end: nothing is tidied up */
	if (lie == LIE_TYPE)
		proto_init(message, PROTO_INFO), proto_set_path(message, "");
	if (lie == LIE_SILENCE)
		pause();
	for (i = 0; lie == LIE_ENDLESS; i++) {
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
	proto_send(fd, message, lie == LIE_DESCRIPTOR ? STDIN_FILENO : -1, NULL);
	if (lie == LIE_TWICE)
		proto_send(fd, message, -1, NULL);
	proto_init(message, PROTO_DONE);
	proto_send(fd, message, -1, NULL);
}

static void lie_as_child(int fd, struct proto_message *message, enum lie lie)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!proto_receive(fd, message, NULL, NULL)) {
		if (message->head.type == PROTO_RESOLVE) {
			lie_about(fd, message, lie);
		} else if (message->head.type != PROTO_OFFSETS) {
			proto_init(message, PROTO_INFO);
			message->head.flags = PROTO_HAS_SYMBOLS;
			proto_set_path(message, "../../etc/shadow");
			proto_send(fd, message, -1, NULL);
		}
	}
	_exit(0);
}

/* As kprof-symbols, whose UID argument says which lie. */
static int lie_as_helper(const char *role, enum lie lie)
{
	struct proto_message *message = g_new0(struct proto_message, 1);
	int fd;

	signal(SIGCHLD, SIG_IGN);
	/* a test that fails leaves nobody behind */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!proto_receive(3, message, &fd, NULL)) {
		if (strcmp(role, "parser") == 0) {
			if (fork() == 0)
				lie_as_child(fd, message, lie);
			close(fd);
		} else {
			proto_init(message, PROTO_OPENED);
			proto_send(3, message, STDIN_FILENO, NULL);
		}
	}
	g_free(message);
	return 0;
}

struct lie_row {
	int line;
	enum lie lie;
	const char *expected;
	int ret;
};

static const struct lie_row lie_rows[] = {
	{ __LINE__, LIE_NONE, "first", 0 }, /* the others fail because of what is wrong with them */
	{ __LINE__, LIE_INDEX, NULL, 0 },
	{ __LINE__, LIE_TWICE, "first", 0 }, /* it counts until the lie */
	{ __LINE__, LIE_FRAMES, NULL, 0 },
	{ __LINE__, LIE_GARBAGE, NULL, 0 },
	{ __LINE__, LIE_TYPE, NULL, 0 },
	{ __LINE__, LIE_END, NULL, 0 },
	{ __LINE__, LIE_SILENCE, NULL, -ETIMEDOUT },
	{ __LINE__, LIE_DESCRIPTOR, "first", 0 },
};

static unsigned int count_descriptors(void)
{
	unsigned int count = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static struct symbols *open_liar(enum lie lie)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	struct helpers_options options = { .program = self, .uid = (uid_t)lie };

	return symbols_create(&remote_source, remote_create(&options), 0);
}

static void test_wrong_answers_give_no_names(void **state)
{
	struct world *world = *state;
	struct symbols_file file = describe(world, "/some/file", false, NULL);
	uint64_t offset = 0x100;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(lie_rows); i++) {
		const struct lie_row *row = &lie_rows[i];
		struct symbols *symbols = open_liar(row->lie);
		struct symbols_how how = { .cancel_fd = -1, .deadline_ns = proto_now_ns() +
			(row->ret ? 200 * NSEC_PER_MSEC : PATIENCE_NS) };
		struct symbols_place place;
		unsigned int before = count_descriptors();
		int ret = symbols_resolve(symbols, &file, &offset, 1, &how, world->arena, &place);
		const char *got = place.count ? place.frames[0].function : NULL;

		if (ret != row->ret || g_strcmp0(got, row->expected) != 0)
			fail_msg("row of line %d: %d, %s", row->line, ret, got ? got : "-");
		/* opener and parser */
		assert_true(count_descriptors() <= before + 2);
		symbols_destroy(symbols);
	}
}

/* Answers that would fill the memory are not taken to their end. */
static void test_endless_answers_are_bounded(void **state)
{
	struct world *world = *state;
	struct symbols_file file = describe(world, "/some/file", false, NULL);
	struct symbols *symbols = open_liar(LIE_ENDLESS);
	struct symbols_how how = { .cancel_fd = -1, .deadline_ns = proto_now_ns() + PATIENCE_NS };
	const size_t count = 100;
	uint64_t offsets[100] = { 0 };
	struct symbols_place places[100];

	assert_int_equal(symbols_resolve(symbols, &file, offsets, count, &how, world->arena, places),
		0);
	assert_true(symbols_arena_bytes(world->arena) < 4 * MIB);
	symbols_destroy(symbols);
}

/*
 * ---- no helpers -------------------------------------------------------------------------------
 */

static void test_missing_helper_gives_no_names(void **state)
{
	struct world *world = *state;

	symbols_destroy(world->symbols);
	world->symbols = open_symbols("/nonexistent/kprof-symbols");
	expect_nothing(world);
	symbols_destroy(world->symbols);
	world->symbols = open_symbols("/bin/false");
	expect_nothing(world);
}

/* ---- */

static int set_up(void **state)
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

static int tear_down(void **state)
{
	struct world *world = *state;

	symfixture_fini(&world->fixture);
	symbols_arena_destroy(world->arena);
	g_free(world);
	return 0;
}

static int open_world(void **state)
{
	struct world *world = *state;

	world->symbols = open_symbols(HELPER);
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	symbols_destroy(world->symbols);
	world->symbols = NULL;
	return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_world, close_world)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_file_has_names),
		TEST(test_many_offsets_have_the_names_of_the_local_parser),
		TEST(test_deleted_file_has_names),
		TEST(test_replaced_file_keeps_its_names),
		TEST(test_file_without_build_id_is_told_by_its_inode),
		TEST(test_file_in_another_mount_namespace_has_names),
		TEST(test_debug_file_in_another_root_is_used),
		TEST(test_linked_debug_file_is_used),
		TEST(test_paths_that_are_no_file_have_no_names),
		TEST(test_hanging_file_system_delays_no_answer),
		TEST(test_jit_code_has_names),
		TEST(test_jit_code_in_another_pid_namespace_has_names),
		TEST(test_kernel_address_has_a_name),
		TEST(test_vdso_address_has_a_name),
		TEST(test_helpers_have_no_rights),
		TEST(test_helper_killed_in_a_request_is_started_again),
		TEST(test_killed_helpers_are_started_again),
		TEST(test_endless_name_is_counted_and_ends_soon),
		TEST(test_cancelled_request_ends_at_once),
		TEST(test_threads_may_ask_at_once),
		TEST(test_debuginfod_server_gives_names),
		TEST(test_wrong_answers_give_no_names),
		TEST(test_endless_answers_are_bounded),
		TEST(test_missing_helper_gives_no_names),
	};

	if (argc == 4 && strcmp(argv[0], "kprof-symbols") == 0)
		return lie_as_helper(argv[1], (enum lie)atoi(argv[2]));
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

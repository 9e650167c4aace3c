/* SPDX-License-Identifier: MIT */
/*
 * symbolizer/remote with the real kprof-symbols: files in all states, JIT code, the kernel and the
 * vDSO have the right names.
 */
#include "tests/unit/sym_remote_fixture.h"

/* ---- a process that has the program mapped --------------------------------------------------- */

struct running {
	pid_t pid; /* of what was started */
	int in;	   /* closing it ends the program */
	struct symbols_mapping mapping;
	unsigned int inner_pid; /* in the program's own address space */
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

/* ---- files ----------------------------------------------------------------------------------- */

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

/*
 * Every offset of a large program, so that it takes several messages: the same names as without
 * processes.
 */
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

	/* all over the file, at any position of the functions */
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

/* Without a build-id a file is identified by its inode and the time of its last modification. */
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
	assert_int_equal(id.inode, st.st_ino); /* if this file system reports the same to both */
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

/* Stripped files name their debug file, which is beside them or in a folder .debug. */
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
	world->offset += 1; /* so that no stored result is used */
	expect(world, &file, world->offset, NULL);
	world->offset -= 1;
}

/* Paths that are not files, or must not be opened, give no names, no wait and no side effect. */
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

/* ---- a file system that hangs ---------------------------------------------------------------- */

static void test_hanging_file_system_delays_no_answer(void **state)
{
	struct world *world = *state;
	g_autofree char *path = NULL;
	char *arguments[] = { (char *)built_program("kprofs"), (char *)"-f", NULL, NULL };
	struct symbols_file file;
	uint64_t before, took;
	struct stat st;
	int i;

	if (!is_root() || access("/dev/fuse", R_OK | W_OK) != 0)
		skip();
	world->mount = symfixture_path(&world->fixture, "mount");
	path = g_build_filename(world->mount, "kptrace", NULL);
	file = describe(world, path, true, NULL);
	arguments[2] = world->mount;
	assert_int_equal(mkdir(world->mount, 0700), 0);
	assert_true(g_spawn_async(NULL, arguments, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL,
		&world->server, NULL));
	for (i = 0; stat(path, &st) != 0 && i < 1000; i++)
		g_usleep(10000);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(kill(world->server, SIGSTOP), 0);
	before = proto_now_ns();
	expect(world, &file, 0x100, NULL);
	took = proto_now_ns() - before;
	/* neither the deadline of the request nor that for a file on a disk */
	assert_true(took >= HELPERS_PROCESS_NS && took < HELPERS_OPEN_NS);
	assert_in_range(count_of(world->symbols, "symbols.timeouts"), 1, 2); /* the place, and the file */
	/* not again for a while, and other files are not delayed */
	before = proto_now_ns();
	expect(world, &file, 0x100, NULL);
	test_file_has_names(state);
	assert_true(proto_now_ns() - before < HELPERS_OPEN_NS);
}

/* ---- JITs ------------------------------------------------------------------------------------ */

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
	/* a link, of any user */
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

/* ---- the kernel ------------------------------------------------------------------------------ */

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

/* ---- functions by name ----------------------------------------------------------------------- */

struct found {
	uint64_t offset; /* the last one */
	unsigned int count, most;
};

static int count_function(void *arg, const struct proto_found *place)
{
	struct found *found = arg;

	found->offset = place->offset;
	return ++found->count == found->most ? 7 : 0;
}

static int find(const char *path, const char *pattern, struct found *found, int *fd)
{
	const struct helpers_options options = { .program = HELPER };
	const struct file_functions_query query = { .path = path, .pattern = pattern,
		.each = count_function, .arg = found };
	struct helpers *helpers = helpers_create(&options);
	struct err err = { "" };
	int ret;

	*fd = -1;
	ret = file_functions(helpers, &query, fd, &err);
	helpers_destroy(helpers);
	return ret;
}

static void test_functions_of_a_file_are_found_by_name(void **state)
{
	struct world *world = *state;
	g_autofree char *path = symfixture_path(&world->fixture, "program");
	g_autofree char *text = symfixture_path(&world->fixture, "no-elf");
	g_autofree char *own = g_file_read_link("/proc/self/exe", NULL);
	struct found found = { 0 };
	int fd;

	assert_int_equal(find(path, "wor?", &found, &fd), 0);
	assert_int_equal(found.count, 1);
	assert_true(found.offset == world->offset);
	assert_true(fd >= 0);
	close(fd);
	found = (struct found){ 0 };
	assert_int_equal(find(path, "no_such*", &found, &fd), 0);
	assert_int_equal(found.count, 0);
	close(fd);
	/* the value of the callback ends it; this program has many functions, in several messages */
	found = (struct found){ .most = 3 };
	assert_int_equal(find(own, "*", &found, &fd), 7);
	assert_int_equal(found.count, 3);
	close(fd);
	assert_true(g_file_set_contents(text, "no ELF file", -1, NULL));
	assert_int_equal(find(text, "*", &found, &fd), -EINVAL);
	assert_int_equal(fd, -1);
	assert_int_equal(find("/no/such/file", "*", &found, &fd), -ENOENT);
	assert_int_equal(fd, -1);
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

int main(void)
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
		TEST(test_functions_of_a_file_are_found_by_name),
		TEST(test_vdso_address_has_a_name),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: MIT */
/*
 * sys/proc: processes of a fixture and of this machine, the kernel and its modules are read correctly.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/lines.h"
#include "sys/proc.h"
#include "sys/proc_maps.h"
#include "sys/uevent.h"
#include "sys/users.h"

/* ---- a directory that stands for /proc and /sys ------------------------------------------------ */

static char root[32];

static void put_bytes(const char *path, const void *bytes, size_t size)
{
	char full[256], *slash;
	int fd;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(full, 0700))
			assert_int_equal(errno, EEXIST);
		*slash = '/';
	}
	if (!bytes) {
		assert_int_equal(mkdir(full, 0700), 0);
		return;
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

static void put(const char *path, const char *content)
{
	put_bytes(path, content, content ? strlen(content) : 0);
}

static void put_link(const char *path, const char *target)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	assert_int_equal(symlink(target, full), 0);
}

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/test_proc.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_tree(const char *path)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execlp("rm", "rm", "-rf", path, (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return status;
}

static int remove_root(void **state)
{
	(void)state;
	return remove_tree(root);
}

/* ---- what a walk visited, as text ----------------------------------------------------------------- */

struct log {
	char text[16384];
	size_t length;
	int stop_after; /* calls, 0 if never */
	int stop_value;
};

__attribute__((format(printf, 2, 3))) static int say(struct log *log, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	log->length += vsnprintf(log->text + log->length, sizeof(log->text) - log->length, format, ap);
	va_end(ap);
	assert_true(log->length < sizeof(log->text));
	if (log->stop_after && !--log->stop_after)
		return log->stop_value;
	return 0;
}

static int log_process(void *arg, const struct proc_process *process)
{
	return say(arg, "P %d '%s' '%s'\n", process->pid, process->comm, process->exe);
}

static int log_thread(void *arg, const struct proc_thread *thread)
{
	return say(arg, "T %d %d '%s'\n", thread->pid, thread->tid, thread->comm);
}

static int log_mapping(void *arg, const struct proc_mapping *mapping)
{
	return say(arg, "M %d %" PRIx64 "+%" PRIx64 "@%" PRIx64 " %x:%x %" PRIu64 " '%s'\n",
		mapping->pid, mapping->start, mapping->size, mapping->offset, mapping->dev_major,
		mapping->dev_minor, mapping->inode, mapping->path);
}

static struct log visited;
static const struct proc_visitor logger = { log_process, log_thread, log_mapping, &visited };

static int visit_one(const char *proc, pid_t pid, const struct proc_visitor *visitor)
{
	struct proc_reader *reader;
	int ret = proc_reader_create(proc, visitor, &reader);

	if (ret)
		return ret;
	ret = proc_reader_visit(reader, pid, true);
	proc_reader_destroy(reader);
	return ret;
}

static int visit_next(void *arg, pid_t pid)
{
	int ret = proc_reader_visit(arg, pid, true);

	return ret == -ESRCH ? 0 : ret;
}

static int visit_all(const char *proc, const struct proc_visitor *visitor)
{
	struct proc_reader *reader;
	int ret = proc_reader_create(proc, visitor, &reader);

	if (ret)
		return ret;
	ret = proc_list(proc, visit_next, reader);
	proc_reader_destroy(reader);
	return ret;
}

/* ---- processes of the fixture ------------------------------------------------------------------ */

static const char maps_of_12[] =
	"55d0c8a00000-55d0c8a02000 r--p 00000000 fe:00 1234                       /usr/bin/app\n"
	"55d0c8a02000-55d0c8a07000 r-xp 00002000 fe:00 1234                       /usr/bin/app\n"
	"55d0c8a07000-55d0c8a08000 rw-p 00006000 fe:00 1234                       /usr/bin/app\n"
	"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
	"7f0000002000-7f0000003000 --xp 00000000 00:00 0                          [anon:jit code]\n"
	"7f0000004000-7f0000006000 r-xs 00010000 103:0a 18446744073709551615      /tmp/a b (deleted)\n"
	"7f0000007000-7f0000008000 r-xp 00000000 fe:00 77                         /tmp/new\\012line\\\n"
	"7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]\n"
	"7ffd00100000-7ffd00102000 r-xp 00000000 00:00 0                          [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static const char walk_of_12[] =
	"P 12 'app' '/usr/bin/app (deleted)'\n"
	"T 12 12 'app'\n"
	"M 12 55d0c8a02000+5000@2000 fe:0 1234 '/usr/bin/app'\n"
	"M 12 7f0000000000+1000@0 0:0 0 '//anon'\n"
	"M 12 7f0000002000+1000@0 0:0 0 '//anon'\n"
	"M 12 7f0000004000+2000@10000 103:a 18446744073709551615 '/tmp/a b (deleted)'\n"
	"M 12 7f0000007000+1000@0 fe:0 77 '/tmp/new\nline\\'\n"
	"M 12 7ffd00100000+2000@0 0:0 0 '[vdso]'\n";

/* The line as in proc(5): the 20th field is the number of threads, the 22nd the start time. */
static void put_stat(const char *path, const char *name, int threads)
{
	char text[200];

	snprintf(text, sizeof(text), "1 (%s) S 1 1 1 0 -1 9 9 9 9 9 9 9 9 9 20 0 %d 0 777 9 9\n", name,
		threads);
	put(path, text);
}

static void put_processes(void)
{
	put_stat("12/stat", "app", 1);
	put("12/maps", maps_of_12);
	put("12/task/12/comm", "app\n");
	put_link("12/exe", "/usr/bin/app (deleted)");
	/* a kernel thread: no exe, no mappings */
	put_stat("2/stat", "kworker/u8:3-events_power_efficient", 1);
	put("2/maps", "");
	/* a name that its owner chose to be unpleasant */
	put_stat("300/stat", "a\nb) (S", 2);
	put("300/maps", "junk\n\n5-4 r-xp 0 0:0 0 x\nzz-zz r-xp 0 0:0 0 x\n1000-2000 r-x 0 0:0 0 y\n");
	put("300/task/300/comm", "a\nb) (S\n");
	put("300/task/301/comm", "second\n");
	put("300/task/junk", "");
	/* these vanished: before anything, before the threads, in the middle of a thread */
	put("400", NULL);
	put_stat("401/stat", "gone", 2);
	put_stat("402/stat", "gone2", 2);
	put("402/task/402/comm", "gone2\n");
	put("402/task/403", NULL);
	/* no processes */
	put("meminfo", "12\n");
	put_stat("12345678901234567890/stat", "many", 1);
	put("0", NULL);
	put("12a", NULL);
}

/* The lines of one process, in the order of the walk; of all directories the order is open. */
static bool log_has(const char *block)
{
	const char *found = strstr(visited.text, block);

	return found && (found == visited.text || found[-1] == '\n');
}

static void test_walk_visits_processes_threads_and_mappings(void **state)
{
	(void)state;
	put_processes();
	memset(&visited, 0, sizeof(visited));
	assert_int_equal(visit_all(root, &logger), 0);
	assert_true(log_has(walk_of_12));
	assert_true(log_has("P 2 'kworker/u8:3-events_power_efficient' ''\n"
			       "T 2 2 'kworker/u8:3-events_power_efficient'\n"));
	assert_true(log_has("P 300 'a\nb) (S' ''\nT 300 30"));
	assert_true(log_has("T 300 300 'a\nb) (S'\n"));
	assert_true(log_has("T 300 301 'second'\n"));
	assert_true(log_has("P 401 'gone' ''\n"));
	assert_true(log_has("P 402 'gone2' ''\nT 402 402 'gone2'\n"));
	assert_null(strstr(visited.text, "M 300"));
	assert_null(strstr(visited.text, " 400"));
	assert_null(strstr(visited.text, "403"));
	assert_null(strstr(visited.text, "many"));
	assert_null(strstr(visited.text, "P 0"));

	/* one alone */
	memset(&visited, 0, sizeof(visited));
	assert_int_equal(visit_one(root, 12, &logger), 0);
	assert_string_equal(visited.text, walk_of_12);
	assert_int_equal(visit_one(root, 13, &logger), -ESRCH);
	assert_int_equal(visit_one(root, 400, &logger), -ESRCH);

	/* parts without a callback are not read */
	memset(&visited, 0, sizeof(visited));
	assert_int_equal(visit_one(root, 12,
				 &(struct proc_visitor){ .thread = log_thread, .arg = &visited }),
		0);
	assert_string_equal(visited.text, "T 12 12 'app'\n");
}

/*
 * The value that a callback returns ends the walk and is returned, also where it looks like a lost
 * process.
 */
static void test_value_of_a_callback_stops_the_walk(void **state)
{
	static const int values[] = { 1, -EINTR, -ENOENT, -ESRCH };
	size_t i;
	int after;

	(void)state;
	put_processes();
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		for (after = 1; after <= 8; after++) {
			memset(&visited, 0, sizeof(visited));
			visited.stop_after = after;
			visited.stop_value = values[i];
			assert_int_equal(visit_one(root, 12, &logger), values[i]);
			assert_int_equal(visited.stop_after, 0);
		}
	}
}

static void test_missing_proc_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(visit_all("/nonexistent", &logger), -ENOENT);
	assert_int_equal(visit_one("/nonexistent", 1, &logger), -ENOENT);
}

/* ---- processes of this machine ----------------------------------------------------------------- */

struct self {
	uint64_t text;	/* an address in this program */
	uint64_t jit;	/* an anonymous executable page */
	uint64_t vdso;
	int texts, jits, vdsos, threads, processes;
	unsigned char build_id[PROC_BUILD_ID_MAX];
	uint8_t build_id_length;
	char path[4096];
	char exe[4096];
	uid_t uid;
	pid_t second; /* the tid of another thread */
	bool second_seen;
};

static int find_process(void *arg, const struct proc_process *process)
{
	struct self *self = arg;

	self->processes++;
	self->uid = process->uid;
	snprintf(self->exe, sizeof(self->exe), "%s", process->exe);
	return 0;
}

static int find_thread(void *arg, const struct proc_thread *thread)
{
	struct self *self = arg;

	self->threads++;
	if (thread->tid == self->second && !strcmp(thread->comm, "the second"))
		self->second_seen = true;
	return 0;
}

static bool covers(const struct proc_mapping *mapping, uint64_t address)
{
	return address >= mapping->start && address - mapping->start < mapping->size;
}

static int find_mapping(void *arg, const struct proc_mapping *mapping)
{
	struct self *self = arg;

	if (covers(mapping, self->text)) {
		self->texts++;
		snprintf(self->path, sizeof(self->path), "%s", mapping->path);
		memcpy(self->build_id, mapping->build_id, mapping->build_id_length);
		self->build_id_length = mapping->build_id_length;
	}
	if (covers(mapping, self->jit)) {
		self->jits++;
		assert_string_equal(mapping->path, "//anon");
	}
	if (covers(mapping, self->vdso)) {
		self->vdsos++;
		assert_string_equal(mapping->path, "[vdso]");
	}
	return 0;
}

static pthread_barrier_t barrier;

static void *run_second(void *arg)
{
	*(pid_t *)arg = syscall(SYS_gettid);
	prctl(PR_SET_NAME, "the second");
	pthread_barrier_wait(&barrier); /* known */
	pthread_barrier_wait(&barrier); /* seen */
	return NULL;
}

/* The output's first line; "" where the command fails. */
static void ask(const char *command, char *text, size_t size)
{
	FILE *pipe = popen(command, "r");

	assert_non_null(pipe);
	if (!fgets(text, size, pipe))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	pclose(pipe);
}

/* By binutils, where they are there. */
static void check_build_id(const struct self *self)
{
	char command[4200], wanted[128], got[2 * PROC_BUILD_ID_MAX + 1] = "";
	unsigned int i;

	snprintf(command, sizeof(command), "readelf -n '%s' 2>/dev/null | sed -n 's/^ *Build ID: //p'",
		self->path);
	ask(command, wanted, sizeof(wanted));
	for (i = 0; i < self->build_id_length; i++)
		sprintf(got + 2 * i, "%02x", self->build_id[i]);
	/* a kernel before 6.11 and a file on a foreign file system give none */
	if (wanted[0] && got[0])
		assert_string_equal(got, wanted);
}

static void test_own_process_is_found(void **state)
{
	struct self self = { .text = (uintptr_t)test_own_process_is_found,
			     .vdso = getauxval(AT_SYSINFO_EHDR) };
	struct proc_visitor visitor = { find_process, find_thread, find_mapping, &self };
	size_t page = sysconf(_SC_PAGESIZE);
	char exe[4096], path[4096] = "";
	pthread_t thread;
	void *jit;

	(void)state;
	jit = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(jit != MAP_FAILED);
	self.jit = (uintptr_t)jit;
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, run_second, &self.second), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(visit_one(NULL, getpid(), &visitor), 0);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
	munmap(jit, page);

	/* the same but under valgrind, which is what others see, and shows us what it runs */
	ask("readlink /proc/$PPID/exe", exe, sizeof(exe));
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_int_equal(self.processes, 1);
	assert_int_equal(self.uid, geteuid());
	assert_string_equal(self.exe, exe);
	assert_string_equal(self.path, path);
	assert_int_equal(self.texts, 1);
	assert_int_equal(self.jits, 1);
	if (self.vdso)
		assert_int_equal(self.vdsos, 1);
	assert_in_range(self.threads, 2, 8); /* a sanitizer adds threads */
	assert_true(self.second_seen);
	check_build_id(&self);
}

/* The mappings of a process by either way. Returns whether the query is lacking. */
static bool read_maps(pid_t pid, bool no_query, struct log *log)
{
	struct proc_maps *maps = calloc(1, sizeof(*maps));
	bool lacking;
	char path[64];
	int fd;

	assert_non_null(maps);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	proc_maps_init(maps, "/nonexistent");
	maps->no_query = no_query;
	memset(log, 0, sizeof(*log));
	assert_int_equal(proc_maps_read(maps, fd, 1, log_mapping, log), 0);
	lacking = maps->no_query;
	close(fd);
	free(maps);
	return lacking;
}

/* By query and by text the same mappings come out, of a process that holds still. */
static void test_query_and_text_give_the_same_mappings(void **state)
{
	size_t page = sysconf(_SC_PAGESIZE);
	static struct log by_text;
	pid_t child;
	bool lacking;
	char *pages;

	(void)state;
	/* three executable ones without a gap */
	pages = mmap(NULL, 3 * page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + page, page, PROT_EXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	read_maps(child, true, &by_text);
	lacking = read_maps(child, false, &visited);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(pages, 3 * page);
	assert_true(by_text.length > 0);
	if (lacking)
		skip();
	assert_string_equal(visited.text, by_text.text);
}

/* ---- whose build-ids may be asked for ---------------------------------------------------------- */

static void test_trusted_devices_are_told_from_mountinfo(void **state)
{
	struct proc_maps *maps = calloc(1, sizeof(*maps));
	struct stat info;
	unsigned int own;

	(void)state;
	assert_non_null(maps);
	assert_int_equal(stat("/", &info), 0);
	own = major(info.st_dev) ? 0 : 1; /* the root's is always there */
	put("self/mountinfo",
		"21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
		"22 21 0:9001 / /tmp rw - tmpfs tmpfs rw\n"
		"23 21 0:9002 / /home/me/x rw,nosuid shared:2 master:1 - fuse.sshfs me@there: rw\n"
		"24 21 0:9003 / /net rw - nfs4 server:/ rw\n"
		"25 21 0:9004 / /var/lib/c/merged rw - overlay overlay rw,lowerdir=/a:/b\n"
		"26 21 0:9004 / /again rw - overlay overlay rw,lowerdir=/a:/b\n"
		"27 21 0:9005 / /btr\\040- fuse rw - btrfs /dev/vdb rw\n"
		"junk\n"
		"28 21 x:y / / rw - tmpfs tmpfs rw\n");
	proc_maps_init(maps, root);
	assert_int_equal(maps->device_count, own + 3);
	assert_int_equal(maps->devices[own], 9001);
	assert_int_equal(maps->devices[own + 1], 9004);
	assert_int_equal(maps->devices[own + 2], 9005);
	proc_maps_init(maps, "/nonexistent");
	assert_int_equal(maps->device_count, own);
	/* as in a chroot, whose mount table does not have the mount that its root is on */
	assert_string_equal(proc_maps_mount_of(maps, "/bin/program"), "bin/program");
	free(maps);
}

/* ---- the kernel -------------------------------------------------------------------------------- */

/* The view of another user without rights, who may not follow the link. */
static bool lives_for_other_user(pid_t pid)
{
	pid_t asker = fork();
	int status;

	if (!asker)
		_exit(setresuid(65534, 65534, 65534) ? 2 : proc_lives(NULL, pid));
	assert_int_equal(waitpid(asker, &status, 0), asker);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status);
}

static void test_living_process_is_told_from_an_ended_one(void **state)
{
	pid_t child;

	(void)state;
	/* a process whose memory is released does not live, whichever files of it exist */
	put("7/stat", "7 (prog) S 1 7 7 0 -1 4194560 1 0 0 0");
	assert_false(proc_lives(root, 7));
	put_link("7/exe", "/usr/bin/prog (deleted)");
	assert_true(proc_lives(root, 7));
	assert_true(proc_lives(NULL, getpid()));
	child = fork();
	if (!child)
		kill(getpid(), SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	assert_false(proc_lives(NULL, child));
	if (!geteuid()) {
		assert_true(lives_for_other_user(getpid()));
		assert_false(lives_for_other_user(child));
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(proc_lives(NULL, child));
}

static void test_name_of_a_thread_is_compared_as_a_whole(void **state)
{
	(void)state;
	put("83/comm", "tail\n");
	assert_true(proc_has_name(root, 83, "tail"));
	assert_false(proc_has_name(root, 83, "tai"));
	assert_false(proc_has_name(root, 83, "tails"));
	assert_false(proc_has_name(root, 84, "tail"));
	put("85/comm", "");
	assert_false(proc_has_name(root, 85, ""));
}

static void test_process_of_a_thread_is_found(void **state)
{
	(void)state;
	put("81/status", "Name:\tprog\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t80\nNgid:\t0\nPid:\t81\n");
	assert_int_equal(proc_of_thread(root, 81), 80);
	assert_int_equal(proc_of_thread(root, 82), 0);
	put("83/status", "Name:\tprog\n");
	assert_int_equal(proc_of_thread(root, 83), 0);
	assert_int_equal(proc_of_thread(NULL, getpid()), getpid());
}

static void test_kernel_start_and_build_id_are_read(void **state)
{
	static const unsigned char notes[] = {
		/* another's note, its sizes padded: name 6 of 8, 5 of 8 */
		6, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 'L', 'i', 'n', 'u', 'x', 0, 0, 0, 1, 2, 3, 4, 5, 0,
		0, 0,
		/* GNU, but the ABI tag */
		4, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 'G', 'N', 'U', 0, 9, 9, 9, 9,
		/* the build-id */
		4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4,
		0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf, 0xb0, 0xb1, 0xb2, 0xb3
	};
	struct proc_kernel kernel;
	size_t cut;

	(void)state;
	put_bytes("kernel/notes", notes, sizeof(notes));
	put("kallsyms", "0000000000000000 A fixed_percpu_data\n"
			"ffffffff81000000 T startup_64\n"
			"ffffffff81000000 T _stext\n"
			"ffffffff81000100 T _stextual\n"
			"ffffffff81e02138 T _etext\n"
			"ffffffffc0000000 t _etext\t[mod]\n");
	assert_int_equal(proc_kernel(root, root, &kernel), 0);
	assert_int_equal(kernel.start, 0xffffffff81000000);
	assert_int_equal(kernel.size, 0xe02138);
	assert_int_equal(kernel.build_id_length, 20);
	assert_memory_equal(kernel.build_id, notes + sizeof(notes) - 20, 20);

	/* which one it is, is known at _stext: what follows is not looked at */
	put("kallsyms", "0000000000000000 A fixed_percpu_data\n"
			"ffffffff81000000 T _stext\n"
			"ffffffff91000000 T _stext\n");
	assert_int_equal(proc_kernel_identity(root, root, &kernel), 0);
	assert_int_equal(kernel.start, 0xffffffff81000000);
	assert_int_equal(kernel.size, 0);
	assert_int_equal(kernel.build_id_length, 20);

	/* cut anywhere, there is none, and nothing outside is read */
	for (cut = 0; cut < sizeof(notes); cut++) {
		put_bytes("kernel/notes", notes, cut);
		assert_int_equal(proc_kernel(root, root, &kernel), 0);
		assert_int_equal(kernel.build_id_length, 0);
	}
	/* kptr_restrict */
	put("kallsyms", "0000000000000000 T _stext\n0000000000000000 T _etext\n");
	assert_int_equal(proc_kernel(root, root, &kernel), 0);
	assert_int_equal(kernel.size, 0);
	assert_int_equal(proc_kernel_identity(root, root, &kernel), 0);
	assert_int_equal(kernel.start, 0);
	assert_int_equal(proc_kernel("/nonexistent", "/nonexistent", &kernel), 0);
	assert_int_equal(kernel.size, 0);
	assert_int_equal(kernel.start, 0);
}

/* Wrong sizes: near 2^32, longer than a build-id, zero. */
static void test_wrong_note_sizes_give_no_build_id(void **state)
{
	static const uint32_t sizes[][2] = {
		{ 0xffffffff, 20 }, { 4, 0xffffffff }, { 0xfffffffd, 0xfffffffd }, { 4, 21 }, { 4, 0 },
		{ 0, 20 }, { 5, 20 },
	};
	struct proc_kernel kernel;
	size_t i;

	(void)state;
	put("kallsyms", "");
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned char note[12 + 4 + 24] = { 0 };

		memcpy(note, sizes[i], 8);
		note[8] = 3;
		memcpy(note + 12, "GNU", 4);
		put_bytes("kernel/notes", note, sizeof(note));
		assert_int_equal(proc_kernel(root, root, &kernel), 0);
		if (kernel.build_id_length)
			fail_msg("note %zu: a build-id of %u bytes", i, kernel.build_id_length);
	}
	put_bytes("kernel/notes", "\4\0\0\0\4\0\0\0\3\0\0\0XYZ\0abcd", 20);
	assert_int_equal(proc_kernel(root, root, &kernel), 0);
	assert_int_equal(kernel.build_id_length, 0);
	put_bytes("kernel/notes", "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0abcd", 20);
	assert_int_equal(proc_kernel(root, root, &kernel), 0);
	assert_int_equal(kernel.build_id_length, 4);
}

static int log_module(void *arg, const struct proc_module *module)
{
	return say(arg, "%s %" PRIx64 " %" PRIu64 " %u:%02x\n", module->name, module->start,
		module->size, module->build_id_length,
		module->build_id_length ? module->build_id[0] : 0);
}

static void test_modules_are_listed(void **state)
{
	static const unsigned char note[] = { 4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0,
		0xd1, 0xd2, 0xd3, 0xd4 };

	(void)state;
	memset(&visited, 0, sizeof(visited));
	assert_int_equal(proc_modules(root, root, log_module, &visited), 0); /* no such file: none */
	assert_string_equal(visited.text, "");
	put("modules", "nf_tables 303104 2 nft_ct,nft_chain_nat, Live 0xffffffffc0a51000\n"
		       "dummy 16384 0 - Live 0xffffffffc0a3d000 (OE)\n"
		       "hidden 16384 0 - Live 0x0000000000000000\n"
		       "../../kernel 16384 0 - Live 0xffffffffc0a3d000\n"
		       "junk\n\n");
	put_bytes("module/nf_tables/notes/.note.gnu.build-id", note, sizeof(note));
	assert_int_equal(proc_modules(root, root, log_module, &visited), 0);
	assert_string_equal(visited.text, "nf_tables ffffffffc0a51000 303104 4:d1\n"
				       "dummy ffffffffc0a3d000 16384 0:00\n");
	memset(&visited, 0, sizeof(visited));
	visited.stop_after = 1;
	visited.stop_value = -EINTR;
	assert_int_equal(proc_modules(root, root, log_module, &visited), -EINTR);
}

static void test_names_of_users_are_those_of_the_file(void **state)
{
	char path[64], name[8];

	(void)state;
	put("passwd", "root:x:0:0:root:/root:/bin/sh\n# no user\nlong-name:x:1000:1000::/:/bin/sh\n");
	snprintf(path, sizeof(path), "%s/passwd", root);
	assert_true(users_name(path, 0, name, sizeof(name)));
	assert_string_equal(name, "root");
	assert_true(users_name(path, 1000, name, sizeof(name)));
	assert_string_equal(name, "long-na");
	assert_false(users_name(path, 1001, name, sizeof(name)));
	assert_false(users_name("/no/such/file", 0, name, sizeof(name)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_walk_visits_processes_threads_and_mappings,
						make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_value_of_a_callback_stops_the_walk,
						make_root, remove_root),
		cmocka_unit_test(test_missing_proc_is_an_error),
		cmocka_unit_test(test_own_process_is_found),
		cmocka_unit_test(test_query_and_text_give_the_same_mappings),
		cmocka_unit_test_setup_teardown(test_trusted_devices_are_told_from_mountinfo,
						make_root, remove_root),
		cmocka_unit_test_setup_teardown(
			test_name_of_a_thread_is_compared_as_a_whole, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_process_of_a_thread_is_found, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_living_process_is_told_from_an_ended_one,
						make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_kernel_start_and_build_id_are_read,
						make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_wrong_note_sizes_give_no_build_id,
						make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_modules_are_listed, make_root, remove_root),
		cmocka_unit_test_setup_teardown(test_names_of_users_are_those_of_the_file,
						make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Processes: see proc.h. Mappings are read in proc_maps.c, the kernel in proc_kernel.c. */
#include "sys/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "sys/proc_maps.h"

/* The kernel's d_path may append this to a path of PATH_MAX. */
#define DELETED " (deleted)"

/* More than the line in /proc/PID/stat has. */
#define STAT_BYTES 1024

/* A flag of the thread: it is exiting (the kernel's PF_EXITING). */
#define FLAG_EXITING 0x4ul

struct proc_reader {
	int folder; /* /proc */
	struct proc_visitor visitor;
	int stop; /* the value of a callback, if not 0 */
	uint64_t threads; /* of the current process; 0 if not read */
	char comm[PROC_COMM_MAX];
	char exe[PATH_MAX + sizeof(DELETED)];
	struct proc_maps maps;
};

/* Returns whether the process, not the machine, caused the error. */
static bool is_gone(int ret)
{
	return ret == -ENOENT || ret == -ESRCH || ret == -ENOTDIR;
}

static int open_at(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags | O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* The number in a name, 0 for any other name. */
static pid_t parse_pid(const char *name)
{
	pid_t pid = 0;
	size_t i;

	for (i = 0; name[i]; i++) {
		if (name[i] < '0' || name[i] > '9' || i >= 9)
			return 0;
		pid = pid * 10 + (name[i] - '0');
	}
	return pid;
}

static int read_comm(struct proc_reader *reader, int dir, const char *path)
{
	int fd = open_at(dir, path, 0);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = read(fd, reader->comm, sizeof(reader->comm) - 1);
	if (n < 0) {
		int ret = -errno;

		close(fd);
		return ret;
	}
	close(fd);
	if (n && reader->comm[n - 1] == '\n')
		n--;
	reader->comm[n] = '\0';
	return 0;
}

/*
 * Field `number` in a text of `stat`, from the third on. The name, the second field, is in
 * parentheses and may contain any character. NULL if there is none.
 */
static const char *find_field(const char *text, int number)
{
	const char *at = strrchr(text, ')');

	for (int field = 2; at && field < number; field++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : NULL;
}

/* All of `stat`; "" if it cannot be read. */
static int read_stat(int dir, const char *path, char *text, size_t bytes)
{
	int fd = open_at(dir, path, 0);
	ssize_t n;
	int ret;

	text[0] = '\0';
	if (fd < 0)
		return fd;
	n = read(fd, text, bytes - 1);
	ret = n < 0 ? -errno : 0;
	text[n < 0 ? 0 : n] = '\0';
	close(fd);
	return ret;
}

static uint64_t field_number(const char *text, int number)
{
	const char *at = find_field(text, number);

	return at ? strtoull(at, NULL, 10) : 0;
}

/* The name of a task, as in `comm`, from a text of `stat`. */
static void copy_name(char *comm, size_t bytes, const char *text)
{
	const char *begin = strchr(text, '('), *end = strrchr(text, ')');
	size_t n = begin && begin < end ? (size_t)(end - begin) - 1 : 0;

	if (n >= bytes)
		n = bytes - 1;
	memcpy(comm, begin ? begin + 1 : text, n);
	comm[n] = '\0';
}

/* The line is among the first ones, behind the name. */
static uid_t read_real_user(int dir)
{
	char text[STAT_BYTES];
	const char *line;

	if (read_stat(dir, "status", text, sizeof(text)))
		return PROC_NO_USER;
	line = strstr(text, "\nUid:");
	return line ? (uid_t)strtoul(line + strlen("\nUid:"), NULL, 10) : PROC_NO_USER;
}

static int visit_process(struct proc_reader *reader, int dir, pid_t pid)
{
	struct proc_process process = { .pid = pid, .comm = reader->comm, .exe = reader->exe };
	char text[STAT_BYTES];
	struct stat info;
	ssize_t n;
	int ret;

	if (fstat(dir, &info))
		return -errno;
	process.uid = info.st_uid;
	process.real_uid = read_real_user(dir);
	ret = read_stat(dir, "stat", text, sizeof(text));
	if (ret)
		return ret;
	copy_name(reader->comm, sizeof(reader->comm), text);
	reader->threads = field_number(text, 20);
	process.start_ticks = field_number(text, 22);
	n = readlinkat(dir, "exe", reader->exe, sizeof(reader->exe) - 1);
	/* kernel threads have none, and those of other users may be unreadable */
	reader->exe[n < 0 ? 0 : n] = '\0';
	return reader->stop = reader->visitor.process(reader->visitor.arg, &process);
}

static int visit_thread(struct proc_reader *reader, int task_dir, pid_t pid, const char *name)
{
	struct proc_thread thread = { .pid = pid, .tid = parse_pid(name), .comm = reader->comm };
	char path[sizeof("4294967295/comm")];
	int ret;

	if (!thread.tid)
		return 0;
	snprintf(path, sizeof(path), "%u/comm", (unsigned int)thread.tid);
	ret = read_comm(reader, task_dir, path);
	if (ret)
		return is_gone(ret) ? 0 : ret;
	return reader->stop = reader->visitor.thread(reader->visitor.arg, &thread);
}

static int visit_threads(struct proc_reader *reader, int process_dir, pid_t pid)
{
	const struct proc_thread only = { .pid = pid, .tid = pid, .comm = reader->comm };
	struct dirent *entry;
	int fd, ret = 0;
	DIR *dir;

	/*
	 * most processes have one thread with the name of the process: that saves a third of the
	 * walk
	 */
	if (reader->threads == 1)
		return reader->stop = reader->visitor.thread(reader->visitor.arg, &only);
	fd = open_at(process_dir, "task", O_DIRECTORY);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (!ret && (entry = readdir(dir)))
		ret = visit_thread(reader, fd, pid, entry->d_name);
	closedir(dir);
	return ret;
}

static int visit_mappings(struct proc_reader *reader, int dir, pid_t pid)
{
	int fd = open_at(dir, "maps", 0);
	int ret;

	if (fd == -EACCES || fd == -EPERM)
		return 0;
	if (fd < 0)
		return fd;
	ret = proc_maps_read(&reader->maps, fd, pid, reader->visitor.mapping, reader->visitor.arg);
	close(fd);
	return reader->stop = ret;
}

/*
 * -ESRCH and the like: the process ended; other values: of a callback, or the machine is out of a
 * resource.
 */
static int visit(struct proc_reader *reader, const char *name, pid_t pid, bool with_mappings)
{
	const struct proc_visitor *visitor = &reader->visitor;
	int dir, ret = 0;

	dir = open_at(reader->folder, name, O_DIRECTORY);
	if (dir < 0)
		return dir;
	reader->threads = 0;
	if (visitor->process)
		ret = visit_process(reader, dir, pid);
	if (!ret && visitor->thread)
		ret = visit_threads(reader, dir, pid);
	if (!ret && visitor->mapping && with_mappings)
		ret = visit_mappings(reader, dir, pid);
	close(dir);
	return ret;
}

int proc_reader_create(const char *proc, const struct proc_visitor *visitor,
	struct proc_reader **created)
{
	/* zeroed for valgrind, which does not know what PROCMAP_QUERY writes */
	struct proc_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	proc = proc ? proc : "/proc";
	reader->visitor = *visitor;
	reader->folder = open_at(AT_FDCWD, proc, O_DIRECTORY);
	if (reader->folder < 0) {
		int ret = reader->folder;

		free(reader);
		return ret;
	}
	if (visitor->mapping)
		proc_maps_init(&reader->maps, proc);
	*created = reader;
	return 0;
}

void proc_reader_destroy(struct proc_reader *reader)
{
	if (!reader)
		return;
	close(reader->folder);
	free(reader);
}

int proc_reader_visit(struct proc_reader *reader, pid_t pid, bool with_mappings)
{
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "%u", (unsigned int)pid);
	reader->stop = 0;
	ret = visit(reader, name, pid, with_mappings);
	return !reader->stop && is_gone(ret) ? -ESRCH : ret;
}

int proc_list(const char *proc, int (*found)(void *arg, pid_t pid), void *arg)
{
	DIR *dir = opendir(proc ? proc : "/proc");
	struct dirent *entry;
	int ret = 0;

	if (!dir)
		return -errno;
	while (!ret && (entry = readdir(dir))) {
		pid_t pid = parse_pid(entry->d_name);

		if (pid)
			ret = found(arg, pid);
	}
	closedir(dir);
	return ret;
}

/* ---- threads of one user --------------------------------------------------------------------- */

struct own {
	const char *proc;
	uid_t uid;
	int (*task)(void *arg, pid_t tid);
	void *arg;
};

/* Reads only the names in directories: that waits for no lock that another process holds. */
static int list_threads(void *arg, pid_t pid)
{
	const struct own *own = arg;
	char path[PATH_MAX];
	struct stat info;
	int ret;

	snprintf(path, sizeof(path), "%s/%u/task", own->proc, (unsigned int)pid);
	if (stat(path, &info) || info.st_uid != own->uid)
		return 0;
	ret = proc_list(path, own->task, own->arg);
	return is_gone(ret) ? 0 : ret;
}

int proc_threads_of(const char *proc, uid_t uid, int (*task)(void *arg, pid_t tid), void *arg)
{
	struct own own = { .proc = proc ? proc : "/proc", .uid = uid, .task = task, .arg = arg };

	return proc_list(proc, list_threads, &own);
}

/* ---- one process ----------------------------------------------------------------------------- */

/*
 * A reader of /proc/PID while the process exits may have to finish its exit: for example to wait
 * for its asynchronous reads.
 */
static bool stat_lives(const char *proc, pid_t pid)
{
	const char *state, *flags;
	char path[PATH_MAX], text[STAT_BYTES];

	snprintf(path, sizeof(path), "%s/%d/stat", proc, (int)pid);
	read_stat(AT_FDCWD, path, text, sizeof(text));
	state = find_field(text, 3);
	flags = find_field(text, 9);
	return state && flags && !strchr("ZXx", *state) && !(strtoul(flags, NULL, 10) & FLAG_EXITING);
}

/*
 * The link exists as long as the memory of the process, which is released before its descriptors.
 */
bool proc_lives(const char *proc, pid_t pid)
{
	char path[PATH_MAX], target[1];

	proc = proc ? proc : "/proc";
	snprintf(path, sizeof(path), "%s/%d/exe", proc, (int)pid);
	if (readlink(path, target, sizeof(target)) >= 0)
		return true;
	/* without the right to inspect that process */
	return (errno == EACCES || errno == EPERM) && stat_lives(proc, pid);
}

/* Files of a process belong to root while its memory is not dumpable, other than its folder: proc(5). */
bool proc_is_of(const char *proc, pid_t pid, uid_t uid)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%d/environ", proc ? proc : "/proc", (int)pid);
	return !stat(path, &st) && st.st_uid == uid;
}

bool proc_exe(const char *proc, pid_t pid, char *exe, size_t size)
{
	char path[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/%d/exe", proc ? proc : "/proc", (int)pid);
	length = readlink(path, exe, size);
	if (length <= 0 || (size_t)length >= size)
		return false;
	exe[length] = '\0';
	return true;
}

bool proc_has_name(const char *proc, pid_t tid, const char *name)
{
	char path[PATH_MAX], found[PROC_COMM_MAX];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%d/comm", proc ? proc : "/proc", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, found, sizeof(found));
	close(fd);
	/* the name and a newline */
	return n > 0 && (size_t)n == strlen(name) + 1 && !memcmp(found, name, strlen(name));
}

pid_t proc_of_thread(const char *proc, pid_t tid)
{
	char path[PATH_MAX], line[256];
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%d/status", proc ? proc : "/proc", (int)tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	fclose(file);
	return pid;
}

/* The bit of a signal in the masks of /proc/PID/status. */
static uint64_t signal_bit(int number)
{
	return 1ull << (number - 1);
}

/* The signals of a thread, as /proc shows them. */
struct signals {
	unsigned long long pending; /* and not blocked */
	unsigned long long handled; /* caught or ignored */
};

/* Returns false if /proc cannot be read. */
static bool read_signals(const char *proc, pid_t tid, struct signals *signals)
{
	unsigned long long mask, blocked = 0;
	char path[4096], line[256];
	FILE *file;

	*signals = (struct signals){ 0 };
	snprintf(path, sizeof(path), "%s/%d/status", proc ? proc : "/proc", (int)tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "SigPnd: %llx", &mask) == 1 ||
			sscanf(line, "ShdPnd: %llx", &mask) == 1)
			signals->pending |= mask;
		else if (sscanf(line, "SigBlk: %llx", &mask) == 1)
			blocked = mask;
		else if (sscanf(line, "SigIgn: %llx", &mask) == 1 ||
			sscanf(line, "SigCgt: %llx", &mask) == 1)
			signals->handled |= mask;
	}
	fclose(file);
	signals->pending &= ~blocked;
	return true;
}

/* These signals only notify, or stop and continue the process. */
static uint64_t harmless_signals(void)
{
	return signal_bit(SIGCHLD) | signal_bit(SIGCONT) | signal_bit(SIGURG) | signal_bit(SIGWINCH) |
	       signal_bit(SIGSTOP) | signal_bit(SIGTSTP) | signal_bit(SIGTTIN) | signal_bit(SIGTTOU);
}

bool proc_is_interrupted(const char *proc, pid_t tid)
{
	struct signals signals;

	return !read_signals(proc, tid, &signals) || !signals.pending ||
	       signals.pending & ~harmless_signals();
}

bool proc_is_ending(const char *proc, pid_t tid)
{
	struct signals signals;

	return !read_signals(proc, tid, &signals) ||
	       signals.pending & ~signals.handled & ~harmless_signals();
}

/* The numbers that the kernel gives the first namespaces (PROC_PID_INIT_INO and others). */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"
#define FIRST_USER_NAMESPACE "user:[4026531837]"
#define FIRST_CGROUP_NAMESPACE "cgroup:[4026531835]"

static bool is_in_namespace(const char *proc, const char *name, const char *wanted)
{
	char path[4096], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/self/ns/%s", proc ? proc : "/proc", name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return true;
	target[n] = 0;
	return !strcmp(target, wanted);
}

bool proc_in_first_pid_namespace(const char *proc)
{
	return is_in_namespace(proc, "pid", FIRST_PID_NAMESPACE);
}

bool proc_in_first_cgroup_namespace(const char *proc)
{
	return is_in_namespace(proc, "cgroup", FIRST_CGROUP_NAMESPACE);
}

bool proc_in_first_user_namespace(const char *proc)
{
	return is_in_namespace(proc, "user", FIRST_USER_NAMESPACE);
}

int proc_prefer_to_end(const char *proc)
{
	char path[4096];
	FILE *file;
	int ret;

	snprintf(path, sizeof(path), "%s/self/oom_score_adj", proc ? proc : "/proc");
	file = fopen(path, "we");
	if (!file)
		return -errno;
	ret = fputs("1000", file) < 0 ? -EIO : 0;
	return fclose(file) ? -EIO : ret;
}

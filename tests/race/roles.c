/* SPDX-License-Identifier: MIT */
/*
 * Programs that write events, one for each test of tests/race/attach.c: roles ROLE [ARG].
 *
 * A role says on its output when it has come somewhere (one byte) and goes on when it may (one byte
 * of input), so that no test has to wait for a time.
 */
#include <kprof/kprof.h>

#include "ring/testpoint.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void __attribute__((constructor)) before_main(void)
{
	KPROF_EVENT(roles, before_main, "pid %d", (int)getpid());
}

static void say(char c)
{
	if (write(STDOUT_FILENO, &c, 1) != 1)
		_exit(90);
}

static void await(void)
{
	char c;

	if (read(STDIN_FILENO, &c, 1) != 1)
		_exit(91);
}

static void numbers(uint64_t from, uint64_t n)
{
	for (uint64_t i = from; i < from + n; i++)
		KPROF_EVENT(roles, number, "%lu %lu", (unsigned long)i, ~(unsigned long)i);
}

/* Ends at once: what it wrote is there nevertheless. */
static int role_short(char *arg)
{
	KPROF_EVENT(roles, types, "%hhd %hu %d %u %ld %llu %f %s %p %c", (signed char)-1,
		(unsigned short)65535, -2, 3u, -4l, 5ull, 0.5, "six", (void *)7, 'c');
	kprof_printf("short %d", 8);
	return 0;
}

/* Waits until the event of numbers() is on, for any reason. */
static void await_numbers(void)
{
	KPROF_DEFINE_(KPROF_SITE_EVENT_, "roles", "number", "%lu %lu", "%lu %lu", 0ul, 0ul)

	while (!__atomic_load_n(&kprof_event_->on, __ATOMIC_RELAXED))
		sched_yield();
}

/* arg: how many; then 'w' to wait until the event is on */
static int role_numbers(char *arg)
{
	say('r');
	await();
	if (arg[strlen(arg) - 1] == 'w')
		await_numbers();
	numbers(0, strtoul(arg, NULL, 10));
	say('d');
	await();
	numbers(strtoul(arg, NULL, 10), 10);
	say('e');
	await();
	return 0;
}

static int role_refused(char *arg)
{
	static char long_name[] = "%d and so on";

	KPROF_EVENT(roles, "bad name!", "%d", 1);
	KPROF_EVENT(roles, wide, "%ls", L"wide");
	KPROF_EVENT(roles, twice, "%d", 1);
	KPROF_EVENT(roles, twice, "%d", 2);
	KPROF_EVENT(roles, twice, "%x", 2);
	kprof_printf(long_name, 3); /* not a literal */
	return 0;
}

static int role_fork(char *arg)
{
	int status;
	pid_t child;

	say('r');
	await();
	numbers(0, 5);
	child = fork();
	if (child == 0) {
		numbers(100, 7);
		_exit(0);
	}
	numbers(5, 5);
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

/*
 * The library's socket: its inode, or 0. By the links of /proc, since the thread sanitizer takes an
 * fstat beside the library's close for a race.
 */
static unsigned long find_socket(void)
{
	char path[64], link[64];
	unsigned long inode;

	for (int fd = 3; fd < 1024; fd++) {
		ssize_t bytes;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		bytes = readlink(path, link, sizeof(link) - 1);
		if (bytes <= 0)
			continue;
		link[bytes] = '\0';
		if (sscanf(link, "socket:[%lu]", &inode) == 1)
			return inode;
	}
	return 0;
}

/* Forks once the server has sent it away, and before it comes again: the child is not in between. */
static int role_fork_dropped(char *arg)
{
	unsigned long socket = find_socket();
	int status;
	pid_t child;

	say('r');
	await();
	while (socket && find_socket() == socket)
		sched_yield();
	child = fork();
	if (child == 0) {
		numbers(100, 7);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return !socket || status;
}

/*
 * The helper thread of this process has begun. gcc's address sanitizer does not hold the locks of its
 * allocator at a fork: a thread that is just starting may have one, and then the thread that the
 * library starts in the child waits for it forever.
 */
static void await_helper(void)
{
#if defined(__SANITIZE_ADDRESS__)
	char name[16] = "";
	bool begun = false;

	while (!begun) {
		glob_t threads;

		if (glob("/proc/self/task/*/comm", 0, NULL, &threads) != 0)
			_exit(94);
		for (size_t i = 0; i < threads.gl_pathc && !begun; i++) {
			FILE *file = fopen(threads.gl_pathv[i], "re");

			begun = file && fgets(name, sizeof(name), file) && strcmp(name, "kprof\n") == 0;
			if (file)
				fclose(file);
		}
		globfree(&threads);
		sched_yield();
	}
#endif
}

/* Forks where there is no server any more, and the child forks again. */
static int role_fork_alone(char *arg)
{
	int status = 0;
	pid_t child;

	say('r');
	await();
	child = fork();
	if (child == 0) {
		numbers(100, 7);
		await_helper();
		child = fork();
		numbers(child ? 107 : 200, child ? 3 : 10);
		say('d');
		await();
		if (child)
			waitpid(child, &status, 0);
		_exit(status != 0);
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

/* The raw system call: the library is not told. The child must live and write nothing. */
static int role_bare_fork(char *arg)
{
	int status;
	pid_t child;

	say('r');
	await();
	numbers(0, 5);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		numbers(100, 1000);
		_exit(0);
	}
	waitpid(child, &status, 0);
	numbers(5, 5);
	return status;
}

/* Forks while others write; arg: how many times. */
static pthread_t writer_thread;
static bool stop_writing;
static void *write_on(void *arg);

static int role_fork_threads(char *arg)
{
	unsigned long forks = strtoul(arg, NULL, 10);
	int status = 0;

	say('r');
	await();
	pthread_create(&writer_thread, NULL, write_on, NULL);
	for (unsigned long i = 0; i < forks && status == 0; i++) {
		pid_t child = fork();

		if (child == 0) {
			for (unsigned long k = 0; k < 7; k++)
				KPROF_EVENT(roles, counted, "%lu %lu", i, k);
			_exit(0);
		}
		waitpid(child, &status, 0);
	}
	__atomic_store_n(&stop_writing, true, __ATOMIC_RELAXED);
	pthread_join(writer_thread, NULL);
	return status != 0;
}

#ifdef RING_TEST_POINTS
static bool may_fork;

/* As a signal handler between reserve and commit: the child goes on with the event, its parent ends. */
static void fork_here(enum ring_test_point point)
{
	int status = 0;
	pid_t child;

	if (point != POINT_RESERVED || !may_fork)
		return;
	may_fork = false;
	child = fork();
	if (child == 0)
		return;
	waitpid(child, &status, 0);
	_exit(status != 0);
}

static int role_fork_mid_event(char *arg)
{
	say('r');
	await();
	KPROF_EVENT(roles, counted, "%lu %lu", 1ul, 0ul); /* so that the thread has its chunk */
	may_fork = true;
	ring_test_hook = fork_here;
	for (unsigned long k = 0; k < 8; k++) /* the first is its parent's */
		KPROF_EVENT(roles, counted, "%lu %lu", 2ul, k);
	return 0;
}
#endif

/* Becomes a daemon: another process, another session, no descriptor of before. */
static int role_daemon(char *arg)
{
	say('r');
	await();
	numbers(0, 3);
	if (fork() != 0)
		_exit(0);
	setsid();
	await_helper();
	if (fork() != 0)
		_exit(0);
	syscall(SYS_close_range, 3, ~0u, 0);
	say('c');
	await();
	numbers(100, 5);
	say('d');
	await();
	numbers(105, 5); /* also where the server has come again meanwhile */
	say('e');
	await();
	return 0;
}

/* arg: the path to itself. Becomes another program, which must find no descriptor of ours. */
static int role_exec(char *arg)
{
	say('r');
	await();
	numbers(0, 3);
	execl(arg, arg, "executed", (char *)NULL);
	return 94;
}

static int role_executed(char *arg)
{
	int open_ones = 0;

	/* where the library puts its own; those of this image are to be closed at the next exec */
	for (int fd = 700; fd < 1024; fd++)
		open_ones += fcntl(fd, F_GETFD) >= 0 && !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	numbers(100, 4);
	return open_ones != 0;
}

/* Says what it is: 's' with privileges of its file, 'p' without. */
static int role_setuid(char *arg)
{
	say(getauxval(AT_SECURE) ? 's' : 'p');
	await();
	numbers(0, 3);
	_exit(0); /* a leak check at the end can't look into a process with privileges */
}

static int role_errno(char *arg)
{
	say('r');
	await();
	for (int i = 0; i < 100000; i++) { /* over many changes of chunk */
		errno = i % 100 + 1;
		KPROF_EVENT(roles, number, "%lu %lu", (unsigned long)i, ~(unsigned long)i);
		kprof_backtrace("bt");
		if (errno != i % 100 + 1)
			return 1;
	}
	return 0;
}

/* Becomes what daemons become: closes all, and opens other things in the same places. */
static int role_close_all(char *arg)
{
	char path[] = "/tmp/kprof-roles-XXXXXX";
	int keep_in, keep_out, fd, file = mkstemp(path), bad = 0;

	unlink(path);
	say('r');
	await();
	numbers(0, 10);
	keep_in = fcntl(STDIN_FILENO, F_DUPFD, 100);
	keep_out = fcntl(STDOUT_FILENO, F_DUPFD, 100);
	for (fd = 3; fd < 1024; fd++)
		if (fd != keep_in && fd != keep_out && fd != file)
			syscall(SYS_close, fd); /* TSan calls it a race, which it is */
	for (fd = 3; fd < 1024; fd++)
		if (fd != keep_in && fd != keep_out && fd != file)
			syscall(SYS_dup3, file, fd, 0); /* every number is the host's now */
	numbers(10, 10);
	say('d');
	await();
	numbers(20, 10);
	say('e');
	await();
	for (fd = 3; fd < 1024; fd++)
		bad += fcntl(fd, F_GETFD) < 0; /* the library has closed none */
	return bad || lseek(file, 0, SEEK_END) != 0;
}

static void *count_up(void *arg)
{
	unsigned long n = (unsigned long)arg & 0xffffffff, who = (unsigned long)arg >> 32;

	for (unsigned long i = 0; i < n; i++)
		KPROF_EVENT(roles, counted, "%lu %lu", who, i);
	return NULL;
}

static int role_threads(char *arg)
{
	unsigned long threads = strtoul(arg, &arg, 10), each = strtoul(arg + 1, &arg, 10);
	unsigned long rounds = strtoul(arg + 1, NULL, 10);
	pthread_t ids[256];

	say('r');
	await();
	for (unsigned long r = 0; r < rounds; r++) {
		for (unsigned long i = 0; i < threads; i++)
			if (pthread_create(&ids[i], NULL, count_up,
				    (void *)((r * threads + i) << 32 | each)))
				return 1;
		for (unsigned long i = 0; i < threads; i++)
			pthread_join(ids[i], NULL);
	}
	return 0;
}

/* Writes until it is killed. */
/* While its event is off even the largest count takes some seconds only. */
static void *count_forever(void *arg)
{
	for (;;)
		count_up(arg);
	return NULL;
}

static int role_forever(char *arg)
{
	pthread_t id;

	say('r');
	await();
	pthread_create(&id, NULL, count_forever, (void *)(1ul << 32 | 0xffffffff));
	pthread_create(&id, NULL, count_forever, (void *)(2ul << 32 | 0xffffffff));
	count_forever((void *)0xffffffff);
	return 0;
}

static volatile sig_atomic_t handled;

static void handle(int sig)
{
	KPROF_EVENT(roles, handled, "%d", (int)handled);
	handled = handled + 1;
}

static int role_signals(char *arg)
{
	struct sigaction action = {.sa_handler = handle};
	struct itimerval often = {{0, 50}, {0, 50}};
	unsigned long i;

	say('r');
	await();
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; handled < 2000; i++)
		KPROF_EVENT(roles, number, "%lu %lu", i, ~i);
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	/* the last number of each kind, for the test to compare with */
	kprof_printf("written %lu handled %d", i, (int)handled);
	return 0;
}

static void *write_on(void *arg)
{
	unsigned long i = 0;

	while (!__atomic_load_n(&stop_writing, __ATOMIC_RELAXED)) {
		KPROF_EVENT(roles, number, "%lu %lu", i, ~i);
		i++;
	}
	return NULL;
}

/* arg: a library with events. Comes and goes while another thread writes. */
static int role_dlopen(char *arg)
{
	pthread_create(&writer_thread, NULL, write_on, NULL);
	for (int i = 0; i < 200; i++) {
		void *library = dlopen(arg, RTLD_NOW | RTLD_LOCAL);
		void (*call)(int);

		if (!library)
			return 2;
		*(void **)&call = dlsym(library, "plugin_call");
		call(i);
		if (i == 0) {
			say('r');
			await();
			call(1000);
		}
		dlclose(library);
		if (i == 0) {
			say('g');
			await();
		}
	}
	__atomic_store_n(&stop_writing, true, __ATOMIC_RELAXED);
	pthread_join(writer_thread, NULL);
	return 0;
}

/* Two threads, each with a word that the other one rings it by. */
static uint32_t bells[2];

/* Wakes until a thread was woken: that thread has slept. */
static void ring_bell(int whose)
{
	while (syscall(SYS_futex, &bells[whose], FUTEX_WAKE, 1, NULL, NULL, 0) != 1)
		sched_yield();
}

static void sleep_until_bell(int mine)
{
	while (syscall(SYS_futex, &bells[mine], FUTEX_WAIT, 0, NULL, NULL, 0) != 0)
		;
}

static void *second(void *arg)
{
	for (unsigned long i = 0; i < 2000; i++) {
		sleep_until_bell(1);
		KPROF_EVENT(roles, counted, "%lu %lu", 0ul, 2 * i + 1);
		ring_bell(0);
	}
	return NULL;
}

/* Two threads in turns, each asleep until it is its turn: the numbers of both, by time, are 0, 1, ... */
static int role_baton(char *arg)
{
	pthread_t id;

	say('r');
	await();
	if (pthread_create(&id, NULL, second, NULL))
		return 1;
	for (unsigned long i = 0; i < 2000; i++) {
		KPROF_EVENT(roles, counted, "%lu %lu", 0ul, 2 * i);
		ring_bell(1);
		sleep_until_bell(0);
	}
	pthread_join(id, NULL);
	return 0;
}

/* Writes while the server does not answer: a call that waits shows in how often the thread slept. */
static int role_unanswered(char *arg)
{
	struct rusage before, after;

	getrusage(RUSAGE_THREAD, &before);
	for (int i = 0; i < 300000; i++) {
		KPROF_EVENT(roles, number, "%lu %lu", 1ul, 2ul);
		kprof_printf("x");
	}
	getrusage(RUSAGE_THREAD, &after);
	/* a page of the memory may have to be waited for; 600,000 calls can't */
	return after.ru_nvcsw - before.ru_nvcsw > 1000;
}

static int role_limit(char *arg)
{
	numbers(0, 5);
	say('r');
	await();
	numbers(5, 5);
	return 0;
}

static __attribute__((noinline)) void inner(void)
{
	kprof_backtrace("from %s", "inner");
}

static __attribute__((noinline)) void outer(void)
{
	inner();
	__asm__ volatile("");
}

static int role_stack(char *arg)
{
	say('r');
	await();
	kprof_printf("inner %p outer %p", (void *)inner, (void *)outer);
	outer();
	return 0;
}

/* arg: a dynamic format's text; kprof_vprintf and its kin */
static void by_list(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void by_list(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	kprof_vprintf(format, list);
	kprof_vprintx(format, list);
	va_end(list);
}

static int role_text(char *arg)
{
	char not_ended[4] = {'a', 'b', 'c', 'd'};

	say('r');
	await();
	by_list("v %hhd %lu %s %.2f %.*s|", (signed char)-3, 4000000000ul, "text", 1.5, 3, not_ended);
	by_list("%Lf", (long double)2.5);
	KPROF_EVENT(roles, strings, "%.4s %.*s %s", not_ended, 2, not_ended, (char *)NULL);
	return 0;
}

/* arg: a string; events of every shape that kprof.h and the library tell apart */
static int role_shapes(char *arg)
{
	const char *longer = "0123456789abcdefghijklmnopqrstuvwxyz", *none = arg ? NULL : "";
	char huge[2001] = "";

	memset(huge, 'h', sizeof(huge) - 1);
	say('r');
	await();
	KPROF_EVENT(shapes, no, "no argument"); /* the thread's first: the others find it a writer */
	KPROF_EVENT(shapes, no, "no argument");
	KPROF_EVENT(shapes, d, "%d", -1);
	KPROF_EVENT(shapes, s, "%s", arg);
	KPROF_EVENT(shapes, longer, "%s", longer);
	KPROF_EVENT(shapes, none, "%s", none);
	KPROF_EVENT(shapes, cut, "%.2s", arg);
	KPROF_EVENT(shapes, dd, "%d %d", -1, 2);
	KPROF_EVENT(shapes, ds, "%d %s", -1, arg);
	KPROF_EVENT(shapes, sd, "%s %d", arg, -1);
	KPROF_EVENT(shapes, ss, "%s %s", arg, "");
	KPROF_EVENT(shapes, star, "%.*s", 2, arg);
	KPROF_EVENT(shapes, sl, "%s %s", arg, longer);
	KPROF_EVENT(shapes, huge, "%d %s", -1, huge);
	KPROF_EVENT(shapes, ddd, "%d %d %d", -1, 2, 3);
	KPROF_EVENT(shapes, sds, "%s %d %s", arg, 2, arg);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char *arg);
	} roles[] = {
		{"short", role_short}, {"numbers", role_numbers}, {"refused", role_refused},
		{"fork", role_fork}, {"bare_fork", role_bare_fork}, {"errno", role_errno},
		{"close_all", role_close_all}, {"threads", role_threads}, {"forever", role_forever},
		{"signals", role_signals}, {"dlopen", role_dlopen}, {"baton", role_baton},
		{"unanswered", role_unanswered}, {"limit", role_limit}, {"stack", role_stack},
		{"text", role_text}, {"shapes", role_shapes},
		{"fork_threads", role_fork_threads}, {"daemon", role_daemon},
		{"exec", role_exec}, {"executed", role_executed}, {"setuid", role_setuid},
#ifdef RING_TEST_POINTS
		{"fork_mid_event", role_fork_mid_event},
#endif
		{"fork_dropped", role_fork_dropped}, {"fork_alone", role_fork_alone},
	};

	for (size_t i = 0; argc > 1 && i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strcmp(argv[1], roles[i].name) == 0)
			return roles[i].run(argc > 2 ? argv[2] : NULL);
	return 93;
}

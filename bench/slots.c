/* SPDX-License-Identifier: MIT */
/*
 * slots: runs a load and measures its speed in short slots, between which the caller switches something on
 * or off.
 *
 *	slots tbench CLIENTS        tbench and its server, on a loopback interface of their own
 *	slots dbench CLIENTS FOLDER
 *	slots calls                 a thread that calls getppid, on each CPU for a part of the slot
 *	slots faults                a thread that touches new pages
 *	slots pipe [CPU]            two threads that pass a byte to each other through pipes, as those of perf
 *	                            bench sched pipe do; both on this CPU if there is one
 *
 * For each line that it reads it waits until what was switched has settled, measures one slot, and prints
 * a line: the work in a second, the work in a second of the load's CPU time, and the CPU time in ms that
 * the host took from this machine meanwhile; of calls also the ns of a call on the last CPU. The work is
 * bytes that were sent (tbench), bytes read and written (dbench), calls, page faults, or round trips
 * (pipe); those of calls, faults and pipe in a second of CPU time are by the median of short loops. A load
 * that waited for a disk may have done nothing. Ends with its input, and ends the load.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

#define SLOT_NS (200 * NSEC_PER_MSEC)
#define SETTLE_NS (40 * NSEC_PER_MSEC)
#define CALLS_IN_LOOP 500
#define FAULTS_IN_LOOP 500
#define PAGE 4096
/* Short against the time between two interruptions by others, and long against a read of the clock. */
#define TRIPS_IN_LOOP 50
#define LOOPS_MAX 65536
#define LOAD_SECONDS "3600"
#define PROCESSES_MAX 64
#define TBENCH_PORT 7003

struct state {
	uint64_t time_ns, work, cpu_ns, steal_ms;
};

static pid_t load[2]; /* what was started: each leads a session */
static int load_count;
static volatile sig_atomic_t ended;

static void on_signal(int signal)
{
	(void)signal;
	ended = 1;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static void pass(uint64_t ns)
{
	struct timespec time = { .tv_nsec = (long)ns };

	while (nanosleep(&time, &time) && errno == EINTR && !ended)
		;
}

static void fail(const char *what)
{
	fprintf(stderr, "slots: %s: %s\n", what, strerror(errno));
	for (int i = 0; i < load_count; i++)
		kill(-load[i], SIGKILL);
	exit(2);
}

/* ---- the load ---------------------------------------------------------------------------------- */

static void start(char *const command[])
{
	pid_t child = fork();

	if (child < 0)
		fail("fork");
	if (!child) {
		int nothing = open("/dev/null", O_RDWR), errors = fcntl(2, F_DUPFD_CLOEXEC, 3);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setsid();
		dup2(nothing, 0);
		dup2(nothing, 1);
		/* they complain when they are ended */
		dup2(nothing, 2);
		execvp(command[0], command);
		dprintf(errors, "slots: %s: %s\n", command[0], strerror(errno));
		_exit(127);
	}
	load[load_count++] = child;
}

static void stop_load(void)
{
	for (int i = 0; i < load_count; i++) {
		kill(-load[i], SIGKILL);
		waitpid(load[i], NULL, 0);
	}
}

/* A loopback interface for this load alone. */
static void own_network(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int sock;

	if (unshare(CLONE_NEWNET))
		fail("a network namespace");
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || ioctl(sock, SIOCSIFFLAGS, &request))
		fail("the loopback interface");
	close(sock);
}

/* The server listens after it has started. */
static void await_server(void)
{
	const struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(TBENCH_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int sock, ret, tries = 0;

	do {
		sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ret = connect(sock, (const struct sockaddr *)&address, sizeof(address));
		close(sock);
		if (ret)
			pass(SETTLE_NS);
	} while (ret && tries++ < 250 && !ended);
	if (ret)
		fail("tbench_srv");
}

/* The processes of the load: those of its sessions. */
static int find_processes(pid_t *found)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	if (!folder)
		fail("/proc");
	while (count < PROCESSES_MAX && (entry = readdir(folder))) {
		pid_t pid = (pid_t)atoi(entry->d_name), session = pid ? getsid(pid) : 0;

		for (int i = 0; i < load_count && session > 0; i++)
			if (session == load[i])
				found[count++] = pid;
	}
	closedir(folder);
	return count;
}

/* ---- what it does ------------------------------------------------------------------------------ */

/* The number behind `key` in a small file of /proc; 0 if the file has gone. */
static uint64_t read_number(const char *path, const char *key, int skip)
{
	char text[4096], *at;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (bytes < 0)
		return 0;
	text[bytes] = '\0';
	at = strstr(text, key);
	if (!at)
		return 0;
	at += strlen(key);
	for (; skip; skip--)
		strtoull(at, &at, 10);
	return strtoull(at, NULL, 10);
}

static uint64_t bytes_sent(const pid_t *processes, int count)
{
	(void)processes;
	(void)count;
	/* in this process's network namespace */
	return read_number("/proc/self/net/dev", "lo:", 0);
}

static uint64_t bytes_of_files(const pid_t *processes, int count)
{
	char path[64];
	uint64_t bytes = 0;

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/proc/%d/io", (int)processes[i]);
		bytes += read_number(path, "rchar: ", 0) + read_number(path, "wchar: ", 0);
	}
	return bytes;
}

static void look(struct state *state, const pid_t *processes, int count,
	uint64_t (*work)(const pid_t *processes, int count))
{
	clockid_t clock;

	*state = (struct state){ .time_ns = now_ns(CLOCK_MONOTONIC), .work = work(processes, count) };
	for (int i = 0; i < count; i++)
		if (!clock_getcpuclockid(processes[i], &clock))
			state->cpu_ns += now_ns(clock);
	state->steal_ms = read_number("/proc/stat", "cpu ", 7) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static void measure(uint64_t (*work)(const pid_t *processes, int count))
{
	struct state begin, end;
	pid_t processes[PROCESSES_MAX];
	int count;

	pass(SETTLE_NS);
	count = find_processes(processes);
	look(&begin, processes, count, work);
	pass(SLOT_NS);
	look(&end, processes, count, work);
	if (waitpid(-1, NULL, WNOHANG) > 0)
		fail("the load has ended");
	printf("%.6g %.6g %llu\n",
		(double)(end.work - begin.work) / (double)(end.time_ns - begin.time_ns) * 1e9,
		end.cpu_ns == begin.cpu_ns ?
			0.0 :
			(double)(end.work - begin.work) / (double)(end.cpu_ns - begin.cpu_ns) * 1e9,
		(unsigned long long)(end.steal_ms - begin.steal_ms));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void make_calls(void)
{
	for (int i = 0; i < CALLS_IN_LOOP; i++)
		syscall(SYS_getppid);
}

static char *pages;

static void begin_faults(void)
{
	pages = mmap(NULL, FAULTS_IN_LOOP * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || madvise(pages, FAULTS_IN_LOOP * PAGE, MADV_NOHUGEPAGE))
		fail("pages");
}

static void make_faults(void)
{
	for (int i = 0; i < FAULTS_IN_LOOP; i++)
		((volatile char *)pages)[i * PAGE] = 1;
	madvise(pages, FAULTS_IN_LOOP * PAGE, MADV_DONTNEED);
}

static int there[2], back[2]; /* the pipes */

static void make_trips(void)
{
	char byte = 0;

	for (int i = 0; i < TRIPS_IN_LOOP; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			fail("a pipe");
}

static void *answer(void *arg)
{
	char byte;

	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
	return arg;
}

/* The other thread waits for bytes until this process ends. */
static void begin_trips(const char *cpu)
{
	pthread_t thread;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	if (cpu) {
		CPU_SET((size_t)atoi(cpu), &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus))
			fail("the CPU of the pipe");
	}
	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC) || pthread_create(&thread, NULL, answer, NULL))
		fail("a pipe");
}

/*
 * The median ns of one of the `rounds` of a loop: other programs on this CPU lengthen few of the loops, so
 * that it does not change.
 */
static double median_of(void (*loop)(void), int rounds, uint64_t slot_ns, uint64_t *work)
{
	static double loops[LOOPS_MAX];
	uint64_t begin, now, before;
	int count = 0;

	begin = before = now_ns(CLOCK_MONOTONIC);
	do {
		loop();
		now = now_ns(CLOCK_MONOTONIC);
		loops[count++] = (double)(now - before) / rounds;
		before = now;
	} while (now < begin + slot_ns && count < LOOPS_MAX);
	qsort(loops, (size_t)count, sizeof(loops[0]), by_value);
	*work += (uint64_t)count * (uint64_t)rounds;
	return loops[count / 2];
}

static void measure_loops(void (*loop)(void), int rounds)
{
	uint64_t begin, work = 0;
	double ns;

	pass(SETTLE_NS);
	begin = now_ns(CLOCK_MONOTONIC);
	ns = median_of(loop, rounds, SLOT_NS, &work);
	printf("%.6g %.6g 0\n", (double)work / (double)(now_ns(CLOCK_MONOTONIC) - begin) * 1e9, 1e9 / ns);
}

/* The mean of all CPUs: a perf event that is open on one CPU costs more there. */
static void measure_calls(const cpu_set_t *cpus)
{
	const int count = CPU_COUNT(cpus);
	uint64_t begin, work = 0;
	double ns = 0, sum = 0;
	cpu_set_t one;

	pass(SETTLE_NS);
	begin = now_ns(CLOCK_MONOTONIC);
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, cpus))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			fail("the CPU of the calls");
		ns = median_of(make_calls, CALLS_IN_LOOP, SLOT_NS / (uint64_t)count, &work);
		sum += ns;
	}
	printf("%.6g %.6g 0 %.6g\n", (double)work / (double)(now_ns(CLOCK_MONOTONIC) - begin) * 1e9,
		1e9 * count / sum, ns);
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	uint64_t (*work)(const pid_t *, int) = NULL;
	void (*loop)(void) = NULL; /* NULL: calls */
	int rounds = 0;
	cpu_set_t cpus;
	char line[256];

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		fail("the CPUs");
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	if (argc == 3 && strcmp(argv[1], "tbench") == 0) {
		own_network();
		start((char *[]){ (char *)"tbench_srv", NULL });
		await_server();
		start((char *[]){ (char *)"tbench", (char *)"-t", (char *)LOAD_SECONDS, argv[2],
			(char *)"127.0.0.1", NULL });
		work = bytes_sent;
	} else if (argc == 4 && strcmp(argv[1], "dbench") == 0) {
		start((char *[]){ (char *)"dbench", (char *)"-t", (char *)LOAD_SECONDS, (char *)"-D", argv[3],
			argv[2], NULL });
		work = bytes_of_files;
	} else if (argc >= 2 && argc <= 3 && strcmp(argv[1], "pipe") == 0) {
		begin_trips(argv[2]);
		loop = make_trips;
		rounds = TRIPS_IN_LOOP;
	} else if (argc == 2 && strcmp(argv[1], "faults") == 0) {
		begin_faults();
		loop = make_faults;
		rounds = FAULTS_IN_LOOP;
	} else if (argc != 2 || strcmp(argv[1], "calls") != 0) {
		fprintf(stderr, "usage: slots tbench CLIENTS | dbench CLIENTS FOLDER | calls | faults | "
			"pipe [CPU]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (!ended && fgets(line, sizeof(line), stdin)) {
		if (work)
			measure(work);
		else if (loop)
			measure_loops(loop, rounds);
		else
			measure_calls(&cpus);
	}
	stop_load();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * kprofs: profile and trace a machine through the files of a mounted directory.
 *
 * The map of the program:
 *
 *	main			this file: from the command line to a daemon
 *	  options_parse		options.c: the command line and the mount options
 *	  server_run_create	server_run.c: creates the modules (struct server) and connects them
 *	    session_create	session.c: those of one profiler (struct session)
 *	  server_run_mount
 *	  server_run_wait
 *	  server_run_destroy
 *	  viewproc_main		viewmaker.c: instead of all this, in the process that makes views
 *	  file_links_main	file_links_process.c: the same, in the process that attaches to files
 *
 *	A request of the kernel goes
 *	  fuse_ops.c		FUSE: dispatch; reply.c, open_reply.c, entry_reply.c answer
 *	  fuse_tree.c		the same for requests by name: lookup, stat, directories
 *	  node.c		what an inode number stands for: one node a lookup
 *	  openfile.c		what one open(2) reads and writes
 *	  dirtab.c, tree.c	table 1: a row is a file of the namespace
 *	  content.c		table 3: how what a reader sees is produced
 *	  ctl_words.c		table 2: the words of a control file; lines into calls
 *	  file_*.c		the functions of the rows, a file for each part of the server
 *	to the modules: src/prof (kpctl, kpdata), src/trace (kptrace, kprintx, events), src/acct (mpstat).
 *
 *	What must wait is parked, see parked.c, by
 *	  streams.c		reads of kpdata at its end; thread kp-stream
 *	  kpctl_thread.c	commands for the profiler, and `hold`; thread kp-control
 *	  sessions.c		mkdir and rmdir in sessions/; thread kp-sessions
 *	  slow_ops.c		opens of views/ and the trace, its reads; threads kp-view, kp-trace
 *	  switches.c		writes to switches, until producers have acknowledged them; thread kp-listen
 *
 *	What is refused goes
 *	  kperr.c		the last refusals, for people
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <malloc.h>
#include <paths.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "base/reserve.h"
#include "base/stdfds.h"
#include "base/units.h"
#include "bpf/file_links.h"
#include "fs/ctl_words.h"
#include "fs/tree.h"
#include "fs/options.h"
#include "fs/server_run.h"
#include "views/viewproc.h"
#include "sys/mounts.h"

/*
 * Views make several large arrays at the same time, for a short time. From this size on each is a
 * separate mapping, which grows without a copy and is unmapped when it is freed; what is smaller
 * lies in few arenas, which the next view uses again. The peak of three views at once is a quarter
 * lower.
 */
#define ALLOC_MAP_BYTES (64 * KIB)
#define ALLOC_ARENAS 2

/* Mounts of servers that have ended, one over the other: more than these are not removed. */
#define DEAD_MOUNTS_MAX 16

/* The byte that the daemon sends to the first process, through a pipe. */
#define DAEMON_READY 0

/* ---- what is printed without a mount --------------------------------------------------------- */

/* One line for each word, tabs between: file, word, least and most arguments, usage. */
static void print_word(const char *path, const struct ctl_words_word *word)
{
	g_auto(GStrv) names = g_strsplit(word->word, "|", -1);
	char **name;

	for (name = names; *name; name++)
		printf("%s\t%s\t%u\t%u\t%s\n", path, *name, word->min_args, word->max_args,
			word->args);
}

static void print_words(const struct dirtab_row *dir, const char *prefix)
{
	const struct dirtab_row *row;
	const struct ctl_words_word *word;

	for (row = dir->rows; row && row->name; row++) {
		g_autofree char *path = g_strconcat(prefix, row->name, NULL);
		g_autofree char *inside = g_strconcat(path, "/", NULL);

		for (word = row->words; word && word->word; word++)
			print_word(path, word);
		print_words(row, inside);
	}
}

static int print_completions(int count, char **words)
{
	g_autoptr(GString) text = g_string_new(NULL);

	options_complete(count, words, text);
	fputs(text->str, stdout);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int print_instead(const struct options *options)
{
	g_autoptr(GString) help = g_string_new(NULL);

	if (options->help) {
		options_print_help(help);
		fputs(help->str, stdout);
	} else if (options->version) {
		puts("kprofs " PACKAGE_VERSION);
	} else {
		print_words(tree_root(), "");
	}
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- the mount point ------------------------------------------------------------------------- */

/* Writes the sentence about the error `code` of the path. */
static int explain_mountpoint(const char *given, int code, struct err *err)
{
	if (code == ENOTCONN)
		return err_set(err, code, "%s: a server that is gone left its mount here; first "
			"`umount -l %s`, or `fusermount3 -u %s` without root", given, given, given);
	if (code == ENOTDIR)
		return err_set(err, code, "%s is not a directory", given);
	return err_set(err, code, "%s: %s", given, g_strerror(code));
}

/* An absolute path, since a daemon changes its directory; to be freed with free(). */
static int resolve_mountpoint(const char *given, char **mountpoint)
{
	char *path = realpath(given, NULL);
	int fd, code;

	if (!path)
		return -errno;
	/* opened, since the kernel may answer from its cache for a mount whose server ended, for a second */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	code = errno;
	if (fd >= 0)
		close(fd);
	if (fd < 0 && code != EACCES) {
		free(path);
		return -code;
	}
	*mountpoint = path;
	return 0;
}

/* Mounts that killed servers have left there are removed first. */
static int find_mountpoint(const struct options *options, char **mountpoint, struct err *err)
{
	const char *given = options->mountpoint;
	int ret = resolve_mountpoint(given, mountpoint);
	unsigned int i;

	for (i = 0; ret == -ENOTCONN && i < DEAD_MOUNTS_MAX; i++) {
		if (mounts_remove_dead(given, MOUNTS_KPROFS_TYPE))
			break;
		fprintf(stderr, "kprofs: %s: removed the mount of a server that is gone\n", given);
		ret = resolve_mountpoint(given, mountpoint);
	}
	if (ret)
		return explain_mountpoint(given, -ret, err);
	if (!options->over && mounts_is_of_type(*mountpoint, MOUNTS_KPROFS_TYPE))
		return err_set(err, EBUSY, "%s: another kprofs is mounted here; unmount it, or mount over it "
			"with -o over", *mountpoint);
	return 0;
}

/* ---- becoming a daemon ----------------------------------------------------------------------- */

/*
 * Called in the first process: exits with the status that the daemon sends, or with that of the
 * daemon's end.
 */
static void wait_for_daemon(pid_t daemon, int pipe_fd)
{
	unsigned char status;
	ssize_t n;
	int how;

	do
		n = read(pipe_fd, &status, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1 && status == DAEMON_READY)
		_exit(EXIT_SUCCESS);
	while (waitpid(daemon, &how, 0) < 0 && errno == EINTR)
		;
	_exit(EXIT_FAILURE);
}

/*
 * Forks before there are threads. *ready_fd: what the daemon reports through; -1 in the foreground.
 */
static int begin_daemon(const struct options *options, int *ready_fd, struct err *err)
{
	int ends[2];
	pid_t child;

	*ready_fd = -1;
	if (options->foreground)
		return 0;
	if (pipe2(ends, O_CLOEXEC))
		return err_set(err, errno, "pipe: %s", g_strerror(errno));
	child = fork();
	if (child < 0)
		return err_set(err, errno, "fork: %s", g_strerror(errno));
	if (child) {
		close(ends[1]);
		wait_for_daemon(child, ends[0]);
	}
	close(ends[0]);
	setsid();
	*ready_fd = ends[1];
	return 0;
}

/* Called when the mount works: closes the terminal and ends the first process. */
static void finish_daemon(struct server *server, int ready_fd)
{
	const unsigned char status = DAEMON_READY;
	int null_fd;

	if (ready_fd < 0)
		return;
	log_init(&server->log, true);
	if (chdir("/"))
		log_error(&server->log, "chdir: %s", g_strerror(errno));
	null_fd = open(_PATH_DEVNULL, O_RDWR | O_CLOEXEC);
	if (null_fd >= 0) {
		dup2(null_fd, STDIN_FILENO);
		dup2(null_fd, STDOUT_FILENO);
		dup2(null_fd, STDERR_FILENO);
		if (null_fd > STDERR_FILENO)
			close(null_fd);
	}
	if (write(ready_fd, &status, 1) != 1)
		log_error(&server->log, "the process that started kprofs has ended");
	close(ready_fd);
}

/* ---- the run --------------------------------------------------------------------------------- */

static void block_signals(void)
{
	sigset_t signals;

	server_run_signals(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void bound_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, ALLOC_MAP_BYTES);
	mallopt(M_ARENA_MAX, ALLOC_ARENAS);
}

static int serve(const struct options *options, int ready_fd, const char *mountpoint,
	struct err *err)
{
	struct server server;
	int ret = server_run_create(&server, options, err);
	if (!ret)
		ret = server_run_mount(&server, options, mountpoint, err);
	if (!ret) {
		finish_daemon(&server, ready_fd);
		server_run_wait(&server);
	}
	server_run_destroy(&server);
	return ret;
}

int main(int argc, char **argv)
{
	struct options options;
	struct err err = { "" };
	char *mountpoint = NULL;
	int ready_fd, ret;

	/* before anything is opened: finish_daemon() gives their numbers away */
	if (stdfds_fill())
		return EXIT_FAILURE;
	if (viewproc_is_asked(argc, argv)) {
		bound_memory();
		return viewproc_main(argv);
	}
	if (file_links_is_asked(argc, argv))
		return file_links_main();
	/* for completions/: not in the help */
	if (argc > 1 && strcmp(argv[1], "--complete") == 0)
		return print_completions(argc - 2, argv + 2);
	if (reserve_init()) {
		fputs("kprofs: there is not enough memory to begin\n", stderr);
		return EXIT_FAILURE;
	}
	ret = options_parse(&options, argc, argv, &err);
	if (!ret && (options.help || options.version || options.dump_words)) {
		ret = print_instead(&options);
		options_clear(&options);
		return ret;
	}
	if (!ret)
		ret = find_mountpoint(&options, &mountpoint, &err);
	if (!ret)
		ret = begin_daemon(&options, &ready_fd, &err);
	if (!ret) {
		block_signals();
		bound_memory();
		ret = serve(&options, ready_fd, mountpoint, &err);
	}
	if (ret)
		fprintf(stderr, "kprofs: %s\n", err.text[0] ? err.text : g_strerror(-ret));
	free(mountpoint);
	options_clear(&options);
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}

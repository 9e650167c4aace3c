/* SPDX-License-Identifier: MIT */
/* Shows output in a pager: see pager.h. */
#include "cmd/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* NULL if none is wanted. */
static const char *find_program(void)
{
	const char *names[] = {"KPROF_PAGER", "PAGER"}, *program = NULL;
	size_t i;

	for (i = 0; !program && i < sizeof(names) / sizeof(names[0]); i++)
		program = getenv(names[i]);
	if (!program)
		program = "less";
	return *program && strcmp(program, "cat") ? program : NULL;
}

static _Noreturn void run_pager(const char *program, int fd)
{
	dup2(fd, STDIN_FILENO);
	/* quit if it fits the screen, show colours, leave the text there */
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", program, (char *)NULL);
	_exit(127);
}

void pager_begin(struct pager *pager)
{
	const char *program = isatty(STDOUT_FILENO) ? find_program() : NULL;
	int fds[2];

	pager->pid = 0;
	if (!program || pipe2(fds, O_CLOEXEC))
		return;
	fflush(stdout);
	pager->pid = fork();
	if (!pager->pid)
		run_pager(program, fds[0]);
	if (pager->pid > 0) {
		dup2(fds[1], STDOUT_FILENO);
		/* the keys of the terminal are for the pager; it may end before all is written */
		signal(SIGINT, SIG_IGN);
		signal(SIGPIPE, SIG_DFL);
	} else {
		pager->pid = 0;
	}
	close(fds[0]);
	close(fds[1]);
}

void pager_end(struct pager *pager)
{
	if (!pager->pid)
		return;
	fflush(stdout);
	close(STDOUT_FILENO);
	while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR)
		;
	/* what is written later, if anything, must not fail */
	open("/dev/null", O_WRONLY | O_CLOEXEC);
}

/* SPDX-License-Identifier: MIT */
/*
 * deny ERRNO SYSCALL... -- COMMAND [ARGUMENT...]
 *
 * Runs COMMAND in a world in which the system calls named fail with ERRNO (EACCES, ENOENT, ...), for
 * itself and all that it starts. A program that is set-user-ID stays without its rights there.
 * Exit status: COMMAND's; 127: it could not be run; 125: this program could not do its part.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_DENY 125
#define EXIT_EXEC 127

#define ERRNO_END 134 /* Linux has none from here on */

static int parse_errno(const char *name)
{
	int code;

	for (code = 1; code < ERRNO_END; code++) {
		const char *found = strerrorname_np(code);

		if (found && !strcmp(found, name))
			return code;
	}
	return 0;
}

/* Denies the calls named up to "--". Returns the index behind that, 0 on failure. */
static int add_rules(scmp_filter_ctx filter, int code, int argc, char **argv, int at)
{
	int first = at;

	for (; at < argc && strcmp(argv[at], "--"); at++) {
		int call = seccomp_syscall_resolve_name(argv[at]);
		int ret;

		if (call == __NR_SCMP_ERROR) {
			fprintf(stderr, "deny: no system call '%s'\n", argv[at]);
			return 0;
		}
		ret = seccomp_rule_add(filter, SCMP_ACT_ERRNO(code), call, 0);
		if (ret) {
			fprintf(stderr, "deny: %s: %s\n", argv[at], strerror(-ret));
			return 0;
		}
	}
	return at > first && at + 1 < argc ? at + 1 : 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: deny ERRNO SYSCALL... -- COMMAND [ARGUMENT...]\n");
	return EXIT_DENY;
}

int main(int argc, char **argv)
{
	int code = argc > 1 ? parse_errno(argv[1]) : 0;
	scmp_filter_ctx filter;
	int command, ret;

	if (!code)
		return usage();
	filter = seccomp_init(SCMP_ACT_ALLOW);
	if (!filter) {
		fprintf(stderr, "deny: no filter\n");
		return EXIT_DENY;
	}
	command = add_rules(filter, code, argc, argv, 2);
	ret = command ? seccomp_load(filter) : 0;
	seccomp_release(filter);
	if (!command)
		return usage();
	if (ret) {
		fprintf(stderr, "deny: %s\n", strerror(-ret));
		return EXIT_DENY;
	}
	execvp(argv[command], argv + command);
	fprintf(stderr, "deny: %s: %s\n", argv[command], strerror(errno));
	return EXIT_EXEC;
}

/* SPDX-License-Identifier: MIT */
/*
 * Runs a program in the language of probes and shows what it prints, and at the end its maps. A private
 * server runs it, so that nothing stays in the kernel when kprof ends, however it ends. One at a time; the
 * caller has one thread.
 */
#ifndef KPROFS_CMD_LIVE_PROBE_H
#define KPROFS_CMD_LIVE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

struct live_probe {
	const char *text;	 /* of the program */
	const char *const *args; /* $1, ...; NULL-terminated */
	const char *output;	 /* NULL for standard output */
	char **argv;		 /* a command: the program ends with it; NULL: with a signal or exit() */
	int pid;		 /* the one process that is seen, and ends the program; 0: all */
	bool as_json;
	uint32_t count; /* of probes, for JSON */
};

/* Returns the exit status: that of the command, or CMD_FAILED after an error, which is printed. */
int live_probe_run(const struct live_probe *probe);

/*
 * Parses and checks the text with these arguments; prints the error. child: cpid, 0 for none. *count is the
 * number of probes.
 */
int live_probe_check(const char *text, const char *const *args, int child, uint32_t *count);

#endif

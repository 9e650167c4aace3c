/* SPDX-License-Identifier: MIT */
/*
 * Parses the command line of kprofs. It is `kprofs MOUNTPOINT` or, from mount(8) through
 * mount.fuse3, `kprofs SOURCE MOUNTPOINT -o OPTIONS`.
 */
#ifndef KPROFS_FS_OPTIONS_H
#define KPROFS_FS_OPTIONS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acct/exact.h"
#include "base/err.h"
#include "fs/dirtab.h"
#include "producers/endpoint.h"

struct options {
	bool foreground;
	bool help, version;
	bool dump_words; /* prints the tables for the tests */
	char *source;	 /* the first column of /proc/mounts; NULL for the program's name */
	char *mountpoint;
	struct dirtab_owner owner;
	bool over; /* mount also where another kprofs is mounted */
	bool akaros;
	bool user_rates; /* sessions of ordinary users sample at any rate */
	size_t trace_bytes;
	uint64_t trace_max;
	uint32_t trace_kernel_kb; /* of the ring of one CPU */
	char *keep; /* where kernel events are pinned; NULL if they end with the server */
	char *socket; /* the socket for programs; NULL for the default path, "" for no socket */
	enum endpoint_who attach;
	gid_t attach_group;
	enum exact_source mpstat; /* where its times come from */
	unsigned int mpstat_hold_s;
	char *state; /* the directory for files of sessions; NULL: none */
	unsigned int sessions, user_sessions; /* that all users, and one user, may make */
	uint32_t probe_keys, probe_strlen; /* of maps and strings of programs of probes/; 0: the defaults */
	uint32_t probe_pid; /* the one process that they see; 0: all */
	bool probe_json; /* answers and what they print are JSON */
	char *debuginfod; /* servers of debug files, as in DEBUGINFOD_URLS; NULL if there are none */
	GPtrArray *mount; /* of char *: options that libfuse and the kernel understand */
};

/*
 * Begins with the defaults. Returns -EINVAL with a sentence. The caller calls options_clear() in
 * any case.
 */
int options_parse(struct options *options, int argc, char **argv, struct err *err);
void options_clear(struct options *options);

/* Appends the text that -h prints. */
void options_print_help(GString *out);

/*
 * The name of the mount option with this index, with `=` where it has a value, its help, and values
 * that shells complete, with blanks between them. Returns NULL behind the last one.
 */
const char *options_mount_option(size_t i, const char **help, const char **values);

/*
 * Appends what a shell completes after `kprofs`, for the scripts in completions/, which get it by the
 * hidden `kprofs --complete`: as `kprof --complete` prints it (cmd/completions.h). words: those after
 * `kprofs`; the last one is being typed and may be empty.
 */
void options_complete(int count, char **words, GString *out);

#endif

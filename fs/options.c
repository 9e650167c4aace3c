/* SPDX-License-Identifier: MIT */
/* The command line: see options.h. */
#include "fs/options.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/switch_word.h"
#include "base/units.h"
#include "bpf/rings.h"
#include "fs/sessions.h"
#include "probes/check.h"
#include "probes/store.h"
#include "trace/snapshot.h"
#include "trace/trace.h"

/*
 * One mount option: its value is parsed by a function here, or it is passed to libfuse, or it is
 * for other programs (mount(8), init systems) and is ignored.
 */
struct mount_option {
	const char *name; /* with `=` where it has a value */
	int (*take)(struct options *options, const char *value, struct err *err);
	bool pass_on;
	const char *help;
	bool is_switch; /* may have a value: = and a word of a switch */
	const char *values; /* for shells, with blanks between them */
};

static int take_number(const char *value, uint64_t max, uint64_t *number, struct err *err)
{
	if (units_parse_u64(value, number) || *number > max)
		return err_set(err, EINVAL, "'%s' is not a number that it takes", value);
	return 0;
}

/* unit: as the bounds are given in a sentence */
static int take_between(const char *value, uint64_t low, uint64_t high, const char *unit, uint64_t *number,
	struct err *err)
{
	int ret = take_number(value, UINT32_MAX, number, err);

	if (!ret && (*number < low || *number > high))
		ret = err_set(err, EINVAL, "from %" PRIu64 " to %" PRIu64 " %s", low, high, unit);
	return ret;
}

static int take_uid(struct options *options, const char *value, struct err *err)
{
	uint64_t number;
	int ret = take_number(value, UINT32_MAX - 1, &number, err);

	if (!ret)
		options->owner.uid = (uid_t)number;
	return ret;
}

static int take_gid(struct options *options, const char *value, struct err *err)
{
	uint64_t number;
	int ret = take_number(value, UINT32_MAX - 1, &number, err);

	if (!ret)
		options->owner.gid = (gid_t)number;
	return ret;
}

static int take_mode(struct options *options, const char *value, struct err *err)
{
	size_t digits = strspn(value, "01234567");

	if (!digits || value[digits] || digits > 4 || strtoul(value, NULL, 8) > 0777)
		return err_set(err, EINVAL, "'%s' is not an octal mode up to 777", value);
	options->owner.mode = (mode_t)strtoul(value, NULL, 8);
	options->owner.mode_given = true;
	return 0;
}

static int take_trace_size(struct options *options, const char *value, struct err *err)
{
	uint64_t kb;
	int ret = take_between(value, TRACE_RING_BYTES_MIN / KIB, TRACE_RING_BYTES_MAX / KIB, "KB", &kb, err);

	if (!ret)
		options->trace_bytes = kb * KIB;
	return ret;
}

static int take_trace_max(struct options *options, const char *value, struct err *err)
{
	uint64_t kb;
	int ret = take_between(value, SNAPSHOT_BYTES_MIN / KIB, SNAPSHOT_BYTES_MAX / KIB, "KB", &kb, err);

	if (!ret)
		options->trace_max = kb * KIB;
	return ret;
}

static int take_trace_kernel(struct options *options, const char *value, struct err *err)
{
	uint64_t kb;
	int ret = take_between(value, RINGS_KB_MIN, RINGS_KB_MAX, "KB", &kb, err);

	if (!ret)
		options->trace_kernel_kb = (uint32_t)kb;
	return ret;
}

static int take_probe_keys(struct options *options, const char *value, struct err *err)
{
	uint64_t keys;
	int ret = take_between(value, 1, STORE_KEYS_MAX, "keys", &keys, err);

	if (!ret)
		options->probe_keys = (uint32_t)keys;
	return ret;
}

static int take_probe_strlen(struct options *options, const char *value, struct err *err)
{
	uint64_t bytes;
	int ret = take_between(value, CHECK_STRING_MIN, CHECK_STRING_MAX, "bytes", &bytes, err);

	if (!ret)
		options->probe_strlen = (uint32_t)bytes;
	return ret;
}

static int take_probe_format(struct options *options, const char *value, struct err *err)
{
	options->probe_json = strcmp(value, "json") == 0;
	return options->probe_json || strcmp(value, "text") == 0 ? 0 :
		err_set(err, EINVAL, "text or json");
}

static int take_probe_pid(struct options *options, const char *value, struct err *err)
{
	uint64_t pid;
	int ret = take_number(value, INT32_MAX, &pid, err);

	if (!ret)
		options->probe_pid = (uint32_t)pid;
	return ret;
}

static int take_keep_at(struct options *options, const char *value, struct err *err)
{
	if (value[0] != '/')
		return err_set(err, EINVAL, "an absolute path");
	g_free(options->keep);
	options->keep = g_strdup(value);
	return 0;
}

static int take_keep(struct options *options, const char *value, struct err *err)
{
	return take_keep_at(options, "/sys/fs/bpf/kprofs", err);
}

static int take_socket(struct options *options, const char *value, struct err *err)
{
	if (value[0] != '/' && strcmp(value, "none") != 0)
		return err_set(err, EINVAL, "an absolute path, or none");
	g_free(options->socket);
	options->socket = g_strdup(value[0] == '/' ? value : "");
	return 0;
}

static int take_group(struct options *options, const char *name, struct err *err)
{
	const struct group *group;
	uint64_t number;

	options->attach = ENDPOINT_GROUP;
	if (!units_parse_u64(name, &number) && number < UINT32_MAX) {
		options->attach_group = (gid_t)number;
		return 0;
	}
	group = getgrnam(name);
	if (!group)
		return err_set(err, EINVAL, "there is no group '%s'", name);
	options->attach_group = group->gr_gid;
	return 0;
}

static int take_attach(struct options *options, const char *value, struct err *err)
{
	if (!strncmp(value, "group:", strlen("group:")))
		return take_group(options, value + strlen("group:"), err);
	if (!strcmp(value, "all"))
		options->attach = ENDPOINT_ALL;
	else if (!strcmp(value, "owner"))
		options->attach = ENDPOINT_OWNER;
	else
		return err_set(err, EINVAL, "all, owner or group:NAME");
	return 0;
}

static int take_mpstat(struct options *options, const char *value, struct err *err)
{
	if (!strcmp(value, "auto"))
		options->mpstat = EXACT_AUTO;
	else if (!strcmp(value, "procstat"))
		options->mpstat = EXACT_PROCSTAT;
	else if (!strcmp(value, "bpf"))
		options->mpstat = EXACT_BPF;
	else
		return err_set(err, EINVAL, "auto, procstat or bpf");
	return 0;
}

static int take_mpstat_hold(struct options *options, const char *value, struct err *err)
{
	uint64_t seconds;
	int ret = take_number(value, EXACT_HOLD_MAX_S, &seconds, err);

	if (!ret && !seconds)
		ret = err_set(err, EINVAL, "from 1 to %u seconds", EXACT_HOLD_MAX_S);
	if (!ret)
		options->mpstat_hold_s = (unsigned int)seconds;
	return ret;
}

static int take_sessions(struct options *options, const char *value, struct err *err)
{
	uint64_t number;
	int ret = take_number(value, SESSIONS_MAX, &number, err);

	if (!ret)
		options->sessions = (unsigned int)number;
	return ret;
}

static int take_state(struct options *options, const char *value, struct err *err)
{
	if (value[0] != '/')
		return err_set(err, EINVAL, "state=%s: not an absolute path", value);
	g_free(options->state);
	options->state = g_strdup(value);
	return 0;
}

static int take_user_sessions(struct options *options, const char *value, struct err *err)
{
	uint64_t number;
	int ret = take_number(value, SESSIONS_MAX, &number, err);

	if (!ret)
		options->user_sessions = (unsigned int)number;
	return ret;
}

/* value: "", which is on, or = and a word of a switch */
static int take_switch(const char *value, bool *on, struct err *err)
{
	enum switch_word to = SWITCH_WORD_ON;

	if (value[0] && switch_word_parse(value + 1, &to))
		return err_set(err, EINVAL, "'%s' is none of on, off, toggle and numbers", value + 1);
	*on = switch_word_apply(to, *on);
	return 0;
}

static int take_user_rates(struct options *options, const char *value, struct err *err)
{
	if (strcmp(value, "any") && strcmp(value, "limited"))
		return err_set(err, EINVAL, "user_rates=%s: neither limited nor any", value);
	options->user_rates = !strcmp(value, "any");
	return 0;
}

static int take_akaros(struct options *options, const char *value, struct err *err)
{
	return take_switch(value, &options->akaros, err);
}

static int take_allow_other(struct options *options, const char *value, struct err *err)
{
	options->owner.shared = true;
	return 0;
}

static int take_over(struct options *options, const char *value, struct err *err)
{
	return take_switch(value, &options->over, err);
}

static int take_debuginfod_url(struct options *options, const char *value, struct err *err)
{
	if (!value[strspn(value, " ")])
		return err_set(err, EINVAL, "no server is named");
	g_free(options->debuginfod);
	options->debuginfod = g_strdup(value);
	return 0;
}

/* As in every client of debuginfod; mount(8) passes no variables on. */
static int take_debuginfod(struct options *options, const char *value, struct err *err)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!urls || !urls[strspn(urls, " ")])
		return err_set(err, EINVAL,
			"the variable DEBUGINFOD_URLS names no server; debuginfod=URL would");
	return take_debuginfod_url(options, urls, err);
}

static const struct mount_option mount_options[] = {
	{ "uid=", take_uid, false, "owner of the tree (default: who mounts)" },
	{ "gid=", take_gid, false, "group of the tree" },
	{ "mode=", take_mode, false, "permissions of all files, octal, masked by what each can do" },
	{ "trace_size=", take_trace_size, false, "KB that kptrace keeps (default 128)" },
	{ "trace_max=", take_trace_max, false,
		"KB of programs' events that readers of kptrace copy (default 65536)" },
	{ "trace_kernel=", take_trace_kernel, false,
		"KB of kernel events that are kept for each CPU (default 1024)" },
	{ "probe_keys=", take_probe_keys, false, "keys of a map of a program of probes/ (default 4096)" },
	{ "probe_strlen=", take_probe_strlen, false, "bytes of a string of such programs (default 200)" },
	{ "probe_format=", take_probe_format, false, "what they print and answer: text or json",
		.values = "text json" },
	{ "probe_pid=", take_probe_pid, false, "the one process that such programs see" },
	{ "keep=", take_keep_at, false, "the same in this folder of a bpf file system" },
	{ "keep", take_keep, false,
		"kernel events are recorded also when the server was killed, for the next one",
		.is_switch = true },
	{ "socket=", take_socket, false, "where programs attach, or none", .values = "none" },
	{ "attach=", take_attach, false, "whose programs may attach: all, owner or group:NAME",
		.values = "all owner group:" },
	{ "debuginfod=", take_debuginfod_url, false, "ask this server for debug files" },
	{ "debuginfod", take_debuginfod, false, "ask those that DEBUGINFOD_URLS names" },
	{ "mpstat=", take_mpstat, false, "where the times of mpstat come from: auto, procstat or bpf",
		.values = "auto procstat bpf" },
	{ "mpstat_hold=", take_mpstat_hold, false,
		"seconds that they are measured after the last reading (default 60)" },
	{ "state=", take_state, false, "a directory in which captures and settings stay" },
	{ "sessions=", take_sessions, false, "how many sessions there may be (default 64)" },
	{ "user_sessions=", take_user_sessions, false,
		"how many one user may have, besides root and who mounts (default 8)" },
	{ "user_rates=", take_user_rates, false,
		"how often their events are sampled: limited (default) or any", .values = "limited any" },
	{ "akaros", take_akaros, false, "every open file of kpctl holds the run, as on Akaros",
		.is_switch = true },
	{ "over", take_over, false, "mount also where another kprofs is mounted, over it",
		.is_switch = true },
	{ "allow_other", take_allow_other, true, "other users may use the tree, as its modes say" },
	{ "allow_root", NULL, true, "root may use the tree of another user" },
	{ "auto_unmount", NULL, true, NULL },
	{ "context=", NULL, true, NULL },
	{ "fscontext=", NULL, true, NULL },
	{ "defcontext=", NULL, true, NULL },
	{ "rootcontext=", NULL, true, NULL },
	{ "rw", NULL, true, NULL },
	{ "ro", NULL, true, NULL },
	{ "dev", NULL, true, NULL },
	{ "nodev", NULL, true, NULL },
	{ "suid", NULL, true, NULL },
	{ "nosuid", NULL, true, NULL },
	{ "exec", NULL, true, NULL },
	{ "noexec", NULL, true, NULL },
	{ "sync", NULL, true, NULL },
	{ "async", NULL, true, NULL },
	{ "dirsync", NULL, true, NULL },
	{ "atime", NULL, true, NULL },
	{ "noatime", NULL, true, NULL },
	{ "default_permissions", NULL, false, NULL }, /* always so */
	{ "auto", NULL, false, NULL },
	{ "noauto", NULL, false, NULL },
	{ "nofail", NULL, false, NULL },
	{ "defaults", NULL, false, NULL },
	{ "user", NULL, false, NULL },
	{ "user=", NULL, false, NULL },
	{ "nouser", NULL, false, NULL },
	{ "users", NULL, false, NULL },
	{ "owner", NULL, false, NULL },
	{ "group", NULL, false, NULL },
	{ "_netdev", NULL, false, NULL },
	{ "relatime", NULL, false, NULL },
	{ "norelatime", NULL, false, NULL },
	{ "strictatime", NULL, false, NULL },
	{ "nostrictatime", NULL, false, NULL },
	{ "lazytime", NULL, false, NULL },
	{ "nolazytime", NULL, false, NULL },
	{ "diratime", NULL, false, NULL },
	{ "nodiratime", NULL, false, NULL },
	{ NULL },
};

const char *options_mount_option(size_t i, const char **help, const char **values)
{
	if (i >= G_N_ELEMENTS(mount_options) - 1)
		return NULL;
	*help = mount_options[i].help ? mount_options[i].help : "";
	*values = mount_options[i].values ? mount_options[i].values : "";
	return mount_options[i].name;
}

static bool is_comment(const char *text)
{
	return !strncmp(text, "x-", 2) || !strncmp(text, "X-", 2) || !strncmp(text, "comment=", 8);
}

static int take_mount_option(struct options *options, const char *text, struct err *err)
{
	const struct mount_option *option;
	size_t len;
	int ret = 0;

	if (!text[0] || is_comment(text))
		return 0;
	for (option = mount_options; option->name; option++) {
		len = strlen(option->name);
		if (strncmp(text, option->name, len) != 0)
			continue;
		if (option->name[len - 1] == '=' || !text[len] ||
			(option->is_switch && text[len] == '='))
			break;
	}
	if (!option->name)
		return err_set(err, EINVAL, "unknown mount option '%s'", text);
	if (option->take)
		ret = option->take(options, text + len, err);
	if (ret)
		err_prefix(err, "mount option '%s'", text);
	if (option->pass_on)
		g_ptr_array_add(options->mount, g_strdup(text));
	return ret;
}

static int take_mount_options(struct options *options, const char *list, struct err *err)
{
	g_auto(GStrv) split = g_strsplit(list, ",", -1);
	int ret = 0;
	char **text;

	for (text = split; *text && !ret; text++)
		ret = take_mount_option(options, *text, err);
	return ret;
}

static int take_operands(struct options *options, int count, char **operands, struct err *err)
{
	if (options->help || options->version || options->dump_words)
		return 0;
	if (!count)
		return err_set(err, EINVAL, "no mount point given (-h shows how)");
	if (count > 2)
		return err_set(err, EINVAL, "too many arguments (-h shows how)");
	if (count == 2)
		options->source = g_strdup(operands[0]);
	options->mountpoint = g_strdup(operands[count - 1]);
	return 0;
}

int options_parse(struct options *options, int argc, char **argv, struct err *err)
{
	static const struct option long_options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ "foreground", no_argument, NULL, 'f' },
		{ "dump-words", no_argument, NULL, 'w' },
		{ NULL },
	};
	int c, ret = 0;

	*options = (struct options){ 0 };
	options->owner.uid = getuid();
	options->owner.gid = getgid();
	options->trace_bytes = TRACE_RING_BYTES_DEFAULT;
	options->trace_max = SNAPSHOT_BYTES_DEFAULT;
	options->mpstat_hold_s = EXACT_HOLD_DEFAULT_S;
	options->trace_kernel_kb = RINGS_KB_DEFAULT;
	options->sessions = SESSIONS_DEFAULT;
	options->user_sessions = SESSIONS_USER_DEFAULT;
	options->mount = g_ptr_array_new_with_free_func(g_free);
	optind = 0; /* glibc: start anew, argv may be another one than last time */
	opterr = 0;
	while (!ret && (c = getopt_long(argc, argv, ":hVfo:", long_options, NULL)) != -1) {
		if (c == 'h')
			options->help = true;
		else if (c == 'V')
			options->version = true;
		else if (c == 'f')
			options->foreground = true;
		else if (c == 'w')
			options->dump_words = true;
		else if (c == 'o')
			ret = take_mount_options(options, optarg, err);
		else if (c == ':')
			ret = err_set(err, EINVAL, "-%c needs a value", optopt);
		else
			ret = err_set(err, EINVAL, "unknown option '%s' (-h shows all)",
				argv[optind - 1]);
	}
	return ret ? ret : take_operands(options, argc - optind, argv + optind, err);
}

void options_clear(struct options *options)
{
	g_free(options->source);
	g_free(options->mountpoint);
	g_free(options->keep);
	g_free(options->socket);
	g_free(options->state);
	g_free(options->debuginfod);
	if (options->mount)
		g_ptr_array_free(options->mount, TRUE);
	*options = (struct options){ 0 };
}

void options_print_help(GString *out)
{
	const struct mount_option *option;

	g_string_append(out,
		"usage: kprofs [-f] [-o OPTIONS] MOUNTPOINT\n"
		"       kprofs [-f] [-o OPTIONS] SOURCE MOUNTPOINT\n"
		"Profiles and traces this machine through the files of a mounted directory.\n"
		"\n"
		"  -f, --foreground  don't become a daemon\n"
		"  -h, --help        this text\n"
		"  -V, --version     the version\n"
		"  -o OPTIONS        separated by commas:\n");
	for (option = mount_options; option->name; option++)
		if (option->help)
			g_string_append_printf(out, "    %-15s %s\n", option->name, option->help);
	g_string_append(out,
		"\n"
		"`umount MOUNTPOINT` or SIGTERM ends it. kprofs(8) tells more, kprof(5) about the files.\n");
}

/* SPDX-License-Identifier: MIT */
/* fs/options: the command lines of users and of mount(8) are parsed or refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/options.h"

struct row {
	int line;
	const char *words; /* of the command line, blanks between */
	const char *wrong; /* part of the sentence; NULL if it is right */
	const char *source, *mountpoint;
	const char *mount; /* what libfuse gets, commas between */
	bool foreground, akaros;
	int mode; /* -1 if not given */
	size_t trace_bytes;
	bool over;
};

#define KB ((size_t)1024)

static const struct row rows[] = {
	{__LINE__, "kprofs /mnt", NULL, NULL, "/mnt", "", false, false, -1, 128 * KB},
	{__LINE__, "kprofs -f /mnt", NULL, NULL, "/mnt", "", true, false, -1, 128 * KB},
	{__LINE__, "kprofs /mnt --foreground", NULL, NULL, "/mnt", "", true, false, -1, 128 * KB},
	{__LINE__, "kprofs none /mnt -o rw,dev,suid", NULL, "none", "/mnt", "rw,dev,suid", false,
		false, -1, 128 * KB},
	{__LINE__, "kprofs -o akaros -o mode=0640,trace_size=1 /mnt", NULL, NULL, "/mnt", "", false,
		true, 0640, KB},
	{__LINE__, "kprofs -omode=7,trace_size=65536,allow_other none /mnt", NULL, "none", "/mnt",
		"allow_other", false, false, 7, 65536 * KB},
	{__LINE__, "kprofs /mnt -o nofail,x-systemd.automount,_netdev,noauto,X-a=b,user=joe,,ro",
		NULL, NULL, "/mnt", "ro", false, false, -1, 128 * KB},
	{__LINE__, "kprofs /mnt -o context=system_u:object_r:t", NULL, NULL, "/mnt",
		"context=system_u:object_r:t", false, false, -1, 128 * KB},
	{__LINE__, "kprofs /mnt -o over,ro", NULL, NULL, "/mnt", "ro", false, false, -1, 128 * KB, true},
	{__LINE__, "kprofs", "no mount point"},
	{__LINE__, "kprofs a b c", "too many"},
	{__LINE__, "kprofs /mnt -o", "-o needs a value"},
	{__LINE__, "kprofs /mnt -z", "unknown option '-z'"},
	{__LINE__, "kprofs /mnt --bogus", "unknown option '--bogus'"},
	{__LINE__, "kprofs /mnt -o akaros=1,over=on", NULL, NULL, "/mnt", "", false, true, -1, 128 * KB,
		true},
	{__LINE__, "kprofs /mnt -o akaros=toggle,over,over=off", NULL, NULL, "/mnt", "", false, true, -1,
		128 * KB, false},
	{__LINE__, "kprofs /mnt -o akaros=", "mount option 'akaros=': '' is none of"},
	{__LINE__, "kprofs /mnt -o over=yes", "mount option 'over=yes': 'yes' is none of"},
	{__LINE__, "kprofs /mnt -o overt", "unknown mount option 'overt'"},
	{__LINE__, "kprofs /mnt -o allow_other=on", "unknown mount option 'allow_other=on'"},
	{__LINE__, "kprofs /mnt -o uid", "unknown mount option 'uid'"},
	{__LINE__, "kprofs /mnt -o uid=", "mount option 'uid='"},
	{__LINE__, "kprofs /mnt -o uid=-1", "mount option 'uid=-1'"},
	{__LINE__, "kprofs /mnt -o uid=4294967295", "mount option 'uid=4294967295'"},
	{__LINE__, "kprofs /mnt -o gid=4294967296", "mount option 'gid=4294967296'"},
	{__LINE__, "kprofs /mnt -o mode=", "mount option 'mode='"},
	{__LINE__, "kprofs /mnt -o mode=1000", "mount option 'mode=1000'"},
	{__LINE__, "kprofs /mnt -o mode=08", "mount option 'mode=08'"},
	{__LINE__, "kprofs /mnt -o mode=-1", "mount option 'mode=-1'"},
	{__LINE__, "kprofs /mnt -o mode=00000644", "mount option 'mode=00000644'"},
	{__LINE__, "kprofs /mnt -o trace_size=0",
		"mount option 'trace_size=0': from 1 to 65536 KB"},
	{__LINE__, "kprofs /mnt -o trace_size=65537", "from 1 to 65536 KB"},
	{__LINE__, "kprofs /mnt -o trace_size=18014398509481985", "mount option 'trace_size=1801"},
	{__LINE__, "kprofs /mnt -o probe_keys=0", "from 1 to 1048576 keys"},
	{__LINE__, "kprofs /mnt -o probe_strlen=4097", "from 16 to 4096 bytes"},
	{__LINE__, "kprofs /mnt -o probe_format=xml", "text or json"},
	{__LINE__, "kprofs /mnt -o trace_size=1M", "mount option 'trace_size=1M'"},
};

static bool as_expected(const struct row *row, const struct options *options)
{
	g_autofree char *mount = NULL;

	g_ptr_array_add(options->mount, NULL);
	mount = g_strjoinv(",", (char **)options->mount->pdata);
	g_ptr_array_set_size(options->mount, (int)options->mount->len - 1);
	return !g_strcmp0(options->source, row->source) &&
		!g_strcmp0(options->mountpoint, row->mountpoint) && !strcmp(mount, row->mount) &&
		options->foreground == row->foreground && options->akaros == row->akaros &&
		options->over == row->over &&
		options->owner.mode_given == (row->mode >= 0) &&
		options->owner.mode == (row->mode < 0 ? 0 : (mode_t)row->mode) &&
		options->owner.uid == getuid() && options->owner.gid == getgid() &&
		options->trace_bytes == row->trace_bytes;
}

static void test_unwind_options_are_parsed(void **state)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(rows); i++) {
		const struct row *row = &rows[i];
		g_auto(GStrv) argv = g_strsplit(row->words, " ", -1);
		struct options options;
		struct err err = { "" };
		int ret = options_parse(&options, (int)g_strv_length(argv), argv, &err);

		if (row->wrong ? ret != -EINVAL || !strstr(err.text, row->wrong) :
				 ret || !as_expected(row, &options))
			fail_msg("row of line %d: ret %d, '%s'", row->line, ret, err.text);
		options_clear(&options);
	}
}

static void test_owner_option_is_parsed(void **state)
{
	g_auto(GStrv) argv = g_strsplit("kprofs -o uid=12,gid=0x10 /mnt", " ", -1);
	struct options options;
	struct err err = { "" };

	assert_int_equal(options_parse(&options, 4, argv, &err), 0);
	assert_int_equal(options.owner.uid, 12);
	assert_int_equal(options.owner.gid, 16);
	options_clear(&options);
}

struct attach_row {
	int line;
	const char *words, *socket;
	enum endpoint_who who;
	gid_t group;
	const char *wrong; /* NULL if it is right */
};

static const struct attach_row attach_rows[] = {
	{ __LINE__, "", NULL, ENDPOINT_ALL, 0, NULL },
	{ __LINE__, "socket=/a/b,attach=owner", "/a/b", ENDPOINT_OWNER, 0, NULL },
	{ __LINE__, "attach=owner,attach=all,socket=/a,socket=none", "", ENDPOINT_ALL, 0, NULL },
	{ __LINE__, "attach=group:0", NULL, ENDPOINT_GROUP, 0, NULL },
	{ __LINE__, "attach=group:65000", NULL, ENDPOINT_GROUP, 65000, NULL },
	{ __LINE__, "attach=group:root", NULL, ENDPOINT_GROUP, 0, NULL },
	{ __LINE__, "socket=a/b", NULL, 0, 0, "an absolute path, or none" },
	{ __LINE__, "socket=", NULL, 0, 0, "an absolute path, or none" },
	{ __LINE__, "attach=", NULL, 0, 0, "all, owner or group:NAME" },
	{ __LINE__, "attach=group", NULL, 0, 0, "all, owner or group:NAME" },
	{ __LINE__, "attach=group:", NULL, 0, 0, "there is no group ''" },
	{ __LINE__, "attach=group:no such one", NULL, 0, 0, "there is no group 'no such one'" },
	{ __LINE__, "attach=group:4294967295", NULL, 0, 0, "there is no group" },
};

static void test_attach_options_are_parsed(void **state)
{
	for (size_t i = 0; i < G_N_ELEMENTS(attach_rows); i++) {
		const struct attach_row *row = &attach_rows[i];
		g_autofree char *line = g_strjoin("\n", "kprofs", "-o", row->words, "/mnt", NULL);
		g_auto(GStrv) argv = g_strsplit(line, "\n", -1);
		struct options options;
		struct err err = { "" };
		int ret = options_parse(&options, 4, argv, &err);

		if (row->wrong ? ret != -EINVAL || !strstr(err.text, row->wrong) :
				 ret || g_strcmp0(options.socket, row->socket) ||
					options.attach != row->who ||
					options.attach_group != row->group)
			fail_msg("row of line %d: ret %d, '%s'", row->line, ret, err.text);
		options_clear(&options);
	}
}

/* The servers are those that are named, else those of the variable, and none without the option. */
static void test_debuginfod_servers_come_from_option_or_variable(void **state)
{
	static const struct {
		int line;
		const char *option, *variable;
		const char *servers; /* NULL: refused, or none where there is no option */
	} cases[] = {
		{ __LINE__, "debuginfod", "http://a http://b", "http://a http://b" },
		{ __LINE__, "debuginfod=http://c", "http://a", "http://c" },
		{ __LINE__, "debuginfod=http://c", NULL, "http://c" },
		{ __LINE__, "debuginfod,debuginfod=http://c", "http://a", "http://c" },
		{ __LINE__, "debuginfod", NULL, NULL },
		{ __LINE__, "debuginfod", " ", NULL },
		{ __LINE__, "debuginfod=", "http://a", NULL },
		{ __LINE__, "ro", "http://a", NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *line = g_strjoin(";", "kprofs", "-o", cases[i].option, "/mnt", NULL);
		g_auto(GStrv) argv = g_strsplit(line, ";", -1);
		struct options options;
		struct err err = { "" };
		int ret, wanted = cases[i].servers || !strcmp(cases[i].option, "ro") ? 0 : -EINVAL;

		if (cases[i].variable)
			setenv("DEBUGINFOD_URLS", cases[i].variable, 1);
		else
			unsetenv("DEBUGINFOD_URLS");
		ret = options_parse(&options, 4, argv, &err);
		if (ret != wanted || (!ret && g_strcmp0(options.debuginfod, cases[i].servers)))
			fail_msg("case of line %d: ret %d, '%s'", cases[i].line, ret, err.text);
		options_clear(&options);
	}
}

static void test_help_and_version_need_no_mount(void **state)
{
	g_auto(GStrv) argv = g_strsplit("kprofs -hV", " ", -1);
	struct options options;
	struct err err = { "" };

	assert_int_equal(options_parse(&options, 2, argv, &err), 0);
	assert_true(options.help && options.version);
	options_clear(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unwind_options_are_parsed),
		cmocka_unit_test(test_owner_option_is_parsed),
		cmocka_unit_test(test_attach_options_are_parsed),
		cmocka_unit_test(test_debuginfod_servers_come_from_option_or_variable),
		cmocka_unit_test(test_help_and_version_need_no_mount),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

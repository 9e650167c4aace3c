/* SPDX-License-Identifier: MIT */
/* fs/session: two sessions of one server, each with a tree of its own, share no state. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "fs/file.h"
#include "fs/filetext.h"
#include "fs/kpctl_thread.h"
#include "fs/node.h"
#include "fs/openfile.h"
#include "fs/quota.h"
#include "acct/exact.h"
#include "prof/profiler.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/tree.h"
#include "leftovers.h"

#define SESSIONS 2

/* The files of one session, as below a folder of its own. */
struct side {
	struct session *session;
	struct nodes *nodes;
	struct openfiles *files;
};

static struct server server;
static struct side sides[SESSIONS];
static struct leftovers before;

static void ignore_data(struct server *the_server)
{
}

static void ignore_freed(void *arg)
{
}

static struct probes *create_probes(struct session *session)
{
	const struct file_probes_options plain = { .serials = &server.probe_serials };

	return file_probes_create(session, &plain);
}

static void create_side(struct side *side)
{
	const struct session_options options = {
		.server = &server,
		.exact = server.exact,
		.log = &server.log,
		.budget = server.budget,
		.owner = getuid(),
		.create_probes = create_probes,
		.data_ready = ignore_data,
		.data_drained = ignore_data,
	};
	const struct dirtab_owner owner = { .uid = getuid() };
	struct err err = { "" };

	if (session_create(&options, &side->session, &err))
		fail_msg("session_create: %s", err.text);
	side->nodes = nodes_create(side->session, tree_root(), &owner);
	side->files = openfiles_create(&(struct openfiles_hooks){
		.nodes = side->nodes, .quotas = server.quotas, .much_freed = ignore_freed });
}

static int create_sides(void **state)
{
	size_t i;

	before = leftovers_count();
	log_init(&server.log, true);
	server.quotas = quotas_create(getuid(), 1024, 1);
	server.budget = profiler_budget_create();
	server.exact = exact_create(EXACT_PROCSTAT, EXACT_HOLD_DEFAULT_S);
	for (i = 0; i < SESSIONS; i++)
		create_side(&sides[i]);
	return 0;
}

static void destroy_side(struct side *side)
{
	session_close(side->session);
	openfiles_destroy(side->files);
	nodes_destroy(side->nodes);
	session_destroy(side->session);
}

static int destroy_sides(void **state)
{
	size_t i;

	for (i = 0; i < SESSIONS; i++)
		destroy_side(&sides[i]);
	exact_destroy(server.exact);
	budget_destroy(server.budget);
	quotas_destroy(server.quotas);
	leftovers_check(&before);
	return 0;
}

static struct node *find_node(struct side *side, const char *name)
{
	struct node *node = NULL;

	assert_int_equal(node_lookup(side->nodes, nodes_root(side->nodes), name, 0, &node, NULL), 0);
	return node;
}

static struct openfile *open_file(struct side *side, const char *name, int flags)
{
	const struct origin origin = { .pid = getpid(), .uid = getuid() };
	struct node *node = find_node(side, name);
	struct openfile *file;

	assert_non_null(node);
	assert_ptr_equal(node_session(node), side->session);
	assert_int_equal(openfile_create(side->files, node, node_session(node)->report, flags,
		&origin, &file), 0);
	return file;
}

static int write_to(struct side *side, const char *name, const char *text)
{
	const struct origin origin = { .pid = getpid(), .uid = getuid() };
	struct openfile *file = open_file(side, name, O_WRONLY);
	int ret = openfile_write(file, NULL, &origin, text, strlen(text));

	openfile_put(file);
	return ret;
}

/* What a reader of the file sees; to be freed. */
static char *read_from(struct side *side, const char *name)
{
	const struct origin origin = { .pid = getpid(), .uid = getuid() };
	struct openfile *file = open_file(side, name, O_RDONLY);
	char *text;

	assert_int_equal(openfile_fill(file, &origin), 0);
	text = g_strndup(file->content.text->bytes, file->content.text->size);
	openfile_put(file);
	return text;
}

static void assert_reads(struct side *side, const char *name, const char *part, bool present)
{
	g_autofree char *text = read_from(side, name);

	if (!strstr(text, part) == present)
		fail_msg("%s %s %s:\n%s", name, present ? "lacks" : "has", part, text);
}

static void test_settings_belong_to_one_session(void **state)
{
	assert_int_equal(write_to(&sides[0], "kpctl", "prof_qlimit 2048\nstack none\n"), 0);
	assert_reads(&sides[0], "kpctl", "prof_qlimit 2048\n", true);
	assert_reads(&sides[0], "kpctl", "stack none\n", true);
	assert_reads(&sides[1], "kpctl", "prof_qlimit 2048\n", false);
	assert_reads(&sides[1], "kpctl", "stack none\n", false);
}

static void test_refusals_belong_to_one_session(void **state)
{
	assert_int_equal(write_to(&sides[0], "kpctl", "unheard-of\n"), -EINVAL);
	assert_reads(&sides[0], "kperr", "unheard-of", true);
	assert_reads(&sides[1], "kperr", "unheard-of", false);
}

static void test_accounting_belongs_to_one_session(void **state)
{
	g_autofree char *text = NULL, *later = NULL;

	assert_int_equal(write_to(&sides[0], "mpstat", "off\n"), 0);
	text = read_from(&sides[0], "mpstat");
	assert_int_equal(write_to(&sides[1], "mpstat", "reset\n"), 0);
	later = read_from(&sides[0], "mpstat");
	assert_string_equal(text, later); /* paused: the other's baseline does not change it */
	assert_int_equal(write_to(&sides[0], "mpstat", "on\n"), 0);
}

static uint64_t bytes_of(struct side *side, const char *name)
{
	struct node *node = find_node(side, name);
	struct stat st;

	node_stat(side->nodes, node, NULL, &st);
	node_forget(side->nodes, node, 1);
	return (uint64_t)st.st_size;
}

static void test_captures_belong_to_one_session(void **state)
{
	const uint64_t first = bytes_of(&sides[0], "kpdata"), second = bytes_of(&sides[1], "kpdata");

	assert_int_equal(write_to(&sides[0], "kpdata", "0xffffffff81000000"), 0);
	assert_true(bytes_of(&sides[0], "kpdata") > first);
	assert_int_equal(bytes_of(&sides[1], "kpdata"), second);
}

static void test_each_session_has_its_own_holder(void **state)
{
	struct openfile *files[SESSIONS];
	size_t i;

	for (i = 0; i < SESSIONS; i++) {
		const struct origin origin = { .pid = getpid(), .uid = getuid() };

		files[i] = open_file(&sides[i], "kpctl", O_WRONLY);
		assert_int_equal(openfile_write(files[i], NULL, &origin, "hold\n", 5), 0);
	}
	assert_int_equal(write_to(&sides[0], "kpctl", "hold\n"), -EBUSY);
	for (i = 0; i < SESSIONS; i++)
		kpctl_thread_release(sides[i].session->kpctl, files[i]);
}

/* A thread may use an open file that the kernel has closed, and whose node it has forgotten. */
static void test_an_open_file_holds_its_node(void **state)
{
	const struct origin origin = { .pid = getpid(), .uid = getuid() };
	const uint64_t others = nodes_count(sides[0].nodes);
	struct openfile *file = open_file(&sides[0], "kpctl", O_WRONLY);
	struct node *node = file->node;

	assert_int_equal(nodes_count(sides[0].nodes), others + 1);
	openfile_get(file); /* the thread's */
	openfile_leave_node(file);
	openfile_put(file);
	node_forget(sides[0].nodes, node, 1);
	assert_int_equal(nodes_count(sides[0].nodes), others + 1);
	assert_int_equal(openfile_write(file, NULL, &origin, "stack none\n", 11), 0);
	openfile_put(file);
	assert_int_equal(nodes_count(sides[0].nodes), others);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_settings_belong_to_one_session),
		cmocka_unit_test(test_refusals_belong_to_one_session),
		cmocka_unit_test(test_accounting_belongs_to_one_session),
		cmocka_unit_test(test_captures_belong_to_one_session),
		cmocka_unit_test(test_each_session_has_its_own_holder),
		cmocka_unit_test(test_an_open_file_holds_its_node),
	};

	return cmocka_run_group_tests_name("session", tests, create_sides, destroy_sides);
}

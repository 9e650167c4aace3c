/* SPDX-License-Identifier: MIT */
/*
 * fs/dirtab and fs/node: the table of files has the modes, inode numbers, lookups and texts of
 * kprofs(4).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fs/content.h"
#include "fs/ctl_words.h"
#include "fs/dirtab.h"
#include "fs/filetext.h"
#include "fs/tree.h"
#include "fs/node.h"

/* The files at the top as the contract lists them, in the order of the listing. */
struct contract_row {
	int line;
	const char *name;
	mode_t mode;
	enum dirtab_type type;
};

static const struct contract_row contract[] = {
	{ __LINE__, "help", 0400, DIRTAB_TEXT },
	{ __LINE__, "kpctl", 0600, DIRTAB_TEXT },
	{ __LINE__, "kpdata", 0600, DIRTAB_STREAM },
	{ __LINE__, "load", 0600, DIRTAB_TEXT },
	{ __LINE__, "kptrace", 0600, DIRTAB_TEXT },
	{ __LINE__, "kptrace_ctl", 0600, DIRTAB_TEXT },
	{ __LINE__, "kprintx", 0600, DIRTAB_TEXT },
	{ __LINE__, "mpstat", 0600, DIRTAB_TEXT },
	{ __LINE__, "mpstat-raw", 0600, DIRTAB_TEXT },
	{ __LINE__, "kpstat", 0400, DIRTAB_TEXT },
	{ __LINE__, "kperr", 0400, DIRTAB_TEXT },
};

static const struct dirtab_row *find_row(const struct dirtab_row *dir, const char *name)
{
	const struct dirtab_row *row = NULL;
	const int ret = dirtab_lookup(NULL, dir, name, &row, NULL);

	assert_int_equal(ret, row ? 0 : -ENOENT);
	return row;
}

static struct node *find_node(struct nodes *nodes, struct node *dir, const char *name)
{
	struct node *node = NULL;
	const int ret = node_lookup(nodes, dir, name, 0, &node, NULL);

	assert_int_equal(ret, node ? 0 : -ENOENT);
	return node;
}

static const struct dirtab_owner plain_owner = { .uid = 7, .gid = 8 };

static void test_rows_match_the_contract(void **state)
{
	GPtrArray *rows = g_ptr_array_new();
	size_t i;

	dirtab_list(NULL, tree_root(), rows);
	assert_true(rows->len >= G_N_ELEMENTS(contract));
	for (i = 0; i < G_N_ELEMENTS(contract); i++) {
		const struct contract_row *c = &contract[i];
		const struct dirtab_row *row = g_ptr_array_index(rows, i);

		if (strcmp(row->name, c->name) || row->type != c->type ||
			dirtab_mode(row, &plain_owner) != (S_IFREG | c->mode) ||
			find_row(tree_root(), c->name) != row)
			fail_msg("row of line %d: %s, mode %o", c->line, row->name,
				dirtab_mode(row, &plain_owner));
	}
	for (; i < rows->len; i++) /* behind them only directories */
		assert_int_equal(((struct dirtab_row *)g_ptr_array_index(rows, i))->type,
			DIRTAB_DIR);
	g_ptr_array_free(rows, TRUE);
	assert_int_equal(dirtab_mode(tree_root(), &plain_owner), S_IFDIR | 0550);
	assert_non_null(find_row(tree_root(), "kptrace_pipe")); /* it is not listed */
	assert_null(find_row(tree_root(), "kp"));
	assert_null(find_row(tree_root(), "kpctl "));
	assert_null(find_row(tree_root(), ""));
}

/* Each row has what its kind needs, and each word what the usage and the man page show. */
static void check_row(const struct dirtab_row *row)
{
	const struct ctl_words_word *word;

	/* what is read has one way to be produced, with a function of the row, and else none */
	if (!row->content != (row->type == DIRTAB_DIR || !(row->mode & 0444)) ||
		!row->content != !row->render ||
		(row->content == &content_stream) != (row->type == DIRTAB_STREAM) ||
		(row->words && row->write) ||
		!(row->write || row->writer || row->create) != !row->usage ||
		(row->list && !row->lookup && !row->resolve) || (row->lookup && !row->list) ||
		(row->rows || row->list) != (row->type == DIRTAB_DIR) ||
		row->only || row->session || ((row->flags & DIRTAB_SESSIONS) && !row->lookup))
		fail_msg("row of %s", row->name);
	for (word = row->words; word && word->word; word++)
		if (!word->handler || !word->help || !word->help[0] ||
			word->min_args > word->max_args || word->max_args > CTL_WORDS_ARGS_MAX ||
			!word->max_args != !word->args[0])
			fail_msg("word %s of %s", word->word, row->name);
}

static void check_rows(const struct dirtab_row *dir)
{
	const struct dirtab_row *row;

	check_row(dir);
	for (row = dir->rows; row && row->name; row++) {
		assert_non_null(row->help);
		if (row->type == DIRTAB_DIR)
			check_rows(row);
		else
			check_row(row);
	}
}

static void test_rows_are_complete(void **state)
{
	check_rows(tree_root());
}

static int render_x(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	g_string_append(out, "12345");
	return 0;
}

static int write_x(struct session *session, const struct dirtab_row *row,
	const struct origin *origin, const char *data, size_t size, struct err *err)
{
	return 0;
}

static const struct dirtab_row reads = { .name = "r", .mode = 0400,
	.content = &content_rendered, .render = render_x };
static const struct dirtab_row writes = { .name = "w", .mode = 0200, .write = write_x };
static const struct dirtab_row both = { .name = "b", .mode = 0600,
	.content = &content_rendered, .render = render_x, .write = write_x };
static const struct dirtab_row folder = { .name = "d", .mode = 0550, .type = DIRTAB_DIR };
static const struct dirtab_row *create_x(struct session *session, const struct dirtab_row *dir,
	const char *name)
{
	return &both;
}

/* where files can be made */
static const struct dirtab_row open_folder = { .name = "o", .mode = 0700, .type = DIRTAB_DIR,
	.create = create_x };

static void test_directory_of_a_session_has_the_rows_of_sessions(void **state)
{
	const struct dirtab_row dir = { .name = "s", .type = DIRTAB_DIR, .rows = tree_root()->rows,
		.only = DIRTAB_OF_SESSION };
	g_autoptr(GPtrArray) rows = g_ptr_array_new();
	g_autoptr(GString) names = g_string_new(NULL);
	guint i;

	dirtab_list(NULL, &dir, rows);
	for (i = 0; i < rows->len; i++)
		g_string_append_printf(names, "%s ", ((struct dirtab_row *)g_ptr_array_index(rows, i))->name);
	assert_string_equal(
		names->str, "help kpctl kpdata load mpstat mpstat-raw kpstat kperr probes views ");
	assert_null(find_row(&dir, "kptrace"));
	assert_null(find_row(&dir, "sessions"));
	assert_ptr_equal(find_row(&dir, "kpctl"), find_row(tree_root(), "kpctl"));
}

static void test_modes_of_sessions(void **state)
{
	const struct dirtab_row dir = { .name = "s", .type = DIRTAB_DIR, .rows = tree_root()->rows,
		.only = DIRTAB_OF_SESSION, .session = (struct session *)state };
	struct dirtab_owner owner = { .mode_given = true, .mode = 0640 };
	const struct dirtab_row *sessions = find_row(tree_root(), "sessions");

	/* that of sessions/ is not what the option says; that of a session is what its owner set */
	assert_int_equal(dirtab_mode(sessions, &owner), S_IFDIR | 0700);
	assert_int_equal(dirtab_mode(&dir, &owner), S_IFDIR | 0640);
	owner.shared = true;
	assert_int_equal(dirtab_mode(sessions, &owner), S_IFDIR | 01777);
	assert_int_equal(dirtab_mode(tree_root(), &owner), S_IFDIR | 0551);
	assert_int_equal(dirtab_mode(find_row(tree_root(), "views"), &owner), S_IFDIR | 0550);
}

struct mode_row {
	int line;
	int option; /* -1 if not given */
	mode_t reads, writes, both, folder, open_folder;
};

static const struct mode_row mode_rows[] = {
	{ __LINE__, -1, 0400, 0200, 0600, 0550, 0700 },
	{ __LINE__, 0640, 0440, 0200, 0640, 0550, 0750 },
	{ __LINE__, 0666, 0444, 0222, 0666, 0555, 0777 },
	{ __LINE__, 0777, 0444, 0222, 0666, 0555, 0777 },
	{ __LINE__, 0222, 0000, 0222, 0222, 0000, 0222 },
	{ __LINE__, 0111, 0000, 0000, 0000, 0000, 0000 },
	{ __LINE__, 0404, 0404, 0000, 0404, 0505, 0505 },
	{ __LINE__, 0000, 0000, 0000, 0000, 0000, 0000 },
};

static void test_modes_follow_the_mount_options(void **state)
{
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(mode_rows); i++) {
		const struct mode_row *row = &mode_rows[i];
		const struct dirtab_owner owner = { .mode_given = row->option >= 0,
			.mode = row->option < 0 ? 0 : (mode_t)row->option };

		if (dirtab_mode(&reads, &owner) != (S_IFREG | row->reads) ||
			dirtab_mode(&writes, &owner) != (S_IFREG | row->writes) ||
			dirtab_mode(&both, &owner) != (S_IFREG | row->both) ||
			dirtab_mode(&folder, &owner) != (S_IFDIR | row->folder) ||
			dirtab_mode(&open_folder, &owner) != (S_IFDIR | row->open_folder))
			fail_msg("row of line %d: %o %o %o %o %o", row->line,
				dirtab_mode(&reads, &owner), dirtab_mode(&writes, &owner),
				dirtab_mode(&both, &owner), dirtab_mode(&folder, &owner),
				dirtab_mode(&open_folder, &owner));
	}
}

static void test_inode_numbers_are_distinct(void **state)
{
	GHashTable *seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	char name[32];
	int i;

	for (i = 0; i < 20000; i++) {
		uint64_t *ino = g_new(uint64_t, 1);

		snprintf(name, sizeof(name), "provider:event%d", i);
		*ino = dirtab_ino(DIRTAB_ROOT_INO, name);
		assert_true(*ino > DIRTAB_ROOT_INO);
		assert_true(*ino <= INT64_MAX);
		assert_true(g_hash_table_add(seen, ino));
	}
	g_hash_table_destroy(seen);
	assert_int_equal(dirtab_ino(1, "trace"), dirtab_ino(1, "trace"));
	assert_int_not_equal(dirtab_ino(2, "trace"), dirtab_ino(3, "trace"));
}

static void test_made_row_has_a_copy_of_the_name(void **state)
{
	struct wide {
		struct dirtab_row row;
		uint64_t more[3];
	};
	static const struct dirtab_row like = { .type = DIRTAB_TEXT, .mode = 0600, .usage = "anything" };
	char name[] = "a:b";
	struct wide *made = (struct wide *)(void *)dirtab_make(&like, name, sizeof(*made));

	(void)state;
	name[0] = 'x';
	assert_string_equal(made->row.name, "a:b");
	assert_int_equal(made->row.mode, 0600);
	assert_string_equal(made->row.usage, "anything");
	assert_int_equal(made->more[0] | made->more[1] | made->more[2], 0);
	memset(made->more, 0xff, sizeof(made->more));
	assert_string_equal(made->row.name, "a:b");
	dirtab_put(&made->row);
}

/* A directory with rows of a table and rows that are made on lookup, as events/. */
static unsigned int puts_made;

static void put_made(const struct dirtab_row *row)
{
	puts_made++;
	g_free((gpointer)row);
}

static const struct dirtab_row *make_made(void)
{
	struct dirtab_row *row = g_new0(struct dirtab_row, 1);

	*row = both;
	row->put = put_made;
	return row;
}

static const struct dirtab_row *lookup_made(struct session *session, const struct dirtab_row *dir,
	const char *name)
{
	return strcmp(name, "b") ? NULL : make_made();
}

static void list_made(struct session *session, const struct dirtab_row *dir, GPtrArray *rows)
{
	g_ptr_array_add(rows, (gpointer)make_made());
}

static const struct dirtab_row table_rows[] = {
	{ .name = "r", .mode = 0400,
	.content = &content_rendered, .render = render_x },
	{ NULL },
};

static const struct dirtab_row made_folder = { .name = "made", .type = DIRTAB_DIR, .mode = 0550,
	.rows = table_rows, .lookup = lookup_made, .list = list_made };

static void test_made_rows_are_looked_up_and_released(void **state)
{
	GPtrArray *rows = g_ptr_array_new();

	const struct dirtab_row *row = find_row(&made_folder, "b");

	puts_made = 0;
	assert_string_equal(row->name, "b");
	dirtab_put(row);
	assert_int_equal(puts_made, 1);
	assert_null(find_row(&made_folder, "made"));
	assert_ptr_equal(find_row(&made_folder, "r"), &table_rows[0]);
	dirtab_list(NULL, &made_folder, rows);
	assert_int_equal(rows->len, 2);
	assert_ptr_equal(g_ptr_array_index(rows, 0), &table_rows[0]);
	assert_string_equal(((struct dirtab_row *)g_ptr_array_index(rows, 1))->name, "b");
	dirtab_put(g_ptr_array_index(rows, 0)); /* nothing to be freed */
	dirtab_put(g_ptr_array_index(rows, 1));
	assert_int_equal(puts_made, 2);
	g_ptr_array_free(rows, TRUE);
}

static void test_nodes_are_shared_and_counted(void **state)
{
	struct nodes *nodes = nodes_create(NULL, tree_root(), &plain_owner);
	struct node *root = nodes_root(nodes);
	struct node *a = find_node(nodes, root, "kptrace_ctl");
	struct node *b = find_node(nodes, root, "kptrace_ctl");
	struct stat st_a, st_b;

	assert_null(find_node(nodes, root, "none"));
	assert_non_null(a);
	assert_ptr_not_equal(a, b); /* each lookup has its own node */
	assert_int_equal(nodes_count(nodes), 2);
	node_stat(nodes, a, false, &st_a);
	node_stat(nodes, b, false, &st_b);
	assert_int_equal(st_a.st_ino, st_b.st_ino); /* with one inode number */
	assert_int_equal(st_a.st_uid, 7);
	assert_int_equal(st_a.st_gid, 8);
	assert_int_equal(st_a.st_nlink, 1);
	node_forget(nodes, a, 1);
	node_forget(nodes, root, 1); /* is never removed */
	assert_int_equal(nodes_count(nodes), 1);
	nodes_destroy(nodes); /* with b in it */
}

static void test_size_of_a_text_is_told_until_it_is_closed(void **state)
{
	struct nodes *nodes = nodes_create(NULL, tree_root(), &plain_owner);
	struct node *node = find_node(nodes, nodes_root(nodes), "kptrace_ctl");
	struct filetext *first = filetext_create(g_string_new_len("abc", 3));
	struct filetext *second = filetext_create(g_string_new_len("defgh", 5));
	const uid_t reader = 0;
	struct stat st;

	assert_false(node_stat(nodes, node, &reader, &st));
	assert_int_equal(st.st_size, 0);
	assert_int_equal(node_open_text(nodes, node, first), NODE_TEXT_FIRST);
	assert_true(node_stat(nodes, node, &reader, &st));
	assert_int_equal(st.st_size, 3);
	assert_int_equal(st.st_blocks, 1);
	assert_int_equal(st.st_mtim.tv_nsec, first->time.tv_nsec);
	assert_int_equal(st.st_ctim.tv_sec, first->time.tv_sec);
	/* a second reader of the same node leaves stat alone */
	assert_int_equal(node_open_text(nodes, node, second), NODE_TEXT_OTHER);
	node_stat(nodes, node, &reader, &st);
	assert_int_equal(st.st_size, 3);
	node_close_text(nodes, node);
	node_stat(nodes, node, &reader, &st);
	assert_int_equal(st.st_size, 3);
	node_close_text(nodes, node);
	assert_false(node_stat(nodes, node, &reader, &st));
	assert_int_equal(st.st_size, 0);
	assert_int_equal(node_open_text(nodes, node, second), NODE_TEXT_AGAIN);
	node_stat(nodes, node, &reader, &st);
	assert_int_equal(st.st_size, 5);
	node_forget(nodes, node, 1);
	filetext_put(first);
	filetext_put(second);
	nodes_destroy(nodes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_made_row_has_a_copy_of_the_name),
		cmocka_unit_test(test_rows_match_the_contract),
		cmocka_unit_test(test_rows_are_complete),
		cmocka_unit_test(test_directory_of_a_session_has_the_rows_of_sessions),
		cmocka_unit_test(test_modes_of_sessions),
		cmocka_unit_test(test_modes_follow_the_mount_options),
		cmocka_unit_test(test_inode_numbers_are_distinct),
		cmocka_unit_test(test_made_rows_are_looked_up_and_released),
		cmocka_unit_test(test_nodes_are_shared_and_counted),
		cmocka_unit_test(test_size_of_a_text_is_told_until_it_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

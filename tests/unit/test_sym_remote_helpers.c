/* SPDX-License-Identifier: MIT */
/*
 * symbolizer/remote: the processes of kprof-symbols have their rights, ends and limits, requests can
 * be cancelled, debuginfod is used as configured, and helpers that answer wrongly do no harm. Called
 * as kprof-symbols, this program is such a helper.
 */
#include "tests/unit/sym_remote_fixture.h"

/* ---- rights ---------------------------------------------------------------------------------- */

static char *read_status(pid_t pid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/status", pid);
	char *text = NULL;

	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return text;
}

/* The pid of a kprof-symbols of this test in this role, or its child; 0 if there is none. */
static pid_t find_helper(pid_t parent, const char *role)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", parent, parent);
	g_autofree char *text = NULL;
	g_auto(GStrv) pids = NULL;
	int i;

	assert_true(g_file_get_contents(path, &text, NULL, NULL));
	pids = g_strsplit(g_strchomp(text), " ", -1);
	for (i = 0; pids[i] && *pids[i]; i++) {
		g_autofree char *command = g_strdup_printf("/proc/%s/cmdline", pids[i]);
		g_autofree char *line = NULL;
		gsize length = 0;

		if (g_file_get_contents(command, &line, &length, NULL) && length &&
			strcmp(line, "kprof-symbols") == 0 &&
			strcmp(line + strlen(line) + 1, role) == 0)
			return (pid_t)atoi(pids[i]);
	}
	return 0;
}

static void has_line(const char *status, const char *line)
{
	if (!strstr(status, line))
		fail_msg("no line %s in %s", line, status);
}

static void test_helpers_have_no_rights(void **state)
{
	struct helpers_options options = { .program = HELPER };
	struct helpers *helpers = helpers_create(&options);
	struct proto_message *message = g_new0(struct proto_message, 1);
	struct proto_wait wait = { .cancel_fd = -1, .deadline_ns = proto_now_ns() + PATIENCE_NS };
	g_autofree char *status = NULL, *child_status = NULL, *opener_status = NULL;
	int connection, fd;
	pid_t parser;

	(void)state;
	connection = helpers_fork_parser(helpers, &wait);
	assert_true(connection >= 0);
	/* the child can't open a file that all users may read */
	proto_init(message, PROTO_TRY_OPEN);
	assert_int_equal(proto_set_path(message, "/etc/passwd"), 0);
	assert_int_equal(proto_send(connection, message, -1, &wait), 0);
	assert_int_equal(proto_receive(connection, message, NULL, &wait), 0);
	assert_int_equal(message->head.type, PROTO_OPENED);
	assert_int_equal(message->head.error, -EPERM);
	parser = find_helper(getpid(), "parser");
	assert_true(parser > 0);
	status = read_status(parser);
	has_line(status, "\nCapPrm:\t0000000000000000\n");
	has_line(status, "\nCapEff:\t0000000000000000\n");
	has_line(status, "\nNoNewPrivs:\t1\n");
	has_line(status, "\nSeccomp:\t2\n");
	child_status = read_status(find_helper(parser, "parser"));
	has_line(child_status, "\nCapEff:\t0000000000000000\n");
	has_line(child_status, "\nSeccomp_filters:\t2\n");
	if (is_root()) {
		has_line(status, "\nUid:\t65534\t65534\t65534\t65534\n");
		has_line(child_status, "\nUid:\t65534\t65534\t65534\t65534\n");
	}
	proto_init(message, PROTO_OPEN_KERNEL);
	fd = helpers_open(helpers, message, &wait);
	assert_true(fd >= 0);
	opener_status = read_status(find_helper(getpid(), "opener"));
	has_line(opener_status, "\nSeccomp:\t2\n");
	has_line(opener_status, "\nNoNewPrivs:\t1\n");
	if (is_root()) /* checkpoint_restore, syslog, sys_ptrace, dac_read_search, if we had them */
		has_line(opener_status, "\nCapEff:\t0000010400080004\n");
	close(fd);
	close(connection);
	helpers_destroy(helpers);
	/* their connections are closed, and they are gone */
	assert_int_equal(find_helper(getpid(), "opener"), 0);
	assert_int_equal(find_helper(getpid(), "parser"), 0);
	g_free(message);
}

/* There is no reply. The request ends at once, and the next child is started. */
static void test_helper_killed_in_a_request_is_started_again(void **state)
{
	struct helpers_options options = { .program = HELPER };
	struct helpers *helpers = helpers_create(&options);
	struct proto_message *message = g_new0(struct proto_message, 1);
	struct proto_wait wait = { .cancel_fd = -1, .deadline_ns = proto_now_ns() + PATIENCE_NS };
	int one = helpers_fork_parser(helpers, &wait), two;
	struct helpers_counts counts;

	(void)state;
	assert_true(one >= 0);
	helpers_kill_parser(helpers);
	proto_init(message, PROTO_VDSO);
	/* the request may still have been sent: the end of the answer must be noticed */
	(void)proto_send(one, message, -1, &wait);
	assert_int_equal(proto_receive(one, message, NULL, &wait), -EPIPE);
	two = helpers_fork_parser(helpers, &wait);
	assert_true(two >= 0);
	proto_init(message, PROTO_VDSO);
	assert_int_equal(proto_send(two, message, -1, &wait), 0);
	assert_int_equal(proto_receive(two, message, NULL, &wait), 0);
	assert_int_equal(message->head.type, PROTO_INFO);
	helpers_count(helpers, &counts);
	assert_int_equal(counts.started, 2);
	assert_int_equal(counts.killed, 1);
	close(one);
	close(two);
	helpers_destroy(helpers);
	g_free(message);
}

/* All helpers are killed between two requests: the next one is answered. */
static void test_killed_helpers_are_started_again(void **state)
{
	struct world *world = *state;
	const char *const roles[] = { "opener", "parser" };
	pid_t pid;
	size_t i;

	test_file_has_names(state);
	for (i = 0; i < G_N_ELEMENTS(roles); i++) {
		pid = find_helper(getpid(), roles[i]);
		assert_true(pid > 0);
		kill(pid, SIGKILL);
	}
	test_file_has_names(state);
	assert_int_equal(count_of(world->symbols, "symbols.helpers.started"), 4);
}

/* A Rust name with 62^10 lifetimes in it: its file soon has no names, and is counted. */
static void test_endless_name_is_counted_and_ends_soon(void **state)
{
	struct world *world = *state;
	const struct symfixture *fixture = &world->fixture;
	g_autofree char *path = symfixture_path(fixture, "odd");
	g_autofree char *good = symfixture_path(fixture, "program");
	struct symbols_file file = describe(world, path, false, NULL);
	const char *name = "_RNvMIC1aFGzzzzzzzzzz_EuEm1f";
	uint64_t offset;

	assert_true(symfixture_run(fixture, NULL,
		"echo 'int work(int) __asm__(\"%s\"); int work(int x) { return x; } int main(void) {}' |"
		"cc -x c -o odd -", name));
	offset = symfixture_offset(fixture, "odd", symfixture_find(fixture, "odd", name).address);
	expect(world, &file, offset, NULL);
	assert_int_equal(count_of(world->symbols, "symbols.parser_failures"), 1);
	file = describe(world, good, true, NULL);
	expect(world, &file, world->offset, "work");
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void test_cancelled_request_ends_at_once(void **state)
{
	struct world *world = *state;
	g_autofree char *path = symfixture_path(&world->fixture, "program");
	struct symbols_file file = describe(world, path, true, NULL);
	struct symbols_how how = { .cancel_fd = -1, .deadline_ns = 1 };
	struct symbols_place place;
	int cancel[2];

	assert_int_equal(symbols_resolve(world->symbols, &file, &world->offset, 1, &how,
		world->arena, &place), -ETIMEDOUT);
	assert_int_equal(place.count, 0);
	assert_int_equal(count_of(world->symbols, "symbols.helpers.started"), 0);
	assert_int_equal(pipe(cancel), 0);
	assert_int_equal(write(cancel[1], "x", 1), 1);
	how.cancel_fd = cancel[0];
	how.deadline_ns = 0;
	assert_int_equal(symbols_resolve(world->symbols, &file, &world->offset, 1, &how,
		world->arena, &place), -ECANCELED);
	/* nor is a helper started for it, or ended */
	assert_int_equal(count_of(world->symbols, "symbols.helpers.started"), 0);
	assert_int_equal(count_of(world->symbols, "symbols.helpers.killed"), 0);
	close(cancel[0]);
	close(cancel[1]);
	/* a cancelled request does not count against the file */
	test_file_has_names(state);
}

static void expect_nothing(struct world *world)
{
	g_autofree char *path = symfixture_path(&world->fixture, "program");
	struct symbols_file file = describe(world, path, true, NULL);

	file.build_id = world->kernel_id;
	file.build_id_length = MAX(world->kernel.build_id_length, 1);
	expect(world, &file, world->offset, NULL);
}

static void *ask_often(void *arg)
{
	struct world world = *(const struct world *)arg;
	void *state = &world;
	int i;

	world.arena = symbols_arena_create();
	for (i = 0; i < 20; i++) {
		test_file_has_names(&state);
		expect_nothing(&world);
	}
	symbols_arena_destroy(world.arena);
	return NULL;
}

static void test_threads_may_ask_at_once(void **state)
{
	GThread *threads[4];
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(threads); i++)
		threads[i] = g_thread_new("asker", ask_often, *state);
	for (i = 0; i < G_N_ELEMENTS(threads); i++)
		g_thread_join(threads[i]);
}

/* ---- debuginfod ------------------------------------------------------------------------------ */

/* A stripped file whose debug file only a server has; the server is a folder, as file:// is one. */
static void ask_server(struct world *world, bool client)
{
	g_autofree char *path = symfixture_path(&world->fixture, "bare");
	g_autofree char *hex = symfixture_build_id(&world->fixture, "program");
	g_autofree char *urls = g_strdup_printf("file://%s/server", world->fixture.dir);
	g_autofree char *home = symfixture_path(&world->fixture, "home");
	struct helpers_options options = { .program = HELPER, .debuginfod_urls = urls, .home = home,
		.uid = geteuid(), .gid = getegid() };
	struct symbols_file file = describe(world, path, true, NULL);
	struct symbols *asks;

	/* for a library that reads the variable by itself */
	setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("HOME", home, 1);
	assert_true(symfixture_run(&world->fixture, NULL,
		"mkdir -p home server/buildid/%s && strip -o bare program && "
		"objcopy --only-keep-debug program server/buildid/%s/debuginfo", hex, hex));
	expect(world, &file, world->offset, NULL);
	assert_int_equal(count_of(world->symbols, "symbols.helpers.started"), 2);
	assert_true(symfixture_run(&world->fixture, NULL, "test -z \"$(ls -A home)\""));
	if (!client)
		return;
	asks = symbols_create(&remote_source, remote_create(&options), 0);
	symbols_destroy(world->symbols);
	world->symbols = asks;
	expect(world, &file, world->offset, "work");
	assert_int_equal(count_of(asks, "symbols.helpers.started"), 3);
}

static void test_debuginfod_server_gives_names(void **state)
{
	struct world *world = *state;
	bool client = symfixture_can(&world->fixture, "ldconfig -p | grep -q libdebuginfod");

	ask_server(world, client);
	if (!client)
		skip();
}

/* ---- wrong answers-------------------------------------------------------------------------------  */

struct wrong_row {
	int line;
	enum wrong_answer wrong;
	const char *expected;
	int ret;
};

static const struct wrong_row wrong_rows[] = {
	{ __LINE__, WRONG_NONE, "first", 0 }, /* the others fail for what is wrong with them */
	{ __LINE__, WRONG_INDEX, NULL, 0 },
	{ __LINE__, WRONG_TWICE, "first", 0 }, /* it counts until the wrong */
	{ __LINE__, WRONG_FRAMES, NULL, 0 },
	{ __LINE__, WRONG_GARBAGE, NULL, 0 },
	{ __LINE__, WRONG_TYPE, NULL, 0 },
	{ __LINE__, WRONG_END, NULL, 0 },
	{ __LINE__, WRONG_SILENCE, NULL, -ETIMEDOUT },
	{ __LINE__, WRONG_DESCRIPTOR, "first", 0 },
};

static unsigned int count_descriptors(void)
{
	unsigned int count = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void test_wrong_answers_give_no_names(void **state)
{
	struct world *world = *state;
	struct symbols_file file = describe(world, "/some/file", false, NULL);
	uint64_t offset = 0x100;
	size_t i;

	for (i = 0; i < G_N_ELEMENTS(wrong_rows); i++) {
		const struct wrong_row *row = &wrong_rows[i];
		struct symbols *symbols = open_wrong_helper(row->wrong);
		struct symbols_how how = { .cancel_fd = -1, .deadline_ns = proto_now_ns() +
			(row->ret ? 200 * NSEC_PER_MSEC : PATIENCE_NS) };
		struct symbols_place place;
		unsigned int before = count_descriptors();
		int ret = symbols_resolve(symbols, &file, &offset, 1, &how, world->arena, &place);
		const char *got = place.count ? place.frames[0].function : NULL;

		if (ret != row->ret || g_strcmp0(got, row->expected) != 0)
			fail_msg("row of line %d: %d, %s", row->line, ret, got ? got : "-");
		/* opener and parser */
		assert_true(count_descriptors() <= before + 2);
		symbols_destroy(symbols);
	}
}

/* Answers without end are given up before they fill the memory. */
static void test_endless_answers_are_bounded(void **state)
{
	struct world *world = *state;
	struct symbols_file file = describe(world, "/some/file", false, NULL);
	struct symbols *symbols = open_wrong_helper(WRONG_ENDLESS);
	struct symbols_how how = { .cancel_fd = -1, .deadline_ns = proto_now_ns() + PATIENCE_NS };
	const size_t count = 100;
	uint64_t offsets[100] = { 0 };
	struct symbols_place places[100];

	assert_int_equal(symbols_resolve(symbols, &file, offsets, count, &how, world->arena, places),
		0);
	assert_true(symbols_arena_bytes(world->arena) < 4 * MIB);
	symbols_destroy(symbols);
}

/* Returns when its connection is closed. */
static void end_opener(void)
{
	const pid_t pid = find_helper(getpid(), "opener");
	siginfo_t info;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

/* The time that the opener takes to start is not that of the file, also if it has to be started again. */
static void test_a_slow_start_is_no_slow_file(void **state)
{
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	const struct helpers_options options = { .program = self, .uid = (uid_t)WRONG_SLOW };
	struct helpers *helpers = helpers_create(&options);
	g_autofree struct proto_message *message = g_new0(struct proto_message, 1);
	const struct proto_wait wait = { .cancel_fd = -1 };
	int i, fd;

	/* one that has exited is started again */
	for (i = 0; i < 2; i++) {
		proto_init(message, PROTO_OPEN_PATH);
		message->pid = (uint32_t)getpid();
		assert_int_equal(proto_set_path(message, "/some/file"), 0);
		fd = helpers_open(helpers, message, &wait);
		assert_true(fd >= 0);
		close(fd);
		end_opener();
	}
	helpers_destroy(helpers);
}

/* ---- no helpers ------------------------------------------------------------------------------ */

static void test_missing_helper_gives_no_names(void **state)
{
	struct world *world = *state;

	symbols_destroy(world->symbols);
	world->symbols = open_symbols("/nonexistent/kprof-symbols");
	expect_nothing(world);
	symbols_destroy(world->symbols);
	world->symbols = open_symbols("/bin/false");
	expect_nothing(world);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_helpers_have_no_rights),
		TEST(test_helper_killed_in_a_request_is_started_again),
		TEST(test_killed_helpers_are_started_again),
		TEST(test_endless_name_is_counted_and_ends_soon),
		TEST(test_cancelled_request_ends_at_once),
		TEST(test_threads_may_ask_at_once),
		TEST(test_debuginfod_server_gives_names),
		TEST(test_wrong_answers_give_no_names),
		TEST(test_endless_answers_are_bounded),
		TEST(test_a_slow_start_is_no_slow_file),
		TEST(test_missing_helper_gives_no_names),
	};

	if (argc == 4 && strcmp(argv[0], "kprof-symbols") == 0)
		return run_wrong_helper(argv[1], (enum wrong_answer)atoi(argv[2]));
	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: any bytes as what is written to kpctl, mpstat, kprintx, kptrace_ctl and files of
 * events/. The first byte chooses the file.
 *
 * Invariants: a refused line leaves the settings as they were and says why; what kpctl reads as,
 * when written to it, is taken and leaves the settings as they are. `start` and `hold` are passed
 * over: this is about words, and no run of a fuzzer should sample the machine. Of `only` the
 * expression is tried alone.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "acct/accounting.h"
#include "acct/exact.h"
#include "acct/sched.h"
#include "fs/ctl_words.h"
#include "fs/file.h"
#include "fs/server.h"
#include "fs/session.h"
#include "fs/switches.h"
#include "kernel/kernel.h"
#include "prof/only.h"
#include "prof/profiler.h"
#include "producers/catalog.h"
#include "producers/producers.h"
#include "trace/trace.h"

#define TRACE_BYTES 4096
#define ONLY "only"
#define KERNEL_KB 64

static const struct ctl_words_word *const tables[] = {
	file_kpctl_words,
	file_mpstat_words,
	file_kprintx_words,
	file_kptrace_ctl_words,
	file_events_enabled_words,
	file_events_all_words,
	file_events_reset_words,
};

static void ignore(void *arg)
{
}

/* The parts that words act on. Kept over all inputs: settings carry on, as in a real server. */
static struct session *the_session(void)
{
	static struct server server;
	static struct session session = {.server = &server};
	const struct profiler_hooks hooks = { ignore, ignore, ignore, NULL };
	struct producers_limits limits;

	if (!session.profiler) {
		FUZZ_CHECK(!profiler_create(&hooks, NULL, profiler_budget_create(), &session.profiler, NULL));
		FUZZ_CHECK(!trace_create(TRACE_BYTES, &server.trace));
		server.switches = switches_create();
		producers_limits_init(&limits, 1024, 1u << 30);
		server.catalog = catalog_create(NULL);
		server.producers = producers_create(server.catalog, &limits);
		server.kernel = kernel_create(KERNEL_KB, 1u << 30);
		/* the seeds have no word that attaches programs in the kernel, which takes some 50 ms */
		session.exact = exact_create(EXACT_PROCSTAT, 1);
		session.sched = sched_create(session.exact);
		FUZZ_CHECK(!accounting_create(NULL, NULL, NULL, &session.accounting));
	}
	return &session;
}

static char *settings_of(struct session *session)
{
	GString *out = g_string_new(NULL);

	profiler_print_settings(session->profiler, out);
	return g_string_free(out, FALSE);
}

static size_t skip_blanks(const char *line, size_t len)
{
	size_t at = 0;

	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	return at;
}

/* Whether the line begins with a word that is not tried as a command here. */
static bool is_left_out(const char *line, size_t len)
{
	static const char *const words[] = { "start", "hold", ONLY };
	size_t i, at = skip_blanks(line, len);

	for (i = 0; i < G_N_ELEMENTS(words); i++)
		if (len - at >= strlen(words[i]) && !memcmp(line + at, words[i], strlen(words[i])))
			return true;
	return false;
}

/* The command `only` reads the types of the kernel for each expression, which takes long: without them. */
static void run_only(const char *line, size_t len)
{
	const size_t at = skip_blanks(line, len) + strlen(ONLY);
	g_autofree char *text = NULL;
	struct err err = { "" };
	struct only *only = NULL;

	if (len < at || memcmp(line + at - strlen(ONLY), ONLY, strlen(ONLY)) != 0)
		return;
	text = g_strndup(line + at, len - at);
	if (!only_create(text, NULL, &only, &err))
		only_destroy(only);
}

static void run_line(
	struct session *session, const struct ctl_words_word *words, const char *line, size_t len)
{
	struct ctl_words_call call = {.session = session};
	g_autofree char *before = settings_of(session);
	g_autofree char *after = NULL;
	const struct ctl_words_word *word;
	struct err err = { "" };
	int ret;

	ret = ctl_words_run(words, &call, line, len, &word, &err);
	FUZZ_CHECK(ret <= 0);
	after = settings_of(session);
	if (ret) {
		FUZZ_CHECK(err.text[0]);
		FUZZ_CHECK(!strcmp(before, after));
	}
}

/* What kpctl reads as restores itself. Its last line is stop, since nothing runs. */
static void check_restore(struct session *session)
{
	g_autofree char *text = settings_of(session);
	g_autofree char *after = NULL;
	const char *data = text, *line;
	size_t left = strlen(text), len;
	const struct ctl_words_word *word;

	while (ctl_words_next_line(&data, &left, &line, &len)) {
		struct ctl_words_call call = {.session = session};
		struct err err = { "" };

		FUZZ_CHECK(!ctl_words_run(file_kpctl_words, &call, line, len, &word, &err));
	}
	after = settings_of(session);
	FUZZ_CHECK(!strcmp(text, after));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session *session = the_session();
	const struct ctl_words_word *words;
	const char *text, *line;
	size_t left, len;

	if (!size)
		return 0;
	words = tables[data[0] % G_N_ELEMENTS(tables)];
	/* memory of its own, so that a read beyond it is seen */
	text = g_memdup2(data + 1, size - 1);
	left = size - 1;
	data = (const uint8_t *)text;
	while (left && ctl_words_next_line((const char **)&data, &left, &line, &len))
		if (!is_left_out(line, len))
			run_line(session, words, line, len);
		else
			run_only(line, len);
	g_free((char *)text);
	if (words == file_kpctl_words)
		check_restore(session);
	return 0;
}

bool fuzz_seed(unsigned int number, GByteArray *out)
{
	static const char *const seeds[] = {
		"\0event page-faults:period=1,cpu-clock:freq=99\nstack both 64\nclear",
		"\0event default\ncpus 0\nstack none\nmode overwrite\nprof_qlimit 2048",
		"\0event r1a8:u:freq=100\nprof_cpubufsz 0x40\nstack user\nflush\nstop",
		"\0event cycles:u:period=100000,instructions:k\ncpus 0-1,3\nmode discard",
		"\0only comm == \"a b\" && (uid != 0 || pid % 2 == 1)\nonly all\nonly cgroup == \"/\"",
		"\0event sched:sched_switch:period=1:k\ncpus all\nprof_qlimit 18446744073709551616",
		"\1reset\nipi on\noff\non\nipi off",
		"\2on\noff\ntoggle",
		"\3clear\n",
		"\4" "0\n1",
		"\5" "1\n0",
		"\6" "1",
	};

	if (number >= G_N_ELEMENTS(seeds))
		return false;
	g_byte_array_append(out, (const guint8 *)seeds[number], 1);
	g_byte_array_append(out, (const guint8 *)seeds[number] + 1, (guint)strlen(seeds[number] + 1));
	return true;
}

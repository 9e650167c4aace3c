/* SPDX-License-Identifier: MIT */
/*
 * mpstat and mpstat-raw: the times of the CPUs. Reading runs in any worker and reads one small file of
 * /proc; it begins to measure without waiting for that. Commands run in the control thread and may wait.
 */
#include "fs/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "acct/accounting.h"
#include "acct/exact.h"
#include "acct/sched.h"
#include "fs/session.h"
#include "sys/proc.h"

/* The accounting gives no sentence with an error; only the source of the times can fail. */
static int explain(int ret, struct err *err)
{
	return ret ? err_set(err, -ret, "the CPUs' times can't be read: %s", g_strerror(-ret)) : 0;
}

int file_mpstat_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	exact_want(session->exact);
	return explain(accounting_print(session->accounting, out), err);
}

/* The kernel requests it before an open: the source is read once for each text, not twice. */
uint64_t file_mpstat_size(struct session *session, const struct dirtab_row *row)
{
	return accounting_bytes(session->accounting);
}

int file_mpstat_raw_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
	exact_want(session->exact);
	return explain(accounting_print_raw(session->accounting, out), err);
}

uint64_t file_mpstat_raw_size(struct session *session, const struct dirtab_row *row)
{
	return accounting_bytes_raw(session->accounting);
}

/*
 * Begins to measure, unless that is not wished. Where it is not possible, this is a failure only for who
 * wishes nothing else.
 */
static int measure(struct ctl_words_call *call, struct err *err)
{
	struct exact *exact = call->session->exact;
	struct err reason = { "" };
	int ret = exact_wait(exact, &reason);

	if (!ret || exact_source(exact) != EXACT_BPF)
		return 0;
	return err_set(err, -ret, "%s", reason.text);
}

static int run_reset(struct ctl_words_call *call, struct err *err)
{
	int ret = measure(call, err);

	if (!ret)
		ret = explain(accounting_reset(call->session->accounting), err);
	return ret ? ret : explain(sched_reset(call->session->sched), err);
}

static int run_switch(struct ctl_words_call *call, struct err *err)
{
	struct accounting *acct = call->session->accounting;
	const bool on = switch_word_apply(call->to, accounting_is_on(acct));
	int ret = on ? measure(call, err) : 0;

	if (!ret)
		ret = explain(accounting_set_on(acct, (enum switch_word)on), err);
	if (!ret && !on && !call->session->is_restricted)
		exact_off(call->session->exact);
	return ret;
}

/* The programs that measure are shared by all sessions. */
static int check_machine(const struct ctl_words_call *call, struct err *err)
{
	return call->session->is_restricted ? err_set(err, EPERM,
		"the times of the machine are measured for all users: root chooses how") : 0;
}

static int run_source(struct ctl_words_call *call, struct err *err)
{
	static const char *const names[] = {
		[EXACT_AUTO] = "auto",
		[EXACT_PROCSTAT] = "procstat",
		[EXACT_BPF] = "bpf",
	};
	struct exact *exact = call->session->exact;
	const enum exact_source before = exact_source(exact);
	size_t i;
	int ret = check_machine(call, err);

	if (ret)
		return ret;
	for (i = 0; i < G_N_ELEMENTS(names) && strcmp(call->argv[0], names[i]); i++)
		;
	if (i == G_N_ELEMENTS(names))
		return err_set(err, EINVAL, "'%s' is not auto, procstat or bpf", call->argv[0]);
	exact_set_source(exact, (enum exact_source)i);
	ret = measure(call, err);
	if (ret)
		exact_set_source(exact, before);
	return ret;
}

static int run_split(struct ctl_words_call *call, struct err *err)
{
	struct exact *exact = call->session->exact;
	const enum exact_split before = exact_split(exact);
	struct err reason = { "" };
	enum exact_split split;
	int ret = check_machine(call, err);

	if (ret)
		return ret;
	for (split = EXACT_SPLIT_TICKS; split <= EXACT_SPLIT_CYCLES; split++)
		if (!strcmp(call->argv[0], exact_split_name(split)))
			break;
	if (split > EXACT_SPLIT_CYCLES)
		return err_set(err, EINVAL, "'%s' is not ticks, calls or cycles", call->argv[0]);
	if (split == EXACT_SPLIT_TICKS) {
		exact_set_split(exact, split);
		return measure(call, err);
	}
	if (exact_source(exact) == EXACT_PROCSTAT)
		return err_set(err, EINVAL, "with the source procstat no %s are measured", call->argv[0]);
	exact_set_split(exact, split);
	ret = exact_wait(exact, &reason);
	if (!ret)
		return 0;
	exact_set_split(exact, before);
	exact_want(exact); /* as it was */
	return err_set(err, -ret, "%s", reason.text);
}

static bool is_own(void *arg, uint32_t process)
{
	const struct session *session = arg;

	return proc_is_of(NULL, (pid_t)process, session->maker);
}

/* views/sched, in a thread for views. */
int file_sched_make(struct session *session, const struct dirtab_row *row, int fd, void *job, struct err *err)
{
	const struct sched_filter own = { is_own, session };
	g_autoptr(GString) out = g_string_new(NULL);
	size_t done = 0;
	int ret;

	exact_want(session->exact);
	ret = sched_print(session->sched, session->is_restricted ? &own : NULL, out, err);

	while (!ret && done < out->len) {
		ssize_t n = write(fd, out->str + done, out->len - done);

		if (n < 0)
			ret = -errno;
		else
			done += (size_t)n;
	}
	return ret;
}

static int run_ipi(struct ctl_words_call *call, struct err *err)
{
	enum switch_word to;
	int ret = ctl_words_switch(call, 0, &to, err);

	if (!ret)
		accounting_set_ipi(call->session->accounting, to);
	return ret;
}

const struct ctl_words_word file_mpstat_words[] = {
	{"reset", "", 0, 0, run_reset, "count from now"},
	{SWITCH_WORD_USAGE, "", 0, 0, run_switch, "resume or pause the accounting and the measuring", true},
	{"source", "auto|procstat|bpf", 1, 1, run_source, "where the times come from"},
	{"split", "ticks|calls|cycles", 1, 1, run_split,
		"what divides the time of tasks into user and kernel"},
	{"ipi", SWITCH_WORD_USAGE, 1, 1, run_ipi,
		"wake the CPUs for exact times, where that is needed"},
	{NULL},
};

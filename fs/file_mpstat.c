/* SPDX-License-Identifier: MIT */
/*
 * mpstat and mpstat-raw: the times of the CPUs. Run in any worker; one small file of /proc is read.
 */
#include "fs/file.h"

#include <errno.h>

#include "acct/accounting.h"
#include "fs/session.h"

/* The accounting gives no sentence with an error; only the source of the times can fail. */
static int explain(int ret, struct err *err)
{
	return ret ? err_set(err, -ret, "the CPUs' times can't be read: %s", g_strerror(-ret)) : 0;
}

int file_mpstat_render(struct session *session, const struct dirtab_row *row, uid_t reader,
	GString *out, struct err *err)
{
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
	return explain(accounting_print_raw(session->accounting, out), err);
}

uint64_t file_mpstat_raw_size(struct session *session, const struct dirtab_row *row)
{
	return accounting_bytes_raw(session->accounting);
}

static int run_reset(struct ctl_words_call *call, struct err *err)
{
	return explain(accounting_reset(call->session->accounting), err);
}

static int run_switch(struct ctl_words_call *call, struct err *err)
{
	return explain(accounting_set_on(call->session->accounting, call->to), err);
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
	{SWITCH_WORD_USAGE, "", 0, 0, run_switch, "resume or pause the accounting", true},
	{"ipi", SWITCH_WORD_USAGE, 1, 1, run_ipi,
		"wake the CPUs for exact times, where that is needed"},
	{NULL},
};

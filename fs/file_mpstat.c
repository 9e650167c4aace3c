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

static int run_on(struct ctl_words_call *call, struct err *err)
{
	return explain(accounting_set_on(call->session->accounting, true), err);
}

static int run_off(struct ctl_words_call *call, struct err *err)
{
	return explain(accounting_set_on(call->session->accounting, false), err);
}

static int run_ipi(struct ctl_words_call *call, struct err *err)
{
	bool on;
	int ret = ctl_words_on_off(call, 0, &on, err);

	if (!ret)
		accounting_set_ipi(call->session->accounting, on);
	return ret;
}

const struct ctl_words_word file_mpstat_words[] = {
	{"reset", "", 0, 0, run_reset, "count from now"},
	{"on", "", 0, 0, run_on, "resume the accounting"},
	{"off", "", 0, 0, run_off, "pause the accounting"},
	{"ipi", "on|off", 1, 1, run_ipi, "wake the CPUs for exact times, where that is needed"},
	{NULL},
};

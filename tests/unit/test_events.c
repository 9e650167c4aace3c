/* SPDX-License-Identifier: MIT */
/*
 * prof/events and sys/pfm: the words of kpctl's `event` command become the right perf_event_attr.
 * libpfm4 reads LIBPFM_FORCE_PMU once, so that the rows of each PMU run in a child process. The
 * encodings of Skylake are from Intel's published event tables (config = event | umask << 8 | edge <<
 * 18 | inv << 23 | cmask << 24, the layout of IA32_PERFEVTSELx in the SDM), those of Zen from AMD's
 * PPR of family 17h.
 */
#include "tests/unit/events_fixture.h"

/* ---- a tracefs and a /proc of our own -------------------------------------------------------- */

#define FIXTURE_MAX_RATE 20000

/* ---- one event ------------------------------------------------------------------------------- */

enum row_bits {
	XU = 1 << 0, /* exclude_user */
	XK = 1 << 1, /* exclude_kernel */
	XH = 1 << 2, /* exclude_hv */
	XG = 1 << 3, /* exclude_guest */
	XHOST = 1 << 4,
	HZ = 1 << 5, /* rate is a frequency */
	GIVEN = 1 << 6,
	P1 = 1 << 7, /* precise_ip 1 */
	P2 = 1 << 8,
};

struct row {
	int line;
	const char *pmu; /* LIBPFM_FORCE_PMU, NULL: what this machine has */
	const char *text;
	int code; /* errno, 0: parsed */
	const char *words; /* code: a part of the sentence; NULL if it is not checked */
	uint32_t type;
	uint64_t config;
	uint64_t rate;
	unsigned int bits;
};

#define HW PERF_TYPE_HARDWARE
#define SW PERF_TYPE_SOFTWARE
#define TP PERF_TYPE_TRACEPOINT
#define RAW PERF_TYPE_RAW
#define GENERIC (XH | XG)

static const struct row rows[] = {
	/* default */
	{__LINE__, NULL, "default", 0, NULL, HW, 0, 999, HZ | GENERIC},
	{__LINE__, "skl", "default", 0, NULL, HW, 0, 999, HZ | GENERIC},
	{__LINE__, NULL, "default:u", EINVAL, "no modifiers", 0, 0, 0, 0},
	{__LINE__, NULL, "Default", ENOENT, NULL, 0, 0, 0, 0},

	/* times away from the CPU; those that are right: test_times_away_are_events() */
	{__LINE__, NULL, "offcpu:min=3600000001", EINVAL, "at most 3600000000 us", 0, 0, 0, 0},
	{__LINE__, NULL, "offcpu:min", EINVAL, "no modifier 'min'", 0, 0, 0, 0},
	{__LINE__, NULL, "offcpu:min=x", EINVAL, "min needs a number", 0, 0, 0, 0},
	{__LINE__, NULL, "offcpu:freq=99", EINVAL, "no modifier 'freq=99'", 0, 0, 0, 0},
	{__LINE__, NULL, "offcpu:", EINVAL, "no modifier ''", 0, 0, 0, 0},
	{__LINE__, NULL, "wall:freq=0", EINVAL, "samples nothing", 0, 0, 0, 0},
	{__LINE__, NULL, "wall:freq=9:freq=9", EINVAL, "more than one rate", 0, 0, 0, 0},
	{__LINE__, NULL, "wall:period=9", EINVAL, "no modifier 'period=9'", 0, 0, 0, 0},

	/* perf's generic events through libpfm4 (PERF_COUNT_* of <linux/perf_event.h>) */
	{__LINE__, NULL, "cycles", 0, NULL, HW, 0, 999, HZ | GENERIC},
	{__LINE__, NULL, "cycles:u", 0, NULL, HW, 0, 999, HZ | GENERIC | XK},
	{__LINE__, NULL, "cycles:k", 0, NULL, HW, 0, 999, HZ | GENERIC | XU},
	{__LINE__, NULL, "cycles:u:k", 0, NULL, HW, 0, 999, HZ | GENERIC},
	{__LINE__, NULL, "cycles:u:period=100000", 0, NULL, HW, 0, 100000, GIVEN | GENERIC | XK},
	{__LINE__, NULL, "cycles:period=0x10", 0, NULL, HW, 0, 16, GIVEN | GENERIC},
	{__LINE__, NULL, "cycles:period=010", 0, NULL, HW, 0, 8, GIVEN | GENERIC},
	{__LINE__, NULL, "cycles:precise=2", 0, NULL, HW, 0, 999, HZ | GENERIC | P2},
	{__LINE__, NULL, "cycles:mg", 0, NULL, HW, 0, 999, HZ | XH | XHOST},
	{__LINE__, NULL, "cycles.u.period=5", 0, NULL, HW, 0, 5, GIVEN | GENERIC | XK},
	{__LINE__, NULL, "instructions", 0, NULL, HW, 1, 999, HZ | GENERIC},
	{__LINE__, NULL, "perf::instructions:u", 0, NULL, HW, 1, 999, HZ | GENERIC | XK},
	{__LINE__, NULL, "PERF_COUNT_HW_BRANCH_MISSES", 0, NULL, HW, 5, 999, HZ | GENERIC},
	{__LINE__, NULL, "cpu-clock:freq=999", 0, NULL, SW, 0, 999, GIVEN | HZ | GENERIC},
	{__LINE__, NULL, "cpu-clock:freq=20000", 0, NULL, SW, 0, 20000, GIVEN | HZ | GENERIC},
	{__LINE__, NULL, "task-clock", 0, NULL, SW, 1, 999, HZ | GENERIC},
	{__LINE__, NULL, "page-faults:period=1", 0, NULL, SW, 2, 1, GIVEN | GENERIC},
	{__LINE__, NULL, "context-switches", 0, NULL, SW, 3, 999, HZ | GENERIC},
	{__LINE__, NULL, "cpu-migrations", 0, NULL, SW, 4, 999, HZ | GENERIC},
	{__LINE__, NULL, "minor-faults", 0, NULL, SW, 5, 999, HZ | GENERIC},

	/* the same by our own table, where libpfm4 was set to another PMU */
	{__LINE__, "skl", "cycles", 0, NULL, HW, 0, 999, HZ | GENERIC},
	{__LINE__, "skl", "CYCLES:u", 0, NULL, HW, 0, 999, HZ | GENERIC | XK},
	{__LINE__, "skl", "perf::cycles:k:precise=1", 0, NULL, HW, 0, 999, HZ | GENERIC | XU | P1},
	{__LINE__, "skl", "cycles:h", 0, NULL, HW, 0, 999, HZ | XG | XU | XK},
	{__LINE__, "skl", "cycles:mg", 0, NULL, HW, 0, 999, HZ | XH | XHOST},
	{__LINE__, "skl", "cycles:mg:mh", 0, NULL, HW, 0, 999, HZ | XH},
	{__LINE__, "skl", "branch-misses", 0, NULL, HW, 5, 999, HZ | GENERIC},
	{__LINE__, "skl", "ref-cycles", 0, NULL, HW, 9, 999, HZ | GENERIC},
	{__LINE__, "skl", "cpu-clock:freq=100", 0, NULL, SW, 0, 100, GIVEN | HZ | GENERIC},
	{__LINE__, "skl", "page-faults:u:period=1", 0, NULL, SW, 2, 1, GIVEN | GENERIC | XK},
	{__LINE__, "skl", "cs", 0, NULL, SW, 3, 999, HZ | GENERIC},
	{__LINE__, "skl", "major-faults", 0, NULL, SW, 6, 999, HZ | GENERIC},
	{__LINE__, "skl", "cgroup-switches", 0, NULL, SW, 11, 999, HZ | GENERIC},
	{__LINE__, "skl", "cycles:precise=4", EINVAL, "0 to 3", 0, 0, 0, 0},
	{__LINE__, "skl", "cpu-clock:precise=1", EINVAL, "no modifier", 0, 0, 0, 0},
	{__LINE__, "skl", "cycles:pinned", EINVAL, "pinned", 0, 0, 0, 0},
	{__LINE__, "skl", "cycles:nope", EINVAL, "nope", 0, 0, 0, 0},
	{__LINE__, "skl", "cycles:u=1", EINVAL, "no value", 0, 0, 0, 0},
	{__LINE__, "skl", "cycles:period", EINVAL, "number", 0, 0, 0, 0},
	{__LINE__, "skl", "cycles:", EINVAL, NULL, 0, 0, 0, 0},
	{__LINE__, "bogus", "cpu-clock", 0, NULL, SW, 0, 999, HZ | GENERIC},

	/* Skylake */
	{__LINE__, "skl", "skl::INST_RETIRED:ANY_P", 0, NULL, RAW, 0x00c0, 999, HZ | XG},
	{__LINE__, "skl", "INST_RETIRED:ANY_P", 0, NULL, RAW, 0x00c0, 999, HZ | XG},
	{__LINE__, "skl", "skl::inst_retired:any_p:u", 0, NULL, RAW, 0x00c0, 999, HZ | XG | XK},
	{__LINE__, "skl", "skl::BR_INST_RETIRED:CONDITIONAL", 0, NULL, RAW, 0x01c4, 999, HZ | XG},
	{__LINE__, "skl", "skl::BR_INST_RETIRED:CONDITIONAL:period=1000:precise=1", 0, NULL, RAW,
		0x01c4, 1000, GIVEN | XG | P1},
	{__LINE__, "skl", "BR_INST_RETIRED:NEAR_RETURN", 0, NULL, RAW, 0x08c4, 999, HZ | XG},
	{__LINE__, "skl", "BR_MISP_RETIRED:ALL_BRANCHES", 0, NULL, RAW, 0x00c5, 999, HZ | XG},
	{__LINE__, "skl", "UOPS_ISSUED:ANY", 0, NULL, RAW, 0x010e, 999, HZ | XG},
	{__LINE__, "skl", "UOPS_ISSUED:STALL_CYCLES", 0, NULL, RAW, 0x180010e, 999, HZ | XG},
	{__LINE__, "skl", "UOPS_ISSUED:ANY:e:i:c=2", 0, NULL, RAW, 0x284010e, 999, HZ | XG},
	{__LINE__, "skl", "ARITH:DIVIDER_ACTIVE", 0, NULL, RAW, 0x1000114, 999, HZ | XG},
	{__LINE__, "skl", "CPU_CLK_UNHALTED:THREAD_P", 0, NULL, RAW, 0x003c, 999, HZ | XG},
	{__LINE__, "skl", "CYCLE_ACTIVITY:STALLS_TOTAL", 0, NULL, RAW, 0x40004a3, 999, HZ | XG},
	{__LINE__, "skl", "MEM_LOAD_RETIRED:L1_HIT", 0, NULL, RAW, 0x01d1, 999, HZ | XG},
	{__LINE__, "skl", "skl::INST_RETIRED:ANY_Q", ENOENT, "ANY_P", 0, 0, 0, 0},
	{__LINE__, "skl", "skl::INST_RETIRED:foo=1", EINVAL, "foo", 0, 0, 0, 0},
	{__LINE__, "skl", "skl::INST_RETIERD:ANY_P", ENOENT, "INST_RETIRED", 0, 0, 0, 0},
	{__LINE__, "skl", "cylces", ENOENT, "nearest: cycles", 0, 0, 0, 0},
	{__LINE__, "skl", "hsw::INST_RETIRED:ANY_P", ENOENT, "no PMU 'hsw'", 0, 0, 0, 0},
	{__LINE__, "skl", "skl::INST_RETIRED:ANY_P:pinned", EINVAL, "pinned", 0, 0, 0, 0},
	{__LINE__, "skl", "skl::INST_RETIRED:ANY_P:c=300", EINVAL, NULL, 0, 0, 0, 0},

	/* Zen: has no level of the hypervisor's, and so excludes it */
	{__LINE__, "amd64_fam17h_zen1", "RETIRED_INSTRUCTIONS", 0, NULL, RAW, 0xc0, 999,
		HZ | GENERIC},
	{__LINE__, "amd64_fam17h_zen1", "RETIRED_BRANCH_INSTRUCTIONS:u", 0, NULL, RAW, 0xc2, 999,
		HZ | GENERIC | XK},
	{__LINE__, "amd64_fam17h_zen1", "CYCLES_NOT_IN_HALT", 0, NULL, RAW, 0x76, 999,
		HZ | GENERIC},
	{__LINE__, "amd64_fam17h_zen1", "skl::INST_RETIRED:ANY_P", ENOENT, "no PMU 'skl'", 0, 0, 0,
		0},

	/* raw */
	{__LINE__, NULL, "r1c4", 0, NULL, RAW, 0x1c4, 999, HZ | GENERIC},
	{__LINE__, "skl", "r1C4:u:period=100", 0, NULL, RAW, 0x1c4, 100, GIVEN | GENERIC | XK},
	{__LINE__, NULL, "r3c", 0, NULL, RAW, 0x3c, 999, HZ | GENERIC},
	{__LINE__, NULL, "r00c0:k:freq=50", 0, NULL, RAW, 0xc0, 50, GIVEN | HZ | GENERIC | XU},
	{__LINE__, NULL, "rffffffffffffffff", 0, NULL, RAW, UINT64_MAX, 999, HZ | GENERIC},
	{__LINE__, NULL, "rfffffffffffffffff", EINVAL, "16 hex", 0, 0, 0, 0},
	{__LINE__, NULL, "r1c4:e", EINVAL, "no modifier 'e'", 0, 0, 0, 0},
	{__LINE__, NULL, "r1c4:cpu=0", EINVAL, "cpus", 0, 0, 0, 0},
	{__LINE__, NULL, "r", ENOENT, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "r1g", ENOENT, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "r-1", ENOENT, NULL, 0, 0, 0, 0},

	/* tracepoints of the fixture */
	{__LINE__, NULL, "sched:sched_switch", 0, NULL, TP, 314, 1, 0},
	{__LINE__, "skl", "sched:sched_wakeup", 0, NULL, TP, 316, 1, 0},
	{__LINE__, NULL, "sched:sched_switch:k", 0, NULL, TP, 314, 1, XU},
	{__LINE__, NULL, "sched:sched_switch:u", 0, NULL, TP, 314, 1, XK},
	{__LINE__, NULL, "sched:sched_switch:u:k", 0, NULL, TP, 314, 1, 0},
	{__LINE__, NULL, "sched:sched_switch:period=7", 0, NULL, TP, 314, 7, GIVEN},
	{__LINE__, NULL, "sched:sched_switch:freq=99", 0, NULL, TP, 314, 99, GIVEN | HZ},
	{__LINE__, NULL, "rcu:rcu_utilization", 0, NULL, TP, 417, 1, 0},
	{__LINE__, NULL, "instructions:u", 0, NULL, TP, 999, 1, 0},
	{__LINE__, NULL, "instructions:k", 0, NULL, HW, 1, 999, HZ | GENERIC | XU},
	{__LINE__, NULL, "sched:sched_swich", ENOENT, "nearest: sched:sched_switch", 0, 0, 0, 0},
	{__LINE__, NULL, "shced:sched_switch", ENOENT, "nearest: sched:sched_switch", 0, 0, 0, 0},
	{__LINE__, NULL, "sched:", ENOENT, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "sched", ENOENT, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, ":sched_switch", ENOENT, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "sched::sched_switch", ENOENT, "no PMU 'sched'", 0, 0, 0, 0},
	{__LINE__, NULL, "sched:sched_broken", ENOENT, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "sched:enable", ENOENT, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "sched:../sched/sched_switch", ENOENT, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "..:..", ENOENT, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "sched:sched_switch:precise=1", EINVAL, "precise", 0, 0, 0, 0},
	{__LINE__, NULL, "sched:sched_switch:cpu=0", EINVAL, "cpus", 0, 0, 0, 0},
	{__LINE__, NULL, "sched:sched_switch:pinned", EINVAL, "pinned", 0, 0, 0, 0},
	{__LINE__, NULL, "sched:sched_switch:period=0", EINVAL, "0", 0, 0, 0, 0},
	{__LINE__, NULL, "sched:sched_switch:period=18446744073709551616", EINVAL,
		"above 2^64 - 1", 0, 0, 0, 0},
	{__LINE__, NULL, "sched:sched_switch:freq=20001", EINVAL, "max_sample_rate", 0, 0, 0, 0},

	/* rates that sampling can't have */
	{__LINE__, NULL, "cpu-clock:freq=20001", EINVAL, "max_sample_rate (20000)", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:freq=99999999999", EINVAL, "max_sample_rate", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:freq=0", EINVAL, "0", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:period=0", EINVAL, "0", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:period=-1", EINVAL, "number", 0, 0, 0, 0},
	/* which libpfm4 takes for 1 */
	{__LINE__, NULL, "cycles:period=-18446744073709551615", EINVAL, "number", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles.period=-18446744073709551615", EINVAL, "number", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:PERIOD=-5", EINVAL, "number", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:period=18446744073709551617", EINVAL, "above 2^64 - 1", 0, 0,
		0, 0},
	{__LINE__, NULL, "cycles:period=9223372036854775807", 0, NULL, HW, 0, INT64_MAX,
		GIVEN | GENERIC},
	{__LINE__, NULL, "cycles:period=9223372036854775808", EINVAL, "period is above", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:period=10x", EINVAL, "number", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:period=", EINVAL, "number", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:freq=10:period=10", EINVAL, "one rate", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:freq=10:freq=10", EINVAL, "one rate", 0, 0, 0, 0},
	{__LINE__, NULL, "r1c4:freq=10:freq=10", EINVAL, "one rate", 0, 0, 0, 0},

	/* what libpfm4 takes and kpctl does not */
	{__LINE__, NULL, "cycles:cpu=1", EINVAL, "cpus", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:CPU=1", EINVAL, "cpus", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles.cpu=1", EINVAL, "cpus", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:pinned", EINVAL, "pinned", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:excl", EINVAL, "excl", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:excl=0", EINVAL, "excl", 0, 0, 0, 0},
	{__LINE__, NULL, "cycles:nope", EINVAL, "nope", 0, 0, 0, 0},

	/* no events */
	{__LINE__, NULL, "", EINVAL, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, ",", EINVAL, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "cycles,", EINVAL, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, ",cycles", EINVAL, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "cycles, instructions", EINVAL, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "cy\ncles", EINVAL, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "cy\177cles", EINVAL, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "cycl\303\251s", EINVAL, NULL, 0, 0, 0, 0},
	{__LINE__, NULL, "cylces", ENOENT, "nearest: cycles", 0, 0, 0, 0},
	{__LINE__, NULL, "context-switch", ENOENT, "context-switches", 0, 0, 0, 0},
	{__LINE__, NULL, "%s%n", ENOENT, "'%s%n'", 0, 0, 0, 0},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static unsigned int bits_of(const struct event *event)
{
	const struct perf_event_attr *attr = &event->attr;

	return (attr->exclude_user ? XU : 0) | (attr->exclude_kernel ? XK : 0) |
		(attr->exclude_hv ? XH : 0) | (attr->exclude_guest ? XG : 0) |
		(attr->exclude_host ? XHOST : 0) | (attr->freq ? HZ : 0) |
		(event->rate_given ? GIVEN : 0) | (attr->precise_ip & 1 ? P1 : 0) |
		(attr->precise_ip & 2 ? P2 : 0);
}

/*
 * Whether libpfm4 excludes the hypervisor depends on the machine's CPU: only rows with a PMU of
 * their own say it.
 */
static unsigned int known_bits(const struct row *row)
{
	return row->pmu ? ~0u : ~(unsigned int)XH;
}

/* Whether the row holds; prints it if not. Runs in a child. */
static bool check_row(const struct row *row)
{
	struct event_list list, untouched;
	struct err err = { "" };
	const struct event *event = &list.events[0];
	int ret;

	memset(&list, 0x5a, sizeof(list));
	untouched = list;
	ret = events_parse(row->text, &paths, &list, &err);
	if (ret != -row->code) {
		fprintf(stderr, "row of line %d: '%s' gives %d, '%s'\n", row->line, row->text, ret,
			err.text);
		return false;
	}
	if (ret) {
		if (err.text[0] && (!row->words || strstr(err.text, row->words)) &&
			!memcmp(&list, &untouched, sizeof(list)))
			return true;
		fprintf(stderr, "row of line %d: '%s' is refused by '%s'\n", row->line, row->text,
			err.text);
		return false;
	}
	if (list.count == 1 && event->attr.type == row->type && event->attr.config == row->config &&
		event_rate(event) == row->rate && !((bits_of(event) ^ row->bits) & known_bits(row)) &&
		event->flags == (row->bits & HZ ? KPROF_EVENT_FREQ : 0) &&
		event->attr.size == sizeof(event->attr) && !strcmp(event->text, row->text) &&
		event->is_default == !strcmp(row->text, "default") && !err.text[0])
		return true;
	fprintf(stderr,
		"row of line %d: '%s' gives type %u config %#llx rate %llu bits %#x flags %u '%s'\n",
		row->line, row->text, event->attr.type, (unsigned long long)event->attr.config,
		(unsigned long long)event_rate(event), bits_of(event), event->flags, err.text);
	return false;
}

static bool same_pmu(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void check_rows_of(const char *pmu)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		int failed = 0;
		size_t i;

		if (pmu)
			setenv("LIBPFM_FORCE_PMU", pmu, 1);
		else
			unsetenv("LIBPFM_FORCE_PMU");
		for (i = 0; i < ROWS; i++)
			if (same_pmu(rows[i].pmu, pmu) && !check_row(&rows[i]))
				failed = 1;
		_exit(failed);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("rows of PMU %s", pmu ? pmu : "of this machine");
}

static void test_event_texts_become_attributes(void **state)
{
	size_t i, j;

	(void)state;
	for (i = 0; i < ROWS; i++) {
		for (j = 0; j < i && !same_pmu(rows[j].pmu, rows[i].pmu); j++)
			;
		if (j == i) /* the first of its kind */
			check_rows_of(rows[i].pmu);
	}
}

/* ---- hints ----------------------------------------------------------------------------------- */

/*
 * Refused texts; what their sentence names first after "nearest: ", or after "there are: ", where a comma
 * stands for others that follow; NULL: any.
 */
static const struct hint_row {
	int line;
	const char *pmu;
	const char *text;
	const char *hint;
} hint_rows[] = {
	/*
	 * an event that has no number can't be sampled: neither can the one that was just refused
	 */
	{ __LINE__, NULL, "ftrace:bprint", "ftrace:print" },
	{ __LINE__, NULL, "sched:sched_broken", NULL },
	{ __LINE__, NULL, "sched:sched_brokem", NULL },
	{ __LINE__, NULL, "sched:sched_swich", "sched:sched_switch" },
	{ __LINE__, NULL, "cylces", "cycles" },
	/* an event that needs a unit mask has one; one of a named PMU names it */
	{ __LINE__, "skl", "FRONTEND_RETIRD", "FRONTEND_RETIRED:DSB_MISS" },
	{ __LINE__, "skl", "skl::FRONTEND_RETIRD", "skl::FRONTEND_RETIRED:DSB_MISS" },
	{ __LINE__, "skl", "skl::INST_RETIERD:ANY_P", "skl::INST_RETIRED" },
	{ __LINE__, "skl", "skl::cylces", "cycles" },
	/* an event without one is refused with those that it has */
	{ __LINE__, "skl", "FRONTEND_RETIRED", "DSB_MISS," },
	/* PMUs that exist: perf's events are known without libpfm4, too */
	{ __LINE__, "skl", "hsw::INST_RETIRED", "perf, skl" },
	{ __LINE__, "skl", "perf::cylces", "cycles" },
	{ __LINE__, "skl", "Perf::cylces", "cycles" },
	{ __LINE__, "bogus", "hsw::INST_RETIRED", "perf" },
	{ __LINE__, "bogus", "cylces", "cycles" },
};

#define HINT_ROWS (sizeof(hint_rows) / sizeof(hint_rows[0]))

/* Each event that a sentence offers must be accepted; the row names the PMUs. */
static bool hint_holds(const struct hint_row *row, char *sentence)
{
	char *names = strstr(sentence, "nearest: "), *pmus = strstr(sentence, "there are: "), *name;
	struct event_list list;
	struct err err;
	bool first = true;

	if (pmus && row->hint && g_str_has_suffix(row->hint, ","))
		return g_str_has_prefix(pmus + strlen("there are: "), row->hint);
	if (pmus)
		return row->hint && !strcmp(pmus + strlen("there are: "), row->hint);
	if (!names)
		return !row->hint;
	for (name = strtok(names + strlen("nearest: "), ", "); name; name = strtok(NULL, ", ")) {
		if (first && row->hint && strcmp(name, row->hint))
			return false;
		if (!strcmp(name, row->text) || events_parse(name, &paths, &list, &err))
			return false;
		first = false;
	}
	return !first;
}

static int check_hints_of(const char *pmu)
{
	struct event_list list;
	char said[ERR_TEXT_MAX];
	struct err err;
	int failed = 0;
	size_t i;

	if (pmu)
		setenv("LIBPFM_FORCE_PMU", pmu, 1);
	for (i = 0; i < HINT_ROWS; i++) {
		const struct hint_row *row = &hint_rows[i];

		if (!same_pmu(row->pmu, pmu))
			continue;
		err.text[0] = '\0';
		events_parse(row->text, &paths, &list, &err);
		strcpy(said, err.text);
		if (hint_holds(row, said))
			continue;
		fprintf(stderr, "row of line %d: '%s' is refused by '%s'\n", row->line, row->text,
			err.text);
		failed = 1;
	}
	return failed;
}

/* libpfm4 reads its environment once in a process */
static void test_wrong_events_get_hints(void **state)
{
	static const char *const pmus[] = { NULL, "skl", "bogus" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(pmus) / sizeof(pmus[0]); i++) {
		pid_t child = fork();
		int status;

		assert_true(child >= 0);
		if (!child)
			_exit(check_hints_of(pmus[i]));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void test_lists_are_parsed_and_printed_back(void **state)
{
	static const char text[] = "default,sched:sched_switch:k,r1c4:period=7,cpu-clock";
	struct event_list list, again;
	GString *out = g_string_new("event ");
	struct err err = { "" };

	(void)state;
	assert_int_equal(events_parse(text, &paths, &list, &err), 0);
	assert_int_equal(list.count, 4);
	assert_true(list.events[0].is_default);
	assert_int_equal(list.events[1].attr.config, 314);
	assert_int_equal(event_rate(&list.events[2]), 7);
	assert_int_equal(list.events[3].attr.type, SW);
	events_print(&list, out);
	assert_string_equal(out->str, "event default,sched:sched_switch:k,r1c4:period=7,cpu-clock");
	assert_int_equal(events_parse(out->str + strlen("event "), &paths, &again, &err), 0);
	assert_memory_equal(&again, &list, sizeof(list));
	g_string_free(out, TRUE);

	events_init(&list);
	assert_int_equal(events_parse("default", &paths, &again, &err), 0);
	assert_memory_equal(&again, &list, sizeof(list));
}

/* These two differ in the value of a register only, MSR 3F7H of Intel's tables: 11H, 12H. */
static int check_configs(void)
{
	struct event_list list;
	struct err err = { "" };

	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	if (events_parse("FRONTEND_RETIRED:DSB_MISS,FRONTEND_RETIRED:L1I_MISS", &paths, &list, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	return list.events[0].attr.config != 0x1c6 || list.events[0].attr.config1 != 0x11 ||
		list.events[1].attr.config != 0x1c6 || list.events[1].attr.config1 != 0x12;
}

static void test_configs_of_other_pmus_are_encoded(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (!child)
		_exit(check_configs());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

struct away_row {
	int line;
	const char *text;
	enum event_source source;
	uint64_t min_ns;
	bool waker;
	uint64_t config, rate; /* of PERF_TYPE_SOFTWARE: PERF_COUNT_SW_CPU_CLOCK or _BPF_OUTPUT */
	uint32_t flags;
};

static const struct away_row away_rows[] = {
	{ __LINE__, "offcpu", EVENT_OFFCPU, 100000, false, 10, 1, KPROF_EVENT_OFFCPU },
	{ __LINE__, "offcpu:min=0:waker", EVENT_OFFCPU, 0, true, 10, 1, KPROF_EVENT_OFFCPU },
	{ __LINE__, "offcpu:min=3600000000", EVENT_OFFCPU, 3600000000000, false, 10, 1, KPROF_EVENT_OFFCPU },
	{ __LINE__, "wall", EVENT_WALL, 100000, false, 0, 999, KPROF_EVENT_WALL | KPROF_EVENT_FREQ },
	{ __LINE__, "wall:freq=99:min=5:waker", EVENT_WALL, 5000, true, 0, 99,
		KPROF_EVENT_WALL | KPROF_EVENT_FREQ },
};

static void test_times_away_are_events(void **state)
{
	struct event_list list;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(away_rows) / sizeof(away_rows[0]); i++) {
		const struct away_row *row = &away_rows[i];
		const struct event *event = &list.events[0];
		int ret = events_parse(row->text, &paths, &list, &err);

		if (ret || list.count != 1 || event->away.source != row->source ||
			event->away.min_ns != row->min_ns || event->away.waker != row->waker ||
			event->attr.type != PERF_TYPE_SOFTWARE ||
			event->attr.config != row->config || event_rate(event) != row->rate ||
			event->flags != row->flags || events_offcpu(&list) != event)
			fail_msg("row of line %d: ret %d", row->line, ret);
	}
}

/* A wall is two events of a run, next to each other; the second is of its kind of offcpu. */
static void test_wall_has_two_sides(void **state)
{
	struct event_list list;
	struct err err;

	(void)state;
	assert_int_equal(events_parse("r1,wall:min=7:waker,r2", &paths, &list, &err), 0);
	assert_int_equal(list.count, 3);
	events_expand(&list);
	assert_int_equal(list.count, 4);
	assert_string_equal(list.events[0].text, "r1");
	assert_int_equal(list.events[1].away.source, EVENT_WALL);
	assert_int_equal(list.events[1].attr.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(list.events[2].away.source, EVENT_WALL_OFFCPU);
	assert_int_equal(list.events[2].attr.config, PERF_COUNT_SW_BPF_OUTPUT);
	assert_int_equal(event_rate(&list.events[2]), 1);
	assert_int_equal(list.events[2].away.min_ns, 7000);
	assert_true(list.events[2].away.waker);
	assert_string_equal(list.events[3].text, "r2");
}

struct list_row {
	int line;
	const char *text;
	int code;
};

static const struct list_row list_rows[] = {
	{ __LINE__, "r1,r1", EINVAL },
	{ __LINE__, "offcpu,cpu-clock,wall", EINVAL },
	{ __LINE__, "offcpu,cpu-clock", 0 },
	{ __LINE__, "r1,r2,r3,r4,r5,r6,r7,r8,r9,ra,rb,rc,rd,re,rf,offcpu", 0 },
	{ __LINE__, "r1,r2,r3,r4,r5,r6,r7,r8,r9,ra,rb,rc,rd,re,rf,wall", EINVAL },
	{ __LINE__, "r1,r2,r1", EINVAL },
	{ __LINE__, "default,default", EINVAL },
	{ __LINE__, "r1,r2,nope", ENOENT },
	/* one software event twice: their samples would be mixed up */
	{ __LINE__, "page-faults:period=1,page-faults:period=10", EINVAL },
	{ __LINE__, "page-faults,faults", EINVAL },
	{ __LINE__, "page-faults:u,page-faults", EINVAL },
	{ __LINE__, "page-faults:u:period=1,page-faults:k:period=1", 0 },
	{ __LINE__, "page-faults,minor-faults", 0 },
	{ __LINE__, "cpu-clock:freq=99,cpu-clock:freq=999", 0 },
	{ __LINE__, "sched:sched_switch,sched:sched_switch:period=2", 0 },
	{ __LINE__, "r1,r2,r3,r4,r5,r6,r7,r8,r9,ra,rb,rc,rd,re,rf,r10", 0 },
	{ __LINE__, "r1,r2,r3,r4,r5,r6,r7,r8,r9,ra,rb,rc,rd,re,rf,r10,r11", EINVAL },
};

static void test_wrong_lists_are_refused(void **state)
{
	struct event_list list;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(list_rows) / sizeof(list_rows[0]); i++) {
		int ret = events_parse(list_rows[i].text, &paths, &list, &err);

		if (ret != -list_rows[i].code)
			fail_msg("row of line %d: ret %d", list_rows[i].line, ret);
	}
}

static void test_longest_text_is_accepted(void **state)
{
	char text[EVENT_TEXT_MAX + 1] = "r1c4";
	struct event_list list;
	struct err err;

	(void)state;
	while (strlen(text) + 2 < EVENT_TEXT_MAX)
		strcat(text, ":u");
	if (strlen(text) + 1 < EVENT_TEXT_MAX)
		memmove(text + 1, text, strlen(text) + 1), memcpy(text, "r0", 2);
	assert_int_equal(strlen(text), EVENT_TEXT_MAX - 1);
	assert_int_equal(events_parse(text, &paths, &list, &err), 0);
	assert_string_equal(list.events[0].text, text);
	memmove(text + 1, text, strlen(text) + 1);
	memcpy(text, "r0", 2);
	assert_int_equal(events_parse(text, &paths, &list, &err), -EINVAL);
}

static void test_only_the_default_event_falls_back(void **state)
{
	struct event_list list;
	struct err err;

	(void)state;
	assert_int_equal(events_parse("default,cycles", &paths, &list, &err), 0);
	assert_false(event_fallback(&list.events[1]));
	assert_int_equal(list.events[1].attr.type, HW);
	assert_true(event_fallback(&list.events[0]));
	assert_int_equal(list.events[0].attr.type, SW);
	assert_int_equal(list.events[0].attr.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(event_rate(&list.events[0]), 999);
	assert_int_equal(list.events[0].flags, KPROF_EVENT_FREQ | KPROF_EVENT_FALLBACK);
	assert_string_equal(list.events[0].text, "default");
	assert_false(event_fallback(&list.events[0]));
}

/* The kernel has lowered its limit since the events were set. */
static void test_events_are_fitted_to_a_lowered_limit(void **state)
{
	struct event_list list, copy;
	struct err err = { "" };
	char path[128];
	FILE *file;

	(void)state;
	assert_int_equal(events_parse("default,cpu-clock:freq=100,r1:period=1", &paths, &list, &err),
		0);
	copy = list;
	assert_int_equal(events_fit(&copy, &paths, &err), 0);
	assert_memory_equal(&copy, &list, sizeof(list));

	snprintf(path, sizeof(path), "%s/sys/kernel/perf_event_max_sample_rate", root);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("250\n", file);
	fclose(file);
	assert_int_equal(events_fit(&copy, &paths, &err), 0);
	assert_int_equal(event_rate(&copy.events[0]), 250);
	assert_int_equal(event_rate(&copy.events[1]), 100);
	assert_int_equal(event_rate(&copy.events[2]), 1);

	file = fopen(path, "w");
	assert_non_null(file);
	fputs("50\n", file);
	fclose(file);
	assert_int_equal(events_fit(&copy, &paths, &err), -EINVAL);
	assert_non_null(strstr(err.text, "max_sample_rate (50)"));

	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%d\n", FIXTURE_MAX_RATE);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_texts_become_attributes),
		cmocka_unit_test(test_wrong_events_get_hints),
		cmocka_unit_test(test_configs_of_other_pmus_are_encoded),
		cmocka_unit_test(test_lists_are_parsed_and_printed_back),
		cmocka_unit_test(test_times_away_are_events),
		cmocka_unit_test(test_wall_has_two_sides),
		cmocka_unit_test(test_wrong_lists_are_refused),
		cmocka_unit_test(test_longest_text_is_accepted),
		cmocka_unit_test(test_only_the_default_event_falls_back),
		cmocka_unit_test(test_events_are_fitted_to_a_lowered_limit),
	};

	unsetenv("LIBPFM_FORCE_PMU");
	return cmocka_run_group_tests(tests, make_fixture, remove_fixture);
}

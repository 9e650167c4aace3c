/* SPDX-License-Identifier: MIT */
/* cmd/doctor: invented facts about machines lead to the right findings. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/doctor.h"

/* A machine on which root can do everything. */
static struct doctor_facts all_fine(void)
{
	static char nowhere[] = "";

	return (struct doctor_facts){
		.features = { true, true, true },
		.limits = { ~0ull, false, 8 << 20 },
		.paranoid = 2,
		.kptr_restrict = 0,
		.mlock_kb = 516,
		.max_rate = 100000,
		.max_stack = 127,
		.cpus = 4,
		.is_root = true,
		.has_fusermount = true,
		.sees_kernel = true,
		.has_server = true,
		.has_symbols = true,
		.has_objdump = true,
		.has_pfm = true,
		.mounts = nowhere,
	};
}

/* The verdict under this name, -1 if none; `part` must be in its text or remedy (NULL if no remedy). */
static int verdict(const struct doctor_facts *facts, const char *name, const char *text,
	const char *remedy)
{
	GArray *findings = doctor_judge(facts);
	int found = -1;
	guint i;

	for (i = 0; i < findings->len; i++) {
		const struct doctor_finding *f = &g_array_index(findings, struct doctor_finding, i);

		assert_true(*f->text);
		if (strcmp(f->name, name))
			continue;
		assert_int_equal(found, -1); /* each name once */
		found = (int)f->verdict;
		if (text && !strstr(f->text, text))
			fail_msg("%s: '%s' is not in '%s'", name, text, f->text);
		if (remedy && (!f->remedy || !strstr(f->remedy, remedy)))
			fail_msg("%s: '%s' is not in '%s'", name, remedy, f->remedy);
	}
	g_array_free(findings, TRUE);
	return found;
}

static void test_healthy_machine_has_no_findings(void **state)
{
	struct doctor_facts f = all_fine();
	GArray *findings = doctor_judge(&f);
	guint i;

	for (i = 0; i < findings->len; i++) {
		const struct doctor_finding *found =
			&g_array_index(findings, struct doctor_finding, i);

		assert_true(found->verdict == DOCTOR_FINE || found->verdict == DOCTOR_NOTE);
	}
	g_array_free(findings, TRUE);
	assert_int_equal(verdict(&f, "mlock", NULL, NULL), -1);
}

static void test_perf_restrictions_are_found(void **state)
{
	struct doctor_facts f = all_fine();

	f.whole_machine = -EACCES;
	f.features.has_kernel = false;
	f.limits.capabilities = 0;
	assert_int_equal(verdict(&f, "perf_events", "without the kernel", "perf_event_paranoid=0"),
		DOCTOR_LIMITED);
	f.features.has_kernel = true;
	f.paranoid = 1;
	assert_int_equal(verdict(&f, "perf_events", "own processes can", "CAP_PERFMON"), DOCTOR_LIMITED);
	f.perf = -EACCES;
	f.paranoid = 3;
	assert_int_equal(verdict(&f, "perf_events", "is 3", "CAP_PERFMON"), DOCTOR_MISSING);
	assert_int_equal(verdict(&f, "pmu", NULL, NULL), -1); /* not known */
	f.limits.capabilities = 1ull << 38;
	f.limits.seccomp = true;
	assert_int_equal(verdict(&f, "perf_events", NULL, "seccomp"), DOCTOR_MISSING);
	f.limits.seccomp = false;
	assert_int_equal(verdict(&f, "perf_events", NULL, "security module"), DOCTOR_MISSING);
	f.perf = -ENOSYS;
	f.paranoid = DOCTOR_NO_SYSCTL;
	assert_int_equal(verdict(&f, "perf_events", "not there", "CONFIG_PERF_EVENTS"), DOCTOR_MISSING);
}

static void test_missing_machine_features_are_found(void **state)
{
	struct doctor_facts f = all_fine();

	f.features.has_cycles = false;
	assert_int_equal(verdict(&f, "pmu", "clock", "PMU"), DOCTOR_LIMITED);
	f = all_fine();
	f.nmi_watchdog = 1;
	assert_int_equal(verdict(&f, "pmu", "watchdog", "nmi_watchdog=0"), DOCTOR_FINE);
	f = all_fine();
	f.features.has_lost = false;
	assert_int_equal(verdict(&f, "kernel", "does not count exactly what a full ring lost", "6.0"),
		DOCTOR_LIMITED);
	f = all_fine();
	f.max_rate = 998;
	assert_int_equal(verdict(&f, "max_rate", "998", NULL), DOCTOR_LIMITED);
	f.max_rate = 999;
	assert_int_equal(verdict(&f, "max_rate", NULL, NULL), -1);
	f.max_stack = 126;
	assert_int_equal(verdict(&f, "max_stack", "126", "127"), DOCTOR_LIMITED);
	f = all_fine();
	f.sees_kernel = false;
	f.kptr_restrict = 2;
	assert_int_equal(verdict(&f, "kernel_symbols", "is 2", "kptr_restrict=1"), DOCTOR_LIMITED);
	f.tracefs = -EACCES;
	assert_int_equal(verdict(&f, "tracefs", "Permission denied", "mount"), DOCTOR_LIMITED);
}

/* The first reason is reported: programs, the types that they need, what they may read. */
static void test_bpf_restrictions_are_found(void **state)
{
	struct doctor_facts f = all_fine();

	assert_int_equal(verdict(&f, "bpf", NULL, NULL), DOCTOR_FINE);
	f.is_confidential = true;
	assert_int_equal(verdict(&f, "bpf", "no kprobes", "lockdown=integrity"), DOCTOR_LIMITED);
	f.types = -ENOENT;
	assert_int_equal(verdict(&f, "bpf", "types can't be read: No such file", "DEBUG_INFO_BTF"),
		DOCTOR_LIMITED);
	assert_int_equal(verdict(&f, "bpf", "mpstat counts ticks", NULL), DOCTOR_LIMITED);
	f.bpf = -EPERM;
	assert_int_equal(verdict(&f, "bpf", "loaded into the kernel: Operation not permitted",
		"security module"), DOCTOR_LIMITED);
	assert_int_equal(verdict(&f, "bpf", "mpstat counts ticks", NULL), DOCTOR_LIMITED);
	f.limits.seccomp = true;
	assert_int_equal(verdict(&f, "bpf", NULL, "a seccomp filter is on this process"), DOCTOR_LIMITED);
	f.limits.capabilities = 0;
	assert_int_equal(verdict(&f, "bpf", NULL, "CAP_BPF and CAP_PERFMON; in a container"), DOCTOR_LIMITED);
	f.limits.seccomp = false;
	assert_int_equal(verdict(&f, "bpf", NULL, "root or with CAP_BPF and CAP_PERFMON"), DOCTOR_LIMITED);
	f.limits.capabilities = 1ull << 39; /* one of the two is not enough */
	assert_int_equal(verdict(&f, "bpf", NULL, "root or with CAP_BPF and CAP_PERFMON"), DOCTOR_LIMITED);
	f.limits.capabilities |= 1ull << 38;
	assert_int_equal(verdict(&f, "bpf", NULL, "security module"), DOCTOR_LIMITED);
	f.bpf = -ENOSYS;
	assert_int_equal(verdict(&f, "bpf", "not implemented", "CONFIG_BPF_SYSCALL"), DOCTOR_LIMITED);
}

/* A ring of 512 KB and a page for each CPU; a user has 516 KB a CPU and RLIMIT_MEMLOCK on top. */
static void test_mlock_limit_is_computed(void **state)
{
	struct doctor_facts f = all_fine();

	f.limits.capabilities = 0;
	f.limits.memlock_bytes = 0;
	assert_int_equal(verdict(&f, "mlock", NULL, NULL), -1);
	f.mlock_kb = 515;
	assert_int_equal(verdict(&f, "mlock", "2060 KB", "516"), DOCTOR_LIMITED);
	f.limits.memlock_bytes = 4 << 10;
	assert_int_equal(verdict(&f, "mlock", NULL, NULL), -1);
	f.limits.memlock_bytes = 0;
	f.paranoid = -1; /* then no user is limited */
	assert_int_equal(verdict(&f, "mlock", NULL, NULL), -1);
	f.paranoid = 2;
	f.limits.capabilities = 1ull << 14;
	assert_int_equal(verdict(&f, "mlock", NULL, NULL), -1);
}

static void test_mount_problems_are_found(void **state)
{
	struct doctor_facts f = all_fine();
	static char dirs[] = "/mnt/a, /mnt/b";

	f.fuse = -ENOENT;
	assert_int_equal(verdict(&f, "fuse", "No such file", "modprobe fuse"), DOCTOR_MISSING);
	f.fuse = -EACCES;
	assert_int_equal(verdict(&f, "fuse", "Permission denied", "chmod"), DOCTOR_MISSING);
	f.fuse = 0;
	f.has_fusermount = false;
	assert_int_equal(verdict(&f, "fuse", NULL, NULL), DOCTOR_FINE);
	f.is_root = false;
	assert_int_equal(verdict(&f, "fuse", "fusermount3", "fuse3"), DOCTOR_MISSING);
	assert_int_equal(verdict(&f, "mounts", "not mounted", "kprof record"), DOCTOR_NOTE);
	f.mounts = dirs;
	assert_int_equal(verdict(&f, "mounts", "/mnt/a, /mnt/b", NULL), DOCTOR_NOTE);
	f.has_server = false;
	assert_int_equal(verdict(&f, "server", "PATH", "sbin"), DOCTOR_MISSING);
	f.has_symbols = false;
	assert_int_equal(verdict(&f, "symbols", "kprof-symbols", NULL), DOCTOR_LIMITED);
	f.has_objdump = false;
	assert_int_equal(verdict(&f, "objdump", NULL, "binutils"), DOCTOR_LIMITED);
	f.has_pfm = false;
	assert_int_equal(verdict(&f, "libpfm4", "generic", "install"), DOCTOR_LIMITED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy_machine_has_no_findings),
		cmocka_unit_test(test_perf_restrictions_are_found),
		cmocka_unit_test(test_missing_machine_features_are_found),
		cmocka_unit_test(test_bpf_restrictions_are_found),
		cmocka_unit_test(test_mlock_limit_is_computed),
		cmocka_unit_test(test_mount_problems_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

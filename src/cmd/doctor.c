/* SPDX-License-Identifier: MIT */
/* Judges the facts of a machine: see doctor.h. */
#include "cmd/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "sys/lockdown.h"

const char *const doctor_verdicts[] = {
	[DOCTOR_FINE] = "fine",
	[DOCTOR_LIMITED] = "limited",
	[DOCTOR_MISSING] = "missing",
	[DOCTOR_NOTE] = "note",
};

#define DEFAULT_HZ 999      /* the default sampling rate of kprofs */
#define DEFAULT_RING_KB 512 /* default of prof_cpubufsz */
#define DEFAULT_FRAMES 127

/* remedy NULL if there is none. Takes ownership of both texts. */
static void find(GArray *findings, const char *name, enum doctor_verdict verdict, char *text,
	char *remedy)
{
	const struct doctor_finding finding = { name, verdict, text, remedy };

	g_array_append_val(findings, finding);
}

/* ---- sampling --------------------------------------------------------------------------------- */

/* What would allow this process to sample the whole machine. */
static char *remedy_for_perf(const struct doctor_facts *f)
{
	if (f->paranoid == DOCTOR_NO_SYSCTL)
		return g_strdup("a kernel with CONFIG_PERF_EVENTS");
	if (f->paranoid <= 0 || limits_can(&f->limits, LIMITS_CAP_PERFMON) ||
		limits_can(&f->limits, LIMITS_CAP_SYS_ADMIN))
		return g_strdup(f->limits.seccomp
				? "a seccomp filter is on this process: in a container, let it allow"
				  " perf_event_open (docker: --security-opt seccomp=unconfined)"
				: "a security module forbids it");
	return g_strdup("run kprofs as root or with CAP_PERFMON; or: sysctl kernel.perf_event_paranoid=0");
}

static void judge_perf(GArray *findings, const struct doctor_facts *f)
{
	char paranoid[32] = "not there";

	if (f->paranoid != DOCTOR_NO_SYSCTL)
		g_snprintf(paranoid, sizeof(paranoid), "%" PRId64, f->paranoid);
	if (f->perf)
		find(findings, "perf_events", DOCTOR_MISSING,
			g_strdup_printf("nothing can be sampled: %s; kernel.perf_event_paranoid is %s",
				strerror(-f->perf), paranoid),
			remedy_for_perf(f));
	else if (!f->whole_machine)
		find(findings, "perf_events", DOCTOR_FINE,
			g_strdup_printf("the whole machine, kernel and programs, can be sampled;"
					" kernel.perf_event_paranoid is %s", paranoid),
			NULL);
	else
		find(findings, "perf_events", DOCTOR_LIMITED,
			g_strdup_printf("only your own processes%s can be sampled;"
					" kernel.perf_event_paranoid is %s",
				f->features.has_kernel ? "" : ", without the kernel", paranoid),
			remedy_for_perf(f));
}

static void judge_pmu(GArray *findings, const struct doctor_facts *f)
{
	if (f->perf)
		return;
	if (!f->features.has_cycles)
		find(findings, "pmu", DOCTOR_LIMITED,
			g_strdup("the processor's counters are not available: a clock replaces "
				 "cycles, and code with"
				 " interrupts disabled is sampled only when it enables them"),
			g_strdup("in a virtual machine, have its host give it a PMU"
				 " (QEMU: -cpu host,pmu=on)"));
	else if (f->nmi_watchdog > 0)
		find(findings, "pmu", DOCTOR_FINE,
			g_strdup("cycles can be sampled; the kernel's watchdog uses one of the "
				 "counters"),
			g_strdup("to count one more event at the same time: sysctl "
				 "kernel.nmi_watchdog=0"));
	else
		find(findings, "pmu", DOCTOR_FINE, g_strdup("cycles can be sampled"), NULL);
}

static void judge_kernel_version(GArray *findings, const struct doctor_facts *f)
{
	if (f->perf || f->features.has_lost)
		return;
	find(findings, "kernel", DOCTOR_LIMITED,
		g_strdup("this kernel does not count exactly what a full ring lost"),
		g_strdup("use Linux 6.0 or later"));
}

static void judge_rate(GArray *findings, const struct doctor_facts *f)
{
	if (f->max_rate == DOCTOR_NO_SYSCTL || f->max_rate >= DEFAULT_HZ)
		return;
	find(findings, "max_rate", DOCTOR_LIMITED,
		g_strdup_printf(
			"no more than %" PRId64 " samples a second: the kernel has lowered"
			" kernel.perf_event_max_sample_rate, as it does when samples take too long",
			f->max_rate),
		g_strdup("sysctl kernel.perf_event_max_sample_rate=100000"));
}

static void judge_stack(GArray *findings, const struct doctor_facts *f)
{
	if (f->max_stack != DOCTOR_NO_SYSCTL && f->max_stack < DEFAULT_FRAMES)
		find(findings, "max_stack", DOCTOR_LIMITED,
			g_strdup_printf("stacks are cut at %" PRId64 " frames", f->max_stack),
			g_strdup_printf("sysctl kernel.perf_event_max_stack=%d", DEFAULT_FRAMES));
	find(findings, "frame_pointers", DOCTOR_NOTE,
		g_strdup("stacks of programs follow frame pointers, which most distributions' builds"
			 " lack: these show fewer callers"),
		g_strdup("sample with copied stacks (kprof record --call-graph dwarf), or compile what is to"
			 " be profiled with -fno-omit-frame-pointer"));
}

/* Memory of the rings of all CPUs, each with its control page, as it is locked. */
static void judge_mlock(GArray *findings, const struct doctor_facts *f)
{
	const uint64_t need_kb = (uint64_t)f->cpus * (DEFAULT_RING_KB + 4);
	uint64_t have_kb = f->mlock_kb > 0 ? (uint64_t)f->mlock_kb * f->cpus : 0;

	if (f->mlock_kb == DOCTOR_NO_SYSCTL || f->mlock_kb < 0 || f->paranoid < 0 ||
		limits_can(&f->limits, LIMITS_CAP_IPC_LOCK))
		return;
	if (f->limits.memlock_bytes == UINT64_MAX)
		return;
	have_kb += f->limits.memlock_bytes / KIB;
	if (have_kb >= need_kb)
		return;
	find(findings, "mlock", DOCTOR_LIMITED,
		g_strdup_printf("%" PRIu64 " KB of memory may be locked for rings, and %" PRIu64
				" CPUs need %" PRIu64 " KB", have_kb, (uint64_t)f->cpus, need_kb),
		g_strdup_printf("sysctl kernel.perf_event_mlock_kb=%d; or smaller rings:"
				" echo prof_cpubufsz 64 > kpctl", DEFAULT_RING_KB + 4));
}

/* ---- names, tracepoints ----------------------------------------------------------------------- */

static void judge_names(GArray *findings, const struct doctor_facts *f)
{
	if (f->sees_kernel)
		find(findings, "kernel_symbols", DOCTOR_FINE,
			g_strdup("the kernel's functions can be named"), NULL);
	else
		find(findings, "kernel_symbols", DOCTOR_LIMITED,
			g_strdup_printf(
				"the kernel's functions have no names: /proc/kallsyms hides its"
				" addresses (kernel.kptr_restrict is %" PRId64 ")",
				f->kptr_restrict == DOCTOR_NO_SYSCTL ? 0 : f->kptr_restrict),
			g_strdup(f->kptr_restrict >= 2 ? "sysctl kernel.kptr_restrict=1, and run "
							 "as root or with CAP_SYSLOG"
						       : "run as root or with CAP_SYSLOG; or: "
							 "sysctl kernel.kptr_restrict=0"
							 " and kernel.perf_event_paranoid=1"));
	if (!f->has_symbols)
		find(findings, "symbols", DOCTOR_LIMITED,
			g_strdup("the functions of programs have no names: kprof-symbols does not"
				 " answer"),
			g_strdup("run make install, or put kprof-symbols beside kprof"));
}

static void judge_tracefs(GArray *findings, const struct doctor_facts *f)
{
	if (!f->tracefs)
		find(findings, "tracefs", DOCTOR_FINE,
			g_strdup("the kernel's tracepoints can be named"), NULL);
	else
		find(findings, "tracefs", DOCTOR_LIMITED,
			g_strdup_printf(
				"no tracepoints for events: tracefs: %s", strerror(-f->tracefs)),
			g_strdup("run as root; or: mount -t tracefs none /sys/kernel/tracing -o "
				 "mode=755"));
}

/* ---- BPF -------------------------------------------------------------------------------------- */

/* What there is not without programs in the kernel. */
#define WITHOUT_BPF \
	"kernel events are at most those that tracefs records, mpstat counts ticks, samples can be chosen" \
	" by one cgroup only, and the events offcpu and wall and the programs of probes/ are refused"

#define BPF_IN_CONTAINER \
	"in a container, give it CAP_BPF and CAP_PERFMON, and let its seccomp filter allow bpf (docker:" \
	" --cap-add BPF --cap-add PERFMON --security-opt seccomp=unconfined)"

/* What would allow this process to load programs. */
static const char *remedy_for_bpf(const struct doctor_facts *f)
{
	if (limits_can_bpf(&f->limits) && f->limits.seccomp)
		return "a seccomp filter is on this process: " BPF_IN_CONTAINER;
	if (f->bpf == -ENOSYS)
		return "a kernel with CONFIG_BPF_SYSCALL";
	if (limits_can_bpf(&f->limits))
		return "a security module or a user namespace forbids it";
	return f->limits.seccomp ? "run kprofs as root or with CAP_BPF and CAP_PERFMON; " BPF_IN_CONTAINER
				 : "run kprofs as root or with CAP_BPF and CAP_PERFMON";
}

static void judge_bpf(GArray *findings, const struct doctor_facts *f)
{
	if (f->bpf)
		find(findings, "bpf", DOCTOR_LIMITED,
			g_strdup_printf("programs can't be loaded into the kernel: %s; " WITHOUT_BPF,
				strerror(-f->bpf)),
			g_strdup(remedy_for_bpf(f)));
	else if (f->types)
		find(findings, "bpf", DOCTOR_LIMITED,
			g_strdup_printf("the kernel's types can't be read: %s; " WITHOUT_BPF,
				strerror(-f->types)),
			g_strdup("a kernel with CONFIG_DEBUG_INFO_BTF, whose types are in"
				 " /sys/kernel/btf/vmlinux"));
	else if (f->is_confidential)
		find(findings, "bpf", DOCTOR_LIMITED,
			g_strdup("kernel lockdown (confidentiality) forbids programs to read the kernel's"
				 " memory: records of tracepoints have no texts, and there are no kprobes"),
			g_strdup(LOCKDOWN_REMEDY));
	else
		find(findings, "bpf", DOCTOR_FINE, g_strdup("programs can be loaded into the kernel"), NULL);
}

/* ---- the mount -------------------------------------------------------------------------------- */

static void judge_fuse(GArray *findings, const struct doctor_facts *f)
{
	if (f->fuse == -EACCES || f->fuse == -EPERM)
		find(findings, "fuse", DOCTOR_MISSING,
			g_strdup_printf(
				"kprofs can't be mounted: /dev/fuse: %s", strerror(-f->fuse)),
			g_strdup("chmod 666 /dev/fuse; in a container: --device /dev/fuse"
				 " --cap-add SYS_ADMIN"));
	else if (f->fuse)
		find(findings, "fuse", DOCTOR_MISSING,
			g_strdup_printf(
				"kprofs can't be mounted: /dev/fuse: %s", strerror(-f->fuse)),
			g_strdup("modprobe fuse; in a container: --device /dev/fuse"
				 " --cap-add SYS_ADMIN"));
	else if (!f->is_root && !f->has_fusermount)
		find(findings, "fuse", DOCTOR_MISSING,
			g_strdup("only root can mount: there is no fusermount3"),
			g_strdup("install it (Debian: fuse3)"));
	else
		find(findings, "fuse", DOCTOR_FINE, g_strdup("kprofs can be mounted"), NULL);
}

static void judge_programs(GArray *findings, const struct doctor_facts *f)
{
	if (!f->has_server)
		find(findings, "server", DOCTOR_MISSING,
			g_strdup("kprofs was not found: it is neither beside kprof nor in PATH"),
			g_strdup("make install, or put its folder (often sbin) into PATH"));
	if (!f->has_objdump)
		find(findings, "objdump", DOCTOR_LIMITED,
			g_strdup("kprof annotate can't show code: there is no objdump"),
			g_strdup("install it (Debian: binutils)"));
	if (!f->has_pfm)
		find(findings, "libpfm4", DOCTOR_LIMITED,
			g_strdup("no events of processors but perf's generic ones: libpfm4 can't be"
				 " loaded"),
			g_strdup("install it (Debian: libpfm4)"));
}

static void judge_mounts(GArray *findings, const struct doctor_facts *f)
{
	if (*f->mounts)
		find(findings, "mounts", DOCTOR_NOTE,
			g_strdup_printf("kprofs is mounted at %s", f->mounts), NULL);
	else
		find(findings, "mounts", DOCTOR_NOTE, g_strdup("kprofs is not mounted"),
			g_strdup("`kprofs DIR` mounts it; kprof record works without a mount"));
}

static void free_finding(void *data)
{
	struct doctor_finding *finding = data;

	g_free(finding->text);
	g_free(finding->remedy);
}

GArray *doctor_judge(const struct doctor_facts *facts)
{
	GArray *findings = g_array_new(FALSE, FALSE, sizeof(struct doctor_finding));

	g_array_set_clear_func(findings, free_finding);
	judge_perf(findings, facts);
	judge_pmu(findings, facts);
	judge_kernel_version(findings, facts);
	judge_rate(findings, facts);
	judge_mlock(findings, facts);
	judge_stack(findings, facts);
	judge_names(findings, facts);
	judge_tracefs(findings, facts);
	judge_bpf(findings, facts);
	judge_fuse(findings, facts);
	judge_mounts(findings, facts);
	judge_programs(findings, facts);
	return findings;
}

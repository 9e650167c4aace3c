#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_doctor: The findings of kprof doctor agree with other tools as to FUSE, the names of the kernel and
# the mount. tests/unit/test_doctor.c has the findings on other machines.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

KPROF=$PWD/kprof
DENY=$PWD/tests/deny/deny

doctor() {
	"$KPROF" doctor "$@" >"$WORK/out" 2>&1
	status=$?
}

verdict() {
	awk -v name="$1" '$2 == name { print $1 }' "$WORK/out"
}

serve
doctor
same "the status tells" "$(grep -c ^missing "$WORK/out" | sed 's/[1-9][0-9]*/1/')" $status
same "FUSE works: this is mounted" fine "$(verdict fuse)"
grep -q "^note  *mounts .*$MNT" "$WORK/out" || fail "the mount is not found"
same "the server is beside it" "" "$(verdict server)"
kernel=limited
grep -m 1 -q '^0*[1-9a-f][0-9a-f]* T _stext$' /proc/kallsyms && kernel=fine
same "the names of the kernel" $kernel "$(verdict kernel_symbols)"
[ ! -d /sys/kernel/tracing/events/sched ] || same "tracepoints" fine "$(verdict tracefs)"

# whether programs can be loaded into the kernel, and where bpf(2) is refused, as in a container
bpf=limited
if put probes/try 'syscall:getppid:entry { @ = count(); }' 2>/dev/null; then
	bpf=fine
	rm "$MNT/probes/try"
	! grep -q '\[confidentiality\]' /sys/kernel/security/lockdown 2>/dev/null || bpf=limited
fi
same "programs in the kernel" $bpf "$(verdict bpf)"
if [ -x "$DENY" ]; then
	"$DENY" EPERM bpf -- "$KPROF" doctor >"$WORK/out" 2>&1
	same "refused: programs in the kernel" limited "$(verdict bpf)"
	check "the reason" grep -q "bpf  *programs can't be loaded into the kernel: Operation not permitted" "$WORK/out"
	check "the remedy" grep -q -- '-> .*CAP_BPF and CAP_PERFMON, and let its seccomp filter allow bpf' "$WORK/out"
	same "what needs no programs" fine "$(verdict fuse)"
else
	echo "not tried: a refused bpf(2), without libseccomp"
fi

# whether the profiler may sample the machine
perf=missing
if put kpctl start 2>/dev/null; then
	[ "$(stat_of profiler.scope)" = machine ] && perf=fine || perf=limited
	put kpctl stop
fi
same "what may be sampled" $perf "$(verdict perf_events)"

doctor --json
python3 - "$WORK/out" <<'END' || fail "not the JSON that the page tells of"
import json, sys
findings = json.load(open(sys.argv[1]))["findings"]
assert {f["verdict"] for f in findings} <= {"fine", "limited", "missing", "note"}
assert all(f["name"] and f["text"] for f in findings)
assert [f for f in findings if f["name"] == "fuse"][0]["verdict"] == "fine"
END
doctor nonsense
same "an argument is refused" 2 $status

#!/bin/bash
# SPDX-License-Identifier: MIT
# kpdata_write: A program counter that is written to kpdata before the first start has a name. Separators of
# a stack are not program counters. The counts of CPUs add up to those of the machine.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

# cpus_sum NAME: of the rows cpu.N.NAME
cpus_sum() {
	awk -v name="$1" 'match($1, /^cpu\.[0-9]+\./) && substr($1, RLENGTH + 1) == name { n += $2; rows++ }
		END { print rows ? n : "no row" }' "$MNT/kpstat"
}

# check_cpus NAME: what the CPUs have is what the machine has
check_cpus() {
	same "$1 of all CPUs" "$(stat_of "$1")" "$(cpus_sum "$1")"
}

serve
# the first address of `schedule` in the running kernel; 0 where addresses are hidden
address=$(awk '$3 == "schedule" { print $1; exit }' /proc/kallsyms)
[[ ${address:-0} =~ ^0*$ ]] && address=
put kpdata "0x${address:-ffffffff81000000}" || fail "an address"
"$KPROF" dump "$MNT/kpdata" >"$WORK/dump" || fail "kprof dump"
check "the kernel's mapping" grep -q '^[0-9]* kernel_mmap .* path="\[kernel.kallsyms\]"$' "$WORK/dump"
if [ -n "$address" ]; then
	same "its name" schedule "$("$KPROF" report "$MNT/kpdata" | awk '$2 == 1 && /kallsyms/ { print $(NF - 1) }')"
fi

# PERF_CONTEXT_MAX to PERF_CONTEXT_HV of <linux/perf_event.h>, as all users of the kernel's stacks have them
refused=0
for mark in -4095 -2560 -2176 -2048 -512 -128 -32 -1; do
	printf -v number '0x%x' "$mark"
	fails_with "Invalid argument" put kpdata "$number"
	refused=$((refused + 1))
done
check "the reason" grep -q "'0xfffffffffffffe00': 0xfffffffffffffe00 is no address but a context marker" \
	"$MNT/kperr"
same "samples.invalid" "$refused" "$(stat_of samples.invalid)"
check_cpus samples.invalid
put kpdata 0xfffffffffffff000 || fail "the last address that is no mark"
same "samples held" 2 "$("$KPROF" dump "$MNT/kpdata" | grep -c ' kern_trace ')"
ctl clear
same "after clear" "0 0" "$(stat_of samples.invalid) $(cpus_sum samples.invalid)"

# with room for one frame each stack that is taken is as long as it may be
need_machine
ctl 'event cpu-clock:freq=999' 'stack both 1' start
timeout 60 "$FIXTURES/split" 100 >/dev/null || fail split
ctl flush
at_least "stacks that were cut" 10 "$(stat_of backtraces.aborted)"
check_running() {
	[ "$(stat_of backtraces.aborted)" = "$(cpus_sum backtraces.aborted)" ]
}
wait_for check_running # two reads of a running profiler may differ
ctl stop
check_cpus backtraces.aborted
same "all of those taken" "$(stat_of backtraces.taken)" "$(stat_of backtraces.aborted)"
same "cpu/0/stat has it" "$(stat_of cpu.0.backtraces.aborted)" \
	"$(sed -n 's/^backtraces.aborted //p' "$MNT/cpu/0/stat")"
# of one CPU alone
last=$(grep -c '^cpu\.[0-9]*\.samples ' "$MNT/kpstat")
ctl clear "cpus $((last - 1))" start
timeout 60 "$FIXTURES/split" 100 >/dev/null || fail split
ctl stop
same "of the CPU that was sampled" "$(stat_of backtraces.aborted)" \
	"$(stat_of "cpu.$((last - 1)).backtraces.aborted")"

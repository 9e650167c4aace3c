#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_offcpu_hotplug: While `event offcpu` runs, a CPU goes offline and comes back: the balance is exact on both, what
# a task waited for is right before and after, and views of one process have its times only.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck disable=SC2034 # for prof_lib.sh
NEEDS_MACHINE=alone
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

take_cpu1 end_test

taken_on() {
	ctl flush
	stat_of "event.1.cpu.$1.count"
}
taken_beyond() {
	local now
	now=$(taken_on "$1")
	[ "${now:-0}" -gt "$2" ]
}
# work_on CPU: waits of known number on that CPU, more than so many samples of it
work_on() {
	local before
	before=$(taken_on "$1")
	taskset -c "$1" "$FIXTURES/pingpong" 2000 >/dev/null || fail "pingpong on CPU $1: status $?"
	wait_for taken_beyond "$1" $((${before:-0} + 2000))
}
# it is away for 1.5 s, and CPU 1 goes or comes back meanwhile; on CPU 0, whose switches are all reported
sleeper() {
	taskset -c 0 sleep 1.5 &
	SLEEPER=$!
	pids="$pids $SLEEPER"
}

serve
need_machine
if ! put kpctl 'event offcpu:min=0' 2>/dev/null; then
	echo "no BPF here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
pids=
ctl 'stack none' 'prof_cpubufsz 8192' clear start
work_on 0
work_on 1
sleeper
echo 0 >$switch || fail "CPU 1 can't go offline"
gone=$(taken_on 1)
work_on 0
same "nothing is taken on a CPU that is offline" "$gone" "$(taken_on 1)"
wait_for has_ended "$SLEEPER"
sleeper
echo 1 >$switch || fail "CPU 1 can't come back"
work_on 1
work_on 0
wait_for has_ended "$SLEEPER"
ctl stop
cat "$MNT/kpstat" >"$WORK/stat"
copy_to "$WORK/kpdata"
check_balance "$WORK/stat" "$WORK/kpdata" 1
echo "$count = $delivered + $lost + $undelivered"
same "undelivered" 0 "$undelivered"
at_least "samples" 10000 "$count"
for pid in $pids; do
	ms=$(awk '$1 ~ /%$/ { n += $3 } END { printf "%.0f\n", n }' "$MNT/views/by/pid/$pid/flat")
	check "process $pid slept for $ms ms" [ "$ms" -ge 1490 ] && [ "$ms" -le 1700 ]
	by_report=$("$KPROF" report --pid "$pid" "$WORK/kpdata" |
		awk '$1 ~ /%$/ { n += $3 } END { printf "%.0f\n", n }')
	same "the report of $pid" "$ms" "$by_report"
done
serve_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_exact: For events of period 1, each one that the kernel counted is in kpdata or counted as lost, for
# each CPU, with an unimpeded sampler and with one that is stopped while the rings are full.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

pages=100000
rounds=10000

load_faults() {
	timeout 60 "$FIXTURES/faults" "$pages" >"$WORK/said" || fail "faults"
}

load_switches() {
	timeout 60 taskset -c 0 "$FIXTURES/pingpong" "$rounds" >"$WORK/said" || fail "pingpong"
}

# Checks the counts of what was sampled. kpdata is in $WORK/copy then.
stop_and_check_counts() {
	local event
	ctl stop
	cat "$MNT/kpstat" >"$WORK/stat"
	copy_to "$WORK/copy"
	event=$(sed -n "s/^event\.\([0-9]*\)\.text $spec\$/\1/p" "$WORK/stat")
	check_balance "$WORK/stat" "$WORK/copy" "$event"
	echo "$spec: $count = $delivered + $lost + $undelivered"
}

# record COMMAND: samples while it runs
record() {
	ctl clear start
	"$1"
	stop_and_check_counts
}

# record_held_up COMMAND: the same, while the server is stopped
record_held_up() {
	ctl clear start
	hold_up
	"$1"
	let_go
	stop_and_check_counts
}

# sum_of WHAT: over the CPUs, of the event of $spec
sum_of() {
	cat "$MNT/kpstat" >"$WORK/stat"
	awk -v what="$1" -v spec="$spec" '
		$2 == spec && $1 ~ /^event\.[0-9]*\.text$/ { split($1, part, "."); event = part[2] }
		{ value[$1] = $2 }
		END {
			for (name in value)
				if (split(name, part, ".") == 5 && part[1] == "event" &&
						part[2] == event && part[5] == what)
					n += value[name]
			print n + 0
		}' "$WORK/stat"
}

# switches_are_there: as many samples of each of the two processes as the kernel counted switches from the
# CPU; some more between the print of that number and the end
switches_are_there() {
	local _ pid count found
	while read -r _ pid count; do
		at_least "switches of the fixture" $((rounds - rounds / 100)) "$count"
		found=$(grep -cE "^[0-9]+ [a-z]+_trace .* pid=$pid " "$WORK/dump")
		at_least "switches of one process" "$count" "$found"
		check "and few more" test "$found" -le $((count + 20))
	done <"$WORK/said"
	same "processes of the fixture" 2 "$(wc -l <"$WORK/said")"
}

serve
need_machine


# rings that hold all of it (40 bytes each), so that nothing can be lost
spec=page-faults:period=1
ctl "event $spec" 'stack none' 'prof_cpubufsz 8192'
exactly record load_faults
same "lost page faults" 0 "$lost"
at_least "page faults" "$pages" "$delivered"
same "those of the function that makes them" "$pages" \
	"$(samples_in "$WORK/copy" faults touch_pages)"

# the smallest ring, with stacks, not drained
ctl 'stack both' 'prof_cpubufsz 16'
exactly record_held_up load_faults
at_least "page faults" "$pages" "$count"
at_least "lost page faults" $((pages / 2)) "$lost"
at_least "delivered page faults" 100 "$delivered"

# the same, drained now and then
exactly record load_faults
at_least "page faults" "$pages" "$count"

# beside another event: the losses belong to the event that lost
ctl "event cpu-clock:freq=99,$spec"
exactly record_held_up load_faults
at_least "lost page faults" $((pages / 2)) "$lost"
check "the clock lost nearly nothing" \
	test "$(awk '$1 ~ /^event\.1\.cpu\..*\.lost$/ { n += $2 } END { print n + 0 }' "$WORK/stat")" -lt 1000

# a period longer than any run: the remainder is dropped at the end of the run
spec=page-faults:period=50000
ctl "event $spec" 'stack none' clear
for ((run = 0; run < 8; run++)); do
	ctl start
	taskset -c 0 "$FIXTURES/faults" 20000 >"$WORK/said" || fail "faults"
	ctl stop
done
at_least "page faults of all runs" 160000 "$(sum_of count)"
same "page faults undelivered, of runs of less than a period" 0 "$(sum_of undelivered)"

# and one that began before the counts did: 40,000 and 40,000 are 80,000
ctl clear start
taskset -c 0 "$FIXTURES/faults" 40000 >"$WORK/said" || fail "faults"
ctl clear
taskset -c 0 "$FIXTURES/faults" 40000 >"$WORK/said" || fail "faults"
ctl stop
at_least "page faults since clear" 40000 "$(sum_of count)"
at_least "samples of them" 1 "$(sum_of delivered)"
same "page faults undelivered, of a period that began before" 0 "$(sum_of undelivered)"

spec=page-faults:period=1

# two servers sample the same events at the same time, and each has all samples
record_both() {
	"$KPROF" dump -m "$other" >/dev/null || fail "the other mount can't be read"
	printf '%s\n' clear start >"$other/kpctl" || fail "the other one did not start"
	ctl clear start
	load_faults
	echo stop >"$other/kpctl" || fail "the other one did not stop"
	ctl stop
	cat "$other/kpstat" >"$WORK/stat"
	cat "$other/kpdata" >"$WORK/copy"
	check_balance "$WORK/stat" "$WORK/copy" 1
	at_least "page faults for the other server" "$pages" "$delivered"
	same "the other server's, of the function that makes them" "$pages" \
		"$(samples_in "$WORK/copy" faults touch_pages)"
	first=$undelivered
	stop_and_check_counts
	undelivered=$((undelivered + first))
	same "those of the function that makes them" "$pages" \
		"$(samples_in "$WORK/copy" faults touch_pages)"
}
other=$WORK/other
mkdir "$other"
"$KPROFS" -o socket=none "$other" || fail "no second server"
ctl "event $spec" 'stack none' 'prof_cpubufsz 8192'
printf '%s\n' "event $spec" 'stack user' 'prof_cpubufsz 16384' >"$other/kpctl" ||
	fail "the other server refuses"
exactly record_both
umount "$other" || fail "the other mount stays"

if grep -q tracefs /proc/filesystems; then
	spec=sched:sched_switch:period=1
	ctl "event $spec" 'stack none' 'prof_cpubufsz 8192'
	exactly record load_switches
	same "lost switches" 0 "$lost"
	switches_are_there

	ctl 'stack both' 'prof_cpubufsz 16'
	exactly record_held_up load_switches
	at_least "switches" $((2 * rounds)) "$count"
	at_least "lost switches" "$rounds" "$lost"
else
	echo "not tried: tracepoints, for want of tracefs"
fi

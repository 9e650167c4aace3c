#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_hotplug: While the profiler runs, a CPU goes offline and comes back. The other CPU is sampled all the
# time, the returned one is sampled again, all counts balance, and mpstat keeps its row.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck disable=SC2034 # for prof_lib.sh
NEEDS_MACHINE=alone
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

pages=5000

take_cpu1 end_test

load_on() {
	taskset -c "$1" "$FIXTURES/faults" "$pages" &
	loads="$loads $!"
	wait $! || fail "faults on CPU $1"
}

# balance_of CPU NAME: of the event, as kpstat has it
balance_of() {
	stat_of "event.1.cpu.$1.$2"
}

# delivered_beyond CPU NUMBER: more than so many samples of the CPU were delivered
delivered_beyond() {
	local now
	ctl flush
	now=$(balance_of "$1" delivered)
	[ "${now:-0}" -ge "$2" ]
}

row_of_mpstat() {
	sed -n "s/^ *$1: //p" "$MNT/mpstat"
}

# The server samples CPU 1: what happens there is counted.
joined() {
	local before now
	before=$(balance_of 1 count)
	taskset -c 1 "$FIXTURES/faults" "$pages" || fail "faults on CPU 1"
	now=$(balance_of 1 count)
	[ $((now - before)) -ge "$pages" ]
}

# CPU 1 goes
go_offline() {
	local row zero before gone
	echo 0 >$switch || fail "CPU 1 can't go offline"
	same "profiler" running "$(stat_of profiler.state)"
	row=$(row_of_mpstat 1)
	zero=$(row_of_mpstat 0)
	before=$(balance_of 0 delivered)
	gone=$(balance_of 1 count)
	load_on 0
	wait_for delivered_beyond 0 $((before + pages))
	same "the row of the CPU that is offline" "$row" "$(row_of_mpstat 1)"
	wait_for row_has_moved 0 "$zero"
	same "rows of mpstat" "$rows" "$(grep -c . "$MNT/mpstat")"
	same "what was counted on the CPU that is offline" "$gone" "$(balance_of 1 count)"
}

row_has_moved() {
	[ "$(row_of_mpstat "$1")" != "$2" ]
}

# CPU 1 returns
come_back() {
	local row before
	row=$(row_of_mpstat 1)
	echo 1 >$switch || fail "CPU 1 can't come back"
	wait_for joined
	before=$(balance_of 1 delivered)
	load_on 1
	wait_for delivered_beyond 1 $((before + pages))
	wait_for row_has_moved 1 "$row"
}

stop_and_check_counts() {
	ctl stop
	cat "$MNT/kpstat" >"$WORK/stat"
	copy_to "$WORK/copy"
	check_balance "$WORK/stat" "$WORK/copy" 1
	echo "$1: $count = $delivered + $lost + $undelivered"
	# what is undelivered: see exactly() of prof_lib.sh. There is more of it when CPUs go, too often to
	# wait for a run without; so the programs' own faults are looked at instead.
	if [ "$lost" = 0 ]; then
		check_loads
	else
		echo "$1: the CPU that was left had more to do than its ring holds: $lost lost"
	fi
}

# each page fault of each program that ran on a CPU that was sampled has its sample
check_loads() {
	local pid
	awk '$2 ~ /_trace$/ { n[$5]++ } END { for (pid in n) print pid, n[pid] }' "$WORK/dump" \
		>"$WORK/pids"
	for pid in $loads; do
		at_least "samples of process $pid" "$pages" \
			"$(awk -v pid="pid=$pid" '$1 == pid { print $2 }' "$WORK/pids")"
	done
}

# CPU 1 goes offline, returns, and is offline at the end. On a busy machine Linux takes seconds for that.
go_and_come() {
	loads=
	ctl clear start
	load_on 0
	load_on 1
	wait_for delivered_beyond 0 "$pages"
	wait_for delivered_beyond 1 "$pages"
	go_offline
	come_back
	go_offline
	stop_and_check_counts "away at the end"
	at_least "page faults" $((6 * pages)) "$count"
}

# a run begins without the CPU, and samples it when it returns
come_late() {
	loads=
	echo 0 >$switch
	ctl clear start
	load_on 0
	same "a CPU that never was there" "" "$(balance_of 1 count)"
	echo 1 >$switch
	wait_for joined
	load_on 0
	stop_and_check_counts "late"
	at_least "page faults" $((3 * pages)) "$count"
}

serve
need_machine
rows=$(grep -c . "$MNT/mpstat")
ctl 'event page-faults:period=1' 'stack none' 'prof_cpubufsz 4096'
go_and_come
fails_with "Invalid argument" put kpctl "cpus 1"
check "why" grep -q "'cpus 1': CPU 1 is absent or offline" "$MNT/kperr"
echo 1 >$switch
come_late
same "lines in kperr" 1 "$(wc -l <"$MNT/kperr")"

#!/bin/bash
# SPDX-License-Identifier: MIT
# only_hotplug: a CPU goes offline and comes back while samples are filtered: what was filtered there stays counted,
# the events of the CPU that returned are filtered too, and all counts balance.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck disable=SC2034 # for prof_lib.sh
NEEDS_MACHINE=alone
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"
# shellcheck source=tests/fs/only_lib.sh
. "${srcdir:-.}/tests/fs/only_lib.sh"

pages=5000

take_cpu1 end_only

load_on() {
	taskset -c "$1" "$WANTED" "$pages" >/dev/null || fail "the program that is wanted on CPU $1"
	taskset -c "$1" "$OTHER" "$pages" >/dev/null || fail "the other program on CPU $1"
}

filtered_on() {
	stat_of "event.1.cpu.$1.filtered"
}

# the events of CPU 1 are open again: they filter
joined() {
	local before
	before=$(filtered_on 1)
	taskset -c 1 "$OTHER" "$pages" >/dev/null
	[ $(($(filtered_on 1) - before)) -ge "$pages" ]
}

go_and_come() {
	local gone
	ctl clear start
	load_on 0
	load_on 1
	gone=$(filtered_on 1)
	at_least "filtered on CPU 1" "$pages" "$gone"
	echo 0 >$switch || fail "CPU 1 can't go offline"
	load_on 0
	at_least "filtered on CPU 1, which is offline" "$gone" "$(filtered_on 1)"
	ctl 'only comm == "other"'
	taskset -c 0 "$WANTED" "$pages" >/dev/null
	ctl 'only comm == "wanted"'
	echo 1 >$switch || fail "CPU 1 can't come back"
	wait_for joined
	load_on 1
	stop_and_check_counts
	at_least "page faults of the program while it was wanted" $((4 * pages)) "$(touched wanted)"
	check "and no others" test "$(touched wanted)" -lt $((5 * pages))
	same "page faults of the other program" 0 "$(touched other)"
}

serve
need_machine
ctl "event $spec" 'stack user' 'prof_cpubufsz 16384'
if ! put kpctl 'only comm == "wanted"' 2>/dev/null; then
	echo "programs in the kernel are not available here"
	exit 77
fi
nearly go_and_come

#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_snapshot: snapshot() in a program of probes/ makes sessions NAME.1, NAME.2, ... of what is captured, at
# most one a second; the oldest of 16 goes, and what is not taken is counted.
# shellcheck source=tests/fs/lib.sh disable=SC2119,SC2120
. "${srcdir:-.}/tests/fs/lib.sh"

# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

# names that begin with $1.
names() {
	find "$MNT/sessions" -mindepth 1 -maxdepth 1 -name "$1.*" -printf '%f\n' | sort -t. -k2n | xargs
}

taken() {
	[ "$(stat_of snapshots.taken)" -ge "$1" ]
}

asked() {
	[ $(($(stat_of snapshots.taken) + $(stat_of snapshots.lost))) -ge "$1" ]
}

# one call at a time, until so many snapshots were taken
call_until_taken() {
	calls 1
	taken "$1"
}

# those of the 16 last numbers of slow are held; the number $((last + 1)) was passed over
newest_are_held() {
	local newest=$(($(stat_of snapshots.taken) + 1))
	[ "$(names slow)" = "$(seq $((newest - 15)) $newest | grep -vx $((last + 1)) | sed 's/^/slow./' | xargs)" ]
}

serve
need_machine
need_probe slow "syscall:getppid:entry /comm == \"$CALLS_NAME\"/ { snapshot(\"slow\"); }"
ctl 'event page-faults:period=1' 'prof_qlimit 4096' start
"$FIXTURES/faults" 500 >/dev/null
calls 1
wait_for taken 1
same "the name" slow.1 "$(names slow)"
same "it is stopped" stop "$(tail -n 1 "$MNT/sessions/slow.1/kpctl")"
check "it has what was captured" grep -q faults "$MNT/sessions/slow.1/views/flat"
same "the owner is that of the session" "700 $(id -u) $(id -g)" "$(stat -c '%a %u %g' "$MNT/sessions/slow.1")"

# at most one a second, whatever asks for it
lost=$(stat_of snapshots.lost)
begun=$(date +%s%N)
calls 50
wait_for asked $((lost + 51))
took=$((($(date +%s%N) - begun) / 1000000000))
[ "$(stat_of snapshots.taken)" -le $((took + 3)) ] || fail "more than one a second: $(names slow) in $took s"
at_least "the others are counted" 1 "$(($(stat_of snapshots.lost) - lost))"

# numbers that others have are passed over; and stay
first=$(names slow)
last=${first##*.}
mkdir "$MNT/sessions/slow.$((last + 1))"
wait_for call_until_taken "$(($(stat_of snapshots.taken) + 1))"
same "a name that is taken is passed over" "$first slow.$((last + 1)) slow.$((last + 2))" "$(names slow)"
rmdir "$MNT/sessions/slow.$((last + 1))"

# the oldest of 16 goes
WAIT=60 wait_for call_until_taken 17
wait_for newest_are_held || fail "$(stat_of snapshots.taken) were taken, held are $(names slow)"

# what can't be taken is counted, and said
rm "$MNT/probes/slow"
ctl stop
rmdir "$MNT/sessions"/slow.*
ctl start
"$FIXTURES/faults" 20000 >/dev/null
max=$(("$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)" / 32))
# a session that was removed gives back its memory soon after
wait_for put kpctl "prof_qlimit $max" 2>/dev/null
put probes/full "syscall:getppid:entry /comm == \"$CALLS_NAME\"/ { snapshot(\"full\"); }"
lost=$(stat_of snapshots.lost)
calls 1
is_lost() {
	[ "$(stat_of snapshots.lost)" -gt "$lost" ]
}
wait_for is_lost
same "none was made" "" "$(names full)"
check "kperr names the program and the sizes" grep -q "full.*snapshot full: what is held needs .* KB" "$MNT/kperr"

fails_with "Invalid argument" put probes/bad 'BEGIN { snapshot("a/b"); }'
check "it says which names" grep -q "snapshot() takes a name of 1 to 53 of A-Z a-z 0-9" "$MNT/kperr"
fails_with "Invalid argument" put probes/bad 'BEGIN { snapshot(""); }'

#!/bin/bash
# SPDX-License-Identifier: MIT
# endless_events: 200 processes of one user send the server definitions of events without end. Another
# user's program attaches, a switch reaches a program, and the server ends, as fast as without them.
# shellcheck source=tests/hostile/lib.sh
. "${srcdir:-.}/tests/hostile/lib.sh"

# A sanitizer makes each of these several times slower.
slower=1
is_instrumented() {
	grep -q 'lib[at]san' "/proc/$SERVER/maps"
}

# below WHAT LIMIT COMMAND...: the command prints the median of its times in ms. Other programs of the machine
# may delay one round; where users are not served in turn, an attach takes 300 ms to seconds, in each round.
below() {
	local what=$1 limit=$(($2 * slower)) round took
	shift 2
	for round in {1..10}; do
		took=$("$@")
		echo "$what, round $round: $took ms"
		[ "${took%.*}" -ge "$limit" ] || return 0
	done
	fail "$what: never below $limit ms"
}

is_deferred() {
	[ "$(stat_of trace.deferred)" -gt 0 ]
}

if [ "$(id -u)" != 0 ]; then
	echo "needs two users"
	exit 77
fi

begin_all() {
	serve
	is_instrumented && slower=5
	attack send_events "$SOCKET" 200
	wait_for has_said sending
	wait_for is_deferred
}

begin_all
below "the median of 20 attaches" 100 "$HERE/attach_time" "$SOCKET" 20
below "the median of 20 switches" 100 "$HERE/switch_time" "$SOCKET" "$MNT/events" 20
# A second where nothing else runs: it takes 100 ms of CPU time, which 200 attackers and others want, too.
for round in {1..5}; do
	begin=${EPOCHREALTIME/./}
	umount "$MNT"
	ended_well "the server" "$SERVER"
	SERVER=
	took=$(((${EPOCHREALTIME/./} - begin) / 1000))
	echo "umount and the end, round $round: $took ms"
	[ "$took" -ge $((2000 * slower)) ] || break
	end_attack
	begin_all
done
[ "$took" -lt $((2000 * slower)) ] || fail "umount and the end: never below $((2000 * slower)) ms"

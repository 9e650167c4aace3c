#!/bin/bash
# SPDX-License-Identifier: MIT
# idle: While the server is mounted and does not sample, none of its threads wakes, after a series of
# different uses. Its memory is below a limit.

# The server wakes when a file system is mounted or unmounted. In this private mount namespace
# nothing else does that.
if [ "$(id -u)" = 0 ] && [ -z "${KPROFS_PRIVATE-}" ]; then
	# where the root is no mount of its own, as in a chroot, it can't be made private
	unshare --mount --propagation private true 2>/dev/null || KPROFS_PROPAGATION=unchanged
	export KPROFS_PRIVATE=1
	exec unshare --mount --propagation "${KPROFS_PROPAGATION-private}" "$0" "$@"
fi
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

IDLE_S=${KPROFS_IDLE_S:-10}
RSS_KB_MAX=10240

# context switches of all threads, of both kinds, without a request to the server
switches() {
	awk '/^Name:/ { name = $2 } /^(non)?voluntary_ctxt_switches:/ { printf "%s %d ", name, $2 }' \
		/proc/"$SERVER"/task/*/status
}

# the kernel sends FORGET for closed files in the background
settled() {
	local before
	before=$(switches)
	sleep 0.2
	[ "$(switches)" = "$before" ]
}

serve -o mpstat_hold=1
for name in "$MNT"/kp* "$MNT"/mpstat*; do
	timeout 5 cat "$name" >"$WORK/got" || fail "cat of $name"
done
timeout 1 cat "$MNT/kptrace_pipe" >"$WORK/got" # which has no end
same "how a reader of kptrace_pipe ends" 124 $?
put kpctl 'event cpu-clock'
put kpctl start
put kpctl stop
exec 3<"$MNT/mpstat" 4<"$MNT/kpdata" 6<"$MNT/kptrace_pipe" # open files don't matter
# a program that is attached and quiet doesn't, either
mkfifo "$WORK/in"
exec 5<>"$WORK/in"
put events/all 1
KPROF_SOCKET=$SOCKET "$PWD/tests/race/roles" numbers 1 <"$WORK/in" >"$WORK/out" &
attached() {
	[ "$(stat_of trace.producers)" = 1 ]
}
wait_for attached
# the times of mpstat are measured for a second behind the reading, by a thread and programs in the kernel
measures_nothing() {
	! grep -qx kp-times "/proc/$SERVER/task"/*/comm
}
wait_for measures_nothing
ls -l "$MNT" >"$WORK/got"
# A machine short of memory may send the server a FORGET at any moment. A thread that wakes by
# itself does so in each of three intervals.
for _ in 1 2 3; do
	wait_for settled
	before=$(switches)
	sleep "$IDLE_S"
	after=$(switches)
	[ "$before" = "$after" ] && break
	echo "not idle: $before: $after"
done
same "context switches in $IDLE_S s" "$before" "$after"
rss=$(resident_kb)
echo "resident: $rss KB; threads: $(find "/proc/$SERVER/task" -mindepth 1 -maxdepth 1 | wc -l)"
if ldd "$KPROFS" | grep -q asan; then
	echo "not tried: memory, under a sanitizer"
else
	check "resident memory in KB" test "$rss" -lt "$RSS_KB_MAX"
fi
same "attached all the time" 1 "$(stat_of trace.producers)"
kill %2
exec 3<&- 4<&-

# the names of the threads, as HACKING has them
same "threads" "kp-control kp-fuse kp-fuse kp-fuse kp-fuse kp-listen kp-pipe kp-stream kprofs" \
	"$(cat /proc/"$SERVER"/task/*/comm | sort | tr '\n' ' ' | sed 's/ $//')"
serve_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_tracefs: where bpf(2) is refused, kernel events are recorded by an instance of tracefs, with their names,
# filters and counts of lost ones; what it can't do is refused with a reason; it is removed at the end, and after
# kill -9 by the next server. Without both the sentence says what would give it, and all else works.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# of a name that no other test has
CALLS=$WORK/tracefs_calls
cp "$PWD/tests/fs/kernel_calls" "$CALLS"
DENY=$PWD/tests/deny/deny
GETPPID=events/kernel/syscall:getppid
INSTANCES=/sys/kernel/tracing/instances
REAL=$KPROFS

# without SYSCALL...: servers are refused these calls
without() {
	printf '#!/bin/bash\nexec "%s" EPERM %s -- "%s" "$@"\n' "$DENY" "$*" "$REAL" >"$WORK/denied"
	chmod +x "$WORK/denied"
	KPROFS=$WORK/denied
}

# caller CPU COUNT: starts it; CALLER is its process, and `go` lets it make its calls
caller() {
	rm -f "$WORK/in" "$WORK/out"
	mkfifo "$WORK/in"
	exec 5<>"$WORK/in"
	"$CALLS" "$1" "$2" <"$WORK/in" >"$WORK/out" 5>&- &
	CALLER=$!
	wait_for test -s "$WORK/out"
}

go() {
	echo >&5
	WAIT=60 wait_for has_ended "$CALLER"
	wait "$CALLER" || fail "the program failed with $?"
	exec 5>&-
}

count() {
	sed -n "s/^trace\.kernel\.$1 //p" "$MNT/kpstat"
}

refused() {
	fails_with "not supported" put "$1" "$2"
	check "$1 $2: $(tail -n 1 "$MNT/kperr")" grep -q "$3" <(tail -n 1 "$MNT/kperr")
}

[ -x "$DENY" ] || { echo "libseccomp is missing"; exit 77; }
without bpf
serve -o trace_kernel=64
same "nothing exists before" "" "$(find $INSTANCES -name "kprofs-$SERVER" 2>/dev/null)"
if ! put "$GETPPID" '1 /comm == "tracefs_calls"/' 2>/dev/null; then
	echo "there is no tracefs here:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
same "a filter" '1 /comm == "tracefs_calls"/' "$(cat "$MNT/$GETPPID")"

# system calls, in a reading and in a pipe
timeout 100 cat "$MNT/kptrace_pipe" >"$WORK/pipe" &
READER=$!
is_open() {
	put kptrace "a message" && grep -q "a message" "$WORK/pipe"
}
wait_for is_open
caller 0 100
go
shown() {
	grep -c "cpu0: tracefs_calls\[$CALLER\] syscall:getppid: = $$ ([0-9]*\.[0-9] us)$" "$1"
}
same "each call is shown" 100 "$(shown "$MNT/kptrace")"
same "and again" 100 "$(shown "$MNT/kptrace")"
piped() {
	[ "$(shown "$WORK/pipe")" = 100 ]
}
wait_for piped
kill "$READER" 2>/dev/null
wait "$READER" 2>/dev/null
same "none is lost" 0 "$(count missed)"

# the switch above all
put events/enabled 0
caller 0 10
go
same "off" 0 "$(grep -c "tracefs_calls\[$CALLER\]" "$MNT/kptrace")"
put events/enabled 1

# two calls with different settings, an error, and one that does not return
put events/kernel/syscall:lseek '1 /comm == "python3"/'
put events/kernel/syscall:exit_group '1 /comm == "sh"/'
python3 -c 'import ctypes; ctypes.CDLL(None).lseek(-1, ctypes.c_long(-7), 2)'
sh -c 'exit 7'
check "an error" grep -q 'python3\[[0-9]*\] syscall:lseek: fd=-1 offset=-7 whence=SEEK_END = -1 EBADF (Bad file descriptor) ' \
	"$MNT/kptrace"
check "a call without a result" grep -q 'sh\[[0-9]*\] syscall:exit_group: error_code=7$' "$MNT/kptrace"
put events/kernel/syscall:lseek 0
put events/kernel/syscall:exit_group 0

# tracepoints, with texts, and filters of numbers and texts
put events/kernel/sched:sched_process_exec 1
put events/kernel/sched:sched_process_fork '1 /parent_pid == '$$'/'
put events/kernel/sched:sched_process_exit '1 /comm == "sleep"/'
/bin/true
sleep 0
put events/kernel/sched:sched_process_exec 0
put events/kernel/sched:sched_process_fork 0
put events/kernel/sched:sched_process_exit 0
check "a text" grep -q 'true\[[0-9]*\] sched:sched_process_exec: filename=/bin/true pid=[0-9]* old_pid=' "$MNT/kptrace"
forks=$(grep -c "sched_process_fork: .*parent_pid=$$ " "$MNT/kptrace")
check "a filter by a number: $forks" test "$forks" -ge 2
same "and no others" "$forks" "$(grep -c sched_process_fork: "$MNT/kptrace")"
same "a filter by a text" "sleep" "$(sed -n 's/.*sched_process_exit: comm=\([a-z_]*\) .*/\1/p' "$MNT/kptrace" | sort -u)"

# what it can't do
refused "$GETPPID" '1 stack' 'stacks need bpf(2)'
refused "$GETPPID" '1 /pid == 1/' 'tracefs, which has no processes'
refused "$GETPPID" '1 /result < 0/' 'tracefs, which has no arguments, results'
refused events/kernel/function:vfs_read 1 'functions of the kernel need bpf(2)'
same "what was set stays" '1 /comm == "tracefs_calls"/' "$(cat "$MNT/$GETPPID")"

# overflow: of each call that is not recorded an event was lost, or two
recorded=$(count recorded) missed=$(count missed)
caller 0 20000
go
gone=$((20000 - $(count recorded) + recorded)) lost=$(($(count missed) - missed))
echo "of 20000 calls $gone are not recorded; $lost events are lost"
check "some are gone" test $gone -gt 1000
check "all are counted" test $lost -ge $gone
check "not more" test $lost -le $((2 * gone + 2000))

# the end
if [ -d $INSTANCES ]; then
	name=$(sed -n 's/^kprofs-//p' <(ls $INSTANCES) | grep -x "$SERVER")
	same "its name" "$SERVER" "$name"
	kill -KILL "$SERVER"
	wait "$SERVER" 2>/dev/null
	umount -l "$MNT"
	killed=$SERVER SERVER=
	serve
	put "$GETPPID" 1
	same "the next server has removed it" "" "$(find $INSTANCES -maxdepth 1 -name "kprofs-$killed")"
	server=$SERVER
	serve_end
	same "and removes its own" "" "$(find $INSTANCES -maxdepth 1 -name "kprofs-$server")"
else
	serve_end
fi

# without both
without bpf mkdirat
serve
refused "$GETPPID" 1 'CAP_BPF and CAP_PERFMON.*without that, an instance of tracefs'
same "the switch stays off" 0 "$(cat "$MNT/$GETPPID")"
put kptrace "a line"
check "the trace works" grep -q "a line" "$MNT/kptrace"
serve_end

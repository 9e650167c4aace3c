#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_trace: kprof trace shows the system calls and events of a command with all that it starts, or of processes, and
# of nothing else; it changes no switch of a mounted server, and leaves nothing attached however it ends.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

KPROF=$PWD/kprof
CALLS=$PWD/tests/fs/kernel_calls
DENY=$PWD/tests/deny/deny
export TMPDIR=$WORK # of private servers
cd "$WORK" || exit 1
echo one >first
echo two >"second one"

# trace STATUS ARGUMENTS...: its standard error goes to err, the standard output of the command to out
trace() {
	local expected=$1 status
	shift
	timeout 60 "$KPROF" trace "$@" >out 2>err
	status=$?
	[ "$status" = "$expected" ] || fail "kprof trace $*: status $status, not $expected: $(head -n 5 err)"
}

if ! "$KPROF" trace -e getppid -- true 2>err; then
	echo "kernel events are not available here: $(cat err)"
	exit 77
fi

# ---- a command ------------------------------------------------------------------------------------

trace 0 -e openat -- cat first
same "the output of the command" one "$(cat out)"
check "a file that it opened" grep -qE '^\[[0-9.]*\]:cpu[0-9]*: cat\[[0-9]*\] syscall:openat: dfd=AT_FDCWD '`
	`'filename="first" flags=O_RDONLY = [0-9]+ \([0-9.]+ us\)$' err
same "nothing but openat" "" "$(grep -v ' syscall:openat: ' err)"
trace 0 -e 'syscalls' -- cat first
check "it begins with the call that executes it" grep -q ' syscall:execve: filename=".*/cat" .* = 0 (' <(head -n 1 err)
check "it ends with its end" grep -q ' syscall:exit_group: error_code=0$' <(tail -n 1 err)
trace 0 cat first
same "a program in place of a copy is traced" one "$(cat out)"
check "with all system calls" grep -q ' syscall:execve: filename=".*/cat" .* = 0 (' <(head -n 1 err)
trace 1 nosuchfile
check "it is neither" grep -q '^kprof: nosuchfile: No such file or directory$' err
trace 0 -e 'open*' -- sh -c 'cat first; cat "second one"; true'
same "processes that it starts" 2 "$(grep -cE 'cat\[[0-9]*\] .*filename="(first|second one)"' err)"
trace 0 -e 'sched:sched_process_e[x]*,getppid' -e write -o trace -- sh -c 'echo one; env echo two'
same "nothing is said" "" "$(cat err)"
same "patterns, and several events" "sched:sched_process_exec sched:sched_process_exit syscall:getppid syscall:write" \
	"$(sed 's/.*\] \([a-z_]*:[a-z_]*\): .*/\1/' trace | sort -u | xargs)"
trace 0 -e write --filter 'fd == 1 && count == 4' -o - -- sh -c 'echo one; echo more than four'
same "a filter" 1 "$(grep -c ' syscall:write: ' out)"
trace 0 --filter 'comm == "cat" && result < 0 && duration_ns > 0' -- sh -c 'cat first nosuch; true'
check "a filter of all calls" grep -q 'cat\[[0-9]*\] syscall:openat: .* filename="nosuch" .* ENOENT' err
same "it holds for each" "" "$(grep ' syscall:' err | grep -v 'cat\[[0-9]*\] .* = -1 E')"

trace 0 -s -e write -- sh -c 'echo one'
same "one event with a stack" 1 "$(grep -c ' syscall:write: fd=1 ' err)"
check "addresses with names" grep -qE 'syscall:write:   0x[0-9a-f]+ [^ ]+ [(][^ ]*[)]$' err
trace 0 -s -e write -- sh -c "env echo one; env echo two; true"
same "and those of programs that have ended" 2 \
	"$(grep -cE 'echo\[[0-9]*\] syscall:write:   0x[0-9a-f]+ [^ ]*write[+]0x[0-9a-f]+ [(].*libc' err)"

# ---- what is missing ------------------------------------------------------------------------------

# without the right to sample the functions of programs that have ended have no names, and it says why
if [ -x "$DENY" ]; then
	timeout 60 "$DENY" EPERM perf_event_open -- "$KPROF" trace -s -e getppid -o trace -- "$CALLS" 0 2 <<<go >out 2>err
	same "its status without samples" 0 "$?"
	check "it notes what was refused, and why: $(cat err)" grep -q '^kprof: note: kpctl: .*perf_event_open' err
	same "it notes nothing else" 1 "$(wc -l <err)"
	same "the events are there" 2 "$(grep -c ' syscall:getppid: = ' trace)"
fi

# Ctrl-C when the command has ended and the lines are not read: it ends, and says that some are missing
mkfifo fifo.out
exec 7<>fifo.out
timeout 120 "$KPROF" trace -e getppid -o fifo.out -- "$CALLS" 0 50000 <<<go >out 2>err 7>&- &
TRACE=$!
runs_no_more() {
	COMMAND=$(pgrep -x kernel_calls -P "$(pgrep -P "$TRACE")") && has_ended "$COMMAND"
}
wait_for runs_no_more
TRACER=$(pgrep -P "$TRACE")
# the first signal is for the command: the second one ends kprof, which has to take the first one before
is_taken() {
	head -c 65536 <&7 >/dev/null
	# bit 1 is SIGINT
	[ $((0x$(sed -n 's/^ShdPnd:[[:blank:]]*//p' "/proc/$TRACER/status") & 2)) = 0 ]
}
kill -INT "$TRACER"
wait_for is_taken
kill -INT "$TRACER"
cat <&7 >/dev/null &
READER=$!
wait_for has_ended "$TRACE"
wait "$TRACE"
same "its status after the signal" 125 "$?"
check "it says that lines are missing" grep -qx 'kprof: stopped by a signal: the last lines of the trace are missing' err
kill "$READER"
exec 7>&-

# ---- its status -----------------------------------------------------------------------------------

trace 7 -e write -- sh -c 'exit 7'
trace 143 -e write -- sh -c 'kill -TERM $$'
trace 127 -e write -- ./nosuch
trace 126 -e write -- ./first
trace 125 -e nosuch -- true
check "it is said" grep -q "there is no kernel event 'syscall:nosuch'" err
trace 125 -e 'nosuch:*' -- true
check "it is said" grep -q "no kernel event matches 'nosuch:\*'" err
trace 125 -e write --filter 'nosuch == 1' -- true
same "it is said" "kprof: --filter of syscall:write: column 1: the event has no field 'nosuch', at '^nosuch == 1'" "$(cat err)"
trace 125 -e sched:sched_swich -- true
check "the nearest name" grep -q "no kernel event 'sched:sched_swich'; nearest: sched:sched_switch" err
trace 2 -e '' -- true
trace 2 -e 'write,,read' -- true
check "it is said" grep -q "an event is missing: 'write,,read'" err
trace 2 -p '' -- true
trace 2 -e write
trace 2 -e write -m "$MNT" -- true
trace 2 -e write --duration x -- true
trace 125 -e write -o /nosuch/file -- true

# ---- the table, against strace's ------------------------------------------------------------------

trace 0 -c -- sh -c 'cat first "second one" nosuch; true'
check "a sum" grep -q ' total$' err
if strace -f -c -U name,calls,errors -o expected sh -c 'cat first "second one" nosuch; true' >out 2>err.strace; then
	# calls that depend on how processes are scheduled, or that strace does not count
	counts() {
		grep -vE '^(name|total|exit_group|rt_sigreturn|wait4) '
	}
	awk 'NR > 2 && /^[a-z]/ { print $1, $2, (NF > 2 ? $3 : 0) }' expected | counts | sort >expected.rows
	awk '/^ *[0-9]/ { print $NF, $1, substr($0, 12, 9) + 0 }' err | counts | sort >found.rows
	check "strace counted" test "$(wc -l <expected.rows)" -gt 5
	same "calls and errors" "" "$(diff expected.rows found.rows)"
fi

# ---- processes ------------------------------------------------------------------------------------

mkfifo fifo
cat <fifo >/dev/null &
CAT=$!
exec 6>fifo
timeout 60 "$KPROF" trace -e read -p "$CAT" -o trace 6>&- &
TRACE=$!
is_traced() {
	echo word >&6
	grep -q "cat\[$CAT\] syscall:read: .* = 5 (" trace 2>/dev/null
}
wait_for is_traced
exec 6>&-
ended_well "kprof, when the process has ended," "$TRACE"
same "nothing of others" "" "$(grep -v "cat\[$CAT\] syscall:read: " trace)"
trace 0 -e getppid --duration 0.1 -p $$
trace 2 -e getppid -p 4194305

# ---- it disturbs no one, and leaves nothing -------------------------------------------------------

programs() {
	sed -n 's/^prog_id:[[:blank:]]*//p' /proc/"$1"/fdinfo/* 2>/dev/null
}
serve
put events/kernel/syscall:getppid '1 /pid == 1/'
trace 0 -e getppid,syscalls -- sh -c 'true'
same "the switch of the mounted server" "1 /pid == 1/" "$(cat "$MNT/events/kernel/syscall:getppid")"
same "the others, too" 0 "$(cat "$MNT/events/kernel/syscalls")"
same "its trace" "" "$(cat "$MNT/kptrace")"
same "no mount is left" "" "$(grep " $WORK/kprof" /proc/mounts)"

# end_with SIGNAL: a trace that runs
end_with() {
	local server ids id
	rm -f trace
	timeout 60 "$KPROF" trace -e getppid,sched:sched_switch -p $$ -o trace 2>err &
	TRACE=$!
	wait_for test -s trace
	server=$(pgrep -x kprofs -P "$(pgrep -P "$TRACE")")
	ids=$(programs "$server")
	check "its programs are attached" test -n "$ids"
	kill "-$1" "$(pgrep -P "$TRACE")"
	wait_for has_ended "$server"
	wait "$TRACE"
	STATUS=$?
	for id in $ids; do
		if command -v bpftool >/dev/null; then
			WAIT=10 wait_for is_gone "$id"
		fi
	done
}
is_gone() {
	! bpftool prog show id "$1" >/dev/null 2>&1
}
end_with INT
same "the status after Ctrl-C" 0 "$STATUS"
end_with KILL
same "no mount is left after kill -9" "" "$(grep " $WORK/kprof" /proc/mounts)"
cd / || exit 1
serve_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_events: events of the kernel are switched on and off, filtered and read; every call that a program
# makes is in the trace or counted, under overflow, while switches change and while readers read; nothing stays
# attached after kill -9.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# other tests have programs of the usual names too
NAME=events$$
CALLS=$WORK/$NAME
cp "$PWD/tests/fs/kernel_calls" "$CALLS"
GETPPID=events/kernel/syscall:getppid

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

# lines of the calls of the last program in the trace
shown() {
	grep -c "$NAME\[$CALLER\] syscall:getppid: = $$ ([0-9]*\.[0-9] us)$" "$MNT/kptrace"
}

# recorded, overwritten, missed and torn events since the mount, as one line
counts() {
	awk '/^trace.kernel.(recorded|overwritten|missed|torn) / { n[$1] = $2 }
		END { print n["trace.kernel.recorded"], n["trace.kernel.overwritten"], n["trace.kernel.missed"], \
			n["trace.kernel.torn"] }' "$MNT/kpstat"
}

serve -o trace_kernel=64
if ! put "$GETPPID" 1 2>/dev/null; then
	! grep "refuses the program" <(tail -n 1 "$MNT/kperr") || exit 1
	echo "kernel events are not available here:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
same "a switch that is on" 1 "$(cat "$MNT/$GETPPID")"
check "it is listed" test -n "$(find "$MNT/events/kernel" -name syscall:getppid)"
check "tracepoints are listed" test -n "$(find "$MNT/events/kernel" -name sched:sched_switch)"
same "what only describes the output of tracers is not" "" "$(find "$MNT/events/kernel" -name 'ftrace:*')"
fails_with "No such file" cat "$MNT/events/kernel/ftrace:print"
check "info has it" grep -q "^name 'syscall:getppid' fields 'long result' format '= %ld (%.1f us)' 1$" "$MNT/events/kernel/info"

# few calls: all of them are shown, once
for cpu in $(awk -F: '/^processor/ { print $2 + 0 }' /proc/cpuinfo | head -n 2); do
	caller "$cpu" 100
	put "$GETPPID" "1 /pid == $CALLER/"
	same "the filter is shown" "1 /pid == $CALLER/" "$(cat "$MNT/$GETPPID")"
	go
	same "each call of CPU $cpu is shown once" 100 "$(shown)"
	same "on its CPU" 100 "$(grep -c ":cpu$cpu: $NAME\[$CALLER\] syscall:getppid" "$MNT/kptrace")"
done

# many calls overflow the ring: what is not shown is counted
put kptrace_ctl clear
read -r recorded overwritten missed torn <<<"$(counts)"
caller 0 20000
put "$GETPPID" "1 /pid == $CALLER/"
go
read -r recorded2 overwritten2 missed2 torn2 <<<"$(counts)"
same "all calls are recorded or missed" 20000 $((recorded2 - recorded + missed2 - missed))
held=$(grep -c 'syscall:getppid' "$MNT/kptrace")
check "the ring has overflown" test "$((overwritten2 - overwritten))" -gt 10000
# those that precede the clear were held before, and are overwritten now
read -r recorded overwritten missed torn <<<"$(counts)"
same "shown, overwritten and torn are all that was recorded" "$recorded" \
	$((overwritten + torn + $(grep -c 'syscall:getppid' "$MNT/kptrace") + recorded2 - overwritten2 - torn2 - held))
same "events/overflow has them" "$((overwritten + missed + torn))" "$(cat "$MNT/events/overflow")"

# on two CPUs at once, while their rings overflow, switches of other calls change, and readers read
timeout 100 cat "$MNT/kptrace_pipe" >"$WORK/pipe" &
READER=$!
OTHER_CPU=$(awk -F: '/^processor/ { print $2 + 0 }' /proc/cpuinfo | sed -n 2p)
rm -f "$WORK/in2" "$WORK/out2"
mkfifo "$WORK/in2"
exec 7<>"$WORK/in2"
"$CALLS" "${OTHER_CPU:-0}" 100000 <"$WORK/in2" >"$WORK/out2" 7>&- &
OTHER=$!
caller 0 100000
wait_for test -s "$WORK/out2"
put "$GETPPID" "1 /pid == $CALLER || pid == $OTHER/"
read -r recorded overwritten missed torn <<<"$(counts)"
echo >&5
echo >&7
rounds=0
while ! { has_ended "$CALLER" && has_ended "$OTHER"; } && [ "$rounds" -lt 50 ]; do
	put events/kernel/syscall:getuid "1 /pid == 1 || result < -$rounds/"
	cat "$MNT/kptrace" >/dev/null
	put events/kernel/syscall:getuid 0
	rounds=$((rounds + 1))
done
for process in "$CALLER" "$OTHER"; do
	WAIT=60 wait_for has_ended "$process"
done
exec 5>&- 7>&-
read -r recorded2 overwritten2 missed2 torn2 <<<"$(counts)"
same "no call is lost or recorded twice in $rounds changes" 200000 \
	$((recorded2 - recorded + missed2 - missed))
check "the rings have overflown" test "$((overwritten2 - overwritten))" -gt 150000
same "what is shown, overwritten and torn is all that was recorded" "$recorded2" \
	$((overwritten2 + torn2 + $(grep -c 'syscall:getppid' "$MNT/kptrace")))
followed() {
	awk -v one="${NAME}[$CALLER]" -v other="${NAME}[$OTHER]" 'index($0, one) || index($0, other) { n++ }
		/ events lost$/ { n += $(NF - 2) } END { exit n != 200000 }' "$WORK/pipe"
}
wait_for followed || awk '/ events lost$/ { n += $(NF - 2) } END { print NR, n, "of them lost" }' "$WORK/pipe"
kill "$READER" 2>/dev/null
wait "$READER" 2>/dev/null

# all CPUs in the order of time, also where one event has interrupted another
put "$GETPPID" 0
put kptrace_ctl clear
put events/kernel/syscalls 1
for name in sched:sched_switch sched:sched_waking sched:sched_wakeup irq:softirq_entry irq:softirq_exit; do
	put "events/kernel/$name" 1
done
rounds=0
while [ "$rounds" -lt 20 ]; do
	sort -u "$0" >/dev/null
	cat "$MNT/kptrace" >"$WORK/text"
	same "the order of time" "" "$(sed 's/^\[\([0-9]*\)\.\([0-9]*\)\].*/\1\2/' "$WORK/text" | sort -nc 2>&1)"
	rounds=$((rounds + 1))
done
put events/kernel/syscalls 0
for name in sched:sched_switch sched:sched_waking sched:sched_wakeup irq:softirq_entry irq:softirq_exit; do
	put "events/kernel/$name" 0
done
put "$GETPPID" "1 /pid == $CALLER/"

# filters
for row in 'pid == |column 8' 'pid = 3|column 5' 'nosuch == 1|no field' 'comm == 3|column 6' 'comm == "0123456789abcdef"|column 9' '"a|column 1' '|column 1'; do
	fails_with "Invalid argument" put "$GETPPID" "1 /${row%|*}/"
	check "kperr has the place: $row" grep -q "${row#*|}" <(tail -n 1 "$MNT/kperr")
	same "a wrong filter changes nothing" "1 /pid == $CALLER/" "$(cat "$MNT/$GETPPID")"
done
for wrong in yes onn '1 pid' '0 /pid/' 'off stack' '1 /' "$(printf '%3000s' 1)"; do
	fails_with "Invalid argument" put "$GETPPID" "$wrong"
done
for row in 'off|0' 'on|1' 'toggle|0' 'toggle|1' '0|0' "on /pid == $CALLER/|1 /pid == $CALLER/" 'toggle|0' \
	"2 stack /pid == $CALLER/|1 stack /pid == $CALLER/" '-1|1' "1 /pid == $CALLER/|1 /pid == $CALLER/"; do
	put "$GETPPID" "${row%|*}"
	same "after ${row%|*}" "${row#*|}" "$(cat "$MNT/$GETPPID")"
done
fails_with "No such file" cat "$MNT/events/kernel/syscall:nosuch"
fails_with "No such file" cat "$MNT/events/kernel/nosuch:nosuch"
count_with() {
	local filter
	put kptrace_ctl clear
	caller 0 50
	filter=${1//PARENT/$BASHPID}
	put "$GETPPID" "1 /${filter//PID/$CALLER}/"
	go
	grep -c "$NAME\[$CALLER\] syscall:getppid" "$MNT/kptrace"
}
same "comm" 50 "$(count_with "comm == \"$NAME\"")"
same "another comm" 0 "$(count_with 'comm == "kernel_call"')"
same "and, or, parentheses" 50 "$(count_with '(pid == PID || tid == 1) && cpu == 0 && uid == 0')"
same "the result" 50 "$(count_with 'pid == PID && result == PARENT && -result < 0')"
same "nothing that is false" 0 "$(count_with 'pid == PID && result != PARENT')"
same "arithmetic" 50 "$(count_with 'pid == PID && (1 + 2 * 3) % 4 == 3 && !(5 & 2) && 1 << 3 == 8')"
same "times" 50 "$(count_with 'pid == PID && duration_ns > 0 && duration_ns < 0xffffffffff')"

# a filter of all calls, of any length, with another one or none of some calls
put "$GETPPID" 0
put kptrace_ctl clear
caller 0 50
long=$(printf 'comm != "%015d" && ' $(seq 20))
put events/kernel/syscalls "1 /${long}pid == $CALLER && result != 7/" || fail "a long filter: $(tail -n 1 "$MNT/kperr")"
put events/kernel/syscall:getppid "1 /pid == $CALLER && result == 7/"
put events/kernel/syscall:exit_group "1 /pid == $CALLER && error_code == 7/"
put events/kernel/syscall:chdir 1
(cd /nonexistent) 2>/dev/null
go
for name in syscalls syscall:getppid syscall:exit_group syscall:chdir; do
	put events/kernel/$name 0
done
check "the filter of all calls" grep -q "$NAME\[$CALLER\] syscall:read: " "$MNT/kptrace"
same "it holds for others" "" "$(grep ' syscall:' "$MNT/kptrace" | grep -v "\[$CALLER\]\|syscall:chdir" | head -n 3)"
same "that of one call" "" "$(grep 'syscall:getppid:\|syscall:exit_group:' "$MNT/kptrace" | head -n 3)"
check "none" grep -q 'syscall:chdir: filename="/nonexistent" = -1 ENOENT' "$MNT/kptrace"

# arguments by name
put "$GETPPID" 0
put kptrace_ctl clear
put events/kernel/syscall:lseek '1 /comm == "python3" && fd == -1 && whence == 2/'
python3 -c 'import ctypes
for whence in 0, 1, 2:
    ctypes.CDLL(None).lseek(-1, ctypes.c_long(-7), whence)'
put events/kernel/syscall:lseek 0
same "a filter by the names of arguments" \
	"syscall:lseek: fd=-1 offset=-7 whence=SEEK_END = -1 EBADF (Bad file descriptor)" \
	"$(sed -n 's/.*\(syscall:lseek: .*\) ([0-9.]* us)$/\1/p' "$MNT/kptrace" | sort -u)"
fails_with "Invalid argument" put events/kernel/syscall:openat '1 /filename == 3/'

# a call that does not return has no result
put events/kernel/syscall:exit_group '1 /comm == "sh" && error_code == 7/'
sh -c 'exit 7'
sh -c 'exit 8'
put events/kernel/syscall:exit_group 0
check "a call without a result" grep -q 'sh\[[0-9]*\] syscall:exit_group: error_code=7$' "$MNT/kptrace"
same "the filter holds for such a call" "" "$(grep 'exit_group: ' "$MNT/kptrace" | grep -v 'error_code=7$')"

# the other switches
put events/all 1
same "events/all leaves it alone" "1 /pid == $CALLER/" "$(put "$GETPPID" "1 /pid == $CALLER/"; cat "$MNT/$GETPPID")"
put events/all 0
put events/enabled 0
same "the master switch" 0 "$(count_with 'pid == PID')"
put events/enabled 1
same "the master switch again" 50 "$(count_with 'pid == PID')"
put events/reset 1
same "a reset empties it" 0 "$(grep -c 'syscall:getppid' "$MNT/kptrace")"

# tracepoints, with their fields; paths of system calls as text
put "$GETPPID" 0
put events/kernel/sched:sched_process_exec 1
put events/kernel/syscall:openat '1 /comm == "cat"/'
put events/kernel/syscall:execve '1 /comm == "a program"/'
cp "$(type -P true)" "$WORK/a program"
"$WORK/a program"
cat /dev/null "$WORK/no such file" 2>/dev/null
put events/kernel/sched:sched_process_exec 0
put events/kernel/syscall:openat 0
put events/kernel/syscall:execve 0
check "the path of a program" grep -q "syscall:execve: filename=\"$WORK/a program\" argv=.* = 0 (" "$MNT/kptrace"
check "a tracepoint's text" grep -q 'sched:sched_process_exec: filename=.*/cat pid=[0-9]* old_pid=' "$MNT/kptrace"
check "a path" grep -qF "$WORK/no such file" "$MNT/kptrace"
check "an error" grep -q "openat: dfd=AT_FDCWD filename=\"$WORK/no such file\" flags=O_RDONLY.* = -1 ENOENT (No such \
file or directory) ([0-9.]* us)$" "$MNT/kptrace"

# programs of the server, as the kernel numbers them
programs() {
	sed -n 's/^prog_id:[[:blank:]]*//p' /proc/"$1"/fdinfo/* 2>/dev/null
}
put "$GETPPID" 1
ids=$(programs "$SERVER")
check "programs are attached" test -n "$ids"
if command -v bpftool >/dev/null; then
	is_gone() { ! bpftool prog show id "$1" >/dev/null 2>&1; }
	check "bpftool sees one" bpftool prog show id "${ids%%$'\n'*}" >/dev/null
	kill -KILL "$SERVER"
	wait "$SERVER" 2>/dev/null
	for id in $ids; do
		wait_for is_gone "$id"
	done
	umount -l "$MNT"
	SERVER=
	serve
fi
same "the next server has none" 0 "$(cat "$MNT/$GETPPID")"
same "and has attached nothing" "" "$(programs "$SERVER")"
serve_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_stacks: `1 stack` adds the stacks of kernel and program to the records of system calls and tracepoints,
# in all readings of the trace; kprof trace names their functions; no event is lost without being counted.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

command -v nm >/dev/null || { echo "nm is missing"; exit 77; }
KPROF=$PWD/kprof
STACKED=$WORK/stacked
cp "$PWD/tests/fs/stacked" "$STACKED"
GETPPID=events/kernel/syscall:getppid

# stacked COUNT: starts it; PID is its process
stacked() {
	rm -f "$WORK/in" "$WORK/out"
	mkfifo "$WORK/in" "$WORK/out"
	"$STACKED" "$1" <"$WORK/in" >"$WORK/out" 7>&- 8>&- &
	exec 7>"$WORK/in" 8<"$WORK/out"
	read -rt 60 -u 8 PID || fail "the program does not start"
}

# it makes its calls
go() {
	echo >&7
	read -rt 60 -u 8 _ || fail "the program makes no calls"
}

finish() {
	exec 7>&- 8<&-
	wait "$PID"
}

# count NAME: trace.kernel.NAME of kpstat
count() {
	sed -n "s/^trace\.kernel\.$1 //p" "$MNT/kpstat"
}

# is_in FUNCTION ADDRESS: by nm
is_in() {
	nm -S "$STACKED" | awk -v name="$1" '$4 == name { print "0x" $1, "0x" $2 }' |
		{ read -r start size; [ $(($2)) -gt $((start)) ] && [ $(($2)) -le $((start + size)) ]; }
}

serve -o trace_kernel=64
if ! put "$GETPPID" 1 2>/dev/null; then
	echo "kernel events are not available here:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
for setting in '1 stack' '1 stack /pid == 1/' '1 /pid == 1/' 0 1; do
	put "$GETPPID" "$setting"
	same "what was set" "$setting" "$(cat "$MNT/$GETPPID")"
done
for wrong in stack '1 stacks' '1 stack 1' '0 stack' '1 /pid == 1/ stack'; do
	fails_with "Invalid argument" put "$GETPPID" "$wrong"
done
same "a wrong setting changes nothing" 1 "$(cat "$MNT/$GETPPID")"

# system calls, of which another one has no stack, and one does not return
stacked 1
put "$GETPPID" "1 stack /pid == $PID/"
put events/kernel/syscall:write "1 /pid == $PID/"
put events/kernel/syscall:exit_group '1 stack /error_code == 77/'
go
(exit 77)
put "$GETPPID" 0
put events/kernel/syscall:write 0
put events/kernel/syscall:exit_group 0
cat "$MNT/kptrace" >"$WORK/raw"
sed -n "s/.*: stacked\[$PID\] syscall:getppid:   \(0x[0-9a-f]*\)$/\1/p" "$WORK/raw" >"$WORK/stack"
grep -v '^0x[89a-f][0-9a-f]\{15\}$' "$WORK/stack" >"$WORK/user"
check "the call itself" grep -q ": stacked\[$PID\] syscall:getppid: = $$ ([0-9.]* us)$" "$WORK/raw"
check "the kernel comes first" grep -q '^0x[89a-f][0-9a-f]\{15\}$' <(head -n 1 "$WORK/stack")
line=1
for function in innermost middle outermost main; do
	check "frame $line of the program is in $function: $(tr '\n' ' ' <"$WORK/user")" \
		is_in $function "$(sed -n "${line}p" "$WORK/user")"
	line=$((line + 1))
done
check "the other call" grep -q "stacked\[$PID\] syscall:write: fd=1" "$WORK/raw"
same "has no stack" 0 "$(grep -c 'syscall:write:   0x' "$WORK/raw")"
check "a call that does not return has one" grep -q 'syscall:exit_group:   0x' "$WORK/raw"

timeout 60 "$KPROF" trace --mount "$MNT" >"$WORK/named" || fail "kprof trace"
same "without the names it is the same text" "$(cat "$WORK/raw")" \
	"$(sed 's/\(:   0x[0-9a-f]*\) .*/\1/' "$WORK/named")"
check "a function of the program" grep -q " middle+0x[0-9a-f]* ($STACKED)$" "$WORK/named"
if grep -q ' T do_syscall_64$' /proc/kallsyms && ! grep -q '^0* ' /proc/kallsyms; then
	check "a function of the kernel" grep -q "syscall:getppid:   0xf[0-9a-f]* do_syscall_64.* (\[kernel.kallsyms\])$" \
		"$WORK/named"
fi
finish

# a tracepoint with a text
put kptrace_ctl clear
put events/kernel/sched:sched_process_exec '1 stack /comm == "true"/'
/bin/true
put events/kernel/sched:sched_process_exec 0
check "its text" grep -q 'sched:sched_process_exec: filename=/bin/true pid=[0-9]* old_pid=' "$MNT/kptrace"
check "its stack" test "$(grep -c 'sched:sched_process_exec:   0x' "$MNT/kptrace")" -ge 3

# the other readings have the same
for cpu in "$MNT"/cpu/*; do
	cat "$cpu/trace" >"$WORK/copy.${cpu##*/}"
done
"$KPROF" trace "$WORK"/copy.* >"$WORK/copied" || fail "kprof trace of copies"
same "copies of cpu/N/trace" "$(cat "$MNT/kptrace")" "$(cat "$WORK/copied")"
if command -v babeltrace2 >/dev/null; then
	same "views/ctf has each address" "$(sed -n 's/.*process_exec:   0x//p' "$MNT/kptrace")" \
		"$(babeltrace2 "$MNT/views/ctf" | grep -o '\] = 0x[0-9A-F]*' | sed 's/.*0x//' | tr A-F a-f)"
fi

# overflow: every call is there or counted
stacked 20000
put "$GETPPID" "1 stack /pid == $PID/"
recorded=$(count recorded) missed=$(count missed)
go
same "all calls are recorded or missed" 20000 $(($(count recorded) - recorded + $(count missed) - missed))
same "none is torn" 0 "$(count torn)"
# of the oldest one a part may be gone
whole=$(grep -c "syscall:getppid: = " "$MNT/kptrace")
check "some are held: $whole" test "$whole" -gt 20
same "each has its stack" "$whole" "$(grep -A 1 'syscall:getppid: = ' "$MNT/kptrace" | grep -c 'syscall:getppid:   0x')"
finish

# functions of the kernel resolve without being listed; where they can't be traced, kperr has the reason
fails_with "No such file" cat "$MNT/events/kernel/function:no_such_function"
same "off" 0 "$(cat "$MNT/events/kernel/function:vfs_read")"
same "not listed" "" "$(find "$MNT/events/kernel" -name 'function:*')"
if put events/kernel/function:vfs_read '1 /comm == "no such"/' 2>/dev/null; then
	same "it is on" '1 /comm == "no such"/' "$(cat "$MNT/events/kernel/function:vfs_read")"
	put events/kernel/function:vfs_read 0
else
	check "the reason: $(tail -n 1 "$MNT/kperr")" grep -q "'vfs_read' can't be recorded" <(tail -n 1 "$MNT/kperr")
	same "it stays off" 0 "$(cat "$MNT/events/kernel/function:vfs_read")"
fi
serve_end

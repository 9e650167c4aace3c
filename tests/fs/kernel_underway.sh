#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_underway: a reading of kptrace has the system calls under way, without results and at the time when they
# began; a pipe has them when they return, once.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

READ=events/kernel/syscall:read
# other tests have programs of the usual names too
NAME=under$$
cp "$(command -v cat)" "$WORK/$NAME"
mkfifo "$WORK/fifo"

# shown PID LINE: how often kptrace has it, without the time
shown() {
	cut -d ' ' -f 2- "$MNT/kptrace" | grep -cx "$NAME\[$1\] syscall:$2"
}

is_shown() {
	[ "$(shown "$@")" = 1 ]
}

begin() {
	"$WORK/$NAME" <"$WORK/fifo" >"$WORK/out" 5>&- &
	PID=$!
	exec 5>"$WORK/fifo"
}

UNDER_WAY='read: fd=0 buf=0x[0-9a-f]* count=[0-9]*'

serve
if ! put "$READ" "1 /comm == \"$NAME\" && fd == 0/" 2>/dev/null; then
	echo "kernel events are not available here:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
put events/kernel/sched:sched_process_exec "1 /comm == \"$NAME\"/"
timeout 100 cat "$MNT/kptrace_pipe" >"$WORK/pipe" &
PIPE=$!
begin
wait_for is_shown "$PID" "$UNDER_WAY"
check "its CPU is not known" grep -q ":cpu?: $NAME\[$PID\] syscall:read: " "$MNT/kptrace"
same "the lines are in the order of their times" "" \
	"$(sed 's/^\[\([0-9]*\)\.\([0-9]*\)\].*/\1\2/' "$MNT/kptrace" | sort -nc 2>&1)"
same "it follows the exec" "sched:sched_process_exec: syscall:read:" \
	"$(grep "$NAME\[$PID\] s" "$MNT/kptrace" | cut -d ' ' -f 3 | xargs)"
if command -v python3 >/dev/null; then
	cat "$MNT/views/trace.json" >"$WORK/json"
	python3 "${srcdir:-.}/tests/fs/tracejson.py" "$WORK/json" >"$WORK/found" || fail "trace.json"
	same "it is in trace.json, without a length" "1 0" \
		"$(grep -c "^mark .*:cpu?: $NAME\[$PID\] syscall:$UNDER_WAY$" "$WORK/found") $(grep -c '^span' "$WORK/found")"
fi

# it returns: the line is there once, with the result, and another call is under way
echo hello >&5
wait_for is_shown "$PID" "$UNDER_WAY = 6 ([0-9.]* us)"
wait_for is_shown "$PID" "$UNDER_WAY"
wait_for grep -q 'syscall:read: .* = 6 ' "$WORK/pipe"
same "a pipe has it once" 1 "$(grep -c 'syscall:read:' "$WORK/pipe")"

# one that began before its switch was off is not known any more
put "$READ" 0
same "a call whose switch is off" 0 "$(shown "$PID" "$UNDER_WAY")"
put "$READ" "1 /comm == \"$NAME\" && fd == 0/"
same "a call that may have returned meanwhile" 0 "$(shown "$PID" "$UNDER_WAY")"
echo again >&5
wait_for is_shown "$PID" "$UNDER_WAY"

# whether a filter holds may depend on the result
put "$READ" "1 /comm == \"$NAME\" && result == 7 || comm == \"nothing\"/"
same "a filter that is not known yet" 0 "$(shown "$PID" "$UNDER_WAY")"
put "$READ" "1 /tid == $PID && -fd == 0 && count > 1 && (result == 7 || 1)/"
same "a filter that holds whatever the result is" 1 "$(shown "$PID" "$UNDER_WAY")"
put "$READ" "1 /tid == $PID && fd != 0/"
same "one that does not" 0 "$(shown "$PID" "$UNDER_WAY")"
put "$READ" "1 /tid == $PID/"
put events/enabled 0
put events/enabled 1
same "one that began before the master switch" 0 "$(shown "$PID" "$UNDER_WAY")"
echo more >&5
wait_for is_shown "$PID" "$UNDER_WAY"
put kptrace_ctl clear
same "one that began before a clear" 0 "$(shown "$PID" "$UNDER_WAY")"

# a thread that has ended is in no call
echo last >&5
wait_for is_shown "$PID" "$UNDER_WAY"
kill -KILL "$PID"
wait "$PID" 2>/dev/null
same "a thread that was killed" 0 "$(shown "$PID" "$UNDER_WAY")"
exec 5>&-
kill "$PIPE"
wait "$PIPE" 2>/dev/null
serve_end

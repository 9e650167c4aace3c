# SPDX-License-Identifier: MIT
# event_lib.sh: functions for scripts that run tests/fs/probes_event: this program writes events for each line of its
# input. A script sources this file after lib.sh, and starts a server before it calls a function.

# start PROGRAM: RUNNING reads its lines from descriptor 5 and answers into $WORK/out
start() {
	rm -f "$WORK/in"
	mkfifo "$WORK/in"
	exec 5<>"$WORK/in"
	: >"$WORK/out"
	KPROF_SOCKET=$SOCKET "$1" <"$WORK/in" >"$WORK/out" 5>&- &
	RUNNING=$!
	wait_for knows app:work
}

knows() {
	[ -e "$MNT/events/$1" ]
}

# tell COUNT: the running program writes them
tell() {
	local before
	before=$(wc -l <"$WORK/out")
	echo "$1" >&5
	answered() { [ "$(wc -l <"$WORK/out")" -gt "$before" ]; }
	wait_for answered
}

stop() {
	exec 5>&-
	wait_for has_ended "$RUNNING"
	wait "$RUNNING" || fail "the program failed with $?"
	gone() { ! knows app:work; }
	wait_for gone
}

# SPDX-License-Identifier: MIT
# trace_lib.sh: programs that write events, for the tests of the trace. Sourced after lib.sh.

export KPROF_SOCKET=$WORK/socket
TELL=${TELL:-$PWD/tests/fs/tell}

# serve_trace [OPTIONS]: a server with a socket of its own, and the event of tell switched on
serve_trace() {
	serve -o "socket=$KPROF_SOCKET${1:+,$1}"
	put events/test:n 1
}

has_written() {
	grep -q written "$WORK/tell.$1"
}

has_attached_more() {
	[ "$(stat_of trace.attached)" -gt "$1" ]
}

# tell_start NAME BUFFER_KB THREADS EVENTS [WIDE]: its pid is in $TOLD; it lives until tell_end NAME
tell_start() {
	local before
	before=$(stat_of trace.attached)
	mkfifo "$WORK/stdin.$1"
	KPROF_BUFFER_KB=$2 "$TELL" "${@:3}" <"$WORK/stdin.$1" >"$WORK/tell.$1" &
	TOLD=$!
	eval "exec {fd_$1}>\"\$WORK/stdin.$1\""
	wait_for has_written "$1"
	# it may have written all before the server has its HELLO
	wait_for has_attached_more "$before"
}

tell_end() {
	eval "exec {fd_$1}>&-"
	wait "$TOLD" || fail "tell: status $?"
	rm "$WORK/stdin.$1"
}

# events_are_right FILE [late]: times rise, unless events may be late; and the numbers of each thread
# rise by one from where they begin. Prints how many there are.
events_are_right() {
	awk -v late="${2:-}" '
	function wrong(why) { print "line " NR ": " why ": " $0 > "/dev/stderr"; bad = 1; exit }
	{
		time = substr($1, 2, index($1, "]") - 2)
		if (late)
			;
		else if (length(time) != length(last) && NR > 1 && length(time) < length(last) ||
			length(time) == length(last) && time "" < last "")
			wrong("earlier than the one before")
		last = time
	}
	$3 == "test:n:" {
		if ($5 in next_n && $7 != next_n[$5])
			wrong("expected number " next_n[$5])
		next_n[$5] = $7 + 1
		count++
	}
	END { print count + 0; exit bad }
	' "$1"
}

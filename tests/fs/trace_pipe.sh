#!/bin/bash
# SPDX-License-Identifier: MIT
# trace_pipe: kptrace_pipe returns from each open on every event, or the number of missing ones.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

waiting_reads_are() {
	[ "$(stat_of fs.waiting_reads)" = "$1" ]
}

# follow FILE [NAME]: reads the pipe into the file, in the background
follow() {
	cat "$MNT/${2:-kptrace_pipe}" >"$WORK/$1" &
	readers+=($!)
}
readers=()

has_line() { # FILE PATTERN
	grep -q "$2" "$WORK/$1"
}

serve_trace
if command -v python3 >/dev/null; then
	check "call by call" timeout 300 python3 "${srcdir:-.}/tests/fs/trace_pipe.py" "$MNT"
fi

# the same by the command, and as records of each CPU
"${KPROF:-$PWD/kprof}" trace -f -m "$MNT" >"$WORK/command" &
command=$!
for cpu in "$MNT"/cpu/[0-9]*; do
	follow "records.${cpu##*/}" "cpu/${cpu##*/}/trace_pipe"
done
cpus=$(find "$MNT/cpu" -mindepth 1 -maxdepth 1 | wc -l)
wait_for waiting_reads_are $((1 + cpus))
tell_start records 1024 2 500
put kptrace "the end of records"
tell_end records
wait_for has_line command "the end of records"
records_are_complete() {
	"${KPROF:-$PWD/kprof}" trace "$WORK"/records.* 2>/dev/null |
		sort >"$WORK/shown" && sort "$WORK/command" | cmp -s - "$WORK/shown"
}
wait_for records_are_complete
same "events of the command" 1000 "$(events_are_right "$WORK/command" late)"
kill "$command" "${readers[@]}"
wait_for waiting_reads_are 0

# earlier events are not shown; later ones are shown to both, whether their program came before or
# after
tell_start early 1024 2 100
follow first
first=$!
follow second
wait_for waiting_reads_are 2
tell_start late 1024 2 300
put kptrace "the end"
wait_for has_line first "the end"
wait_for has_line second "the end"
check "two readers see the same" cmp <(sort "$WORK/first") <(sort "$WORK/second")
same "events" 600 "$(events_are_right "$WORK/first" late)"
grep -q 'told 200$' "$WORK/first" && fail "what was written before the open"
grep -q 'told 600$' "$WORK/first" || fail "the text of kprof_printf"
grep -q 'lost$' "$WORK/first" && fail "lost: $(grep 'lost$' "$WORK/first")"
grep -q 'the end$' "$WORK/first" || fail "the message"

# a program that writes far more than its pool holds: shown and lost events make the whole
: >"$WORK/third"
follow third
wait_for waiting_reads_are 3
tell_start much 64 2 200000
put kptrace "enough"
wait_for has_line third enough
lost=$(sed -n 's/^\[[0-9.]*\]:cpu[0-9]*: \([0-9]*\) events lost$/\1/p' "$WORK/third" |
	awk '{ sum += $1 } END { print sum + 0 }')
shown=$(grep -c ' test:n: \| told ' "$WORK/third")
same "shown and lost" 400001 $((shown + lost))
check "something was lost" test "$lost" -gt 0
awk '
function wrong(why) { print "line " NR ": " why ": " $0; exit 1 }
$3 == "test:n:" {
	if ($5 in last && $7 <= last[$5])
		wrong("a number that is not higher")
	last[$5] = $7
}' "$WORK/third" || fail "the order of each thread"

# opening a pipe, which searches at least 100 KB of each program, does not occupy a worker
worker_bytes() { # read by the workers so far
	local task sum=0 bytes
	for task in /proc/"$SERVER"/task/*; do
		[ "$(cat "$task/comm")" = kp-fuse ] || continue
		bytes=$(sed -n 's/^rchar: //p' "$task/io")
		sum=$((sum + bytes))
	done
	echo "$sum"
}
tell_start large 16384 2 300000
# each read of those that follow is a request that a worker reads, too
put kptrace "as far as that"
for name in first second third; do
	wait_for has_line $name "as far as that"
done
if [ -r "/proc/$SERVER/task/$SERVER/io" ]; then
	before=$(worker_bytes)
	: <"$MNT/kptrace_pipe"
	: <"$MNT/cpu/0/trace_pipe"
	after=$(worker_bytes)
	check "the workers copied nothing: $((after - before)) bytes" \
		test $((after - before)) -lt 50000
fi

# SIGTERM: the end of all of them. They have read what there is, for which the server waits only a moment
put kptrace "that was all"
for name in first second third; do
	wait_for has_line "$name" "that was all"
done
serve_end TERM
ended_well "a reader at SIGTERM" "$first"

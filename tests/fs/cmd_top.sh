#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_top: kprof top prints one report if there is no terminal, and else obeys keys, refreshes and ends. It
# stops what it started, and nothing else.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

KPROF=$PWD/kprof
SHARES=$PWD/tests/fixtures/shares
TERMINAL="python3 ${srcdir:-.}/tests/fs/cmd_terminal.py"
export TMPDIR=$WORK/tmp TERM=dumb
mkdir "$TMPDIR"

top() {
	"$KPROF" top "$@" >"$WORK/out" 2>"$WORK/err" || fail "kprof top $*: $(cat "$WORK/err")"
}

# the program is among the hottest
has_program() {
	grep -Eq '^ *[0-9.]+% +[0-9]+  shares +(hot|cold)  .*/shares' "$WORK/out"
}

shows_program() {
	top -d 0.5 -m "$MNT" && has_program
}

serve
put kpctl "event cpu-clock:freq=1999"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
# a capture of another program
sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
put kpctl stop
cat "$MNT/kpdata" >"$WORK/other"
put kpctl "event page-faults,context-switches"
put kpctl clear
put kpctl start
/bin/true
put kpctl stop
cat "$MNT/kpdata" >"$WORK/faults"
put kpctl "event cpu-clock:freq=1999"
put kpctl clear
put kpctl start
"$SHARES" >"$WORK/units" &
program=$!

# ---- no terminal --------------------------------------------------------------------------------

wait_for shows_program
check "the head" grep -Eq '^cpu-clock:freq=1999: [1-9][0-9]* samples in [0-9.]+ s, [0-9]+ idle, [0-9]+ lost$' "$WORK/out"
# of functions with up to 48 characters
check "the files are below their title" awk '
	/^ *share / { function_at = index($0, "function"); file_at = index($0, "file"); next }
	file_at && !/^ *[0-9.]+%/ { next }
	file_at {
		rows++
		if (substr($0, file_at - 2, 3) !~ /^  [^ ]/ && substr($0, function_at, 49) !~ /[^ ]  ?$/ &&
			substr($0, function_at, 49) ~ /  /)
			wrong++
	}
	END { exit !rows || wrong }' "$WORK/out"
same "a profiler that runs goes on" running "$(stat_of profiler.state)"
# without a terminal no terminal sequence is written
check "no control characters" [ "$(tr -d '[:print:]\n' <"$WORK/out" | wc -c)" = 0 ]
fails_with 'already running' "$KPROF" top -m "$MNT" -e page-faults

# parts: one name, one program, a time that has not come, a time that begins before the last refresh
top -d 0.5 -m "$MNT" --comm shares
check "--comm shows the program" has_program
same "and nothing else" 0 "$(awk '/^ *[0-9.]+% / && $3 != "shares"' "$WORK/out" | wc -l)"
top -d 0.5 -m "$MNT" --exe "$SHARES"
check "--exe shows the program" has_program
same "and no other" 0 "$(awk '/^ *[0-9.]+% / && $3 != "shares"' "$WORK/out" | wc -l)"
top -d 0.5 -m "$MNT" --comm no-such-program
same "a name without samples" 0 "$(grep -c '^ *[0-9.]*% ' "$WORK/out")"
top -d 0.5 -m "$MNT" --until 0.5
same "before a time long ago" 0 "$(grep -c '^ *[0-9.]*% ' "$WORK/out")"
top -d 0.5 -m "$MNT" --last 1m --since 0.5
check "--last and --since show the program" has_program
fails_with "'10' is no duration" "$KPROF" top --last 10

# beside an earlier capture, a file or a session: its shares are those of `kprof report`
put kpctl 'snapshot old'
cat "$MNT/sessions/old/kpdata" >"$WORK/earlier"
share_before() {
	"$KPROF" report --comm shares -n "$1" | awk '$4 == "shares" && $5 == "hot" { print $1; exit }'
}
# columns: share, before, change, samples, process, function
column() {
	awk -v column="$1" '$5 == "shares" && $6 == "hot" { print $column; exit }' "$WORK/out"
}
for earlier in "$WORK/earlier" old; do
	top -d 0.5 -m "$MNT" --comm shares --versus "$earlier"
	check "the titles" grep -Eq '^ *share +before +change +samples +process +function +file$' "$WORK/out"
	file=$earlier
	[ "$earlier" != old ] || file=$MNT/sessions/old/kpdata
	same "the share in $earlier" "$(share_before "$file")" "$(column 2)"
	check "the change: $(column 1) $(column 2) $(column 3)" awk -v now="$(column 1)" -v before="$(column 2)" \
		-v change="$(column 3)" 'BEGIN { d = now - before - change; exit !(before > 0 && d > -0.011 && d < 0.011) }'
done
rmdir "$MNT/sessions/old"
fails_with "no sample is there with" "$KPROF" top -m "$MNT" --comm shares --versus "$WORK/other"
top -d 0.5 -m "$MNT" --versus "$WORK/faults"
check "an event that the other capture has not" grep -q 'the earlier capture has no samples of this event' "$WORK/out"
top -d 0.5 -m "$MNT" --versus "$WORK/other"
same "a function that is new" "+++" "$(awk '$4 == "shares" && $5 == "hot" { print $2; exit }' "$WORK/out")"
check "the shell is known there" "$KPROF" report --comm sh "$WORK/other"
fails_with "--versus none: no such file, and no session of this name" "$KPROF" top -m "$MNT" --versus none

KPROF_MOUNT=$MNT "$KPROF" top -d 0.5 -e page-faults >"$WORK/out" 2>"$WORK/err" || fail "top beside a run: $(cat "$WORK/err")"
check "a private server" grep -q "^kprof: a private server samples: the profiler at $MNT is already" "$WORK/err"
check "with the events that it was given" grep -q '^page-faults: ' "$WORK/out"
put kpctl stop
put kpctl clear
state=$(cat "$MNT/kpctl")
# the samples are those since its start, all of the requested events
top -d 0.5 -m "$MNT" -e page-faults:period=1,cpu-clock:freq=999
check "of two events the first is shown" grep -q '^page-faults:period=1: ' "$WORK/out"
same "what it starts it stops, and the events are as they were" "$state" "$(cat "$MNT/kpctl")"

# ---- a terminal ---------------------------------------------------------------------------------

# two refreshes; the other event; paused; and the end
$TERMINAL "$KPROF" top -d 0.3 -m "$MNT" -e page-faults:period=1,cpu-clock:freq=1999 -- \
	'page-faults:period=1: .*event 1 of 2' '' \
	'page-faults:period=1: .*event 1 of 2' e \
	'cpu-clock:freq=1999: .*event 2 of 2' p \
	'p resume' p \
	'p pause' q >"$WORK/screen" || fail "on a terminal: $?: $(tail -c 1000 "$WORK/screen")"
same "stopped at the end" "$state" "$(cat "$MNT/kpctl")"
# each line was cut at the width
check "no line is wider than the terminal" [ "$(sed 's/\x1b\[[0-9]*[A-Z]//g; s/\r$//' "$WORK/screen" |
	awk '{ if (length($0) > 80) n++ } END { print n + 0 }')" = 0 ]

# a signal ends it, too, with everything as it was
$TERMINAL sh -c "echo \$\$ >$WORK/pid; exec $KPROF top -d 0.3 -m $MNT" -- \
	'samples in' q >"$WORK/screen" || fail "q: $?"
"$KPROF" top -d 600 -P >"$WORK/out" 2>&1 &
job=$!
mounted() { grep -q " $TMPDIR/" /proc/mounts; }
wait_for mounted
kill -TERM $job
wait_for has_ended $job
wait $job
same "the status of a signal" 0 $?
same "nothing is left" "" "$(ls -A "$TMPDIR")"

kill "$program"
wait "$program"
fails_with 'a delay is from' "$KPROF" top -d 0
fails_with 'no arguments' "$KPROF" top x

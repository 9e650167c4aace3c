#!/bin/bash
# SPDX-License-Identifier: MIT
# top_browser: kprof top on a terminal of tmux shows a program with known functions. Selected shares add up,
# rows and the cursor stay over refreshes, options and keys choose rows, columns are aligned, and the
# settings are restored.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
TUI_WORK=$WORK
# shellcheck source=tests/fs/tui_lib.sh
. "${srcdir:-.}/tests/fs/tui_lib.sh"
on_exit() {
	local status=$?
	tui_end
	(exit "$status")
	clean_up
}
trap on_exit EXIT

KPROF=$PWD/kprof
export TMPDIR=$WORK/tmp
mkdir "$TMPDIR"

serve
tui_run 100 10 "$KPROF report -m $MNT"
shows "kprof report of an empty mount" "^nothing captured yet: echo start > $MNT/kpctl$"
shows "its source" "^$MNT/kpdata, empty$"
tui_end
put kpctl "event cpu-clock:freq=999"
# until it has executed the program, the process is named as this script
tests/fixtures/shares >"$WORK/units" &
program=$!
is_shares() { [ "$(cat "/proc/$program/comm")" = shares ]; }
wait_for is_shares
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi

# begin_top OPTION...: on a new terminal
begin_top() {
	tui_end
	rm -f "$WORK/status"
	tui_run "${COLUMNS_WANTED:-110}" 24 "stty -g >$WORK/before
		$KPROF top -d 0.5 -m $MNT $*; echo \"status \$?\" >$WORK/status; stty -g >$WORK/after
		echo 'the shell is back'"
}

# the lines of rows, as one picture of the screen
rows() {
	screen | sed -n '4,23p' | grep -v '^ *$'
}

# Whether the samples of all rows are those that were selected: it is on one picture, or on the next.
adds_up() {
	screen | awk '
		NR == 1 { n = split($0, part, ": "); selected = part[n] + 0 }
		NR > 3 && $1 ~ /%$/ && $5 != "" { sum += $3; n++ }
		END { exit !(n >= 2 && selected > 0 && sum == selected) }'
}

# Whether the callers of hot have its samples together: hot is expanded, and both callers are there.
callers_add_up() {
	screen | awk '
		/ - hot / { all = $3; next }
		all && $1 ~ /%$/ && $3 ~ /^(\+|left|right)$/ { sum += $2; n++; next }
		all && /%/ { exit }
		END { exit !(n >= 2 && sum == all) }'
}

# Whether the shares of the column do not grow from row to row.
falls() {
	rows | awk -v column="$1" '
		$column + 0 > last && NR > 1 { bad = 1 }
		{ last = $column + 0 }
		END { exit bad || NR < 2 }'
}

refreshed() {
	[ "$(screen | head -n 1)" != "$head" ]
}

# refreshes COUNT: waits for so many
refreshes() {
	local i head
	for ((i = 0; i < $1; i++)); do
		head=$(screen | head -n 1)
		looks refreshed || fail "it is not refreshed"
	done
}

# ---- rows and refreshes --------------------------------------------------------------------------

begin_top -p "$program"
shows "the mount and what is in the rows" "^$MNT: [0-9]+ samples in the rows, taken in [0-9.]+ s$"
shows "the event" '^cpu-clock:freq=999: [0-9]+ samples, [0-9]+ of them idle'
shows "a function" '% +[0-9]+  shares  *\+ hot  *shares$'
shows "the other one" '% +[0-9]+  shares  *\+ cold  *shares$'
looks adds_up || fail "the rows are not what was selected: $(screen)"
! rows | grep -vE '  shares  ' || fail "rows of other processes than that of -p: $(screen)"
keys /
type_text hot
keys Enter Enter
shows "the callers" '- hot '
looks callers_add_up || fail "the callers of hot do not have its samples: $(screen)"
refreshes 3
shows "still expanded" '- hot '
keys a
shows "the code of the row at the cursor" '^# hot '
shows "the samples of the code" '^# [1-9][0-9]* samples of cpu-clock:freq=999, [0-9.]+% of all'
keys q
keys f
type_text cold
keys Enter
shows "a filter" 'with cold: [1-9][0-9]* rows left out'
hides "rows without the text" '[+-] hot '
refreshes 2
hides "after refreshes, too" '[+-] hot '
keys Escape
shows "all rows" '[+-] hot '
keys C
shows "a collapsed row" '\+ hot '
keys s
shows "another order" '\[callers, by total'
looks falls 1 || fail "the rows are not sorted by the total: $(screen)"
keys s s s s
shows "the first order" '\[callers, by self'
looks falls 2 || fail "the rows are not sorted by self: $(screen)"
keys U
shows "what is hidden" ', without user space'
hides "user space" ' shares$'
keys U K
shows "what is hidden instead" ', without the kernel'
hides "the kernel" '\[kernel'
shows "user space again" '[+-] hot '
keys K c c
shows "the call tree" '[+-] shares '
keys E
shows "all of it" ' hot '
keys t
shows "the thread" "^ +[1-9][0-9]*  +$program  +$program  shares"
keys Escape h
shows "the help" '^p  *pause, and go on'
keys q C c

# ---- an earlier capture --------------------------------------------------------------------------

keys q
shows "the end" 'the shell is back'
put kpctl 'snapshot old'
cat "$MNT/sessions/old/kpdata" >"$WORK/earlier"
rmdir "$MNT/sessions/old"
begin_top -p "$program" --versus "$WORK/earlier"
shows "titles" 'self   before    change  samples'
shows "a function with its share before" '^ *[0-9.]+% +[0-9.]+% +[0-9.]+% +[+-][0-9.]+% +[0-9]+  shares  *\+ hot  *shares$'
keys s
shows "by total" '\[callers, by total'
shows "a function with its total before" '^ *[0-9.]+% +[0-9.]+% +[0-9.]+% +[+-][0-9.]+% +[0-9]+  shares  *\+ hot  *shares$'
keys q
shows "the end" 'the shell is back'
begin_top -p "$program"
shows "rows" '[+-] hot '

# ---- paused --------------------------------------------------------------------------------------

keys p
shows "that it is paused" '^p go on'
shows "rows" '[+-] hot '
kill "$program"
wait "$program"
shows "while it is paused, rows stay" '[+-] hot '
keys p
hides "rows of a program that has ended" '[+-] hot '
shows "nothing" '^no samples in this interval$'
put kpctl stop
shows "that the profiler is stopped" '^the profiler is stopped'
keys q
shows "the end" 'the shell is back'
same "the status" "status 0" "$(cat "$WORK/status")"
same "the terminal's settings" "$(cat "$WORK/before")" "$(cat "$WORK/after")"

# ---- what it starts it stops ---------------------------------------------------------------------

put kpctl clear
state=$(cat "$MNT/kpctl")
begin_top -F 1999 -e cpu-clock
shows "the rate" 'cpu-clock:freq=1999: [1-9]'
keys q
shows "the end" 'the shell is back'
same "the settings are as they were" "$state" "$(cat "$MNT/kpctl")"

# Lists the threads of an interval: with the pid of kprof top?
lists_own() {
	keys Escape t
	looks is_on_screen 'all threads$' || return
	is_on_screen "  $own  "
}

# its own work is left out, and that of its helpers; with --self it is there
begin_top -F 1999 -e cpu-clock --comms kprof,kprofs,kprof-symbols
shows "the rate" 'cpu-clock:freq=1999: [1-9]'
own=$(pgrep -f "^$KPROF top .*-m $MNT .*--comms")
for i in 1 2 3 4; do
	refreshes 1
	! lists_own || fail "its own samples: $(screen)"
	! screen | grep -E '  (kprofs|kprof-symbols)$' || fail "samples of the helpers: $(screen)"
	keys Escape
done
keys q
shows "the end" 'the shell is back'
begin_top -F 1999 -e cpu-clock --comms kprof,kprofs,kprof-symbols --self
shows "the rate" 'cpu-clock:freq=1999: [1-9]'
own=$(pgrep -f "^$KPROF top .*-m $MNT .*--comms")
looks lists_own || fail "no samples of its own with --self: $(screen)"
kill -TERM "$own"
shows "the end by a signal" 'the shell is back'
same "the terminal's settings after a signal" "$(cat "$WORK/before")" "$(cat "$WORK/after")"
same "the settings after a signal" "$state" "$(cat "$MNT/kpctl")"

# ---- columns -------------------------------------------------------------------------------------

put kpctl start
cp tests/fixtures/shares "$WORK/日本語"
tests/fixtures/shares >"$WORK/units" &
program=$!
"$WORK/日本語" >"$WORK/units2" &
wide=$!
kill -STOP "$wide"
export LC_ALL=C.UTF-8
begin_top -p "$program,$wide"
shows "a row" '  shares  *\+ cold '
keys /
type_text cold
keys Enter
# the other program's hot is now above it, and the cursor stays at its row
kill -CONT "$wide"
shows "rows of the other program" '日本語  *\+ hot '
refreshes 2
keys a
shows "the row at the cursor" '^# cold  .*/shares$'
keys q
shows "a wide name" '日本語  *\+ hot '
# the columns of the screen in which the functions and files begin: one each
columns_of() {
	screen | python3 -c '
import sys, unicodedata
width = lambda s: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in s)
lines = [l for l in sys.stdin.read().split("\n")[2:23] if "+ hot " in l or "+ cold " in l]
at = {(width(l[:l.index("+ ")]), width(l[:l.rindex("  ") + 2])) for l in lines}
print(len(lines) >= 4 and len(at) == 1)'
}
is_aligned() { [ "$(columns_of)" = True ]; }
looks is_aligned || fail "the columns are not aligned: $(screen)"
for size in '40 6' '12 3' '5 2' '1 1' '70 20' '150 24'; do
	tui resize-window -t test -x "${size% *}" -y "${size#* }"
	keys Down Up Enter Enter h q
done
shows "the wide screen" '  日本語  *[+-] hot .* 日本語$'
keys q
shows "the end" 'the shell is back'
tui_end
export LC_ALL=C

# ---- options, as text ----------------------------------------------------------------------------

# text OPTION...: rows without the head, as SHARE SAMPLES PROCESS FUNCTION FILE
text() {
	"$KPROF" top -d 0.5 -m "$MNT" "$@" >"$WORK/out" 2>"$WORK/err" || fail "kprof top $*: $(cat "$WORK/err")"
	sed 1,2d "$WORK/out"
}

# has ROWS-WITH OPTION...: soon an interval has a row that matches
has() {
	local pattern=$1
	shift
	text "$@" | grep -Eq "$pattern"
}

wait_for has '  cold  ' --symbols cold --comms shares
same "one function of one process, of which all samples are" "100.00%" "$(sed 1,2d "$WORK/out" | awk '{ print $1 }')"
same "and which has all that are selected" "$(sed -n '1s/.* \([0-9]*\) in the rows below$/\1/p' "$WORK/out")" \
	"$(sed 1,2d "$WORK/out" | awk '{ print $2 }')"
wait_for has '  hot  ' --dsos 日本語
same "functions of one file" "" "$(sed 1,2d "$WORK/out" | grep -v '/日本語$')"
wait_for has '  hot  ' -t "$wide"
same "one thread" "" "$(sed 1,2d "$WORK/out" | grep -v '日本語  ')"
wait_for has '  hot  ' -u "$(id -u)"
wait_for has '  cold  ' -p "$program"
wait_for has '  hot  ' -p "$program" --percent-limit 50
same "no row below the limit" "" "$(sed 1,2d "$WORK/out" | awk '$1 + 0 < 50')"
wait_for has '  main  ' -p "$program" -s total
same "sorted by the total" "$(sed 1,2d "$WORK/out")" "$(sed 1,2d "$WORK/out" | sort -s -rn -k 1,1)"
text -p "$program" -U >/dev/null
same "without functions of user space" "" "$(sed 1,2d "$WORK/out" | grep '/shares$')"
taskset -pc 0 "$program" >/dev/null 2>&1 && [ "$(nproc)" -gt 1 ] && {
	wait_for has '  hot  ' -C 0 -p "$program"
	text -C 1 -p "$program" >/dev/null
	same "another CPU" "" "$(sed 1,2d "$WORK/out" | grep '/shares$')"
}

kill "$program" "$wide"
wait "$program" "$wide"
for bad in '-s nothing' '-p 0' '-t x' '--percent-limit 101' '-C x' '--call-graph x' '-F x'; do
	# shellcheck disable=SC2086 # two words
	fails_with 'see kprof top --help' "$KPROF" top -m "$MNT" $bad
done
fails_with 'already running' "$KPROF" top -m "$MNT" -F 99

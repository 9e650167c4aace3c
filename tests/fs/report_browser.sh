#!/bin/bash
# SPDX-License-Identifier: MIT
# report_browser: kprof report on a terminal of tmux shows the rows of a capture with known figures, obeys
# each key, fits other sizes, and restores the terminal at each kind of exit.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"
TUI_WORK=$tmp
# shellcheck source=tests/fs/tui_lib.sh
. "${srcdir:-.}/tests/fs/tui_lib.sh"
trap 'tui_end; rm -rf "$tmp"' EXIT

victim=$PWD/tests/fixtures/victim
terminal="python3 ${srcdir:-.}/tests/fs/cmd_terminal.py"

offset() {
	objdump -d -F "$victim" | sed -n "s/.*<$1> (File Offset: \(0x[0-9a-f]*\)).*/\1/p" | head -n 1
}

command -v objdump >/dev/null && command -v readelf >/dev/null || { echo "no binutils"; exit 77; }
id=$(readelf -n "$victim" 2>/dev/null | sed -n 's/.*Build ID: //p')
cp "$victim" "$tmp/victim"
"$PWD/tests/fixtures/mkstory" "$tmp/victim" "$id" "$(offset victim_one)" "$(offset victim_two)" \
	>"$tmp/capture" || exit 1

# ---- text ---------------------------------------------------------------------------------------

# the first line has the age of the file
export KPROF_PAGER=cat
text() { tail -n +2 | tr -d '\r'; }

"$KPROF" report "$tmp/capture" | text >"$tmp/piped"
NO_COLOR=1 TERM=screen $terminal "$KPROF" report --stdio "$tmp/capture" -- | text >"$tmp/stdio"
same "--stdio on a terminal is what a pipe gets" "$(cat "$tmp/piped")" "$(cat "$tmp/stdio")"
[ -s "$tmp/piped" ] || fail "there is no text"
NO_COLOR=1 TERM=screen $terminal "$KPROF" report --by cpu "$tmp/capture" -- | text >"$tmp/by"
same "options that select rows print text" "$("$KPROF" report --by cpu "$tmp/capture" | text)" \
	"$(cat "$tmp/by")"

"$KPROF" report -n --sort tid "$tmp/capture" >"$tmp/tid"
grep -Eq '^ 28\.57%      300  cycles:freq=1000 +11 +worker$' "$tmp/tid" || fail "--sort tid: $(cat "$tmp/tid")"

# a terminal that can't be used: text, and one line with the reason
for type in dumb unknown-type-of-terminal; do
	NO_COLOR=1 TERM=$type $terminal "$KPROF" report "$tmp/capture" -- | tr -d '\r' >"$tmp/out"
	same "one line with TERM=$type" 1 "$(grep -c '^kprof: text, not the browser: .*TERM' "$tmp/out")"
	same "the text with TERM=$type" "$(cat "$tmp/piped")" \
		"$(grep -v '^kprof: ' "$tmp/out" | tail -n +2)"
done

# ---- rows ---------------------------------------------------------------------------------------

tui_run 100 24 "stty -g >$tmp/before; $KPROF report $tmp/capture; echo \"status \$?\" >$tmp/status
	stty -g >$tmp/after; echo 'the shell is back'"
shows "the source and its age" "^$tmp/capture, written [0-9]+ (s|min) ago$"
shows "the event with its losses" '^cycles:freq=1000: 1200 samples, 150 of them idle, 41 lost'
shows "a function" '^ 57.14%   57.14%      600  prog  *\+ victim_one  *victim$'
shows "its caller's total" '^ 85.71%   28.57%      300  prog  *victim_two  *victim$'
shows "the other process" '^  9.52%    9.52%      100  child  *victim_one'
keys Enter
shows "callers" '^ 57.14%  *600  *victim_two  *victim$'
shows "an expanded row" 'prog  *- victim_one'
keys Enter
shows "a collapsed row" 'prog  *\+ victim_one'
keys c
shows "callees" '^ 85.71%   28.57%      900  prog  *\+ victim_two'
keys c
shows "the tree of the processes" '^ 85.71%           *900  *\+ prog '
keys E
shows "all of the tree" '^ 57.14%   57.14%      600  *victim_one'
keys C
hides "nothing of the tree" 'victim_one'
keys c
shows "callers again" '\[callers, by self\]'
keys s
shows "sorted by the total" '\[callers, by total\]'
looks eval 'screen | sed -n 4p | grep -q "victim_two"' || fail "the largest total is not first"
keys r
shows "reversed" 'by total, reversed'
looks eval 'screen | sed -n 4p | grep -q "4.76%"' || fail "the smallest total is not first"
keys r s s s s
shows "sorted by self again" '\[callers, by self\]'

# ---- searches, filters, threads, events ------------------------------------------------------------

keys /
type_text victim_two
shows "what is typed" '^search: victim_two_'
keys Enter a
shows "the row that was found is the current one" '^# victim_two '
keys q
shows "the rows are back" '^h help'
keys /
type_text 'no such name'
keys Enter
shows "a search without success" 'no row with no such name'
keys f
type_text child
keys Enter
shows "how many rows the filter left out" 'with child: 3 rows left out'
hides "rows that do not match" 'prog'
keys Escape
shows "all rows" 'prog  *\+ victim_one'
keys t
shows "threads" '^  *300  *10  *11  prog'
keys Down Down Enter
shows "the samples of a thread" '^100.00%  100.00%      300  prog  *victim_two'
shows "which thread" 'thread 11'
keys t Home Enter
shows "all threads" '^ 57.14%   57.14%      600'
keys Tab
shows "the next event" '^page-faults:period=7: 50 samples, 0 of them idle, 42 lost'
shows "its row" '^100.00%  100.00%       50  prog  *victim_two'
keys e
shows "the events" '^  *1050  cycles:freq=1000'
keys Home Enter
shows "the first event" '^cycles:freq=1000'

# ---- pages --------------------------------------------------------------------------------------

keys Home a
shows "the samples of the code" '^# 700 samples of cycles:freq=1000, 66.67% of all'
shows "an instruction" '^100.00%      700  *[0-9a-f]+  [a-z]'
keys q i
shows "the summary" '^# 50 samples \(4.55%\) at addresses without a symbol'
keys q h
shows "the help" '^Enter \+ '
keys Escape '?'
shows "the help by ?" '^Enter \+ '
keys q End a
shows "no code without a function" 'it has no function with a name'

# ---- sizes --------------------------------------------------------------------------------------

keys Home
for size in '40 6' '12 3' '5 2' '1 1'; do
	# shellcheck disable=SC2086 # two numbers
	tui resize-window -t test -x ${size% *} -y ${size#* }
	keys Down Up Enter Enter h q
done
tui resize-window -t test -x 120 -y 10
shows "the wide screen" '^ 57.14%   57.14%      600  prog  *\+ victim_one  *victim$'
tui resize-window -t test -x 30 -y 10
shows "the age on a narrow screen" '^[^ ]*/capture, written [0-9]+ (s|min) ago$|^[^ ]*, written [0-9]+ (s|min) ago$'
tui resize-window -t test -x 60 -y 10
shows "processes as wide as their names" '^ 57.14%   57.14%      600  prog     \+ victim_one *$'
tui resize-window -t test -x 50 -y 7
hides "the source on a low screen" ', written '
tui resize-window -t test -x 50 -y 10
shows "the narrow screen" '^ 57.14%   57.14%      600  \+ victim_one *$'
shows "the losses on it" '^cycles:freq=1000: 1200 samples, 41 lost$'

# ---- the end ------------------------------------------------------------------------------------

keys q
shows "the shell" 'the shell is back'
same "the status" "status 0" "$(cat "$tmp/status")"
same "the terminal's settings after q" "$(cat "$tmp/before")" "$(cat "$tmp/after")"
tui_end

# signals, and a stop by the terminal
for signal in INT TERM HUP; do
	rm -f "$tmp/after"
	tui_run 80 24 "stty -g >$tmp/before
		sh -c 'echo \$\$ >$tmp/pid; exec $KPROF report $tmp/capture'; stty -g >$tmp/after; echo back"
	shows "the rows before SIG$signal" 'victim_one'
	kill -$signal "$(cat "$tmp/pid")"
	shows "the shell after SIG$signal" '^back'
	same "the terminal's settings after SIG$signal" "$(cat "$tmp/before")" "$(cat "$tmp/after")"
	tui_end
done
tui_run 80 24 "exec bash --norc -i"
type_text "PS1=ready:; stty -g >$tmp/before; $KPROF report $tmp/capture"
keys Enter
shows "the rows in a shell with jobs" '^h help'
keys C-z
shows "a stopped job" '^\[1\]\+  Stopped'
type_text "stty -g >$tmp/after; echo written"
keys Enter
shows "the shell while it is stopped" '^written'
same "the terminal's settings while it is stopped" "$(cat "$tmp/before")" "$(cat "$tmp/after")"
type_text fg
keys Enter
shows "the rows after fg" '^h help'
keys C-c
shows "the shell after Ctrl-C" 'ready:$'
tui_end

# ---- nothing to show -----------------------------------------------------------------------------

: >"$tmp/empty"
tui_run 80 24 "$KPROF report $tmp/empty"
shows "that nothing is in the file" '^nothing was captured: there are no records$'
tui_end
"$PWD/tests/fixtures/mkstory" "$tmp/victim" "$id" "$(offset victim_one)" "$(offset victim_two)" >"$tmp/none" || exit 1
tui_run 80 24 "$KPROF report --pid 10 $tmp/none"
shows "the part in the first line" "^$tmp/none, written [0-9]+ (s|min) ago; only pid 10$"
keys f
type_text 'no such name'
keys Enter
shows "that rows are left out" '^no rows: all are left out'
tui_end

# ---- hostile names -------------------------------------------------------------------------------

hostile=$(printf '/\033]0;title\007\033[2J')
"$PWD/tests/fixtures/mkcapture" "$hostile" - 0x100 0x200 >"$tmp/hostile" || exit 1
TERM=screen $terminal "$KPROF" report "$tmp/hostile" -- 'x1b.0;title' q >"$tmp/raw" ||
	fail "a browser of hostile names: $?"
! grep -q "$(printf '\033]0;title')" "$tmp/raw" || fail "a name of the capture controls the terminal"
grep -q 'x1b' "$tmp/raw" || fail "the name is not shown escaped"

[ "$failures" = 0 ]

#!/bin/bash
# SPDX-License-Identifier: MIT
# view_agree: A program with known stacks, with recursion, inlining, a tail call, a signal handler, a
# thread, a deleted library, a C++ template and a stripped library with a separate debug file, is sampled
# once. Each view, kprof report and perf's report show the same functions and samples.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

CPU_MS=150
FIXTURES=${srcdir:-.}/tests/fixtures
KPROF=$PWD/kprof
# a name of its own: other runs of the tests may run the same program at the same time
NAME=calls$$
PROGRAM= # its pid
export HOME=$WORK PPROF_TMPDIR=$WORK GOFLAGS= GOTOOLCHAIN=local

for tool in gcc g++ objcopy strip python3; do
	command -v $tool >/dev/null || { echo "$tool is missing"; exit 77; }
done

# ---- the program --------------------------------------------------------------------------------

flags="-O2 -g -fno-omit-frame-pointer -Wl,--build-id"
mkdir "$WORK/.debug"
# shellcheck disable=SC2086 # flags are words
{
	g++ $flags -o "$WORK/$NAME" "$FIXTURES/calls.cc" -ldl -lpthread &&
		gcc $flags -shared -fPIC -DNAME=plugin -o "$WORK/plugin.so" "$FIXTURES/calls_library.c" &&
		gcc $flags -shared -fPIC -DNAME=stripped -o "$WORK/stripped.so" \
			"$FIXTURES/calls_library.c" &&
		objcopy --only-keep-debug "$WORK/stripped.so" "$WORK/.debug/stripped.debug" &&
		strip "$WORK/stripped.so" &&
		objcopy --add-gnu-debuglink="$WORK/.debug/stripped.debug" "$WORK/stripped.so"
} || { echo "the program can't be compiled here"; exit 77; }

# those in which it spends its time; plugin_burn is last: only we find the deleted file
BURNERS="burn_recursion with_inlined tail_target burn_signal burn_thread burn_template<int>
	stripped_burn plugin_burn"

serve
put kpctl "event cpu-clock:freq=999"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
mkfifo "$WORK/input"
"$WORK/$NAME" $CPU_MS "$WORK/plugin.so" "$WORK/stripped.so" <"$WORK/input" >"$WORK/said" &
PROGRAM=$!
exec 9>"$WORK/input"
WAIT=300 wait_for grep -q "done" "$WORK/said"
put kpctl stop
# stopped, it is a capture that no longer changes; and the program still runs, so its files are there
[ -e "/proc/$PROGRAM/exe" ] || fail "the program is gone"
check "the library is deleted" [ ! -e "$WORK/plugin.so" ]

# ---- what each says: `FUNCTION SAMPLES`, for the innermost frame ------------------------------------

# count_lines: of `COUNT;FUNCTION` lines, the sum for each of the burners
count_lines() {
	awk -F ';' -v burners="$BURNERS" '
		BEGIN { n = split(burners, name, /[ \t\n]+/) }
		{ for (i = 1; i <= n; i++) if (index($2, name[i])) sum[i] += $1 }
		END { for (i = 1; i <= n; i++) print name[i], sum[i] + 0 }'
}
for view in flat folded pprof perf.data firefox.json trace.json; do
	cat "$MNT/views/$view" >"$WORK/$view" || fail "views/$view: $(tail -n 1 "$MNT/kperr")"
done

"$KPROF" report -m "$MNT" -b process,function -n -T 0 >"$WORK/report" || fail "kprof report"
awk -v name="$NAME" '$4 ~ "^" name || $4 == "calls-worker" { $1 = $3 = $4 = ""; n = $2; $2 = ""; print n ";" $0 }' \
	"$WORK/report" | count_lines >"$WORK/of_report"
while read -r function samples; do
	# cpu-clock gives about one a millisecond; how many is the machine's business
	check "$function was sampled $samples times" [ "$samples" -gt $((CPU_MS / 3)) ]
done <"$WORK/of_report"

# agrees WHAT: $WORK/found is equal to the report, except the lines that match $2
agrees() {
	check "$1 agrees with kprof report" diff <(grep -Ev "^(${2:-nothing}) " "$WORK/of_report") \
		<(grep -Ev "^(${2:-nothing}) " "$WORK/found")
}

awk -v name="$NAME" '$4 == name { n = $2; $1 = $2 = $3 = $4 = ""; print n ";" $0 }' "$WORK/flat" |
	count_lines >"$WORK/found"
agrees flat

# what was inlined counts for the function around it
grep "^$NAME;" "$WORK/folded" | grep -v '_\[k\]' | sed 's/;burn_inlined[^;]*_\[i\]//; s/;[^;]*_\[i\]//g' |
	sed -n 's/^.*;\([^;]*\) \([0-9]*\)$/\2;\1/p' | count_lines >"$WORK/found"
agrees folded

python3 "${srcdir:-.}/tests/fs/firefox.py" "$WORK/firefox.json" >"$WORK/firefox" || fail "firefox.json"
awk -v name="$NAME" '/^thread / { on = $2 == name || $2 == "calls-worker" } on && $1 == "stack" {
	n = $NF; sub(/ [0-9]+$/, ""); sub(/^ *stack /, ""); print n ";" $0 }' "$WORK/firefox" |
	sed 's/;[^;]*)+[0-9]*$//; s/^\([0-9]*\);.*;/\1;/' | count_lines >"$WORK/found"
agrees firefox.json

python3 "${srcdir:-.}/tests/fs/tracejson.py" "$WORK/trace.json" >"$WORK/trace" || fail "trace.json"
awk -v pid=$PROGRAM '$1 == "sample" && $2 == pid { n = $(NF - 1); $NF = $(NF - 1) = ""; print n ";" $0 }' \
	"$WORK/trace" | sed 's/ *$//; s/;burn_inlined[^;]*$//; s/^\([0-9]*\);.*;/\1;/' | count_lines >"$WORK/found"
agrees trace.json

if command -v go >/dev/null; then
	go tool pprof -traces -sample_index=samples -tagfocus="pid=$PROGRAM" "$WORK/pprof" \
		>"$WORK/traces" 2>"$WORK/err" || fail "go tool pprof: $(cat "$WORK/err")"
	# the first line of each stack has its count; an inlined function is a separate line before the
	# one around it; arguments of templates and functions are not shown
	awk '/^-----/ { first = 1; next } /^ *(process|pid|thread|cpu):/ { next }
		first { n = $1; $1 = ""; print n ";" $0; first = /burn_inlined/; if (first) { getline; print n ";" $0; first = 0 } }' \
		"$WORK/traces" | sed 's/burn_template$/&<int>/' | count_lines >"$WORK/found"
	agrees pprof
fi

# perf finds no file that is deleted: its samples are at addresses, as many
if command -v perf >/dev/null; then
	perf report -i "$WORK/perf.data" --stdio --no-inline -n -g none --no-children --pid $PROGRAM \
		--sort dso,sym >"$WORK/perf" 2>"$WORK/err" || fail "perf report: $(cat "$WORK/err")"
	awk '/%/ && !/^#/ { n = $2; if ($3 == "plugin.so") print n ";plugin_burn"; else { $1 = $2 = $3 = ""; print n ";" $0 } }' \
		"$WORK/perf" | count_lines >"$WORK/found"
	agrees "perf report" plugin_burn
	near=$(awk '$1 == "plugin_burn" { print $2 }' "$WORK/found")
	# plugin_enter is in that file too, for an instant
	check "samples in the deleted library" [ "$near" -ge \
		"$(awk '$1 == "plugin_burn" { print $2 }' "$WORK/of_report")" ]
	delivered=$(awk '/^event\.1\.cpu\.[0-9]*\.delivered / { sum += $2 } END { print sum }' "$MNT/kpstat")
	same "all samples of kpstat in perf.data" "$delivered" \
		"$(perf script -i "$WORK/perf.data" -G -F pid 2>/dev/null | wc -l)"
	same "all samples of kpstat in folded" "$delivered" \
		"$(awk '{ sum += $NF } END { print sum }' "$WORK/folded")"
fi

# ---- call trees ---------------------------------------------------------------------------------

# stack WHAT PATTERN: of the program's stacks that match
stack() {
	check "$1" grep -Eq "^$NAME;(.*;)?$2 [0-9]+$" "$WORK/folded"
}
a='\([^;]*\)' # arguments
stack recursion "main;(recurse$a;){5}burn_recursion$a"
stack inlining "main;with_inlined$a;burn_inlined($a)?_\[i\]"
stack "a tail call" "main;tail_target$a"
check "no function returns to tail_caller" [ "$(grep -c tail_caller "$WORK/folded")" = 0 ]
stack "a signal handler" "on_signal;burn_signal$a"
stack "a thread" "thread_main;burn_thread$a"
stack "a template" "main;unsigned long burn_template<int>$a"
stack "a deleted library" "main;plugin_enter;plugin_burn"
stack "a stripped library" "main;stripped_enter;stripped_burn"
# a number behind the pid: what the process was before it executed this program has samples too
check "the thread's name" grep -Eq "^thread calls-worker $PROGRAM(\.[0-9]+)? [0-9]+ False" "$WORK/firefox"

exec 9>&-
ended_well "the program" $PROGRAM
serve_end

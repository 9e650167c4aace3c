#!/bin/bash
# SPDX-License-Identifier: MIT
# trace_spans: the spans and counters of programs in C and C++, as lines, as typed fields of CTF and cpu/N/trace,
# and on the time line of views/trace.json. The duration of a span lies between two that the program
# measured itself.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

serve -o "socket=$KPROF_SOCKET"
put events/all 1

# start PROGRAM: it lives until `finish`
start() {
	mkfifo "$WORK/in"
	"$PWD/tests/fs/$1" <"$WORK/in" >"$WORK/out" &
	PROGRAM=$!
	exec {input}>"$WORK/in"
}

finish() {
	exec {input}>&-
	wait "$PROGRAM" || fail "status $? of the program"
	rm "$WORK/in"
}

ended() {
	grep -qx "$1" "$WORK/out"
}

# lines LABEL: the texts of an event, one on a line
lines() {
	sed -n "s/^.*\] $1: //p" "$WORK/trace"
}

start spanning
wait_for ended open
wait_for has_attached_more 0
cat "$MNT/kptrace" >"$WORK/trace"

same "begins of a scope" "begin number 1
begin number 2" "$(lines test:scope | grep begin)"
same "one that crosses functions, and one that is open" "begin path /index
begin path /open" "$(lines test:request | grep begin)"
same "each has one end" "2 1 1" "$(for name in scope request typed; do
	lines "test:$name" | grep -c '^end duration_us=[0-9]*\.[0-9][0-9][0-9]$'
done | tr '\n' ' ' | sed 's/ $//')"
same "counters" "3 -5 0.25 2.5" \
	"$(for name in connections balance load level; do lines "test:$name"; done | tr '\n' ' ' | sed 's/ $//')"
same "the order of nested ones" "request scope scope request" \
	"$(sed -n 's/^.*\] test:\([a-z]*\): .*/\1/p' "$WORK/trace" | sed -n 3,6p | tr '\n' ' ' | sed 's/ $//')"
same "the kind is in events/info" "name 'test:scope' format 'number %d'" \
	"$(sed -n "s/ id .*//; /test:scope/p" "$MNT/events/info")"

# between the two durations of the program, in the order in which the spans end
sed -n 's/^.*\] test:\([a-z]*\): end duration_us=\(.*\)$/\1 \2/p' "$WORK/trace" >"$WORK/ends"
grep -v open "$WORK/out" | paste -d' ' "$WORK/ends" - | awk '
	$1 != $3 || $2 * 1000 < $4 || $2 * 1000 > $5 { print; bad = 1 }
	END { exit bad || NR != 4 }' >"$WORK/wrong" || fail "durations: $(cat "$WORK/wrong")"

# ---- the same, typed --------------------------------------------------------------------------------

cp -r "$MNT/views/ctf" "$WORK/ctf"
babeltrace2 "$WORK/ctf" >"$WORK/bt" || fail "babeltrace2"
# babeltrace2 prints six digits
sed -n 's/^.*duration_us = \([0-9.]*\).*/\1/p' "$WORK/bt" | paste -d' ' "$WORK/ends" - | awk '
	$3 - $2 > $2 * 1e-5 || $2 - $3 > $2 * 1e-5 { print; bad = 1 }
	END { exit bad || NR != 4 }' >"$WORK/wrong" || fail "durations of CTF: $(cat "$WORK/wrong")"
# ---- on a time line -----------------------------------------------------------------------------------

python3 "${srcdir:-.}/tests/fs/tracejson.py" "$MNT/views/trace.json" >"$WORK/json" || fail "trace.json"
same "spans" "$(awk '{ print "test:" $1, $2 }' "$WORK/ends")" \
	"$(awk '$1 == "span" { printf "%s %.3f\n", $4, $6 }' "$WORK/json")"
same "their texts are those of their begins" "begin number 1|begin number 2|begin path /index|begin id 7" \
	"$(sed -n 's/^mark .* test:[a-z]*: \(begin .*\)/\1/p' "$WORK/json" | paste -sd'|')"
same "the open one" "test:request begin path /open" "$(sed -n 's/^open [0-9]* [0-9]* //p' "$WORK/json")"
same "counters on the time line" "test:connections 3 test:balance -5 test:load 0.25 test:level 2.5" \
	"$(sed -n 's/^counter [0-9]* //p' "$WORK/json" | paste -sd' ')"
kill -9 "$PROGRAM"
wait "$PROGRAM" 2>"$WORK/killed"
exec {input}>&-
rm "$WORK/in"
cat "$MNT/kptrace" >"$WORK/trace"
same "after a kill the open span has no end" "begin path /open" "$(lines test:request | tail -n 1)"

# ---- switches ------------------------------------------------------------------------------------------

put kptrace_ctl clear
put events/all 0
start spanning_cxx
wait_for ended written
wait_for has_attached_more 0
same "off" "" "$(cat "$MNT/kptrace")"
finish
put events/all 1
start spanning_cxx
wait_for ended written
wait_for has_attached_more 0
cat "$MNT/kptrace" >"$WORK/trace"
finish
same "C++: each span has one end, also after an exception" "6" "$(grep -c 'cxx:.*: end duration_us=' "$WORK/trace")"
same "C++: the outer one ends last" "cxx:whole: end" \
	"$(sed -n 's/^.*\] \(cxx:[a-z]*: end\).*/\1/p' "$WORK/trace" | tail -n 1)"
same "C++: scopes end in reverse order" "second lambda" \
	"$(sed -n 's/^.*\] cxx:\(second\|lambda\): end.*/\1/p' "$WORK/trace" | tr '\n' ' ' | sed 's/ $//')"
same "C++: counters" "-3 4 18446744073709551615 0.125 1" "$(lines 'cxx:\(counted\|most\|ratio\|flag\)' | tr '\n' ' ' | sed 's/ $//')"
serve_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_script: kprof script prints what perf script prints of the perf.data that kprof makes of the same
# capture, which is of a program with two functions. Samples in the kernel are left out, since perf names
# their addresses by the running kernel.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

mkcapture=$PWD/tests/fixtures/mkcapture
victim=$PWD/tests/fixtures/victim

command -v objdump >/dev/null && command -v readelf >/dev/null || { echo "no binutils"; exit 77; }
offset() {
	objdump -d -F "$victim" | sed -n "s/.*<$1> (File Offset: \(0x[0-9a-f]*\)).*/\1/p" | head -n 1
}
id=$(readelf -n "$victim" 2>/dev/null | sed -n 's/.*Build ID: //p')
cp "$victim" "$tmp/victim"
one=$(offset victim_one)
# two bytes into the function, so that there is an offset from its begin
two=$(($(offset victim_two) + 2))
"$mkcapture" "$tmp/victim" "$id" "$one" $two stacks >"$tmp/kpdata" || exit 1

# of_program FILE: the paragraphs, or single lines, that begin with the program's name
of_program() {
	awk '/^ *prog / { on = 1 } /^ *[^ \t]/ && !/^ *prog / { on = 0 } on && NF' "$1"
}

kprof_ends 0 script "$tmp/kpdata"
same "the first sample" "prog    10 [000]     0.000000:    1000000 cpu-clock:freq=1000: " "$(sed -n '/^prog/{p;q}' "$tmp/out")"
same "its frame" "$(printf '\t%16x victim_one+0x0 (%s)' "$one" "$tmp/victim")" "$(sed -n '/^prog/{n;p;q}' "$tmp/out")"
same "its caller" "$(printf '\t%16x victim_two+0x3 (%s)' $((two + 1)) "$tmp/victim")" \
	"$(sed -n '/^prog/{n;n;p;q}' "$tmp/out")"
same "all samples" 1100 "$(grep -c '^[^[:space:]]' "$tmp/out")"
same "an empty line after each" 1100 "$(grep -c '^$' "$tmp/out")"
same "the idle task is as in perf" 100 "$(grep -c '^swapper     0 \[001\]' "$tmp/out")"
same "in the order of time" "$(grep -o '[0-9]*\.[0-9]*:' "$tmp/out")" "$(grep -o '[0-9]*\.[0-9]*:' "$tmp/out" | sort -n)"

# lists of fields
kprof_ends 0 script -F time,comm -G "$tmp/kpdata"
same "two fields" "            prog     0.000000: " "$(grep -m 1 prog "$tmp/out")"
kprof_ends 0 script -F -ip,-sym,-dso,-symoff,+pid "$tmp/kpdata"
same "fewer, and one more" "            prog    10/10    [000]     0.000000:    1000000 cpu-clock:freq=1000: " \
	"$(grep -m 1 prog "$tmp/out")"
kprof_ends 2 script -F nonsense "$tmp/kpdata"
kprof_ends 2 script -F +comm,time "$tmp/kpdata"
kprof_ends 2 script -m "$tmp" "$tmp/kpdata"
kprof_ends 1 script "$tmp/nowhere"

# what programs need that read it: a line without an indentation, lines with, an empty line
kprof_ends 0 script "$tmp/kpdata"
awk '/^[^ \t]/ { name = $1 } /^\t/ { sub(/\+.*/, "", $2); stack = ";" $2 stack }
	/^$/ { n[name stack]++; stack = "" }
	END { for (i in n) print i, n[i] }' "$tmp/out" | grep '^prog' | sort >"$tmp/folded"
same "folded" "prog;victim_two;victim_one 700 prog;victim_two;victim_two 300" "$(paste -sd ' ' "$tmp/folded")"
if command -v stackcollapse-perf.pl >/dev/null; then
	same "folded by stackcollapse-perf.pl" "$(cat "$tmp/folded")" \
		"$(stackcollapse-perf.pl "$tmp/out" | grep '^prog' | sort)"
fi

# ---- as perf --------------------------------------------------------------------------------------

# other versions have other columns and blanks
perf --version 2>/dev/null | grep -q ' 6\.1\.' || { echo "no perf 6.1: not compared with it"; [ "$failures" = 0 ]; exit; }
"$KPROF" convert -t perf.data -o "$tmp/perf.data" "$tmp/kpdata" || fail "convert"
export HOME=$tmp # the settings and caches of perf
for arguments in "" "--ns" "-F comm,tid,time,event,ip,sym" "-F comm,pid,tid,cpu,time,event,ip,sym,symoff,dso,period" \
	"-F comm,pid,time,period" "-F comm,cpu,event"; do
	# shellcheck disable=SC2086 # words
	perf script --no-inline -i "$tmp/perf.data" $arguments >"$tmp/perf" 2>"$tmp/perf.err" ||
		fail "perf script $arguments: $(cat "$tmp/perf.err")"
	# shellcheck disable=SC2086 # words
	kprof_ends 0 script $arguments "$tmp/kpdata"
	of_program "$tmp/perf" >"$tmp/theirs"
	of_program "$tmp/out" >"$tmp/ours"
	check=$(wc -l <"$tmp/theirs")
	[ "$check" -ge 1000 ] || fail "perf script $arguments prints $check lines of the program"
	diff "$tmp/theirs" "$tmp/ours" >"$tmp/diff" ||
		fail "not as perf script $arguments: $(head -n 6 "$tmp/diff")"
done
[ "$failures" = 0 ]

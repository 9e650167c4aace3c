#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_perf_options: kprof answers each option of perf with the text of docs/perf-options, or has an option of
# that name. If perf 6.1 is installed, the page lists exactly its options.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

page=${srcdir:-.}/docs/perf-options

# the columns that kprof reads
awk '/^  [ -]/ && !/^  (-.,|   ) --[a-z0-9_-]+ +(same$|other      [^ ]|not here   [^ ])/ ||
	/^  / && match($0, / (same|other|not here)/) != 33' "$page" >"$tmp/bad"
[ ! -s "$tmp/bad" ] || fail "rows of the page have other columns: $(cat "$tmp/bad")"

# answers WORD NAME KIND TEXT: of the row, for this word
answers() {
	kprof_ends 2 $command "$1"
	grep -Fq "no option $1 (perf's --$2 is ${3/other/here}: $4)" "$tmp/err" ||
		fail "kprof $command $1 is not answered: $(cat "$tmp/err")"
}

# rows COMMAND: of the page
rows() {
	awk -v title="perf $1" '/^perf / { on = $0 == title; next } on && NF' "$page"
}

for command in record report stat top script; do
	[ -n "$(rows $command)" ] || fail "no options of perf $command"
	"$KPROF" $command --help >"$tmp/help"
	# the same name, and the same letter if perf has one
	while IFS= read -r row; do
		# a letter that perf does not have may be there
		grep -Eq -- "^  ${row/#    --/(-.,|   ) --} " "$tmp/help" || fail "kprof $command does not have '$row'"
	done < <(rows $command | sed -n 's/^  \(.*--[a-z_-]*\) *same$/\1/p')
	# each other one is answered, unless kprof has an option of that name or letter that does something else
	while IFS= read -r row; do
		letter=${row:2:2} name=${row:8:24} kind=${row:33:9} text=${row:44}
		name=${name%% *} kind=${kind%"${kind##*[! ]}"}
		grep -q -- " --$name" "$tmp/help" || answers "--$name" "$name" "$kind" "$text"
		[ "$letter" = "  " ] || grep -q -- "^  $letter," "$tmp/help" || answers "$letter" "$name" "$kind" "$text"
	done < <(rows $command | grep -E '^.{33}(other|not here) ')
done

# the opposites of options
kprof_ends 2 report --no-children
grep -Fq "no option --no-children (without the option it is off; perf's --children is here: -t, --total)" "$tmp/err" ||
	fail "kprof report --no-children: $(cat "$tmp/err")"
kprof_ends 2 record --no-quiet
grep -Fq "no option --no-quiet (without the option it is off; perf's --quiet is here)" "$tmp/err" ||
	fail "kprof record --no-quiet: $(cat "$tmp/err")"
kprof_ends 2 record --no-nonsense
grep -Fxq "kprof record: no option --no-nonsense; see kprof record --help" "$tmp/err" ||
	fail "kprof record --no-nonsense: $(cat "$tmp/err")"

# a file of perf's
printf 'PERFILE2 and more' >"$tmp/perf.data"
kprof_ends 1 report "$tmp/perf.data"
grep -Fxq "kprof: $tmp/perf.data is a file of perf record: perf report -i $tmp/perf.data reads it" "$tmp/err" ||
	fail "kprof report perf.data: $(cat "$tmp/err")"

perf --version 2>/dev/null | grep -q ' 6\.1\.' || { echo "no perf 6.1: not compared with it"; [ "$failures" = 0 ]; exit; }
for command in record report stat top script; do
	perf $command -h 2>&1 | sed -nE 's/^    (-[A-Za-z0-9], |    )--([a-z0-9_-]+).*/\1--\2/p' | sort -u >"$tmp/perf"
	[ -s "$tmp/perf" ] || fail "perf $command -h lists nothing"
	rows $command | sed -nE 's/^  (-.,|   ) --([a-z0-9_-]+) .*/\1 --\2/p' | sort -u >"$tmp/page"
	diff "$tmp/perf" <(sed 's/^   /   /' "$tmp/page") >"$tmp/diff" || fail "perf $command: $(cat "$tmp/diff")"
done
[ "$failures" = 0 ]

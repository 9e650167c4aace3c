#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_perf_options: kprof answers each command and option of perf with the text of docs/perf-options, or has an option of
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
	said=
	read -rd '' said <"$tmp/err" # without a process: there are hundreds of rows
	[[ $said == *"no option $1 (perf's --$2 is ${3/other/here}: $4)"* ]] ||
		fail "kprof $command $1 is not answered: $said"
}

# rows COMMAND: of the page
rows() {
	awk -v title="perf $1" '/^perf / { on = $0 == title; next } on && NF' "$page"
}

for command in annotate record report stat top script trace list probe; do
	[ -n "$(rows $command)" ] || fail "no options of perf $command"
	"$KPROF" $command --help >"$tmp/help"
	help=$'\n'$(cat "$tmp/help")
	# the same name, and the same letter if perf has one
	while IFS= read -r row; do
		# a letter that perf does not have may be there
		grep -Eq -- "^  ${row/#    --/(-.,|   ) --} " "$tmp/help" || fail "kprof $command does not have '$row'"
	done < <(rows $command | sed -n 's/^  \(.*--[a-z_-]*\) *same$/\1/p')
	# each other one is answered, unless kprof has an option of that name or letter that does something else
	while IFS= read -r row; do
		letter=${row:2:2} name=${row:8:24} kind=${row:33:9} text=${row:44}
		name=${name%% *} kind=${kind%"${kind##*[! ]}"}
		[[ $help == *" --$name"* ]] || answers "--$name" "$name" "$kind" "$text"
		[ "$letter" = "  " ] || [[ $help == *$'\n'"  $letter,"* ]] || answers "$letter" "$name" "$kind" "$text"
	done < <(rows $command | grep -E '^.{33}(other|not here) ')
done

# the opposites of options
kprof_ends 2 record --no-quiet
grep -Fq "no option --no-quiet (without the option it is off; perf's --quiet is here)" "$tmp/err" ||
	fail "kprof record --no-quiet: $(cat "$tmp/err")"
kprof_ends 2 record --no-nonsense
grep -Fxq "kprof record: no option --no-nonsense; see kprof record --help" "$tmp/err" ||
	fail "kprof record --no-nonsense: $(cat "$tmp/err")"

# letters that mean something else here: answered where they may have caused the error
# explains LETTER-TEXT ARGUMENTS...
explains() {
	kprof_ends "$1" report "${@:3}"
	grep -Fxq "kprof report: $2" "$tmp/err" || fail "kprof report ${*:3} is not explained: $(cat "$tmp/err")"
}
explains 1 "-c is --callers (perf's --comms is here: --comms, without the letter)" -c postgres
explains 1 "-d is --diff (perf's --dsos is here: --dsos, without the letter)" -d libc.so.6 "$0"
explains 1 "-t is --total (perf's --field-separator is here: --json)" -t , "$tmp/none"
explains 2 "-T is --percent-limit (perf's --threads is here: --sort tid)" -T
explains 2 "-b is --by (perf's --branch-stack is not here: branches are not recorded)" -b "$tmp/none"
explains 1 "-g is --caller-tree (perf's --call-graph is here: -g, --caller-tree, or -c, --callers)" -g caller
kprof_ends 125 record -m 128 -- true
grep -Fxq "kprof record: -m is --mount (perf's --mmap-pages is here: the word prof_cpubufsz of kpctl)" "$tmp/err" ||
	fail "kprof record -m 128: $(cat "$tmp/err")"
kprof_ends 1 report -c "$page" # it is no capture
! grep -q "(perf's" "$tmp/err" || fail "a letter is explained that did not cause the error: $(cat "$tmp/err")"

# commands of perf
while IFS= read -r row; do
	name=${row:2:31} kind=${row:33:9} text=${row:44}
	name=${name%% *} kind=${kind%"${kind##*[! ]}"}
	if [ "$kind" = same ]; then
		"$KPROF" "$name" --help >"$tmp/out" 2>&1 || fail "kprof does not have $name"
		continue
	fi
	# one of the same name that does something else
	[[ $text == "kprof $name "* ]] && "$KPROF" "$name" --help >"$tmp/out" 2>&1 && continue
	kprof_ends 2 "$name"
	grep -Fxq "kprof: no command $name (perf's $name is ${kind/other/here}: $text); see kprof --help" "$tmp/err" ||
		fail "kprof $name is not answered: $(cat "$tmp/err")"
done < <(rows COMMAND)
kprof_ends 2 repor
grep -Fq "no command repor; nearest: report" "$tmp/err" ||
	fail "kprof repor: $(cat "$tmp/err")"

# a file of perf's
printf 'PERFILE2 and more' >"$tmp/perf.data"
kprof_ends 1 report "$tmp/perf.data"
grep -Fxq "kprof: $tmp/perf.data is a file of perf record: perf report -i $tmp/perf.data reads it" "$tmp/err" ||
	fail "kprof report perf.data: $(cat "$tmp/err")"

perf --version 2>/dev/null | grep -q ' 6\.1\.' || { echo "no perf 6.1: not compared with it"; [ "$failures" = 0 ]; exit; }
perf 2>&1 | sed -nE 's/^   ([a-z0-9-]+) .*/\1/p' | sort >"$tmp/perf"
rows COMMAND | awk '{ print $1 }' | sort >"$tmp/page"
diff "$tmp/perf" "$tmp/page" >"$tmp/diff" || fail "the commands of perf: $(cat "$tmp/diff")"
for command in annotate record report stat top script trace list probe; do
	perf $command -h 2>&1 | sed -nE 's/^    (-[A-Za-z0-9], |    )--([a-z0-9_-]+).*/\1--\2/p' | sort -u >"$tmp/perf"
	[ -s "$tmp/perf" ] || fail "perf $command -h lists nothing"
	rows $command | sed -nE 's/^  (-.,|   ) --([a-z0-9_-]+) .*/\1 --\2/p' | sort -u >"$tmp/page"
	diff "$tmp/perf" <(sed 's/^   /   /' "$tmp/page") >"$tmp/diff" || fail "perf $command: $(cat "$tmp/diff")"
done
[ "$failures" = 0 ]

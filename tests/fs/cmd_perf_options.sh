#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_perf_options: docs/perf-options is what kprof answers by; it has each option of perf, where perf 6.1
# is installed; options that it calls the same are in kprof's tables; others are answered.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

page=${srcdir:-.}/docs/perf-options
kprof_ends 0 --list-perf-options
diff "$page" "$tmp/out" || fail "the page is not what kprof --list-perf-options prints"

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
	done < <(rows $command | sed -n 's/^  \(.*--[a-z-]*\) *same$/\1/p')
	# each other one is answered, unless kprof has an option of that name that does something else
	while read -r name; do
		grep -q -- "--$name " "$tmp/help" && continue
		kprof_ends 2 $command "--$name"
		grep -Eq "no option --$name \(perf's --$name is (here: |not here: ).+\)|is ambiguous" "$tmp/err" ||
			fail "kprof $command --$name is not answered: $(cat "$tmp/err")"
	done < <(rows $command | sed -n 's/^.*--\([a-z-]*\)  *\(other\|not here\)  .*/\1/p' | head -n 12)
done

perf --version 2>/dev/null | grep -q ' 6\.1\.' || { echo "no perf 6.1: not compared with it"; [ "$failures" = 0 ]; exit; }
for command in record report stat top script; do
	perf $command -h 2>&1 | sed -nE 's/^    (-[A-Za-z0-9], |    )--([a-z0-9-]+).*/\1--\2/p' | sort -u >"$tmp/perf"
	[ -s "$tmp/perf" ] || fail "perf $command -h lists nothing"
	rows $command | sed -nE 's/^  (-.,|   ) --([a-z0-9-]+) .*/\1 --\2/p' | sort -u >"$tmp/page"
	diff "$tmp/perf" <(sed 's/^   /   /' "$tmp/page") >"$tmp/diff" || fail "perf $command: $(cat "$tmp/diff")"
done
[ "$failures" = 0 ]

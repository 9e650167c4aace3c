#!/bin/bash
# SPDX-License-Identifier: MIT
# view_perfdata: perf reads views/perf.data in place and finds the numbers of samples and lost samples of
# kpstat, and the functions of a program whose time splits 70:30.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

perf --version >/dev/null 2>&1 || { echo "perf does not run here"; exit 77; }

# perf keeps copies of files and reads settings: not those of this user
export HOME=$WORK

cpu_ms=1000 # of work, at 9999 Hz: 10,000 samples
pages=20000

# near WHAT WANTED PART WHOLE: in percent, within 3 points
near() {
	awk -v wanted="$2" -v part="$3" -v whole="$4" 'BEGIN {
		share = whole ? 100 * part / whole : 0
		exit !(share >= wanted - 3 && share <= wanted + 3)
	}' || fail "$1: $3 of $4, should be $2 %"
}

read_with() {
	perf "$@" -i "$MNT/views/perf.data" 2>"$WORK/perf.err" || fail "perf $*: $(cat "$WORK/perf.err")"
	grep -iE 'incompatible|out of order|no symbols' "$WORK/perf.err" && fail "perf $*"
}

# the sum of a counter over all events and CPUs
sum_of() {
	awk -v name="$1" 'split($1, part, ".") == 5 && part[1] == "event" && part[5] == name { n += $2 }
		END { print n + 0 }' "$MNT/kpstat"
}

serve
need_machine
ctl 'event cpu-clock:freq=9999' 'stack both' clear start
timeout 120 "$FIXTURES/split" "$cpu_ms" >"$WORK/said" || fail split
ctl stop

# ---- all samples --------------------------------------------------------------------------------

read_with script -F comm,ip,sym >"$WORK/script"
# each is a line with its process, then its frames, then an empty line
same "samples" "$(sum_of delivered)" "$(awk '/^$/ { inside = 0; next } !inside++ { n++ } END { print n + 0 }' \
	"$WORK/script")"

# `FUNCTION<CALLER COUNT` of the program: of the two functions and their two callers
awk '
	/^$/ { if (n > 1 && comm == "split") count[f[1] "<" f[2]]++; n = 0; comm = ""; next }
	comm == "" { comm = $1; next }
	{ f[++n] = $2 }
	END { for (name in count) print name, count[name] }' "$WORK/script" >"$WORK/rows"
row() {
	awk -v name="$1" '$1 ~ name { n += $2 } END { print n + 0 }' "$WORK/rows"
}
samples=$(($(row '^burn_seventy<') + $(row '^burn_thirty<')))
at_least "samples in the two functions" 2000 "$samples"
near burn_seventy 70 "$(row '^burn_seventy<')" "$samples"
near "burn_seventy by call_sixty" 40 "$(row '^burn_seventy<call_sixty$')" "$samples"
near "burn_thirty by call_forty" 10 "$(row '^burn_thirty<call_forty$')" "$samples"
same "those of the report, of perf's" "$(samples_in "$MNT/kpdata" split burn_seventy)" \
	"$(row '^burn_seventy')"

read_with report --stdio -g none --no-children --sort comm,sym >"$WORK/report"
grep -q '^# Samples: .* of event .cpu-clock:freq=9999.$' "$WORK/report" || fail "the event's name"
grep -q 'split .* burn_seventy' "$WORK/report" || fail "perf report"
# the kernel's names are those of the running one, by the build-id
if [ "$(awk '$3 == "_stext" { print $1 }' /proc/kallsyms)" != 0000000000000000 ]; then
	grep -q '\[k\] [a-z_]' "$WORK/report" || fail "functions of the kernel"
fi
read_with report --header-only >"$WORK/header"
grep -q "^# os release : $(uname -r)$" "$WORK/header" || fail "the kernel's release"
grep -q "^# hostname : $(uname -n)$" "$WORK/header" || fail "the host's name"

# ---- what was lost ------------------------------------------------------------------------------

ctl 'event page-faults:period=1' 'prof_cpubufsz 16' clear start
hold_up
"$FIXTURES/faults" "$pages" >"$WORK/said" || fail faults
let_go
ctl stop
lost=$(sum_of lost)
at_least "lost page faults" $((pages / 2)) "$lost"
read_with report --stdio -g none --no-children >"$WORK/report"
grep -q "^# Total Lost Samples: $lost$" "$WORK/report" ||
	fail "lost samples: $lost, perf says: $(grep Lost "$WORK/report")"
same "samples" "$(sum_of delivered)" "$(read_with script -G -F pid | wc -l)"

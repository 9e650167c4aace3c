#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_split: A program whose time is split 70:30 between two functions and 60:40 between their callers is
# reported with these shares.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

enough=10000 # samples, for 2 points
cpu_ms=1500  # at 9999 Hz: half as many again
tries=6	     # a CPU that is shared with others may skip samples: longer, then

# near WHAT WANTED PART WHOLE: in percent, within 2 points
near() {
	awk -v wanted="$2" -v part="$3" -v whole="$4" 'BEGIN {
		share = whole ? 100 * part / whole : 0
		exit !(share >= wanted - 2 && share <= wanted + 2)
	}' || fail "$1: $3 of $4, should be $2 %"
}

# rows of the report of $WORK/copy, read by the names of the two functions and the two callers:
# samples of FUNCTION, and those of them with CALLER (`FUNCTION<CALLER`)
read_report() {
	"$KPROF" report --callers "$WORK/copy" >"$WORK/report" || fail "kprof report"
	awk '
	$3 == "<-" { if (inside) print inside "<" $5, $2; next }
	{ inside = $4 == "split" ? $5 : "" }
	inside { print inside, $2 }' "$WORK/report" >"$WORK/rows"
}

row() {
	awk -v name="$1" '$1 == name { n += $2 } END { print n + 0 }' "$WORK/rows"
}

# total FUNCTION: its share with all that it calls, in hundredths of a percent
total() {
	"$KPROF" report --total "$WORK/copy" | awk -v name="$1" '
		$5 == "split" && $6 == name { sub("%", "", $1); n += $1 * 100 } END { print n + 0 }'
}

serve
need_machine
ctl 'event cpu-clock:freq=9999' 'stack both'

samples=0
for ((try = 0; try < tries && samples < enough; try++)); do
	ctl clear start
	timeout 120 "$FIXTURES/split" "$cpu_ms" >"$WORK/said" || fail "split"
	ctl stop
	copy_to "$WORK/copy"
	read_report
	seventy=$(row burn_seventy)
	thirty=$(row burn_thirty)
	samples=$((seventy + thirty))
	cpu_ms=$((cpu_ms * 2))
done
at_least "samples" "$enough" "$samples"
echo "$samples samples, burn_seventy $seventy, burn_thirty $thirty"

# by the program's own count its work was divided as intended
read -r _ a b c d <"$WORK/said"
near "units of burn_seventy" 70 $((a + c)) $((a + b + c + d))
same "units, ten by ten" "4 2 3 1" \
	"$((a * 10 / (a + b + c + d))) $((b * 10 / (a + b + c + d))) $((c * 10 / (a + b + c + d))) $((d * 10 / (a + b + c + d)))"

near burn_seventy 70 "$seventy" "$samples"
near burn_thirty 30 "$thirty" "$samples"
near "burn_seventy by call_sixty" 40 "$(row 'burn_seventy<call_sixty')" "$samples"
near "burn_thirty by call_sixty" 20 "$(row 'burn_thirty<call_sixty')" "$samples"
near "burn_seventy by call_forty" 30 "$(row 'burn_seventy<call_forty')" "$samples"
near "burn_thirty by call_forty" 10 "$(row 'burn_thirty<call_forty')" "$samples"

sixty=$(total call_sixty)
forty=$(total call_forty)
near "call_sixty and all that it calls" 60 "$sixty" $((sixty + forty))
near "main and all that it calls" 100 "$(total main)" $((sixty + forty))

# nearly all of the program's samples are in the two functions
all=$(awk '$1 !~ /</ { n += $2 } END { print n + 0 }' "$WORK/rows")
at_least "percent of the samples in the two functions" 80 $((100 * samples / all))

#!/bin/bash
# SPDX-License-Identifier: MIT
# akaros: Akaros's own decoder reads kpdata. akaros.py converts a run of the whole machine by its rules,
# which know the types 1 to 4 only, and perf reads the resulting file.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

python3 -c '' 2>/dev/null || { echo "no python3 here"; exit 77; }

said() {
	sed -n "s/^$1 //p" "$WORK/said"
}

serve
need_machine
ctl 'event cpu-clock:freq=999' 'stack both' clear start
timeout 120 "$FIXTURES/split" 300 >/dev/null || fail split
ctl stop
copy_to "$WORK/kpdata"
python3 "${srcdir:-.}/tests/fs/akaros.py" "$WORK/kpdata" "$WORK/perf.data" >"$WORK/said" 2>&1 ||
	{ fail "Akaros's decoder: $(tail -n 1 "$WORK/said")"; exit 1; }
same "samples" "$(stat_of samples.received)" "$(said samples)"
at_least "samples" 100 "$(said samples)"
at_least "mappings" 5 "$(said mappings)"
at_least "processes" 2 "$(said processes)"
# EVENT, CLOCK, and the kernel's mappings in a type of their own
for kind in 64 71 75; do
	check "type $kind is there" grep -Eq "^skipped types .*\b$kind\b" "$WORK/said"
done

# what perf makes of the converter's file
if perf --version >/dev/null 2>&1; then
	HOME=$WORK perf script -i "$WORK/perf.data" -G -F pid >"$WORK/script" 2>"$WORK/perf.err" ||
		fail "perf script: $(cat "$WORK/perf.err")"
	same "samples that perf shows" "$(said samples)" "$(wc -l <"$WORK/script")"
	HOME=$WORK perf report --stdio -g none --no-children -i "$WORK/perf.data" --sort comm,dso \
		>"$WORK/report" 2>"$WORK/perf.err" || fail "perf report: $(cat "$WORK/perf.err")"
	check "the program and its file" grep -Eq ' split +split' "$WORK/report"
fi

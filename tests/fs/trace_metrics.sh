#!/bin/bash
# SPDX-License-Identifier: MIT
# trace_metrics: spans and counters of programs in views/metrics: each span is counted once, however often they are read,
# with a sum that lies between those that the program measured.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"
# shellcheck source=tests/fs/metrics_lib.sh
. "${srcdir:-.}/tests/fs/metrics_lib.sh"

counted() {
	read_metrics
	[ "$(metric 'kprofs_span_seconds_count span=test:scope')" = "$1" ]
}

serve -o "socket=$KPROF_SOCKET"
put events/all 1
read_metrics
same "no program has spans" 0 "$(grep -c '^kprofs_span\|^kprofs_program' "$WORK/metrics")"

mkfifo "$WORK/in"
exec 5<>"$WORK/in"
"$PWD/tests/fs/spanning" <"$WORK/in" >"$WORK/out" 5>&- &
PROGRAM=$!
wait_for counted 2
read_metrics
same "each once" 2 "$(metric 'kprofs_span_seconds_count span=test:scope')"
same "one that crosses functions" 1 "$(metric 'kprofs_span_seconds_count span=test:request')"
# the program measures each within and around it
check "the sum" awk -v sum="$(metric 'kprofs_span_seconds_sum span=test:scope')" '$1 == "scope" { low += $2; high += $3 }
	END { exit !(sum * 1e9 >= low - 1 && sum * 1e9 <= high + 1) }' "$WORK/out"
same "all durations have a bucket" 2 "$(metric 'kprofs_span_seconds_bucket span=test:scope,le=+Inf')"
check "none is below 2 ms" [ "$(metric 'kprofs_span_seconds_bucket span=test:scope,le=0.002097151' || echo 0)" = 0 ]
name=$(sed -n 's/^kprofs_program_value counter=test:connections,\(.*\) [^ ]*$/\1/p' "$WORK/metrics")
same "the process of a counter" "program=spanning,pid=$PROGRAM" "$name"
same "an integer" 3 "$(metric "kprofs_program_value counter=test:connections,$name")"
same "a negative one" -5 "$(metric "kprofs_program_value counter=test:balance,$name")"
same "a fraction" 0.25 "$(metric "kprofs_program_value counter=test:load,$name")"
# as OpenMetrics has them, or a scraper refuses the whole text
same "what is no number" NaN "$(sed -n 's/^kprofs_program_value{counter="test:unknown",.*} //p' "$MNT/views/metrics")"
same "what is endless" -Inf "$(sed -n 's/^kprofs_program_value{counter="test:endless",.*} //p' "$MNT/views/metrics")"
echo >&5
exec 5>&-
wait_for has_ended "$PROGRAM"
wait "$PROGRAM" || fail "the program failed with $?"
counted 2 || fail "spans of a program that has ended: $(metric 'kprofs_span_seconds_count span=test:scope')"
put kptrace_ctl clear
read_metrics
same "what was counted stays" 2 "$(metric 'kprofs_span_seconds_count span=test:scope')"
same "nothing was left out" 0 "$(metric kprofs_span_ends_left_out)"

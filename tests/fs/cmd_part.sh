#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_part: the options that select a part of a capture, on one whose figures are known (mkstory).
# shellcheck source=tests/fs/view_lib.sh
. "${srcdir:-.}/tests/fs/view_lib.sh"

# part OPTION...: the samples that `kprof convert` writes
part() {
	"$kprof" convert -t folded "$@" "$tmp/kpdata" 2>"$tmp/err" | awk '{ n += $NF } END { print n + 0 }'
}
same "all" 1250 "$(part)"
same "--pid" 950 "$(part --pid 10)"
same "--tid" 300 "$(part --tid 11)"
same "--pid and --event" 50 "$(part --pid 10 --event page-faults:period=7)"
same "--event" 1200 "$(part --event cycles:freq=1000)"
same "--comm" 100 "$(part --comm child)"
same "--exe" 1050 "$(part --exe "$tmp/victim")"
same "--pid idle" 150 "$(part --pid idle)"
same "--pid gone" 50 "$(part --pid gone)"
same "two CPUs" 1250 $(($(part --cpu 0) + $(part --cpu 1)))

# by kprof dump: the times
"$kprof" dump "$tmp/kpdata" | awk '$2 ~ /_trace$/ { sub(/.*=/, "", $3); print $3 }' | sort -n >"$tmp/times"
middle=$(sed -n 700p "$tmp/times")
seconds=$(printf '%d.%09d' $((middle / 1000000000)) $((middle % 1000000000)))
before=$(awk -v t="$middle" '$1 < t { n++ } END { print n + 0 }' "$tmp/times")
same "--until" "$before" "$(part --until "$seconds")"
same "--since" $((1250 - before)) "$(part --since "$seconds")"
same "--last" $((1250 - before)) "$(part --last $(($(tail -n 1 "$tmp/times") - middle))ns)"

# the other commands, and a stream
same "script" 100 "$("$kprof" script --comm child -G -F comm,time "$tmp/kpdata" | grep -c child)"
same "script on a stream" 100 "$(cat "$tmp/kpdata" | "$kprof" script --comm child -G -F comm,time - | grep -c child)"
same "report" 300 "$("$kprof" report --tid 11 --json "$tmp/kpdata" | grep -o '"samples": *[0-9]*' | head -n 1 | grep -o '[0-9]*$')"
"$kprof" report --html "$tmp/page" --pid 10 "$tmp/kpdata" || fail "report --html --pid"
"$kprof" annotate --pid 20 victim_one "$tmp/kpdata" >"$tmp/code" || fail "annotate --pid"
! "$kprof" annotate --pid 20 victim_two "$tmp/kpdata" >"$tmp/code" 2>&1 || fail "annotate shows what is not in the part"

# refused COMMAND...: with status 2 and the reason
refused() {
	local reason=$1 status=0
	shift
	"$kprof" "$@" "$tmp/kpdata" >/dev/null 2>"$tmp/err" || status=$?
	same "status of $*" 2 "$status"
	grep -qF -- "$reason" "$tmp/err" || fail "$*: $(cat "$tmp/err")"
}
refused "'10' is no duration" report --last 10
refused "'x' is no number of a process" script --pid x
refused "'pid' is given twice" convert -t flat --pid 1 --pid 2
refused "'now' is no time" annotate --since now main
"$kprof" report --pid 7 "$tmp/kpdata" >/dev/null 2>"$tmp/err" && fail "a part without samples is no error"
grep -q "no sample is there with pid 7, and 83 were lost" "$tmp/err" || fail "$(cat "$tmp/err")"

exit $failed

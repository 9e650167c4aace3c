#!/bin/bash
# SPDX-License-Identifier: MIT
# view_perfdata_files: perf reads the perf.data file of a known capture and finds its samples, mappings and
# events.
# shellcheck source=tests/fs/view_lib.sh
. "${srcdir:-.}/tests/fs/view_lib.sh"

need perf
perf --version >/dev/null 2>&1 || { echo "perf does not run here"; exit 77; }

# perf keeps copies of files and reads settings: not those of this user
export HOME=$tmp

convert perf.data "$tmp/perf.data"

read_with() {
	perf "$@" -i "$tmp/perf.data" 2>"$tmp/perf.err"
	! grep -qiE 'incompatible|unordered|out of order|fail|error|no symbols' "$tmp/perf.err" ||
		fail "perf $*: $(cat "$tmp/perf.err")"
}

# ---- every sample ---------------------------------------------------------------------------------

# comm pid/tid cpu event period function, each with how often
read_with script -G -F comm,pid,tid,cpu,event,period,ip,sym >"$tmp/script"
sed -E 's/ [0-9a-f]+ ([^ ]+)( *)$/ \1/; s/ +/ /g; s/^ //' "$tmp/script" | sort | uniq -c |
	awk '{ $1 = $1; print }' >"$tmp/counts"
sort >"$tmp/expected" <<'END'
600 prog 10/10 [000] 1000 cycles:freq=1000: victim_one
300 worker 10/11 [000] 1000 cycles:freq=1000: victim_two
100 child 20/20 [001] 1000 cycles:freq=1000: victim_one
150 swapper 0/0 [001] 1000 cycles:freq=1000: [unknown]
50 [gone] -1/-1 [001] 1000 cycles:freq=1000: [unknown]
50 prog 10/10 [000] 7 page-faults:period=7: victim_two
END
diff "$tmp/expected" <(sort "$tmp/counts") || fail "the samples of perf script"

# in order of time, though the capture is not; the first and the last one
read_with script -G -F time >"$tmp/times"
sort -n -c "$tmp/times" || fail "the order of perf script"
same "the first and the last time" "0.020000: 0.999000:" \
	"$(echo $(head -n 1 "$tmp/times") $(tail -n 1 "$tmp/times"))"
same "the wall clock" "2023-11-14 22:13:20.019000" \
	"$(TZ=UTC read_with script -G -F tod | head -n 1 | awk '{ sub(":$", "", $2); print $1, $2 }')"

# ---- the stacks -----------------------------------------------------------------------------------

same "the callers of victim_one" "600 victim_one victim_two" \
	"$(read_with script --comms prog -F event,ip,sym | awk '
		/^[^ \t].*:|cycles/ && !/victim/ { next }
		NF { stack = stack " " $2; next }
		stack ~ /one/ { n[stack]++ }
		{ stack = "" }
		END { for (s in n) print n[s] s }')"
read_with report --stdio --no-children -g caller,0 --comm prog >"$tmp/graph"
awk '/victim_one/ && !one { one = NR } /victim_two/ && one && NR > one { found = 1 } END { exit !found }' \
	"$tmp/graph" || { fail "perf report -g"; cat "$tmp/graph"; }

# ---- reports --------------------------------------------------------------------------------------

read_with report --stdio -g none --no-children --sort comm,sym -F overhead,sample,comm,sym -t, >"$tmp/report"
# 1200 samples of the first event, all with the same period: 600 are 50 %
for row in 50.00%,600,prog,victim_one 25.00%,300,worker,victim_two 8.33%,100,child,victim_one; do
	IFS=, read -r share samples comm symbol <<<"$row"
	awk -F, -v share="$share" -v samples="$samples" -v comm="$comm" -v symbol="$symbol" '
		{ gsub(/ /, ""); sub(/\[[.k]\]/, "") }
		$1 == share && $2 == samples && $3 == comm && $4 == symbol { found = 1 }
		END { exit !found }' "$tmp/report" || { fail "perf report: $row"; cat "$tmp/report"; }
done
grep -q '^# Samples: 1K of event .cycles:freq=1000.$' "$tmp/report" || fail "the first event"
grep -q '^# Event count (approx.): 1200000$' "$tmp/report" || fail "what its samples stand for"
grep -q '^# Samples: 50  *of event .page-faults:period=7.$' "$tmp/report" || fail "the second event"
grep -q '^# Event count (approx.): 350$' "$tmp/report" || fail "what its samples stand for"
grep -q '^# Total Lost Samples: 83$' "$tmp/report" || fail "41 + 42 lost samples"

read_with report --stats --stdio >"$tmp/stats"
for row in "SAMPLE 1250" "FORK 2" "EXIT 1" "LOST_SAMPLES 2" "THROTTLE 1" "UNTHROTTLE 1" "MMAP 1" "MMAP2 1"; do
	read -r kind count <<<"$row"
	awk -v kind="$kind" -v count="$count" '$1 == kind && $2 == "events:" && $3 == count { found = 1; exit }
		END { exit !found }' "$tmp/stats" || { fail "events of kind $kind"; cat "$tmp/stats"; }
done

# ---- the header -----------------------------------------------------------------------------------

read_with report --header-only >"$tmp/header"
grep -q '^# event : name = cycles:freq=1000, ' "$tmp/header" || fail "the first event's name"
grep -q '^# event : name = page-faults:period=7, ' "$tmp/header" || fail "the second event's name"
grep -q '^# clockid: monotonic (1)$' "$tmp/header" || fail "the clock"
grep -q '^# perf version : kprofs ' "$tmp/header" || fail "who wrote it"
grep -q '^# hostname' "$tmp/header" && fail "a host, though the capture is of no machine"
read_with buildid-list >"$tmp/ids"
grep -q "^$id .*/victim$" "$tmp/ids" || fail "the build-id of the program: $(cat "$tmp/ids")"
grep -q '^6e6f206b65726e656c20686173207468697320*69 ' "$tmp/ids" ||
	fail "the build-id of the kernel"

# the file that the samples were taken in is another one now: perf must not take it
cp "$kprof" "$tmp/victim"
read_with script -G -F sym >"$tmp/script" || true
grep -q victim_one "$tmp/script" && fail "functions of another file"

exit $failed

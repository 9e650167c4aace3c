#!/bin/bash
# SPDX-License-Identifier: MIT
# view_pprof: go tool pprof reads the profile of a known capture and finds its functions and samples.
# shellcheck source=tests/fs/view_lib.sh
. "${srcdir:-.}/tests/fs/view_lib.sh"

need go gzip
go tool pprof -h >/dev/null 2>&1
[ $? -le 2 ] || { echo "go tool pprof does not run here"; exit 77; }

# pprof keeps things at home, and go looks there for settings
export HOME=$tmp PPROF_TMPDIR=$tmp GOFLAGS= GOTOOLCHAIN=local

convert pprof "$tmp/profile.pb.gz"
gzip -t "$tmp/profile.pb.gz" || fail "gzip"

pprof() {
	go tool pprof "$@" "$tmp/profile.pb.gz" 2>"$tmp/pprof.err" || fail "pprof $*: $(cat "$tmp/pprof.err")"
}

# ---- functions and their shares -------------------------------------------------------------------

# `flat share cum share name` of the 1,050 samples that are not of the idle task. Those of the task
# that had ended are at an address without a name.
pprof -top >"$tmp/top"
awk '/flat%/ { on = 1; next } on { print $1, $2, $4, $5, $6 }' "$tmp/top" | sort >"$tmp/rows"
sort >"$tmp/expected" <<'END'
700000 66.67% 700000 66.67% victim_one
300000 28.57% 900000 85.71% victim_two
50000 4.76% 50000 4.76% 0xffffffff81000010
END
diff "$tmp/expected" "$tmp/rows" || { fail "pprof -top"; cat "$tmp/top"; }
grep -q '^Type: cycles:freq=1000$' "$tmp/top" || fail "the event: $(head -n 8 "$tmp/top")"
grep -q '^File: victim$' "$tmp/top" || fail "the file: $(head -n 8 "$tmp/top")"
grep -q '^Duration: 979ms' "$tmp/top" || fail "the duration: $(head -n 8 "$tmp/top")"

same "samples" "victim_one 700 victim_two 300" "$(pprof -top -sample_index='cycles:freq=1000 samples' |
	awk '/victim_/ { print $6, $1 }' | sort | xargs)"
same "the second event" "victim_two 350" "$(pprof -top -sample_index=page-faults:period=7 |
	awk '/victim_/ { print $6, $1 }' | sort | xargs)"
same "the samples of the second event" "victim_two 50" \
	"$(pprof -top -sample_index='page-faults:period=7 samples' | awk '/victim_/ { print $6, $1 }' | sort | xargs)"
same "who calls victim_one" "600000 victim_two" "$(pprof -peek victim_one |
	awk '$NF == "victim_two" && $1 ~ /^[0-9]+$/ { print $1, $NF; exit }')"

# ---- labels, files, comments ----------------------------------------------------------------------

pprof -tags -sample_index='cycles:freq=1000 samples' >"$tmp/tags"
for tag in 900:prog 100:child 50:'[gone]' 900:0 150:1; do
	grep -qE "^ *${tag%%:*}(\.0)? \( *[0-9.]+%\): $(sed 's/[][]/\\&/g' <<<"${tag#*:}")$" "$tmp/tags" ||
		{ fail "label $tag"; cat "$tmp/tags"; }
done
# numbers are shown in ranges, and their powers of two: one process each here
same "the samples of process 20" "victim_one 100" "$(pprof -top -tagfocus=pid=20 \
	-sample_index='cycles:freq=1000 samples' | awk '/victim_/ { print $6, $1 }' | xargs)"
same "the samples of thread 11" "victim_two 300" "$(pprof -top -tagfocus=thread=11 \
	-sample_index='cycles:freq=1000 samples' | awk '/victim_/ { print $6, $1 }' | xargs)"
pprof -raw >"$tmp/raw"
grep -q "/victim $id \[FN\]\[FL\]\[LN\]" "$tmp/raw" || { fail "the file"; grep -A5 Mappings "$tmp/raw"; }
pprof -comments >"$tmp/comments"
grep -q '^cycles:freq=1000: 1200 samples, 150 of them idle, 41 lost (3.30%: 41 in a full ring), throttled 1 time for 0.004 s$' \
	"$tmp/comments" || { fail "the first event's comment"; cat "$tmp/comments"; }
grep -q '^page-faults:period=7: 50 samples, 0 of them idle, 42 lost ' "$tmp/comments" ||
	fail "the second event's comment"

exit $failed

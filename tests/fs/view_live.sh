#!/bin/bash
# SPDX-License-Identifier: MIT
# view_live: The tools read views of a new capture in place. Each view has all samples, and the same shares
# of a program with known shares.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# a name of its own: other runs of the tests may run the same program at the same time
NAME=split$$
SPLIT=$WORK/$NAME
cp "$PWD/tests/fixtures/split" "$SPLIT"
# go looks there for settings, and pprof keeps things there
export HOME=$WORK PPROF_TMPDIR=$WORK GOFLAGS= GOTOOLCHAIN=local

have() {
	command -v "$1" >/dev/null || { echo "$1 is missing: its part is skipped"; return 1; }
}

serve

# ---- metrics: there before anything is captured ---------------------------------------------------

# metric NAME[ LABEL=VALUE,...]: its value
metric() {
	awk -v name="$1" '{ value = $NF; sub(/ [^ ]*$/, "") } $0 == name { print value }' "$WORK/metrics"
}
read_metrics() {
	cat "$MNT/views/metrics" >"$WORK/metrics.txt" || fail "views/metrics can't be read"
	python3 "${srcdir:-.}/tests/fs/openmetrics.py" "$WORK/metrics.txt" >"$WORK/metrics" ||
		fail "metrics"
	# in Debian's package prometheus, which ./check installs
	if command -v promtool >/dev/null; then
		promtool check metrics <"$WORK/metrics.txt" || fail "promtool"
	fi
}
if have python3; then
	put mpstat off # so that its times stand still
	read_metrics
	same "CPUs in metrics" "$(grep -c : "$MNT/mpstat-raw")" \
		"$(grep -c '^kprofs_mpstat_seconds .*state=idle' "$WORK/metrics")"
	read -r _ _ _ user _ <<<"$(grep ' 0: ' "$MNT/mpstat-raw")"
	same "user time of CPU 0" "$(printf '%d' "0x$user")" \
		"$(metric kprofs_mpstat_seconds\ cpu=0,state=user | sed 's/\.//; s/^0*\(.\)/\1/')"
fi

put kpctl "event cpu-clock:freq=999"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
"$SPLIT" 1000 >/dev/null
put kpctl stop
cat "$MNT/views/folded" >"$WORK/folded" || fail "views/folded can't be read"

# in_folded PATTERN: the samples of the stacks that match; idle and the server have separate lines
in_folded() {
	grep -E -- "$1" "$WORK/folded" | awk '{ sum += $NF } END { print sum + 0 }'
}
delivered=$(awk '/^event\.1\.cpu\.[0-9]*\.delivered / { sum += $2 } END { print sum }' "$MNT/kpstat")
idle=$(in_folded '^\[idle\] ')
own=$(in_folded '^\[kprofs\] ')
busy=$((delivered - idle - own))
check "the program was sampled" [ "$(in_folded "^$NAME;")" -gt 100 ]

if have python3; then
	read_metrics
	same "delivered in metrics" "$delivered" "$(awk '/^kprofs_event_cpu_delivered event=1,/ { sum += $NF }
		END { print sum }' "$WORK/metrics")"
	same "bytes in metrics" "$(stat_of bytes.held)" "$(metric kprofs_bytes_held)"
	same "the event in metrics" 1 "$(metric 'kprofs_event_text_info event=1,text=cpu-clock:freq=999')"
fi

# ---- pprof --------------------------------------------------------------------------------------

if have go; then
	go tool pprof -raw -sample_index=samples "$MNT/views/pprof" >"$WORK/raw" 2>"$WORK/raw.err" ||
		fail "go tool pprof: $(cat "$WORK/raw.err")"
	# `SAMPLES WEIGHT: LOCATION...`
	same "the samples in pprof" $busy \
		"$(awk '/^Locations/ { exit } on && $2 ~ /:$/ { sum += $1 } /^Samples:/ { on = 1 }
			END { print sum + 0 }' "$WORK/raw")"
	go tool pprof -top -cum -nodefraction=0 -nodecount=100000 -focus='^main$' -sample_index=samples \
		"$MNT/views/pprof" >"$WORK/top" 2>/dev/null || fail "go tool pprof -top"
	for function in call_sixty call_forty burn_seventy burn_thirty; do
		same "$function in pprof" "$(in_folded ";main;(.*;)?$function[; ]")" \
			"$(awk -v f=$function '$6 == f { print $4 }' "$WORK/top")"
	done
fi

# ---- firefox.json ---------------------------------------------------------------------------------

if have python3; then
	cat "$MNT/views/firefox.json" >"$WORK/firefox.json" || fail "views/firefox.json can't be read"
	python3 "${srcdir:-.}/tests/fs/firefox.py" "$WORK/firefox.json" >"$WORK/firefox" ||
		fail "firefox.json"
	same "the samples in firefox.json" $busy \
		"$(awk '/^thread / { sum += $NF } END { print sum + 0 }' "$WORK/firefox")"
	for function in call_sixty call_forty burn_seventy burn_thirty; do
		same "$function in firefox.json" "$(in_folded "^$NAME;(.*;)?$function[; ]")" \
			"$(awk -v f=$function -v name="$NAME" '/^thread / { on = $2 == name }
				on && $1 == "total" && $2 == f { sum += $3 } END { print sum + 0 }' \
				"$WORK/firefox")"
	done
fi

# ---- trace.json -----------------------------------------------------------------------------------

if have python3; then
	cat "$MNT/views/trace.json" >"$WORK/trace.json" || fail "views/trace.json can't be read"
	python3 "${srcdir:-.}/tests/fs/tracejson.py" "$WORK/trace.json" >"$WORK/trace" || fail "trace.json"
	same "the samples in trace.json" $busy \
		"$(awk '/^sample / { sum += $(NF - 1) } END { print sum + 0 }' "$WORK/trace")"
	for function in call_sixty call_forty burn_seventy burn_thirty; do
		same "$function in trace.json" "$(in_folded ";main;(.*;)?$function[; ]")" \
			"$(awk -v f=";$function" '/^sample / && /;main;/ && index($0 ";", f) {
				n = $(NF - 1); $0 = $(NF - 2) ";"; if (index($0, f ";")) sum += n }
				END { print sum + 0 }' "$WORK/trace")"
	done
fi

serve_end

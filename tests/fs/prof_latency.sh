#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_latency: Samples arrive during the run, also if no ring becomes full. `stop` ends all readers after
# the last sample. Reads of a stopped capture return the same bytes at any time. Latencies are printed and
# not asserted; bench/ measures them.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

reading=${READING:-$PWD/bench/reading}

# the samples of a copy, by their times
samples_of() {
	"$KPROF" dump "$1" >"$WORK/dump" || fail "kprof dump $1"
	grep -E '^[0-9]+ (kern|user)_trace ' "$WORK/dump" | cut -d ' ' -f 2-
}

# a copy without its first record, CLOCK, which has the time of the open
without_clock() {
	local behind
	behind=$("$KPROF" dump "$1" | sed -n '1 s/^0 clock .*/clock/p; 2 { s/ .*//p; q }' | tr '\n' ' ')
	[[ $behind == "clock "* ]] || fail "$1 does not begin with CLOCK"
	tail -c +$((${behind#clock } + 1)) "$1"
}

has_samples() {
	"$KPROF" dump -m "$MNT" >"$WORK/dump" || fail "kprof dump"
	[ "$(grep -cE '^[0-9]+ (kern|user)_trace ' "$WORK/dump")" -ge "$1" ]
}

serve
need_machine
"$FIXTURES/split" 600000 >"$WORK/said" &
split=$!

# 50 samples a second would fill half a ring after some minutes
ctl 'event cpu-clock:freq=50' clear start
timeout 60 "$FIXTURES/arrival" "$MNT/kpdata" 100 >"$WORK/said" ||
	fail "samples do not come while it runs"
echo "age of samples when they can be read: $(cat "$WORK/said")"
ctl stop

# the first sample after a start, announced processes and all
ctl 'event default' clear
ASAN_OPTIONS=detect_leaks=0 timeout 60 "$reading" first "$MNT/kpctl" "$MNT/kpdata" >"$WORK/said" || fail "no first sample"
read -r start first <"$WORK/said"
echo "start took $((start / 1000)) us, the first sample came $((first / 1000)) us later"

# a reader that waits gets end of file at the stop, and has all that was taken
cat "$MNT/kpdata" >"$WORK/follower" &
follower=$!
wait_for test -s "$WORK/follower"
wait_for has_samples 500
ctl stop
wait_for has_ended "$follower"
wait "$follower" || fail "the reader that waited ended with status $?"
samples_of "$WORK/follower" >"$WORK/followed"
same "samples of the one that followed" "$(stat_of samples.received)" "$(wc -l <"$WORK/followed")"

# a second one gets the same samples
copy_to "$WORK/second"
samples_of "$WORK/second" >"$WORK/held"
check "the second reader" cmp "$WORK/followed" "$WORK/held"

# two readers at once get the same bytes, and so does a later one, with reads of any size
cat "$MNT/kpdata" >"$WORK/one" &
one=$!
dd if="$MNT/kpdata" of="$WORK/two" bs=1500 status=none || fail "dd"
wait "$one" || fail "cat"
copy_to "$WORK/three"
without_clock "$WORK/second" >"$WORK/want"
check "there is something to compare" test "$(wc -c <"$WORK/want")" -gt 10000
for copy in one two three; do
	without_clock "$WORK/$copy" >"$WORK/got"
	check "copy $copy" cmp "$WORK/want" "$WORK/got"
done

# each read at the end returns end of file
exec 3<"$MNT/kpdata"
cat <&3 >"$WORK/got"
same "behind the end" "" "$(cat <&3)"
ctl start
wait_for has_samples 600
ctl stop
check "a place at the end goes on from there" test "$(cat <&3 | wc -c)" -gt 100
exec 3<&-

kill "$split"
wait "$split"

#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_queue: With the smallest kpdata, a reader that is too slow misses samples, and the LOST records in
# its stream have the same count as kpstat, in the modes discard and overwrite.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

pages=150000 # twice as many without a stack are more than the smallest kpdata holds, packed

load() {
	timeout 60 "$FIXTURES/faults" "$pages" || fail "faults"
}

# the sampler has drained all samples of the load
stat_beyond() {
	local now
	ctl flush
	now=$(stat_of "$1")
	[ "${now:-0}" -gt "$2" ]
}

larger_than() {
	[ "$(stat -c %s "$1")" -gt "$2" ]
}

# the stream of a reader that was open from the beginning has the counts of kpstat
check_stream() {
	local received
	cat "$MNT/kpstat" >"$WORK/stat"
	check_balance "$WORK/stat" "$1" 1
	received=$(sed -n 's/^samples\.received //p' "$WORK/stat")
	same "$2: received" "$received" $((delivered + lost))
	# rings large enough that nothing is lost but in the queue
	same "$2: lost in rings" 0 "$(sed -n 's/^samples\.lost_ring //p' "$WORK/stat")"
	same "$2: lost in the queue" "$lost" "$(sed -n 's/^samples\.lost_queue //p' "$WORK/stat")"
	at_least "$2: lost" 10000 "$lost"
	at_least "$2: delivered" 10000 "$delivered"
	echo "$2: $received = $delivered + $lost, in $(grep -c ' lost ' "$WORK/dump") LOST records"
}

# losses_stand_inside FILE: samples come before and after LOST records of the reason
losses_stand_inside() {
	awk -v reason="reason=$1" '
		$2 ~ /_trace$/ && !lost { before++ }
		$2 ~ /_trace$/ && lost { after++ }
		$2 == "lost" && $5 == reason { lost++ }
		END { exit !(before && lost && after) }' "$WORK/dump" ||
		fail "LOST records ($1) do not stand where samples are missing"
}

serve
need_machine
ctl 'event page-faults:period=1' 'stack none' 'prof_cpubufsz 8192' 'prof_qlimit 1024' clear
same "smallest queue" 1024 "$(sed -n 's/^prof_qlimit //p' "$MNT/kpctl")"

# discard: the reader takes a little, waits until more was lost, takes a little, ...
ctl 'mode discard' start
exec 3<"$MNT/kpdata"
: >"$WORK/copy"
lost=0
for turn in 1 2 3 4; do
	load
	wait_for stat_beyond samples.lost_queue "$lost"
	lost=$(stat_of samples.lost_queue)
	head -c 2000000 <&3 >>"$WORK/copy" || fail "a read in turn $turn"
done
# what is held is bounded; what is kept of tasks beside is part of it
check "what is held" test "$(stat_of bytes.memory)" -le $((1024 * 1024))
at_least "records in it" $((1024 * 1024)) "$(stat_of bytes.held)"
ctl stop
cat <&3 >>"$WORK/copy"
exec 3<&-
check_stream "$WORK/copy" discard
losses_stand_inside queue

# overwrite: the reader stands still while the capture is overwritten several times
ctl clear 'mode overwrite' start
cat "$MNT/kpdata" >"$WORK/copy" &
reader=$!
# fewer than the queue holds: with any delay of the reader, these reach it before the first loss
pages=20000 load
wait_for larger_than "$WORK/copy" $((20000 * 34))
load
kill -STOP "$reader"
wait_for is_stopped "$reader"
load
load
wait_for stat_beyond samples.lost_queue 10000
kill -CONT "$reader"
load
ctl stop
WAIT=30 wait_for has_ended "$reader"
wait "$reader" || fail "the reader that stood still ended with status $?"
check_stream "$WORK/copy" overwrite
losses_stand_inside overwrite

# a later reader gets the same loss: it was lost for every reader
copy_to "$WORK/later"
tally "$WORK/later" >"$WORK/tally"
same "what a later reader is told" "$(stat_of samples.lost_queue)" \
	"$(awk '{ n += $4 } END { print n + 0 }' "$WORK/tally")"

# memory freed by a clear is released when no start has used it for a while
given_back() {
	[ "$(resident_kb)" -lt $((before - held / 2)) ]
}

ctl clear 'mode discard' 'prof_qlimit 65536' 'stack both' start
while ! stat_beyond bytes.memory $((3 << 20)); do
	load
	ctl flush
done
ctl stop
held=$(($(stat_of bytes.memory) / 1024))
before=$(resident_kb)
ctl clear
WAIT=30 wait_for given_back

#!/bin/bash
# SPDX-License-Identifier: MIT
# kpdata_readers: kpstat shows for each open of kpdata how much it has read and lost, as its copy has it,
# for a limited number of opens.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

reader() {
	stat_of "readers\.$1\.$2"
}

# check_reader WHAT N FILE: the copy has what kpstat shows of the Nth open, which is closed
check_reader() {
	same "$1: state" closed "$(reader "$2" state)"
	same "$1: bytes" "$(wc -c <"$3")" "$(reader "$2" read_bytes)"
	tally "$3" >"$WORK/tally"
	read -r samples lost < <(awk '{ n += $3; lost += $4 } END { print n + 0, lost + 0 }' "$WORK/tally")
	same "$1: samples" "$samples" "$(reader "$2" read_samples)"
	same "$1: lost" "$lost" "$(reader "$2" lost_samples)"
}

# A close reaches the server after close(2) has returned.
is_closed() {
	[ "$(reader "$1" state)" = closed ]
}

has_read() {
	[ "$(reader 1 read_samples)" -ge "$1" ]
}

rows_are() {
	[ "$(grep -c "^readers\.[0-9]*\.state $1\$" "$MNT/kpstat")" = "$2" ]
}

serve
need_machine
same "it was not opened" 0 "$(grep -c '^readers\.' "$MNT/kpstat")"

# 1: follows a run; 2: reads afterwards; 3: reads 7 bytes at a time, parts of records
ctl 'event page-faults:period=1' 'stack both' clear start
cat "$MNT/kpdata" >"$WORK/first" &
follower=$!
"$FIXTURES/faults" 2000 >/dev/null || fail faults
wait_for has_read 2000
same "while it is open" open "$(reader 1 state)"
ctl stop
ended_well "cat" "$follower"
cat "$MNT/kpdata" >"$WORK/second"
dd if="$MNT/kpdata" of="$WORK/third" bs=7 status=none
for n in 1 2 3; do
	wait_for is_closed "$n"
done
at_least "samples" 2000 "$(reader 2 read_samples)"
check_reader "the one that followed" 1 "$WORK/first"
check_reader "the one after it" 2 "$WORK/second"
check_reader "the one of small reads" 3 "$WORK/third"
same "a view is no open of kpdata" "" "$(cat "$MNT/views/flat" >/dev/null; reader 4 state)"

# 4: full, mode discard: what is lost in its place
lost_some() {
	"$FIXTURES/faults" 20000 >/dev/null || fail faults
	ctl flush
	[ "$(stat_of samples.lost_queue)" -gt 0 ]
}
ctl clear 'prof_qlimit 1024' start
wait_for lost_some
ctl stop
cat "$MNT/kpdata" >"$WORK/fourth"
wait_for is_closed 4
check_reader "mode discard" 4 "$WORK/fourth"
at_least "lost" "$(stat_of samples.lost_queue)" "$(reader 4 lost_samples)"

# 5: stays at the beginning while unread records are overwritten; these are counted before it reads
# on
ctl clear 'mode overwrite' start
exec 5<"$MNT/kpdata"
head -c 100 <&5 >/dev/null # cut off what it gets: another copy is compared
wait_for lost_some
ctl stop
check "lost before it reads on" test "$(reader 5 lost_samples)" -gt 0
same "still open" open "$(reader 5 state)"
exec 5<&-
wait_for is_closed 5
# 6: a new one begins with what no reader has read
cat "$MNT/kpdata" >"$WORK/sixth"
wait_for is_closed 6
check_reader "mode overwrite" 6 "$WORK/sixth"
at_least "lost" 1 "$(reader 6 lost_samples)"

# the number of rows is bounded: the 16 closed last, and of the open ones the 64 opened last
for ((n = 7; n <= 26; n++)); do
	: <"$MNT/kpdata"
done
wait_for rows_are closed 16
wait_for is_closed 26
same "the oldest that is still told" "" "$(reader 10 state)"
same "and the next" closed "$(reader 11 state)"
descriptors=()
for ((n = 0; n < 70; n++)); do
	exec {descriptor}<"$MNT/kpdata"
	descriptors+=("$descriptor")
done
wait_for rows_are open 64
same "the newest" open "$(reader 96 state)"
for descriptor in "${descriptors[@]}"; do
	exec {descriptor}<&-
done
wait_for rows_are open 0

#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_cycles: Many runs in sequence on a machine with many processes lose no sample: the records of
# existing processes that each start writes take no room from samples.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

processes=300
cycles=60

# all have begun: each is a process of its own, which has executed its program
have_begun() {
	local pid name
	for pid in "${pids[@]}"; do
		read -r name <"/proc/$pid/comm" && [ "$name" = sleep ] || return 1
	done
}

serve
need_machine
for ((i = 0; i < processes; i++)); do
	sleep 600 &
	pids[i]=$!
done
wait_for have_begun
ctl 'event page-faults:period=1' 'stack none' 'prof_qlimit 4096' clear
for ((i = 0; i < cycles; i++)); do
	ctl start
	true | cat # samples are needed: without any, no tasks are kept
	ctl stop
done
# some bytes are of other programs that came and went meanwhile; had the processes above been
# announced anew each time, they would be 18,000 in it, of some hundred bytes each at the least
kept=$(stat_of bytes.tasks)
check "bytes kept for what is over: $kept" test "$kept" -lt 2000000
same "samples lost" 0 "$(stat_of samples.lost_queue)"

# and all of them are announced once to a reader, by their names
copy_to "$WORK/copy"
"$KPROF" dump "$WORK/copy" >"$WORK/dump" || fail "kprof dump"
sed -n 's/^[0-9]* new_process .*pid=\([0-9]*\) .*sleep.*/\1/p' "$WORK/dump" | sort >"$WORK/told"
same "processes announced" "$processes" \
	"$(printf '%s\n' "${pids[@]}" | sort | comm -12 - "$WORK/told" | wc -l)"

kill "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
serve_end
echo "$kept bytes kept for what is over"

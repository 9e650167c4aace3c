#!/bin/bash
# SPDX-License-Identifier: MIT
# mpstat_hotplug: with the source bpf, the row of a CPU that goes offline and comes back has the time that it was
# online, and no other; the row of the CPU that stays has all of the time.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

OFFLINE_US=1500000 # long beside what the switches of a CPU take

take_cpu1 end_test

# us: of the clock
us() {
	echo "${EPOCHREALTIME/./}"
}

# row_us CPU: what its row adds up to
row_us() {
	sed -n "s/^ *$1: //p" "$MNT/mpstat" | grep -o '[0-9]*\.[0-9]*' | awk '{ n += $1 } END { printf "%.0f\n", n * 1e6 }'
}

row_is_at_least() {
	[ "$(row_us "$1")" -ge "$2" ]
}

# within WHAT US LEAST MOST, with 0.1 % and what six digits of four columns round off
within() {
	check "$1: $2 us of $3 to $4" [ $(($2 + $2 / 1000 + 4)) -ge "$3" -a $(($2 - $2 / 1000 - 4)) -le "$4" ]
}

# go_and_come WORD: what passed is at least that between two times inside, at most that between two outside
go_and_come() {
	local begin first second gone offline back last end zero one
	put mpstat "$1"
	begin=$(us)
	zero=$(row_us 0)
	one=$(row_us 1)
	first=$(us)
	echo 0 >$switch || fail "CPU 1 can't go offline"
	gone=$(us)
	offline=$(row_us 1)
	within "$1: before it went" $((offline - one)) 0 $((gone - begin))
	wait_for row_is_at_least 0 $((zero + gone - begin + OFFLINE_US))
	same "$1: offline" "$offline" "$(row_us 1)"
	back=$(us)
	echo 1 >$switch || fail "CPU 1 can't come back"
	second=$(us)
	zero=$(($(row_us 0) - zero))
	one=$(($(row_us 1) - one))
	last=$(us)
	within "$1: the CPU that stayed" $zero $((second - first)) $((last - begin))
	within "$1: the CPU that came back" $one 0 $(((gone - begin) + (last - back)))
	end=$(row_us 1)
	wait_for row_is_at_least 1 $((end + 100000))
}

serve
if ! put mpstat 'source bpf' 2>/dev/null; then
	echo "the times can't be measured here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
for word in 'split ticks' 'split calls'; do
	go_and_come "$word"
done

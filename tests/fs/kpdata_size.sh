#!/bin/bash
# SPDX-License-Identifier: MIT
# kpdata_size: The size that stat returns for kpdata is the number of bytes that a reader then gets, with
# the preamble.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

size() {
	stat -c %s "$MNT/kpdata"
}

# check_size WHAT: of a profiler that is stopped
check_size() {
	local told
	told=$(size)
	same "$1" "$told" "$(cat "$MNT/kpdata" | wc -c)"
	same "$1, read again" "$told" "$(cat "$MNT/kpdata" | wc -c)"
}

serve
same "nothing was captured" 0 "$(size)"
check_size "nothing was captured"
put kpdata 0x1000 || fail "an address"
check_size "an address alone"
at_least "the preamble is in it" 100 "$(size)"
put kpctl clear
same "cleared" 0 "$(size)"
check_size cleared

need_machine
ctl 'event page-faults:period=1' 'stack both' clear start
"$FIXTURES/faults" 2000 >/dev/null || fail faults
# for a running profiler at least the held records are counted
at_least "while it runs" "$(stat_of bytes.held)" "$(size)"
ctl stop
at_least "samples" 2000 "$(stat_of samples.received)"
check_size "a run"
ctl start stop
check_size "a second start, whose processes are others"
at_least "more than what is held" $(($(stat_of bytes.held) + 100)) "$(size)"

lost_some() {
	"$FIXTURES/faults" 20000 >/dev/null || fail faults
	ctl flush
	[ "$(stat_of samples.lost_queue)" -gt 0 ]
}

# full: LOST records stand where records are missing (discard), or in front (overwrite)
for mode in discard overwrite; do
	ctl clear 'prof_qlimit 1024' "mode $mode" start
	wait_for lost_some # on a busy machine the CPUs' buffers may be full before kpdata is
	ctl stop
	check_size "mode $mode"
done

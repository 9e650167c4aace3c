#!/bin/bash
# SPDX-License-Identifier: MIT
# mpstat_exact: the times that are measured in the kernel. Rows add up, whatever the source; nothing is measured before
# the first reading and after the hold; nothing stays attached when the server is killed.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

source_is() {
	[ "$(stat_of mpstat.source)" = "$1" ]
}

has_no_thread() {
	! grep -qx kp-times "/proc/$SERVER/task"/*/comm 2>/dev/null
}

# the numbers of the programs that the server's links hold
programs() {
	sed -n 's/^prog_id:[^0-9]*//p' "/proc/$SERVER/fdinfo"/* 2>/dev/null | sort -un
}

# none of the programs in $WORK/programs is loaded
are_gone() {
	local id
	while read -r id; do
		! bpftool prog show id "$id" >/dev/null 2>&1 || return 1
	done <"$WORK/programs"
}

serve -o mpstat_hold=5
if ! put mpstat 'source bpf' 2>/dev/null; then
	echo "the times can't be measured here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
put mpstat 'source procstat'
wait_for has_no_thread
same "source" procstat "$(stat_of mpstat.source)"
same "programs of the server" "" "$(programs)"
put mpstat 'source auto'
check "auto measures" source_is bpf
wait_for has_no_thread
check "after the hold nothing is measured" source_is procstat
cat "$MNT/views/metrics" >"$WORK/metrics"
check "kpstat and views/metrics do not begin to measure" has_no_thread
cat "$MNT/mpstat" >"$WORK/text"
wait_for source_is bpf
put mpstat off
wait_for has_no_thread
put mpstat on
check "on measures" source_is bpf
put mpstat off
put mpstat reset
check "reset measures" source_is bpf
put mpstat on
fails_with "Invalid argument" put mpstat 'source nonsense'
fails_with "Invalid argument" put mpstat 'split nonsense'
if put mpstat 'split cycles' 2>/dev/null; then
	same "cycles divide" cycles "$(stat_of mpstat.split)"
	put mpstat 'split ticks'
else
	fails_with "Operation not supported" put mpstat 'split cycles'
	check "the reason is in kperr" grep -q 'no counters of cycles' "$MNT/kperr"
	wait_for source_is bpf
	same "ticks divide" ticks "$(stat_of mpstat.split)"
fi
put mpstat 'source procstat'
fails_with "Invalid argument" put mpstat 'split calls'
fails_with "Invalid argument" put mpstat 'split cycles'

serve_end
serve
put mpstat 'source bpf'
cat "$MNT/views/metrics" >"$WORK/metrics"
check "switches are in kpstat" [ "$(stat_of cpu.0.switches)" -gt 0 ]
check "the histogram of waits" grep -q '^kprofs_runqueue_wait_seconds_bucket{cpu="0",le="+Inf"} [1-9]' \
	"$WORK/metrics"
if command -v promtool >/dev/null; then
	promtool check metrics <"$WORK/metrics" || fail "promtool"
fi
if command -v python3 >/dev/null; then
	python3 "${srcdir:-.}/tests/fs/openmetrics.py" "$WORK/metrics" >/dev/null || fail "metrics"
	timeout 200 python3 "${srcdir:-.}/tests/fs/mpstat_exact.py" "$MNT" "$PWD/tests/fs/between" ||
		fail "mpstat_exact.py: status $?"
else
	echo "not tried: rows add up, without python3"
fi

put mpstat 'source bpf'
programs >"$WORK/programs"
check "measuring programs" [ -s "$WORK/programs" ]
kill -KILL "$SERVER"
wait "$SERVER" 2>/dev/null
if command -v bpftool >/dev/null; then
	wait_for are_gone
else
	echo "not tried: programs after kill -9, without bpftool"
fi
umount -l "$MNT" 2>/dev/null || fusermount3 -uz "$MNT"
SERVER=

#!/bin/bash
# SPDX-License-Identifier: MIT
# trace_wide: lines that take long to make. The process that opens them can be ended meanwhile, and
# so can the server.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

# text_takes TICKS: a thread has worked on the text for so long; a copy of what there is takes few
text_takes() {
	cat "/proc/$SERVER"/task/*/stat 2>/dev/null |
		awk -v ticks="$1" '$2 == "(kp-trace)" && $14 + $15 >= ticks { found = 1 } END { exit !found }'
}

no_text_is_made() {
	! text_takes 0
}

serve_trace
put events/test:wide 1
tell_start one 32768 1 1 200000

# one that is ended, and one that still waits when the server ends
cat "$MNT/kptrace" >/dev/null &
first=$!
wait_for text_takes 50
kill -TERM "$first"
wait_for has_ended "$first"
wait_for no_text_is_made
cat "$MNT/kptrace" >/dev/null 2>&1 &
second=$!
wait_for text_takes 50
serve_end
wait_for has_ended "$second"
tell_end one

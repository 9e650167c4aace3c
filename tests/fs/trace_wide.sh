#!/bin/bash
# SPDX-License-Identifier: MIT
# trace_wide: An open of kptrace with many wide lines takes time. The process that opens it can be killed
# meanwhile, and so can the server.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

text_is_made() {
	grep -qsx kp-trace "/proc/$SERVER"/task/*/comm
}

no_text_is_made() {
	! text_is_made
}

begun_or_ended() {
	text_is_made || has_ended "$reader"
}

# Starts a reader, $reader. It fails if the open ended before it could be seen: then the next try begins.
opens() {
	: >"$WORK/first"
	cat "$MNT/kptrace" 2>/dev/null > >(head -c 1 >"$WORK/first") &
	reader=$!
	wait_for begun_or_ended
	if text_is_made && ! [ -s "$WORK/first" ]; then
		return 0
	fi
	kill "$reader" 2>/dev/null
	wait "$reader" 2>/dev/null
	return 1
}

serve_trace
put events/test:wide 1
tell_start one 32768 1 1 200000

# one that is ended, and one that still waits when the server ends
wait_for opens
kill -TERM "$reader"
wait_for has_ended "$reader"
wait_for no_text_is_made
wait_for opens
serve_end
wait_for has_ended "$reader"
tell_end one

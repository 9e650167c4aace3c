#!/bin/bash
# SPDX-License-Identifier: MIT
# view_marks: views/trace.json has the events that kptrace shows, with samples and without.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }

read_view() {
	cat "$MNT/views/trace.json" >"$WORK/json" || fail "views/trace.json"
	python3 "${srcdir:-.}/tests/fs/tracejson.py" "$WORK/json" >"$WORK/found" || fail "trace.json"
	sed -n 's/^mark //p' "$WORK/found" >"$WORK/marks"
}

compare() {
	cmp "$WORK/kptrace" "$WORK/marks" || fail "$1: $(wc -l <"$WORK/kptrace") lines of kptrace, $(wc -l \
		<"$WORK/marks") in trace.json: $(diff "$WORK/kptrace" "$WORK/marks" | head -n 5)"
}

serve_trace
put events/all 1
fails_with "No data available" cat "$MNT/views/trace.json"

# ---- events, and no samples ---------------------------------------------------------------------

put kptrace 'said "so" \ and
twice'
TELL=$PWD/tests/fs/ctf_tell
tell_start first 1024 3 100
cat "$MNT/kptrace" >"$WORK/kptrace"
read_view
compare "without samples"
same "what is missing" "other trace 0 older events left out, 0 lost" "$(grep '^other trace' "$WORK/found")"
fails_with "No data available" cat "$MNT/views/firefox.json"

# ---- beside samples -----------------------------------------------------------------------------

put kpctl "event cpu-clock:freq=999"
if put kpctl start 2>/dev/null; then
	"$PWD/tests/fixtures/split" 300 >/dev/null
	put kpctl stop
	read_view
	compare "beside samples"
	check "samples, too" grep -q '^sample .*/split ' "$WORK/found"
fi
tell_end first

# ---- more than a browser takes ------------------------------------------------------------------

put kptrace_ctl clear
TELL=$PWD/tests/fs/tell
tell_start second 16384 2 110000
tail -n 200000 "$MNT/kptrace" >"$WORK/kptrace"
read_view
compare "the newest"
same "what was left out" "other trace 20001 older events left out, 0 lost" \
	"$(grep '^other trace' "$WORK/found")"
tell_end second

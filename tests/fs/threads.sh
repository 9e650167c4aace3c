#!/bin/bash
# SPDX-License-Identifier: MIT
# threads: HACKING lists the threads of the running server: each thread is listed, and each listed one that
# exists all the time, or while the profiler runs, is found.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

HACKING=${srcdir:-.}/HACKING

# the names in HACKING, in the list of the section "Threads and locks"
listed() {
	awk '/^Threads and locks$/ { on = 1 } on && /^(Locks|Errors)/ { exit }
		on && match($0, /^    [a-z][a-z-]* /) { print substr($0, 5, RLENGTH - 5) }' "$HACKING"
}

names() {
	cat /proc/"$SERVER"/task/*/comm 2>/dev/null
}

# opens kptrace and lists the threads meanwhile
helpers_are_seen() {
	head -c 1 "$MNT/kptrace" >"$WORK/first" &
	reader=$!
	while kill -0 "$reader" 2>/dev/null; do
		names >>"$WORK/seen"
	done
	wait "$reader" || fail "kptrace was not read"
	grep -qx kp-snapshot "$WORK/seen"
}

serve_trace
names >"$WORK/seen"
if put kpctl 'event cpu-clock' && put kpctl start; then
	names >>"$WORK/seen"
	check "kp-sampler runs while the profiler runs" grep -qx kp-sampler "$WORK/seen"
	has_samples() {
		names >>"$WORK/seen"
		cat "$MNT/views/flat" >"$WORK/flat" 2>&1
	}
	wait_for has_samples
	cat "$MNT/views/tree" >"$WORK/tree" &
	reader=$!
	while kill -0 "$reader" 2>/dev/null; do
		names >>"$WORK/seen"
	done
	put kpctl stop
fi
exec 3<"$MNT/kptrace_pipe"
names >>"$WORK/seen"
exec 3<&-
# one processor needs no helpers
tell_start one 32768 1 400000
if [ "$(nproc)" = 1 ]; then
	helpers_are_seen
else
	wait_for helpers_are_seen
fi
tell_end one

listed >"$WORK/listed"
check "HACKING lists threads" [ -s "$WORK/listed" ]
while read -r name; do
	# the main thread has the program's name
	[ "$name" != "$(cat "/proc/$SERVER/comm")" ] || name=main
	grep -qx -e "$name" "$WORK/listed" || fail "HACKING does not list the thread $name"
done < <(sort -u "$WORK/seen")
for name in kp-fuse kp-stream kp-control kp-listen; do
	grep -qx "$name" "$WORK/seen" || fail "$name, which HACKING lists as always there, is not"
done
# and each that is listed is a name in the source
while read -r name; do
	[ "$name" = main ] || grep -rqF "\"$name\"" "${srcdir:-.}/src" "${srcdir:-.}/fs" ||
		fail "HACKING lists the thread $name, which no source names"
done <"$WORK/listed"

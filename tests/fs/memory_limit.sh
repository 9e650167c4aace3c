#!/bin/bash
# SPDX-License-Identifier: MIT
# memory_limit: A server whose address space is at its limit answers each request with its result or with
# ENOMEM. Its capture stays, and all works once the limit is raised.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

command -v prlimit >/dev/null || { echo "prlimit is missing"; exit 77; }

serve
# its allocator ends the process, and has reserved its address space before
if grep -q libasan "/proc/$SERVER/maps"; then
	echo "not under a sanitizer"
	exit 77
fi
put kpctl start 2>/dev/null || { echo "nothing can be sampled here"; exit 77; }
end=$((SECONDS + 1))
while [ "$SECONDS" -lt "$end" ]; do :; done
put kpctl stop
samples=$(stat_of samples.received)
vm=$(awk '/^VmSize/ { print $2 }' "/proc/$SERVER/status")

for extra in 0 100 1000 4000 10000; do
	prlimit --pid "$SERVER" --as=$(((vm + extra) * 1024)): || { echo "no limit can be set"; exit 77; }
	for _ in 1 2 3 4 5 6 7 8; do
		for file in views/flat kpstat mpstat kptrace views/trace.json views/ctf/metadata; do
			cat "$MNT/$file" >/dev/null
		done
		echo hello >"$MNT/kptrace"
		echo stop >"$MNT/kpctl"
		ls "$MNT/events" >/dev/null
	done 2>>"$WORK/said"
	has_ended "$SERVER" && { fail "it ended with $extra KiB more"; SERVER=; exit; }
done
same "errors but ENOMEM (and an empty trace)" "" \
	"$(grep -v "Cannot allocate memory$\|No data available$" "$WORK/said")"
echo "$(grep -c "Cannot allocate" "$WORK/said") refusals"

prlimit --pid "$SERVER" --as=unlimited:
check "what was captured is there" grep -q "^# $samples samples" "$MNT/views/flat"
check "and can be read" [ "$(timeout 10 cat "$MNT/kpdata" | wc -c)" -gt 1000 ]
for file in kpstat mpstat kptrace kperr; do
	cat "$MNT/$file" >/dev/null || fail "$file"
done
put kpctl clear
put kpctl start
put kpctl stop
serve_end

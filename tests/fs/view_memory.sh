#!/bin/bash
# SPDX-License-Identifier: MIT
# view_memory: A view that needs more memory than there is fails with ENOMEM. The server, its capture and
# later views are unchanged.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# a helper that never answers holds up the views that ask for names
mkdir "$WORK/bin"
cp "$PWD/tests/fs/kprofs_canned" "$WORK/bin/kprofs"
printf '#!/bin/sh\nexec cat <&3 >/dev/null\n' >"$WORK/bin/kprof-symbols"
chmod +x "$WORK/bin/kprof-symbols"
KPROFS=$WORK/bin/kprofs

# the process that makes the server's views
maker() {
	pgrep -P "$SERVER" -x kp-views
}

refused_for_memory() {
	fails_with "Cannot allocate memory" cat "$MNT/views/$1"
	check "$1: the reason" grep -q " views/$1: .*there is not enough memory to make the view" \
		<(tail -n 1 "$MNT/kperr")
}

serve
put kpctl "stack wild 3000"
cat "$MNT/views/perf.data" >"$WORK/before" || fail "perf.data: $(tail -n 1 "$MNT/kperr")"
size=$(stat -c %s "$MNT/kpdata")
check "views are made by another process" maker

# the model of 3,000 stacks that share nothing takes 60 MiB at least (view_bounds.sh)
# the allocator of a sanitizer has reserved its address space before, so that the limit is not reached
if grep -q libasan "/proc/$SERVER/maps"; then
	echo "not tried: a limit of memory, under a sanitizer"
elif command -v prlimit >/dev/null; then
	first=$(maker)
	vm=$(awk '/^VmSize/ { print $2 }' "/proc/$first/status")
	prlimit --pid "$first" --as=$(((vm + 8192) * 1024))
	refused_for_memory trace.json
	check "the process is another one" [ "$(maker)" != "$first" ]
fi
cat "$MNT/views/perf.data" >"$WORK/after" || fail "perf.data: $(tail -n 1 "$MNT/kperr")"
same "the view afterwards" "$(wc -c <"$WORK/before")" "$(wc -c <"$WORK/after")"
same "the capture" "$size" "$(stat -c %s "$MNT/kpdata")"

# the process that the kernel ends at a limit; two views are being made
put kpctl clear
put kpctl "stack files 200"
for view in flat tree; do
	cat "$MNT/views/$view" 2>"$WORK/$view.err" >/dev/null &
done
asks() {
	grep -qx kp-names "/proc/$(maker)/task/"*/comm 2>/dev/null
}
wait_for asks
check "it is chosen first where memory ends" grep -qx 1000 "/proc/$(maker)/oom_score_adj"
kill -KILL "$(maker)"
wait_for has_ended "$!"
wait_for test -s "$WORK/flat.err"
for view in flat tree; do
	check "$view" grep -q "Cannot allocate memory" "$WORK/$view.err"
done

# the process exists only when needed, and ends with the server
put kpctl clear
put kpctl "stack long 10"
cat "$MNT/views/perf.data" >/dev/null || fail "perf.data: $(tail -n 1 "$MNT/kperr")"
last=$(maker)
serve_end
check "the process is gone" [ ! -e "/proc/$last" ]

#!/bin/bash
# SPDX-License-Identifier: MIT
# view_spans: views/by/span/PROVIDER:NAME has the samples that were taken while the span was open in the thread of
# the sample, and no others.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

serve -o "socket=$KPROF_SOCKET"
put events/all 1
put kpctl "event cpu-clock:u:freq=1999"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
"$PWD/tests/fs/spanning" 60 &
pid=$!
# the same functions in a program that writes no events
KPROF_SOCKET=$WORK/none "$PWD/tests/fs/spanning" 60 &
wait $pid || fail "spanning"
wait $!
# a span without an end, and another program in the thread after it
"$PWD/tests/fs/spanning" left 60 /usr/bin/env "KPROF_SOCKET=$WORK/none" "$PWD/tests/fs/spanning" 120 &
left=$!
wait $left || fail "spanning left"
put kpctl stop

# samples PATH FUNCTION: those with this function in their stack
samples() {
	cat "$MNT/views/$1/folded" 2>"$WORK/said" | awk -v f="$2" '$0 ~ f { n += $NF } END { print n + 0 }'
}

check "spans are listed" grep -qx test:half <(ls "$MNT/views/by/span")
check "those of the program are sampled" [ "$(samples "by/pid/$pid" within_span)" -gt 20 ]
check "and what is no span" [ "$(samples "by/pid/$pid" outside_span)" -gt 10 ]
same "all that is within the span" "$(samples "by/pid/$pid" within_span)" "$(samples by/span/test:half within_span)"
same "nothing else" 0 "$(samples by/span/test:half outside_span)"
nested=$(samples by/span/test:nested within_span)
check "a part of it is in the nested one" [ "$nested" -gt 5 -a "$nested" -lt "$(samples by/span/test:half within_span)" ]
same "with a query" "$(samples by/span/test:half within_span)" \
	"$(samples "by/pid/$pid/by/span/test:half" within_span)"
same "its processes" "$pid" "$(ls "$MNT/views/by/span/test:half/by/pid")"
within=$(samples by/span/test:left within_span)
later=$(samples "by/pid/$left" outside_span)
check "a span without an end is there" [ "$within" -gt 20 ]
check "the program after it was sampled" [ "$later" -gt 20 ]
# the server sees a little later that the first program has ended
check "but is not in the span" [ "$(samples by/span/test:left outside_span)" -lt $((later / 2)) ]
fails_with "No data available" cat "$MNT/views/by/span/test:none/flat"
# the trace of a part: what was written in the span, or by the user
cat "$MNT/views/by/span/test:nested/trace.json" >"$WORK/part.json" || fail "trace.json of a span"
same "events of the trace in a span" test:nested "$(python3 -c 'import json, sys
print(*sorted({e["name"] for e in json.load(open(sys.argv[1]))["traceEvents"] if e.get("cat") == "kptrace"}))' "$WORK/part.json")"
cat "$MNT/views/by/uid/$(id -u)/trace.json" >"$WORK/part.json" || fail "trace.json of a user"
check "those of the user's programs" grep -q '"name":"test:half"' "$WORK/part.json"
if mkdir "$MNT/sessions/loaded" 2>/dev/null; then
	cat "$MNT/kpdata" >"$WORK/saved" || fail "kpdata"
	cp "$WORK/saved" "$MNT/sessions/loaded/load" || fail "load"
	cat "$MNT/sessions/loaded/views/trace.json" >"$WORK/part.json" || fail "trace.json of a loaded capture"
	check "a loaded capture has samples" grep -q '"sf"' "$WORK/part.json"
	check "but not this machine's trace" [ "$(grep -c '"cat":"kptrace"' "$WORK/part.json")" = 0 ]
	fails_with "No data available" cat "$MNT/sessions/loaded/views/by/span/test:half/flat"
	same "nor its spans" "" "$(ls "$MNT/sessions/loaded/views/by/span")"
	rmdir "$MNT/sessions/loaded" || fail "rmdir"
fi
# the user of a kernel event is not known: it is in the part of its process, and in that of no user
if [ "$(id -u)" = 0 ] && put events/kernel/syscall:getppid 1 2>"$WORK/said"; then
	printf 'clear\nstart\n' >"$MNT/kpctl" || fail "start"
	python3 -c 'import os, time
end = time.thread_time() + 0.2
while time.thread_time() < end:
    os.getppid()' &
	caller=$!
	wait $caller || fail "the calls failed"
	put kpctl stop
	put events/kernel/syscall:getppid 0
	calls() {
		cat "$MNT/views/$1/trace.json" >"$WORK/part.json" || fail "$1/trace.json"
		grep -c '"cat":"kptrace".*getppid' "$WORK/part.json"
	}
	check "calls of a process" [ "$(calls "by/pid/$caller")" -gt 0 ]
	same "calls of a user" 0 "$(calls by/uid/0)"
fi
put kptrace_ctl clear
fails_with "No data available" cat "$MNT/views/by/span/test:half/flat"
serve_end

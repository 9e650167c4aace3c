#!/bin/bash
# SPDX-License-Identifier: MIT
# event: events of a program with libkprof are probes on this CPU: each one is counted, by its arguments, which the
# place of a probe in libkprof has in registers.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/event_lib.sh
. "${srcdir:-.}/tests/fs/event_lib.sh"

COUNT=3000
WAIT=60

counted() {
	sed -n 's/^@: //p' "$MNT/probes/early"
}

answer() {
	grep -qxF -- "$1" "$MNT/probes/works" || fail "no line '$1' in: $(cat "$MNT/probes/works")"
}

serve
put probes/early 'event:app:work { @ = count(); }' || fail "probes/early: $(tail -n 3 "$MNT/kperr")"
start tests/fs/probes_event
# of a program that comes events count as soon as its file has been found
is_seen() {
	tell 1
	[ "$(counted)" -gt 0 ]
}
wait_for is_seen
put probes/works 'event:app:work { @n = count(); @size = sum(args.size); @[args.who] = count();
	@sign[args.sign] = count(); }' || fail "probes/works: $(tail -n 3 "$MNT/kperr")"
seen=$(counted)
tell $COUNT
answer "@n: $COUNT"
answer "@size: $((COUNT * (COUNT - 1) / 2))"
answer "@[odd]: $((COUNT / 2))"
answer "@[even]: $((COUNT / 2))"
answer "@sign[-3]: $((COUNT / 4))"
same "by the one that was there before" $((seen + COUNT)) "$(counted)"
stop
serve_end

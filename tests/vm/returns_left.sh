#!/bin/bash
# SPDX-License-Identifier: MIT
# returns_left: calls that are not missed are not counted as missed, by kretprobes: those that return while the switch
# is off, and those whose return another tracer follows, too.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# one that waits, and that fentry does not take, since the kernel's types do not have it
FUNCTION=$(grep -m 1 -E '^do_pselect\.[a-z0-9.]+$' /sys/kernel/tracing/available_filter_functions)
if [ -z "$FUNCTION" ]; then
	echo "no function here that waits and has no type"
	exit 77
fi

# calls that return while the switch is off are not counted as missed when it is on again
serve
put "events/kernel/function:$FUNCTION" '1 /comm == "waiting"/' || fail "$(tail -n 1 "$MNT/kperr")"
mkfifo "$WORK/hold"
exec 5<>"$WORK/hold"
timeout 60 tests/fs/waiting 6 hold <"$WORK/hold" >"$WORK/all" 5>&- &
WAITING=$!
wait_for test -s "$WORK/all"
put "events/kernel/function:$FUNCTION" 0
echo >&5
wait "$WAITING" || fail "waiting: status $?"
exec 5>&-
put "events/kernel/function:$FUNCTION" '1 /comm == "waiting"/' || fail "$(tail -n 1 "$MNT/kperr")"
for _ in 1 2 3; do
	timeout 60 tests/fs/waiting 6 || fail "waiting: status $?"
done
same "off and on: recorded, and missed" "18 0" "$(stat_of trace.kernel.recorded) $(stat_of trace.kernel.missed)"
serve_end

# the tracer function_graph follows returns, too, and may replace the return address later
TRACING=/sys/kernel/tracing
if grep -qw function_graph $TRACING/available_tracers && echo "$FUNCTION" >$TRACING/set_ftrace_filter; then
	serve
	put "events/kernel/function:$FUNCTION" '1 /comm == "waiting"/' || fail "$(tail -n 1 "$MNT/kperr")"
	echo function_graph >$TRACING/current_tracer || fail "function_graph"
	for _ in 1 2 3; do
		timeout 60 tests/fs/waiting 6 || fail "waiting: status $?"
	done
	recorded=$(stat_of trace.kernel.recorded) missed=$(stat_of trace.kernel.missed)
	same "beside function_graph: recorded, and missed" "18 0" "$recorded $missed"
	same "beside function_graph: with a duration" 18 "$(grep -c "function:$FUNCTION: .* us)$" "$MNT/kptrace")"
	echo nop >$TRACING/current_tracer
	echo >$TRACING/set_ftrace_filter
	serve_end
fi

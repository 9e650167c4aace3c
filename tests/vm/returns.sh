#!/bin/bash
# SPDX-License-Identifier: MIT
# returns: kretprobes and ftrace find a call again at its return only if few threads are in the function. With more
# the calls that the kernel leaves out are counted as missed: in trace.kernel.missed, and where the kernel tells how
# many (Linux 6.7) in the counts of a program of probes/. What no kernel before 6.7 tells is said in its place.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

COUNT=64
# one that waits, and that fentry does not take, since the kernel's types do not have it
FUNCTION=$(grep -m 1 -E '^do_pselect\.[a-z0-9.]+$' /sys/kernel/tracing/available_filter_functions)
if [ -z "$FUNCTION" ]; then
	echo "no function here that waits and has no type"
	exit 77
fi
KERNEL=$(uname -r)
tells() {
	[ "$(printf '6.7\n%s\n' "$KERNEL" | sort -V | head -n 1)" = 6.7 ]
}

# counted WHAT RECORDED MISSED: of COUNT calls
counted() {
	echo "$1: $2 recorded, $3 missed of $COUNT"
	same "$1: recorded and missed" $COUNT $(($2 + $3))
	check "$1: some are missed" [ "$3" -gt 0 ]
	check "$1: some are recorded" [ "$2" -gt 0 ]
}

# record WHAT: by the switch of the function
record() {
	put "events/kernel/function:$FUNCTION" '1 /comm == "waiting"/' || fail "$1: $(tail -n 1 "$MNT/kperr")"
	if tells; then
		same "$1: all are counted" 0 "$(stat_of trace.kernel.missed_uncounted)"
		same "$1: nothing to say" "" "$(grep missed_uncounted "$MNT/kperr")"
	else
		same "$1: what is not counted" 1 "$(stat_of trace.kernel.missed_uncounted)"
		check "$1: it is said" grep -q "function:${FUNCTION//./\\.}.*Linux before 6.7 does not count" "$MNT/kperr"
	fi
	timeout 60 tests/fs/waiting $COUNT || fail "$1: waiting: status $?"
	counted "$1" "$(stat_of trace.kernel.recorded)" "$(stat_of trace.kernel.missed)"
	recorded=$(stat_of trace.kernel.recorded) missed=$(stat_of trace.kernel.missed)
	put "events/kernel/function:$FUNCTION" 0
	same "$1: off, recorded" "$recorded" "$(stat_of trace.kernel.recorded)"
	same "$1: off, missed" "$missed" "$(stat_of trace.kernel.missed)"
	same "$1: off, not counted" 0 "$(stat_of trace.kernel.missed_uncounted)"
	same "$1: in the trace" "$recorded" "$(grep -c "function:$FUNCTION: " "$MNT/kptrace")"
}

serve
record "kretprobe"
serve_end

# kprof trace says how many are missing
if [ -x kprof ]; then
	timeout 100 ./kprof trace -e "function:$FUNCTION" -o "$WORK/traced" -- tests/fs/waiting $COUNT 2>"$WORK/err" ||
		fail "kprof trace: status $?"
	cat "$WORK/err"
	shown=$(grep -c " function:$FUNCTION: " "$WORK/traced")
	noted=$(sed -n 's/^kprof: note: up to \([0-9]*\) events are missing: .*/\1/p' "$WORK/err")
	counted "kprof trace" "$shown" "${noted:-0}"
	if ! tells; then
		check "kprof trace: what is not counted" grep -q '^kprof: note: events/kernel/function:.*Linux before 6.7' "$WORK/err"
	fi
fi

serve
put probes/waits "kretprobe:$FUNCTION /comm == \"waiting\"/ { @ = count(); }" || fail "probes: $(tail -n 1 "$MNT/kperr")"
timeout 60 tests/fs/waiting $COUNT || fail "waiting: status $?"
head -n 40 "$MNT/probes/waits"
counts=$(grep '^# [0-9]* events' "$MNT/probes/waits")
if tells; then
	read -r _ events _ missed _ <<<"$counts"
	counted "probes/" "$(sed -n 's/^@: //p' "$MNT/probes/waits")" "$missed"
	check "probes/: events are all: $counts" [ "$events" -ge $COUNT ]
else
	check "probes/: not known: $counts" grep -q 'missed ones not known\|at least' <<<"$counts"
fi
serve_end

# without perf_event_open there is ftrace
if grep -q ' fprobe_handler\| register_fprobe$' /proc/kallsyms && [ -x tests/deny/deny ]; then
	printf '#!/bin/bash\nexec "%s" EPERM perf_event_open -- "%s" "$@"\n' "$PWD/tests/deny/deny" "$KPROFS" >"$WORK/denied"
	chmod +x "$WORK/denied"
	KPROFS=$WORK/denied
	serve
	record "ftrace"
	serve_end
fi

#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_flood: programs that make as many system calls as the CPUs can, all of them recorded, neither stop
# the server nor make it grow; with all switches off nothing is attached, and no thread is left.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

COUNT=500000
GETPPID=events/kernel/syscall:getppid
GROWTH_KB=32768

# other tests have programs of the usual names too
NAME=flood$$
cp "$PWD/tests/fs/kernel_calls" "$WORK/$NAME"

# what runs in the kernel for the server: programs, and what attaches them; the list of calls under way, which
# runs when it is read, stays as long as the rings
attached() {
	cat /proc/"$SERVER"/fdinfo/* 2>/dev/null | grep -E '^(prog_type|link_type):' | grep -v '^link_type:[[:blank:]]*iter'
	find /proc/"$SERVER"/fd -lname 'anon_inode:\[perf_event\]' 2>/dev/null
}

threads() {
	sort /proc/"$SERVER"/task/*/comm
}

# recorded and missed events
known() {
	awk '/^trace.kernel.(recorded|missed) / { n += $2 } END { print n + 0 }' "$MNT/kpstat"
}

serve -o trace_kernel=64
timeout 100 cat "$MNT/kptrace_pipe" >/dev/null &
READER=$!
cat "$MNT/kptrace" >/dev/null
same "nothing is attached" "" "$(attached)"
threads >"$WORK/before"
if ! put "$GETPPID" "1 /comm == \"$NAME\"/" 2>/dev/null; then
	! grep "refuses the program" <(tail -n 1 "$MNT/kperr") || exit 1
	echo "kernel events are not available here:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
put events/kernel/sched:sched_switch "1 /comm == \"$NAME\"/"
check "programs are attached" test -n "$(attached)"
put events/kernel/sched:sched_switch 0
before_kb=$(resident_kb)
begin=$(known)

# two programs on each CPU, at most four: they flood it until they end
pids=()
for cpu in $(awk -F: '/^processor/ { print $2 + 0, $2 + 0 }' /proc/cpuinfo | head -n 2); do
	# the check for leaks of an instrumented program calls getppid in a process of its own
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 "$WORK/$NAME" "$cpu" "$COUNT" <<<go \
		>"$WORK/out.$cpu.${#pids[@]}" &
	pids+=($!)
done
any_runs() {
	local pid
	for pid in "${pids[@]}"; do
		has_ended "$pid" || return 0
	done
	return 1
}
rounds=0 most_kb=0
while any_runs; do
	timeout 60 cat "$MNT/kptrace" >/dev/null || fail "kptrace was not read"
	timeout 60 cat "$MNT/kpstat" >/dev/null || fail "kpstat was not read"
	# one that no call passes, so that the programs are replaced and nothing else is recorded
	timeout 60 bash -c 'echo "1 /result < -1/" >"$0" && echo 0 >"$0"' "$MNT/events/kernel/syscall:getuid" ||
		fail "a switch was not changed"
	now_kb=$(resident_kb)
	[ "$now_kb" -le "$most_kb" ] || most_kb=$now_kb
	rounds=$((rounds + 1))
done
for pid in "${pids[@]}"; do
	wait "$pid" || fail "a program failed with $?"
done
echo "$rounds rounds; the server had $before_kb KiB before, and at most $most_kb KiB"
check "the server was used meanwhile" test "$rounds" -gt 0
same "all calls are recorded or missed" $((${#pids[@]} * COUNT)) $(($(known) - begin))
if ldd "$KPROFS" 2>/dev/null | grep -qE 'lib[at]san'; then
	echo "not judged: memory, of which a sanitizer keeps what was freed"
else
	check "the server has not grown" test "$most_kb" -le $((before_kb + GROWTH_KB))
fi

put "$GETPPID" 0
same "nothing is attached any more" "" "$(attached)"
# a thread that reads the trace may be ending
no_thread_is_left() {
	threads | cmp -s - "$WORK/before"
}
wait_for no_thread_is_left || diff "$WORK/before" <(threads)
kill "$READER"
wait "$READER" 2>/dev/null
serve_end

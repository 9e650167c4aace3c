#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_flood: programs on all CPUs that make two million system calls (or FLOOD_CALLS of them), as fast as they can,
# neither stop the server nor make it grow. Each call is recorded and shown, overwritten or missed, and a pipe shows it
# or says that it is lost. With all switches off nothing is attached, and no thread is left.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

CALLS=${FLOOD_CALLS:-2000000}
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

# recorded, overwritten, missed and torn events since the mount, as one line
counts() {
	awk '/^trace.kernel.(recorded|overwritten|missed|torn) / { n[$1] = $2 }
		END { print n["trace.kernel.recorded"], n["trace.kernel.overwritten"], n["trace.kernel.missed"], \
			n["trace.kernel.torn"] }' "$MNT/kpstat"
}

serve -o trace_kernel=64
# what a pipe shows of the calls, and says that is lost, up to a message
timeout 300 sed '/ that is all$/q' <"$MNT/kptrace_pipe" |
	awk '/ syscall:getppid: / { n++ } / events lost$/ { lost += $(NF - 2) } END { print n + 0, lost + 0 }' \
		>"$WORK/piped" &
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
read -r recorded _ missed _ <<<"$(counts)"

# two programs on each CPU, so that one is interrupted by the other: they flood it until they end
cpus=$(awk -F: '/^processor/ { print $2 + 0, $2 + 0 }' /proc/cpuinfo)
COUNT=$((CALLS / $(wc -w <<<"$cpus")))
pids=()
for cpu in $cpus; do
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
	timeout 60 ls "$MNT" "$MNT/events/kernel" >/dev/null || fail "the folders were not listed"
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
read -r recorded2 overwritten2 missed2 torn2 <<<"$(counts)"
echo "recorded $recorded2, overwritten $overwritten2, missed $missed2, torn $torn2"
same "all calls are recorded or missed" $((${#pids[@]} * COUNT)) $((recorded2 - recorded + missed2 - missed))
same "what is shown, overwritten and torn is all that was recorded" "$recorded2" \
	$((overwritten2 + torn2 + $(grep -c ' syscall:getppid: ' "$MNT/kptrace")))
put kptrace "that is all"
WAIT=60 wait_for has_ended "$READER"
read -r shown lost <"$WORK/piped"
echo "the pipe has shown $shown, and lost $lost"
same "what a pipe shows and has lost is all that was recorded" $((recorded2 - recorded)) $((shown + lost))
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
serve_end

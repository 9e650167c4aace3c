#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_order: kptrace has the events of all CPUs in the order of their times while programs flood the CPUs, events
# interrupt each other, and several readers read; and that is the order in which two processes took turns. In a pipe
# an event comes late whose program was interrupted while the pipe collected events: hardly any is more than 20 us
# behind.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

ROUNDS=3 # of each reader
TURNS=3000
BEHIND_NS=20000
POINTS="sched:sched_switch sched:sched_waking sched:sched_wakeup irq:softirq_entry irq:softirq_exit"
CALL=events/kernel/syscall:getppid

# other tests have programs of the usual names too
for name in calls turns; do
	cp "$PWD/tests/fs/kernel_$name" "$WORK/$name$$"
done
read -r CPU OTHER <<<"$(awk -F: '/^processor/ { print $2 + 0 }' /proc/cpuinfo | head -n 2 | xargs)"
[ -n "$OTHER" ] || { echo "this machine has one CPU"; exit 77; }

serve -o trace_kernel=4096
if ! put "$CALL" "1 /comm == \"turns$$\" || comm == \"calls$$\"/" 2>/dev/null; then
	! grep "refuses the program" <(tail -n 1 "$MNT/kperr") || exit 1
	echo "kernel events are not available here:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
for point in $POINTS; do
	put "events/kernel/$point" 1 || fail "$point can't be recorded"
done

# how much a line is behind the latest one before it, at most, and how many are behind by more than $1 ns
behind() {
	awk -v bound="$1" 'match($0, /^\[[0-9]+\.[0-9]+\]/) {
		split(substr($0, 2, RLENGTH - 2), t, ".")
		ns = (t[1] % 1000000) * 1e9 + t[2]
		if (ns < latest) {
			n += latest - ns > bound
			if (latest - ns > most)
				most = latest - ns
		}
		else
			latest = ns
	} END { print most + 0, n + 0, NR }' "$2"
}

# one of several readers
read_often() {
	local i
	for ((i = 0; i < ROUNDS; i++)); do
		timeout 120 cat "$MNT/kptrace" >"$WORK/text.$1.$i" || fail "kptrace was not read"
	done
}

for pipe in 1 2; do
	timeout 300 sed '/ that is all$/q' <"$MNT/kptrace_pipe" >"$WORK/pipe.$pipe" &
	PIPES[pipe]=$!
done
for cpu in $CPU $OTHER; do
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 "$WORK/calls$$" "$cpu" 100000000 <<<go >/dev/null &
	FLOODS+=($!)
done
"$WORK/turns$$" "$CPU" "$OTHER" "$TURNS" >"$WORK/turns" &
TAKERS=$!
READERS=()
for reader in 1 2 3; do
	read_often "$reader" &
	READERS+=($!)
done
for reader in "${READERS[@]}"; do
	wait "$reader"
done
WAIT=120 wait_for has_ended "$TAKERS"
wait "$TAKERS" || fail "the turns: status $?"
kill "${FLOODS[@]}"
wait "${FLOODS[@]}" 2>/dev/null
for point in $POINTS; do
	put "events/kernel/$point" 0
done
put "$CALL" 0
put kptrace "that is all"
for pipe in 1 2; do
	WAIT=60 wait_for has_ended "${PIPES[pipe]}"
done
read -r FIRST SECOND <"$WORK/turns"

lines=0
for text in "$WORK"/text.*; do
	read -r most count read <<<"$(behind 0 "$text")"
	same "lines that are behind later ones, of $read in ${text##*/}" "0 0" "$count $most"
	lines=$((lines + read))
done
echo "$lines lines of kptrace are in order"
check "there were some" test "$lines" -gt 10000

# turns TEXT: how often one of the two processes had two turns, and how many turns there were. Where the text
# begins, ends, or events are lost, there may be those of one CPU alone.
turns() {
	awk -v one="[$FIRST]" -v other="[$SECOND]" -v cpu=":cpu$CPU: " -v second=":cpu$OTHER: " '
	/ events lost/ { last = seen = seen2 = 0 }
	index($0, cpu) { seen = NR }
	index($0, second) { seen2 = NR }
	/ syscall:getppid: / && seen && seen2 {
		who = index($0, one) ? 1 : index($0, other) ? 2 : 0
		if (who) {
			line[++n] = NR
			wrong[n] = who == last
			last = who
		}
	} END {
		end = seen < seen2 ? seen : seen2
		for (i = 1; i <= n && line[i] <= end; i++)
			sum += wrong[i]
		print sum + 0, i - 1
	}' "$@"
}
seen=0
for text in "$WORK"/text.*; do
	read -r wrong count <<<"$(turns "$text")"
	same "turns that are in another order, of $count in ${text##*/}" 0 "$wrong"
	seen=$((seen + count))
done
for pipe in 1 2; do
	read -r most count read <<<"$(behind $BEHIND_NS "$WORK/pipe.$pipe")"
	echo "pipe $pipe: of $read lines $count are more than $BEHIND_NS ns behind others, at most $most ns"
	check "hardly an event is behind" test $((count * 1000)) -le "$read"
	read -r wrong count <<<"$(turns "$WORK/pipe.$pipe")"
	same "turns that are in another order, of $count in pipe $pipe" 0 "$wrong"
	seen=$((seen + count))
done
echo "$seen turns were seen"
check "there were some" test "$seen" -gt 100
serve_end

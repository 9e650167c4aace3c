#!/bin/bash
# SPDX-License-Identifier: MIT
# mpstat_interrupts: the time of hard and soft interrupts of a load, as mpstat has it with the source bpf, is within
# 2 % of what other programs sum for the same span: one of probes/ at raw tracepoints, and bpftrace's where it is
# installed.
#
# bpftrace attaches to classic tracepoints. The kernel leaves out a program there while this CPU runs another one of
# that kind, or changes a map for a process: some of each thousand interrupts. And it attaches and detaches one
# tracepoint after the other, for up to some seconds, so that over its whole run it counts many more exits than
# entries, or fewer. So only what it sums between two moments counts, of interrupts of which it saw both ends, and the
# time of soft ones is scaled to their number in /proc/softirqs.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

PACKETS=10000
hard="local_timer reschedule call_function call_function_single irq_work"

# hard_places PREFIX SUFFIX: the tracepoints of this kernel, with commas
hard_places() {
	local name places=${1/irq_vectors/irq}irq_handler_$2
	for name in $hard; do
		[ ! -e "$TRACING/events/irq_vectors/${name}_$2" ] || places="$places, $1${name}_$2"
	done
	echo "$places"
}

# the sums, by tracepoints with these prefixes; a hard interrupt within a soft one is part of that
program() {
	cat <<END
${1}softirq_entry { @soft_since[cpu] = nsecs; }
${1}softirq_exit {
	\$now = nsecs;
	if (@soft_since[cpu]) { @soft_ns = sum(\$now - @soft_since[cpu]); @soft = count(); @soft_since[cpu] = 0; }
}
$(hard_places "$2" entry) { @hard_since[cpu] = nsecs; }
$(hard_places "$2" exit) {
	\$now = nsecs;
	if (@hard_since[cpu] && !@soft_since[cpu]) { @hard_ns = sum(\$now - @hard_since[cpu]); }
	@hard_since[cpu] = 0;
}
END
}

# ns of interrupts on all CPUs
measured() {
	local ns=0 row
	while read -r _ row _; do
		ns=$((ns + 16#$row))
	done < <(tail -n +2 "$MNT/mpstat-raw")
	echo "$ns"
}

soft_interrupts() {
	awk 'NR > 1 { for (i = 2; i <= NF; i++) n += $i } END { printf "%.0f\n", n }' /proc/softirqs
}

# sum_of FILE MAP: the newest value
sum_of() {
	awk -v map="@$2:" '$1 == map { value = $2 } END { print value + 0 }' "$1"
}

# look NAME: sets $NAME_ns, $NAME_soft, ... from the sums in $WORK/sums and from mpstat
look() {
	local name
	declare -g "$1_measured=$(measured)" "$1_all=$(soft_interrupts)"
	sums
	for name in soft soft_ns hard_ns; do
		declare -g "$1_$name=$(sum_of "$WORK/sums" "$name")"
	done
}

# compare WHAT: a load under mpstat and the sums
compare() {
	local try ours theirs lost
	for ((try = 0; try < 3; try++)); do
		look before
		"$PWD/tests/fs/packets" $PACKETS || fail "packets: status $?"
		look after
		ours=$((after_measured - before_measured))
		lost=$((after_all - before_all - (after_soft - before_soft)))
		theirs=$(awk -v ns=$((after_soft_ns - before_soft_ns)) -v seen=$((after_soft - before_soft)) \
			-v all=$((after_all - before_all)) -v hard=$((after_hard_ns - before_hard_ns)) \
			'BEGIN { printf "%.0f\n", seen ? ns * all / seen + hard : 0 }')
		echo "$1: $theirs ns, without $lost of $((after_all - before_all)) soft interrupts; mpstat: $ours ns"
		check "$1: there were soft interrupts" [ $((after_soft - before_soft)) -gt $((PACKETS / 2)) ]
		! awk -v a="$theirs" -v b="$ours" 'BEGIN { exit !(a > 0 && b > a * 0.98 && b < a * 1.02) }' || return
	done
	fail "$1: mpstat differs by more than 2 %"
}

serve
if ! put mpstat 'source bpf' 2>/dev/null; then
	echo "the times can't be measured here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
put mpstat on
TRACING=/sys/kernel/tracing
[ -d "$TRACING/events/irq" ] || { echo "tracefs is not mounted at $TRACING"; exit 77; }

# programs that run after those of mpstat at each place, so that what they take cancels
program rawtracepoint: rawtracepoint: >"$WORK/program"
put probes/interrupts "$(cat "$WORK/program")" || fail "probes: $(tail -n 1 "$MNT/kperr")"
sums() {
	cat "$MNT/probes/interrupts" >"$WORK/sums"
}
compare probes
rm "$MNT/probes/interrupts"

if ! command -v bpftrace >/dev/null; then
	echo "not tried: bpftrace is not installed"
	serve_end
	exit
fi
# it prints its sums all the time, and what it printed last is taken
{
	program tracepoint:irq: tracepoint:irq_vectors:
	echo 'interval:ms:100 { print(@soft); print(@hard_ns); print(@soft_ns); }'
} >"$WORK/program"
bpftrace "$WORK/program" >"$WORK/sums" 2>"$WORK/bpftrace.log" &
BPFTRACE=$!
# has_printed COUNT: so often, the last time whole; or it has ended
has_printed() {
	[ "$(grep -c '^@soft_ns: ' "$WORK/sums")" -ge "$1" ] || has_ended "$BPFTRACE"
}
sums() {
	# the next one may be on its way already
	wait_for has_printed $(($(grep -c '^@soft_ns: ' "$WORK/sums") + 2))
}
wait_for has_printed 1
if has_ended "$BPFTRACE"; then
	echo "not tried: bpftrace does not run here: $(tail -n 1 "$WORK/bpftrace.log")"
else
	compare bpftrace
	kill -INT "$BPFTRACE"
fi
wait "$BPFTRACE" 2>/dev/null
serve_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_changes: while the setting of a tracepoint or function changes, from one that records an event to another one
# that does, each event is recorded once, or counted as missed: none is lost, and none recorded twice.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

CHANGES=50
# other tests have programs of the usual names too
NAME=changes$$
cp "$PWD/tests/fs/kernel_calls" "$WORK/$NAME"
read -r -d '' ONE OTHER < <(awk -F: '/^processor/ { print $2 + 0 }' /proc/cpuinfo)
OTHER=${OTHER%%$'\n'*}
settings=("1 /comm == \"$NAME\"/" "1 stack /comm == \"$NAME\" && pid > 1/" "1 /comm == \"$NAME\" || pid == 0xffffff/"
	"1 stack /comm == \"$NAME\"/" "1 /pid > 1 && comm == \"$NAME\"/")

# recorded, overwritten, missed and torn events since the mount, as one line
counts() {
	awk '/^trace.kernel.(recorded|overwritten|missed|torn) / { n[$1] = $2 }
		END { print n["trace.kernel.recorded"], n["trace.kernel.overwritten"], n["trace.kernel.missed"], \
			n["trace.kernel.torn"] }' "$MNT/kpstat"
}

# start [FILE]: a program on each of two CPUs, which make COUNT events when a line lets them; others go first, so that
# the setting changes often meanwhile
start() {
	local i cpus=("$ONE" "${OTHER:-$ONE}")
	rm -f "$WORK"/in? "$WORK"/out?
	for i in 0 1; do
		mkfifo "$WORK/in$i"
		nice -n 19 "$WORK/$NAME" "${cpus[i]}" "$COUNT" "$@" <"$WORK/in$i" >"$WORK/out$i" &
		CALLERS[i]=$!
	done
	exec 5>"$WORK/in0" 7>"$WORK/in1"
	for i in 0 1; do
		wait_for test -s "$WORK/out$i"
	done
}

# record SWITCH [FILE]: rounds of the programs until there were enough changes
record() {
	local switch=events/kernel/$1 changes=0 expected=0 recorded missed recorded2 overwritten missed2 torn caller
	shift
	read -r recorded _ missed _ <<<"$(counts)"
	while [ "$changes" -lt "$CHANGES" ]; do
		start "$@"
		put "$switch" "${settings[0]}" || fail "$(tail -n 1 "$MNT/kperr")"
		echo >&5
		echo >&7
		until has_ended "${CALLERS[0]}" && has_ended "${CALLERS[1]}"; do
			changes=$((changes + 1))
			put "$switch" "${settings[changes % ${#settings[@]}]}" || fail "$(tail -n 1 "$MNT/kperr")"
		done
		for caller in "${CALLERS[@]}"; do
			wait "$caller" || fail "the program failed with $?"
		done
		exec 5>&- 7>&-
		expected=$((expected + 2 * COUNT))
	done
	read -r recorded2 overwritten missed2 torn <<<"$(counts)"
	echo "$switch: $changes changes, $expected events, $((missed2 - missed)) missed"
	same "recorded and missed events of $switch in $changes changes" "$expected" \
		$((recorded2 - recorded + missed2 - missed))
	# the frames of stacks are lines too, which are indented
	same "what is shown, overwritten and torn is all that was recorded" "$recorded2" \
		$((overwritten + torn + $(grep -cE "$NAME\[[0-9]+\] [a-z0-9_]+:[a-z0-9_]+: [^ ]" "$MNT/kptrace")))
	put "$switch" 0
}

CALL=$(sed -n 's/.* [tT] \(__[a-z0-9]*_sys_getppid\)$/\1/p' /proc/kallsyms | head -n 1)
serve -o trace_kernel=64
if ! put events/kernel/syscall:getppid 1 2>/dev/null; then
	! grep "refuses the program" <(tail -n 1 "$MNT/kperr") || exit 1
	echo "kernel events are not available here:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
put events/kernel/syscall:getppid 0
tried=0
COUNT=500000
for switch in syscalls:sys_enter_getppid "function:$CALL"; do
	if put "events/kernel/$switch" "${settings[0]}" 2>/dev/null; then
		put "events/kernel/$switch" 0
		record "$switch"
		tried=$((tried + 1))
	else
		echo "not tried: $(tail -n 1 "$MNT/kperr")"
	fi
done
# one that fentry does not take, since the number of its parameters varies: its two programs are attached as kprobes
if put events/kernel/function:seq_printf "${settings[0]}" 2>/dev/null; then
	put events/kernel/function:seq_printf 0
	COUNT=100000
	record function:seq_printf /proc/loadavg
	tried=$((tried + 1))
else
	echo "not tried: $(tail -n 1 "$MNT/kperr")"
fi
serve_end
[ "$tried" -gt 0 ] || exit 77

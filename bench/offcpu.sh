# SPDX-License-Identifier: MIT
# offcpu: by how much `event offcpu` at its default minimum slows tbench, and perf's bench of pipes.
#
# The event is started and stopped while one run of the load goes on: a slot of 200 ms with it is compared
# with the bare slots before and behind it, since whole runs one after the other differ more than the
# effect. Slots in which the host took CPU time are left out. Values are per cent. Those of tbench are by the
# work in a second of the load's CPU time, which other work on the machine disturbs less.

for command in tbench perf; do
	command -v $command >/dev/null || fail "needs $command (Debian: dbench, linux-perf)"
done
cycles=$((rounds * 8))
steal_limit=10 # ms of all CPUs in a slot

# ---- slots of tbench: bench/slots.c ------------------------------------------------------------------

mkfifo "$work/slots.in"

slot_of_tbench() {
	local rate steal
	echo >&"$slots_in"
	read -r rate speed steal <&"$slots_out" || fail "tbench has ended"
	((steal <= steal_limit)) && [ "$rate" != 0 ] || speed=stolen
}

begin_tbench() {
	exec {slots_out}< <(exec "$build/bench/slots" tbench 2 <"$work/slots.in")
	slots_pid=$!
	pids+=("$slots_pid")
	exec {slots_in}>"$work/slots.in"
	slot_of_tbench # to warm up
}

end_tbench() {
	exec {slots_in}>&-
	wait "$slots_pid" || fail "tbench failed"
	exec {slots_out}<&-
}

# ---- slots of a bench of pipes: how often its threads waited -----------------------------------------

pipe_waits() {
	cat /proc/"$pipe_pid"/task/*/status | awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n + 0 }'
}

host_took() {
	awk '$1 == "cpu" { print $9 * 10 }' /proc/stat
}

slot_of_pipe() {
	local steal begin count
	sleep 0.04
	steal=$(host_took)
	begin=$EPOCHREALTIME
	count=$(pipe_waits)
	sleep 0.2
	speed=$(calc "($(pipe_waits) - $count) / ($EPOCHREALTIME - $begin)")
	(($(host_took) - steal <= steal_limit)) || speed=stolen
}

begin_pipe() {
	# threads: they end with it
	background perf bench -f simple sched pipe -T -l 1000000000 >/dev/null
	pipe_pid=$!
	has_begun() { (($(pipe_waits) > 10000)); }
	until_true 30 has_begun || fail "perf bench sched pipe does not run"
}

end_pipe() {
	end_background || true
}

# ---- both --------------------------------------------------------------------------------------------

# slowdown LOAD: of each cycle that was not disturbed, into $values
slowdown() {
	local cycle before with
	values=()
	"slot_of_$1"
	for ((cycle = 0; cycle < cycles; cycle++)); do
		before=$speed
		control start
		"slot_of_$1"
		with=$speed
		control stop clear
		"slot_of_$1"
		case "$before $with $speed" in
		*stolen*) ;;
		*) values+=("$(calc "100 * (1 - 2 * $with / ($before + $speed))")") ;;
		esac
	done
	((${#values[@]} >= 3)) || fail "the host took CPU time in nearly all slots"
}

start_server
for words in 'event offcpu' 'event offcpu:min=0' 'event wall'; do
	control "$words"
	key=${words#event }
	key=${key//[:=]/_}
	for load in tbench pipe; do
		limit=-
		[ "$key.$load" = offcpu.tbench ] && limit='<= 8'
		[ "$key.$load" = offcpu.pipe ] && limit='<= 12'
		"begin_$load"
		slowdown "$load"
		"end_$load"
		figure "$load.$key" % "$limit" "${values[@]}"
	done
done

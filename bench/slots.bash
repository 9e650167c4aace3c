# SPDX-License-Identifier: MIT
# slots.bash: for the benchmarks that switch something on and off in turn while one run of a load goes on
# (bench/slots.c): whole runs one after the other differ more than the effect.

[ -e "$work/slots.in" ] || mkfifo "$work/slots.in"
steal_limit=10 # ms of all CPUs that the host may take in a slot
bare_cycles=8  # in a round of compare_slots

# begin_load LOAD [ARGUMENT...]
begin_load() {
	exec {slots_out}< <(exec "$build/bench/slots" "$@" <"$work/slots.in")
	slots_pid=$!
	pids+=("$slots_pid")
	exec {slots_in}>"$work/slots.in"
	slot # to warm up
}

end_load() {
	exec {slots_in}>&-
	wait "$slots_pid" || fail "the load failed"
	exec {slots_out}<&-
}

# slot: sets rate, cpu_rate (work in a second, and in a second of CPU time) and steal; `calls` tells more
slot() {
	echo >&"$slots_in"
	read -r rate cpu_rate steal _ <&"$slots_out" || fail "the load has ended"
}

is_undisturbed() {
	((steal <= steal_limit)) && [ "$rate" != 0 ]
}

# compare_round ON OFF: a slot after ON beside the bare ones before and behind it, some times; sets slower, the
# median in per cent of those that the host did not disturb
compare_round() {
	local cycle before undisturbed values=()
	slot
	for ((cycle = 0; cycle < bare_cycles; cycle++)); do
		undisturbed=1 before=$cpu_rate
		is_undisturbed || undisturbed=0
		$1
		slot
		is_undisturbed || undisturbed=0
		with=$cpu_rate
		$2
		slot
		is_undisturbed || undisturbed=0
		((!undisturbed)) || values+=("$(calc "100 * (1 - 2 * $with / ($before + $cpu_rate))")")
	done
	((${#values[@]} >= bare_cycles / 2)) || fail "the host took CPU time in most slots"
	read -r slower _ < <(median "${values[@]}")
}

# compare_slots FIGURE LIMIT ON OFF LOAD [ARGUMENT...]
compare_slots() {
	local what=$1 limit=$2 on=$3 off=$4 round all=()
	shift 4
	begin_load "$@"
	for ((round = 0; round < rounds; round++)); do
		compare_round "$on" "$off"
		all+=("$slower")
	done
	end_load
	figure "$what" % "$limit" "${all[@]}"
}

# attached SERVER: how many programs its links hold; a list that runs when it is read is none
attached() {
	cat /proc/"$1"/fdinfo/* 2>/dev/null | awk '/^prog_type:/ || /^link_type:/ && $2 != "iter" { n++ }
		END { print n + 0 }'
}

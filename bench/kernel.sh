# SPDX-License-Identifier: MIT
# kernel: the cost of recording all system calls, sched_switch and sched_wakeup, beside ftrace, perf record and
# perf trace, on tbench, dbench, a build and a loop of getppid.
#
# The speed of whole runs differs more than what is measured. So one run of a load goes on while the variants
# are switched on in turn for slots of 200 ms, with a slot without any between two of them. A variant's
# figure of a cycle is by its slot and the mean of the others of that cycle; slots in which the host took
# CPU time are left out. A round has several cycles, and its figure is their median.

for command in tbench dbench perf; do
	command -v $command >/dev/null || fail "needs $command (Debian: dbench, linux-perf)"
done
# shellcheck source=bench/slots.bash
. "$bench/slots.bash"
tracing=/sys/kernel/tracing
# perf needs it too; it stays, where all systems have it
[ -e $tracing/instances ] || mount -t tracefs tracefs $tracing || fail "needs tracefs"
instance=$tracing/instances/kprofs-bench
cycles=6        # in a round
ring_kb=2048    # of each CPU, for all of them
switches="syscalls sched:sched_switch sched:sched_wakeup"

# ---- the variants ------------------------------------------------------------------------------

on_bare() { :; }
off_bare() { :; }

on_empty() {
	local empty_out
	exec {empty_out}< <(exec "$build/bench/kernel_programs" empty <"$work/empty.in")
	empty_pid=$!
	exec {empty_in}>"$work/empty.in"
	read -r _ <&"$empty_out" || fail "the empty programs are not attached"
	exec {empty_out}<&-
}
off_empty() {
	exec {empty_in}>&-
	wait "$empty_pid" || fail "kernel_programs empty failed"
}

write_switches() {
	local switch
	for switch in $switches; do
		echo "$1" >"$mount/events/kernel/$switch" || fail "$switch: $(tail -n 1 "$mount/kperr")"
	done
}
on_kprofs() { write_switches 1; }
off_kprofs() { write_switches 0; }

ftrace() {
	echo "$1" >"$instance/events/raw_syscalls/enable"
	echo "$1" >"$instance/events/sched/sched_switch/enable"
	echo "$1" >"$instance/events/sched/sched_wakeup/enable"
}
on_ftrace() { ftrace 1; }
off_ftrace() { ftrace 0; }

on_perf() {
	local answer
	perf record -q -a --overwrite -m ${ring_kb}K -D -1 --control "fifo:$work/perf.in,$work/perf.out" \
		-e raw_syscalls:sys_enter,raw_syscalls:sys_exit,sched:sched_switch,sched:sched_wakeup \
		-o "$work/perf.data" >"$work/perf.log" 2>&1 &
	perf_pid=$!
	echo enable >&"$perf_in"
	read -r -t 20 answer <&"$perf_out" || fail "perf record: $(cat "$work/perf.log")"
}
off_perf() {
	kill -INT "$perf_pid"
	wait "$perf_pid" || true
	[ -s "$work/perf.data" ] || fail "perf record: $(cat "$work/perf.log")"
	rm -f "$work/perf.data"
}

on_perf_trace() {
	perf trace -a -m ${ring_kb}K -e 'sched:sched_switch,sched:sched_wakeup' --syscalls -o "$work/perf.trace" \
		>"$work/perf.log" 2>&1 &
	perf_pid=$!
	until_true 20 test -s "$work/perf.trace" || fail "perf trace: $(cat "$work/perf.log")"
}
off_perf_trace() {
	kill -INT "$perf_pid"
	wait "$perf_pid" || true
	rm -f "$work/perf.trace"
}

# ---- slots -------------------------------------------------------------------------------------

# measure_cycles FILE VARIANT...: appends the slots of a round: cycle, variant, both rates
measure_cycles() {
	local file=$1 cycle variant which
	shift
	for ((cycle = 0; cycle < cycles; cycle++)); do
		for variant; do
			for which in bare $variant; do
				"on_$which"
				slot
				"off_$which"
				! is_undisturbed || echo "$cycle $which $rate $cpu_rate" >>"$file"
			done
		done
	done
}

# slower FILE COLUMN VARIANT: the median of the cycles, in percent
slower() {
	awk -v column="$2" -v variant="$3" '
		$2 == "bare" { bare[$1] += $column; bares[$1]++ }
		$2 == variant { rate[$1] = $column }
		END { for (c in rate) if (bares[c]) print (1 - rate[c] * bares[c] / bare[c]) * 100 }' "$1" | middle
}

# added FILE VARIANT: the same as ns of a call
added() {
	awk -v variant="$2" '
		$2 == "bare" { bare[$1] += 1e9 / $4; bares[$1]++ }
		$2 == variant { ns[$1] = 1e9 / $4 }
		END { for (c in ns) if (bares[c]) print ns[c] - bare[c] / bares[c] }' "$1" | middle
}

middle() {
	local values
	mapfile -t values
	((${#values[@]} > 0)) || fail "the host took CPU time from this machine in all slots"
	read -r values _ < <(median "${values[@]}")
	echo "${values[0]}"
}

# ---- the loads ---------------------------------------------------------------------------------

ratios() {
	local i
	local -n over=$1 under=$2
	for ((i = 0; i < ${#over[@]}; i++)); do
		calc "${over[i]} / ${under[i]}"
	done
}

measure_tbench() {
	local round variant variants="empty kprofs ftrace perf perf_trace" kprofs ftrace perf
	local -A all cpu
	for ((round = 0; round < rounds; round++)); do
		rm -f "$work/slots"
		begin_load tbench 2
		measure_cycles "$work/slots" $variants
		end_load
		for variant in $variants; do
			all[$variant]+=" $(slower "$work/slots" 3 "$variant")"
			cpu[$variant]+=" $(slower "$work/slots" 4 "$variant")"
		done
	done
	read -ra kprofs <<<"${all[kprofs]}"
	read -ra ftrace <<<"${all[ftrace]}"
	read -ra perf <<<"${all[perf]}"
	figure tbench_slower % '<= 15' "${kprofs[@]}"
	# shellcheck disable=SC2046,SC2086 # words
	{
		figure tbench_empty % - ${all[empty]}
		figure tbench_ftrace % - ${all[ftrace]}
		figure tbench_perf_record % - ${all[perf]}
		figure tbench_perf_trace % - ${all[perf_trace]}
		figure of_ftrace ratio '<= 0.7' $(ratios kprofs ftrace)
		figure of_perf_record ratio '<= 0.35' $(ratios kprofs perf)
		for variant in $variants; do
			figure "tbench_cpu_$variant" % - ${cpu[$variant]}
		done
	}
}

measure_calls() {
	local round empty=() recorded=()
	begin_load calls
	for ((round = 0; round < rounds; round++)); do
		rm -f "$work/slots"
		measure_cycles "$work/slots" empty kprofs
		empty+=("$(added "$work/slots" empty)")
		recorded+=("$(added "$work/slots" kprofs)")
	done
	end_load
	figure call ns - "${recorded[@]}"
	figure call_empty ns - "${empty[@]}"
	# shellcheck disable=SC2046 # words
	figure of_empty ratio '<= 2.2' $(ratios recorded empty)
}

measure_dbench() {
	local round memory all=() empty=()
	# in memory, where no disk's time hides that of the calls
	memory=$(mktemp -d /dev/shm/kprofs-bench.XXXXXX)
	begin_load dbench 2 "$memory"
	for ((round = 0; round < rounds; round++)); do
		rm -f "$work/slots"
		measure_cycles "$work/slots" empty kprofs
		all+=("$(slower "$work/slots" 3 kprofs)")
		empty+=("$(slower "$work/slots" 3 empty)")
	done
	end_load
	rm -rf "$memory"
	figure dbench_slower % - "${all[@]}"
	figure dbench_empty % - "${empty[@]}"
}

# A build has no counter of its work, so whole ones are compared: in turn without and with the recording.
measure_build() {
	local round before after all=() rooms="libbase.a libring.a libkernel.a libtrace.a"
	mkdir "$work/build"
	(cd "$work/build" && eval "\"$bench/../configure\" -q $("$build/config.status" --config)") >"$work/make.log" 2>&1 ||
		fail "configure: $(tail -n 3 "$work/make.log")"
	one_build
	for ((round = 0; round < rounds; round++)); do
		one_build
		before=$took
		on_kprofs
		one_build
		after=$took
		off_kprofs
		one_build
		all+=("$(calc "($after * 2 / ($before + $took) - 1) * 100")")
	done
	figure build_slower % - "${all[@]}"
}

# one_build: sets took, its CPU time in ns
one_build() {
	make -s -C "$work/build" clean >"$work/make.log" 2>&1
	# shellcheck disable=SC2086 # words
	CCACHE_DISABLE=1 "$build/bench/cpu_of" -o "$work/build.cpu" make -s -j2 -C "$work/build" $rooms \
		>"$work/make.log" 2>&1 || fail "the build: $(tail -n 3 "$work/make.log")"
	took=$(cat "$work/build.cpu")
}

mkfifo "$work/perf.in" "$work/perf.out" "$work/empty.in"
exec {perf_in}<>"$work/perf.in" {perf_out}<>"$work/perf.out"
rmdir "$instance" 2>/dev/null || true # of a run that was killed
mkdir "$instance" || fail "an instance of tracefs is in use: $instance"
echo $ring_kb >"$instance/buffer_size_kb"
start_server -o trace_kernel=$ring_kb
measure_calls
# once the switches are off; the list of calls under way runs when it is read
figure attached_off programs '<= 0' "$(attached "$server")"
figure read ms '< 1' "$("$build/bench/kernel_programs" read)"
measure_tbench
measure_dbench
measure_build
rmdir "$instance"
exec {perf_in}>&- {perf_out}<&-

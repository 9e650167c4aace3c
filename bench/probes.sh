# SPDX-License-Identifier: MIT
# probes: what programs of probes/ add to a system call, and how long it takes until they are attached, beside
# bpftrace with the same text.
#
# A process calls getppid all the time, on each CPU for a part of a slot. For each text a round measures four slots:
# without a probe, with ours, without, with bpftrace's. What is added is the time of a call in a slot with a probe
# less the mean of the two without, each the mean over the CPUs of the median of short loops. bpftrace's probes cost
# more on the first CPU, where it opens their perf events: the ratio on the last CPU is a figure of its own.

command -v bpftrace >/dev/null || fail "needs bpftrace"
steal_limit=10 # ms of all CPUs in a slot
tries=5	       # for a slot without
syscall=tracepoint:syscalls:sys_enter_getppid

declare -A texts=(
	[other]='tracepoint:syscalls:sys_enter_vhangup { @ = count(); }'
	[filter]="$syscall /pid == 1/ { @ = count(); }"
	[count]="$syscall { @ = count(); }"
	[by_comm]="$syscall { @[comm] = count(); }"
	[by_three]="$syscall { @[pid, comm, cpu] = count(); }"
	[hist]="$syscall { @[comm] = hist(nsecs); }"
	[kstack]="$syscall { @[kstack] = count(); }"
	[ustack]="$syscall { @[ustack] = count(); }"
)
kinds="other filter count by_comm by_three hist kstack ustack"
# of what bpftrace adds
declare -A limits=([filter]=0.5 [count]=0.5 [by_comm]=0.3 [by_three]=0.3 [hist]=0.5 [kstack]=1.2 [ustack]=0.65)

on_ours() {
	echo "${texts[$1]}" >"$mount/probes/bench" || fail "$1: $(tail -n 1 "$mount/kperr")"
}
off_ours() {
	rm "$mount/probes/bench"
}

# start_bpftrace TEXT COUNT: until it has printed "ready" so many times
start_bpftrace() {
	local left line
	exec {tracer_out}< <(exec bpftrace -q -e "$1" 2>"$work/bpftrace.log")
	tracer_pid=$!
	for ((left = $2; left; )); do
		if read -r line <&"$tracer_out"; then
			[ "$line" != ready ] || ((--left)) || break
		else
			fail "bpftrace: $(cat "$work/bpftrace.log")"
		fi
	done
}
# a signal that comes while it prints may be lost
end_bpftrace() {
	local signals
	while kill -INT "$tracer_pid"; do sleep 1; done 2>/dev/null &
	signals=$!
	cat <&"$tracer_out" >"$work/bpftrace.out"
	kill "$signals"
	wait "$signals" 2>/dev/null || true
	exec {tracer_out}<&-
	wait "$tracer_pid" 2>/dev/null || true
}
# BEGIN runs before the other probes are attached: a timer that ticks for the second time does not
on_theirs() {
	start_bpftrace "${texts[$1]} interval:ms:20 /@ticks < 3/ { @ticks++; printf(\"ready\\n\"); }" 3
}
off_theirs() {
	end_bpftrace
}
on_bare() { :; }
off_bare() { :; }

# slot_ns WHICH KIND: sets slot, the ns of a call, and slot_last, that on the last CPU
slot_ns() {
	local try rate cpu_rate steal
	for ((try = 0; try < tries; try++)); do
		"on_$1" "$2"
		echo >&"$slots_in"
		read -r rate cpu_rate steal slot_last <&"$slots_out" || fail "the load has ended"
		"off_$1" "$2"
		((steal > steal_limit)) || break
	done
	((try < tries)) || fail "the host took CPU time from this machine in all slots"
	slot=$(calc "1e9 / $cpu_rate")
}

measure_costs() {
	local round kind before between limit slot slot_last bare_last ours_last
	local -A ours theirs ratio last
	exec {slots_out}< <(exec "$build/bench/slots" calls <"$work/slots.in")
	slots_pid=$!
	pids+=("$slots_pid")
	exec {slots_in}>"$work/slots.in"
	slot_ns bare warm
	for ((round = 0; round < rounds; round++)); do
		for kind in $kinds; do
			local added_ours added_theirs
			slot_ns bare "$kind"
			before=$slot
			slot_ns ours "$kind"
			added_ours=$slot
			ours_last=$slot_last
			slot_ns bare "$kind"
			between=$slot
			bare_last=$slot_last
			slot_ns theirs "$kind"
			added_theirs=$(calc "$slot - ($before + $between) / 2")
			added_ours=$(calc "$added_ours - ($before + $between) / 2")
			bare+=("$before" "$between")
			ours[$kind]+=" $added_ours"
			theirs[$kind]+=" $added_theirs"
			ratio[$kind]+=" $(calc "$added_ours / $added_theirs")"
			last[$kind]+=" $(calc "($ours_last - $bare_last) / ($slot_last - $bare_last)")"
		done
	done
	exec {slots_in}>&-
	wait "$slots_pid" || fail "the load failed"
	exec {slots_out}<&-
	figure call ns - "${bare[@]}"
	# shellcheck disable=SC2086 # words
	for kind in $kinds; do
		limit=${limits[$kind]:-}
		limit=${limit:+<= $limit}
		limit=${limit:--}
		figure "$kind" ns - ${ours[$kind]}
		figure "$kind.bpftrace" ns - ${theirs[$kind]}
		figure "$kind.ratio" '' "$limit" ${ratio[$kind]}
		figure "$kind.ratio_last_cpu" '' - ${last[$kind]}
	done
}

# that of bpftrace ends when it has seen a first call, of a program that calls all the time
start_theirs() {
	start_bpftrace "${texts[count]} $syscall /@seen == 0/ { @seen = 1; printf(\"ready\\n\"); }" 1
}

# ms_of COMMAND...: sets ms
ms_of() {
	local begin=${EPOCHREALTIME/./}
	"$@"
	ms=$(calc "(${EPOCHREALTIME/./} - $begin) / 1000")
}

# the first 100 system calls that the kernel lists
hundred_rules() {
	awk '/^tracepoint:syscalls:sys_enter_/ && ++n <= 100 { print $1 " { @[comm] = count(); }" }' "$mount/probes/list"
}

write_hundred() {
	cat "$work/hundred.bt" >"$mount/probes/hundred" || fail "$(tail -n 1 "$mount/kperr")"
}

measure_starts() {
	local round ours=() theirs=() ratio=() hundred=()
	background python3 -c 'import os
while True: os.getppid()'
	hundred_rules >"$work/hundred.bt"
	[ "$(wc -l <"$work/hundred.bt")" = 100 ] || fail "the kernel lists less than 100 system calls"
	for ((round = 0; round < rounds; round++)); do
		ms_of on_ours count
		ours+=("$ms")
		off_ours
		ms_of start_theirs
		end_bpftrace
		theirs+=("$ms")
		ratio+=("$(calc "${ours[-1]} / $ms")")
		ms_of write_hundred
		hundred+=("$ms")
		rm "$mount/probes/hundred"
	done
	end_background || true
	figure start ms '< 40' "${ours[@]}"
	figure start.bpftrace ms - "${theirs[@]}"
	figure start.ratio '' '<= 0.1' "${ratio[@]}"
	figure start.100_rules ms '< 2000' "${hundred[@]}"
}

# VmRSS of the server, and what the kernel has locked for its programs and maps
measure_memory() {
	local i id kind locked
	for ((i = 0; i < 100; i++)); do
		echo "tracepoint:syscalls:sys_exit_read /args.ret > $i/ { @[comm] = hist(args.ret); }" \
			>"$mount/probes/m$i" || fail "$(tail -n 1 "$mount/kperr")"
	done
	locked=$(for kind in prog map; do
		for id in $(sed -n "s/^${kind}_id:[^0-9]*//p" /proc/"$server"/fdinfo/* 2>/dev/null | sort -u); do
			bpftool "$kind" show id "$id" 2>/dev/null
		done
	done | sed -n 's/.*memlock \([0-9]*\)B.*/\1/p' | awk '{ sum += $1 } END { print sum / 1e6 }')
	figure memory.100_programs MB - "$(awk '/^VmRSS/ { print $2 * 1024 / 1e6 }' "/proc/$server/status")"
	figure memory.100_programs_kernel MB - "$locked"
	figure memory.100_programs_both MB '< 64' \
		"$(awk -v kernel="$locked" '/^VmRSS/ { print $2 * 1024 / 1e6 + kernel }' "/proc/$server/status")"
	rm "$mount"/probes/m*
}

bare=()
mkfifo "$work/slots.in"
start_server
measure_starts
measure_memory
measure_costs
stop_server

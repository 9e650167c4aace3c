# SPDX-License-Identifier: MIT
# only: what a sample that `only` refuses costs above the bare event.
#
# A thread touches new pages all the time. Each page fault is an event. Bare, it is a sample with the same fields
# that a program refuses which only returns 0 (bench/bare_event.c): that is what the kernel itself takes for a
# sample that a program sees. Else a filter of a session refuses it, or, for comparison, the session takes it. A
# round measures for each kind a slot, and a bare one before and behind it. The cost is the time of a page fault
# less the mean of those two, each the median of short loops.
#
# `counting` is the bare event above one that is no sample and only counts, and `discarded` above one that is a
# sample without a program and finds no buffer: negative where such a sample takes longer.

. "$bench/slots.bash"

each=page-faults:period=1
declare -A filters=(
	[uid]='only uid == 12345'
	[comm]='only comm == "no such task"'
	[three]='only comm == "slots" && uid == 0 && pid == 1'
	[cgroup]='only cgroup != "/"'
	[delivered]='only all'
)

# bare MODE: switches the bare event
bare() {
	local answer
	echo "$1" >&"${bare_event[1]}"
	read -r answer <&"${bare_event[0]}" && [ "$answer" = done ] || fail "bare_event has ended"
}

# fault_ns: sets ns, the time of a page fault
fault_ns() {
	local try
	for ((try = 0; try < 5; try++)); do
		slot
		! is_undisturbed || break
	done
	ns=$(calc "1e9 / $cpu_rate")
}

# session_ns FILTER STACK: sets ns while a session samples page faults
session_ns() {
	control clear "event $each" "stack $2" 'mode overwrite' "$1" start
	fault_ns
	control stop
}

bare_ns() {
	bare "$1"
	fault_ns
	bare off
}

# added COMMAND...: sets added, what a page fault takes longer with the command than with the bare event
added() {
	local before with
	bare_ns refused
	before=$ns
	"$@"
	with=$ns
	bare_ns refused
	added=$(calc "$with - ($before + $ns) / 2")
}

coproc bare_event { exec "$build/bench/bare_event"; }
start_server
control "${filters[uid]}" # BPF is there
kinds="uid comm three delivered"
! (control "${filters[cgroup]}") 2>/dev/null || kinds="uid comm three cgroup delivered"
declare -A all=()
begin_load faults
for ((round = 0; round < rounds; round++)); do
	for mode in counting discarded; do
		added bare_ns $mode
		all[$mode]+=" $(calc "-($added)")"
	done
	for kind in $kinds; do
		added session_ns "${filters[$kind]}" none
		all[$kind]+=" $added"
	done
	added session_ns "${filters[uid]}" both
	all[stacks]+=" $added"
done
end_load
exec {bare_event[1]}>&-
# shellcheck disable=SC2086 # numbers
for kind in counting discarded $kinds stacks; do
	limit='< 150'
	[[ $kind != @(counting|discarded|delivered|stacks) ]] || limit=-
	figure "$kind" ns "$limit" ${all[$kind]}
done

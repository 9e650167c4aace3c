# SPDX-License-Identifier: MIT
# trace-open: the time from open(2) of kptrace to its first byte, while 64 MiB of events of one kind are
# held: of the first open since they were written, and of later ones.

pool_kb=65536

for kind in none integer float general many control format cut wide stack; do
	first=() later=()
	for ((round = 0; round < (rounds + 1) / 2; round++)); do
		start_server
		echo 1 >"$mount/events/all"
		KPROF_BUFFER_KB=$pool_kb "$build/bench/kinds" $kind $((pool_kb * 1024)) ||
			fail "the program that writes events"
		first+=("$(calc "$("$build/bench/reading" byte "$mount/kptrace") / 1e6")")
		for ((i = 0; i < 2; i++)); do
			later+=("$(calc "$("$build/bench/reading" byte "$mount/kptrace") / 1e6")")
		done
		stop_server
	done
	figure "first_$kind" ms '< 200' "${first[@]}"
	figure "later_$kind" ms '< 200' "${later[@]}"
done

# SPDX-License-Identifier: MIT
# threads: the CPU time of an event with many writing threads, and the event counts of many programs.
#
# bench/event compares N threads with a single one, in the same process, one after the other. Then 200
# programs of 4 threads each write at the same time: every event must be held, overwritten by design,
# or counted as dropped, and the pool of each program stays within its share (1 MiB).

cpus=$(nproc)
programs=200 each=20000

export KPROF_SOCKET=$work/trace
start_serve() {
	rm -f "$KPROF_SOCKET"
	"$build/bench/serve" "$KPROF_SOCKET" >"$work/serve" &
	serve=$!
	pids+=("$serve")
	until_true 10 [ -S "$KPROF_SOCKET" ] || fail "no server"
}

start_serve
few=() many=()
for ((round = 0; round < rounds; round++)); do
	for threads in "$cpus" 64; do
		"$build/bench/event" threads "$threads" $((20000000 / threads)) >"$work/ns" ||
			fail "bench/event: status $?"
		ratio=$(awk '{ v[$1] = $2 } END { print v["all"] / v["one"] }' "$work/ns")
		if [ "$threads" = "$cpus" ]; then few+=("$ratio"); else many+=("$ratio"); fi
	done
done
figure "one_a_cpu" ratio '<= 1.1' "${few[@]}"
figure 64_threads ratio '<= 1.3' "${many[@]}"
kill "$serve" && wait "$serve" || fail "the server ended with status $?"

start_serve
writers=()
for ((i = 0; i < programs; i++)); do
	"$build/bench/event" write 4 "$each" >"$work/written.$i" &
	writers+=($!)
done
for pid in "${writers[@]}"; do
	wait "$pid" || fail "a program ended with status $?"
done
kill "$serve" && wait "$serve" || fail "the server ended with status $?"
written=$(cat "$work"/written.* | awk '{ n += $1 } END { print n }')
read -r _ came _ begun _ held _ overwritten _ dropped _ bytes < <(tail -n 1 "$work/serve")
figure programs programs ">= $programs" "$came"
figure written events - "$written"
figure uncounted events '== 0' "$((written - begun))"
figure unaccounted events '== 0' "$((begun - held - overwritten - dropped))"
figure dropped events '== 0' "$dropped"
figure memory bytes '<= 1048576' "$bytes"

# SPDX-License-Identifier: MIT
# capture: how much memory the samples of a capture need, what it costs to store them, and to read them.
#
# Two loads: threads with stacks of some 25 frames, and tbench, whose stacks differ more. In each round the
# machine samples for some seconds without a reader into 1 MiB, which is then full of packed records and
# overwritten; then kpdata is read. CPU times are those of the server. An older commit, for bench/compare,
# counts records as its memory.

window=6 rate=9999
command -v tbench >/dev/null || fail "needs tbench (Debian: dbench)"

memory_bytes() {
	awk '$1 == "bytes.memory" || ($1 == "bytes.held" && !n) { n = $2 } END { print n }' "$mount/kpstat"
}

# measure LOAD: samples for the window; adds to the arrays of the figures
measure() {
	local before samples held read=0 bytes i
	control clear "event cpu-clock:freq=$rate" 'stack both' 'prof_qlimit 1024' 'mode overwrite'
	before=$(cpu_ns "$server")
	control start
	sleep "$window"
	control stop
	before=$(($(cpu_ns "$server") - before))
	samples=$(counter samples.received)
	held=$((samples - $(counter samples.lost_queue)))
	((held > 0 && held < samples)) || fail "the capture is not full"
	cost+=("$(calc "$before / $samples")")
	records+=("$(calc "$(counter bytes.held) / $held")")
	memory+=("$(calc "$(memory_bytes) / $held")")
	gain+=("$(calc "$(counter bytes.held) / $(memory_bytes)")")
	before=$(cpu_ns "$server")
	for ((i = 0; i < 30; i++)); do
		read -r bytes _ < <("$build/bench/reading" rate "$mount/kpdata" 1048576)
		read=$((read + bytes))
	done
	reads+=("$(calc "$read / ($(cpu_ns "$server") - $before)")")
}

# figures LOAD: of the rounds
figures() {
	figure "$1_records" bytes/sample - "${records[@]}"
	figure "$1_memory" bytes/sample '<= 52' "${memory[@]}"
	figure "$1_gain" times '>= 4' "${gain[@]}"
	figure "$1_cpu" ns/sample - "${cost[@]}"
	figure "$1_read" GB/s '>= 2' "${reads[@]}"
}

measure_rounds() {
	cost=() records=() memory=() gain=() reads=()
	for ((round = 0; round < rounds; round++)); do
		measure
	done
}

start_server
background "$build/bench/busy" -t 2
measure_rounds # memory that is used for the first time costs more
measure_rounds
figures busy
end_background
background tbench_srv
until_true 10 tbench -t 1 1 >"$work/tbench.log" 2>&1 || fail "tbench: $(cat "$work/tbench.log")"
background tbench -t $((rounds * (window + 5))) 4 >"$work/tbench.log" 2>&1
sleep 1
measure_rounds
figures tbench

# SPDX-License-Identifier: MIT
# sampling: the cost of sampling busy threads, beside perf record, in turn.
#
# One round is four parts of 10 s with the same busy threads: kprofs samples, no sampling, perf samples,
# no sampling. The order of kprofs and perf alternates from round to round. Both sample for 10 s, and
# their CPU times include starting and stopping. The threads' speed is measured inside those 10 s,
# without the edges; the loss is relative to the mean of the two neighbouring parts without sampling.
# CPU time of kprofs is that of the server and of the cat that streams kpdata to a file, from before
# start to after stop.

command -v perf >/dev/null || fail "needs perf (Debian: linux-perf)"
window=10 edge=0.5 rate=9999

# window_speed: waits for the window to pass; sets $speed, the units of work per second in it, without
# the edges
window_speed() {
	local t0 u0 t1 u1
	sleep "$edge"
	kill -USR1 "$busy"
	read -r t0 u0 <&"$busy_out"
	sleep "$(calc "$window - 2 * $edge")"
	kill -USR1 "$busy"
	read -r t1 u1 <&"$busy_out"
	speed=$(calc "($u1 - $u0) / ($t1 - $t0) * 1e9")
	sleep "$edge"
}

# sample_kprofs RATE: sets speed, samples, lost, throttles, bytes, and cpu (in ns)
sample_kprofs() {
	local before reader
	control clear "event cpu-clock:freq=$1" 'stack both'
	before=$(cpu_ns "$server")
	control start
	"$build/bench/cpu_of" -o "$work/cat.cpu" cat "$mount/kpdata" >"$work/kpdata" &
	reader=$!
	window_speed
	control stop
	wait "$reader"
	cpu=$(($(cpu_ns "$server") - before + $(cat "$work/cat.cpu")))
	read -r samples lost throttles bytes < <("$build/bench/reading" count "$work/kpdata")
	((samples > 0)) || fail "no samples"
}

# sample_perf RATE: sets speed, samples, bytes, cpu. perf begins sampling some 0.2 s after its
# start: within the edge.
sample_perf() {
	local recorder
	"$build/bench/cpu_of" -o "$work/perf.cpu" \
		perf record -q -B -a -g -F "$1" -e cpu-clock -o "$work/perf.data" \
		-- sleep "$window" >"$work/perf.log" 2>&1 &
	recorder=$!
	window_speed
	wait "$recorder" || fail "perf record: $(cat "$work/perf.log")"
	cpu=$(cat "$work/perf.cpu")
	samples=$(perf report -i "$work/perf.data" --stats 2>/dev/null |
		awk '/SAMPLE events:/ { print $3; exit }')
	bytes=$(stat -c %s "$work/perf.data")
	((samples > 0)) || fail "no samples in perf.data"
}

exec {busy_out}< <(exec "$build/bench/busy" -t 2)
busy=$!
pids+=("$busy")
start_server

declare -a our_cpu=() our_bytes=() our_loss=() our_count=() perf_cpu=() perf_bytes=() \
	perf_loss=() perf_count=() cpu_ratio=() bytes_ratio=() loss_difference=() all_lost=() \
	all_throttles=()
window_speed
plain_before=$speed
for ((round = 0; round < rounds; round++)); do
	order="kprofs perf"
	((round % 2 == 0)) || order="perf kprofs"
	for sampler in $order; do
		"sample_$sampler" "$rate"
		each=$(calc "$cpu / $samples") size=$(calc "$bytes / $samples") slow=$speed
		window_speed
		plain_after=$speed
		loss=$(calc "(1 - 2 * $slow / ($plain_before + $plain_after)) * 100")
		plain_before=$plain_after
		if [ "$sampler" = kprofs ]; then
			our_cpu+=("$each") our_bytes+=("$size") our_loss+=("$loss")
			our_count+=("$samples") all_lost+=("$lost") all_throttles+=("$throttles")
		else
			perf_cpu+=("$each") perf_bytes+=("$size") perf_loss+=("$loss")
			perf_count+=("$samples")
		fi
	done
	cpu_ratio+=("$(calc "${our_cpu[round]} / ${perf_cpu[round]}")")
	bytes_ratio+=("$(calc "${our_bytes[round]} / ${perf_bytes[round]}")")
	loss_difference+=("$(calc "${our_loss[round]} - ${perf_loss[round]}")")
done

slow_share=()
for ((round = 0; round < 3; round++)); do
	sample_kprofs 999
	slow_share+=("$(calc "($cpu - $(cat "$work/cat.cpu")) / ($window * 1e9) * 100")")
done

figure kprofs_samples samples - "${our_count[@]}"
figure perf_samples samples - "${perf_count[@]}"
figure kprofs_cpu ns/sample - "${our_cpu[@]}"
figure perf_cpu ns/sample - "${perf_cpu[@]}"
figure cpu_ratio ratio '<= 0.5' "${cpu_ratio[@]}"
figure kprofs_bytes bytes/sample - "${our_bytes[@]}"
figure perf_bytes bytes/sample - "${perf_bytes[@]}"
figure bytes_ratio ratio '<= 0.9' "${bytes_ratio[@]}"
figure kprofs_loss % - "${our_loss[@]}"
figure perf_loss % - "${perf_loss[@]}"
figure loss_difference points '<= 1' "${loss_difference[@]}"
# no round may lose a sample: the sum, not the median
figure lost samples '<= 0' "$(calc "$(IFS=+; echo "${all_lost[*]}")")"
figure throttled times '<= 0' "$(calc "$(IFS=+; echo "${all_throttles[*]}")")"
figure cpu_at_999 % '< 0.3' "${slow_share[@]}"
exec {busy_out}<&-
kill "$busy"

# SPDX-License-Identifier: MIT
# sessions: the cost of sessions beside the one at the top, and what many of them leave behind.
#
# Two busy threads run. In each round one session samples for some seconds, then two do; the CPU time of the
# server for each sample of both is to be that of one. Then directories in sessions/ are made and removed.

window=4 rate=999 turns=10000
sessions=$mount/sessions

# sample SESSION...: they sample for the window; prints the CPU ns of the server for each of their samples
sample() {
	local before name samples=0 n
	for name; do
		printf 'clear\nevent cpu-clock:freq=%d\nstack both\n' "$rate" >"$sessions/$name/kpctl"
	done
	before=$(cpu_ns "$server")
	for name; do
		echo start >"$sessions/$name/kpctl"
	done
	sleep "$window"
	for name; do
		echo stop >"$sessions/$name/kpctl"
	done
	before=$(($(cpu_ns "$server") - before))
	for name; do
		n=$(awk '$1 == "samples.received" { print $2 }' "$sessions/$name/kpstat")
		((n > 0)) || fail "no samples in session $name"
		samples=$((samples + n))
	done
	calc "$before / $samples"
}

background "$build/bench/busy" -t 2
start_server
mkdir "$sessions/one" "$sessions/two" || fail "mkdir: $(tail -n 1 "$mount/kperr")"
ones=() twos=() ratios=()
sample one two >/dev/null # memory that is used for the first time costs more
for ((round = 0; round < rounds; round++)); do
	one=$(sample one)
	two=$(sample one two)
	ones+=("$one") twos+=("$two") ratios+=("$(calc "$two / $one")")
done
end_background
figure cpu_one ns/sample - "${ones[@]}"
figure cpu_two ns/sample - "${twos[@]}"
figure two_to_one ratio - "${ratios[@]}"
rmdir "$sessions/one" "$sessions/two"

descriptors() {
	find "/proc/$server/fd" -mindepth 1 | wc -l
}
threads() {
	find "/proc/$server/task" -mindepth 1 -maxdepth 1 | wc -l
}
resident_kb() {
	awk '$1 == "VmRSS:" { print $2 }' "/proc/$server/status"
}
is_as_before() {
	(($(descriptors) <= before_descriptors && $(threads) <= before_threads))
}
mkdir "$sessions/one" && rmdir "$sessions/one"
before_descriptors=$(descriptors) before_threads=$(threads) before_kb=$(resident_kb)
begin=${EPOCHREALTIME/.}
for ((i = 0; i < turns; i++)); do
	mkdir "$sessions/one" && rmdir "$sessions/one" || fail "turn $i: $(tail -n 1 "$mount/kperr")"
done
figure turn ms - "$(calc "(${EPOCHREALTIME/.} - $begin) / $turns / 1000")"
until_true 10 is_as_before || true # the figures tell
figure left_descriptors "" '<= 0' "$(($(descriptors) - before_descriptors))"
figure left_threads "" '<= 0' "$(($(threads) - before_threads))"
figure left_memory KB '<= 1024' "$(($(resident_kb) - before_kb))"

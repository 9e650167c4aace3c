# SPDX-License-Identifier: MIT
# start: the duration of `start` with 2,000 processes, and of the first sample after it.

exec {many_out}< <(exec "$build/bench/many" 2000)
pids+=("$!")
read -r -t 60 word <&"$many_out" && [ "$word" = ready ] || fail "could not start 2,000 processes"
background "$build/bench/busy" -t 1
start_server

starts=() firsts=()
for ((round = 0; round < rounds; round++)); do
	read -r start first < <("$build/bench/reading" first "$mount/kpctl" "$mount/kpdata")
	control stop clear
	starts+=("$(calc "$start / 1e6")")
	firsts+=("$(calc "$first / 1e6")")
done
figure start ms '<= 1000' "${starts[@]}"
figure first_sample ms '<= 100' "${firsts[@]}"
exec {many_out}<&-

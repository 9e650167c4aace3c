# SPDX-License-Identifier: MIT
# kpdata: the rate at which a full capture of 16 MiB is read, with reads of 1 MiB.

limit_kb=16384

is_full() {
	(($(counter bytes.memory) >= limit_kb * 1024 * 9 / 10))
}

background "$build/bench/busy" -d 100-120
busy=$!
start_server
control "prof_qlimit $limit_kb" 'mode overwrite' 'event cpu-clock:freq=9999' 'stack both 127' start
until_true 120 is_full || fail "kpdata did not fill up"
control stop
kill "$busy"

rates=() held=0
for ((round = 0; round < rounds; round++)); do
	read -r bytes ns < <("$build/bench/reading" rate "$mount/kpdata" 1048576)
	rates+=("$(calc "$bytes / $ns")")
	held=$bytes
done
figure bytes MiB - "$(calc "$held / 1048576")"
figure rate GB/s '>= 1' "${rates[@]}"

# SPDX-License-Identifier: MIT
# query: views of the last second of a full capture of 64 MiB, beside those of all of it, while 500
# processes are there that do nothing.

processes=500

run_scripts() {
	while :; do
		bash -c 'for ((i = 0; i < 60000; i++)); do :; done'
		perl -e '$h{$_ % 1000} .= "x" for 1 .. 300000' 2>/dev/null
		python3 -c 'sorted(str(i) for i in range(200000))' 2>/dev/null
	done >/dev/null
}

# the oldest samples are overwritten; 64 MiB are the packed samples and the state that they need
is_full() {
	[ "$(counter bytes.dropped)" -gt 0 ]
}

# seconds FILE: prints how long an open takes
seconds() {
	local before=$EPOCHREALTIME
	cat "$1" >/dev/null || fail "$1 could not be made: $(tail -n 1 "$mount/kperr")"
	calc "$EPOCHREALTIME - $before"
}

start_server
for ((i = 0; i < processes; i++)); do
	background sleep 1000
done
control 'prof_qlimit 65536' 'mode overwrite' 'event cpu-clock:freq=14999' start
loops=()
for ((cpu = $(nproc); cpu > 0; cpu--)); do
	run_scripts &
	loops+=($!)
done
pids+=("${loops[@]}")
until_true 400 is_full || fail "the capture is not full"
control stop
kill "${loops[@]}"

for view in flat flame.svg; do
	seconds "$mount/views/$view" >/dev/null # the symbols are cached from here on
	whole=() last=() ratios=()
	for ((round = 0; round < rounds; round++)); do
		whole+=("$(seconds "$mount/views/$view")")
		last+=("$(seconds "$mount/views/last/1s/$view")")
		ratios+=("$(calc "${last[-1]} / ${whole[-1]}")")
	done
	figure "${view%.svg}_whole" s - "${whole[@]}"
	figure "${view%.svg}_last_second" s - "${last[@]}"
	figure "${view%.svg}_ratio" ratio '<= 0.1' "${ratios[@]}"
done
summary() { head -n 1 "$mount/views/$1/flat" | awk '{ print $2, $8 }'; }
read -r part seconds_of_part < <(summary last/1s)
read -r all seconds_of_all < <(summary .)
figure held MB - "$(calc "$(counter bytes.held) / 1e6")"
figure samples samples - "$all"
figure samples_last_second samples - "$part"
figure duration s - "$seconds_of_all"
figure duration_last_second s - "$seconds_of_part"
for key in pid comm; do
	list=()
	for ((round = 0; round < rounds; round++)); do
		before=$EPOCHREALTIME
		ls "$mount/views/by/$key" >/dev/null
		list+=("$(calc "$EPOCHREALTIME - $before")")
	done
	figure "list_$key" s - "${list[@]}"
done
stop_server

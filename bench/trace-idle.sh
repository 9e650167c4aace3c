# SPDX-License-Identifier: MIT
# trace-idle: 50 producers write 1,000 events a second each, and there is no reader. The CPU time of the
# server in 10 s: none, since an event does not wake it.

programs=50 rate=1000

# attached: all programs are attached, and the one that started them
attached() {
	[ "$(counter trace.producers)" = $((programs + 1)) ]
}

switches() {
	cat /proc/"$server"/task/*/status | awk '/ctxt_switches/ { n += $2 } END { print n }'
}

# asleep: the server has finished the work of attaching the programs
asleep() {
	local before
	before=$(switches)
	sleep 0.5
	[ "$(switches)" = "$before" ]
}

start_server
echo 1 >"$mount/events/ticking:tick"
background "$build/bench/ticking" $programs $rate
until_true 30 attached || fail "the programs did not attach: $(counter trace.producers)"
written=$(counter trace.written)
until_true 30 asleep || fail "the server does not become idle"
before=$(cpu_ns "$server")
sleep 10
after=$(cpu_ns "$server")
figure cpu ms '< 10' "$(calc "($after - $before) / 1e6")"
# proof that the programs wrote during these 10 s
figure events events ">= $((programs * rate * 9))" "$(calc "$(counter trace.written) - $written")"

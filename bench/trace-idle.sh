# SPDX-License-Identifier: MIT
# trace-idle: 50 programs are attached and write 1,000 events a second each; nobody reads. What that
# costs the server in 10 s: nothing, since nobody tells it of events.

programs=50 rate=1000

# attached: all programs are, and the one that started them
attached() {
	[ "$(counter trace.producers)" = $((programs + 1)) ]
}

switches() {
	cat /proc/"$server"/task/*/status | awk '/ctxt_switches/ { n += $2 } END { print n }'
}

# asleep: the server has finished what the programs' coming made it do
asleep() {
	local before
	before=$(switches)
	sleep 0.5
	[ "$(switches)" = "$before" ]
}

start_server
echo 1 >"$mount/events/ticking:tick"
background "$build/bench/ticking" $programs $rate
until_true 30 attached || fail "the programs do not attach: $(counter trace.producers)"
written=$(counter trace.written)
until_true 30 asleep || fail "the server does not come to rest"
before=$(cpu_ns "$server")
sleep 10
after=$(cpu_ns "$server")
figure cpu ms '< 10' "$(calc "($after - $before) / 1e6")"
# the programs have written meanwhile, and the rest before the server came to rest
figure events events ">= $((programs * rate * 9))" "$(calc "$(counter trace.written) - $written")"

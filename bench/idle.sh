# SPDX-License-Identifier: MIT
# idle: mounted, without samples and readers: no thread of the server wakes for 10 s.

switches() {
	cat /proc/"$server"/task/*/status | awk '/ctxt_switches/ { n += $2 } END { print n }'
}

# asleep: the server has finished the work that the mount caused
asleep() {
	local before
	before=$(switches)
	sleep 0.5
	[ "$(switches)" = "$before" ]
}

start_server
until_true 10 asleep || fail "the server does not become idle"
before=$(switches)
sleep 10
figure switches switches '<= 0' "$(calc "$(switches) - $before")"
figure resident MiB '< 10' "$(awk '/^VmRSS/ { print $2 / 1024 }' "/proc/$server/status")"

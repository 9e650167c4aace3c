#!/bin/bash
# SPDX-License-Identifier: MIT
# trace_acceptor: The acceptor is killed while the server has no descriptor left to start another one. Once
# it has, programs attach again.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

if [ "$(id -u)" != 0 ] || ! command -v prlimit >/dev/null; then
	echo "needs root and prlimit"
	exit 77
fi

acceptor() {
	local pid
	for pid in $(pgrep -P "$SERVER"); do
		if grep -qsx kp-accept "/proc/$pid/comm" && ! has_ended "$pid"; then
			echo "$pid"
		fi
	done
}

no_acceptor() {
	[ -z "$(acceptor)" ]
}

stat_is() {
	[ "$(stat_of "$1")" = "$2" ]
}

serve_trace
tell_start one 64 1 10
wait_for stat_is trace.connections 1
killed=$(acceptor)
check "the server has an acceptor" test -n "$killed"
limit=$(sed -n 's/^Max open files *\([0-9]*\) .*/\1/p' "/proc/$SERVER/limits")
prlimit --pid "$SERVER" --nofile=3:
kill -KILL "$killed"
wait_for no_acceptor
# the end of a connection frees one descriptor, which is not enough for an acceptor
tell_end one
wait_for stat_is trace.connections 0
prlimit --pid "$SERVER" --nofile="$limit":
tell_start two 64 1 10
wait_for stat_is trace.connections 1
tell_end two
same "acceptors" 1 "$(acceptor | wc -l)"
serve_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# unreceived_descriptor: a program sends a file of a FUSE server that does not answer, and the server ends
# before it has received it. The kernel closes the file with the socket in which it is queued, and writes its
# pages first, which never ends: so the process that closes the socket stays, and must not be the server.
# shellcheck source=tests/hostile/lib.sh
. "${srcdir:-.}/tests/hostile/lib.sh"

has_connections() {
	[ "$(stat_of trace.connections)" = "$1" ]
}

# the server is stopped meanwhile, so that it receives nothing
for signal in TERM KILL; do
	for how in "2 accepted" "2 queued"; do
		begin_silent writeback write
		serve
		[ "$how" != "2 queued" ] || kill -STOP "$SERVER"
		# shellcheck disable=SC2086 # two words
		attack send_descriptor "$SOCKET" "$SILENT/file" $how
		wait_for has_said connected
		if [ "$how" = "2 accepted" ]; then
			wait_for has_connections 2
			kill -STOP "$SERVER"
		fi
		echo go >&"$hold"
		wait_for has_said sent
		echo "$how"
		end_server "$signal"
		end_silent
		end_attack
	done
done

#!/bin/bash
# SPDX-License-Identifier: MIT
# foreign_descriptor: a program sends, as its pool, a file of a FUSE server that does not answer. Other programs
# attach in their normal time; SIGTERM ends the server, and so does SIGKILL, which frees mount and socket;
# the next server starts at once.
# shellcheck source=tests/hostile/lib.sh
. "${srcdir:-.}/tests/hostile/lib.sh"

# Ordinary times are 1 to 50 ms.
for signal in TERM KILL; do
	for how in "1" "12" "12 behind"; do
		begin_silent flush release
		serve
		# shellcheck disable=SC2086 # two words
		attack $how
		wait_for has_said sent
		below "$how descriptors, then an attach" 1000 "$("$HERE/attach_time" "$SOCKET" 10)"
		end_server "$signal"
		end_silent
		end_attack
	done
done

#!/bin/bash
# SPDX-License-Identifier: MIT
# foreign_descriptor: a program sends, as its pool, a file of a FUSE server that does not answer. Other programs
# attach; SIGTERM ends the server, and so does SIGKILL, which frees mount and socket; the next server starts.
# shellcheck source=tests/hostile/lib.sh
. "${srcdir:-.}/tests/hostile/lib.sh"

# Ordinary times are 1 to 50 ms. They are printed only: a server that waits for the file never answers.
for signal in TERM KILL; do
	for how in "1" "12" "12 behind"; do
		begin_silent flush release
		serve
		# shellcheck disable=SC2086 # two words
		attack send_descriptor "$SOCKET" "$SILENT/file" $how
		wait_for has_said sent
		took=$(timeout 30 "$HERE/attach_time" "$SOCKET" 10) || fail "$how descriptors: no attach within 30 s"
		echo "$how descriptors, then the median of 10 attaches: $took ms"
		end_server "$signal"
		end_silent
		end_attack
	done
done

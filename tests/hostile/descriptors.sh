#!/bin/bash
# SPDX-License-Identifier: MIT
# descriptors: a server that cannot open any more descriptors ends normally: it answers the reads
# that wait, unmounts and exits with 0.
#
# A descriptor that is left open to this script would be one of the server's first, and be kept: then LeakSanitizer
# has none to look at the server's end.
exec 3>&-
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# as if others had taken what it closes itself while it ends: it gets no number above those of its
# first descriptors, which it keeps to the end
leave_none() {
	prlimit --pid "$SERVER" --nofile=4:
}

reads_wait() {
	[ "$(stat_of fs.waiting_reads 2>/dev/null)" = 1 ]
}

if ! command -v prlimit >/dev/null; then
	echo "no prlimit here"
	exit 77
fi

for signal in TERM INT; do
	serve
	cat "$MNT/kptrace_pipe" >"$WORK/pipe" &
	reader=$!
	wait_for reads_wait
	leave_none
	fails_with "Too many open files" cat "$MNT/views/ctf/metadata"
	serve_end "$signal"
	ended_well "the reader that waited" "$reader"
done

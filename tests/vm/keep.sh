#!/bin/bash
# SPDX-License-Identifier: MIT
# keep: with the mount option keep a function is recorded also after kill -9 of the server, and by the programs of
# the next one then. None of its calls is lost or recorded twice, also when the setting changes.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

COUNT=3000000
BPF=$WORK/bpf
KEEP=$BPF/kept
mkdir "$BPF"
mount -t bpf bpf "$BPF" || exit 1
at_end() {
	local status=$?
	umount -l "$BPF"
	(exit "$status")
	clean_up
}
trap at_end EXIT

CALL=$(sed -n 's/.* [tT] \(__[a-z0-9]*_sys_getppid\)$/\1/p' /proc/kallsyms | head -n 1)
SWITCH=events/kernel/function:$CALL
filters=('1 /comm == "kernel_calls"/' '1 /comm == "kernel_calls" && pid > 1/')
changes=0
change() {
	changes=$((changes + 1))
	put "$SWITCH" "${filters[changes % 2]}" || fail "$SWITCH: $(tail -n 1 "$MNT/kperr")"
}

serve -o "keep=$KEEP"
change
echo | tests/fs/kernel_calls 0 $COUNT >"$WORK/pid" &
CALLER=$!
wait_for test -s "$WORK/pid"
change
change
same "it is still calling" "" "$(has_ended "$CALLER" && echo ended)"
kill -KILL "$SERVER"
wait "$SERVER" 2>/dev/null
SERVER=
umount -l "$MNT"
serve -o "keep=$KEEP"
changes=$((changes + 1))
same "the switch" "${filters[(changes - 1) % 2]}" "$(cat "$MNT/$SWITCH")"
wait "$CALLER" || fail "kernel_calls: status $?"
same "the calls in $changes changes" $COUNT $(($(stat_of trace.kernel.recorded) + $(stat_of trace.kernel.missed)))
put "$SWITCH" 0
serve_end
same "a clean end removes all" 0 "$(find "$KEEP" -mindepth 1 2>/dev/null | wc -l)"

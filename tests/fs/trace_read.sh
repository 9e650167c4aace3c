#!/bin/bash
# SPDX-License-Identifier: MIT
# trace_read: kptrace returns all events of attached programs in order, for each way of reading.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/trace_lib.sh
. "${srcdir:-.}/tests/fs/trace_lib.sh"

KPROF=${KPROF:-$PWD/kprof}

python() {
	python3 -c "$@"
}

read_cat() { cat "$1" >"$2"; }
read_dd_777() { dd if="$1" of="$2" bs=777 status=none; }
read_dd_1M() { dd if="$1" of="$2" bs=1M status=none; }
read_cp() { cp "$1" "$2"; }
read_tar() {
	tar -C "$(dirname "$1")" -cf - "$(basename "$1")" | tar -xOf - >"$2"
	[ "${PIPESTATUS[*]}" = "0 0" ]
}
read_busybox_file() { busybox cat "$1" >"$2"; }
read_busybox_pipe() { busybox cat "$1" | cat >"$2"; }
read_busybox_cp() { busybox cp "$1" "$2"; }
read_copyfile() { python 'import shutil, sys; shutil.copyfile(*sys.argv[1:])' "$1" "$2"; }
read_mmap() {
	python '
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
size = os.fstat(fd).st_size
open(sys.argv[2], "wb").write(mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ)[:])
' "$1" "$2"
}
# in pieces from the end, and the reads interrupted by a signal all the time: each that goes back begins
# anew, and ends after any number of interrupted reads
read_backwards() {
	python '
import os, signal, sys
signal.signal(signal.SIGALRM, lambda *args: None)
signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
fd = os.open(sys.argv[1], os.O_RDONLY)
end = os.lseek(fd, 0, os.SEEK_END)
pieces = []
while end:
	at = max(end - 700000, 0)
	piece = b""
	while at + len(piece) < end:
		piece += os.pread(fd, end - at - len(piece), at + len(piece))
	pieces.append(piece)
	end = at
signal.setitimer(signal.ITIMER_REAL, 0)
open(sys.argv[2], "wb").write(b"".join(reversed(pieces)))
' "$1" "$2"
}

readers="cat dd_777 dd_1M cp tar"
command -v busybox >/dev/null && readers="$readers busybox_file busybox_pipe busybox_cp"
command -v python3 >/dev/null && readers="$readers copyfile mmap backwards"

# 3 threads of 15,000 events: some 3 MB of text, more than is made at an open
serve_trace
put kptrace "before"
tell_start one 16384 3 15000
put kptrace "after"

cat "$MNT/kptrace" >"$WORK/want"
same "events" 45000 "$(events_are_right "$WORK/want")"
same "all lines" 45003 "$(wc -l <"$WORK/want")"
head -n 1 "$WORK/want" | grep -q ': before$' || fail "the message before the events"
tail -n 1 "$WORK/want" | grep -q ': after$' || fail "the message behind the events"
tail -n 2 "$WORK/want" | head -n 1 | grep -q "]:cpu[0-9]*: tell\[$TOLD\]: told 45000\$" ||
	fail "the text: $(tail -n 2 "$WORK/want" | head -n 1)"
same "numbers of the first thread, by its pid alone" 15000 \
	"$(grep -c " tell\[$TOLD\] test:n: thread 0 n [0-9]* text\$" "$WORK/want")"
same "and of the others, with their own" 30000 \
	"$(grep -c " tell\[$TOLD/[0-9]*\] test:n: thread [12] n [0-9]* text\$" "$WORK/want")"
same "size of the newest reading" "$(stat -c %s "$WORK/want")" "$(stat -c %s "$MNT/kptrace")"

for reader in $readers; do
	rm -f "$WORK/got"
	"read_$reader" "$MNT/kptrace" "$WORK/got" || fail "$reader"
	check "what $reader gets" cmp "$WORK/want" "$WORK/got"
done
dd if="$MNT/kptrace" of="$WORK/got" bs=1 count=50000 status=none
check "dd bs=1" cmp -n 50000 "$WORK/want" "$WORK/got"
tail -c 5000 "$MNT/kptrace" | cmp - <(tail -c 5000 "$WORK/want") || fail "the end of it"

# two readers at once, in turns, and one that stops in the middle
exec 3<"$MNT/kptrace" 4<"$MNT/kptrace"
head -c 100000 "$MNT/kptrace" >"$WORK/got" # closes early
for fd in 3 4 3 4; do
	dd bs=700000 count=1 iflag=fullblock status=none <&$fd >>"$WORK/got.$fd"
done
cat <&3 >>"$WORK/got.3"
cat <&4 >>"$WORK/got.4"
exec 3<&- 4<&-
check "the first of two" cmp "$WORK/want" "$WORK/got.3"
check "the second of two" cmp "$WORK/want" "$WORK/got.4"

# the program is killed: what it wrote stays
kill -KILL "$TOLD"
wait "$TOLD" 2>/dev/null
exec {fd_one}>&-
no_producer_is_attached() {
	[ "$(stat_of trace.producers)" = 0 ]
}
wait_for no_producer_is_attached
check "after kill -9" cmp "$WORK/want" "$MNT/kptrace"

# what each CPU has makes the whole
for cpu in "$MNT"/cpu/[0-9]*; do
	cat "$cpu/trace" >"$WORK/cpu.${cpu##*/}"
	check "size of $cpu/trace" test "$(stat -c %s "$WORK/cpu.${cpu##*/}")" -ge 64
done
same "magic" kpftrace "$(head -c 8 "$WORK/cpu.0")"
"$KPROF" trace "$WORK"/cpu.* >"$WORK/got" || fail "kprof trace of the copies"
# events of one moment on two CPUs may change places
check "their text is kptrace's" cmp <(sort "$WORK/want") <(sort "$WORK/got")
same "in order" 45000 "$(events_are_right "$WORK/got")"
"$KPROF" trace -m "$MNT" >"$WORK/got" || fail "kprof trace of the mount"
check "of the mount" cmp "$WORK/want" "$WORK/got"

# damaged copies: what can be read, the place, and 1
largest=$(stat -c '%s %n' "$WORK"/cpu.* | sort -rn | head -n 1)
# in the middle, and in no place where a block ends
head -c $((${largest%% *} / 16 * 8 + 4)) "${largest#* }" >"$WORK/cut"
"$KPROF" trace "$WORK/cut" >"$WORK/got" 2>"$WORK/said"
same "status of a cut copy" 1 $?
grep -q "/cut: offset [0-9]*: the file is cut" "$WORK/said" || fail "said: $(cat "$WORK/said")"
check "what could be read" test -s "$WORK/got"
for bad in /dev/null "$WORK/want" "$MNT/none"; do
	"$KPROF" trace "$bad" >"$WORK/got" 2>"$WORK/said"
	same "status of $bad" 1 $?
	check "something is said of $bad" test -s "$WORK/said"
done

put kptrace_ctl clear
same "after clear" "" "$(cat "$MNT/kptrace")"
serve_end

# less room than there are events: the newest, and how many were left out
serve_trace trace_max=1024
tell_start two 8192 1 60000
cat "$MNT/kptrace" >"$WORK/got"
left=$(sed -n '1s/^\[[0-9.]*\]:cpu[0-9]*: \([0-9]*\) events left out (trace_max)$/\1/p' "$WORK/got")
check "the first line says how many are left out" test "${left:-0}" -gt 0
same "left out and shown" 60001 $((${left:-0} + $(events_are_right "$WORK/got") + 1))
grep -q ' n 59999 text$' "$WORK/got" || fail "the newest is there"
same "the counter" "$left" "$(stat_of trace.left_out)"
tell_end two
serve_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# readers: Each way of reading returns each text file complete, correct, and of one moment.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# Texts that don't change: their content is known without reading them through the mount twice. The size
# of kptrace is at, below and above a page, and larger than what one splice moves.
expect() {
	printf '%s' "$2" >"$WORK/want.$1"
}

# fill_trace BYTES: so that kptrace is exactly so large
fill_trace() {
	local size head line
	put kptrace_ctl clear
	put kptrace x
	head=$(($(stat -c %s "$MNT/kptrace") - 2)) # of a message: its header
	line=$(printf '%01000d' 7)
	put kptrace_ctl clear
	: >"$WORK/messages"
	size=0
	while [ $(($1 - size)) -ge $((2 * (head + 1001))) ]; do
		put kptrace "$line"
		echo "$line" >>"$WORK/messages"
		size=$((size + head + 1001))
	done
	# two more, that fill the rest
	while [ $(($1 - size)) -gt $((head + 1)) ]; do
		line=$(printf '%0*d' $((($1 - size) > (head + 1001) ? 500 : ($1 - size) - head - 1)) 9)
		put kptrace "$line"
		echo "$line" >>"$WORK/messages"
		size=$((size + head + ${#line} + 1))
	done
}

# the header's width depends on the time and the CPU's number: as they are at this moment
trace_is_right() {
	sed 's/^\[[0-9]*\.[0-9]\{9\}\]:cpu[0-9]*: //' "$1" | cmp - "$WORK/messages"
}

python() {
	python3 -c "$@"
}

read_cat() { cat "$1" >"$2"; }
read_dd_1() { dd if="$1" of="$2" bs=1 status=none; }
read_dd_777() { dd if="$1" of="$2" bs=777 status=none; }
read_cp() { cp "$1" "$2"; }
read_cp_sparse() { cp --sparse=always --reflink=auto "$1" "$2"; }
read_tar() {
	tar -C "$(dirname "$1")" -cf - "$(basename "$1")" | tar -xOf - >"$2"
	[ "${PIPESTATUS[*]}" = "0 0" ]
}
read_busybox_file() { busybox cat "$1" >"$2"; }
read_busybox_pipe() { busybox cat "$1" | cat >"$2"; }
read_busybox_cp() { busybox cp "$1" "$2"; }
read_copyfile() { python 'import shutil, sys; shutil.copyfile(*sys.argv[1:])' "$1" "$2"; }
read_sendfile() {
	python '
import os, socket, sys
a, b = socket.socketpair()
fd = os.open(sys.argv[1], os.O_RDONLY)
size = os.fstat(fd).st_size
out = open(sys.argv[2], "wb")
sent = 0
while sent < size:
	n = os.sendfile(a.fileno(), fd, sent, min(size - sent, 16384))
	if not n:
		break
	while n:
		piece = b.recv(n)
		out.write(piece)
		n -= len(piece)
		sent += len(piece)
' "$1" "$2"
}
read_mmap() {
	python '
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
size = os.fstat(fd).st_size
text = mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ)[:] if size else b""
open(sys.argv[2], "wb").write(text)
' "$1" "$2"
}
read_backwards() {
	python '
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
end = os.lseek(fd, 0, os.SEEK_END)
pieces = []
while end:
	at = max(end - 1000, 0)
	pieces.append(os.pread(fd, end - at, at))
	end = at
open(sys.argv[2], "wb").write(b"".join(reversed(pieces)))
' "$1" "$2"
}
read_stdin_again() { cat /dev/stdin <"$1" >"$2"; }
read_read_write() { cat <>"$1" >"$2"; }

readers="cat dd_777 cp cp_sparse tar stdin_again"
if command -v busybox >/dev/null; then
	readers="$readers busybox_file busybox_pipe busybox_cp"
else
	echo "not tried: busybox"
fi
if command -v python3 >/dev/null; then
	readers="$readers copyfile sendfile mmap backwards"
else
	echo "not tried: python3"
fi

# each_reader NAME COMMAND...: COMMAND FILE checks what each reader got of $MNT/NAME
each_reader() {
	local name=$1 reader
	shift
	for reader in $readers; do
		rm -f "$WORK/got"
		"read_$reader" "$MNT/$name" "$WORK/got" || fail "$reader of $name"
		"$@" "$WORK/got" || fail "$reader of $name: not what it holds"
	done
}

serve
put mpstat off # paused, so that it does not change
cpus=$(grep -c '^cpu[0-9]' /proc/stat)

for name in kpctl mpstat mpstat-raw; do
	cat "$MNT/$name" >"$WORK/want.$name"
	check "$name has text" test -s "$WORK/want.$name"
	each_reader "$name" cmp "$WORK/want.$name"
done
same "size of mpstat" $((111 * (cpus + 1))) "$(stat -c %s "$WORK/want.mpstat")"
same "size of mpstat-raw" $((56 + 75 * cpus)) "$(stat -c %s "$WORK/want.mpstat-raw")"

expect kprintx off
each_reader kprintx cmp "$WORK/want.kprintx"
expect kptrace_ctl ""
expect kperr ""
each_reader kptrace_ctl cmp "$WORK/want.kptrace_ctl"
each_reader kperr cmp "$WORK/want.kperr"

# kpstat changes: a whole text of one moment is sorted, with its first and its last row
stat_is_whole() {
	sort -c "$1" && grep -q '^backtraces\.' "$1" && [[ $(tail -n 1 "$1") =~ ^wakeups\ [0-9]+$ ]]
}
each_reader kpstat stat_is_whole

# It is not rendered for its size: stat by name returns that of the newest open. What is opened may
# be shorter than the size that was returned just before, and no reader reads beyond its end.
for reader in $readers dd_1; do
	put kpctl 'event cpu-clock,page-faults,context-switches,minor-faults'
	long=$(cat "$MNT/kpstat" | wc -c)
	put kpctl 'event default'
	same "size of kpstat by name" "$long" "$(stat -c %s "$MNT/kpstat")"
	"read_$reader" "$MNT/kpstat" "$WORK/got" || fail "$reader of a shorter kpstat"
	check "a shorter kpstat by $reader" stat_is_whole "$WORK/got"
	check "it is shorter" test "$(stat -c %s "$WORK/got")" -lt "$long"
done

for size in 4095 4096 4097 70000; do
	fill_trace "$size"
	same "size of kptrace" "$size" "$(stat -c %s "$MNT/kptrace")"
	same "what cat gets of it" "$size" "$(cat "$MNT/kptrace" | wc -c)"
	each_reader kptrace trace_is_right
done
fill_trace 5000
read_dd_1 "$MNT/kprintx" "$WORK/got"
check "dd bs=1 of kprintx" cmp "$WORK/want.kprintx" "$WORK/got"
read_dd_1 "$MNT/kptrace" "$WORK/got"
check "dd bs=1 of kptrace" trace_is_right "$WORK/got"
read_dd_1 "$MNT/mpstat" "$WORK/got"
check "dd bs=1 of mpstat" cmp "$WORK/want.mpstat" "$WORK/got"
read_read_write "$MNT/kptrace" "$WORK/got"
check "kptrace opened for reading and writing" trace_is_right "$WORK/got"

# two openers at once, each with its own moment; sizes too
put kprintx off
exec 3<"$MNT/kprintx"
put kprintx on
exec 4<"$MNT/kprintx"
same "size of the older" 3 "$(stat -Lc %s /dev/fd/3)"
same "size of the newer" 2 "$(stat -Lc %s /dev/fd/4)"
same "the newer" on "$(cat <&4)"
same "the older" off "$(cat <&3)"
put kprintx off
exec 3<&- 4<&-

# one opener, slow: what is written meanwhile is not in its text
fill_trace 5000
cp "$WORK/messages" "$WORK/messages.old"
exec 3<"$MNT/kptrace"
head -c 100 <&3 >"$WORK/got"
times=$(stat -Lc '%y %z' /dev/fd/3)
put kptrace later
cat <&3 >>"$WORK/got"
same "times of an open snapshot" "$times" "$(stat -Lc '%y %z' /dev/fd/3)"
check "a snapshot does not grow" trace_is_right "$WORK/got"
check "nor is it left behind" grep -q later "$MNT/kptrace"

# the same file opened again through the descriptor of one that is open: another moment
same "opened again" later "$(sed -n 's/.*: //; $p' /proc/self/fd/3 3<&3)"
exec 3<&-

# for tar the file does not change while it is read
fill_trace 70000
said=$(tar -C "$MNT" -cf "$WORK/tree.tar" kptrace mpstat kpstat kprintx 2>&1)
same "what tar says" "" "$said"

check "blocks cover the size" test $(($(stat -c '%b * 512 >= %s' "$MNT/kptrace"))) = 1

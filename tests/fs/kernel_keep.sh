#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_keep: with the mount option keep kernel events are recorded also after kill -9 of the server, and the next
# one shows what was recorded before, between and after. What is pinned by another version, or damaged, is refused and
# removed. After a clean unmount, and without the option, nothing stays.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# other tests have the program, too
NAME=keep$$
CALLS=$WORK/$NAME
cp "$PWD/tests/fs/kernel_calls" "$CALLS"
BPF=$WORK/bpf
KEEP=$BPF/kept
mkdir "$BPF"
mount -t bpf bpf "$BPF" 2>/dev/null || { echo "no bpf file system can be mounted here"; exit 77; }
at_end() {
	local status=$?
	umount -l "$BPF"
	(exit "$status")
	clean_up
}
trap at_end EXIT

# caller COUNT: starts a program in CALLER that makes so many calls on CPU 0 when `go` lets it
caller() {
	rm -f "$WORK/in" "$WORK/out"
	mkfifo "$WORK/in"
	exec 5<>"$WORK/in"
	# the check for leaks of an instrumented program calls getppid in a process of its own
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 "$CALLS" 0 "$1" <"$WORK/in" >"$WORK/out" 5>&- &
	CALLER=$!
	wait_for test -s "$WORK/out"
}

go() {
	echo >&5
	wait_for has_ended "$CALLER"
	exec 5>&-
}

# the calls of a program that are shown
shown() {
	grep -c "$NAME\[$1\] syscall:getppid: = [0-9]* ([0-9.]* us)$" "$MNT/kptrace"
}

execs() {
	grep -c "\[$1\] sched:sched_process_exit: " "$MNT/kptrace"
}

die() {
	kill -KILL "$SERVER"
	wait "$SERVER" 2>/dev/null
	SERVER=
	umount -l "$MNT"
}

# programs of the folder, and those of a server
pinned() {
	find "$KEEP" -mindepth 1 2>/dev/null | wc -l
}
programs() {
	sed -n 's/^prog_id:[[:blank:]]*//p' /proc/"$1"/fdinfo/* 2>/dev/null | sort -u
}
is_gone() {
	! bpftool prog show id "$1" >/dev/null 2>&1
}
are_gone() {
	local id
	command -v bpftool >/dev/null || return 0
	for id in "$@"; do
		WAIT=10 wait_for is_gone "$id"
	done
}

fails_with "$WORK is not in a bpf file system, which kept events need: choose a folder below /sys/fs/bpf;" "$KPROFS" -f -o "socket=none,keep=$WORK/nosuch" "$MNT"

# ---- one program all the time ---------------------------------------------------------------------

serve -o "keep=$KEEP"
fails_with "another server keeps" "$KPROFS" -f -o "socket=none,over,keep=$KEEP" "$MNT"
if ! put events/kernel/syscall:getppid "1 /comm == \"$NAME\"/" 2>/dev/null; then
	echo "kernel events are not available here, or can't be kept:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
if ! put events/kernel/sched:sched_process_exit "1 /comm == \"$NAME\"/" 2>/dev/null; then
	echo "tracepoints can't be kept here:"
	tail -n 1 "$MNT/kperr"
	exit 77
fi
# One that runs all the time: none of its calls is lost or recorded twice when the next server takes over, also of
# a tracepoint whose setting changes meanwhile.
POINT=events/kernel/syscalls:sys_enter_getppid
points=0 changes=0
filters=("1 /comm == \"$NAME\"/" "1 /comm == \"$NAME\" && pid > 1/")
if [ -e "$MNT/$POINT" ] && put "$POINT" "${filters[0]}"; then
	points=1
else
	echo "not tried: a tracepoint whose switch changes; this kernel has none of system calls"
fi
change() {
	((points)) || return 0
	changes=$((changes + 1))
	put "$POINT" "${filters[changes % 2]}" || fail "$(tail -n 1 "$MNT/kperr")"
}
caller 1000000
echo >&5
for ((i = 0; i < 6; i++)); do
	change
done
die
serve -o "keep=$KEEP"
changes=$((changes + points)) # the one to the programs of this server
until has_ended "$CALLER"; do
	change
done
exec 5>&-
same "the switches" "1 /comm == \"$NAME\"/ 1 /comm == \"$NAME\"/" "$(cat \
	"$MNT/events/kernel/syscall:getppid" "$MNT/events/kernel/sched:sched_process_exit" | xargs -d '\n')"
recorded=$(stat_of trace.kernel.recorded)
missed=$(stat_of trace.kernel.missed)
# and the end of the program
expected=$((1000000 * (1 + points) + 1))
same "the events in $changes changes" "$expected" $((recorded + missed))
serve_end
same "a clean end removes all" 0 "$(pinned)"

# ---- before, between and after --------------------------------------------------------------------

serve -o "keep=$KEEP"
put events/kernel/syscall:getppid "1 /comm == \"$NAME\"/"
put events/kernel/sched:sched_process_exit 1
caller 10
CLEARED=$CALLER
go
put kptrace_ctl clear
caller 100
BEFORE=$CALLER
go
wait_for test "$(shown "$BEFORE")" = 100
die
caller 200
BETWEEN=$CALLER
go
serve -o "keep=$KEEP"
caller 50
AFTER=$CALLER
go
wait_for test "$(shown "$AFTER")" = 50
same "what was cleared" 0 "$(shown "$CLEARED")"
same "before, between and after" "100 200 50" "$(shown "$BEFORE") $(shown "$BETWEEN") $(shown "$AFTER")"
same "the tracepoint, too" "1 1 1" "$(execs "$BEFORE") $(execs "$BETWEEN") $(execs "$AFTER")"
same "no call is without its entry" 0 "$(grep -c "$NAME.* syscall:getppid: ?" "$MNT/kptrace")"
put events/kernel/sched:sched_process_exit 0
die
caller 5
GONE=$CALLER
go
serve -o "keep=$KEEP"
same "a switch that is off stays so" "0 0" \
	"$(cat "$MNT/events/kernel/sched:sched_process_exit") $(execs "$GONE")"
same "the other one goes on" 5 "$(shown "$GONE")"

# the next server takes over what is attached to tracepoints; where the files of a stub are not its own or not there,
# it attaches its own
links() {
	awk '$1 == "link_type:" { perf = $2 ~ /^perf/ } $1 == "link_id:" && perf { print $2 }' \
		/proc/"$SERVER"/fdinfo/* 2>/dev/null | sort
}
taken_over() {
	caller 30
	go
	same "after $1" "30 1" "$(grep -c "$NAME\[$CALLER\] syscalls:sys_enter_getppid: " "$MNT/kptrace") $(execs "$CALLER")"
}
if ((points)); then
	put "$POINT" "${filters[0]}"
	put events/kernel/sched:sched_process_exit "1 /comm == \"$NAME\"/"
	before=$(links)
	same "two are attached" 2 "$(wc -l <<<"$before")"
	die
	serve -o "keep=$KEEP"
	same "the same are" "$before" "$(links)"
	taken_over "a takeover"
	die
	arrays=("$KEEP"/c[0-9]*)
	same "arrays" 2 "${#arrays[@]}"
	mv "${arrays[0]}" "$KEEP/x"
	mv "${arrays[1]}" "${arrays[0]}"
	mv "$KEEP/x" "${arrays[1]}"
	serve -o "keep=$KEEP"
	same "others are" "" "$(comm -12 <(echo "$before") <(links))"
	taken_over "a takeover of exchanged arrays"
	die
	rm "$KEEP"/c[0-9]*
	serve -o "keep=$KEEP"
	taken_over "a takeover without arrays"
	put "$POINT" 0
	put events/kernel/sched:sched_process_exit 0
fi

# processes that were chosen
caller 7
put events/kernel/pids "$CALLER"
die
go
CHOSEN=$CALLER
caller 8
go
serve -o "keep=$KEEP"
same "chosen processes" "$CHOSEN 7 0" "$(cat "$MNT/events/kernel/pids") $(shown "$CHOSEN") $(shown "$CALLER")"

# ---- what is damaged, or of others ----------------------------------------------------------------

ids=$(programs "$SERVER")
die
rm "$KEEP/rings"
serve -o "keep=$KEEP"
check "it is said" grep -q "kept at $KEEP are removed: .*rings" "$WORK/server.log"
same "and counted" 1 "$(stat_of trace.kernel.keep_refused)"
same "nothing is pinned" 0 "$(pinned)"
same "nothing is on" 0 "$(cat "$MNT/events/kernel/syscall:getppid")"
# shellcheck disable=SC2086 # numbers
are_gone $ids
put events/kernel/syscall:getppid "1 /comm == \"$NAME\"/"
check "the next ones are kept" test "$(pinned)" -gt 4
if command -v bpftool >/dev/null; then
	die
	# the first byte of the layout in the header, and a row whose kind is none
	bpftool map lookup pinned "$KEEP/meta" key hex 00 00 00 00 >"$WORK/row"
	value=$(bpftool -j map lookup pinned "$KEEP/meta" key hex 00 00 00 00 | python3 -c '
import json, sys
value = [int(byte, 16) for byte in json.load(sys.stdin)["value"]]
value[272] ^= 1
print(*("%02x" % byte for byte in value))')
	# shellcheck disable=SC2086 # bytes
	bpftool map update pinned "$KEEP/meta" key hex 00 00 00 00 value hex $value
	serve -o "keep=$KEEP"
	check "another version" grep -q "are removed: they are of another version" "$WORK/server.log"
	same "nothing is on" 0 "$(cat "$MNT/events/kernel/syscall:getppid")"
	same "nothing is pinned" 0 "$(pinned)"
fi
serve_end
check "the folder is gone" test ! -e "$KEEP"

# ---- without it -----------------------------------------------------------------------------------

serve
put events/kernel/syscall:getppid 1
put events/kernel/sched:sched_switch 1
ids=$(programs "$SERVER")
check "programs are attached" test -n "$ids"
die
# shellcheck disable=SC2086 # numbers
are_gone $ids

#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_offcpu: A program that waits for a sleep, a lock, a pipe and a disk, and measures itself how long, is
# away from the CPU as long in `event offcpu` and `wall`, in the right functions; each of its switches is a
# sample; losses are counted; wakers are named; nothing stays in the kernel.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

serve
need_machine
take_machine
if ! put kpctl 'event offcpu' 2>/dev/null; then
	check "the refusal says why" grep -q 'offcpu and wall need BPF' "$MNT/kperr"
	same "the setting stays" "event default" "$(grep '^event ' "$MNT/kpctl")"
	serve_end
	echo "no BPF here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi

# run WORD...: the program under a run with these words; what it measured is in $WORK/waits. On CPU 0: a
# virtual machine does not report all switches of some tasks on the others.
run() {
	ctl clear "$@" start
	taskset -c 0 "$FIXTURES/waits" "$PWD/waits.$$" >"$WORK/waits" || fail "waits: status $?"
	ctl stop
}

measured() {
	awk -v what="$1" '$1 == what { print $2 }' "$WORK/waits"
}

# spent FOLDED PATTERN: us in lines of the program that match
spent() {
	awk -v pattern="$2" '/^waits[;( ]/ && $0 ~ pattern { n += $NF } END { printf "%.0f\n", n }' "$1"
}

# near WHAT NANOSECONDS MICROSECONDS [WAITS]: within 1 %, and 5 us for each of many short waits: the kernel's switch
# itself is in the program's measure of some and not in ours
near() {
	awk -v a="$2" -v b="$3" -v waits="${4:-0}" \
		'BEGIN { d = b * 1000 - a; exit !(a > 0 && (d < 0 ? -d : d) <= a / 100 + 5000 * waits) }' ||
		differs "$1: $3 us, the program measured $2 ns"
}

# by functions of the program, which needs the tables of the C library; and each switch is a sample
by_function() {
	local function switches samples waits
	run 'event offcpu:min=0' 'prof_cpubufsz 8192'
	cat "$MNT/views/folded" >"$WORK/folded" || fail "views/folded: $(tail -n 1 "$MNT/kperr")"
	for function in wait_sleep wait_lock wait_pipe wait_disk; do
		waits=0
		if [ "$function" = wait_disk ]; then
			waits=40 # SYNCS of fixtures/waits.c
			if [ "$(measured wait_disk)" -lt 5000000 ]; then
				echo "not tried: waiting for a disk; this file system has none"
				continue
			fi
		fi
		near "$function" "$(measured "$function")" "$(spent "$WORK/folded" ";$function;")" "$waits"
	done
	copy_to "$WORK/kpdata"
	cat "$MNT/kpstat" >"$WORK/stat"
	check_balance "$WORK/stat" "$WORK/kpdata" 1
	# some may come between the program's count and its end
	switches=$(measured switches)
	samples=$(awk -v pid="pid=$(measured pid)" '/ (kern|user)_trace / && $5 == pid' "$WORK/dump" | wc -l)
	[ "$samples" -ge "$switches" ] && [ "$samples" -le $((switches + 12)) ] ||
		differs "$samples samples of $switches switches, $lost lost"
}

# by functions of the kernel; what took less than the minimum is left out
by_kernel_function() {
	run 'stack both' 'event offcpu:waker'
	cat "$MNT/views/folded" >"$WORK/folded" || fail "views/folded: $(tail -n 1 "$MNT/kperr")"
	# the threads that hold the lock and write to the pipe sleep too
	near "nanosleep" "$(($(measured wait_sleep) + 2 * 300000000))" \
		"$(spent "$WORK/folded" ';[a-z_]*nanosleep[a-z_]*_\[k\] [0-9]+$')"
	near "the pipe" "$(measured wait_pipe)" "$(spent "$WORK/folded" ';[a-z_]*pipe_read_\[k\] [0-9]+$')"
}

both_sides() {
	run 'event wall' 'stack both'
	cat "$MNT/views/folded" >"$WORK/folded"
	near "wall: the pipe" "$(measured wait_pipe)" \
		"$(spent "$WORK/folded" '^waits \(off CPU\);.*pipe_read_\[k\] [0-9]+$')"
}

if put kpctl 'stack dwarf' 2>/dev/null; then
	some_time by_function
else
	echo "not tried: stack dwarf"
fi

some_time by_kernel_function
check "main leads to it" grep -q '^waits;.*main;.*pipe_read_\[k\]' "$WORK/folded"
check "no frame of the scheduler is innermost" \
	awk '/;(__schedule|schedule|schedule_timeout|io_schedule)_\[k\] [0-9]+$/ { print; exit 1 }' "$WORK/folded"
cat "$MNT/views/flat" >"$WORK/flat"
check "a column of ms" grep -Eq '[0-9]+\.[0-9]{3}  offcpu:waker  waits +[a-z_]*pipe_read ' "$WORK/flat"
copy_to "$WORK/kpdata"
"$KPROF" dump "$WORK/kpdata" >"$WORK/dump" || fail "kprof dump"
check "the holder woke the one that waited for the lock" \
	grep -q " away .* pid=$(measured pid) .* waker_pid=$(measured pid) .* waker=\"holder\" .*user,0x" "$WORK/dump"
check "the writer the one that read" grep -q " away .* waker=\"writer\" .*frames=[1-9]" "$WORK/dump"

# the stacks of the wakers behind those of the tasks that waited
wakers() {
	cat "$MNT/views/wakers/folded" >"$WORK/wakers" || fail "views/wakers/folded: $(tail -n 1 "$MNT/kperr")"
	near "the lock, by its waker" "$(measured wait_lock)" \
		"$(spent "$WORK/wakers" ';main;.*futex_wait[a-z_]*_\[k\].*;--;[^-]*futex_wake_\[k\].*;wake_locker;.*;holder [0-9]+$')"
	near "the pipe, by its waker" "$(measured wait_pipe)" \
		"$(spent "$WORK/wakers" ';main;.*pipe_read_\[k\];--;[^-]*pipe_write_\[k\].*;wake_reader;.*;writer [0-9]+$')"
}
by_wakers() {
	run
	wakers
}
different=0
wakers
[ "$different" = 0 ] || some_time by_wakers
same "no stack goes on without wakers/" 0 "$(grep -c ';--;' "$WORK/folded")"
check "neither the program nor the scheduler is a waker's innermost" \
	awk '/;--;([^;]*unknown|bpf_|try_to_wake_up)/ { print; exit 1 }' "$WORK/wakers"
check "views/ has the folder" [ -n "$(find "$MNT/views" -maxdepth 1 -name wakers)" ]
same "its files" "flame.svg folded pprof tree" "$(ls "$MNT/views/wakers" | paste -sd ' ')"
check "the key names the wakers" grep -q '>waker<' "$MNT/views/wakers/flame.svg"
cat "$MNT/views/by/comm/waits/wakers/folded" >"$WORK/part" || fail "of a part"
check "of a part, with the waker's functions" grep -q ';--;.*;wake_reader;.*;writer [0-9]*$' "$WORK/part"
check "flat has none" test ! -e "$MNT/views/wakers/flat"
check "kperr says which" grep -q 'flat shows no wakers: tree, folded, flame.svg and pprof do' "$MNT/kperr"
"$KPROF" convert -t folded --wakers "$WORK/kpdata" >"$WORK/converted" || fail "convert --wakers"
same "of a copy" "$(sort "$WORK/wakers")" "$(sort "$WORK/converted")"
"$KPROF" script -F +waker "$WORK/kpdata" >"$WORK/script" || fail "kprof script"
pid=$(measured pid)
check "script has name, process and thread" grep -Eq "^waits +$pid .*: waker writer $pid/[0-9]+: " "$WORK/script"
cat "$MNT/views/trace.json" >"$WORK/trace.json"
check "trace.json too" grep -q "\"waker\":\"writer\",\"waker_pid\":$pid,\"waker_tid\":" "$WORK/trace.json"

check "shorter ones are counted" [ "$(stat_of event.1.cpu.0.shorter)" -gt 0 ]
same "programs that did not run" 0 "$(stat_of event.1.missed)"

ctl clear 'event offcpu' start stop
check "no folder without wakers" [ -z "$(find "$MNT/views" -maxdepth 1 -name wakers)" ]

# Two tasks that are away at the same time, with numbers whose low bits are the same (OFFCPU_PLACES): a read
# that waits while the other one sleeps twice.
same_place() {
	local ms
	ctl clear 'stack kernel' 'event offcpu:min=100000' start
	timeout 30 taskset -c 0 "$PWD/tests/fs/kernel_slots" 16384 1 >"$WORK/numbers"
	status=$?
	ctl stop
	[ "$status" = 77 ] && return
	[ "$status" = 0 ] || fail "kernel_slots: status $status"
	cat "$MNT/views/flat" >"$WORK/flat"
	for where in pipe_read nanosleep; do
		ms=$(awk -v where="$where" '$5 == "kernel_slots" && $6 ~ where { n += $3 } END { print n + 0 }' "$WORK/flat")
		awk -v ms="$ms" 'BEGIN { exit !(ms >= 2400 && ms <= 2600) }' || differs "$where: $ms ms"
	done
}
some_time same_place
[ "$status" != 77 ] || echo "not tried: two tasks with the same place"

# other stacks
other_stacks() {
	local sum
	run "$1" 'event offcpu'
	copy_to "$WORK/kpdata"
	cat "$MNT/kpstat" >"$WORK/stat"
	check_balance "$WORK/stat" "$WORK/kpdata" 1
	check "$1: there are samples" [ "$count" -gt 0 ]
	sum=$(awk '/ offcpu  +waits / { n += $3 } END { printf "%.0f\n", n * 1000 }' "$MNT/views/flat")
	[ "$sum" -gt 1490000 ] || differs "$1: $sum us in all"
}
for words in 'stack kernel' 'stack user' 'stack none'; do
	some_time other_stacks "$words"
done

# a ring too small for the switches
ctl clear 'stack both' 'event offcpu:min=0' 'prof_cpubufsz 16' start
timeout 60 "$FIXTURES/pingpong" 20000 >/dev/null || fail "pingpong: status $?"
ctl stop
copy_to "$WORK/kpdata"
cat "$MNT/kpstat" >"$WORK/stat"
check_balance "$WORK/stat" "$WORK/kpdata" 1
same "undelivered" 0 "$undelivered"
check "$count samples" [ "$count" -gt 20000 ]

# both sides in one picture
ctl 'prof_cpubufsz 512'
some_time both_sides
cat "$MNT/views/flame.svg" >"$WORK/flame.svg"
check "the key names the other side" grep -q '>program, off CPU<' "$WORK/flame.svg"
check "frames of both colours" grep -q '<rect class="l[0-3]' "$WORK/flame.svg"
check "the event says both" grep -Eq '>wall: .* s off CPU, [0-9.]+ s on CPU<' "$WORK/flame.svg"
copy_to "$WORK/kpdata"
tally "$WORK/kpdata" >"$WORK/tally"
same "samples and losses of both sides" \
	"$(awk '/^event\.1\.cpu\.[0-9]*\.(delivered|lost) / { n += $2 } END { print n }' "$MNT/kpstat")" \
	"$(awk '{ n += $3 + $4 } END { print n }' "$WORK/tally")"
same "one event" "event.1.text wall" "$(grep '^event\..*\.text' "$MNT/kpstat")"

# nothing stays
programs() {
	bpftool prog list 2>/dev/null | awk '/ name kp_offcpu / { sub(":", "", $1); print $1 }' | sort
}
ctl stop
programs >"$WORK/before" # of other servers of this machine
ctl start
if command -v bpftool >/dev/null; then
	programs | comm -13 "$WORK/before" - >"$WORK/programs"
	check "programs" [ -s "$WORK/programs" ]
	are_gone() {
		local id
		while read -r id; do
			! bpftool prog show id "$id" >/dev/null 2>&1 || return 1
		done <"$WORK/programs"
	}
	ctl stop
	wait_for are_gone
	programs >"$WORK/before"
	ctl start
	programs | comm -13 "$WORK/before" - >"$WORK/programs"
	kill -KILL "$SERVER"
	wait "$SERVER" 2>/dev/null
	wait_for are_gone
else
	echo "not tried: what stays in the kernel, without bpftool"
	kill -KILL "$SERVER"
	wait "$SERVER" 2>/dev/null
fi
umount -l "$MNT" 2>/dev/null || fusermount3 -uz "$MNT"
SERVER=
[ "$failures" = 0 ]

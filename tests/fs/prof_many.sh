#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_many: many starts and stops leave no descriptor, thread, mapping or memory behind.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

cycles=${CYCLES:-60}
warm=20 # until malloc has the arenas that it wants

descriptors() {
	find "/proc/$SERVER/fd" -type l | wc -l
}

# without libfuse's workers, whose number is libfuse's
threads() {
	cat /proc/"$SERVER"/task/*/comm | grep -vc '^kp-fuse$'
}

mappings() {
	wc -l <"/proc/$SERVER/maps"
}

rings() {
	grep -c 'anon_inode:\[perf_event\]' "/proc/$SERVER/maps"
}

# a cycle: with other events, sizes, stacks, readers in turn
cycle() {
	local specs=(default page-faults:period=100 cpu-clock:freq=999,context-switches)
	local stacks=(both none 'user 16')
	ctl "event ${specs[$1 % 3]}" "stack ${stacks[$1 / 3 % 3]}" "prof_cpubufsz $((16 << $1 % 5))" start
	[ $(($1 % 4)) = 0 ] && { head -c 4096 "$MNT/kpdata" >"$WORK/head" || fail "head"; }
	[ $(($1 % 5)) = 0 ] && ctl flush
	ctl stop
	[ $(($1 % 7)) = 0 ] && ctl clear
	[ $(($1 % 6)) = 0 ] && copy_to "$WORK/copy"
	:
}

as_before() {
	[ "$(descriptors)" = "$fds" ] && [ "$(threads)" = "$tasks" ]
}

serve
need_machine
for ((i = 0; i < warm; i++)); do
	cycle "$i"
done
ctl clear
fds=$(descriptors)
tasks=$(threads)
maps=$(mappings)
resident=$(resident_kb)
for ((; i < warm + cycles; i++)); do
	cycle "$i"
done
same "rings while it runs" "" "$(ctl start; [ "$(rings)" -ge 2 ] || echo "$(rings)"; ctl stop)"
ctl clear
wait_for as_before
same "descriptors" "$fds" "$(descriptors)"
same "threads" "$tasks" "$(threads)"
same "rings" 0 "$(rings)"
# a leak in each cycle would be as many as there are cycles; malloc, and more so that of a sanitizer,
# may take or give back some
check "mappings: $maps, then $(mappings)" test "$(mappings)" -le $((maps + cycles / 2))
if grep -q libasan "/proc/$SERVER/maps"; then
	echo "not judged: memory, of which the sanitizer keeps what was freed"
else
	check "resident: $resident KiB, then $(resident_kb)" test "$(resident_kb)" -le $((resident + 4096))
fi
echo "$cycles cycles: $fds descriptors, $tasks threads, $maps mappings, $resident KiB;" \
	"then $(descriptors), $(threads), $(mappings), $(resident_kb)"

# killed while it samples programs that keep it busy, and readers follow: the mount can be removed, the
# readers end, and a server that is started there works
killed() {
	ctl 'event page-faults:period=1,cpu-clock:freq=9999' 'stack both' 'prof_cpubufsz 512' start
	"$FIXTURES/split" 60000 >"$WORK/said" &
	split=$!
	cat "$MNT/kpdata" >"$WORK/copy" 2>"$WORK/cat.said" &
	follower=$!
	timeout 60 "$FIXTURES/faults" 30000 || fail "faults"
	wait_for test -s "$WORK/copy"
	kill -9 "$SERVER"
	wait "$SERVER"
	SERVER=
	wait_for has_ended "$follower"
	fails_with "not connected" cat "$MNT/kpstat"
	check "$*" "$@" "$MNT"
	check "the mount is gone" not_mounted
	# what the reader got ends somewhere; all before that can be read
	"$KPROF" report "$WORK/copy" >"$WORK/report" 2>&1
	check "what a reader had got" grep -q ' split .* burn_seventy ' "$WORK/report"
	serve
	ctl start
	wait_for has_new_samples
	ctl stop
	kill "$split"
	wait "$split"
}

has_new_samples() {
	ctl flush
	[ "$(stat_of samples.received)" -ge 50 ]
}

killed umount -l
if command -v fusermount3 >/dev/null; then
	killed fusermount3 -u
fi

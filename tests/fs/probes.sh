#!/bin/bash
# SPDX-License-Identifier: MIT
# probes: a program written to probes/NAME counts, and its answer is read from it: exactly, on all CPUs; what it
# prints is in the trace; texts that are refused, words, names, removal; nothing stays in the kernel.
# shellcheck source=tests/fs/lib.sh disable=SC2086 # lists of numbers
. "${srcdir:-.}/tests/fs/lib.sh"

CALLS=$PWD/tests/fs/kernel_calls
CPUS=$(awk -F: '/^processor/ { print $2 + 0 }' /proc/cpuinfo | head -n 2)

# callers COUNT: starts one on each of two CPUs; CALLERS are their processes, and `go` lets them call
callers() {
	local cpu fd
	CALLERS=
	WAYS=
	for cpu in $CPUS; do
		rm -f "$WORK/out" "$WORK/in"
		mkfifo "$WORK/in"
		exec {fd}<>"$WORK/in"
		"$CALLS" "$cpu" "$1" <"$WORK/in" >"$WORK/out" &
		CALLERS="$CALLERS $!"
		WAYS="$WAYS $fd"
		wait_for test -s "$WORK/out"
	done
}

go() {
	local caller fd
	for fd in $WAYS; do
		echo >&"$fd"
	done
	for caller in $CALLERS; do
		WAIT=100 wait_for has_ended "$caller"
		wait "$caller" || fail "the program failed with $?"
	done
	for fd in $WAYS; do
		exec {fd}>&-
	done
}

# the numbers of the programs of probes that the server holds in the kernel
programs() {
	local id
	for id in $(sed -n 's/^prog_id:[^0-9]*//p' /proc/"$SERVER"/fdinfo/* 2>/dev/null | sort -u); do
		if bpftool prog show id "$id" 2>/dev/null | grep -q ' name kp_probe '; then
			echo "$id"
		fi
	done
}

none_held() {
	[ -z "$(programs)" ]
}

# gone ID...: the kernel has none of these
gone() {
	local id
	for id; do
		! bpftool prog show id "$id" >"$WORK/gone" 2>&1 || return 1
	done
}

last_error() {
	tail -n 3 "$MNT/kperr"
}

serve
check "the folder is there" test -d "$MNT/probes"
need_probe first 'syscall:getppid:entry { @ = count(); }'
check "it is listed" test -f "$MNT/probes/first"
check "a program without events says so" grep -q '^# 0 events, 0 missed, 0 filtered, 0 keys dropped$' \
	<(put probes/never 'syscall:vhangup:entry { @ = count(); }'; cat "$MNT/probes/never")
check "the text is in the answer" grep -qx '# syscall:getppid:entry { @ = count(); }' "$MNT/probes/first"
rm "$MNT/probes/first" "$MNT/probes/never"
same "removed programs are gone" list "$(ls "$MNT/probes")"

# a pointer is a number that a rule can compute with
if ! grep -q '^# tracepoints: ' "$MNT/probes/list"; then
	check "bits of a pointer: $(last_error)" put probes/bits \
		'rawtracepoint:sched_switch /(arg1 & 7) == 0 && arg2 % 16 < 16/ { @[arg1 * 2 > 1] = count(); }'
	rm "$MNT/probes/bits"
fi

# every call of both CPUs is counted, and the sums add up: 500,000 each
callers 500000
set -- $CALLERS
put probes/count "syscall:getppid:entry /pid == $1 || pid == $2/ { @ = count(); @by[pid] = count(); @n++; }"
put probes/half "syscall:getppid:return /pid == $1/ { @[comm] = count(); }"
put probes/sum "syscall:getppid:return /pid == $1 || pid == $2/ { @ = sum(1); @h = hist(retval); @s = stats(retval); }"
go
answer=$(cat "$MNT/probes/count")
check "1,000,000 calls are 1,000,000" grep -qx '@: 1000000' <<<"$answer"
check "and by process" grep -qx "@by\[$1\]: 500000" <<<"$answer"
check "on both CPUs" grep -qx "@by\[$2\]: 500000" <<<"$answer"
check "a variable that all CPUs count up" grep -qx '@n: 1000000' <<<"$answer"
check "the sums" awk '/^# [0-9]* events/ { exit !($2 >= 1000000 && $2 == 1000000 + $6 && $4 == 0 && $8 == 0) }' \
	<<<"${answer//,/}"
check "half of them" grep -qx '@\[kernel_calls\]: 500000' "$MNT/probes/half"
answer=$(cat "$MNT/probes/sum")
check "a sum" grep -qx '@: 1000000' <<<"$answer"
check "a histogram" awk '/^\[/ { n += $3 } END { exit n != 1000000 }' <<<"$answer"
check "statistics: each returned the number of this shell" grep -qx \
	"@s: count 1000000, average $$, total $(($$ * 1000000))" <<<"$answer"
# other processes make such calls meanwhile, which the filter refuses
least=$(awk '/^# [0-9]* events/ { print $2 }' "$MNT/probes/half")
events=$(stat_of probes.half.events)
most=$(awk '/^# [0-9]* events/ { print $2 }' "$MNT/probes/half")
check "kpstat has the events" [ "$events" -ge "$least" -a "$events" -le "$most" ]

# a probe that a rule names twice is one
callers 1000
set -- $CALLERS
put probes/twice "syscall:getppid:entry, tracepoint:syscalls:sys_enter_getppid, tracepoint:syscalls:sys_enter_getppi* /pid == $1 || pid == $2/
	{ @ = count(); }
tracepoint:sched:sched_process_exit, tracepoint:sched:sched_process_exit /pid == $1 || pid == $2/ { @exits = count(); }"
go
check "once: $(grep '^@' "$MNT/probes/twice")" grep -qx '@: 2000' "$MNT/probes/twice"
check "and of other tracepoints" grep -qx '@exits: 2' "$MNT/probes/twice"
rm "$MNT/probes/twice"

# errors of attaching have their place
fails_with "No such file" put probes/twice 'uprobe:/nosuch:x { @ = count(); }'
check "the place: $(last_error)" grep -q 'line 1, column 1: uprobe:/nosuch:x: ' "$MNT/kperr"

# what programs take is measured while somebody reads it: the reading above was the first one
is_measured() {
	[ "$(stat_of probes.half.runs_measured)" -gt 0 ]
}
measurings() {
	find "/proc/$SERVER/fd" -lname '*bpf-stats*' | wc -l
}
none_measures() {
	[ "$(measurings)" = 0 ]
}
stats_enabled=$(cat /proc/sys/kernel/bpf_stats_enabled)
same "the kernel measures for the server" 1 "$(measurings)"
wait_for is_measured
run_ns=$(stat_of probes.half.run_ns)
check "what it took is a time" [ "$run_ns" -gt 0 ]
same "the setting of the machine is as it was" "$stats_enabled" "$(cat /proc/sys/kernel/bpf_stats_enabled)"
rm "$MNT"/probes/{count,half,sum}
wait_for none_measures

# names of addresses that are printed, and of a map's keys
put probes/names 'BEGIN { printf("is %s\n", ksym(kaddr("vfs_read"))); @[ksym(kaddr("vfs_write")), 5] = count(); print(@); }'
wait_for grep -q 'probe:names: is vfs_read$' "$MNT/kptrace"
wait_for grep -q 'probe:names: @\[vfs_write, 5\]: 1$' "$MNT/kptrace"
rm "$MNT/probes/names"

# what it prints is in the trace, as its event
callers 3
set -- $CALLERS
put probes/say "BEGIN { printf(\"begins\\n\"); } syscall:getppid:entry /pid == $1/ { printf(\"%s calls %d\\n\", comm, 7); }
END { printf(\"ends\\n\"); }"
go
same "its lines" 3 "$(grep -c ": kernel_calls\[$1\] probe:say: kernel_calls calls 7$" "$MNT/kptrace")"
same "BEGIN ran once" 1 "$(grep -c 'probe:say: begins$' "$MNT/kptrace")"
same "END did not run yet" 0 "$(grep -c 'probe:say: ends$' "$MNT/kptrace")"
put probes/say off
same "END ran" 1 "$(grep -c 'probe:say: ends$' "$MNT/kptrace")"
check "it is off" grep -qx '# off' "$MNT/probes/say"
rm "$MNT/probes/say"

# words
callers 10
set -- $CALLERS
put probes/w "syscall:getppid:entry /pid == $1/ { @ = count(); }"
put probes/w off
go
check "nothing is counted while it is off" test -z "$(grep '^@' "$MNT/probes/w")"
for row in 'on|0' 'toggle|1' 'toggle|0' '0|1' '1|0'; do
	put probes/w "${row%|*}"
	same "off after ${row%|*}" "${row#*|}" "$(grep -cx '# off' "$MNT/probes/w")"
done
callers 10
set -- $CALLERS
put probes/w "syscall:getppid:entry /pid == $1 || pid == $2/ { @[comm] = count(); }"
go
check "it counts again" grep -qx '@\[kernel_calls\]: 20' "$MNT/probes/w"
put probes/w clear
check "clear forgets" test -z "$(grep '^@' "$MNT/probes/w")"
fails_with "Invalid argument" put probes/nothing clear

# a text in several writes, as those of bash's echo; one that never ends; one that is wrong
callers 5
set -- $CALLERS
{
	echo '// first line'
	echo "syscall:getppid:entry /pid == $1 || pid == $2/"
	echo '{'
	echo '	@lines = count();'
	echo '}'
} >"$MNT/probes/lines"
go
check "a program of several lines" grep -qx '@lines: 10' "$MNT/probes/lines"
fails_with "Invalid argument" put probes/lines 'syscall:getppid:entry { @x = nonsense(); }'
check "the reason has line and column" grep -q 'probes/lines .*line 1, column' <(last_error)
check "a program that is refused leaves the one before it" grep -qx '@lines: 10' "$MNT/probes/lines"
python3 -c '
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
os.write(fd, b"BEGIN { @a = 1;")
try:
    os.close(fd)
except OSError as error:
    sys.exit(0 if error.errno == 22 else 1)
sys.exit(2)' "$MNT/probes/part"
same "a text that ends too early is refused at the close" 0 $?
check "and leaves no file" test ! -e "$MNT/probes/part"
: >"$MNT/probes/empty"
check "a name that was never set is gone" test ! -e "$MNT/probes/empty"
: >"$MNT/probes/lines"
check "truncation changes nothing" grep -qx '@lines: 10' "$MNT/probes/lines"

# names
fails_with "Operation not permitted" put 'probes/a b' 'BEGIN { @ = 1; }'
fails_with "Operation not permitted" mkdir "$MNT/probes/folder"
fails_with "No such file" rm "$MNT/probes/absent"
fails_with "Operation not permitted" rm -f "$MNT/probes/list"
long=$(printf 'n%.0s' {1..64})
check "a name of 64 bytes" put "probes/$long" 'BEGIN { @ = 1; }'
fails_with "Operation not permitted" put "probes/${long}n" 'BEGIN { @ = 1; }'
cat "$MNT/probes/list" >"$WORK/list"
check "the tracepoints are listed" grep -q '^tracepoint:sched:sched_switch ' "$WORK/list"
check "with their arguments" grep -q '^tracepoint:sched:sched_switch .*pid_t prev_pid' "$WORK/list"
check "system calls too" grep -qx 'syscall:getppid:entry' "$WORK/list"
if ! grep -q '^# tracepoints: ' "$WORK/list"; then
	check "with their arguments" grep -qx 'syscall:read:entry unsigned int fd, char \*buf, size_t count' "$WORK/list"
	check "and results" grep -qx 'syscall:read:return long ret' "$WORK/list"
fi
if [ -r /sys/kernel/btf/vmlinux ]; then
	check "functions with theirs" grep -q '^fentry:vfs_read file \*file, ' "$WORK/list"
fi
check "what is missing comes first, with a reason" awk '/^#/ { if (lines || !/^# [a-z ]*: ./) exit 1; next } { lines++ }' \
	"$WORK/list"
if [ ! -e /sys/bus/event_source/devices/kprobe ]; then
	check "kprobes are missing" grep -q '^# kprobe: ' "$WORK/list"
fi
# a probe of a counter takes one counter of the kernel, and no other event of kpctl
while read -r event reason; do
	fails_with "Invalid argument" put probes/counter "software:$event { @ = count(); }"
	check "why not $event" grep -q "$reason" <(last_error)
done <<'END'
offcpu 'offcpu' is an event of kpctl
offcpu:100 'offcpu' is an event of kpctl
wall 'wall' is an event of kpctl
sched:sched_switch 'sched:sched_switch' is a tracepoint: tracepoint:sched:sched_switch
END
fails_with "No such file" put probes/counter "software:page-fautls:1 { @ = count(); }"
check "the nearest counter" grep -q "no event 'page-fautls'; nearest: page-faults" <(last_error)

# the keys of all maps are counted in kpstat, but not by a worker
put probes/many 'interval:ms:1 { unroll (50) { @[nsecs] = 1; } }'
has_many_keys() {
	[ "$(stat_of probes.many.keys)" -ge 2000 ]
}
ticks_of() { # TASK-FOLDER: CPU time in ticks
	sed 's/.*) //' "$1/stat" | awk '{ print $12 + $13 }'
}
worker_ticks() {
	local task sum=0
	for task in /proc/"$SERVER"/task/*; do
		[ "$(cat "$task/comm")" = kp-fuse ] && sum=$((sum + $(ticks_of "$task")))
	done
	echo "$sum"
}
wait_for has_many_keys
put probes/many off
all=$(ticks_of "/proc/$SERVER")
workers=$(worker_ticks)
for i in {1..100}; do
	: <"$MNT/kpstat"
done
workers=$(($(worker_ticks) - workers))
all=$(($(ticks_of "/proc/$SERVER") - all))
check "the workers did less than a half: $workers of $all ticks" test $((2 * workers)) -lt "$all"
rm "$MNT/probes/many"

# nothing is left: after removal, under load, and after kill -9
rm "$MNT"/probes/{lines,w,"$long"}
wait_for none_held
for i in {1..20}; do
	put probes/again "syscall:getppid:entry { @[comm] = count(); printf(\"$i\\n\"); }"
done
rm "$MNT/probes/again"
wait_for none_held
put probes/last 'syscall:getppid:entry { @ = count(); } syscall:getppid:return { @ = count(); }'
# shellcheck disable=SC2046 # numbers
set -- $(programs)
same "a program for each rule" 2 $#
serve_end
wait_for gone "$@"
# What the server does for a program has the time of its call, and so its place between what was printed before and after.
serve -o trace_size=1024
put probes/order 'BEGIN { @m[1] = 1; } interval:ms:1 /@i < 50/ { @i++; printf("before %d\n", @i); print(@m);
	printf("then %d\n", @i); cat("/proc/sys/kernel/ostype"); time("time\n"); mark("mark"); printf("no newline"); }'
fifty() {
	[ "$(grep -c 'probe:order: Linux$' "$MNT/kptrace")" = 50 ] &&
		[ "$(grep -c 'probe:order+: no newline$' "$MNT/kptrace")" = 50 ]
}
wait_for fifty
order() {
	sed 's/^.*probe:order\(+*\): /\1/' "$MNT/kptrace"
}
same "the order of calls" "$(for i in $(seq 50); do
	printf '%s\n' "before $i" "@m[1]: 1" "then $i" Linux time mark "+no newline"
done)" "$(order | grep .)"
check "the times do not go back" sort -c -s -k 1,1 <(grep -o '^\[[^]]*' "$MNT/kptrace" | sed 's/^\[ *//' |
	awk -F. '{ printf "%012d%s\n", $1, $2 }')
serve_end

serve
put probes/last 'syscall:getppid:entry { @ = count(); }'
# shellcheck disable=SC2046
set -- $(programs)
same "a program in the kernel" 1 $#
kill -KILL "$SERVER"
wait "$SERVER"
SERVER=
wait_for gone "$@"

# and after an unmount
serve
put probes/last 'syscall:getppid:entry { @ = count(); } profile:hz:9 { @p = count(); }'
# shellcheck disable=SC2046
set -- $(programs)
same "two programs in the kernel" 2 $#
umount "$MNT"
ended_well "unmount" "$SERVER"
SERVER=
wait_for gone "$@"

#!/bin/bash
# SPDX-License-Identifier: MIT
# only: samples of tasks for which an expression does not hold are neither delivered nor lost: they are counted
# as filtered, for each CPU, also when the expression changes during a run. Each session has its own.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"
# shellcheck source=tests/fs/only_lib.sh
. "${srcdir:-.}/tests/fs/only_lib.sh"

pages=5000

if [ "$(id -u)" != 0 ]; then
	echo "needs root"
	exit 77
fi
options=allow_other
serve -o "$options"
need_machine
chmod 755 "$WORK"
ctl "event $spec" 'stack user' 'prof_cpubufsz 16384'
if ! put kpctl 'only uid == 0' 2>/dev/null; then
	grep -q 'choice of samples needs BPF' "$MNT/kperr" || fail "refused: $(tail -n 1 "$MNT/kperr")"
	echo "programs in the kernel are not available here"
	exit 77
fi
same "it is read back" "only uid == 0" "$(grep '^only' "$MNT/kpctl")"
ctl 'only all'
same "the default" "only all" "$(grep '^only' "$MNT/kpctl")"

# ---- names ----------------------------------------------------------------------------------------

# both EXPR WANTED OTHER: page faults that two programs are sampled with while it is set
both() {
	ctl clear "only $1" start
	load_wanted >/dev/null || fail "the program that is wanted"
	load_other >/dev/null || fail "the other program"
	stop_and_check_counts
	same "$1: page faults of the program that is wanted" "$2" "$(touched wanted)"
	same "$1: page faults of the other program" "$3" "$(touched other)"
	[ "$2" = "$pages" ] && [ "$3" = "$pages" ] || at_least "$1: filtered" "$pages" "$filtered"
	same "$1: lost" 0 "$lost"
}
load_wanted() {
	"$WANTED" "$pages"
}
load_other() {
	"$OTHER" "$pages"
}
nearly both 'comm == "wanted"' "$pages" 0
nearly both 'comm != "wanted"' 0 "$pages"
nearly both 'comm == "wanted" || comm == "other"' "$pages" "$pages"
same "no other process" 2 "$(sampled | wc -w)"

load_wanted() {
	setpriv --reuid 65534 --regid 4321 --clear-groups "$WANTED" "$pages"
}
nearly both 'uid == 65534' "$pages" 0
nearly both 'gid == 4321 && uid != 0' "$pages" 0
nearly both 'uid == 65534 && comm == "other"' 0 0

# as_process VARIABLE COMMAND...: runs it as a process whose number is known before
as_process() {
	local name=$1
	shift
	mkfifo "$WORK/go.$name"
	sh -c 'read -r _ <"$0"; exec "$@"' "$WORK/go.$name" "$@" &
	eval "$name=\$!"
}
go() {
	echo go >"$WORK/go.$1" && wait "${!1}"
	status=$?
	rm "$WORK/go.$1"
	return "$status"
}
by_number() {
	local expr
	# shellcheck disable=SC2016 # the other shell's
	as_process parent sh -c '"$0" "$1"; exit $?' "$WANTED" "$pages"
	as_process other "$OTHER" "$pages"
	# shellcheck disable=SC2154 # set by as_process
	expr=${1//PARENT/$parent}
	ctl clear "only ${expr//OTHER/$other}" start
	go parent >/dev/null || fail "the child"
	go other >/dev/null || fail "the other program"
	stop_and_check_counts
	same "$1: page faults of the child" "$2" "$(touched wanted)"
	same "$1: page faults of the other program" "$3" "$(touched other)"
}
nearly by_number 'ppid == PARENT' "$pages" 0
nearly by_number 'pid == OTHER' 0 "$pages"
nearly by_number 'tid == OTHER' 0 "$pages"
nearly by_number 'pid == OTHER || ppid == PARENT' "$pages" "$pages"

on_cpu() {
	taskset -c "$1" "$2" "$pages"
}
load_wanted() {
	on_cpu 0 "$WANTED"
}
if [ -e /sys/devices/system/cpu/cpu1 ] && taskset -c 1 true; then
	load_other() {
		on_cpu 1 "$OTHER"
	}
	nearly both 'cpu == 0' "$pages" 0
	same "CPU 1 has none" 0 "$(stat_of event.1.cpu.1.delivered)"
	load_other() {
		"$OTHER" "$pages"
	}
fi

# the names of libpfm4, and several events
several() {
	ctl clear "event perf::PAGE-FAULTS:period=1,cpu-clock:freq=99" 'only comm == "wanted"' start
	load_wanted >/dev/null || fail "the program that is wanted"
	load_other >/dev/null || fail "the other program"
	stop_and_check_counts
	same "page faults of the program that is wanted" "$pages" "$(touched wanted)"
	at_least "filtered" "$pages" "$filtered"
	check "the clock has no other process" test "$(sampled | wc -w)" = 1
}
libpfm=perf::PAGE-FAULTS:period=1
spec=$libpfm nearly several
ctl "event $spec"

# ---- cgroups --------------------------------------------------------------------------------------

name=kprofs-test-$$
if new_cgroup "$name" && new_cgroup "$name/below" && new_cgroup "${name}x"; then
	load_wanted() {
		in_cgroup "$name/below" "$WANTED" "$pages"
	}
	load_other() {
		in_cgroup "${name}x" "$OTHER" "$pages"
	}
	nearly both "cgroup == \"/$name\"" "$pages" 0
	nearly both "cgroup == \"/$name/below\"" "$pages" 0
	nearly both "cgroup == \"/${name}x\"" 0 "$pages"
	nearly both "cgroup != \"/$name\" && cgroup != \"/${name}x\"" 0 0
	nearly both 'cgroup == "/"' "$pages" "$pages"
	fails_with "No such file" put kpctl "only cgroup == \"/$name/above\""
	check "the column and what is there" \
		grep -q "column 11: there is no cgroup of this path, at '^\"/$name/above\"'" "$MNT/kperr"
	# made anew, it is found at the next start
	ctl "only cgroup == \"/$name/below\""
	rmdir "$CGROUPS/$name/below" || fail "rmdir of a cgroup"
	fails_with "No such file" put kpctl start
	mkdir "$CGROUPS/$name/below" || fail "mkdir of a cgroup"
	nearly both "cgroup == \"/$name/below\"" "$pages" 0
else
	echo "not tried: cgroups of version 2"
fi
load_wanted() {
	"$WANTED" "$pages"
}
load_other() {
	"$OTHER" "$pages"
}

# ---- changes during a run -------------------------------------------------------------------------

changes() {
	local since i worker
	ctl clear 'only all' start
	since=$(stat_of profiler.since_ns)
	"$WANTED" $((pages * 40)) >/dev/null &
	worker=$!
	for ((i = 0; i < 5; i++)); do
		ctl 'only comm == "wanted"'
		ctl 'only uid == 12345'
		ctl 'only all'
		ctl 'only comm != "wanted" && cpu >= 0'
	done
	wait "$worker" || fail "the program that is wanted"
	same "the run goes on" "$since" "$(stat_of profiler.since_ns)"
	stop_and_check_counts
	at_least "counted" $((pages * 40)) "$count"
}
nearly changes

# a change counts from the write on
from_then_on() {
	ctl clear 'only comm == "other"' start
	load_wanted >/dev/null || fail "the program that is wanted"
	ctl 'only comm == "wanted"'
	load_wanted >/dev/null || fail "the program that is wanted"
	ctl 'only uid == 12345'
	load_wanted >/dev/null || fail "the program that is wanted"
	ctl 'only all'
	load_other >/dev/null || fail "the other program"
	stop_and_check_counts
	same "page faults while they were wanted" "$pages" "$(touched wanted)"
	same "page faults after that" "$pages" "$(touched other)"
	at_least "filtered" $((2 * pages)) "$filtered"
}
nearly from_then_on

# clear begins the count of filtered ones anew, too
from_clear_on() {
	ctl clear 'only comm == "wanted"' start
	"$OTHER" $((20 * pages)) >/dev/null || fail "the other program"
	at_least "filtered before" $((20 * pages)) "$(awk '/^event\..*\.filtered / { n += $2 } END { print n }' "$MNT/kpstat")"
	ctl clear
	load_wanted >/dev/null || fail "the program that is wanted"
	stop_and_check_counts
	same "page faults since" "$pages" "$(touched wanted)"
	check "few filtered since: $filtered" test "$filtered" -lt $((20 * pages))
}
nearly from_clear_on

# ---- sessions -------------------------------------------------------------------------------------

two() {
	local name MNT=$MNT
	for name in first second; do
		mkdir -p "$MNT/sessions/$name"
		printf '%s\n' clear "event $spec" 'prof_cpubufsz 4096' 'stack user' \
			"only comm == \"$([ "$name" = first ] && echo wanted || echo other)\"" start \
			>"$MNT/sessions/$name/kpctl" || fail "session $name: $(tail -n 1 "$MNT/sessions/$name/kperr")"
	done
	load_wanted >/dev/null || fail "the program that is wanted"
	load_other >/dev/null || fail "the other program"
	MNT=$MNT/sessions/first
	stop_and_check_counts
	same "the first session's page faults" "$pages 0" "$(touched wanted) $(touched other)"
	missing=$undelivered
	MNT=${MNT%/first}/second
	stop_and_check_counts
	same "the second session's page faults" "0 $pages" "$(touched wanted) $(touched other)"
	undelivered=$((undelivered + missing))
}
nearly two
rmdir "$MNT/sessions/first" "$MNT/sessions/second" || fail "rmdir"

# ---- samples of programs of probes/ ----------------------------------------------------------------

# the calls of a program with this name
named_calls() {
	ASAN_OPTIONS=$no_leaks "${@:3}" "$WORK/named/$1" 0 "$2" </dev/null >/dev/null || fail "the program $1"
}
# expect WHAT DELIVERED FILTERED PROGRAMS: since `clear`; nothing is lost or missing
expect() {
	stop_and_check_counts
	same "$1" "$2 delivered, $3 filtered, 0 lost, 0 undelivered" \
		"$delivered delivered, $filtered filtered, $lost lost, $undelivered undelivered"
	same "$1: programs" "$4" "$(awk '{ sub(/[ ;(].*/, "", $1); n[$1] += $NF } END { for (name in n) print name, n[name] }' \
		"$MNT/views/folded" | sort | xargs)"
}
mkdir "$WORK/named"
cp "$CALLS" "$WORK/named/wanted"
cp "$CALLS" "$WORK/named/other"
kept=$spec
spec=probe:calls
ctl clear 'only comm == "wanted"'
# the program starts the profiler
put probes/calls 'syscall:getppid:entry /comm == "wanted" || comm == "other"/ { @ = count(); sample(); }' ||
	fail "the program: $(tail -n 1 "$MNT/kperr")"
since=$(stat_of profiler.since_ns)
named_calls wanted 1000
named_calls other 2000
ctl 'only all'
named_calls other 500
ctl 'only uid == 0 && comm == "other" || uid == 12345'
named_calls wanted 300
named_calls other 200
same "the run goes on" "$since" "$(stat_of profiler.since_ns)"
expect "calls of programs" 1700 2300 "other 700 wanted 1000"
same "the program saw all" '@: 4000' "$(grep '^@' "$MNT/probes/calls")"
check "none is lost" fails_with '' grep 'lost' "$MNT/probes/calls"

# beside another event; `clear` begins the counts anew
ctl clear "event $kept" 'only comm == "wanted"' start
named_calls other 100
ctl clear
named_calls other 10
named_calls wanted 20
ctl 'only comm == "other"'
named_calls wanted 3
ctl 'only comm == "wanted" && 1'
stop_and_check_counts
same "since the clear" "20 delivered, 13 filtered" "$delivered delivered, $filtered filtered"

# a program that was off while the expression changed
ctl clear start
put probes/calls off
ctl 'only comm == "other"'
put probes/calls on
named_calls wanted 7
named_calls other 11
ctl 'only comm == "wanted"'
stop_and_check_counts
same "after it was off" "11 delivered, 7 filtered" "$delivered delivered, $filtered filtered"

# while it is stopped nothing is filtered
named_calls other 50
ctl clear start
named_calls wanted 5
stop_and_check_counts
same "since the start" "5 delivered, 0 filtered" "$delivered delivered, $filtered filtered"

if [ -n "$CGROUPS" ]; then
	ctl clear "only cgroup == \"/$name/below\"" start
	named_calls wanted 40 in_cgroup "$name/below"
	named_calls wanted 60 in_cgroup "${name}x"
	ctl "only cgroup != \"/$name\" && comm == \"wanted\""
	named_calls wanted 400 in_cgroup "$name/below"
	named_calls wanted 600 in_cgroup "${name}x"
	stop_and_check_counts
	same "cgroups" "640 delivered, 460 filtered" "$delivered delivered, $filtered filtered"
fi

sum=$(printf '1 + %.0s' {1..32})1
ctl 'only uid == 7' start
fails_with "Argument list too long" put kpctl "only ($sum) + ($sum)"
check "the reason" grep -q 'of `only` has 65 operators: beside programs that call sample() it may have 64' "$MNT/kperr"
same "what was set stays" "only uid == 7 start" "$(grep -x 'only.*\|start' "$MNT/kpctl" | xargs)"
ctl stop "only ($sum) + ($sum)"
fails_with "Argument list too long" put kpctl start
rm "$MNT/probes/calls"
ctl start stop 'only all'
spec=$kept

# ---- what is refused ------------------------------------------------------------------------------

ctl 'only uid == 7'
refused() {
	fails_with "$1" put kpctl "$2"
	tail -n 1 "$MNT/kperr" >"$WORK/reason"
	check "the reason: $(cat "$WORK/reason")" grep -qF "$3" "$WORK/reason"
	same "what was set stays" "only uid == 7" "$(grep '^only' "$MNT/kpctl")"
}
refused "Invalid argument" 'only' "'only' needs an argument; usage: only EXPR|all"
refused "Invalid argument" 'only uid =' "column 5: "
refused "Invalid argument" 'only name == "x"' "column 1: there is no name 'name'"
refused "Invalid argument" 'only comm == 7' "column 6: a string and a number can't be joined, at '^== 7'"
refused "Invalid argument" 'only 1 / 0' "column 3: this divides by 0, at '^/ 0'"
refused "Argument list too long" "only $(printf '1 + %.0s' {1..300})1" "longer than 1024 bytes"

if grep -q tracefs /proc/filesystems; then
	ctl 'only all' 'event sched:sched_switch:period=2'
	fails_with "Operation not supported" put kpctl 'only uid == 8'
	check "the reason" grep -q "sched:sched_switch:period=2 can't be filtered" "$MNT/kperr"
	ctl 'only all' 'event syscalls:sys_enter_getppid'
	fails_with "Operation not supported" put kpctl 'only uid == 8'
	check "the reason" grep -q "has no raw tracepoint; raw_syscalls:sys_enter has" "$MNT/kperr"
	same "what was set stays" "only all" "$(grep '^only' "$MNT/kpctl")"

	# tracepoints: others who trace one see all of it
	spec=sched:sched_switch
	rounds=2000
	switches() {
		local MNT=$MNT top=$MNT
		ctl clear "event $spec" 'stack kernel' 'only comm == "wanted"' start
		mkdir "$MNT/sessions/others"
		printf '%s\n' "event $spec" 'prof_cpubufsz 8192' 'stack none' start >"$MNT/sessions/others/kpctl" ||
			fail "the other session"
		cp "$FIXTURES/pingpong" "$WORK/wanted"
		timeout 60 taskset -c 0 "$WORK/wanted" "$rounds" >"$WORK/said" || fail "pingpong"
		ctl 'only comm == "none of them"'
		timeout 60 taskset -c 0 "$WORK/wanted" "$rounds" >/dev/null || fail "pingpong"
		stop_and_check_counts
		at_least "switches of the program" $((2 * rounds - rounds / 50)) "$delivered"
		check "and no others: $delivered" test "$delivered" -lt $((3 * rounds))
		at_least "filtered" $((2 * rounds - rounds / 50)) "$filtered"
		same "missed" 0 "$(stat_of "event.$(sed -n "s/^event\.\([0-9]*\)\.text $spec\$/\1/p" "$WORK/stat").missed")"
		check "in the scheduler" grep -q '__schedule\|schedule' <(cat "$MNT/views/folded")
		same "processes of it" 2 "$(sampled | wc -w)"
		MNT=$top/sessions/others
		stop_and_check_counts
		at_least "switches that others see" $((4 * rounds - rounds / 25)) "$delivered"
		same "lost" 0 "$lost"
		rmdir "$MNT"
		undelivered=0 # Linux counts some switches of idle tasks that it does not sample
	}
	switches
	cp "$FIXTURES/faults" "$WORK/wanted"
	spec=page-faults:period=1
	ctl 'only all' "event $spec" 'only uid == 7' 'stack user'
fi

# what is read restores it
cat "$MNT/kpctl" >"$WORK/settings"
ctl 'only all'
cat "$WORK/settings" >"$MNT/kpctl" || fail "the settings are refused"
same "restored" "only uid == 7" "$(grep '^only' "$MNT/kpctl")"

# the option of the commands
command_line() {
	ctl 'only uid == 7'
	# shellcheck disable=SC2016 # the other shell's
	"$KPROF" record -q -a -m "$MNT" -e "$spec" --stack user --only 'comm == "wanted"' -o "$WORK/copy" -- \
		sh -c '"$0" "$2" && "$1" "$2"' "$WANTED" "$OTHER" "$pages" >/dev/null || fail "kprof record --only"
	same "of the programs that ran" "$pages 0" "$(touched wanted) $(touched other)"
	same "the setting is restored" "only uid == 7" "$(grep '^only' "$MNT/kpctl")"
	fails_with "column 5: '=' sets nothing here" "$KPROF" record -q -m "$MNT" --only 'uid = 7' -- true
	undelivered=0
}
command_line
timeout 20 "$KPROF" top --stdio -m "$MNT" -d 0.1 -e cpu-clock --only 'comm == "none of them"' >"$WORK/top" &
top=$!
wait_for grep -q 'samples' "$WORK/top"
same "kprof top --only" 'only comm == "none of them"' "$(grep '^only' "$MNT/kpctl")"
kill -INT "$top"
wait "$top"
same "kprof top restores it" "only uid == 7" "$(grep '^only' "$MNT/kpctl")"

# ---- times away from the CPU ----------------------------------------------------------------------

spec=offcpu:min=0
if put kpctl "event $spec" 2>/dev/null; then
	cp "$(command -v sleep)" "$WORK/wanted"
	ctl clear 'only comm == "wanted"' start
	for ((i = 0; i < 10; i++)); do
		"$WORK/wanted" 0.01
		sleep 0.01
	done
	[ -z "$CGROUPS" ] || ctl "only cgroup == \"/$name\" || uid == 12345"
	same "still running" running "$(stat_of profiler.state)"
	[ -z "$CGROUPS" ] || in_cgroup "$name/below" sleep 0.01
	ctl stop
	cat "$MNT/kpstat" >"$WORK/stat"
	copy_to "$WORK/copy"
	"$KPROF" report --sort comm "$WORK/copy" >"$WORK/report"
	number=$(sed -n "s/^event\.\([0-9]*\)\.text $spec\$/\1/p" "$WORK/stat")
	check_balance "$WORK/stat" "$WORK/copy" "$number"
	echo "$count = $delivered + $filtered filtered + $lost + $undelivered"
	at_least "away from the CPU" 10 "$delivered"
	at_least "filtered" 10 "$filtered"
	same "undelivered" 0 "$undelivered"
	cat "$MNT/views/folded" >"$WORK/folded"
	# the shell that joins the cgroup may wait for a CPU before it becomes `sleep`
	shell=$(basename "$(readlink -f "$(command -v sh)")")
	check "no other process" test "$(sed 's/[ ;(].*//' "$WORK/folded" | grep -vx "sh\|$shell" | sort -u | xargs)" = \
		"$([ -z "$CGROUPS" ] && echo wanted || echo sleep wanted)"
	[ "$failures" = 0 ] || cat "$WORK/folded"
else
	echo "not tried: offcpu"
fi

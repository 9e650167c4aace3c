#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_record_select: kprof record keeps the samples of the selected processes, threads, users and CPUs.
# Perf's options set rates and stacks; --delay and --duration limit the time; each SIGUSR2 begins a new
# output.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

KPROF=$PWD/kprof
FAULTS=$PWD/tests/fixtures/faults
export TMPDIR=$WORK/tmp
mkdir "$TMPDIR"
cd "$WORK" || exit 1
python3 -c '' 2>/dev/null || { echo "no python3 here"; exit 77; }

# record STATUS ARGUMENTS...
record() {
	local expected=$1 status
	shift
	"$KPROF" record -m "$MNT" "$@" 2>"$WORK/said"
	status=$?
	[ "$status" = "$expected" ] ||
		fail "kprof record $*: status $status, not $expected: $(cat "$WORK/said")"
}

said() {
	grep -qE -- "$1" "$WORK/said" || fail "'$1' was to be said: $(cat "$WORK/said")"
}

# values FIELD FILE: of the samples, by the dump
values() {
	"$KPROF" dump "$2" | sed -n "/_trace /s/.* $1=\([^ ]*\).*/\1/p" | sort -u | paste -sd ' '
}

# events FILE: those that have samples
events() {
	"$KPROF" report -n --by process "$1" | awk 'NR > 1 && $1 ~ /%/ { print $3 }' | sort -u
}

samples() {
	"$KPROF" dump "$1" | grep -c '_trace '
}

# a program that works in two threads until it is killed, and names them
cat >work.py <<'END'
import threading
def work():
    while True:
        pass
second = threading.Thread(target=work, daemon=True)
second.start()
print(second.native_id, flush=True)
work()
END

serve
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
put kpctl stop
put kpctl clear
state=$(cat "$MNT/kpctl")
python3 work.py >tid &
worker=$!
python3 work.py >/dev/null &
wait_for test -s tid
tid=$(cat tid)

# ---- processes, threads, users, CPUs ------------------------------------------------------------

# until enough samples were taken; a stopped machine would take none in a fixed time
until_sampled() {
	local i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		record 0 -o out --duration "$i" "$@"
		[ "$(samples out)" -lt 20 ] || return 0
	done
	fail "no samples of $*"
}

until_sampled -p "$worker" -F 499
same "one process" "$worker" "$(values pid out)"
said '^kprof record: out: [0-9]* samples of 1 process, [1-9][0-9]* of others left out'
same "its event" cpu-clock:freq=499 "$(events out | sed 's/^cycles/cpu-clock/')"
until_sampled -p "$tid"
same "the process of a thread that is not its first" "$worker" "$(values pid out)"
until_sampled -t "$tid"
same "one thread" "$tid" "$("$KPROF" report -n --by thread out | awk 'NR > 1 { print $4 }' | paste -sd ' ')"
until_sampled -C 0
same "one CPU" 0 "$(values cpu out)"
until_sampled -u "$(id -u)"
[[ " $(values pid out) " == *" $worker "* ]] || fail "the user's processes: $(values pid out)"
said "the user's processes were looked up once a second"
until_sampled -p "$worker" -- sleep 1
same "a command sets the time only" "$worker" "$(values pid out)"
same "the settings are as they were" "$state" "$(cat "$MNT/kpctl")"

# it ends with the process; and with a signal
sleep 1000 &
sleeper=$!
"$KPROF" record -m "$MNT" -o ended -p $sleeper 2>"$WORK/said" &
job=$!
is_running() { [ "$(stat_of profiler.state)" = running ]; }
wait_for is_running
kill $sleeper
wait $sleeper 2>/dev/null
ended_well "it ends with the process" $job
env --default-signal=INT "$KPROF" record -m "$MNT" -a -o all 2>"$WORK/said" &
job=$!
wait_for is_running
kill -INT $job
ended_well "it ends with Ctrl-C" $job
check "the output is there" test -s all

# ---- rates and stacks ---------------------------------------------------------------------------

record 0 -e page-faults -c 1 -o out -- "$FAULTS" 3000
lost=$("$KPROF" dump out | sed -n 's/.* lost .* count=\([0-9]*\).*/\1/p' | paste -sd + | sed 's/^$/0/')
check "each of them" test $(($(samples out) + lost)) -ge 3000
same "the period" page-faults:period=1 "$(events out)"
record 0 -e page-faults:period=7,cpu-clock -F 123 -o out -- "$FAULTS" 3000
same "a rate that is given stays" "page-faults:period=7" "$(events out | grep page-faults)"
"$KPROF" dump out | grep -q ' event .*text="cpu-clock:freq=123"' || fail "the other event gets the rate"
# the setting while the command runs
stack_of() {
	record 0 -o out "$@" -- grep '^stack' "$MNT/kpctl" | cut -d ' ' -f 2
}
same "stacks are copied" dwarf "$(stack_of --call-graph dwarf,8192)"
same "no stacks" none "$(stack_of --call-graph none)"
put kpctl "stack none"
same "by frame pointers" both "$(stack_of --call-graph fp)"
same "the same in short" both "$(stack_of -g)"
same "by kprof's word" kernel "$(stack_of --stack "kernel 7")"
same "the setting is as it was" "stack none" "$(grep '^stack' "$MNT/kpctl")"
put kpctl "$(sed -n 's/^stack/&/p' <<<"$state")"
same "the settings are as they were" "$state" "$(cat "$MNT/kpctl")"

# ---- delay, outputs -----------------------------------------------------------------------------

record 0 -e page-faults -c 1 -D 86400000 -o out -- "$FAULTS" 500
same "all samples are before the delay" 0 "$(samples out)"
said '[1-9][0-9]* before the delay left out'
record 0 -e page-faults -c 1 -o - -- "$FAULTS" 500 >out
check "standard output" test "$(samples out)" -gt 0

# each SIGUSR2 ends a file; together they have all samples, and each is a complete capture
"$KPROF" record -m "$MNT" -p "$worker" --switch-output -o part 2>"$WORK/said" &
job=$!
said_parts() { [ "$(grep -c '^kprof record: part\.' "$WORK/said")" = "$1" ]; }
# samples that the server has taken, ever
taken() { awk '/^cpu\.[0-9]*\.samples / { n += $2 } END { print n }' "$MNT/kpstat"; }
has_samples() { [ "$(taken)" -gt "$1" ]; }
# the CPU time of the worker in ticks; so many must have passed that each part has samples of it
worked() { awk '{ print $14 + $15 }' "/proc/$worker/stat"; }
has_worked() { [ "$(worked)" -ge "$1" ]; }
wait_for_samples() {
	local ticks
	ticks=$(($(worked) + 20))
	wait_for has_samples $(($(taken) + 50))
	wait_for has_worked $ticks
}
for part in 1 2; do
	wait_for is_running
	wait_for_samples
	kill -USR2 $job
	wait_for said_parts $part
done
wait_for_samples
kill -INT $job
ended_well "it ends with Ctrl-C" $job
same "three files" "part.1 part.2 part.3" "$(echo part.*)"
last=0
for part in part.1 part.2 part.3; do
	same "$part is of the process" "$worker" "$(values pid $part)"
	threads=$("$KPROF" report -n --by thread $part | awk 'NR > 1 { print $4 }' | sort -n | paste -sd ' ')
	[[ $threads =~ ^($worker|$tid)(" "($worker|$tid))?$ ]] || fail "$part has other threads: $threads"
	first=$("$KPROF" dump $part | sed -n '/_trace /s/.* time=\([0-9]*\).*/\1/p' | sort -n | head -n 1)
	check "$part begins after the one before" test "$first" -gt "$last"
	last=$("$KPROF" dump $part | sed -n '/_trace /s/.* time=\([0-9]*\).*/\1/p' | sort -n | tail -n 1)
done

# ---- usage --------------------------------------------------------------------------------------

record 2
said 'no command to run'
record 2 -p 0 -- true
record 2 -p 2147483647 -- true
said 'there is no process 2147483647'
record 2 -u "no such user" -- true
record 2 -a -p $$ -- true
record 2 --call-graph lbr -- true
record 2 -F x -- true
record 2 -F 99 -c 100 -- true
said "--freq and --count exclude each other"
record 125 -e nonsense -- true
same "neither a path nor the usage of kpctl" "kprof: no event 'nonsense'" "$(cat "$WORK/said")"
record 2 -D -1 -- true
record 2 --switch-output -o - -- true
record 125 -C 99999 -- true
said '99999 names a CPU'
kill "$worker" %2 2>/dev/null

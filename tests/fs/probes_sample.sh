#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_sample: sample() in a program of probes/ puts samples with stacks into kpdata, as an event of its own; each
# is delivered or counted as lost, also in rings that are too small, beside other events, and while nothing runs.
# shellcheck source=tests/fs/lib.sh disable=SC2119,SC2120
. "${srcdir:-.}/tests/fs/lib.sh"

# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

# event TEXT: its number
event() {
	awk -v text="$1" '/^event\.[0-9]*\.text / && $2 == text { split($1, part, "."); print part[2] }' "$MNT/kpstat"
}

# sum_of TEXT COUNTER: of all CPUs
sum_of() {
	awk -v event="$(event "$1")" -v counter="$2" '{ split($1, part, ".") }
		part[1] == "event" && part[2] == event && part[5] == counter { n += $2 }
		END { print n + 0 }' "$MNT/kpstat"
}

state() {
	tail -n 1 "$MNT/kpctl"
}

stopped() {
	[ "$(state)" = stop ]
}

serve
need_machine
# who writes more than 64 KiB? One line, and the flame graph has the answer
# other tests run dd too
DD=dd$$
cp "$(command -v dd)" "$WORK/$DD"
need_probe big "syscall:write:entry /args.count > 65536 && comm == \"$DD\"/ { sample(); }"
same "the profiler runs" start "$(state)"
"$WORK/$DD" if=/dev/zero of=/dev/null bs=65537 count=30 2>/dev/null
"$WORK/$DD" if=/dev/zero of=/dev/null bs=65536 count=50 2>/dev/null
put kpctl flush
same "each is a sample" 30 "$(sum_of probe:big delivered)"
same "and nothing else is sampled" 1 "$(grep -c '^event\.[0-9]*\.text' "$MNT/kpstat")"
same "with its stack" 30 "$(awk -v name="$DD" 'index($0, name ";") == 1 && /entry_SYSCALL|el0_svc/ { n += $NF }
	END { print n + 0 }' "$MNT/views/folded")"
check "the flame graph has the program" grep -q "$DD" "$MNT/views/flame.svg"
check "other settings wait for a stop" fails_with "Device or resource busy" put kpctl 'event cpu-clock'
rm "$MNT/probes/big"
wait_for stopped
same "the samples stay" 30 "$(sum_of probe:big delivered)"
put kpctl clear

# two programs, a start of other events meanwhile, and a reader that follows through all of it
put probes/one "syscall:getppid:entry /comm == \"$CALLS_NAME\"/ { sample(); }"
cat "$MNT/kpdata" >"$WORK/followed" &
READER=$!
calls 1000
put probes/two "syscall:getppid:return /comm == \"$CALLS_NAME\"/ { @ = count(); sample(); }"
calls 1000
put kpctl start
calls 1000
# the text is replaced: no sample is lost at that
put probes/one "syscall:getppid:entry /comm == \"$CALLS_NAME\"/ { @ = count(); sample(); }"
calls 1000
check "the reader has no end of file" kill -0 "$READER"
rm "$MNT/probes/two"
put kpctl stop
wait_for has_ended "$READER"
wait "$READER"
same "all are delivered" 4000 "$(sum_of probe:one delivered)"
same "none is lost" 0 "$(sum_of probe:one lost)"
same "those of the second program too" 3000 "$(sum_of probe:two delivered)"
check "the other event has samples" [ "$(sum_of default delivered)" -gt 0 ]
copy_to "$WORK/kpdata"
cat "$MNT/kpstat" >"$WORK/stat"
for name in one two; do
	check_balance "$WORK/stat" "$WORK/kpdata" "$(event probe:$name)"
done
"$KPROF" dump "$WORK/followed" >"$WORK/dump" || fail "what the reader got"
same "the reader has all" 7000 "$(grep -c "_trace .* event=\($(event probe:one)\|$(event probe:two)\) " "$WORK/dump")"

# nothing runs: what is not sampled is counted
calls 100
check "it is lost" grep -qx '# 100 messages and samples lost' "$MNT/probes/one"
same "and no sample" 4000 "$(sum_of probe:one count)"
put kpctl clear

# a ring for some hundred samples
ctl 'prof_cpubufsz 16' 'event default'
put kpctl start
hold_up
ASAN_OPTIONS=$no_leaks "$CALLS" 0 100000 </dev/null >"$WORK/calls" || fail "the program failed"
let_go
put kpctl stop
same "each call is counted" 100000 "$(sum_of probe:one count)"
same "delivered or lost" 100000 "$(($(sum_of probe:one delivered) + $(sum_of probe:one lost)))"
check "some are lost" [ "$(sum_of probe:one lost)" -gt 0 ]
same "none is missing" 0 "$(sum_of probe:one undelivered)"
copy_to "$WORK/kpdata"
cat "$MNT/kpstat" >"$WORK/stat"
check_balance "$WORK/stat" "$WORK/kpdata" "$(event probe:one)"

# where there is nothing to sample
fails_with "Invalid argument" put probes/begin 'BEGIN { sample(); }'
check "it says why" grep -q "sample() can't be used in BEGIN probes" "$MNT/kperr"

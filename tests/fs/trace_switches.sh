#!/bin/bash
# SPDX-License-Identifier: MIT
# trace_switches: A write to a switch returns when the programs have acknowledged it, so that their next
# event obeys it. A program that does not answer is named and delays the write by 0.1 s at most.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

SWITCHED=${SWITCHED:-$PWD/tests/fs/switched}
export KPROF_SOCKET=$SOCKET

# program NAME [BUFFER_MODE]: its pid is in $PROGRAM; `tell NAME LETTER` lets it write
program() {
	mkfifo "$WORK/in.$1" "$WORK/out.$1"
	KPROF_BUFFER_KB=64 KPROF_BUFFER_MODE=${2:-overwrite} \
		"$SWITCHED" <"$WORK/in.$1" >"$WORK/out.$1" &
	PROGRAM=$!
	eval "exec {in_$1}>\"\$WORK/in.$1\" {out_$1}<\"\$WORK/out.$1\""
}

# returns when it has written
tell() {
	local letter in=in_$1 out=out_$1
	printf %s "$2" >&"${!in}"
	read -rN1 -u "${!out}" letter
	[ "$letter" = "$2" ] || fail "the program $1 answers '$letter'"
}

has_event() {
	[ -e "$MNT/events/$1" ]
}

stat_is() {
	[ "$(stat_of "$1")" = "$2" ]
}

# lines TEXT: how many of the trace have it
lines() {
	grep -c -- "$1" "$MNT/kptrace"
}

# tries COUNT FILE ON OFF TEXT: an event right behind each switch; TEXT is the text of the events.
# Where a machine gives a program no CPU for 0.1 s, the answer is late and counted, and the miss is
# allowed.
tries() {
	local i missing extra late
	put kptrace_ctl clear
	late=$(stat_of trace.sync_timeouts)
	for ((i = 0; i < $1; i++)); do
		put "$2" "$3"
		tell one +
		put "$2" "$4"
		tell one -
	done
	late=$(($(stat_of trace.sync_timeouts) - late))
	missing=$(($1 - $(lines " $5 + "))) extra=$(lines " $5 - ")
	echo "$2: of $1 events $missing missing, $extra too many, $late late"
	check "$2: events behind $3" test "$missing" -le "$late"
	check "$2: events behind $4" test "$extra" -le "$late"
}

elapsed_ms() {
	local from=${EPOCHREALTIME/./} to
	"$@"
	to=${EPOCHREALTIME/./}
	echo $(((to - from) / 1000))
}

serve
program one
one=$PROGRAM
wait_for has_event test:step

tries 200 events/test:step 1 0 "test:step:"
put events/test:step 1
tries 50 events/enabled 1 0 "test:step:"
put events/enabled 1
put events/test:step 0
tries 50 events/all 1 0 "test:step:"
tries 50 kprintx on off printx

# an event takes the words that all switches take
for word in on:1 off:0 1:1 0:0 0x10:1 toggle:0 toggle:1 -1:1 00:0 toggle:1; do
	put events/test:step "${word%:*}"
	same "events/test:step after ${word%:*}" "${word#*:}" "$(cat "$MNT/events/test:step")"
done
check "no other word" eval '! put events/test:step yes 2>/dev/null'
check "and says which ones" grep -q "'yes': unknown word; usage: on|off|toggle|NUMBER\$" "$MNT/kperr"
put events/test:step 0

# ---- a program that discards goes on behind a clear ------------------------------------------------

program keeps discard
wait_for has_event test:fill
put events/test:fill 1
put events/test:step 1
for ((i = 0; i < 20; i++)); do
	tell keeps f
	if [ $((i % 2)) = 0 ]; then put kptrace_ctl clear; else put events/reset 1; fi
	tell keeps +
	same "behind clear $i" 1 "$(lines 'test:step: +')"
done
kill "$PROGRAM"
wait "$PROGRAM" 2>/dev/null

# ---- what reset forgets is not lost -----------------------------------------------------------------

# balance WHAT OVERFLOW CLEARED: checks the counters
balance() {
	same "$1: overflow" "$2" "$(cat "$MNT/events/overflow")"
	same "$1: cleared" "$3" "$(stat_of trace.cleared)"
}

put kptrace_ctl clear # the held events of others
before=$(cat "$MNT/events/overflow") cleared=$(stat_of trace.cleared)
program counts
counts=$PROGRAM
wait_for stat_is trace.producers 2
tell counts h
put events/reset 1
balance "500 forgotten" "$before" $((cleared + 500))
for i in 1 2 3 4 5; do tell counts f; done
held=$(lines "switched\[$counts\] test:fill:")
check "some are held ($held)" test "$held" -gt 0
check "and some are not" test "$held" -lt 20000
balance "20,000 more" $((before + 20000 - held)) $((cleared + 500))
put kptrace_ctl clear
balance "these forgotten too" $((before + 20000 - held)) $((cleared + 500 + held))
tell counts h
kill "$counts"
wait "$counts" 2>/dev/null
wait_for stat_is trace.producers 1
balance "500 more, and the program's end" $((before + 20000 - held)) $((cleared + 500 + held))
same "which are there" 500 "$(lines "switched\[$counts\] test:fill:")"
put events/reset 1
balance "forgotten with its memory" $((before + 20000 - held)) $((cleared + 1000 + held))

# ---- a program that is stopped --------------------------------------------------------------------

program two
two=$PROGRAM
wait_for stat_is trace.producers 2
put events/test:step 0
kill -STOP "$two"
before=$(stat_of trace.sync_timeouts)
took=$(elapsed_ms put events/test:step 1)
echo "a switch beside a program that is stopped: $took ms"
check "it does not wait for that one" test "$took" -lt 2000
check "and names it" \
	grep -q "test:step line 1: '1': .* not answered within 100 ms:.* $two (switched)\$" "$MNT/kperr"
check "and counts it" test "$(stat_of trace.sync_timeouts)" -gt "$before"
put kptrace_ctl clear
tell one +
same "the other one has taken it" 1 "$(lines 'test:step: +')"
# concurrent writers wait at the same time, not one behind the other
writers=()
took=$(elapsed_ms eval 'for i in 1 2 3 4 5 6 7 8; do put events/test:step 1 & writers+=($!); done
	wait "${writers[@]}"')
echo "eight at once: $took ms"
check "together" test "$took" -lt 2000
kill -CONT "$two"
wait_for eval '[ "$(elapsed_ms put events/test:step 1)" -lt 100 ]'
put events/test:step 0
tell two -
put events/test:step 1
tell two +
same "and so has this one, now" 1 "$(grep "switched\[$two\]" "$MNT/kptrace" | grep -c 'test:step: [+-]')"

# ---- the server ends while a write waits ----------------------------------------------------------

kill -STOP "$two"
put events/test:step 0 &
writer=$!
serve_end
wait "$writer" 2>/dev/null # for any reply
kill -KILL "$one" "$two"

#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_slots: threads whose numbers have the same low bits share a slot for the calls that they have begun; the
# records of both have arguments and durations.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

serve
for call in read getppid clock_nanosleep; do
	if ! put "events/kernel/syscall:$call" '1 /comm == "kernel_slots"/' 2>/dev/null; then
		! grep "refuses the program" <(tail -n 1 "$MNT/kperr") || exit 1
		echo "kernel events are not available here:"
		tail -n 1 "$MNT/kperr"
		exit 77
	fi
done
timeout 30 "$PWD/tests/fs/kernel_slots" 16384 500 >"$WORK/numbers"
case $? in
0) ;;
77) echo "no number of a process at this distance is free"; exit 77 ;;
*) fail "the program failed" ;;
esac
read -r first second <"$WORK/numbers"
cat "$MNT/kptrace" >"$WORK/trace"
# lines PROCESS TEXT: how many it has
lines() {
	grep -cE "kernel_slots\[$1\] $2" "$WORK/trace"
}
duration='\([0-9.]+ (us|ms|s)\)$'
same "the read that was under way, with its arguments" 1 "$(lines "$first" "syscall:read: fd=[0-9]+ .*(count|size|len)=42.* = 1 $duration")"
same "the first one's other call" 1 "$(lines "$first" "syscall:getppid: = [0-9]+ $duration")"
same "the second one's calls" 1000 "$(lines "$second" "syscall:getppid: = [0-9]+ $duration")"
same "its sleeps" 2 "$(lines "$second" "syscall:clock_nanosleep: .* = 0 $duration")"
same "nothing is unknown" 0 "$(sed -nE 's/^.*kernel_slots\[[0-9]+\] (syscall:.*)$/\1/p' "$WORK/trace" | grep -vcE "$duration")"
# the read took as long as the two pauses
us=$(sed -nE "s/^.*kernel_slots\[$first\] syscall:read: .* \(([0-9.]+) us\)\$/\1/p" "$WORK/trace")
check "the read took more than 2 s, not $us us" test "${us%.*}" -ge 2000000
serve_end

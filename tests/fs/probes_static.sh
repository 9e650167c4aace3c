#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_static: usdt probes: arguments in registers, constants and memory, several places, semaphores, of a file and
# of one process; uaddr(); what can't be probed is refused with a sentence.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

PROGRAM=$PWD/tests/fs/probes_static
COUNT=1000

# runs_program PID: that process runs it, and no longer the shell of which it was made
runs_program() {
	[ "$(readlink "/proc/$1/exe")" -ef "$PROGRAM" ]
}

# begin_program: it waits for finish_program; RAN is its process
begin_program() {
	rm -f "$WORK/in"
	mkfifo "$WORK/in"
	exec 5<>"$WORK/in"
	"$PROGRAM" $COUNT <"$WORK/in" >"$WORK/seen" 5>&- &
	RAN=$!
	wait_for runs_program $RAN
}

# finish_program: it does its work; SEEN is how often it saw its semaphore raised
finish_program() {
	echo >&5
	wait_for test -s "$WORK/seen"
	SEEN=$(cat "$WORK/seen")
}

# end_program: after its probes have gone
end_program() {
	echo >&5
	exec 5>&-
	wait_for has_ended "$RAN"
	wait "$RAN" || fail "the program failed with $?"
}

serve
begin_program
if ! put probes/one "usdt:$PROGRAM:kp:one { @n = count(); @a = sum(arg0); @b = sum(arg1); @c = sum((int32)arg2); @p[probe] = count(); }" \
	2>/dev/null; then
	echo "static probes can't be probed here:"
	tail -n 3 "$MNT/kperr"
	exit 77
fi
put probes/two "usdt:$PROGRAM:two { @n = count(); @s = sum((int64)arg0); }"
put probes/all "U:$PROGRAM:*:* { @[name] = count(); }"
finish_program
answer=$(cat "$MNT/probes/one")
check "each is counted" grep -qx "@n: $COUNT" <<<"$answer"
# 0 + 1 + ... + 999, -7 * 1000, and the negative numbers
check "an argument in a register" grep -qx "@a: 499500" <<<"$answer"
check "a constant" grep -qx "@b: -7000\|@b: 18446744073709544616" <<<"$answer"
check "one in memory" grep -qx "@c: -499500" <<<"$answer"
check "the probe's name" grep -qxF "@p[usdt:$PROGRAM:kp:one]: $COUNT" <<<"$answer"
answer=$(cat "$MNT/probes/two")
check "both places" grep -qx "@n: $((2 * COUNT))" <<<"$answer"
check "each with its own argument" grep -qx "@s: 0" <<<"$answer"
check "patterns" grep -qxF "@[*]: $((3 * COUNT))" "$MNT/probes/all"
same "the semaphore was raised" $COUNT "$SEEN"
rm "$MNT"/probes/{one,two,all}
end_program

# nothing is raised if nothing looks at it
begin_program
put probes/two "usdt:$PROGRAM:kp:two { @n = count(); }"
finish_program
same "the semaphore is down" 0 "$SEEN"
rm "$MNT/probes/two"
end_program

# one process of two
begin_program
put probes/process "usdt:$RAN:kp:one { @[pid] = count(); }"
echo | "$PROGRAM" 5 >"$WORK/other" || fail "the program failed with $?"
finish_program
same "only this process" "@[$RAN]: $COUNT" "$(grep '^@' "$MNT/probes/process")"
same "its semaphore" $COUNT "$SEEN"
same "not that of the other" 0 "$(cat "$WORK/other")"
rm "$MNT/probes/process"
end_program

# uaddr(): a variable of the program, wherever it is in memory
begin_program
put probes/variable "usdt:$PROGRAM:kp:one { @[*(uint64 *)uaddr(\"known\")] = count(); }"
finish_program
same "the value of a variable" "@[12345]: $COUNT" "$(grep '^@' "$MNT/probes/variable")"
rm "$MNT/probes/variable"
end_program

# what is not there, and what a file may say wrongly
fails_with "No such file" put probes/none "usdt:$PROGRAM:kp:three { @ = count(); }"
check "it says what" grep -q "has no static probe 'kp:three'" "$MNT/kperr"
fails_with "Invalid argument" put probes/none "usdt:$PROGRAM:kp:two { @ = sum(arg1); }"
check "it says which arguments there are" grep -q 'the static probe has no argument arg1; it has: [-8]' "$MNT/kperr"
fails_with "No such file" put probes/none "usdt:$PROGRAM:kp:one { @ = uaddr(\"no_such\"); }"
check "it says which symbol" grep -q "has no symbol 'no_such'" "$MNT/kperr"
fails_with "Invalid argument" put probes/none "uretprobe:$PROGRAM:main { @ = uaddr(\"known\"); }"
python3 - "$PROGRAM" "$WORK/odd" <<'END'
import sys
data = open(sys.argv[1], "rb").read()
at = data.index(b"kp\0one\0") + 7
end = data.index(b"\0", at)
# as long as what was there: a symbol, which is not supported
open(sys.argv[2], "wb").write(data[:at] + b"8@x(%rip)".ljust(end - at)[:end - at] + data[end:])
END
fails_with "Operation not supported" put probes/none "usdt:$WORK/odd:kp:one { @ = sum(arg0); }"
check "it says where the argument is" grep -q "is at '8@x(%rip)', which is not supported" "$MNT/kperr"
put probes/odd "usdt:$WORK/odd:kp:one { @ = count(); }"

#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_preempted: programs of uprobes that other threads preempt, which run the same program on that CPU: all calls
# are counted or missed, with the key that their thread has. A kernel that preempts threads in itself
# (preempt=full) shows most: on others the programs are run one after the other.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

PROGRAM=$PWD/tests/fs/probes_preempted
CALLS=20000

serve -o probe_strlen=1024
mkfifo "$WORK/in"
exec 5<>"$WORK/in"
"$PROGRAM" $CALLS <"$WORK/in" >"$WORK/called" 5>&- &
ran=$!
# the string is too large for the stack, so that it is in the memory of the CPU
if ! put probes/one "uprobe:$PROGRAM:probed /pid == $ran/ { @n = count(); @by[str(arg0), tid == pid] = count(); }" \
	2>/dev/null; then
	echo "this kernel has no uprobes:"
	tail -n 3 "$MNT/kperr"
	exit 77
fi
echo >&5
exec 5>&-
WAIT=120 wait_for has_ended "$ran"
wait "$ran"
ended=$?
[ "$ended" != 2 ] || { echo "threads of a real-time priority are not allowed here"; exit 77; }
same "the program" 0 "$ended"
read -r low high <"$WORK/called"
cp "$MNT/probes/one" "$WORK/one"
missed=$(sed -n 's/^# [0-9]* events, \(at least \)*\([0-9]*\) missed.*/\2/p' "$WORK/one")
count() {
	sed -n "s/^@by\[$1\]: //p" "$WORK/one"
}
echo "$low and $high calls, $missed missed"
same "all are counted or missed" $((low + high)) "$(($(sed -n 's/^@n: //p' "$WORK/one") + missed))"
same "all have a key" $((low + high)) "$(($(count 'low, 1') + $(count 'the thread of the higher priority, 0') + missed))"
same "no other keys" 2 "$(grep -c '^@by' "$WORK/one")"
check "hardly any is missed" [ "$missed" -lt $((CALLS / 1000)) ]

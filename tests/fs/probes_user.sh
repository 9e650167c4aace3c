#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_user: probes at functions of programs and their returns, counters, and what programs print of strings
# and files, with numbers that the program's own work has.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

PROGRAM=$PWD/tests/fs/probes_user
COUNT=500

serve
need_probe first 'BEGIN { @ = 1; }'
rm "$MNT/probes/first"
mkfifo "$WORK/in"
exec 5<>"$WORK/in"
"$PROGRAM" $COUNT wait <"$WORK/in" 5>&- &
ran=$!
if ! put probes/calls "uprobe:$PROGRAM:twice /pid == $ran/ { @s = sum(arg0); @text[str(arg1)] = count(); }
uretprobe:$PROGRAM:twice /pid == $ran/ { @r = stats(retval); }" 2>/dev/null; then
	echo "this kernel has no uprobes:"
	tail -n 3 "$MNT/kperr"
	exit 77
fi
put probes/place "uprobe:$PROGRAM:tw?ce /pid == $ran/ { @[ustack(1)] = count(); }"
put probes/func "uprobe:$PROGRAM:twice /pid == $ran/ { @last = func; @[func] = count(); }"
put probes/returns "uretprobe:$PROGRAM:twice /pid == $ran/ { @last = func; @[func] = count(); }"
put probes/faults "software:page-faults:1 /pid == $ran/ { @ = count(); }"
put probes/opens "tracepoint:syscalls:sys_enter_openat /pid == $ran/ { @[str(args.filename)] = count(); }"
echo >&5
# while it runs its functions have names
wait_for grep -qx "@\[twice\]: $COUNT" "$MNT/probes/func"
check "the function in a map" grep -qx "@last: twice" "$MNT/probes/func"
# where it returns: in each call, or in none before Linux 6.6
if grep -qx "@last: 0x0" "$MNT/probes/returns"; then
	echo "this kernel does not tell which function has returned"
	check "it is 0 then" grep -qx "@\[0x0\]: $COUNT" "$MNT/probes/returns"
else
	wait_for grep -qx "@\[twice\]: $COUNT" "$MNT/probes/returns"
	check "the function that has returned in a map" grep -qx "@last: twice" "$MNT/probes/returns"
fi
exec 5>&-
wait_for has_ended "$ran"
wait "$ran" || fail "the program failed with $?"

# 0 + 1 + ... + 499
check "arguments" grep -qx "@s: 124750" "$MNT/probes/calls"
check "a string of the program" grep -qx "@text\[a string\]: $COUNT" "$MNT/probes/calls"
check "results" grep -qx "@r: count $COUNT, average 499, total 249500" "$MNT/probes/calls"
check "a pattern, and a stack of one frame" grep -qx "\]: $COUNT" "$MNT/probes/place"
# one fault for each page, and others before and after, which are many in a build with sanitizers
check "page faults" awk -v least=$((COUNT * 4)) '/^@: / { n = $2 } END { exit !(n >= least && n < least + 20000) }' \
	"$MNT/probes/faults"

# what a pointer to strings names, and a file
put probes/args 'tracepoint:syscalls:sys_enter_execve { join(args.argv); }'
/bin/true one two
check "join" grep -q 'probe:args: /bin/true one two$' "$MNT/kptrace"
put probes/file 'BEGIN { cat("/proc/sys/kernel/ostype"); }'
wait_for grep -q 'probe:file: Linux$' "$MNT/kptrace"
# a file of the server itself is read or given up, and others are set meanwhile
put probes/own "BEGIN { cat(\"$MNT/probes/file\"); }"
put probes/other 'BEGIN { printf("another\n"); }'
wait_for grep -q 'probe:other: another$' "$MNT/kptrace"
wait_for grep -q 'probe:own: ' "$MNT/kptrace"
rm "$MNT"/probes/{own,other}
fails_with "No such file" put probes/none "uprobe:$PROGRAM:no_such_function { @ = count(); }"
check "the reason" grep -q "has no function 'no_such_function'" "$MNT/kperr"
fails_with "No such file" put probes/none "uprobe:/no/such/file:main { @ = count(); }"
printf 'no ELF file, but long enough that it could have a header of one, which is 64 bytes long' >"$WORK/text"
fails_with "Invalid argument" put probes/none "uprobe:$WORK/text:main { @ = count(); }"

# what will be slow is said
if [ "$(uname -m)" = x86_64 ]; then
	put probes/quick "uprobe:$PROGRAM:probed_push { @ = count(); }"
	put probes/slow "uprobe:$PROGRAM:probed_* { @ = count(); }"
	check "a slow one" grep -q 'probes/slow: 1 of 2 functions begin with .* 12 us for each call$' "$MNT/kperr"
	check "not one that is quick" sh -c "! grep -q 'probes/quick:' '$MNT/kperr'"
	rm "$MNT"/probes/{quick,slow}
fi
fails_with "Argument list too long" timeout 20 bash -c "echo 'uprobe:$KPROFS:* { @ = count(); }' >'$MNT/probes/many'"
check "the bound" grep -q 'has [0-9]* such functions, .* at most 512' "$MNT/kperr"

# a file of the own mount, and one of another FUSE server would be: its server could wait for this one
fails_with "Invalid cross-device link" timeout 5 bash -c "echo 'uprobe:$MNT/kpctl:main { @ = count(); }' >'$MNT/probes/own'"
check "the reason" grep -q "a file system that a user may serve" "$MNT/kperr"
check "the mount answers" timeout 5 ls "$MNT/probes"
fails_with "Permission denied" put probes/none "uprobe:/dev/null:main { @ = count(); }"

# what a program asks the server for: maps are printed and cleared once a period, and exit() is off
put probes/ask 'interval:ms:20 { @n++; print(@k); } interval:ms:50 { @k[1] = count(); } interval:ms:200 { exit(); }
END { printf("over\n"); }'
wait_for grep -q 'probe:ask: @k\[1\]: [1-9]' "$MNT/kptrace"
wait_for grep -q 'probe:ask: over$' "$MNT/kptrace"
check "exit() is off" grep -qx '# off' "$MNT/probes/ask"
check "such a program does not say what it missed" grep -q '^# [0-9]* events, missed ones not known, ' "$MNT/probes/ask"
# the same again: on, until exit() is called again
put probes/ask on
check "on, behind exit()" sh -c "! grep -qx '# off' '$MNT/probes/ask'"
wait_for grep -qx '# off' "$MNT/probes/ask"

#!/bin/bash
# SPDX-License-Identifier: MIT
# view_jit: functions that a program compiles at run time have their names in views, from the program's
# jitdump or perf map, also for a program in a mount and pid namespace of its own; a file that another
# user wrote is not used.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

JITTING=$PWD/tests/fs/jitting
serve
put kpctl "event cpu-clock:freq=999"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
put kpctl stop
chmod 755 "$WORK"
mkdir "$WORK/dumps" && chmod 1777 "$WORK/dumps"

# jit NAME COMMAND...: starts one; its pid as it sees it is in $INNER, its standard input is descriptor 7
jit() {
	local name=$1
	shift
	mkfifo "$WORK/in.$name" "$WORK/out.$name"
	"$@" <"$WORK/in.$name" >"$WORK/out.$name" &
	JIT=$!
	exec 7>"$WORK/in.$name" 8<"$WORK/out.$name"
	read -rt 60 -u 8 INNER || fail "$name does not start"
}

jit_end() {
	exec 7>&- 8<&-
	wait "$JIT"
	same "exit status" 0 $?
}

# capture: 0.4 s of the program
capture() {
	put kpctl clear
	put kpctl start
	printf x >&7
	read -rt 100 -u 8 || fail "the program gives no answer"
	put kpctl stop
	cat "$MNT/views/flat" >"$WORK/flat" || fail "views/flat can't be read"
}

# samples_of FUNCTION: of the rows of views/flat that have it
samples_of() {
	grep -F -- " $1 " "$WORK/flat" | awk '{ sum += $2 } END { print sum + 0 }'
}

# named WHAT: both functions are there, the first with more samples than the second
named() {
	local first second
	first=$(samples_of "jitted three quarters") second=$(samples_of jitted_quarter)
	echo "$1: $first and $second samples"
	check "$1: the first" test "$first" -gt 100
	check "$1: the second" test "$second" -gt 20
	check "$1: more of the first" test "$first" -gt "$second"
}

unnamed() {
	same "$1: no name" 0 "$(samples_of jitted_quarter)"
}

"$JITTING" none </dev/null >/dev/null
[ $? != 77 ] || { echo "no code for this machine"; exit 77; }

jit dump "$JITTING" dump "$WORK/dumps"
capture
named "a jitdump"
# the file grows, and what a crash left at its end is not used
printf '\0\0\0\0\377\377\377\377garbage' >>"$WORK/dumps/jit-$INNER.dump"
cat "$MNT/views/flat" >"$WORK/flat"
named "a jitdump with a bad record at its end"
if [ "$(id -u)" = 0 ]; then
	chown 12345 "$WORK/dumps/jit-$INNER.dump"
	cat "$MNT/views/flat" >"$WORK/flat"
	unnamed "a jitdump of another user"
	chown 0 "$WORK/dumps/jit-$INNER.dump"
	cat "$MNT/views/flat" >"$WORK/flat"
	named "its own again"
fi
mv "$WORK/dumps/jit-$INNER.dump" "$WORK/dumps/kept"
ln -s kept "$WORK/dumps/jit-$INNER.dump"
cat "$MNT/views/flat" >"$WORK/flat"
unnamed "a link"
rm "$WORK/dumps/jit-$INNER.dump"
mv "$WORK/dumps/kept" "$WORK/dumps/jit-$INNER.dump"
jit_end
cat "$MNT/views/flat" >"$WORK/flat"
named "a jitdump of a program that has ended"

jit map "$JITTING" map
capture
named "a perf map"
jit_end
rm -f "/tmp/perf-$INNER.map"

if [ "$(id -u)" = 0 ] && unshare -mpf true 2>/dev/null; then
	# shellcheck disable=SC2016 # expanded by the inner shell
	jit inside unshare -mpf --mount-proc --kill-child sh -c 'mount -t tmpfs none /var/tmp &&
		chmod 1777 /var/tmp && exec setpriv --reuid 12345 --clear-groups "$0" dump /var/tmp' "$JITTING"
	same "its pid there" 1 "$INNER"
	capture
	named "a jitdump in a namespace"
	jit_end
fi

serve_end

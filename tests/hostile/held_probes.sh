#!/bin/bash
# SPDX-License-Identifier: MIT
# held_probes: files of users against programs of probes/. A file whose FUSE server does not answer is refused or
# given up, and a process that holds its mmap lock is said before the kernel is asked to attach a uprobe or to
# detach it, which would wait for that process and let no process fork. Others' programs go on meanwhile.
# shellcheck source-path=SCRIPTDIR
. "${srcdir:-.}/tests/hostile/lib.sh"
. "${srcdir:-.}/tests/fs/prof_lib.sh"

HOLDER=

let_go() {
	local status=$?
	[ "$BASHPID" = "$$" ] || exit "$status"
	end_silent 2>/dev/null
	[ -z "$HOLDER" ] || kill "$HOLDER"
	(exit "$status")
	clean_up
}
trap let_go EXIT

# A process that reads its mappings waits.
is_held() {
	! timeout -s KILL 0.3 cat "/proc/$HOLDER"/task/*/maps >"$WORK/maps" 2>/dev/null
} 2>/dev/null

# hold [thread]: as hold_mmap takes it
hold() {
	begin_silent write
	"$WORK/holder" "$SILENT/file" "$@" &
	HOLDER=$!
	WAIT=10 wait_for is_held || exit 1
}

release() {
	end_silent
	kill "$HOLDER"
	wait "$HOLDER"
	HOLDER=
} 2>/dev/null

# quickly COMMAND...: without what would wait for the file, which would never end
quickly() {
	timeout -s KILL 30 "$@" || fail "it did not end well: $*"
}

said() {
	tail -n 4 "$MNT/kperr"
}

events() {
	stat_of "probes.$1.events"
}

other_works() {
	put probes/other 'syscall:getppid:entry { @ = count(); }' || fail "another program: $(said)"
	quickly "$PWD/tests/fs/kernel_calls" 0 1000 </dev/null >/dev/null
	check "another program counts" test "$(events other)" -ge 1000
	rm "$MNT/probes/other"
}

if [ "$(id -u)" != 0 ]; then
	echo "needs root"
	exit 77
fi
serve
if ! put probes/try 'BEGIN { @ = 1; }' 2>/dev/null; then
	echo "probes are not available here: $(said)"
	exit 77
fi
rm "$MNT/probes/try"
cp "$HERE/hold_mmap" "$WORK/holder"

# ---- files that do not answer
begin_silent open read
fails_with "Invalid cross-device link" timeout -s KILL 30 bash -c \
	"printf 'uprobe:%s:main { @ = count(); }\n' '$SILENT/file' >'$MNT/probes/file'"
check "the reason: $(said)" grep -q 'a file system that a user may serve' "$MNT/kperr"
other_works
put probes/cat "BEGIN { cat(\"$SILENT/file\"); } interval:ms:100 { cat(\"$SILENT/file\"); @n = count(); }"
other_works
WAIT=20 wait_for grep -q "can't be read" "$MNT/kptrace"
rm "$MNT/probes/cat"
other_works
end_silent

# a file of /proc that can't be read is given up too
hold
put probes/cat "BEGIN { cat(\"/proc/$HOLDER/maps\"); }"
other_works
is_given_up() {
	grep -q "'/proc/$HOLDER/maps' can't be read" "$MNT/kptrace"
}
WAIT=20 wait_for is_given_up
rm "$MNT/probes/cat"
release

# ---- processes that are held
put probes/before "uprobe:$WORK/holder:main { @ = count(); }" || fail "without it: $(said)"
put probes/ends "uprobe:$WORK/holder:main { @ = count(); }
	syscall:getppid:entry /comm == \"kernel_calls\"/ { exit(); }" || fail "without it: $(said)"
hold
same "the program has seen it" 1 "$(events before)"
fails_with "Device or resource busy" timeout -s KILL 30 bash -c \
	"printf 'uprobe:%s:main { @ = count(); }\n' '$WORK/holder' >'$MNT/probes/held'"
check "the reason: $(said)" grep -q "process $HOLDER keeps its memory map locked: to attach" "$MNT/kperr"
fails_with "Device or resource busy" timeout -s KILL 30 bash -c "echo off >'$MNT/probes/before'"
check "the reason: $(said)" grep -q "process $HOLDER keeps its memory map locked: to detach" "$MNT/kperr"
# it is removed, and detached later
quickly rm "$MNT/probes/before"
other_works
# one that calls exit() ends at once for itself, and is detached later: other_works has called getppid
other_works
# no process is kept from forking: this would wait
quickly bash -c 'for i in 1 2 3; do /bin/true; done'
release
same "it has ended" off "$(stat_of probes.ends.state)"
put probes/held "uprobe:$WORK/holder:main { @ = count(); }" || fail "after it: $(said)"
rm "$MNT/probes/held"
# one whose first thread has ended has no command line
hold thread
fails_with "Device or resource busy" timeout -s KILL 30 bash -c \
	"printf 'uprobe:%s:main { @ = count(); }\n' '$WORK/holder' >'$MNT/probes/held'"
check "the reason: $(said)" grep -q "process $HOLDER keeps its memory map locked: to attach" "$MNT/kperr"
release
serve_end

[ "$failures" = 0 ]

#!/bin/bash
# SPDX-License-Identifier: MIT
# held_probes: files of users against programs of probes/. A file whose FUSE server does not answer is refused or
# given up, and a process that holds its mmap lock is said before the kernel is asked to attach a uprobe, which would
# wait for that process and let no process fork; to detach one the kernel is asked later, also when the session or the
# server has ended. Others' programs go on meanwhile.
# shellcheck source-path=SCRIPTDIR
. "${srcdir:-.}/tests/hostile/lib.sh"
. "${srcdir:-.}/tests/fs/prof_lib.sh"
# shellcheck source=tests/fs/event_lib.sh
. "${srcdir:-.}/tests/fs/event_lib.sh"

HOLDER=
LINKS= # the process of the server that attaches to files

let_go() {
	local status=$?
	[ "$BASHPID" = "$$" ] || exit "$status"
	[ -z "$LINKS" ] || kill -CONT "$LINKS" 2>/dev/null
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

# ---- processes that are held

# of the server: it is not the server's child any more when that has ended. pgrep would read the held process.
find_links() {
	LINKS=$(cat /proc/[0-9]*/stat 2>/dev/null | awk -v server="$SERVER" \
		'$2 == "(kp-links)" && $4 == server { print $1 }')
	check "there is the process of the links" test -n "$LINKS"
}
links_have_ended() {
	! [ -e "/proc/$LINKS" ]
}

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

mkdir "$MNT/sessions/other"
put probes/before "uprobe:$WORK/holder:main { @ = count(); }" || fail "without it: $(said)"
put probes/off "uprobe:$WORK/holder:main { @ = count(); }" || fail "without it: $(said)"
put probes/ends "uprobe:$WORK/holder:main { @ = count(); }
	syscall:getppid:entry /comm == \"kernel_calls\"/ { exit(); }" || fail "without it: $(said)"
put sessions/other/probes/x "uprobe:$WORK/holder:main { @ = count(); }" || fail "without it: $(said)"
hold
find_links
same "the program has seen it" 1 "$(events before)"
fails_with "Device or resource busy" timeout -s KILL 30 bash -c \
	"printf 'uprobe:%s:main { @ = count(); }\n' '$WORK/holder' >'$MNT/probes/held'"
check "the reason: $(said)" grep -q "process $HOLDER keeps its memory map locked: to attach" "$MNT/kperr"
# what is turned off or removed counts no more, and is detached later
quickly bash -c "echo off >'$MNT/probes/off'"
same "it is off" off "$(stat_of probes.off.state)"
quickly rm "$MNT/probes/before"
quickly rmdir "$MNT/sessions/other"
# one that calls exit() ends at once: other_works has called getppid
other_works
same "it has ended" off "$(stat_of probes.ends.state)"
# no process is kept from forking: this would wait
quickly bash -c 'for i in 1 2 3; do /bin/true; done'
check "the links are there" test -e "/proc/$LINKS"
release
# what it was attached by before is detached some 500 ms later, and does not count
put probes/off on || fail "after it: $(said)"
same "it goes on" on "$(stat_of probes.off.state)"
"$WORK/holder" /no/such/file
same "one call, and the one before" 2 "$(events off)"
put probes/off off
wait_for links_have_ended
put probes/off on
put probes/held "uprobe:$WORK/holder:main { @ = count(); }" || fail "after it: $(said)"
rm "$MNT/probes/held"
# one whose first thread has ended has no command line
hold thread
fails_with "Device or resource busy" timeout -s KILL 30 bash -c \
	"printf 'uprobe:%s:main { @ = count(); }\n' '$WORK/holder' >'$MNT/probes/held'"
check "the reason: $(said)" grep -q "process $HOLDER keeps its memory map locked: to attach" "$MNT/kperr"

# ---- the end of the server while a process is held: no process is kept from forking
find_links
quickly umount "$MNT"
ended_well "umount" "$SERVER"
SERVER=
check "the links are there" test -e "/proc/$LINKS"
quickly bash -c 'for i in 1 2 3; do /bin/true; done'
release
wait_for links_have_ended

serve
put probes/before "uprobe:$WORK/holder:main { @ = count(); }" || fail "without it: $(said)"
hold
find_links
kill -KILL "$SERVER"
wait "$SERVER" 2>/dev/null
umount -l "$MNT"
SERVER=
quickly bash -c 'for i in 1 2 3; do /bin/true; done'
check "the links are there" test -e "/proc/$LINKS"
release
wait_for links_have_ended

# ---- the process that has the links
serve
put probes/file "uprobe:$WORK/holder:main { @ = count(); }" || fail "without it: $(said)"
put probes/other 'syscall:getppid:entry { @ = count(); }'
find_links
# it does not answer, as if the kernel waited for a process that took its lock in the last moment
kill -STOP "$LINKS"
fails_with "Device or resource busy" timeout -s KILL 60 bash -c \
	"printf 'uprobe:%s:main { @ = count(); }\n' '$WORK/holder' >'$MNT/probes/held'"
check "the reason: $(said)" grep -q 'the kernel has not attached to a file .* within 10 s' "$MNT/kperr"
quickly bash -c "echo off >'$MNT/probes/file'"
other_works
kill -CONT "$LINKS"
is_taken() {
	put probes/held "uprobe:$WORK/holder:main { @ = count(); }" 2>/dev/null
}
wait_for is_taken
"$WORK/holder" /no/such/file
same "the one that was given up does not count, this one does" 1 "$(events held)"
# an event of programs whose file is not answered for in time: attached once when the process goes on
start "$PWD/tests/fs/probes_event"
kill -STOP "$LINKS"
quickly bash -c "echo 'event:app:work { @ = count(); }' >'$MNT/probes/event'"
check "the reason: $(said)" grep -q 'the kernel has not attached to a file .* within 10 s' "$MNT/kperr"
tell 10
same "it is not attached yet" 0 "$(events event)"
kill -CONT "$LINKS"
counts() {
	tell 1
	[ "$(events event)" != 0 ]
}
wait_for counts
seen=$(events event)
tell 1000
same "each event counts once" $((seen + 1000)) "$(events event)"
rm "$MNT/probes/event"
stop
# if it is killed, programs in files are off, and others go on
is_off() {
	[ "$(stat_of probes.held.state)" = off ]
}
kill -KILL "$LINKS"
wait_for is_off
check "the reason: $(said)" grep -q 'the process kp-links has ended' "$MNT/kperr"
other_works
put probes/held on || fail "with another process: $(said)"
"$WORK/holder" /no/such/file
same "it goes on with another process" 2 "$(events held)"
find_links
serve_end
check "the process has ended before the server" links_have_ended

[ "$failures" = 0 ]

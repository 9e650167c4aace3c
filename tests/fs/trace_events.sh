#!/bin/bash
# SPDX-License-Identifier: MIT
# trace_events: When programs attach, their events appear in events/, and switches reach them. Events of
# killed programs stay, and programs attach to the next server.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

ROLES=$PWD/tests/race/roles
PLUGIN=$PWD/tests/race/.libs/plugin.so
export KPROF_SOCKET=$SOCKET

# role NUMBER ROLE [ARG]: starts it; `let_go NUMBER` makes it go on
role() {
	mkfifo "$WORK/in$1"
	eval "exec 4$1<>\"\$WORK/in$1\""
	"$ROLES" "${@:2}" <"$WORK/in$1" >"$WORK/out$1" 3<&- &
	PROGRAM=$!
}

let_go() {
	printf x >"$WORK/in$1"
}

# said NUMBER TEXT: whether its output so far is the text
said() {
	[ "$(cat "$WORK/out$1")" = "$2" ]
}

has_event() {
	[ -e "$MNT/events/$1" ]
}

has_not_event() {
	! has_event "$1"
}

stat_is() {
	[ "$(stat_of "$1")" = "$2" ]
}

# the counter changes, or has stopped changing
grows() {
	local before
	before=$(stat_of "$1")
	read -rt 0.05 <> <(:)
	[ "$(stat_of "$1")" -gt "$before" ]
}

stands_still() {
	local before
	before=$(stat_of "$1")
	read -rt 0.3 <> <(:)
	[ "$(stat_of "$1")" = "$before" ]
}

events() {
	find "$MNT/events" -maxdepth 1 -name '*:*' -printf '%f\n' | sort | tr '\n' ' '
}

# events_of PROVIDER: the same, of one provider only
events_of() {
	events | tr ' ' '\n' | grep "^$1:" | tr '\n' ' '
}

serve
same "no producer has events" "" "$(events)"
same "the fixed files" "all enabled info overflow " \
	"$(find "$MNT/events" -maxdepth 1 -type f -printf '%f\n' | sort | tr '\n' ' ')"
same "the master switch" 1 "$(cat "$MNT/events/enabled")"
same "all" 0 "$(cat "$MNT/events/all")"
same "overflow" 0 "$(cat "$MNT/events/overflow")"
same "info" "version 1" "$(cat "$MNT/events/info")"
fails_with "Permission denied" cat "$MNT/events/reset" # for every reader
fails_with "No such file" cat "$MNT/events/roles:number"
fails_with "Operation not permitted" mkdir "$MNT/events/a:b"
fails_with "Operation not permitted" rm "$MNT/events/all"
fails_with "Operation not permitted" dd if=/dev/null "of=$MNT/events/no-colon" status=none

# ---- a setting before the program comes ----------------------------------------------------------

put events/roles:number 1
same "set before it is known" 1 "$(cat "$MNT/events/roles:number")"
same "and it is listed" "roles:number " "$(events)"
put events/roles:number 0x0
same "zero in C syntax" 0 "$(cat "$MNT/events/all")"
check "is off" has_not_event roles:number
put events/roles:number 2
same "any other number is on" 1 "$(cat "$MNT/events/roles:number")"
put events/all 17
same "all" 1 "$(cat "$MNT/events/all")"
put events/all 0
put events/roles:number -1
same "a negative number is on" 1 "$(cat "$MNT/events/roles:number")"
put events/roles:number -0
check "negative zero is off" has_not_event roles:number
put events/roles:number 0x10
fails_with "Invalid argument" put events/roles:number --1
fails_with "Invalid argument" put events/reset 0
check "which says why" grep -q "reset line 1: '0': 0 forgets nothing" "$MNT/kperr"
put events/enabled 0
put events/enabled 4096
same "the master switch, on by another number" 1 "$(cat "$MNT/events/enabled")"
fails_with "Invalid argument" put events/roles:new perhaps
check "a refusal sets nothing" has_not_event roles:new

role 1 numbers 1000
numbers=$PROGRAM
wait_for said 1 r
wait_for stat_is trace.producers 1
wait_for has_event roles:types
same "its events" \
	"roles:before_main roles:counted roles:handled roles:number roles:strings roles:twice roles:types " \
	"$(events_of roles)"
same "the setting" 1 "$(cat "$MNT/events/roles:number")"
same "of the others" 0 "$(cat "$MNT/events/roles:counted")"
check "info" grep -Eq "^name 'roles:number' format '%lu %lu' id [0-9]+ enabled$" "$MNT/events/info"
check "info of another one" grep -Eq "^name 'roles:twice' format '[^']*' id [0-9]+ disabled$" \
	"$MNT/events/info"
same "mode of an event" -rw------- "$(stat -c %A "$MNT/events/roles:number")"
same "size of an event" 2 "$(stat -c %s "$MNT/events/roles:number")"
check "the refused are named" grep -q "'roles': not a provider and a name .*: roles:bad name!" "$MNT/kperr"
check "by format too" grep -q "roles:twice already exists with another format" "$MNT/kperr"
before=$(stat_of trace.written)
let_go 1
wait_for said 1 rd
same "each event is counted" $((before + 1000)) "$(stat_of trace.written)"
id=$(sed -n "s/^name 'roles:number' .* id \([0-9]*\) .*/\1/p" "$MNT/events/info")

# ---- killed: what it wrote is kept, its events' files are not ------------------------------------

kill -9 "$numbers"
wait_for stat_is trace.producers 0
same "events without producers" "" "$(events)"
same "kept" 1 "$(stat_of trace.dead_producers)"
same "counted still" $((before + 1000)) "$(stat_of trace.written)"
check "known still, by its number" grep -q "^name 'roles:number' .* id $id enabled$" "$MNT/events/info"
put events/reset 3
same "forgotten by reset" 0 "$(stat_of trace.dead_producers)"
same "so is what its events were" "version 1" "$(cat "$MNT/events/info")"
same "what was cleared is not lost" 0 "$(cat "$MNT/events/overflow")"

# ---- switches reach a program that runs ----------------------------------------------------------

role 2 forever
forever=$PROGRAM
wait_for said 2 r
wait_for has_event roles:counted
same "remembered" 1 "$(cat "$MNT/events/roles:number")"
let_go 2
wait_for stands_still trace.written # it is off
put events/roles:counted 1
wait_for grows trace.written
put events/enabled 0
wait_for stands_still trace.written
same "its own switch stays" 1 "$(cat "$MNT/events/roles:counted")"
put events/enabled 1
wait_for grows trace.written
put events/all 0
wait_for stands_still trace.written
same "all are off" 0 "$(cat "$MNT/events/roles:counted")"
put events/all 1
wait_for grows trace.written
same "all are on" 1 "$(cat "$MNT/events/roles:twice")"
same "all reads so" 1 "$(cat "$MNT/events/all")"
# it has written more than it holds
overflows() {
	[ "$(cat "$MNT/events/overflow")" -gt 0 ]
}
wait_for overflows

# ---- the server is killed; the next one finds what lives ------------------------------------------

kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null
umount -l "$MNT"
wait_for not_mounted
check "its socket is still there" test -S "$SOCKET"
serve
wait_for stat_is trace.producers 1
wait_for has_event roles:counted
wait_for stands_still trace.written # here it is off
check "what it wrote meanwhile is here" test "$(stat_of trace.written)" -gt 0
put events/roles:counted 1
wait_for grows trace.written
kill -9 "$forever"
wait_for stat_is trace.producers 0
same "kept" 1 "$(stat_of trace.dead_producers)"
put kptrace_ctl clear
same "forgotten by clear" 0 "$(stat_of trace.dead_producers)"

# ---- a library that comes and goes ---------------------------------------------------------------

role 3 dlopen "$PLUGIN"
dlopen=$PROGRAM
wait_for said 3 r
wait_for has_event plugin:method
let_go 3
wait_for said 3 rg
wait_for has_not_event plugin:method
check "the program's own are there" has_event roles:number
let_go 3
ended_well "a library 200 times" "$dlopen"
wait_for stat_is trace.producers 0
same "no producer was detached" 0 "$(stat_of trace.detached)"

# ---- a daemon: closes its descriptors before it has written anything ------------------------------

# Its three processes have attached, and the end of the last one's connection was seen; or it has
# attached again since.
is_adrift() {
	local times=$(($(stat_of trace.attached) - before))
	[ $times -ge 4 ] || { [ $times = 3 ] && stat_is trace.producers 0; }
}

put events/roles:number 1
before=$(stat_of trace.attached)
role 6 daemon
wait_for said 6 r
let_go 6
wait_for said 6 rc
wait_for is_adrift
let_go 6
wait_for said 6 rcd
same "what it writes then" 5 "$(grep -c 'roles:number: 10[0-4] ' "$MNT/kptrace")"
let_go 6
wait_for said 6 rcde
same "and then" 10 "$(grep -c 'roles:number: 10[0-9] ' "$MNT/kptrace")"
let_go 6
wait_for stat_is trace.producers 0
put kptrace_ctl clear

# ---- the example of the manual -------------------------------------------------------------------

put events/trace:line 1
before=$(stat_of trace.written)
printf 'one two\n\nthree\n' | "$PWD/examples/trace" || fail "the example"
wait_for stat_is trace.written $((before + 5)) # reading, three lines, one of them empty

# ---- another server for the same socket ----------------------------------------------------------

mkdir "$WORK/second"
"$KPROFS" -o "socket=$SOCKET" "$WORK/second" 2>"$WORK/got" || fail "a second server"
check "it names the server that listens there" \
	grep -q "another server listens at $SOCKET: pid $SERVER;" "$WORK/second/kperr"
umount "$WORK/second"
role 4 numbers 1
wait_for said 4 r
wait_for stat_is trace.producers 1
kill "$PROGRAM"
wait_for stat_is trace.producers 0

# ---- a client's descriptor, whose close waits ----------------------------------------------------

# The first close of a file on a FUSE mount sends a request to its server. This server is stopped.
"$KPROFS" -f -o socket=none "$WORK/second" 2>"$WORK/got" &
stopped=$!
wait_for is_mounted "$WORK/second"
python3 - "$SOCKET" "$WORK/second/kpstat" "$stopped" "$WORK/sent" <<'END' &
import array, os, signal, socket, struct, sys, time
path, name, pid, sent = sys.argv[1:]
fd = os.open(name, os.O_RDONLY)
os.kill(int(pid), signal.SIGSTOP)
hello = struct.pack("=IIQIIII64s", 1, 96, 0x6b70726f66736f63, 2, 1, 65536, 0, b"client")
for _ in range(6):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        s.connect(path)
        s.sendmsg([hello], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        while s.recv(100):
            pass
    except ConnectionError:
        pass  # closed before it had read all
open(sent, "w").close()
time.sleep(1000)
END
client=$!
wait_for test -e "$WORK/sent"
check "such clients are detached" test "$(stat_of trace.detached)" -ge 6
wait_for stat_is trace.producers 0
kill -CONT "$stopped"
kill "$client"
role 5 numbers 1
wait_for said 5 r
wait_for stat_is trace.producers 1
kill "$PROGRAM"
wait_for stat_is trace.producers 0
umount "$WORK/second"
wait "$stopped" || fail "the stopped server: status $?"
serve_end
check "the socket is gone" test ! -e "$SOCKET"
check "the lock is gone" test ! -e "$SOCKET.lock"

# ---- who may attach ------------------------------------------------------------------------------

if [ "$(id -u)" != 0 ]; then
	echo "not tried: other users (only root can become one)"
	exit 0
fi

# connects UID GID
connects() {
	python3 -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
os.setgroups([])
os.setgid(int(sys.argv[3]))
os.setuid(int(sys.argv[2]))
try:
    s.connect(sys.argv[1])
except PermissionError:
    sys.exit(1)' "$SOCKET" "$1" "$2"
}

does_not() {
	"$@"
	[ $? = 1 ]
}

chmod 711 "$WORK"
serve
check "everybody by default" connects 65534 65534
serve_end
serve -o attach=owner
check "no other user" does_not connects 65534 65534
check "root always" connects 0 0
serve_end
serve -o attach=owner,uid=1234
check "the tree's owner" connects 1234 65534
check "and no other user" does_not connects 65534 65534
serve_end
serve -o attach=group:1235
check "the group" connects 65534 1235
check "and no other user" does_not connects 65534 65534
serve_end

#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel_addresses: addresses of sockets that programs pass to connect, bind and sendto are readable in kptrace, in
# trace.json and in views/ctf; one that is not in memory, or has no family, is shown as a pointer.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# other tests have programs of the usual names too
NAME=addr$$
cp "$PWD/tests/fs/kernel_addresses" "$WORK/$NAME"

serve
for call in connect bind sendto; do
	put "events/kernel/syscall:$call" "1 /comm == \"$NAME\"/" 2>/dev/null && continue
	! grep "refuses the program" <(tail -n 1 "$MNT/kperr") || exit 1
	echo "kernel events are not available here:"
	tail -n 1 "$MNT/kperr"
	exit 77
done
if ! grep -q '^prog_type:' /proc/"$SERVER"/fdinfo/* 2>/dev/null; then
	echo "no programs here: tracefs has no addresses"
	exit 77
fi
same "info has their types and format" "name 'syscall:connect' fields 'int fd, struct sockaddr *uservaddr, int addrlen, long result' \
format 'fd=%ld uservaddr=%s addrlen=%ld = %ld (%.1f us)' 1" \
	"$(grep "^name 'syscall:connect' " "$MNT/events/kernel/info" | sed 's| /comm == .*/$||')"

PORT=$("$WORK/$NAME" "$WORK/bound") || fail "the program failed with $?"
PID=$(sed -n "s/.* $NAME\[\([0-9]*\)\].*/\1/p" "$MNT/kptrace" | head -n 1)

# its calls in kptrace, without times and numbers of open files; pointers are P
calls() {
	sed -n "s/^.*:cpu[0-9]*: $NAME\[[0-9]*\] syscall:\(.*\) ([0-9.]* us)$/\1/p" "$MNT/kptrace" |
		sed 's/=0x[0-9a-f]* /=P /; s/fd=[0-9][0-9]* /fd=N /'
}
BAD="= -1 EBADF (Bad file descriptor)"
SEND="sendto: fd=-1 buff=0 len=0 flags=0"
LONGEST=$(printf 'y%.0s' $(seq 126))
cat >"$WORK/expected" <<END
connect: fd=-1 uservaddr={AF_INET, 192.0.2.1:80} addrlen=16 $BAD
connect: fd=-1 uservaddr={AF_INET6, [2001:db8::1%7]:443} addrlen=28 $BAD
$SEND addr={AF_INET, 192.0.2.1:80} addr_len=16 $BAD
$SEND addr=0 addr_len=0 $BAD
connect: fd=-1 uservaddr=P addrlen=1 $BAD
connect: fd=-1 uservaddr=P addrlen=0 $BAD
connect: fd=-1 uservaddr=P addrlen=-1 $BAD
connect: fd=-1 uservaddr={AF_INET, 0x0050c00002} addrlen=7 $BAD
connect: fd=-1 uservaddr=P addrlen=16 $BAD
connect: fd=-1 uservaddr={AF_INET, 0.0.0.0:0} addrlen=8 $BAD
connect: fd=-1 uservaddr=P addrlen=16 $BAD
connect: fd=-1 uservaddr={AF_UNIX, "$LONGEST"} addrlen=200 $BAD
bind: fd=N umyaddr={AF_UNIX, "$WORK/bound"} addrlen=110 = 0
bind: fd=N umyaddr={AF_UNIX, @"name $PID"} addrlen=$((8 + ${#PID})) = 0
bind: fd=N umyaddr={AF_INET, 127.0.0.1:0} addrlen=16 = 0
connect: fd=N uservaddr={AF_INET, 127.0.0.1:$PORT} addrlen=16 = -1 ECONNREFUSED (Connection refused)
END
same "the calls in kptrace" "$(cat "$WORK/expected")" "$(calls)"

if command -v python3 >/dev/null; then
	cat "$MNT/views/trace.json" >"$WORK/json"
	python3 "${srcdir:-.}/tests/fs/tracejson.py" "$WORK/json" >"$WORK/found" || fail "trace.json"
	python3 -c 'import json, sys
for event in json.load(open(sys.argv[1]))["traceEvents"]:
    if "uservaddr={AF_INET6, [2001:db8::1%7]:443} addrlen=28" in json.dumps(event):
        print(event["ph"], event["name"])' "$WORK/json" >"$WORK/spans"
	same "it is in trace.json" "X syscall:connect" "$(cat "$WORK/spans")"
fi
if command -v babeltrace2 >/dev/null; then
	babeltrace2 "$MNT/views/ctf" >"$WORK/ctf" || fail "babeltrace2: status $?"
	check "it is a field in views/ctf" \
		grep -qF 'fd = -1, uservaddr = "{AF_INET6, [2001:db8::1%7]:443}", addrlen = 28,' "$WORK/ctf"
fi

# a filter compares the pointer, and the other arguments
put kptrace_ctl clear
put events/kernel/syscall:connect 0
put events/kernel/syscall:bind 0
put events/kernel/syscall:sendto "1 /comm == \"$NAME\" && addr != 0/"
rm "$WORK/bound"
"$WORK/$NAME" "$WORK/bound" >/dev/null || fail "the program failed with $?"
same "a filter" "$SEND addr={AF_INET, 192.0.2.1:80} addr_len=16 $BAD" "$(calls)"
serve_end

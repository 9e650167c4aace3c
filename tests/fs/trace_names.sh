#!/bin/bash
# SPDX-License-Identifier: MIT
# trace_names: kprof trace and views/trace.json show the functions of the addresses of kprof_backtrace, at the
# distance from their start that nm gives, while the program runs; kptrace and --addresses have the addresses
# alone. If samples were taken of the program, both show the functions also after its end.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }
command -v nm >/dev/null || { echo "nm is missing"; exit 77; }
KPROF=$PWD/kprof
BACKTRACING=$WORK/backtracing
cp "$PWD/tests/fs/backtracing" "$BACKTRACING"
export KPROF_SOCKET=$SOCKET

# in_view WHAT: trace.json has the lines in $WORK/named
in_view() {
	timeout 60 cat "$MNT/views/trace.json" >"$WORK/json" || fail "views/trace.json"
	python3 "${srcdir:-.}/tests/fs/tracejson.py" "$WORK/json" >"$WORK/found" || fail "trace.json"
	same "$1" "$(cat "$WORK/named")" "$(sed -n 's/^mark //p' "$WORK/found")"
}

serve
mkfifo "$WORK/in" "$WORK/out"
"$BACKTRACING" <"$WORK/in" >"$WORK/out" &
program=$!
exec 7>"$WORK/in" 8<"$WORK/out"
read -rt 60 -u 8 pid || fail "the program does not start"

has_stack() {
	cat "$MNT/kptrace" >"$WORK/raw"
	[ "$(grep -c ':   0x' "$WORK/raw")" -ge 2 ]
}
wait_for has_stack
check "the text of the event" grep -q "backtracing\[$pid\]: value 42\$" "$WORK/raw"
same "kptrace has no name" "" "$(grep inner "$WORK/raw")"

"$KPROF" trace --mount "$MNT" --addresses >"$WORK/addresses" || fail "kprof trace --addresses"
check "--addresses prints kptrace" cmp -s "$WORK/raw" "$WORK/addresses"

timeout 60 "$KPROF" trace --mount "$MNT" >"$WORK/named" || fail "kprof trace"
same "without the names it is the same text" "$(cat "$WORK/raw")" \
	"$(sed 's/\(:   0x[0-9a-f]*\) .*/\1/' "$WORK/named")"

# expected NUMBER FUNCTION: the NUMBER-th line of the stack, from nm and the address in kptrace
expected() {
	local address start
	address=$(sed -n 's/.*:   \(0x[0-9a-f]*\)$/\1/p' "$WORK/raw" | sed -n "$1p")
	start=$(nm "$BACKTRACING" | awk -v name="$2" '$3 == name { print "0x" $1 }')
	same "line $1" "$(printf '%s %s+0x%x (%s)' "$address" "$2" $((address - start)) "$BACKTRACING")" \
		"$(sed -n 's/.*:   \(0x.*\)/\1/p' "$WORK/named" | sed -n "$1p")"
}
stack=$(sed -n 's/.*:   0x[0-9a-f]* \([a-z_]*\)+0x.*/\1/p' "$WORK/named" | head -n 3 | paste -sd ' ')
case $stack in
"inner outer main") first=1 ;;
"outer main"*) first=0 ;; # the innermost caller is that of inner()
*) fail "the stack is '$stack'" first=0 ;;
esac
[ "$first" = 0 ] || expected 1 inner
expected $((first + 1)) outer
expected $((first + 2)) main

in_view "trace.json without samples"

# has_sample: the program continues once, and so it is sampled
has_sample() {
	put kpctl start
	echo >&7
	put kpctl stop
	grep -q backtracing "$MNT/views/flat" 2>/dev/null
}

put kpctl "event context-switches:period=1"
sampled=
if put kpctl start 2>/dev/null; then
	sampled=1
	wait_for has_sample
	in_view "trace.json of a capture"
	cp "$WORK/named" "$WORK/before"
fi

exec 7>&- 8<&-
wait "$program"
# unknown_now WHAT: kprof trace has no names
unknown_now() {
	timeout 60 "$KPROF" trace --mount "$MNT" >"$WORK/named" || fail "kprof trace"
	same "$1" "$(grep -c ':   0x' "$MNT/kptrace")" \
		"$(grep -c ':   0x[0-9a-f]* \[unknown\]$' "$WORK/named")"
}
if [ -z "$sampled" ]; then
	unknown_now "a program that has ended"
else
	timeout 60 "$KPROF" trace --mount "$MNT" >"$WORK/named" || fail "kprof trace"
	same "names of a program that has ended are those of its capture" "$(cat "$WORK/before")" \
		"$(head -n "$(wc -l <"$WORK/before")" "$WORK/named")"
	check "all addresses have names" [ "$(grep -c '\[unknown\]$' "$WORK/named")" = 0 ]
	cp "$WORK/before" "$WORK/named"
	in_view "trace.json of a capture, of a program that has ended"
	put kpctl clear
	unknown_now "a program that has ended, without its capture"
fi
timeout 60 "$KPROF" trace --mount "$MNT" >"$WORK/named"
in_view "trace.json without the program"
serve_end

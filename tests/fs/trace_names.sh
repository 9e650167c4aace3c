#!/bin/bash
# SPDX-License-Identifier: MIT
# trace_names: kprof trace shows the functions of the addresses of kprof_backtrace, at the distance from
# their start that nm gives, while the program runs; kptrace and --addresses have the addresses alone.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

command -v nm >/dev/null || { echo "nm is missing"; exit 77; }
KPROF=$PWD/kprof
BACKTRACING=$WORK/backtracing
cp "$PWD/tests/fs/backtracing" "$BACKTRACING"
export KPROF_SOCKET=$SOCKET

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

exec 7>&- 8<&-
wait "$program"
timeout 60 "$KPROF" trace --mount "$MNT" >"$WORK/named" || fail "kprof trace"
same "a program that has ended" "$(grep -c ':   0x' "$WORK/raw")" \
	"$(grep -c ':   0x[0-9a-f]* \[unknown\]$' "$WORK/named")"
serve_end

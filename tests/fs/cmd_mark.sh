#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_mark: kprof mark of any user puts a message into the trace. It refuses messages that are too long, too
# many or of several lines, and fails if the server is missing, does not answer, or is another user's.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

KPROF=$PWD/kprof
export KPROF_SOCKET=$SOCKET

# answered COMMAND...: its output goes to files. While a server runs, it is repeated when the server did
# not answer in time, which a busy machine may cause; the server may take such a message nevertheless.
repeated=0
answered() {
	local status end=$((SECONDS + 60))
	while :; do
		"$@" >"$WORK/out" 2>"$WORK/said"
		status=$?
		[ -n "$SERVER" ] && grep -q "did not answer within" "$WORK/said" && [ "$SECONDS" -lt "$end" ] ||
			return $status
		repeated=$((repeated + 1))
	done
}

# mark STATUS ARGUMENTS...
mark() {
	local expected=$1 status
	shift
	answered "$KPROF" mark "$@"
	status=$?
	[ "$status" = "$expected" ] || fail "kprof mark $*: status $status: $(cat "$WORK/said")"
}

said() {
	grep -qF -- "$1" "$WORK/said" || fail "'$1' was to be said: $(cat "$WORK/said")"
}

# the messages without time, CPU and pid; one that was repeated once
messages() {
	sed 's/^\[[0-9.]*\]:cpu[0-9]*: kprof\[[0-9]*\]: //' "$MNT/kptrace" | uniq
}

mark 1 without a server
said "no server listens at $SOCKET"

serve
written=$(stat_of trace.written)
mark 0 the second phase begins
mark 0 -- '-1 %s' $'a\033tab\tand more'
same "the messages" 'the second phase begins
-1 %s a\x1btab	and more' "$(messages)"
same "nothing is said" "" "$(cat "$WORK/said" "$WORK/out")"
counted=$(($(stat_of trace.written) - written))
[ "$counted" -ge 2 ] && [ "$counted" -le $((2 + repeated)) ] ||
	fail "2 messages, $repeated of them repeated: $counted are counted"
same "they are the size of kptrace" "$(stat -c %s "$MNT/kptrace")" "$(stat_of trace.bytes)"

mark 2
said "no TEXT given"
mark 1 ''
said "one line, not empty"
mark 1 $'two\nlines'
said "one line"
long=$(printf 'l%.0s' {1..513})
mark 1 "$long"
said "longer than 512 bytes"
mark 0 "${long%l}"
same "the longest one" "${long%l}" "$(messages | tail -n 1)"
mark 0 -s "$SOCKET" by its path
same "none was refused by the limit" 0 "$(stat_of trace.marks_refused)"

# another user, who has no access to the mount: 32 at once, and then one a second
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && cp "$KPROF" "$WORK/kprof-other" 2>/dev/null; then
	chmod 755 "$WORK" "$WORK/kprof-other"
	as_other() {
		setpriv --reuid=65534 --regid=65534 --clear-groups env KPROF_SOCKET="$SOCKET" "$@"
	}
	answered as_other "$WORK/kprof-other" mark of another user || fail "another user's message"
	same "another user's message" "of another user" "$(messages | tail -n 1)"
	# shellcheck disable=SC2016
	as_other bash -c 'for ((i = 0; i < 10000; i++)); do
			said=$("$0" mark "$i" 2>&1) || case $said in
			*"too many messages"*) exit 0 ;;
			*"did not answer within"*) ;;
			*) echo "$said"; exit 1 ;;
			esac
		done
		echo "10,000 messages of a user are taken"
		exit 1' "$WORK/kprof-other" || fail "the limit of a user is not reached"
	check "a refused message is counted" [ "$(stat_of trace.marks_refused)" -ge 1 ]
	for _ in {1..40}; do mark 0 root is not limited; done
	same "root's message" "root is not limited" "$(messages | tail -n 1)"
else
	echo "left out: another user"
fi
serve_end

# servers that are no server: one that never answers, and one that closes
if command -v python3 >/dev/null; then
	cat >"$WORK/mute.py" <<'END'
import os, socket, sys
listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listening.bind(sys.argv[1])
listening.listen()
print("listens", flush=True)
for kind in "mute", "closing":
    connection, _ = listening.accept()
    if kind == "mute":
        while connection.recv(1000):
            pass
    connection.recv(1000)
    connection.close()
END
	mkfifo "$WORK/listens"
	python3 "$WORK/mute.py" "$WORK/mute" >"$WORK/listens" &
	mute=$!
	read -r _ <"$WORK/listens"
	mark 1 -s "$WORK/mute" text
	said "did not answer within 2 s: it is older than this command, or overloaded"
	mark 1 -s "$WORK/mute" text
	said "closed the connection"
	wait "$mute" || fail "the test's own server"
fi

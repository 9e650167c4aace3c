#!/bin/bash
# SPDX-License-Identifier: MIT
# foreign_descriptor: a program sends, as its memory, a file of a FUSE server that does not answer. Others
# attach meanwhile as ever, SIGTERM ends the server, and so does SIGKILL, which frees mount and socket;
# the next server starts at once.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

HERE=$PWD/tests/hostile
SILENT=$WORK/silent
SILENT_SERVER=

# Whatever waits for its answer goes on when it is gone.
end_silent() {
	[ -n "$SILENT_SERVER" ] || return
	kill -9 "$SILENT_SERVER"
	wait "$SILENT_SERVER" 2>/dev/null
	SILENT_SERVER=
	umount -l "$SILENT" || fusermount3 -uz "$SILENT"
}
trap 'status=$?; end_silent 2>/dev/null; (exit $status); clean_up' EXIT

begin_silent() {
	mkdir -p "$SILENT"
	"$HERE/silent_fuse" "$SILENT" "$@" &
	SILENT_SERVER=$!
	wait_for is_mounted "$SILENT"
}

# below WHAT LIMIT MS
below() {
	echo "$1: $3 ms"
	[ "${3%.*}" -lt "$2" ] || fail "$1: $3 ms"
}

has_sent() {
	grep -q sent "$WORK/sent"
}

# attack COUNT [behind]: the attacker is another user if we may choose
attack() {
	local as=()
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chmod 755 "$WORK"
	mkfifo "$WORK/stdin"
	: >"$WORK/sent"
	"${as[@]}" "$HERE/send_descriptor" "$SOCKET" "$SILENT/file" "$@" <"$WORK/stdin" >"$WORK/sent" &
	ATTACKER=$!
	exec {hold}>"$WORK/stdin"
	wait_for has_sent
}

end_attack() {
	exec {hold}>&-
	kill -9 "$ATTACKER" # it waits for its own file, in vain
	wait "$ATTACKER" 2>/dev/null
	rm "$WORK/stdin"
}

# what is left of a server that was killed
is_free() {
	# shellcheck disable=SC2319
	! ls "$MNT" >/dev/null 2>&1
}

kill_server() {
	kill -9 "$SERVER"
	wait_for has_ended "$SERVER"
	wait "$SERVER" 2>/dev/null
	wait_for is_free
	SERVER=
}

# Ordinary times are 1 to 50 ms; a second is what an administrator waits for, and what a server that hangs
# never comes near.
for signal in TERM KILL; do
	for how in "1" "12" "12 behind"; do
		begin_silent flush release
		serve
		# shellcheck disable=SC2086 # two words
		attack $how
		below "$how descriptors, then an attach" 1000 "$("$HERE/attach_time" "$SOCKET" 10)"
		if [ "$signal" = TERM ]; then
			begin=${EPOCHREALTIME/./}
			serve_end
			below "the end by SIGTERM" 1000 $(((${EPOCHREALTIME/./} - begin) / 1000))
		else
			begin=${EPOCHREALTIME/./}
			kill_server
			below "the end by SIGKILL" 1000 $(((${EPOCHREALTIME/./} - begin) / 1000))
			umount -l "$MNT"
		fi
		serve
		"$HERE/attach_time" "$SOCKET" >/dev/null || fail "no producer attaches to the next server"
		serve_end
		end_silent
		end_attack
	done
done

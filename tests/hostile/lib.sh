# SPDX-License-Identifier: MIT
# lib.sh: functions for tests in which a program attacks the server, without libkprof.
#
# Sourced, in place of tests/fs/lib.sh, which it sources.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

HERE=$PWD/tests/hostile
SILENT=$WORK/silent
SILENT_SERVER=
ATTACKER=

# ---- a FUSE server that does not answer

# Each process that waits for its reply continues when the server has ended.
end_silent() {
	[ -n "$SILENT_SERVER" ] || return
	kill -9 "$SILENT_SERVER"
	wait "$SILENT_SERVER" 2>/dev/null
	SILENT_SERVER=
	umount -l "$SILENT" || fusermount3 -uz "$SILENT"
}
trap 'status=$?; kill_attacker; end_silent 2>/dev/null; (exit $status); clean_up' EXIT

# begin_silent WORD...: as silent_fuse takes them
begin_silent() {
	mkdir -p "$SILENT"
	"$HERE/silent_fuse" "$SILENT" "$@" &
	SILENT_SERVER=$!
	wait_for is_mounted "$SILENT"
}

# ---- an attacker

has_said() {
	grep -q "$1" "$WORK/sent"
}

# attack PROGRAM WORD...: in the background, in a process group of its own, as another user if we may
# choose; it writes to $WORK/sent, and reads what is written to $hold
attack() {
	local as=() program=$1
	shift
	[ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chmod 755 "$WORK"
	mkfifo "$WORK/stdin"
	: >"$WORK/sent"
	setsid "${as[@]}" "$HERE/$program" "$@" <"$WORK/stdin" >"$WORK/sent" &
	ATTACKER=$!
	exec {hold}>"$WORK/stdin"
}

# The end of its input may not end it: it may wait for a file that does not answer.
kill_attacker() {
	[ -z "$ATTACKER" ] || kill -9 -- "-$ATTACKER"
}

end_attack() {
	kill_attacker
	exec {hold}>&-
	wait "$ATTACKER" 2>/dev/null
	ATTACKER=
	rm "$WORK/stdin"
}

# ---- the end of the server

# what is left of a server that was killed
is_free() {
	# shellcheck disable=SC2319
	not_mounted || ! ls "$MNT" >/dev/null 2>&1
}

# All threads of the server; the first may have ended long before one that waits in the kernel.
is_over() {
	has_ended "$SERVER" && [ "$(ls "/proc/$SERVER/task" 2>/dev/null | wc -l)" -le 1 ]
}

# end_server SIGNAL: its process and its mount end, and the next server starts. A server that waits for the
# file that does not answer never ends by itself.
end_server() {
	local begin=${EPOCHREALTIME/./}
	kill "-$1" "$SERVER"
	kill -CONT "$SERVER" 2>/dev/null
	wait_for is_over || end_silent
	wait "$SERVER" 2>/dev/null
	wait_for is_free
	SERVER=
	echo "the end by SIG$1: $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
	if [ "$1" = TERM ]; then
		check "the mount is gone" not_mounted
	else
		umount -l "$MNT"
	fi
	serve
	"$HERE/attach_time" "$SOCKET" >/dev/null || fail "no producer attaches to the next server"
	serve_end
}

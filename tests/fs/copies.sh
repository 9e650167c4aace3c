#!/bin/bash
# SPDX-License-Identifier: MIT
# copies: while the profiler is stopped, programs that copy or search the whole tree come to an end, and
# have all of each file; a pager follows kptrace_pipe, and an editor writes kpctl back.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# without_clock FILE: a copy of kpdata without its CLOCK record, which has the time of the open
without_clock() {
	tail -c +100 "$1"
}

# check_copy WHAT FOLDER: the copy of the tree has what the files have
check_copy() {
	same "kpdata of $1" "$(without_clock "$WORK/kpdata" | cksum)" "$(without_clock "$2/kpdata" | cksum)"
	same "kptrace of $1" "$(cat "$MNT/kptrace")" "$(cat "$2/kptrace")"
	same "kpctl of $1" "$(cat "$MNT/kpctl")" "$(cat "$2/kpctl")"
	check "views/flat of $1" grep -q '^#' "$2/views/flat"
	check "cpu/0 of $1" test -s "$2/cpu/0/stat"
}

# complaints COMMAND...: what it says, but for events/reset, which can't be read; its status: 124 where it
# did not end
complaints() {
	timeout 300 "$@" >"$WORK/out" 2>"$WORK/said"
	[ $? != 124 ] || echo "did not end"
	grep -v 'events/reset.*Permission denied' "$WORK/said" | grep -v '^tar: Exiting with failure status' |
		grep -v '^rsync error: some files'
}

serve
put kptrace "a message of its own"
exec 3>"$MNT/kpdata"
for ((i = 0; i < 3000; i++)); do
	printf '0xffffffff8%07x' "$i" >&3 || fail "an address"
done
exec 3>&-

# ---- reading -------------------------------------------------------------------------------------

cat "$MNT/kpdata" >"$WORK/kpdata"
size=$(stat -c %s "$MNT/kpdata")
check "kpdata is longer than a record of tar" test "$size" -gt 40960
for bytes in 1 7 1001 10240 65536; do
	same "reads of $bytes bytes are full but the last" \
		"$((size / bytes))+$((size % bytes ? 1 : 0)) records in" \
		"$(dd if="$MNT/kpdata" of="$WORK/dd" bs="$bytes" 2>&1 | head -n 1)"
	same "what they read" "$(without_clock "$WORK/kpdata" | cksum)" "$(without_clock "$WORK/dd" | cksum)"
done

# ---- programs that walk the tree -----------------------------------------------------------------

for name in kptrace_pipe cpu/0/trace_pipe; do
	check "$name is there" test -f "$MNT/$name"
	same "$name is listed" "" "$(find "$MNT" -path "$MNT/$name")"
done

same "what cp says" "" "$(complaints cp -r "$MNT" "$WORK/cp")"
check_copy cp "$WORK/cp"
same "what tar says" "" "$(complaints tar -cf "$WORK/tree.tar" -C "$MNT" .)"
mkdir "$WORK/tar"
tar -xf "$WORK/tree.tar" -C "$WORK/tar"
check_copy tar "$WORK/tar"
if command -v rsync >/dev/null; then
	same "what rsync says" "" "$(complaints rsync -a "$MNT/" "$WORK/rsync")"
	check_copy rsync "$WORK/rsync"
fi
same "what grep says" "" "$(complaints grep -rl "a message of its own" "$MNT")"
check "grep finds the message" grep -qx "$MNT/kptrace" "$WORK/out"
same "what find says" "" "$(complaints find "$MNT" -type f -exec cat {} +)"
check "find shows the message" grep -aq "a message of its own" "$WORK/out"

# ---- on a terminal -------------------------------------------------------------------------------

# terminal NAME COMMAND: a terminal of its own in which the command runs
terminal() {
	TERMINAL="tmux -L kprofs-$$-$1 -f /dev/null"
	$TERMINAL new-session -d "$2" || fail "tmux new-session"
}

# shows TEXT: the terminal shows it
shows() {
	$TERMINAL capture-pane -p 2>/dev/null | grep -q "$1"
}

has_waiting_read() {
	[ "$(stat_of fs.waiting_reads)" = 1 ]
}

stack_is() {
	grep -qx "$1" "$MNT/kpctl"
}

if command -v tmux >/dev/null && command -v less >/dev/null; then
	terminal less "less +F $MNT/kptrace_pipe"
	wait_for has_waiting_read
	put kptrace "the first line"
	wait_for shows "the first line"
	put kptrace "the second line"
	wait_for shows "the second line"
	$TERMINAL kill-server
fi

if command -v tmux >/dev/null && command -v vim >/dev/null; then
	terminal vim "vim -u NONE -n $MNT/kpctl"
	wait_for shows '^stack both'
	$TERMINAL send-keys ":%s/^stack .*/stack kernel 7/" Enter
	wait_for shows '^stack kernel 7'
	$TERMINAL send-keys ":w" Enter
	wait_for stack_is "stack kernel 7"
	wait_for shows written
	$TERMINAL send-keys ":%s/^stack .*/stack user 9/" Enter ":w" Enter # again: it knows its own time
	wait_for stack_is "stack user 9"
	$TERMINAL kill-server
fi

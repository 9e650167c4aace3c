#!/bin/bash
# SPDX-License-Identifier: MIT
# copies: While the profiler is stopped, programs that copy or search the whole tree end and get all of each
# file. A pager follows kptrace_pipe, and an editor writes kpctl.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# without_clock FILE: a copy of kpdata without its CLOCK record, which has the time of the open
without_clock() {
	tail -c +100 "$1"
}

# files_of FOLDER TEST...: the names of its files
files_of() {
	(cd "$1" && find . -type f "${@:2}" | sort)
}

# check_copy WHAT FOLDER: the copy of the tree has what the files have
check_copy() {
	same "kpdata of $1" "$(without_clock "$WORK/kpdata" | cksum)" "$(without_clock "$2/kpdata" | cksum)"
	same "kptrace of $1" "$(cat "$MNT/kptrace")" "$(cat "$2/kptrace")"
	same "kpctl of $1" "$(cat "$MNT/kpctl")" "$(cat "$2/kpctl")"
	check "views/flat of $1" grep -q '^#' "$2/views/flat"
	check "cpu/0 of $1" test -s "$2/cpu/0/stat"
	# events of the kernel too: some thousand files where the kernel has them
	same "the files of $1" "$(files_of "$MNT")" "$(files_of "$2")"
}

# complaints COMMAND...: its messages, and its status if that is not 0
complaints() {
	timeout 300 "$@" >"$WORK/out" 2>"$WORK/said" || echo "status $?"
	cat "$WORK/said"
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

# what waits, and what can't be read
for name in kptrace_pipe cpu/0/trace_pipe events/reset; do
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

# ---- tail ----------------------------------------------------------------------------------------

# tail is decided by its name: that of a link to busybox too
tail_begin() { # NAME COMMAND...
	"${@:2}" "$MNT/kptrace_pipe" >"$WORK/$1" 2>"$WORK/$1.said" &
	tails[$1]=$!
}
declare -A tails

# what was written before its first read is not shown
tail_shows() {
	put kptrace "$2"
	grep -q " $2\$" "$WORK/$1"
}

from_line() {
	awk -v line="$1" '$0 == line { begun = 1 } begun'
}

tail_begin tail tail -f
tail_begin tail_all tail -n +1 -f
if busybox tail </dev/null 2>/dev/null; then
	mkdir "$WORK/bin"
	ln -s "$(command -v busybox)" "$WORK/bin/tail"
	tail_begin tail_busybox "$WORK/bin/tail" -f
fi
for name in "${!tails[@]}"; do
	wait_for tail_shows "$name" "the first of $name"
done
put kptrace "a line of all"
for name in "${!tails[@]}"; do
	wait_for grep -q "a line of all" "$WORK/$name"
	same "the lines of $name" "$(from_line "$(head -n 1 "$WORK/$name")" <"$MNT/kptrace")" "$(cat "$WORK/$name")"
	kill "${tails[$name]}"
done
same "the end without -f" "" "$(timeout 30 tail -n 3 "$MNT/kptrace_pipe" || echo "status $?")"

# ---- on a terminal -------------------------------------------------------------------------------

command -v tmux >/dev/null || { echo "left out: no tmux"; exit; }
TUI_WORK=$WORK
# shellcheck source=tests/fs/tui_lib.sh
. "${srcdir:-.}/tests/fs/tui_lib.sh"
trap 'status=$?; tui_end; (exit $status); clean_up' EXIT

has_waiting_read() {
	[ "$(stat_of fs.waiting_reads)" = 1 ]
}

stack_is() {
	grep -qx "$1" "$MNT/kpctl"
}

# without the settings and the history of the user
if command -v less >/dev/null; then
	tui_run 80 24 "env -u LESS -u LESSOPEN LESSHISTFILE=- less +F $MNT/kptrace_pipe"
	wait_for has_waiting_read
	put kptrace "the first line"
	shows "less follows" "the first line"
	put kptrace "the second line"
	shows "less follows on" "the second line"
	tui_end
fi

if command -v vim >/dev/null; then
	tui_run 80 24 "vim -u NONE -i NONE -n $MNT/kpctl"
	shows "vim has read kpctl" '^stack both'
	keys ":%s/^stack .*/stack kernel 7/" Enter
	shows "vim has changed it" '^stack kernel 7'
	keys ":w" Enter
	wait_for stack_is "stack kernel 7"
	shows "vim has written it" written
	keys ":%s/^stack .*/stack user 9/" Enter ":w" Enter # again: it knows its own time
	wait_for stack_is "stack user 9"
	tui_end
	if put kpctl "event cpu-clock:freq=99" && put kpctl start; then
		tui_run 80 24 "vim -u NONE -i NONE -n $MNT/kpctl"
		shows "vim has read kpctl" '^start'
		keys ":w" Enter
		shows "vim writes what is set while the profiler runs" written
		keys ":%s/^stack .*/stack kernel 7/" Enter ":w" Enter
		shows "but no change" "E514"
		check "kperr says why" grep -q "'stack kernel 7': not while the profiler runs: stop it first" "$MNT/kperr"
		same "the setting" "stack user 9" "$(grep '^stack' "$MNT/kpctl")"
		put kpctl stop
		tui_end
	fi
fi

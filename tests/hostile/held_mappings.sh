#!/bin/bash
# SPDX-License-Identifier: MIT
# held_mappings: processes that hold their mmap lock in the kernel, which any user who may mount FUSE can
# start. A read of their /proc/PID/maps waits until the FUSE server answers.
#
# With one and with eight of them start, stop, a view, umount and SIGTERM take their normal time and at
# most a second; the processes are counted (tasks.unreadable), and their mappings are in the stream once
# they can be read.
# shellcheck source-path=SCRIPTDIR
. "${srcdir:-.}/tests/fs/lib.sh"
. "${srcdir:-.}/tests/fs/prof_lib.sh"

HOSTILE=$PWD/tests/hostile
servers=() folders=() pids=()

# ms COMMAND...: how long it took; more than LIMIT (5000) is a failure. The bound of the issue is a second;
# the rest is for a machine that does other things.
ms() {
	local begin=${EPOCHREALTIME/./} took
	timeout -s KILL 60 "$@" || fail "$* ended with status $?"
	took=$(((${EPOCHREALTIME/./} - begin) / 1000))
	echo "$took ms: $*"
	[ "$took" -le "${LIMIT:-5000}" ] || fail "it took $took ms: $*"
}

# word WORD: to kpctl
word() {
	ms sh -c "echo '$1' >'$MNT/kpctl'"
}

# hold COUNT: so many processes that can't be read
hold() {
	local i files=()
	for ((i = 0; i < $1; i++)); do
		mkdir -p "$WORK/silent$i"
		"$HOSTILE/silent_fuse" "$WORK/silent$i" write &
		servers+=($!)
		folders+=("$WORK/silent$i")
		files+=("$WORK/silent$i/file")
	done
	for i in "${folders[@]}"; do
		wait_for is_mounted "$i" || exit 1
	done
	for ((i = 0; i < $1; i++)); do
		cp "$HOSTILE/hold_mmap" "$WORK/holder$i"
		"$WORK/holder$i" "${files[i]}" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		WAIT=10 wait_for is_held "$i" || exit 1
	done
	rm "$WORK"/holder*
}

# A process that reads its mappings waits.
is_held() {
	! timeout -s KILL 0.3 cat "/proc/$1/maps" >"$WORK/maps" 2>/dev/null
} 2>/dev/null

# The servers end, and with them what the kernel waits for.
release() {
	local i
	for i in "${servers[@]}"; do
		kill -KILL "$i"
		wait "$i"
	done 2>/dev/null
	for i in "${folders[@]}"; do
		umount -l "$i" 2>/dev/null
	done
	servers=() folders=()
}

let_go() {
	local i
	release
	for i in "${pids[@]}"; do
		kill "$i"
		wait "$i"
	done 2>/dev/null
	pids=()
}

end_all() {
	local status=$?
	[ "$BASHPID" = "$$" ] || exit "$status"
	let_go
	(exit "$status")
	clean_up
}
trap end_all EXIT

is_told() {
	[ "$(stat_of tasks.unreadable.waiting)" = 0 ]
}

# attack COUNT
attack() {
	hold "$1"
	serve
	word 'event cpu-clock'
	word start
	check "those that can't be read are counted" test "$(stat_of tasks.unreadable)" -ge "$1"
	check "they are to be asked about again" test "$(stat_of tasks.unreadable.waiting)" -ge "$1"
	for i in {1..20}; do
		ls -lR /etc >"$WORK/ls" 2>&1
	done
	word flush
	ms sh -c "cat '$MNT/views/flat' >'$WORK/flat'"
	word stop
	word start
	timeout 2 cat "$MNT/kpdata" >"$WORK/held"
	"$KPROF" dump "$WORK/held" >"$WORK/text"
	check "a process that can be read has its mappings" \
		grep -q " mmap .*pid=$$ .*bash" "$WORK/text"
	check "one that can't be read has its name" grep -q " comm .*pid=${pids[0]} .*holder0" "$WORK/text"
	ms umount "$MNT"
	ended_well "umount" "$SERVER"
	SERVER=

	serve
	word start
	kill -TERM "$SERVER"
	begin=${EPOCHREALTIME/./}
	ended_well "SIGTERM" "$SERVER"
	echo "$(((${EPOCHREALTIME/./} - begin) / 1000)) ms: SIGTERM"
	SERVER=

	# while a start is under way
	serve
	echo start >"$MNT/kpctl" 2>/dev/null &
	writer=$!
	kill -TERM "$SERVER"
	begin=${EPOCHREALTIME/./}
	ended_well "SIGTERM in a start" "$SERVER"
	echo "$(((${EPOCHREALTIME/./} - begin) / 1000)) ms: SIGTERM in a start"
	SERVER=
	# not $! here: each pause of wait_for is a background process too
	wait_for has_ended "$writer"

	serve
	word start
	release
	wait_for is_told
	word stop
	copy_to "$WORK/after"
	"$KPROF" dump "$WORK/after" >"$WORK/text"
	check "its mappings are in the stream when it can be read" grep -q " mmap .*pid=${pids[0]} .*libc" "$WORK/text"
	check "no helper is left" test "$(stat_of tasks.helpers.hung)" = 0
	serve_end
	let_go
}

# view COUNT: names are requested for programs whose processes were sampled before they became unreadable,
# and whose files are deleted and only mapped
view() {
	serve
	word 'event cpu-clock'
	word start
	hold "$1"
	word stop
	ms sh -c "cat '$MNT/views/flat' >'$WORK/flat'"
	check "they were sampled" grep -q 'holder0' "$WORK/flat"
	check "the names of others are there" grep -q 'libc' "$WORK/flat"
	ms sh -c "cat '$MNT/views/folded' >'$WORK/folded'"
	let_go
	serve_end
}

if [ "$(id -u)" != 0 ]; then
	echo "needs root"
	exit 77
fi
serve
need_machine
serve_end
# ask: a user stack of such a process was counted by a program of probes/; its answer has no names, but soon
ask() {
	serve
	if ! put probes/held 'syscall:mmap:entry /comm == "holder0"/ { @[ustack(3)] = count(); }' 2>/dev/null; then
		echo "probes are not available here"
		serve_end
		return
	fi
	hold 1
	ms sh -c "cat '$MNT/probes/held' >'$WORK/answer'"
	check "its stacks were counted" grep -q '^@\[' "$WORK/answer"
	let_go
	serve_end
}

attack 1
attack 8
ask
view 8

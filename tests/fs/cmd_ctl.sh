#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_ctl: kprof ctl writes the same words as echo and prints the reason if a word is refused. kprof record
# tells an ordinary user which permissions are missing for the whole machine.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

KPROF=$PWD/kprof

# ctl STATUS ARGUMENTS...
ctl() {
	local expected=$1 status
	shift
	"$KPROF" ctl "$@" >"$WORK/out" 2>"$WORK/said"
	status=$?
	[ "$status" = "$expected" ] || fail "kprof ctl $*: status $status: $(cat "$WORK/said")"
}

said() {
	grep -qE -- "$1" "$WORK/said" || fail "'$1' was to be said: $(cat "$WORK/said")"
}

serve
ctl 0 -m "$MNT" event page-faults:period=3
same "a word with an argument" "event page-faults:period=3" "$(sed -n 1p "$MNT/kpctl")"
ctl 0 --mount "$MNT" "stack none"
same "words in one argument" "stack none" "$(grep '^stack' "$MNT/kpctl")"
same "nothing is said" "" "$(cat "$WORK/said" "$WORK/out")"
KPROF_MOUNT=$MNT ctl 0 --file kptrace it begins
grep -q 'it begins$' "$MNT/kptrace" || fail "a message in kptrace"

ctl 0 -m "$MNT" help
same "help prints the words, one a line" "start stop" "$(sed -n 1,2p "$WORK/out" | xargs)"
check "with their arguments" grep -qx 'stack user|kernel|both|dwarf|none \[DEPTH\]' "$WORK/out"
ctl 0 -m "$MNT" -f mpstat help
same "of another file" "reset" "$(head -n 1 "$WORK/out" | cut -d' ' -f1)"
same "on standard error nothing" "" "$(cat "$WORK/said")"

# refusals: the reason and the usage of kperr
ctl 1 -m "$MNT" event nonsense
said "^kprof: $MNT/kpctl: no event 'nonsense'; usage: event SPEC"
ctl 1 -m "$MNT" strat
said "^kprof: $MNT/kpctl: unknown word.*; usage: start \| stop"
ctl 1 -m "$MNT" -f mpstat nonsense
said "^kprof: $MNT/mpstat: unknown word; usage: reset"
# names are answered as after echo 1 > NAME
ctl 1 -m "$MNT" -f nothing 1
said "^kprof: $MNT/nothing: 'nothing' is not there and can't be created\$"
ctl 1 -m "$MNT" -f events/rset 1
said "^kprof: $MNT/events/rset: 'rset' is not there and can't be created: a name is PROVIDER:EVENT, .*; nearest: reset\$"
ctl 1 -m "$MNT" -f cpu/0/stat 1
said "^kprof: $MNT/cpu/0/stat: it can't be written to\$"
ctl 0 -m "$MNT" -f events/to:come on
same "an event that no program has yet" 1 "$(cat "$MNT/events/to:come")"
ctl 1 -m "$WORK" -f nothing 1
said "^kprof: $WORK/nothing: No such file or directory\$"
check "outside of a mount no file is made" test ! -e "$WORK/nothing"
ctl 2 -m "$MNT"
said "no WORD given"
same "what was refused has changed nothing" "event page-faults:period=3" "$(sed -n 1p "$MNT/kpctl")"

# ---- an ordinary user ----------------------------------------------------------------------------

put kpctl "event default"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
put kpctl stop
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null && mknod -m 666 "$WORK/fuse" c 10 229 2>/dev/null &&
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ]; then
	mkdir "$WORK/user"
	chown 65534 "$WORK/user"
	chmod 755 "$WORK"
	if unshare -m sh -c 'mount --bind "$0/fuse" /dev/fuse && cd "$0/user" && shift &&
		exec env TMPDIR="$0/user" setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' "$WORK" - \
		"$KPROF" record -q --private -- true 2>"$WORK/said"; then
		same "quiet" "" "$(cat "$WORK/said")"
		unshare -m sh -c 'mount --bind "$0/fuse" /dev/fuse && cd "$0/user" && shift &&
			exec env TMPDIR="$0/user" setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' \
			"$WORK" - "$KPROF" record --private -- true 2>"$WORK/said"
		same "what is sampled instead, and the result: nothing else" 2 "$(wc -l <"$WORK/said")"
		said "^kprof: samples this user's processes, user space only: kernel.perf_event_paranoid is 2"
		said "^kprof record: kprof.data: "
	else
		echo "another user can't record here: $(cat "$WORK/said")"
	fi
fi

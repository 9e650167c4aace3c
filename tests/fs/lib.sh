# SPDX-License-Identifier: MIT
# lib.sh: functions for the scripts of this folder: a server with a mount of its own, in a folder of
# its own, which ends and leaves nothing behind however the script ends.
#
# Sourced. A script runs in the build folder; KPROFS names another server than the one built there.
# Its output is a test's log: what failed, and what the server said. Exit status 77: this kernel has
# no FUSE, or this user may not use it.

set -u
export LC_ALL=C

KPROFS=${KPROFS:-$PWD/kprofs}
WORK=
MNT=
SOCKET= # where programs attach to it: not where those of this machine do
SERVER= # pid of the server in the foreground
failures=0

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# check WHAT COMMAND...: a failure that does not end the script
check() {
	local what=$1
	shift
	"$@" || fail "$what ($*)"
}

# same WHAT EXPECTED FOUND: two texts
same() {
	[ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}

# wait_for COMMAND...: until it succeeds, at most WAIT seconds (30)
wait_for() {
	local end=$((SECONDS + ${WAIT:-30}))
	until "$@"; do
		if [ "$SECONDS" -ge "$end" ]; then
			fail "waited in vain for: $*"
			return 1
		fi
		read -rt 0.01 <> <(:) # a pause without a process
	done
	return 0
}

# fails_with ERRNO-TEXT COMMAND...: it must fail, and say that
fails_with() {
	local text=$1 said
	shift
	if said=$("$@" 2>&1); then
		fail "should have failed with '$text': $*"
	elif [[ $said != *"$text"* ]]; then
		fail "should have failed with '$text': $*: $said"
	fi
}

# put FILE TEXT: one write(2) of the text and a newline
put() {
	printf '%s\n' "$2" >"$MNT/$1"
}

# need_probe NAME TEXT: the program TEXT in probes/NAME; where there are no probes, the script is skipped
need_probe() {
	if ! put "probes/$1" "$2" 2>/dev/null; then
		echo "probes are not available here:"
		tail -n 3 "$MNT/kperr"
		exit 77
	fi
}

# run_bpftrace ARGUMENT...: instead of this shell; to be started in the background. It looks for tracefs below
# debugfs only: where that is not mounted, it is in a mount namespace of its own.
run_bpftrace() {
	[ ! -d /sys/kernel/debug/tracing/events ] || exec bpftrace "$@"
	# shellcheck disable=SC2016 # for the other shell
	exec unshare -m bash -c 'mount -t debugfs debugfs /sys/kernel/debug && [ -d /sys/kernel/debug/tracing/events ] || {
			echo "debugfs and tracefs can not be mounted"
			exit 1
		} >&2
		exec bpftrace "$@"' bpftrace "$@"
}

is_mounted() {
	grep -q " ${1:-$MNT} fuse\." /proc/mounts
}

not_mounted() {
	! is_mounted "$@"
}

# a process that has ended and was not waited for by its parent has ended
has_ended() {
	! [ -e "/proc/$1/stat" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

# ended_well WHAT PID: it ends, with status 0
ended_well() {
	wait_for has_ended "$2" || return
	wait "$2" || fail "$1: status $?"
}

# the value of a row of kpstat
stat_of() {
	sed -n "s/^$1 //p" "$MNT/kpstat"
}

# what the server has in memory
resident_kb() {
	sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB$/\1/p' "/proc/$SERVER/status"
}

# The mount is visible before the server has opened all files that it keeps open: the mount table is
# the last. If the user may not read the server's descriptors, or the mount table can't be watched,
# the script continues after a time.
has_opened_all() {
	[ "$SECONDS" -ge "$opened_end" ] || ! [ -r "/proc/$SERVER/fd" ] ||
		[ -n "$(find "/proc/$SERVER/fd" -lname '*/mountinfo' 2>/dev/null)" ]
}

# serve [OPTION...]: a server in the foreground at $MNT
serve() {
	local opened_end
	"$KPROFS" -f -o "socket=$SOCKET" "$@" "$MNT" 2>>"$WORK/server.log" &
	SERVER=$!
	wait_for is_mounted
	opened_end=$((SECONDS + 5))
	wait_for has_opened_all
}

# prints in which function of the kernel each thread of process $1 waits, and kills the process
end_by_force() {
	local task
	for task in /proc/"$1"/task/*; do
		echo "$(cat "$task/comm" 2>/dev/null): $(cat "$task/wchan" 2>/dev/null)"
	done
	kill -KILL "$1"
}

# serve_end [SIGNAL]: ends it, checks how it ended
serve_end() {
	local status
	[ -n "$SERVER" ] || return
	kill "-${1:-TERM}" "$SERVER"
	WAIT=${WAIT:-30} wait_for has_ended "$SERVER" || end_by_force "$SERVER"
	wait "$SERVER"
	status=$?
	SERVER=
	[ "$status" = 0 ] || fail "the server ended with status $status"
	check "the mount is gone" not_mounted
}

clean_up() {
	local status=$?
	[ "$BASHPID" = "$$" ] || exit "$status" # a background job that was killed early
	trap - EXIT
	if [ -n "$SERVER" ]; then
		serve_end
	fi
	# shellcheck disable=SC2046 # pids
	kill $(jobs -p) 2>/dev/null
	if [ -n "$WORK" ]; then
		while is_mounted; do
			umount -l "$MNT" || break
		done
		if [ "$failures" != 0 ] || [ "$status" != 0 ]; then
			[ -s "$WORK/server.log" ] && sed 's/^/server: /' "$WORK/server.log"
		fi
		rm -rf --one-file-system "$WORK"
	fi
	if [ "$status" = 0 ] && [ "$failures" != 0 ]; then
		echo "$failures failures"
		status=1
	fi
	exit "$status"
}

if ! [ -r /dev/fuse ] || ! [ -w /dev/fuse ]; then
	echo "no FUSE here: /dev/fuse is missing, or not for this user"
	exit 77
fi
WORK=$(mktemp -d)
mkdir "$WORK/mnt"
SOCKET=$WORK/socket
MNT=$(realpath "$WORK/mnt")
# a command that chooses a mount must not choose another one of this machine, and change a run there
export KPROF_MOUNT=$MNT
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

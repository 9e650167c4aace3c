#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_input: A command without an argument reads ./kprof.data if it is newer than the run of the mount, and
# else the mount; the oldest one of several mounts. Headings name the source. As root the script runs in a
# mount namespace without other servers.
if [ "$(id -u)" = 0 ] && [ -z "${CMD_INPUT_ALONE-}" ] && unshare -m true 2>/dev/null; then
	CMD_INPUT_ALONE=1 exec unshare -m "$0"
fi
if [ -n "${CMD_INPUT_ALONE-}" ]; then
	while read -r dir; do
		umount -l "$dir"
	done < <(awk '$3 == "fuse.kprofs" { print $2 }' /proc/self/mounts)
fi
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
unset KPROF_MOUNT

KPROF=$PWD/kprof
FAULTS=$PWD/tests/fixtures/faults
OTHER=$WORK/other # the mount of a second server
other=            # its pid
TESTS=$(realpath "${srcdir:-.}")
mkdir "$OTHER" "$WORK/here" "$WORK/user" "$WORK/user/mnt"
chmod 755 "$WORK"
cd "$WORK/here" || exit 1

end_test() {
	local status=$?
	[ -z "$other" ] || { kill "$other" && wait "$other"; }
	(exit "$status")
	clean_up
}
trap end_test EXIT

# source_is WHAT PATTERN [OPTION...]: the first line of a report names this source
source_is() {
	local line
	line=$("$KPROF" report "${@:3}" 2>"$WORK/said" | head -n 1)
	[[ $line =~ ^"# "$2$ ]] || fail "$1: '$line' $(cat "$WORK/said"), not '$2'"
}

one_run() {
	put kpctl start
	"$FAULTS" 100
	put kpctl stop
}

serve
put kpctl "event page-faults:period=1"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
put kpctl stop
put kpctl clear

# ---- a file or the mount ------------------------------------------------------------------------

source_is "nothing was captured yet" "$MNT/kpdata, empty" -m "$MNT"
"$KPROF" report -m "$MNT" | grep -qx "# nothing captured yet: echo start > $MNT/kpctl" ||
	fail "a report of an empty mount says what to do"
fails_with "No data available" cat "$MNT/views/flat"
grep -q "nothing captured yet: echo start > $MNT/kpctl" "$MNT/kperr" ||
	fail "a view of an empty mount says what to do: $(tail -n 1 "$MNT/kperr")"

for command in dump script "convert -t folded"; do
	# shellcheck disable=SC2086 # words
	"$KPROF" $command -m "$MNT" >"$WORK/out" 2>"$WORK/said"
	same "$command of an empty mount says what to do" \
		"kprof: reading $MNT/kpdata, empty: nothing captured yet: echo start > $MNT/kpctl" "$(cat "$WORK/said")"
done

fails_with "kpdata: nothing captured yet: echo start > $MNT/kpctl" "$KPROF" annotate -m "$MNT" main
fails_with "report.html: nothing captured yet: echo start > $MNT/kpctl" \
	"$KPROF" report -m "$MNT" --html "$WORK/page.html"
fails_with "pprof: nothing captured yet: echo start > $MNT/kpctl" "$KPROF" convert -m "$MNT" -t pprof

# a run without samples: nothing runs an instruction that faults so often
put kpctl "event page-faults:period=1000000000"
put kpctl start
put kpctl stop
none='no samples were taken in 0\.[0-9]{3} s'
"$KPROF" report -m "$MNT" | grep -Exq "# $none" || fail "a report of a run without samples"
fails_with "No data available" cat "$MNT/views/flat"
tail -n 1 "$MNT/kperr" | grep -Eq "$none" || fail "why flat is not there: $(tail -n 1 "$MNT/kperr")"
"$KPROF" annotate -m "$MNT" main 2>&1 | grep -Exq "kprof: $MNT/kpdata: $none" ||
	fail "annotate of a run without samples"
fails_with "No data available" cat "$MNT/views/report.html"
tail -n 1 "$MNT/kperr" | grep -Eq "$none" || fail "why report.html is not there: $(tail -n 1 "$MNT/kperr")"
"$KPROF" record -q -P -e page-faults:period=1000000000 -o "$WORK/none" true || fail "record"
"$KPROF" report "$WORK/none" | grep -Eq '^# no samples were taken' || fail "a file without samples"
put kpctl clear
put kpctl "event page-faults:period=1"

export KPROF_MOUNT=$MNT
one_run
source_is "the mount without a file" "$MNT/kpdata, stopped [0-9]+ (s|min) ago"
"$KPROF" record -q -m "$MNT" -- "$FAULTS" 100 || fail "record"
source_is "the file that was just recorded" "kprof.data, written [0-9]+ (s|min) ago"
fails_with "-i selects functions; to read kprof.data: kprof report kprof.data" "$KPROF" report -i kprof.data
samples=$("$KPROF" dump kprof.data | grep -c '_trace ')
terminal="python3 $TESTS/tests/fs/cmd_terminal.py"
for command in "dump" "convert -t folded" "script"; do
	# shellcheck disable=SC2086 # words
	"$KPROF" $command >"$WORK/out" 2>"$WORK/said" || fail "$command: $(cat "$WORK/said")"
	same "$command in a pipe prints no source" "" "$(cat "$WORK/said")"
	# shellcheck disable=SC2086 # words
	KPROF_PAGER=cat $terminal "$KPROF" $command -- >"$WORK/out" || fail "$command on a terminal"
	grep -aq '^kprof: reading kprof.data, written [0-9]* [a-z]* ago' "$WORK/out" ||
		fail "$command on a terminal does not print the source"
done
"$KPROF" annotate '*' | grep -q 'kprof.data, written [0-9]* [a-z]* ago' || fail "annotate does not read the file"
same "as many samples" "$samples" "$("$KPROF" dump 2>/dev/null | grep -c '_trace ')"
source_is "the mount that is named" "$MNT/kpdata, stopped .* ago" -m "$MNT"

touch -d "10 seconds ago" kprof.data
one_run
source_is "a later run of the mount" "$MNT/kpdata, stopped .* ago"
put kpctl start
source_is "a run that goes on" "$MNT/kpdata, running for [0-9]+ (s|min)"
"$KPROF" record -q -P -- "$FAULTS" 100 || fail "record"
source_is "a file that is newer than the start of the run" "kprof.data, written .* ago"
put kpctl stop
put kpctl clear
touch -d '3 hours ago' kprof.data
source_is "a file beside an empty mount" "kprof.data, written 3 h ago"
if [ "$(id -u)" = 0 ]; then
	chown 65534 kprof.data
	source_is "the file of another user" "$MNT/kpdata, empty"
	grep -q 'kprof.data is of another user' "$WORK/said" || fail "why the file is not read"
	chown 0 kprof.data
fi
unset KPROF_MOUNT

# ---- which mount --------------------------------------------------------------------------------

"$KPROFS" -f -o "socket=$WORK/socket.other" "$OTHER" 2>>"$WORK/server.log" &
other=$!
wait_for is_mounted "$OTHER"
rm kprof.data
cd "$OTHER/views" || exit 1
source_is "the mount around the folder" "$OTHER/kpdata, empty"
cd "$WORK/here" || exit 1
KPROF_MOUNT=$OTHER source_is "the mount of the environment" "$OTHER/kpdata, empty"
if [ -n "${CMD_INPUT_ALONE-}" ]; then
	source_is "the oldest of several" "$MNT/kpdata, empty"
	grep -q "^kprof: $MNT is used, the oldest of 2 mounts; -m DIR or KPROF_MOUNT" "$WORK/said" ||
		fail "the note: $(cat "$WORK/said")"
	kill "$other" && wait "$other"
	other=
	source_is "the only one" "$MNT/kpdata, empty"
	same "without a note" "" "$(cat "$WORK/said")"

	# mounts that this user may not read are not in the way; theirs are read by their users
	chown 65534 "$WORK/user" "$WORK/user/mnt"
	mknod -m 666 "$WORK/fuse" c 10 229 2>/dev/null && mount --bind "$WORK/fuse" /dev/fuse
	as_user() {
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	}
	as_user "$KPROFS" -f -o "socket=$WORK/user/socket" "$WORK/user/mnt" 2>"$WORK/user.log" &
	other=$!
	user_ready() { is_mounted "$WORK/user/mnt" || has_ended "$other"; }
	wait_for user_ready
	if is_mounted "$WORK/user/mnt"; then
		source_is "the only one of root" "$MNT/kpdata, empty"
		same "without a note" "" "$(cat "$WORK/said")"
		# the user may not be able to reach kprof-symbols in the folder of the build
		same "the user's own" "# $WORK/user/mnt/kpdata, empty" \
			"$(as_user "$KPROF" report 2>&1 | grep -v '^kprof: functions have no names' | head -n 1)"
	else
		echo "another user can't mount here: $(cat "$WORK/user.log")"
	fi
	! is_mounted "$WORK/user/mnt" || umount -l "$WORK/user/mnt"
	wait_for has_ended "$other"
	other=
	serve_end
	fails_with 'no FILE given (`kprof record -- COMMAND` writes kprof.data): nothing is mounted' "$KPROF" report
	same "a command without FILE" 'kprof: nothing is mounted (`kprofs DIR` mounts)' "$("$KPROF" ctl stop 2>&1)"
	"$KPROF" record -q -P -- "$FAULTS" 100
	source_is "a file without a mount" "kprof.data, written .* ago"
fi

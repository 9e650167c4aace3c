#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_record: kprof record keeps the samples of a command and of its descendants, on a mount and with a
# private server. It ends with the command's exit status, ends on signals, and restores the profiler's
# settings.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

BUILD=$PWD
KPROF=$PWD/kprof
export TMPDIR=$WORK/tmp
mkdir "$TMPDIR"
cd "$WORK" || exit 1

# after any failure nothing stays mounted, and no command continues
end_test() {
	local status=$? dir
	for dir in "$TMPDIR"/kprof.*; do
		if grep -q " $dir " /proc/mounts; then
			umount -l "$dir"
		fi
	done
	(exit "$status")
	clean_up
}
trap end_test EXIT

# ended JOB: waits for it, but not for ever; its status is in $status
ended() {
	status=none
	wait_for has_ended "$1" || return
	wait "$1" 2>/dev/null
	status=$?
}

# begins [OPTION...]: kprof record in the background, of a program that works until it is ended
# and reports that it runs; $job
begins() {
	rm -f "$WORK/told"
	# bash ignores SIGINT for jobs in the background, and env gives it back
	env --default-signal=INT "$KPROF" record "$@" -- "$WORK/work" "$WORK/told" 2>"$WORK/said" &
	job=$!
	wait_for grep -qs running "$WORK/told" || exit 1
}

# record STATUS ARGUMENTS...
record() {
	local expected=$1 status
	shift
	"$KPROF" record "$@" 2>"$WORK/said"
	status=$?
	[ "$status" = "$expected" ] ||
		fail "kprof record $*: status $status, not $expected: $(cat "$WORK/said")"
}

said() {
	grep -qE -- "$1" "$WORK/said" || fail "'$1' was to be said: $(cat "$WORK/said")"
}

# samples FILE: by the dump, which shares no code with what cuts the capture
samples() {
	"$KPROF" dump "$1" | grep -c '_trace '
}

# the processes of the report; until its exec the command has the name of its parent
processes() {
	awk '$2 + 0 > 0 && $4 != "kprof" { print $4 }' "$WORK/report"
}

# nothing of a private server is left
nothing_left() {
	[ -z "$(ls -A "$TMPDIR")" ] && ! grep -q " $TMPDIR/" /proc/mounts
}

cat >"$WORK/work" <<'END'
#!/bin/bash
trap 'echo told >>"$1"; exit 7' TERM INT
echo running >>"$1"
while :; do :; done
END
chmod +x "$WORK/work"

# whether one may sample here at all
serve
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
put kpctl stop
put kpctl clear

# ---- a server of its own ------------------------------------------------------------------------

# a grandchild's work is kept, with the names of all three
record 5 -P -e cpu-clock:freq=1999 -o own -- \
	bash -c 'bash -c "i=0; while ((i < 200000)); do ((i += 1)); done; exit 5" grandchild; exit $?'
said '^kprof record: own: [1-9][0-9]* samples of [23] processes, [0-9]* of others left out'
check "nothing is left" nothing_left
"$KPROF" report --by process -n own >"$WORK/report" || fail "report own"
same "only the command" bash "$(processes)"
same "as many as it says" "$(sed -n 's/.*own: \([0-9]*\) samples.*/\1/p' "$WORK/said")" "$(samples own)"

# with -a the others too, and more than with the command alone
record 0 -P -a -e cpu-clock:freq=1999 -o all -- bash -c 'i=0; while ((i < 100000)); do ((i += 1)); done'
check "the idle task or others are in it" test "$("$KPROF" dump all | grep '_trace ' |
	sed 's/.* pid=\([^ ]*\).*/\1/' | sort -u | wc -l)" -gt 1

# ---- exit status --------------------------------------------------------------------------------

record 127 -P -o none -- "$WORK/no such program"
said 'no such program: No such file or directory'
record 126 -P -o none -- "$WORK"
said 'Permission denied'
record 2 -P -o none
record 2 -P -m "$MNT" -o none -- true
record 125 -P -o "$WORK/no such folder/file" -- true
said 'No such file or directory'
record 125 -P -e nonsense -o none -- touch "$WORK/ran"
said "nonsense"
check "a refused event runs nothing" test ! -e "$WORK/ran"
check "a run that was refused leaves no file" test ! -e none
echo kept >kept
record 125 -P -e nonsense -o kept -- true
check "nor does it take one away" test "$(cat kept)" = kept
record 0 -P -o kept -- true
same "what was there before" kept "$(cat kept.old)"
said '; the former file is kept.old$'
check "the new one" [ "$("$KPROF" dump kept | grep -c ' event ')" -gt 0 ]
: >empty
record 0 -P -o empty -- true
check "an empty file is not kept" test ! -e empty.old
ln -s kept link
record 0 -P -o link -- true
check "a link is not renamed" test -L link -a ! -e link.old
record 137 -P -o none -- bash -c 'kill -KILL $$'
record 3 -P -q -o none -- bash -c 'exit 3'
same "quiet" "" "$(cat "$WORK/said")"
check "options behind the command are the command's" record 0 -P -o none /bin/true -o none -o x
check "nothing is left" nothing_left

# ---- signals ------------------------------------------------------------------------------------

for signal in INT TERM; do
	begins -P -o "signal.$signal"
	kill -$signal $job
	ended $job
	same "$signal reaches the command, whose status it is" 7 $status
	check "$signal: the command was told" grep -q told "$WORK/told"
	said "signal.$signal: [0-9]+ samples? "
	check "$signal: nothing is left" nothing_left
done

if [ -r /proc/$$/task/$$/children ]; then
	# at any end of kprof the server ends, and the command neither begins nor continues without it
	begins -P -o killed
	read -r worker _ <"/proc/$job/task/$job/children"
	kill -KILL $job
	ended $job
	unmounted() { ! grep -q " $TMPDIR/" /proc/mounts; }
	wait_for unmounted
	kill "$worker"
	wait_for has_ended "$worker"
	rmdir "$TMPDIR"/kprof.* # all that a kill leaves
fi

# ---- the mount ----------------------------------------------------------------------------------

# an earlier run of another process is kept, and its samples are not in this one
put kpctl "event page-faults:period=1"
put kpctl start
/bin/true
put kpctl stop
before=$("$KPROF" dump -m "$MNT" | grep -c '_trace ')
check "the earlier run has samples" test "$before" -gt 0
state=$(cat "$MNT/kpctl")

record 0 -m "$MNT" -e cpu-clock:freq=1999 -o shared -- \
	bash -c 'i=0; while ((i < 100000)); do ((i += 1)); done'
said '^kprof record: shared: [1-9][0-9]* samples of 1 process, [0-9]* of others left out'
same "the state is as it was" "$state" "$(cat "$MNT/kpctl")"
same "no event but ours" cpu-clock:freq=1999 \
	"$("$KPROF" dump shared | sed -n 's/.* event .* text="\(.*\)".*/\1/p' | sort -u)"
"$KPROF" report --by process -n shared >"$WORK/report"
same "only the command" bash "$(processes)"
check "the earlier run is still there" test "$("$KPROF" dump -m "$MNT" |
	grep '_trace ' | grep -c ' event=1 ')" -ge "$before"

# a rate replaces that of the events that are set, but not that of -e
put kpctl "event cpu-clock:freq=49:u"
record 0 -m "$MNT" -F 1999 -o shared -- true
same "the rate" cpu-clock:u:freq=1999 \
	"$("$KPROF" dump shared | sed -n 's/.* event .* text="\(.*\)".*/\1/p' | sort -u)"
record 0 -m "$MNT" -F 1999 -e cpu-clock:freq=99,page-faults -o shared -- true
same "the rates" "cpu-clock:freq=99 page-faults:freq=1999" \
	"$("$KPROF" dump shared | sed -n 's/.* event .* text="\(.*\)".*/\1/p' | sort -u | paste -sd ' ')"
put kpctl "$(sed -n 's/^event /event /p' <<<"$state")"

# the same of stacks, also where something is refused
record 0 -m "$MNT" -e cpu-clock:freq=1999 --stack "dwarf 20" -o dwarf -- \
	bash -c 'i=0; while ((i < 100000)); do ((i += 1)); done'
check "stacks are copied" test "$("$KPROF" dump dwarf | grep -c ' user_stack .*depth=20')" -gt 1
same "the state is as it was" "$state" "$(cat "$MNT/kpctl")"
record 125 -m "$MNT" -e cpu-clock:freq=1999 --stack nonsense -o none -- true
said 'no such mode: nonsense'
same "the state is as it was, too" "$state" "$(cat "$MNT/kpctl")"

# an event that the machine does not have, and the one that it has by default
if ! "$KPROF" list '^cycles$' | grep -q '^\* .* cycles$'; then
	record 125 -P -e cycles -o none -- /bin/true
	said "^kprof: event cycles on CPU [0-9]+: this machine can't sample that event; without -e the CPU clock is sampled\$"
	record 0 -P -o chosen -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
	same "its text in the records" default \
		"$("$KPROF" dump chosen | sed -n 's/.* event .* text="\(.*\)".*/\1/p' | sort -u)"
	check "its name and the reason, once" \
		[ "$("$KPROF" report chosen | grep -c '^# cpu-clock (the machine has no cycles counter): ')" = 1 ]
	check "its name in rows" [ -n "$("$KPROF" report chosen | awk '/%/ && $3 == "cpu-clock"')" ]
	check "in script" [ "$("$KPROF" script -F event -G chosen | tr -d ' ' | sort -u)" = "cpu-clock:" ]
	for name in default cpu-clock; do
		same "the samples of $name" "$(samples chosen)" \
			"$("$KPROF" script --event $name -F event chosen | grep -c cpu-clock)"
	done
fi

# without -e it is the events that are set
record 0 -m "$MNT" -o set -- /bin/true
same "the event that is set" page-faults:period=1 \
	"$("$KPROF" dump set | sed -n 's/.* event .* text="\(.*\)".*/\1/p' | sort -u)"

# a run that another process started is not changed
put kpctl start
rm -f "$WORK/ran"
record 125 -m "$MNT" -o busy -- touch "$WORK/ran"
said 'already running'
said "echo stop >$MNT/kpctl"
check "nothing was run" test ! -e "$WORK/ran"
same "it goes on" running "$(stat_of profiler.state)"
KPROF_MOUNT=$MNT record 0 -o busy -- /bin/true
said "^kprof: a private server samples: the profiler at $MNT is already running for [0-9]+ s\$"
check "the private one has sampled" test -s busy
same "its own events" default "$("$KPROF" dump busy | sed -n 's/.* event .* text="\(.*\)".*/\1/p' | sort -u)"
same "it goes on beside that" running "$(stat_of profiler.state)"
record 0 -P -o busy -- /bin/true
same "beside one of its own, too" running "$(stat_of profiler.state)"
put kpctl stop

# another process stops the profiler: an error, and the command continues
begins -m "$MNT" -o stopped
put kpctl stop
wait_for grep -q 'another process stopped' "$WORK/said"
check "the command goes on" kill -0 "$job"
kill -TERM $job
ended $job
same "its status" 7 $status

if [ -r /proc/$$/task/$$/children ]; then
	# a server that is killed is reported, and its mount does not stay
	begins -P -o died
	server=$(tr ' ' '\n' <"/proc/$job/task/$job/children" | while read -r pid; do
		[ "$(cat "/proc/$pid/comm")" != kprofs ] || echo "$pid"
	done)
	kill -KILL "$server"
	wait_for grep -q 'kpdata: ' "$WORK/said"
	kill -TERM $job
	ended $job
	same "its status" 7 $status
	check "nothing is left" nothing_left
fi

# what kpdata can't hold is copied meanwhile; what was overwritten before is reported
put kpctl "prof_qlimit 1024"
put kpctl clear
record 0 -m "$MNT" -e page-faults:period=1 -o long -- "$BUILD/tests/fixtures/faults" 60000
lost=$("$KPROF" dump long | sed -n 's/.* lost .* count=\([0-9]*\).*/\1/p' | paste -sd + | sed 's/^$/0/')
check "all of them" test $(($(samples long) + lost)) -ge 60000
if [ $((lost)) = 0 ]; then
	said 'none was lost'
else
	said 'lost on the machine: [1-9]'
fi
check "more than kpdata holds" test "$(stat -c %s long)" -gt 1048576

# a private server is not among the mounts that other commands find
begins -P -o first
grep -q " $TMPDIR/kprof[.]" /proc/mounts || fail "there is no private server"
same "mounts below its folder" "" "$("$KPROF" --complete report -m "$TMPDIR" | tail -n +2)"
check "but the mounted one is" [ -n "$("$KPROF" --complete report -m "$MNT" | tail -n +2)" ]
kill -TERM $job
ended $job

# without /dev/fuse the reason is printed once
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir "$WORK/dev"
	# shellcheck disable=SC2016 # for the other shell
	unshare -m sh -c 'mount --bind "$1" /dev && cd "$2" && "$3" record -P -o none -- true' - "$WORK/dev" "$WORK" \
		"$KPROF" 2>"$WORK/said"
	same "the reason, once" 1 "$(grep -c 'there is no /dev/fuse' "$WORK/said")"
	said '^kprof: kprofs could not be started: see `kprof doctor`$'
fi

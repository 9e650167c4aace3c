#!/bin/bash
# SPDX-License-Identifier: MIT
# snapshots: the word `snapshot` makes a stopped session of what is captured at that moment. Its bytes stay the
# same whatever becomes of the session that it was taken of, and its counts balance. It is refused where the
# memory of all captures has no room, and where the name is taken.
# shellcheck source=tests/fs/lib.sh disable=SC2119,SC2120
. "${srcdir:-.}/tests/fs/lib.sh"

# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

options=sessions=70
[ "$(id -u)" = 0 ] && options=$options,allow_other
serve -o "$options"
need_machine
SESSIONS=$MNT/sessions

faults() {
	"$FIXTURES/faults" "$1" >/dev/null || fail "faults"
}

# records FILE: a copy of kpdata as text, without the moment at which it was opened, in any order
records() {
	"$KPROF" dump "$1" | sed -E 's/^ *[0-9]+ //; /^clock/d' | sort
}

refused() {
	tail -n 1 "$MNT/kperr"
}

state() {
	tail -n 1 "$MNT/kpctl"
}

exists() {
	[ -d "$SESSIONS/$1" ]
}

# ---- of a stopped profiler ------------------------------------------------------------------------

ctl 'event page-faults:period=1' 'prof_cpubufsz 4096' start
faults 3000
ctl stop 'snapshot one'
copy_to "$WORK/top"
in_session one copy_to "$WORK/one"
"$KPROF" dump "$WORK/one" >"$WORK/one.text" || fail "a snapshot is decoded"
at_least "samples in the snapshot" 3000 "$(grep -c ' user_trace ' "$WORK/one.text")"
records "$WORK/top" >"$WORK/top.records"
records "$WORK/one" >"$WORK/one.records"
check "a snapshot has the same records" cmp "$WORK/top.records" "$WORK/one.records"
same "it is stopped" stop "$(in_session one state)"
same "it has the settings" "$(sed '/^prof_qlimit/d' "$MNT/kpctl")" \
	"$(sed '/^prof_qlimit/d' "$SESSIONS/one/kpctl")"
same "the owner and the mode" "700 $(id -u) $(id -g)" "$(stat -c '%a %u %g' "$SESSIONS/one")"
same "the size is what a reader gets" "$(stat -c %s "$SESSIONS/one/kpdata")" "$(stat -c %s "$WORK/one")"
check "views" grep -q faults "$SESSIONS/one/views/flat"
check "the difference from a snapshot" grep -q faults "$MNT/views/versus/one/flat"

# ---- of a running one, which goes on --------------------------------------------------------------

snapshot_balances() {
	[ -d "$SESSIONS/two" ] && rmdir "$SESSIONS/two"
	ctl stop clear start
	faults 3000
	ctl 'snapshot two'
	same "sampling goes on" start "$(state)"
	in_session two copy_to "$WORK/two"
	cat "$SESSIONS/two/kpstat" >"$WORK/two.stat"
	if grep -q '^event\.1\..*\.undelivered unknown' "$WORK/two.stat"; then
		undelivered=unknown # there were page faults in the moment in which it was taken, each time
		return
	fi
	check_balance "$WORK/two.stat" "$WORK/two" 1
	at_least "page faults of the snapshot" 3000 "$count"
}
exactly snapshot_balances
same "it is stopped, too" stop "$(in_session two state)"
# nothing is copied
before=$(resident_kb)
for name in a b c d; do
	ctl "snapshot same.$name"
done
after=$(resident_kb)
[ -n "${ASAN_OPTIONS:-}${TSAN_OPTIONS:-}" ] || [ $((after - before)) -lt 4096 ] ||
	fail "four snapshots: $before to $after KB"
rmdir "$SESSIONS"/same.?

# whatever becomes of the other
ctl stop clear start
faults 3000
in_session two copy_to "$WORK/two.later"
check "after a clear its bytes are the same" cmp "$WORK/two" "$WORK/two.later"
in_session one copy_to "$WORK/one.later"
check "and those of the first" cmp "$WORK/one" "$WORK/one.later"
ctl 'mode overwrite' 'prof_qlimit 1024' 'snapshot three'
in_session three copy_to "$WORK/three"
while [ "$(stat_of samples.lost_queue)" = 0 ]; do # until the other was overwritten meanwhile
	faults 40000
	ctl flush
done
in_session three copy_to "$WORK/three.later"
check "and the snapshot was not" cmp "$WORK/three" "$WORK/three.later"
ctl stop 'mode discard'

# ---- a snapshot is a session ----------------------------------------------------------------------

# what was read may go where there is no room
put sessions/two/kpctl 'prof_qlimit 65536'
put sessions/two/kpctl start
faults 100
put sessions/two/kpctl stop
in_session two copy_to "$WORK/two.more"
records "$WORK/two.more" >"$WORK/two.records"
at_least "a snapshot that was started again has more" $(($(grep -c user_trace <(records "$WORK/two")) + 100)) \
	"$(grep -c user_trace "$WORK/two.records")"
put sessions/two/kpctl 'snapshot of.two'
in_session of.two copy_to "$WORK/of.two"
same "a snapshot of a snapshot" "$(grep -c user_trace "$WORK/two.records")" \
	"$(records "$WORK/of.two" | grep -c user_trace)"
put sessions/two/kpctl clear
same "it can be cleared" 0 "$(in_session two stat_of bytes.held)"
rmdir "$SESSIONS/two" "$SESSIONS/one"
same "of the others nothing is lost" "$(grep -c user_trace "$WORK/two.records")" \
	"$(records "$SESSIONS/of.two/kpdata" | grep -c user_trace)"

# ---- later ----------------------------------------------------------------------------------------

ctl clear start 'snapshot later after 1h' 'snapshot soon after 100ms'
same "one waits" 1 "$(stat_of snapshots.waiting | sed 's/2/1/')"
fails_with "File exists" put kpctl 'snapshot later after 1s'
[[ $(refused) == *"a snapshot 'later' waits for its time already"* ]] || fail "twice: $(refused)"
faults 1000
wait_for exists soon
same "sampling goes on" start "$(state)"
same "the other waits" 1 "$(stat_of snapshots.waiting)"
ctl stop 'snapshot soon.too after 1ms'
wait_for exists soon.too

# ---- what is refused ------------------------------------------------------------------------------

fails_with "File exists" put kpctl 'snapshot soon'
fails_with "File exists" put kpctl 'snapshot soon after 1s'
fails_with "Invalid argument" put kpctl 'snapshot a/b'
fails_with "Invalid argument" put kpctl 'snapshot ..'
fails_with "Invalid argument" put kpctl snapshot
fails_with "Invalid argument" put kpctl 'snapshot x before 5s'
fails_with "Invalid argument" put kpctl 'snapshot x after'
fails_with "Invalid argument" put kpctl 'snapshot x after 5'
fails_with "Invalid argument" put kpctl 'snapshot x after 5s now'
fails_with "Numerical result out of range" put kpctl 'snapshot x after 2h'
for ((i = 0; i < 15; i++)); do
	put kpctl "snapshot wait$i after 1h"
done
fails_with "Device or resource busy" put kpctl 'snapshot wait after 1h'

# the memory of all: what the top takes leaves 512 KB less than a snapshot needs
ctl 'prof_qlimit 65536'
max=$(("$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)" / 32))
taken=$(cat "$SESSIONS"/*/kpctl | awk '/^prof_qlimit/ { n += $2 } END { print n + 0 }')
ctl "prof_qlimit $((max - taken - 512))"
fails_with "No space left" put kpctl 'snapshot more'
[[ $(refused) == *"what is held needs "*" KB, and the prof_qlimit of all sessions leaves 512 of "* ]] ||
	fail "no memory: $(refused)"
exists more && fail "a snapshot that was refused exists"
ctl 'prof_qlimit 65536' 'snapshot more'
same "each that was made is counted" "$(stat_of sessions.made)" \
	"$(($(stat_of snapshots.taken) + 1))" # and that of another session

# ---- another user ---------------------------------------------------------------------------------

if [ "$(id -u)" = 0 ] && as_user=$(command -v setpriv); then
	chmod 711 "$WORK"
	other="$as_user --reuid 65534 --regid 65534 --clear-groups"
	chmod 702 "$SESSIONS/more"
	# the directory has no x for others: they reach nothing
	fails_with "ermission denied" $other bash -c "printf 'snapshot mine\n' >'$SESSIONS/more/kpctl'"
	chmod 703 "$SESSIONS/more"
	fails_with "ermission denied" $other bash -c "printf 'snapshot mine\n' >'$SESSIONS/more/kpctl'"
	exists mine && fail "a user who may not read a session has a copy of it"
	chmod 707 "$SESSIONS/more"
	$other bash -c "printf 'snapshot mine\n' >'$SESSIONS/more/kpctl'" || fail "who may read it may copy it"
	same "the snapshot is that user's" 65534 "$(stat -c %u "$SESSIONS/mine")"
	check "it has no setting of others" grep -qx 'event default' "$SESSIONS/mine/kpctl"
	same "no kernel" 'stack user' "$(grep -o '^stack user' "$SESSIONS/mine/kpctl")"
	# that user's own settings stay
	if $other bash -c "printf 'stack dwarf 7\n' >'$SESSIONS/mine/kpctl'"; then
		$other bash -c "printf 'snapshot again\n' >'$SESSIONS/mine/kpctl'" || fail "of an own session"
		check "the stack is the same" grep -qx 'stack dwarf 7' "$SESSIONS/again/kpctl"
	fi
fi

#!/bin/bash
# SPDX-License-Identifier: MIT
# state: with state=DIR captures, snapshots and settings of sessions are files. The next server has them back
# after kill -9, with all that had reached the capture; damaged files and those of another version are said, and
# the rest is kept; a full disk ends the growth and not the server. STATE_KILLS: how often the server is killed.
#
# shellcheck disable=SC2119
# In a mount namespace of its own, in which the machine can be booted: another file is its boot_id.
if [ -z "${STATE_ALONE:-}" ] && unshare --mount true 2>/dev/null; then
	STATE_ALONE=1 exec unshare --mount --propagation private "$BASH" "$0" "$@"
fi
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

DIR=$WORK/state
SESSIONS=$MNT/sessions
ANN=65501
ALLOW=()
if [ "$(id -u)" = 0 ]; then
	ALLOW=(-o allow_other)
	cp "$FIXTURES/owned" "$WORK/owned" || fail "cp"
	chmod 755 "$WORK" "$WORK/owned"
fi

# refuses_to_start TEXT OPTION: the server says so
refuses_to_start() {
	local said
	said=$("$KPROFS" -f -o "socket=$SOCKET" -o "$2" "$MNT" 2>&1) && fail "a server with $2"
	[[ $said == *"$1"* ]] || fail "with $2: '$said'"
}

# server_again: kills the server, and serves the same directory
server_again() {
	kill -KILL "$SERVER"
	wait "$SERVER" 2>/dev/null
	SERVER=
	fusermount3 -u -z "$MNT" 2>/dev/null || umount -l "$MNT"
	wait_for not_mounted
	serve -o "state=$DIR" "${ALLOW[@]}"
}

# of SESSION COMMAND...: with the files of the session
of() {
	local MNT=$SESSIONS/$1
	shift
	"$@"
}

# samples_of FILE: of a copy of kpdata, which must be valid
samples_of() {
	"$KPROF" dump "$1" >"$WORK/dump" || fail "kprof dump $1"
	grep -q 'damaged\|truncated\|not a record' "$WORK/dump" && fail "a record of $1 is damaged"
	grep -c ' user_trace \| kern_trace ' "$WORK/dump"
}

# the samples that are in the capture
delivered() {
	awk '/^cpu\.[0-9]*\.samples / { n += $2 } END { print n + 0 }' "$MNT/kpstat"
}

# ---- the directory --------------------------------------------------------------------------------

mkdir "$DIR"
chmod 755 "$DIR"
refuses_to_start "with mode 0700" "state=$DIR"
chmod 700 "$DIR"
refuses_to_start "not an absolute path" state=here
serve -o "state=$DIR" "${ALLOW[@]}"
need_machine
mkdir "$WORK/other"
said=$("$KPROFS" -f -o socket=none -o "state=$DIR" "$WORK/other" 2>&1) &&
	fail "two servers have one directory"
[[ $said == *"another kprofs has this directory"* ]] || fail "two servers: $said"

# ---- kill -9 under load ---------------------------------------------------------------------------

mkdir "$SESSIONS/web" "$SESSIONS/gone"
rmdir "$SESSIONS/gone"
chmod 750 "$SESSIONS/web"
printf 'stack none\nmode overwrite\n' >"$SESSIONS/web/kpctl"
ctl 'event page-faults:period=1' 'prof_cpubufsz 4096' start
"$FIXTURES/faults" 3000 >/dev/null
ctl 'snapshot kept'
kept=$(samples_of "$SESSIONS/kept/kpdata")
at_least "samples of the snapshot" 3000 "$kept"

# what was loaded, of which some blocks are packed, since half of prof_qlimit is used
python3 "${srcdir:-.}/tests/fs/hosts.py" "$WORK/saved" beta fedcba9876543210fedcba9876543210 web=60000 ||
	fail "hosts.py"
mkdir "$SESSIONS/saved"
of saved ctl "prof_qlimit $(($(stat -c %s "$WORK/saved") * 5 / 4 / 1024))"
cp "$WORK/saved" "$SESSIONS/saved/load" || fail "cp to load: $(tail -n 1 "$SESSIONS/saved/kperr")"

# is_packed SESSION: its blocks need less memory than their records
is_packed() {
	[ "$(of "$1" stat_of bytes.memory)" -lt "$(of "$1" stat_of bytes.held)" ]
}
check "blocks of what was loaded are packed" is_packed saved
received=$(of saved stat_of samples.received)
at_least "samples that were loaded" 60000 "$received"

# a session of an ordinary user
own=
if [ "$(id -u)" = 0 ] && "$WORK/owned" as $ANN mkdir "$SESSIONS/ann" && [ -d "$SESSIONS/ann" ]; then
	own=ann
	chmod 711 "$SESSIONS/ann"
fi
all="${own:+$own }kept saved web"

has_samples() {
	[ "$(delivered)" -ge "$1" ]
}

for ((i = 0; i < ${STATE_KILLS:-5}; i++)); do
	ctl clear start
	"$FIXTURES/faults" 400000 >/dev/null &
	load=$!
	wait_for has_samples $((1000 + 300 * i))
	before=$(delivered)
	server_again
	kill "$load" 2>/dev/null
	wait "$load" 2>/dev/null
	same "it is stopped" stop "$(tail -n 1 "$MNT/kpctl")"
	copy_to "$WORK/back"
	at_least "samples that are back" "$before" "$(samples_of "$WORK/back")"
	same "kpstat has as many" "$(samples_of "$WORK/back")" "$(delivered)"
	same "no block was left out" 0 "$(stat_of state.damaged)"
	check "they have names" grep -q faults "$MNT/views/flat"
	check "the events are the same" grep -q '^event page-faults:period=1$' "$MNT/kpctl"
	same "sessions are back" "$all" "$(find "$SESSIONS" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | xargs)"
	same "a snapshot is, too" "$kept" "$(samples_of "$SESSIONS/kept/kpdata")"
	same "the mode of a session" 750 "$(stat -c %a "$SESSIONS/web")"
	check "its settings" grep -q '^mode overwrite$' "$SESSIONS/web/kpctl"
	check "and others" grep -q '^stack none$' "$SESSIONS/web/kpctl"
	cat "$SESSIONS/saved/kpdata" >"$WORK/loaded"
	check "what was loaded, as it was" cmp "$WORK/saved" "$WORK/loaded"
	same "the size of its kpdata" "$(stat -c %s "$WORK/saved")" "$(stat -c %s "$SESSIONS/saved/kpdata")"
	check "in as little memory" is_packed saved
	same "its samples" "$received" "$(of saved stat_of samples.received)"
	same "are of no event here" 0 "$(grep -c '\.delivered ' "$SESSIONS/saved/kpstat")"
	same "it is known to be loaded" "$(stat -c %s "$WORK/saved") bytes" "$(cat "$SESSIONS/saved/load")"
	[ -z "$own" ] && continue
	same "a user's session" "711 $ANN" "$(stat -c '%a %u' "$SESSIONS/ann")"
	fails_with "Operation not permitted" of ann put kpctl 'event offcpu'
	check "it is that user's" grep -q 'a session of an ordinary user samples' "$SESSIONS/ann/kperr"
done
[ -z "$own" ] || rmdir "$SESSIONS/ann"
fails_with "Device or resource busy" of saved put kpctl start
rmdir "$SESSIONS/saved"

# more than half of prof_qlimit: blocks are packed while the server is killed
ctl clear 'prof_qlimit 3000' 'mode overwrite' start
"$FIXTURES/faults" 2000000 >/dev/null &
load=$!
packs() {
	[ "$(stat_of bytes.held)" -gt $((3000 * 1024)) ]
}
wait_for packs
server_again
kill "$load" 2>/dev/null
wait "$load" 2>/dev/null
copy_to "$WORK/back"
same "what is held of packed blocks" "$(samples_of "$WORK/back")" "$(delivered)"
at_least "bytes in less memory" "$(($(stat_of bytes.memory) + 1))" "$(stat_of bytes.held)"
same "no packed block was left out" 0 "$(stat_of state.damaged)"
ctl clear 'mode discard' 'prof_qlimit 65536'

# what is back goes on, and is there after an end without force
more=$(delivered)
ctl start
"$FIXTURES/faults" 500 >/dev/null
ctl stop
at_least "a capture that is back goes on" $((more + 500)) "$(delivered)"
more=$(delivered)
serve_end
serve -o "state=$DIR" "${ALLOW[@]}"
same "after an unmount, too" "$more" "$(delivered)"
copy_to "$WORK/back"
same "what is held" "$more" "$(samples_of "$WORK/back")"

# another boot of the machine: what was captured before can be read, and has its own times
echo 6d6f6e64-6179-4d6f-8e64-617974756573 >"$WORK/boot_id"
if [ -n "${STATE_ALONE:-}" ] && mount --bind "$WORK/boot_id" /proc/sys/kernel/random/boot_id 2>/dev/null; then
	for when in first second; do # it is of another boot for ever
		server_again
		copy_to "$WORK/again"
		same "after a boot, $when" "$more" "$(samples_of "$WORK/again")"
		check "with its clock" cmp -s -n 30 "$WORK/back" "$WORK/again"
		fails_with "Device or resource busy" put kpctl start
		check "why" grep -q "was captured before this machine was booted" "$MNT/kperr"
		fails_with "Device or resource busy" put kpdata 4096
		# the trace is of this boot
		put kptrace "written after the boot"
		cat "$MNT/views/trace.json" >"$WORK/trace.json" || fail "views/trace.json after a boot"
		check "no text of this boot in it" eval '! grep -q "written after the boot" "$WORK/trace.json"'
		fails_with "No data available" cat "$MNT/views/by/span/no:span/flat"
		check "and no spans" grep -q "was made before this machine was booted" "$MNT/kperr"
	done
	ctl 'snapshot before' clear start stop
	same "it is kept" "$more" "$(samples_of "$SESSIONS/before/kpdata")"
	rmdir "$SESSIONS/before"
	umount /proc/sys/kernel/random/boot_id
fi
ctl clear
rmdir "$SESSIONS/kept" "$SESSIONS/web"
server_again
same "what was cleared is not back" 0 "$(stat_of bytes.held)"
same "nor what was removed" "" "$(ls "$SESSIONS")"

# ---- damaged files, and those of another version --------------------------------------------------

ctl 'event page-faults:period=1' start
"$FIXTURES/faults" 20000 >/dev/null
ctl stop 'snapshot one' 'snapshot two'
all=$(delivered)
serve_end
# bytes in the middle of a block, behind the one that is kept for losses, and the version of an index
arena=$(find "$DIR" -name 'arena.*' | sort | head -n 1)
printf '\377\376\375' | dd of="$arena" bs=1 seek=$((131072 + 70000)) conv=notrunc 2>/dev/null
printf '\377' | dd of="$DIR/index:two" bs=1 seek=8 conv=notrunc 2>/dev/null
serve -o "state=$DIR"
at_least "a damaged block is counted" 1 "$(stat_of state.damaged)"
check "and said" grep -q "session '/': damaged: 1 of its blocks and journals are left out" "$MNT/kperr"
copy_to "$WORK/back"
held=$(samples_of "$WORK/back")
[ "$held" -lt "$all" ] || fail "a damaged block is there"
at_least "all others are kept" $((all / 2)) "$held"
check "another version's file is said" grep -q "was written by another version of kprofs, or is damaged" \
	"$MNT/kperr" "$SESSIONS/two/kperr"
check "its index stays" test -s "$DIR/old.index:two"
check "with its journal" test -s "$DIR/old.journal:two"
same "the others are kept" "$held" "$(samples_of "$SESSIONS/one/kpdata")"
serve_end

# ---- a full disk ----------------------------------------------------------------------------------

if [ "$(id -u)" = 0 ] && mkdir "$WORK/small" &&
	mount -t tmpfs -o size=2560k,mode=700 tmpfs "$WORK/small"; then
	serve -o "state=$WORK/small"
	ctl 'event page-faults:period=1' 'prof_cpubufsz 4096' start
	"$FIXTURES/faults" 100000 >/dev/null
	ctl stop
	at_least "what has no room is lost, and counted" 1 "$(stat_of samples.lost_queue)"
	at_least "errors" 1 "$(stat_of state.errors)"
	check "kperr" grep -q "state=: No space left on device" "$MNT/kperr"
	copy_to "$WORK/back"
	cat "$MNT/kpstat" >"$WORK/stat"
	[ "$(samples_of "$WORK/back")" = "$(delivered)" ] || fail "what is held: $(delivered)"
	at_least "what had room is held" 1000 "$(delivered)"
	check_balance "$WORK/stat" "$WORK/back" 1
	# the same with the oldest samples going
	ctl 'mode overwrite' clear start
	"$FIXTURES/faults" 100000 >/dev/null
	ctl stop
	at_least "in mode overwrite" 1000 "$(delivered)"
	serve_end
	umount "$WORK/small"
fi

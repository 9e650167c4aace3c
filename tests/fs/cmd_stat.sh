#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_stat: kprof stat counts what programs with known behaviour do, reports events that cannot be counted,
# and ends with the command's exit status. The marks of kprof list agree with it.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

FAULTS=$PWD/tests/fixtures/faults

# stat STATUS ARGUMENTS...
stat() {
	kprof_ends "$1" stat "${@:2}"
}

said() {
	grep -qE -- "$1" "$tmp/err" || fail "'$1' was to be said: $(cat "$tmp/err")"
}

# count EVENT
count() {
	awk -v event="$1" '$2 == event { print $1 } $3 == event { print $1 }' "$tmp/err"
}

# between LEAST MOST NUMBER
between() {
	if [ -z "$3" ] || [ "$3" -lt "$1" ] || [ "$3" -gt "$2" ]; then
		fail "'$3' is not from $1 to $2"
	fi
}

if ! "$KPROF" stat -e page-faults true 2>"$tmp/err"; then
	echo "nothing can be counted here: $(cat "$tmp/err")"
	exit 77
fi

# ---- counts -------------------------------------------------------------------------------------

# the program touches as many pages, and has some hundred page faults beside; a machine that is short of
# memory takes pages away, which fault again
stat 0 -e page-faults "$FAULTS" 20000
between 20000 40000 "$(count page-faults)"

# children, their children, and nothing before the exec: a shell, whose own are some hundred more
stat 0 -e page-faults -- sh -c "$FAULTS 5000; sh -c '$FAULTS 6000; $FAULTS 7000'"
between 18000 36000 "$(count page-faults)"

# time in user space, by the program's own measure; the kernel divides time by ticks, so a part of it may be
# attributed differently
stat 0 -e task-clock,page-faults -o "$tmp/file" bash -c 'i=0; while ((i < 100000)); do ((i += 1)); done; times'
same "nothing on standard error" "" "$(cat "$tmp/err")"
read -r user sys <"$tmp/out"
awk -v own="$user" '
	{ split(own, part, "[ms]"); own_s = part[1] * 60 + part[2] }
	$3 == "user" { user = $1 }
	$3 == "task-clock" { clock = $1 / 1000 }
	$3 == "sys" { sys = $1 }
	$3 == "elapsed" { elapsed = $1 }
	END {
		slack = 0.5 + own_s / 4
		if (user < own_s - slack || user > own_s + slack) { print "user " user ", not " own_s; exit 1 }
		if (elapsed + 0.05 < clock) { print "elapsed " elapsed ", task-clock " clock; exit 1 }
		if (clock < user - slack) { print "task-clock " clock ", user " user; exit 1 }
	}' "$tmp/file" || fail "the times: $(cat "$tmp/file")"

# ---- what can't be counted ----------------------------------------------------------------------

stat 125 -e page-fault "$FAULTS" 1
said "no event 'page-fault'; nearest: page-faults"
stat 125 -e cpu-clock,nonsense touch "$tmp/ran"
[ ! -e "$tmp/ran" ] || fail "it ran though an event was refused"

# list and stat agree; without counters of the processor the rest is counted
if "$KPROF" list '^cycles$' | grep -q '^\* .* cycles$'; then
	stat 0 -e page-faults,cycles "$FAULTS" 1
	between 1000 99999999999 "$(count cycles)"
	stat 0 true
	between 1000 99999999999 "$(count instructions)"
else
	stat 0 -e page-faults,cycles "$FAULTS" 5000
	said "<not supported>  *cycles  *# this machine can't count it"
	between 5000 10000 "$(count page-faults)"
	stat 7 -e cycles sh -c "touch $tmp/ran; exit 7"
	said "<not supported>  *cycles  *# this machine can't count it"
	[ -e "$tmp/ran" ] || fail "it did not run where nothing could be counted"
	rm "$tmp/ran"
	stat 0 -x , -e cycles true
	said '^<not supported>,,cycles,0,0.00,,$'
	stat 0 true
	said 'no counters of the processor'
fi
for event in task-clock context-switches cpu-migrations page-faults; do
	[ -n "$(count $event)" ] || fail "$event is not among the usual ones"
done

# ---- JSON ---------------------------------------------------------------------------------------

stat 7 --json --output "$tmp/json" --event page-faults sh -c 'exit 7'
python3 - "$tmp/json" <<'END' || fail "not the JSON that the page tells of: $(cat "$tmp/json")"
import json, sys
o = json.load(open(sys.argv[1]))
assert o["command"] == ["sh", "-c", "exit 7"] and o["status"] == 7
e = o["events"][0]
assert e["event"] == "page-faults" and e["count"] == e["counted"] > 10
assert 0 < e["running_ns"] == e["enabled_ns"]
assert o["elapsed_ns"] > 0 and o["user_ns"] >= 0 and o["sys_ns"] >= 0
END

# ---- status -------------------------------------------------------------------------------------

stat 127 "$tmp/no such program"
said 'no such program: No such file or directory'
stat 126 "$tmp"
stat 137 sh -c 'kill -KILL $$'
stat 2
stat 2 --nonsense true
stat 125 -o "$tmp/no such folder/file" touch "$tmp/ran"
[ ! -e "$tmp/ran" ] || fail "it ran though the output can't be written"
[ "$failures" = 0 ]

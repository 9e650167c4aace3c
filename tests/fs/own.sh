#!/bin/bash
# SPDX-License-Identifier: MIT
# own: sessions of two ordinary users and one of root sample at the same time. Each user's has the samples of
# that user's programs only: none of setuid programs, of programs that the user may not read, of other users,
# however often processes and their numbers change; and none of what tells about them. Each balances, with
# those that were refused. What is not a user's own is refused with the reason.
#
# Whose a sample is tells its address alone: each user's programs run the code of tests/fixtures/owned at an
# address of their own. OWN_SAMPLES=N repeats it until the first user has N samples.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

ann=65501 bob=65502 pages=1000 children=20
wanted=${OWN_SAMPLES:-1}
[ "$(id -u)" = 0 ] || { echo "only root has sessions of other users"; exit 77; }

# programs that the users can reach
cp "$FIXTURES/owned" "$WORK/owned" && chmod 755 "$WORK" "$WORK/owned" || exit 77
for name in ann bob root setuid unreadable outside; do
	cp "$WORK/owned" "$WORK/prog-$name" || fail "copy"
done
chmod 4755 "$WORK/prog-setuid"
chmod 711 "$WORK/prog-unreadable"
"$WORK/owned" as $ann "$WORK/owned" 0x10000000000 1 >"$WORK/said" || exit 77
[ "$("$WORK/owned" as $ann "$WORK/prog-setuid" 0x10000000000 1)" = 0 ] || { echo "no setuid programs here"; exit 77; }

serve -o allow_other,user_rates=any
MNT_TOP=$MNT
chmod 755 "$MNT" 2>/dev/null

as_user() {
	"$WORK/owned" as "$@"
}

# of SESSION COMMAND...: with the files of the session
of() {
	local MNT=$MNT_TOP/sessions/$1
	shift
	"$@"
}

# refused_to ID WHAT FILE REASON: writing it is EPERM, and kperr of the session has the reason
refused_to() {
	as_user "$1" sh -c 'echo "$1" >"$2"' - "$2" "$MNT_TOP/sessions/ann/$3" 2>"$WORK/said" &&
		fail "'$2' is not refused"
	[[ $(tail -n 1 "$MNT_TOP/sessions/ann/kperr") == *"uid $1 "*"'$2'"*"$4"* ]] ||
		fail "'$2': $(tail -n 1 "$MNT_TOP/sessions/ann/kperr")"
}

# ---- the directories ------------------------------------------------------------------------------

same "who may make sessions" 1777 "$(stat -c %a "$MNT/sessions")"
as_user $ann mkdir "$MNT/sessions/ann" || fail "mkdir by the first user"
as_user $bob mkdir "$MNT/sessions/bob" || fail "mkdir by the second user"
mkdir "$MNT/sessions/root" || fail "mkdir by root"
same "whose they are" "700 $ann $ann" "$(stat -c '%a %u %g' "$MNT/sessions/ann")"
fails_with "Permission denied" as_user $bob ls "$MNT/sessions/ann"
fails_with "Permission denied" as_user $bob cat "$MNT/sessions/ann/kpdata"
fails_with "Operation not permitted" as_user $bob rmdir "$MNT/sessions/ann"
fails_with "Permission denied" as_user $ann cat "$MNT/kpdata"

# ---- what is refused ------------------------------------------------------------------------------

refused_to $ann "stack both" kpctl "no stacks of the kernel"
refused_to $ann "stack kernel" kpctl "no stacks of the kernel"
refused_to $ann "event cycles:k" kpctl "no events of the kernel only"
refused_to $ann "event offcpu" kpctl "no switches of tasks"
refused_to $ann 0xffffffff81000000 kpdata "no addresses of the kernel"
refused_to $ann "profile:hz:99 { @ = count(); }" probes/x "takes no programs of probes"
refused_to $ann "uprobe:$WORK/prog-ann:touch_named { @ = count(); }" probes/x "kernel stops all forks"
refused_to $ann "split calls" mpstat "measured for all users"
[ -r /sys/kernel/tracing/events/sched ] && refused_to $ann "event sched:sched_switch" kpctl "no tracepoints"
# root writes to it: it was made by the user
refused_to 0 "stack both" kpctl "no stacks of the kernel"
grep -q '^stack user ' "$MNT/sessions/ann/kpctl" || fail "the stacks of a user's session"

# ---- the samples ----------------------------------------------------------------------------------

address_ann=0x10000000000 address_bob=0x20000000000 address_root=0x30000000000
address_setuid=0x40000000000 address_unreadable=0x50000000000 address_outside=0x60000000000

# NAME ID: its program, with children, as this user
run_program() {
	local address=address_$1
	as_user "$2" "$WORK/prog-$1" "${!address}" $pages $children >>"$WORK/said" || fail "prog-$1: status $?"
}

# all at the same time; a setuid program is run by a shell of the user's, which is sampled until the exec
run_all() {
	local jobs=() job
	run_program ann $ann & jobs+=($!)
	run_program bob $bob & jobs+=($!)
	as_user $ann sh -c '"$@" & "$@" & wait' - "$WORK/prog-setuid" $address_setuid $pages $children \
		>>"$WORK/said" & jobs+=($!)
	run_program unreadable $ann & jobs+=($!)
	"$WORK/prog-root" $address_root $pages $children >>"$WORK/said" & jobs+=($!)
	[ -z "$has_namespaces" ] ||
		as_user $ann unshare -U "$WORK/prog-outside" $address_outside $pages $children >>"$WORK/said" &
	jobs+=($!)
	for job in "${jobs[@]}"; do
		wait "$job" || fail "a program: status $?"
	done
}
has_namespaces=
as_user $ann unshare -U true 2>>"$WORK/said" && has_namespaces=1

# count_at FILE ADDRESS: of a dump
count_at() {
	grep -c "^[0-9]* user_trace .* trace=${2%000}" "$1"
}

# What the session of $1, with the programs at the addresses $2, is to have: none of others.
check_samples() {
	local dump=$WORK/dump.$1 name address
	"$KPROF" dump "$WORK/data.$1" >"$dump" || fail "dump of $1"
	for name in ann bob root setuid unreadable outside; do
		address=address_$name
		[[ " $2 " == *" $name "* ]] && continue
		same "samples of $1 in prog-$name" 0 "$(count_at "$dump" "${!address}")"
		grep -q "prog-$name" "$dump" && fail "$1 has the name prog-$name: $(grep -m 1 "prog-$name" "$dump")"
	done
	[ "$1" = root ] && return
	grep -q ' kern_trace ' "$dump" && fail "$1 has samples of the kernel"
	grep -q 'kernel\.kallsyms\|ffffffff[89a-f]' "$dump" && fail "$1 has addresses of the kernel"
	same "the event says the scope" scope_own "$(grep -o -m 1 'scope_[a-z]*' "$dump")"
	return 0
}

sessions=(ann bob root) ring_kb=4096 is_stopped=
sample_all() {
	local name
	for name in "${sessions[@]}"; do
		of "$name" ctl stop clear 'event page-faults:period=1' 'stack none' "prof_cpubufsz $ring_kb" \
			'prof_qlimit 16384' start
	done
	for name in ann bob; do
		same "scope of $name" own-user "$(of "$name" stat_of profiler.scope)"
	done
	[ -z "$is_stopped" ] || kill -STOP "$SERVER"
	run_all
	[ -z "$is_stopped" ] || kill -CONT "$SERVER"
	for name in "${sessions[@]}"; do
		of "$name" ctl stop
		of "$name" copy_to "$WORK/data.$name"
		cat "$MNT/sessions/$name/kpstat" >"$WORK/stat.$name"
	done
}

# check_round: all sessions balance, and have what they are to have
check_round() {
	local name
	for name in "${sessions[@]}"; do
		check_balance "$WORK/stat.$name" "$WORK/data.$name" 1
		missing[$name]=$((lost + undelivered))
		# what it counts is the user's own: of others nothing is counted, as filtered neither
		[ "$name" = root ] || same "filtered of $name" 0 "$filtered"
		[ "$name" != ann ] || got=$((got + delivered))
	done
	check_samples ann "ann${has_namespaces:+ outside}"
	check_samples bob bob
	check_samples root "ann bob root setuid unreadable outside"
}

one_round() {
	sample_all
	check_round
}

# has_all SESSION ADDRESS: its own program's samples are there, but for those that it says are missing: Linux
# counts some page faults on a busy machine of which it makes no sample
has_all() {
	local all=$((pages * (children + 1))) found
	found=$(count_at "$WORK/dump.$1" "$2")
	[ "$found" -le $all ] || fail "$found page faults of $1, of $all"
	at_least "page faults of $1" $all $((found + missing[$1]))
}

declare -A missing
got=0
one_round
has_all ann $address_ann
has_all bob $address_bob
[ -z "$has_namespaces" ] || at_least "page faults in a user namespace of the first user" 1 \
	"$(count_at "$WORK/dump.ann" $address_outside)"
for name in setuid unreadable bob; do
	address=address_$name
	at_least "page faults of prog-$name that root sees" 1 "$(count_at "$WORK/dump.root" "${!address}")"
done
while [ "$got" -lt "$wanted" ] && [ "$failures" = 0 ]; do
	one_round
	echo "$got samples"
done

# records of processes are lost: what is known of a number may be of another user's process
is_stopped=1 ring_kb=16 children=100
sample_all
is_stopped='' ring_kb=4096 children=20
lost_tasks=$(of ann stat_of tasks.lost)
check_round
at_least "records of tasks that were lost" 1 "$lost_tasks"
sample_all

# ---- views ----------------------------------------------------------------------------------------

as_user $ann cat "$MNT/sessions/ann/views/flat" >"$WORK/flat" || fail "views/flat"
grep -q "own processes only" "$WORK/flat" || fail "views/flat does not say the scope"
grep -q "prog-ann *touch_named" "$WORK/flat" || fail "no names of the user's own program"
# the process that made it has the user's rights, and no descriptor of the server's
maker=$(pgrep -P "$SERVER" -U $ann -x kp-views)
for stream in 0 1 2; do
	same "descriptor $stream of what makes views" /dev/null "$(readlink "/proc/$maker/fd/$stream")"
done
same "the folder of what makes views" / "$(readlink "/proc/$maker/cwd")"
# its user may stop it: the view that another user opens fails then, and the next one is made by a new process
as_user $ann kill -STOP "$maker"
fails_with "Input/output error" timeout 60 cat "$MNT/sessions/ann/views/folded"
check "the reason" grep -q "the process that makes views was stopped by a signal" "$MNT/sessions/ann/kperr"
check "the process has ended" [ ! -e "/proc/$maker" ]
check "the next view" grep -q touch_named "$MNT/sessions/ann/views/folded"
# the difference from another session needs the right to read that
fails_with "Permission denied" as_user $bob cat "$MNT/sessions/bob/views/versus/ann/flat"
# a program that the user may no longer read is not read for the user, not even from what root has read
chmod 700 "$WORK/prog-ann"
cat "$MNT/sessions/root/views/flat" >"$WORK/flat.root"
grep -q "prog-ann *touch_named" "$WORK/flat.root" || fail "root has no names"
as_user $bob cat "$MNT/sessions/bob/views/flat" >"$WORK/flat.bob"
grep -q "prog-bob *touch_named" "$WORK/flat.bob" || fail "no names of the second user's program"

# ---- the events and the times of programs ----------------------------------------------------------

has_attached() {
	[ "$(stat_of trace.attached)" -ge "$1" ]
}

# tell NAME ID EVENTS: a program of the user that has written so many events, and lives until $WORK/in.NAME ends
tell() {
	mkfifo "$WORK/in.$1"
	as_user "$2" env "KPROF_SOCKET=$SOCKET" "$WORK/tell" 1 "$3" <"$WORK/in.$1" >"$WORK/tell.$1" &
	eval "exec {in_$1}>\"\$WORK/in.$1\""
	wait_for grep -q written "$WORK/tell.$1"
}

# events_of ID SESSION: how many events of tell its trace.json has
events_of() {
	as_user "$1" cat "$MNT/sessions/$2/views/trace.json" | grep -o test:n | wc -l
}

cp "${TELL:-$PWD/tests/fs/tell}" "$WORK/tell" && chmod 755 "$WORK/tell"
put events/test:n 1
tell ann $ann 100
tell bob $bob 57
wait_for has_attached 2
same "events of the first user's program" 100 "$(events_of $ann ann)"
same "events of the second user's program" 57 "$(events_of $bob bob)"
# the same as CTF, of each user at one moment: without messages, and without programs of others
echo 'a message of root' >"$MNT/kptrace"
# in_ctf TEXT FOLDER: how many events of a copy have it
in_ctf() {
	babeltrace2 "$2" >"$WORK/bt" 2>"$WORK/bt.err" || fail "babeltrace2: $(head -n 5 "$WORK/bt.err")"
	grep -c -- "$1" "$WORK/bt"
}
if command -v babeltrace2 >/dev/null; then
	exec {ctf_ann}<"$MNT/sessions/ann/views/ctf/metadata" {ctf_bob}<"$MNT/sessions/bob/views/ctf/metadata"
	for name in ann bob root; do
		cp -r "$MNT/sessions/$name/views/ctf" "$WORK/ctf.$name" || fail "views/ctf of $name: $(tail -n 1 "$MNT/sessions/$name/kperr")"
	done
	check "the set of a user is one while it is read" cmp "/dev/fd/$ctf_ann" "$WORK/ctf.ann/metadata"
	check "that of the other one too" cmp "/dev/fd/$ctf_bob" "$WORK/ctf.bob/metadata"
	exec {ctf_ann}<&- {ctf_bob}<&-
	same "CTF of the first user" "100 0" "$(in_ctf test:n "$WORK/ctf.ann") $(in_ctf 'of root' "$WORK/ctf.ann")"
	same "CTF of the second user" "57 0" "$(in_ctf test:n "$WORK/ctf.bob") $(in_ctf 'of root' "$WORK/ctf.bob")"
	same "CTF of root" "157 1" "$(in_ctf test:n "$WORK/ctf.root") $(in_ctf 'of root' "$WORK/ctf.root")"
else
	echo "not tried: babeltrace2"
fi
as_user $ann cat "$MNT/sessions/ann/views/ctf/metadata" >"$WORK/said" || fail "views/ctf for its user"
fails_with "Permission denied" as_user $bob cat "$MNT/sessions/ann/views/ctf/metadata"
# shellcheck disable=SC2154 # eval has made them
exec {in_ann}>&- {in_bob}>&-

# begin_spans COMMAND...: a program with spans, which lives until $WORK/in.spans ends
begin_spans() {
	rm -f "$WORK/in.spans"
	mkfifo "$WORK/in.spans"
	"$@" env "LD_LIBRARY_PATH=$WORK" "KPROF_SOCKET=$SOCKET" "$WORK/spanning" <"$WORK/in.spans" >"$WORK/spans" &
	exec {spans}>"$WORK/in.spans"
	wait_for grep -q open "$WORK/spans"
}
# is_listed SESSION: whether it lists the spans of test
is_listed() {
	ls "$MNT/sessions/$1/views/by/span" | grep -q test:half
}
# what libtool has made of it is a script, for the folder of the build alone
spanning=$PWD/tests/fs/.libs/spanning
[ -e "$spanning" ] || spanning=$PWD/tests/fs/spanning
cp "$spanning" "$WORK/spanning" && chmod 755 "$WORK/spanning"
[ ! -e .libs/libkprof.so.0 ] || cp -L .libs/libkprof.so.0 "$WORK"
put events/all 1
begin_spans env
wait_for is_listed root
same "spans of others that are listed" "" "$(as_user $ann ls "$MNT/sessions/ann/views/by/span")"
exec {spans}>&-
begin_spans as_user $ann
wait_for is_listed ann
exec {spans}>&-
# nor do they tell what others have written to the trace
echo "a text of root" >"$MNT/kptrace"
check "a message is a time for root" test -d "$MNT/sessions/root/views/since/a text of root"
as_user $ann test -d "$MNT/sessions/ann/views/since/a text of root" && fail "a message of root's is a time for a user"

# a program of root's runs meanwhile, and is in root's table
cp "$(command -v sleep)" "$WORK/sleep-root" || fail "copy"
"$WORK/sleep-root" 1000 & # a list would be a shell of its own, which the program outlives
sleeper=$!
echo reset >"$MNT/mpstat" 2>>"$WORK/said"
as_user $ann cat "$MNT/sessions/ann/views/sched" >"$WORK/sched" || fail "views/sched"
has_times() {
	as_user $ann sh -c : && as_user $ann cat "$MNT/sessions/ann/views/sched" >"$WORK/sched" && grep -q ' cat$' "$WORK/sched"
}
if ! grep -q 'bpf(2)\|procstat' <(stat_of mpstat.source); then
	wait_for has_times
	same "processes of others in views/sched" "" "$(awk '$1 ~ /^[0-9]+$/ { print $NF }' "$WORK/sched" |
		grep -vE '^(cat|sh|owned)$')"
fi
kill "$sleeper"

# ---- without BPF ----------------------------------------------------------------------------------

# the server opens the events of the user's tasks one by one, with that user's rights
serve_end
printf '#!/bin/sh\nexec %q EPERM bpf -- %q "$@"\n' "$PWD/tests/deny/deny" "$KPROFS" >"$WORK/denied"
chmod 755 "$WORK/denied"
KPROFS=$WORK/denied
serve -o allow_other,user_rates=any
as_user $ann mkdir "$MNT/sessions/ann" || fail "mkdir without BPF"
mkfifo "$WORK/go" && chmod 644 "$WORK/go"
# shellcheck disable=SC2016 # that shell's
as_user $ann sh -c 'echo ready; read -r go <"$1"; "$2" "$3" $4 $5; "$6" "$7" $4 $5' - "$WORK/go" \
	"$WORK/prog-bob" $address_ann $pages $children "$WORK/prog-setuid" $address_setuid >"$WORK/ready" &
shell=$!
wait_for grep -q ready "$WORK/ready"
of ann ctl 'event page-faults:period=1' 'stack none' 'prof_cpubufsz 4096'
if as_user $ann sh -c 'echo start >"$1"' - "$MNT/sessions/ann/kpctl" 2>>"$WORK/said"; then
	grep -q "started with scope own-user, for the processes that the user has now" "$MNT/sessions/ann/kperr" ||
		fail "no note of the scope: $(tail -n 1 "$MNT/sessions/ann/kperr")"
	run_program bob $bob
	echo go >"$WORK/go"
	wait "$shell" || fail "the user's shell: status $?"
	of ann ctl stop
	of ann copy_to "$WORK/data.ann"
	"$KPROF" dump "$WORK/data.ann" >"$WORK/dump.ann"
	cat "$MNT/sessions/ann/kpstat" >"$WORK/stat.ann"
	check_balance "$WORK/stat.ann" "$WORK/data.ann" 1
	missing[ann]=$((lost + undelivered))
	has_all ann $address_ann
	same "page faults of another user" 0 "$(count_at "$WORK/dump.ann" $address_bob)"
	same "page faults of a setuid program" 0 "$(count_at "$WORK/dump.ann" $address_setuid)"
	! grep -q prog-setuid "$WORK/dump.ann" || fail "the name of a setuid program"
else
	# kernel.perf_event_paranoid above 2: users have no events at all
	echo go >"$WORK/go"
	at_least "kernel.perf_event_paranoid: $(tail -n 1 "$MNT/sessions/ann/kperr")" 3 \
		"$(cat /proc/sys/kernel/perf_event_paranoid)"
fi

# by default the rate is limited, since samples of others cost time before they are refused; not that of root
serve_end
KPROFS=$PWD/kprofs
serve -o allow_other
as_user $ann mkdir "$MNT/sessions/ann" || fail "mkdir for rates"
mkdir "$MNT/sessions/root" || fail "mkdir for rates of root"
for event in page-faults:period=99 cpu-clock:freq=10001 cpu-clock:period=99999 page-faults:freq=10001; do
	! as_user $ann sh -c 'echo "event $2" >"$1"' - "$MNT/sessions/ann/kpctl" "$event" 2>/dev/null ||
		fail "$event was not refused"
	check "the reason for $event" grep -q "'event $event'.*in a session of an ordinary user.*user_rates\|'event $event'.*a session of an ordinary user takes at most" "$MNT/sessions/ann/kperr"
	echo "event $event" >"$MNT/sessions/root/kpctl" || fail "$event of root"
done
for event in page-faults:period=100 cpu-clock:freq=10000 cpu-clock:period=100000 default; do
	as_user $ann sh -c 'echo "event $2" >"$1"' - "$MNT/sessions/ann/kpctl" "$event" || fail "$event was refused"
done

# the limit is that of all runs of a user together: an event takes a part of it
# start_as USER SESSION EVENT; dd names the error, which dash does not
start_as() {
	printf 'stop\nevent %s\nstart\n' "$3" | as_user "$1" dd of="$MNT/sessions/$2/kpctl" status=none 2>"$WORK/said"
}
as_user $ann mkdir "$MNT/sessions/ann2" || fail "a second session"
as_user $bob mkdir "$MNT/sessions/bob" || fail "another user's session"
start_as $ann ann cpu-clock:freq=6000,page-faults:period=1000 || fail "60 % and 10 %: $(tail -n 1 "$MNT/sessions/ann/kperr")"
start_as $bob bob cpu-clock:freq=6000 || fail "another user: $(tail -n 1 "$MNT/sessions/bob/kperr")"
! start_as $ann ann2 cpu-clock:freq=3001 || fail "more than is left was not refused"
check "it says ENOSPC" grep -q "No space left" "$WORK/said"
check "and the numbers" grep -q "its events count as 3001 samples a second, and other runs of this user leave 3000 of 10000" \
	"$MNT/sessions/ann2/kperr"
# a clock also counts while the CPU is idle: what of that is the user's is not known
same "the count of a clock, and of another event" "unknown unknown number" "$(sed -n 's/^event\.1\.cpu\.0\.\(count\|undelivered\) //p
	s/^event\.2\.cpu\.0\.count [0-9]*$/number/p' "$MNT/sessions/ann/kpstat" | xargs)"
start_as $ann ann2 cpu-clock:freq=3000 || fail "what is left: $(tail -n 1 "$MNT/sessions/ann2/kperr")"
of ann ctl stop
start_as $ann ann2 cpu-clock:freq=10000 || fail "the whole after a stop: $(tail -n 1 "$MNT/sessions/ann2/kperr")"
! start_as $ann ann default || fail "nothing is left"
as_user $ann rmdir "$MNT/sessions/ann2" || fail "rmdir of a session that runs"
start_as $ann ann default || fail "after the end of the other session: $(tail -n 1 "$MNT/sessions/ann/kperr")"
of ann ctl stop
! as_user $ann sh -c 'echo "event cpu-clock:freq=6000,task-clock:freq=4001" >"$1"' - "$MNT/sessions/ann/kpctl" 2>/dev/null ||
	fail "two events that exceed the limit together"
check "it says how much" grep -q "these events count as 10001 samples a second together" "$MNT/sessions/ann/kperr"
# root writes to the user's session: the limit is that of the user
as_user $ann mkdir "$MNT/sessions/ann2" || fail "a second session"
start_as $ann ann cpu-clock:freq=10000 || fail "the whole"
fails_with "No space left" dd of="$MNT/sessions/ann2/kpctl" status=none < <(printf 'event default\nstart\n')

# memory: what is left for other users stays
total_kb=$(sed -n 's/.* prof_qlimit KB must be [0-9]* to \([0-9]*\) here.*/\1/p' < <(
	put kpctl 'prof_qlimit 1' 2>/dev/null
	cat "$MNT/kperr"))
fails_with "No space left" as_user $ann dd of="$MNT/sessions/ann/kpctl" status=none < <(echo "prof_qlimit $((total_kb * 3 / 4))")
check "and how much is left" grep -q "KB are left for the prof_qlimit of a session of an ordinary user: $((total_kb / 4)) stay" \
	"$MNT/sessions/ann/kperr"
serve_end

# descriptors: all runs of a user have a quarter of those of the server
cpus=$(getconf _NPROCESSORS_CONF)
run=$((17 * cpus)) # of 16 events
printf '#!/bin/sh\nulimit -n %d && exec %q "$@"\n' $((run * 6 > 400 ? run * 6 : 400)) "$PWD/kprofs" >"$WORK/few"
chmod 755 "$WORK/few"
KPROFS=$WORK/few
serve -o allow_other
events=cpu-clock:freq=10
for ((i = 1; i < 16; i++)); do
	events+=,cpu-clock:freq=$((10 + i))
done
for ((i = 1; i <= 8; i++)); do
	as_user $ann mkdir "$MNT/sessions/ann$i" || fail "session $i"
	start_as $ann ann$i "$events" || break
done
check "runs that began: $((i - 1))" test $i -gt 1 -a $i -le 8
grep -q "its events need $run descriptors, and other runs of this user, or of all ordinary users, leave [0-9]" "$MNT/sessions/ann$i/kperr" ||
	fail "the reason: $(tail -n 1 "$MNT/sessions/ann$i/kperr")"
as_user $bob mkdir "$MNT/sessions/bob" && start_as $bob bob "$events" || fail "another user: $(tail -n 1 "$MNT/sessions/bob/kperr")"

#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_event: events of programs with libkprof are probes: each one that is written is counted, by its arguments,
# whether it is recorded or not, of programs that run and of those to come, with the library in them or beside them;
# nothing is left when the program of probes/ is removed.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/event_lib.sh
. "${srcdir:-.}/tests/fs/event_lib.sh"

COUNT=3000

answer() {
	grep -qxF -- "$2" "$MNT/probes/$1" || fail "$1: no line '$2' in: $(cat "$MNT/probes/$1")"
}

serve
need_probe first 'BEGIN { @ = 1; }'
if grep -q '^# uprobe: ' "$MNT/probes/list"; then
	echo "this kernel has no uprobes"
	exit 77
fi
rm "$MNT/probes/first"

# before a program has the event its arguments have no names
fails_with "Invalid argument" put probes/early 'event:app:work { @ = sum(args.size); }'
check "the reason" grep -q "no program has the event app:work yet" "$MNT/kperr"
put probes/before 'event:app:work { @ = count(); @sum = sum(arg0); @none = sum(arg9); }' || tail -n 3 "$MNT/kperr"

# the count of a map without keys
counted() {
	sed -n 's/^@: //p' "$MNT/probes/$1"
}

for program in probes_event probes_event_shared; do
	echo "== $program"
	start "$PWD/tests/fs/$program"
	# a program that comes is found soon; from then on each event counts
	seen=$(counted before)
	is_seen() { tell 1; [ "$(counted before)" -gt "${seen:-0}" ]; }
	wait_for is_seen
	seen=$(counted before)
	# an event that is off
	put probes/works 'event:app:work { @n = count(); @size = sum(args.size); @[args.who] = count();
		@sign[args.sign] = count(); }
	event:app:work /args.who == "odd" && pid == '"$RUNNING"'/ { @odd = hist(args.size); }' || tail -n 3 "$MNT/kperr"
	put probes/spans 'event:app:span, event:app:level { @[probe] = sum(arg0); }' || tail -n 3 "$MNT/kperr"
	put probes/every 'event:app:* { @[name] = count(); }' || tail -n 3 "$MNT/kperr"
	same "it is off" 0 "$(cat "$MNT/events/app:work")"
	tell $COUNT
	answer works "@n: $COUNT"
	answer works "@size: $((COUNT * (COUNT - 1) / 2))"
	answer works "@[odd]: $((COUNT / 2))"
	answer works "@[even]: $((COUNT / 2))"
	answer works "@sign[-3]: $((COUNT / 4))"
	answer works "# $((COUNT * 2)) events, $(sed -n 's/^# [0-9]* events, \(.*\), [0-9]* filtered.*/\1/p' "$MNT/probes/works"), $((COUNT / 2)) filtered, 0 keys dropped"
	answer spans "@[event:app:span]: $((COUNT * (COUNT - 1) / 2))"
	answer spans "@[event:app:level]: $((COUNT * (COUNT - 1) / 2))"
	for name in work other span level; do
		answer every "@[$name]: $COUNT"
	done
	same "nothing is recorded" 0 "$(grep -c 'app:' "$MNT/kptrace")"

	# one that is on is recorded and counted
	put events/app:work 1
	tell 100
	answer works "@n: $((COUNT + 100))"
	same "recorded" 100 "$(grep -c 'app:work: size=' "$MNT/kptrace")"
	put events/app:work 0
	tell 100
	answer works "@n: $((COUNT + 200))"
	same "not recorded" 100 "$(grep -c 'app:work: size=' "$MNT/kptrace")"
	put kptrace_ctl clear

	# removed: also when the event is on
	rm "$MNT/probes/works" "$MNT/probes/spans" "$MNT/probes/every"
	tell 100
	put events/app:work 1
	tell 100
	same "recorded without a probe" 100 "$(grep -c 'app:work: size=' "$MNT/kptrace")"
	put events/app:work 0
	put kptrace_ctl clear
	same "by one that was set before the program came" $((seen + COUNT + 400)) "$(counted before)"
	stop
done
answer before "@none: 0"
rm "$MNT/probes/before"

# the files that have the library are bounded, and kperr says so once
pids=()
for i in {1..66}; do
	cp "$PWD/tests/fs/probes_event" "$WORK/copy$i"
	mkfifo "$WORK/copy$i.in"
	KPROF_SOCKET=$SOCKET "$WORK/copy$i" <>"$WORK/copy$i.in" >"$WORK/copy$i.out" &
	pids+=($!)
done
all_know() {
	[ "$(stat_of trace.producers)" = 66 ]
}
wait_for all_know
put probes/many 'event:app:work { @ = count(); }' || tail -n 3 "$MNT/kperr"
is_said() {
	grep -q "events of programs are probed in 64 files at most" "$MNT/kperr"
}
wait_for is_said
rm "$MNT/probes/many"
kill "${pids[@]}"
wait "${pids[@]}" 2>/dev/null
fails_with "No such file" put probes/none 'event:absent:has* { @ = count(); }'
serve_end

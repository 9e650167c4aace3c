#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_list: kprof list shows events of each kind, and the events of a Skylake processor on any machine.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

# list STATUS ARGUMENTS...
list() {
	kprof_ends "$1" list "${@:2}"
}

# json EXPRESSION: of the object `o`
json() {
	python3 -c "import json, sys; o = json.load(open('$tmp/out'))['events']; print($1)"
}

# the software events have the names of perf_event_open(2)'s numbers
list 0 '^(page|minor|major)-faults$'
same "the software events" "page-faults minor-faults major-faults" \
	"$(awk '/software/ { print $NF }' "$tmp/out" | paste -sd ' ')"
same "nothing else" 3 "$(grep -vc '^#' "$tmp/out")"

# times: here where record takes them
list 0 '^(offcpu|wall)$'
same "the times" "offcpu wall" "$(sed -n 's/^[ *] time  *\([a-z]*\) .*/\1/p' "$tmp/out" | paste -sd ' ')"
same "their modifiers" "min=US waker,min=US waker freq=HZ" "$(sed -n 's/^  *modifiers: //p' "$tmp/out" | paste -sd ,)"
if "$KPROF" record -q -P -e offcpu -o "$tmp/offcpu" true 2>/dev/null; then
	grep -q '^\* time        offcpu ' "$tmp/out" || fail "offcpu is not marked as here: $(cat "$tmp/out")"
else
	grep -q '^  time        offcpu ' "$tmp/out" || fail "offcpu is marked as here: $(cat "$tmp/out")"
fi

# Skylake: INST_RETIRED has ANY_P by default, and a machine has it or not, but never by the force
export LIBPFM_FORCE_PMU=skl
list 0 'skl::inst_retired:any_p$'
grep -q '^[ *] pmu         skl::INST_RETIRED  *Number of instructions retired' "$tmp/out" || fail "no INST_RETIRED"
grep -q '^  *:ANY_P (default)  ' "$tmp/out" || fail "no default mask"
grep -q '^  *:PREC_DIST  ' "$tmp/out" || fail "a mask is missing"
grep -q '^  *modifiers: .*\bu k\b.* precise=N' "$tmp/out" || fail "no modifiers"
grep -qw -e pinned -e excl "$tmp/out" && fail "kpctl does not take these"
same "the only event with that mask" 1 "$(grep -c '^[ *] pmu' "$tmp/out")"

list 0 -j '^skl::inst_retired'
same "as JSON: the event" "skl::INST_RETIRED pmu skl" "$(json "o[0]['name'], o[0]['kind'], o[0]['pmu']" |
	tr -d "(),'")"
same "as JSON: the default mask" "['ANY_P']" "$(json "[u['name'] for u in o[0]['umasks'] if u['default']]")"
same "as JSON: a modifier" True "$(json "'precise=N' in o[0]['modifiers']")"

# tracepoints, where this user sees the folder
events=/sys/kernel/tracing/events
unset LIBPFM_FORCE_PMU
list 0 -j '^sched:|^cpu-clock$'
if [ -d $events/sched ]; then
	same "the tracepoints of one system, sorted" \
		"$(cd $events/sched && find . -mindepth 1 -type d | sed 's|\./|sched:|' | sort)" \
		"$(json "'\n'.join(e['name'] for e in o if e['kind'] == 'tracepoint')")"
fi

# of other machines only on request
list 1 '^arm_ac7::|^netburst::.*zzz'
grep -q 'no event matches' "$tmp/err" || fail "it does not say that nothing matches"
list 0 --all '^(wsm|skl)::inst_retired'
same "of other machines" "skl::INST_RETIRED wsm::INST_RETIRED" \
	"$(awk '$1 == "*" { $1 = "" } $1 == "pmu" { print $2 }' "$tmp/out" | sort -u | paste -sd ' ')"

# libpfm4 is loaded when it is needed: here it can't be
mkdir "$tmp/lib"
echo "no library" >"$tmp/lib/libpfm.so.4"
export LD_LIBRARY_PATH=$tmp/lib
kprof_ends 0 --version
list 0 '^page-faults$'
same "an event that needs no libpfm4" page-faults "$(awk '/software/ { print $NF }' "$tmp/out")"
grep -q "^# no events of processors are shown: libpfm4 can't be loaded: .*/libpfm.so.4" "$tmp/out" ||
	fail "the missing library is not named: $(cat "$tmp/out")"
kprof_ends 0 stat -x , -e page-faults true
kprof_ends 125 stat -e skl::inst_retired true
grep -q "libpfm4 can't be loaded" "$tmp/err" || fail "the reason of the refusal: $(cat "$tmp/err")"
"$KPROF" doctor >"$tmp/out"
grep -q '^limited  *libpfm4 ' "$tmp/out" || fail "kprof doctor does not find it: $(cat "$tmp/out")"
unset LD_LIBRARY_PATH

list 2 '('
list 2 a b
[ "$failures" = 0 ]

#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_beside_perf: perf record, perf trace, perf stat and perf top work during a run of this profiler. If
# one listener sets attr.build_id, Linux gives all listeners records with build-ids, and perf aborts on them
# with status 134.
# shellcheck source-path=SCRIPTDIR
. "${srcdir:-.}/tests/fs/lib.sh"
. "${srcdir:-.}/tests/fs/prof_lib.sh"

command -v perf >/dev/null || { echo "no perf here"; exit 77; }
take_machine
serve
need_machine
perf record -q -e cpu-clock -o "$WORK/alone.data" -- true >"$WORK/alone" 2>&1 ||
	{ echo "perf record does not work here at all"; cat "$WORK/alone"; exit 77; }
traces=no
if perf trace -o "$WORK/probe" -- true >/dev/null 2>&1; then
	traces=yes
else
	echo "perf trace does not work here"
fi

# programs that begin and map files while perf listens
programs() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		ls -l / >/dev/null
	done
}
export -f programs

# perf_works NAME COMMAND...: exit status 0, or one of those in $MAY
perf_works() {
	local name=$1 status
	shift
	timeout 60 "$@" >"$WORK/$name.out" 2>&1 </dev/null
	status=$?
	[[ " 0 ${MAY:-} " = *" $status "* ]] || {
		fail "perf $name ended with status $status beside a run"
		tail -n 5 "$WORK/$name.out"
	}
}

ctl 'event cpu-clock' start
perf_works record perf record -a -e cpu-clock -F 999 -o "$WORK/x.data" -- bash -c programs
check "perf record wrote samples" test -n "$(perf script -i "$WORK/x.data" -F comm 2>/dev/null | head -n 1)"
perf_works one perf record -e cpu-clock -o "$WORK/y.data" -- ls -l /
check "perf record of a program wrote a file" test -s "$WORK/y.data"
perf_works stat perf stat -a -e context-switches -- bash -c programs
check "perf stat counted" grep -q '[0-9].* context-switches' "$WORK/stat.out"

if [ "$traces" = yes ]; then
	perf_works trace perf trace -o "$WORK/trace.text" -- ls -l /
	check "perf trace wrote system calls" grep -q 'write(' "$WORK/trace.text"
fi

# it never ends by itself: timeout's 124 is its good end
programs &
MAY=124 perf_works top timeout 4 perf top --stdio -e cpu-clock -d 1
check "perf top showed samples" grep -q '%' "$WORK/top.out"
ctl stop
check "the run took samples" test "$(stat_of samples.received)" -gt 0

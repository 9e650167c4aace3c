#!/bin/bash
# SPDX-License-Identifier: MIT
# sessions_offcpu: two sessions and the profiler at the top sample times away from the CPU at once, with other
# minima and stacks, as offcpu and as wall. Each shows the times that the program measured and has each sample of
# its counts, and goes on when another one ends; one more than may be is refused; no program stays in the kernel.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

RUNS=8 # BUDGET_OFFCPU_RUNS
serve -o sessions=$((RUNS + 1))
need_machine
take_machine
if ! put kpctl 'event offcpu' 2>/dev/null; then
	serve_end
	exit 77
fi
SESSIONS=$MNT/sessions

# in_folder NAME COMMAND...: with the files of a session, or of the top
in_folder() {
	local MNT=$MNT
	[ "$1" = top ] || MNT=$SESSIONS/$1
	shift
	"$@"
}

measured() {
	awk -v what="$1" '$1 == what { print $2 }' "$WORK/waits"
}

# shows NAME PROCESS: the wait for the pipe, within 1 % of what the program measured
shows() {
	local shown
	in_folder "$1" copy_view folded
	shown=$(awk -v process="$2;" 'index($0, process) == 1 && /;[a-z_]*pipe_read_\[k\] [0-9]+$/ { n += $NF }
		END { printf "%.0f\n", n }' "$WORK/folded")
	awk -v a="$(measured wait_pipe)" -v b="$shown" \
		'BEGIN { d = b * 1000 - a; exit !(a > 0 && (d < 0 ? -d : d) <= a / 100) }' ||
		differs "$1: $shown us in the pipe, the program measured $(measured wait_pipe) ns"
}
copy_view() {
	cat "$MNT/views/$1" >"$WORK/$1" || fail "views/$1: $(tail -n 1 "$MNT/kperr")"
}

# has_all NAME: samples and losses as kpstat counts them
has_all() {
	copy_to "$WORK/kpdata"
	tally "$WORK/kpdata" >"$WORK/tally"
	same "$1: samples and losses" \
		"$(awk '/^event\.1\.cpu\.[0-9]*\.(delivered|lost) / { n += $2 } END { print n }' "$MNT/kpstat")" \
		"$(awk '{ n += $3 + $4 } END { print n }' "$WORK/tally")"
	same "$1: programs that did not run" 0 "$(stat_of event.1.missed)"
}

# together NAME...: all of these sample while the program waits, on CPU 0: see prof_offcpu.sh
together() {
	local name
	for name; do
		in_folder "$name" ctl clear start
	done
	taskset -c 0 "$FIXTURES/waits" "$PWD/waits.$$" >"$WORK/waits" || fail "waits: status $?"
	for name; do
		in_folder "$name" ctl stop
	done
	for name; do
		case $name in
		wall) shows wall "waits (off CPU)" ;;
		*) shows "$name" waits ;;
		esac
		in_folder "$name" has_all "$name"
	done
}

# ---- at once ---------------------------------------------------------------------------------------

mkdir "$SESSIONS/long" "$SESSIONS/wall" || fail "mkdir: $(tail -n 1 "$MNT/kperr")"
ctl 'stack both' 'event offcpu:waker' 'prof_cpubufsz 2048'
in_folder long ctl 'stack kernel' 'event offcpu:min=50000'
in_folder wall ctl 'stack both' 'event wall' 'prof_cpubufsz 2048'
some_time together top long wall
in_folder long copy_to "$WORK/kpdata"
"$KPROF" dump "$WORK/kpdata" >"$WORK/dump"
check "no time below the minimum of its session" awk '/ away / {
		for (i = 1; i <= NF; i++) { split($i, part, "="); value[part[1]] = part[2] }
		n++
		if (value["back"] - value["left"] < 50000000) { print; exit 1 }
	} END { exit !n }' "$WORK/dump"
same "wakers are the top's" 1 "$(find "$MNT/views" -maxdepth 1 -name wakers | wc -l)"
same "and not another session's" 0 "$(find "$SESSIONS/long/views" "$SESSIONS/wall/views" -maxdepth 1 -name wakers | wc -l)"

# ---- one ends while others go on -------------------------------------------------------------------

while_one_ends() {
	in_folder wall ctl clear start
	ctl clear start
	in_folder long ctl clear start
	taskset -c 0 "$FIXTURES/waits" "$PWD/waits.$$" >"$WORK/waits" &
	waiting=$!
	wait_for grep -qx waits "/proc/$waiting/comm"
	in_folder wall ctl stop
	rmdir "$SESSIONS/wall" || fail "rmdir: $(tail -n 1 "$MNT/kperr")"
	wait "$waiting" || fail "waits: status $?"
	ctl stop
	in_folder long ctl stop
	shows top waits
	shows long waits
	in_folder top has_all top
	in_folder long has_all long
	mkdir "$SESSIONS/wall"
	in_folder wall ctl 'stack both' 'event wall' 'prof_cpubufsz 2048'
}
some_time while_one_ends

# ---- no more than may be ---------------------------------------------------------------------------

rmdir "$SESSIONS"/*
for ((i = 1; i <= RUNS; i++)); do
	mkdir "$SESSIONS/$i" || fail "session $i: $(tail -n 1 "$MNT/kperr")"
	in_folder "$i" ctl 'stack none' 'event offcpu:min=100000' 'prof_cpubufsz 64' start
done
fails_with "Device or resource busy" put kpctl start
check "the reason" grep -q "$RUNS sessions sample times away from the CPU (offcpu, wall) already" "$MNT/kperr"
same "the top is stopped" stop "$(tail -n 1 "$MNT/kpctl")"
ctl 'event cpu-clock' start stop 'event offcpu'
in_folder 1 ctl stop
ctl start stop
in_folder 1 ctl start
rmdir "$SESSIONS/2" || fail "rmdir of a session that samples"
ctl start
rmdir "$SESSIONS"/*
ctl stop clear

# ---- nothing stays ---------------------------------------------------------------------------------

if command -v bpftool >/dev/null; then
	programs() {
		bpftool prog list 2>/dev/null | awk '/ name kp_offcpu / { sub(":", "", $1); print $1 }' | sort
	}
	are_gone() {
		local id
		while read -r id; do
			! bpftool prog show id "$id" >/dev/null 2>&1 || return 1
		done <"$WORK/programs"
	}
	programs >"$WORK/before" # of other servers of this machine
	mkdir "$SESSIONS/one" "$SESSIONS/two"
	for name in one two; do
		in_folder "$name" ctl 'event offcpu:min=100000' 'prof_cpubufsz 64' start
	done
	programs | comm -13 "$WORK/before" - >"$WORK/programs"
	check "programs of both" [ "$(wc -l <"$WORK/programs")" -ge 4 ]
	in_folder one ctl stop
	rmdir "$SESSIONS"/*
	wait_for are_gone
fi
serve_end

# SPDX-License-Identifier: MIT
# prof_lib.sh: functions for scripts that check kpdata and kpstat. Sourced after lib.sh; needs the
# kprof command and the programs of tests/fixtures.

KPROF=${KPROF:-$PWD/kprof}
FIXTURES=${FIXTURES:-$PWD/tests/fixtures}

# ctl LINE...: commands to the profiler; a refusal is a failure
ctl() {
	printf '%s\n' "$@" >"$MNT/kpctl" || fail "refused: $*: $(tail -n 1 "$MNT/kperr")"
}

# Where tests run side by side: one that changes the machine for all (NEEDS_MACHINE=alone, before this
# is sourced) waits for those that need it as it is, and they for it; not for ever, as some other run
# of the tests may have been stopped.
take_machine() {
	local machine
	exec {machine}</sys/devices/system/cpu
	if [ "${NEEDS_MACHINE:-}" != alone ]; then
		flock --shared --timeout 60 "$machine"
	elif ! flock --exclusive --timeout 60 "$machine"; then
		echo "other tests have the machine"
		exit 77
	fi
}

# whether this user may sample the whole machine; otherwise the script is skipped
need_machine() {
	local scope
	echo start >"$MNT/kpctl" 2>/dev/null
	scope=$(stat_of profiler.scope)
	printf 'stop\nclear\n' >"$MNT/kpctl"
	if [ "$scope" != machine ]; then
		echo "perf_event_open is not allowed here for the whole machine"
		exit 77
	fi
}

# take_cpu1 FUNCTION: the script may write 0 and 1 to the file $switch; skipped where CPU 1 can't be switched.
# When it ends, CPU 1 is put back online and FUNCTION is called.
take_cpu1() {
	switch=/sys/devices/system/cpu/cpu1/online
	if ! [ -w $switch ] || [ "$(cat $switch)" != 1 ]; then
		echo "CPU 1 can't be switched here, or is offline: $switch"
		exit 77
	fi
	END_OF_TEST=$1
	trap give_cpu1 EXIT
}
give_cpu1() {
	local status=$?
	echo 1 >$switch
	(exit "$status")
	"$END_OF_TEST"
}

# copy_to FILE: what kpdata holds; of a stopped profiler
copy_to() {
	cat "$MNT/kpdata" >"$1" || fail "can't read kpdata"
}

# tally FILE: of a copy, `EVENT CPU SAMPLES LOST` for each event and CPU
tally() {
	"$KPROF" dump "$1" >"$WORK/dump" || fail "kprof dump $1"
	awk '
	function value(i) { return substr($i, index($i, "=") + 1) }
	$2 ~ /^(kern|user)_trace$/ {
		if ($4 !~ /^event=/ || $6 !~ /^cpu=/) { print "not a sample: " $0; exit 1 }
		key = value(4) " " value(6); seen[key]; samples[key]++
	}
	$2 == "lost" {
		if ($3 !~ /^cpu=/ || $4 !~ /^event=/ || $6 !~ /^count=/) { print "not a loss: " $0; exit 1 }
		key = value(4) " " value(3); seen[key]; lost[key] += value(6)
	}
	END { for (key in seen) print key, samples[key] + 0, lost[key] + 0 }' "$WORK/dump" | sort
}

# check_balance STAT FILE EVENT: by a copy STAT of kpstat, taken while stopped, the counts of the event
# (with period 1) balance on each CPU, and the copy FILE of kpdata holds just what they say. The sums
# over the CPUs are in $count, $delivered, $filtered, $lost and $undelivered then: the last is not 0 where the
# kernel counted what it neither delivered nor called lost.
check_balance() {
	tally "$2" >"$WORK/tally"
	awk -v event="$3" -v sums="$WORK/sums" '
	function wrong(what) { print "FAIL: event " event " CPU " cpu ": " what; bad = 1 }
	FNR == NR {
		if (split($1, part, ".") == 5 && part[1] == "event" && part[2] == event) {
			stat[part[4], part[5]] = $2
			cpus[part[4]]
		}
		next
	}
	$1 == event { samples[$2] = $3; gone[$2] = $4; cpus[$2] }
	END {
		for (cpu in cpus) {
			count = stat[cpu, "count"]; delivered = stat[cpu, "delivered"]
			lost = stat[cpu, "lost"]; undelivered = stat[cpu, "undelivered"]
			filtered = stat[cpu, "filtered"]
			if (count == "" || delivered == "" || filtered == "" || lost == "" || undelivered == "")
				wrong("is not in kpstat")
			if (delivered + filtered + lost + undelivered != count)
				wrong(delivered " delivered + " filtered " filtered + " lost " lost + " \
					undelivered " of " count)
			if (undelivered < 0)
				wrong(undelivered " undelivered")
			if (samples[cpu] + 0 != delivered)
				wrong(samples[cpu] + 0 " samples held, " delivered " delivered")
			if (gone[cpu] + 0 != lost)
				wrong("LOST says " gone[cpu] + 0 ", kpstat " lost)
			all[1] += count; all[2] += delivered; all[3] += lost; all[4] += undelivered
			all[5] += filtered
			n++
		}
		if (!n) { cpu = "-"; wrong("is on no CPU") }
		print all[1] + 0, all[2] + 0, all[3] + 0, all[4] + 0, all[5] + 0 >sums
		exit bad
	}' "$1" "$WORK/tally" || fail "the counts of event $3"
	# shellcheck disable=SC2034 # for the caller
	read -r count delivered lost undelivered filtered <"$WORK/sums"
}

# exactly COMMAND...: one that ends with check_balance; and nothing was undelivered.
#
# That is given some tries: once in dozens of runs on a busy machine, Linux (6.18) counts some page
# faults of which it makes no sample; a counting event beside counts them too, the tracepoints of
# page faults do not know them. It is for this that kpstat has undelivered.
exactly() {
	local try
	for ((try = 0; try < 20; try++)); do
		undelivered=
		"$@"
		[ "$undelivered" = 0 ] && return
		[ "$failures" = 0 ] || return
		echo "the kernel counted $undelivered that it did not sample: $*"
	done
	fail "undelivered in each of $try tries: $*"
}

# at_least WHAT MINIMUM NUMBER
at_least() {
	[ "$3" -ge "$2" ] || fail "$1: $3, at least $2 were to be expected"
}

# samples_in FILE PROCESS FUNCTION [OPTION...]: the samples that a report of a copy shows there
samples_in() {
	"$KPROF" report "${@:4}" "$1" | awk -v process="$2" -v name="$3" '
		$4 == process && $5 == name { n += $2 } END { print n + 0 }'
}

# hold_up, let_go: stops the server, and continues it
is_stopped() {
	grep -q '^State:.T' "/proc/$1/status"
}
hold_up() {
	kill -STOP "$SERVER"
	wait_for is_stopped "$SERVER"
}
let_go() {
	kill -CONT "$SERVER"
}

# other tests have the program too, and its name is in expressions
CALLS_NAME=calls$$
CALLS=$WORK/$CALLS_NAME
cp "$PWD/tests/fs/kernel_calls" "$CALLS"
# the leak checker of a sanitizer calls getppid(2) in the program too
no_leaks=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

# calls COUNT: so many calls of getppid(2) by a program of that name
calls() {
	ASAN_OPTIONS=$no_leaks "$CALLS" 0 "$1" </dev/null >"$WORK/calls" || fail "the program failed"
}

# in_session NAME COMMAND...: with the files of a session; SESSIONS is the folder of all
in_session() {
	local MNT=$SESSIONS/$1
	shift
	"$@"
}

# some_time COMMAND...: one that calls differs() where it may: of some tries one must not. On a virtual
# machine the kernel does not report each switch (seen with Linux 6.18), so that a time is missing.
some_time() {
	local try
	for ((try = 0; try < 5; try++)); do
		different=0
		"$@"
		[ "$different" = 0 ] && return
	done
	fail "$* differs in each of $try tries"
}

differs() {
	echo "$*"
	different=$((different + 1))
}

# A stopped server can't be ended.
end_test() {
	local status=$?
	[ -n "$SERVER" ] && kill -CONT "$SERVER" 2>/dev/null
	(exit "$status")
	clean_up
}
trap end_test EXIT
take_machine

#!/bin/bash
# SPDX-License-Identifier: MIT
# prof_copies: A copy of kpdata is complete. Without the server, kprof reports it with the names of all
# processes and functions, also if the capture was overwritten often, was cleared during the run, or all its
# processes have ended.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

# two programs of other names; what was recorded has to say which is which
cp "$FIXTURES/split" "$WORK/alpha"
cp "$FIXTURES/split" "$WORK/beta"
cp "$FIXTURES/faults" "$WORK/filler"

# names_of FILE PROCESS...: of these processes `PROCESS FUNCTION FILE` for each function in a program
# of ours that a report shows
names_of() {
	local copy=$1
	shift
	"$KPROF" report "$copy" >"$WORK/report" || fail "kprof report $copy"
	awk -v wanted=" $* " -v dir="$WORK/" '
		index(wanted, " " $4 " ") && index($6, dir) == 1 { print $4, $5, substr($6, length(dir) + 1) }
		' "$WORK/report" | sort
}

# callers_of FILE PROCESS: the direct callers of burn_seventy that have at least a twentieth of it
# (a sample at the first instruction, before there is a frame, has the caller's caller)
callers_of() {
	"$KPROF" report --callers "$1" | awk -v process="$2" '
		$3 == "<-" { if (all && $2 * 20 >= all) print $5; next }
		{ all = $4 == process && $5 == "burn_seventy" ? $2 : 0 }' | sort -u | tr '\n' ' '
}

# the report shows of a program the two functions, under this name
complete() {
	local name
	for name in "$@"; do
		printf '%s burn_seventy %s\n%s burn_thirty %s\n' "$name" "$name" "$name" "$name"
	done
}

# check_names WHAT FILE PROCESS...: they have their names, and nothing has a name it should not have
check_names() {
	local what=$1 copy=$2 name
	shift 2
	same "$what" "$(complete "$@")" "$(names_of "$copy" "$@" | grep -E ' burn_')"
	same "$what: names that do not belong together" "" \
		"$(names_of "$copy" "$@" | awk '$1 != $3')"
	for name in "$@"; do
		same "$what: callers in $name" "call_forty call_sixty " \
			"$(callers_of "$copy" "$name")"
		same "$what: samples of $name without a symbol" 0 \
			"$(names_of "$copy" "$name" | grep -c ' 0x')"
	done
}

samples_beyond() {
	local now
	ctl flush
	now=$(stat_of "$1")
	[ "${now:-0}" -ge "$2" ]
}

begin_programs() {
	"$WORK/alpha" 60000 >"$WORK/said.alpha" &
	alpha=$!
	"$WORK/beta" 60000 >"$WORK/said.beta" &
	beta=$!
}

end_programs() {
	kill "$alpha" "$beta"
	wait "$alpha" "$beta"
}

serve
need_machine

# overwritten many times: alpha runs before the start, beta begins during the first of them
ctl 'event cpu-clock:freq=999,page-faults:period=1' 'stack user' 'prof_qlimit 1024' \
	'mode overwrite' clear
"$WORK/alpha" 60000 >"$WORK/said.alpha" &
alpha=$!
ctl start
check "it runs" test "$(tail -n 1 "$MNT/kpctl")" = start || exit 1
"$WORK/beta" 60000 >"$WORK/said.beta" &
beta=$!
while [ "$(stat_of bytes.dropped)" -lt $((8 << 20)) ]; do
	timeout 60 "$WORK/filler" 20000 || fail "filler"
	ctl flush
done
# enough of the two at the end, that what is held shows both callers of both
held=$(stat_of bytes.written)
wait_for samples_beyond bytes.written $((held + 300000))
ctl stop
end_programs
check "what is held is bounded" test "$(stat_of bytes.memory)" -le $((1 << 20))
copy_to "$WORK/overwritten"

# cleared while running: the copy has what came after, and the names that were recorded before
ctl 'event cpu-clock:freq=4999' 'stack both' 'prof_qlimit 16384' 'mode discard' clear
begin_programs
ctl start
wait_for samples_beyond samples.received 2000
ctl clear
check "clear forgets" test "$(stat_of samples.received)" -lt 2000
wait_for samples_beyond samples.received 4000
ctl stop
copy_to "$WORK/cleared"
end_programs

# all processes ended before the copy was made, and others came that have their addresses now
ctl clear start
"$WORK/alpha" 400 >"$WORK/said.alpha" || fail "alpha"
"$WORK/beta" 400 >"$WORK/said.beta" || fail "beta"
ctl stop
copy_to "$WORK/ended"

serve_end
check_names overwritten "$WORK/overwritten" alpha beta
check_names cleared "$WORK/cleared" alpha beta
check_names ended "$WORK/ended" alpha beta

# SPDX-License-Identifier: MIT
# only_lib.sh: functions for scripts that filter samples by `only`. Sourced after prof_lib.sh.

# other scripts have programs of these names: one script after the other
exec {names}<"$FIXTURES/faults"
flock "$names"
# two programs of which the page faults are known, with names of their own
WANTED=$WORK/wanted
OTHER=$WORK/other
cp "$FIXTURES/faults" "$WANTED"
cp "$FIXTURES/faults" "$OTHER"
spec=page-faults:period=1

# stop_and_check_counts: with the copies of kpstat and kpdata that other functions read
stop_and_check_counts() {
	ctl stop
	cat "$MNT/kpstat" >"$WORK/stat"
	copy_to "$WORK/copy"
	check_balance "$WORK/stat" "$WORK/copy" "$(sed -n "s/^event\.\([0-9]*\)\.text $spec\$/\1/p" "$WORK/stat")"
	echo "$(sed -n 's/^only //p' "$MNT/kpctl"): $count = $delivered + $filtered filtered + $lost + $undelivered"
}

# nearly COMMAND...: as exactly() of prof_lib.sh, but of 10,000 that were counted one may be undelivered: the
# server's own page faults are many here, and Linux counts a few page faults of which it makes no sample.
nearly() {
	local try
	for ((try = 0; try < 20; try++)); do
		undelivered=
		"$@"
		[ $((undelivered * 10000)) -gt $((count + 10000)) ] || return 0
		[ "$failures" = 0 ] || return
		echo "the kernel counted $undelivered that it did not sample: $*"
	done
	fail "undelivered in each of $try tries: $*"
}

# touched PROCESS: the page faults of its function that makes them, in the copy
touched() {
	samples_in "$WORK/copy" "$1" touch_pages --event "$spec"
}

# the processes that were sampled
sampled() {
	sed -n 's/^[0-9]* [a-z]*_trace .* pid=\([0-9]*\) .*/\1/p' "$WORK/dump" | sort -u | xargs
}

# new_cgroup NAME: a cgroup of version 2, in $CGROUPS; false if that is not possible. The script calls
# remove_cgroups at its end.
CGROUPS=
MADE=()
new_cgroup() {
	[ -n "$CGROUPS" ] || CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$CGROUPS" ] && mkdir "$CGROUPS/$1" 2>/dev/null || return
	MADE=("$1" "${MADE[@]}")
}
remove_cgroups() {
	local name
	for name in "${MADE[@]}"; do
		rmdir "$CGROUPS/$name" 2>/dev/null
	done
}

# in_cgroup NAME COMMAND...
in_cgroup() {
	local name=$1
	shift
	# shellcheck disable=SC2016 # the other shell's
	sh -c 'echo $$ >"$0" && exec "$@"' "$CGROUPS/$name/cgroup.procs" "$@"
}
end_only() {
	local status=$?
	remove_cgroups
	(exit "$status")
	end_test
}
trap end_only EXIT

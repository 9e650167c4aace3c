# SPDX-License-Identifier: MIT
# state: what it costs that captures are in files (mount option state=).
#
# Two servers, one without and one with state=, sample two busy threads at once, with stacks of some 25 frames,
# for some seconds: both have the same samples, processes and load of the machine. The cost is the CPU time of
# the server for each sample, with the writes to files; the kernel's own threads that write to the disk are not
# counted. `filling` is with memory and files that were used before, and no packed blocks; `full` with packed
# blocks that are overwritten. STATE_IN: on which disk (the folder of this benchmark).

window=5 rate=9999
directory=$(mktemp -d "${STATE_IN:-$work}/state.XXXXXX") || fail "mktemp"
plain=$work/plain
mkdir "$plain"

plain_is_mounted() {
	grep -q " $plain fuse" /proc/self/mounts
}

# both WORD...: of kpctl
both() {
	printf '%s\n' "$@" >"$plain/kpctl" || fail "kpctl: $*"
	control "$@"
}

samples_of() {
	awk '$1 == "samples.received" { print $2 }' "$1/kpstat"
}

# measure WORD...: adds to $without, $with and $ratios, after a run that is not counted
measure() {
	local before_plain before
	without=() with=() ratios=()
	both clear "event cpu-clock:freq=$rate" 'stack both' "$@"
	for ((round = 0; round <= rounds; round++)); do
		both clear
		before_plain=$(cpu_ns "$plain_server") before=$(cpu_ns "$server")
		both start
		sleep "$window"
		both stop
		before_plain=$(($(cpu_ns "$plain_server") - before_plain)) before=$(($(cpu_ns "$server") - before))
		((round > 0)) || continue
		without+=("$(calc "$before_plain / $(samples_of "$plain")")")
		with+=("$(calc "$before / $(samples_of "$mount")")")
		ratios+=("$(calc "${with[-1]} / ${without[-1]}")")
	done
}

start_server -o "state=$directory"
background "$build/kprofs" -f -o socket=none "$plain"
plain_server=$!
until_true 10 plain_is_mounted || fail "could not mount"
background "$build/bench/busy" -t 2
for kind in filling full; do
	words=('prof_qlimit 65536' 'mode discard')
	[ "$kind" = filling ] || words=('prof_qlimit 8192' 'mode overwrite')
	measure "${words[@]}"
	figure "${kind}_without" ns/sample - "${without[@]}"
	figure "${kind}_with" ns/sample - "${with[@]}"
	figure "${kind}_ratio" ratio '<= 1.05' "${ratios[@]}"
done
umount "$plain"
stop_server
rm -rf "$directory"

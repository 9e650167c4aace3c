# SPDX-License-Identifier: MIT
# mpstat: one open, read, close cycle of mpstat, beside one of kprintx on the same mount; and by how much tbench is
# slower while the times are measured in the kernel.

turns=5000
start_server
mpstat_ns=() kprintx_ns=() ratios=()
for ((round = 0; round < rounds; round++)); do
	ours=$("$build/bench/reading" turns "$mount/mpstat" "$turns")
	other=$("$build/bench/reading" turns "$mount/kprintx" "$turns")
	mpstat_ns+=("$ours") kprintx_ns+=("$other")
	ratios+=("$(calc "$ours / $other")")
done
figure turn ns - "${mpstat_ns[@]}"
figure kprintx_turn ns - "${kprintx_ns[@]}"
figure ratio ratio '<= 1.2' "${ratios[@]}"
stop_server

command -v tbench >/dev/null || fail "needs tbench (Debian: dbench)"
# shellcheck source=bench/slots.bash
. "$bench/slots.bash"

words() {
	printf '%s\n' "$@" >"$mount/mpstat" || fail "mpstat: $(tail -n 1 "$mount/kperr")"
}
is_detached() {
	[ "$(attached "$server")" = 0 ]
}
measure_times() { words on; }
stop_times() {
	words off
	until_true 20 is_detached || fail "programs stay attached"
}

start_server
words 'source bpf'
stop_times
for split in ticks calls; do
	words "split $split"
	limit=-
	[ $split = calls ] || limit='<= 8'
	compare_slots "tbench.split_$split" "$limit" measure_times stop_times tbench 2
done
figure attached_off programs '<= 0' "$(attached "$server")"

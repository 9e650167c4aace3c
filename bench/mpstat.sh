# SPDX-License-Identifier: MIT
# mpstat: one open, read, close cycle of mpstat, beside one of kprintx on the same mount.

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

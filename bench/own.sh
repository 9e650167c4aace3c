# SPDX-License-Identifier: MIT
# own: the cost of a sample in the session of an ordinary user, beside that in one of root.
#
# A program of the user has page faults, each of which is a sample with its user stack. In turn no session
# samples, that of root, and that of the user. The cost is what a page fault takes longer, which is the kernel's
# part, and the CPU time of the server for a sample. `refused` is what a page fault takes longer while another
# user's session samples, which refuses it.

user=65534 other=65533 pages=1000 turns=200
[ "$(id -u)" = 0 ] || fail "only root has sessions of other users"
command -v setpriv >/dev/null || fail "needs setpriv (util-linux)"

as() {
	setpriv --reuid "$1" --regid "$1" --clear-groups -- "${@:2}"
}

# fault: the ns of one page fault of the user's program
fault() {
	as $user "$work/faulting" $pages $turns || fail "faulting"
}

# sample SESSION: prints the ns of a page fault while it samples, and the CPU ns of the server for each sample
sample() {
	local session=$mount/sessions/$1 before n ns
	printf '%s\n' clear 'event page-faults:period=1' 'stack user' 'prof_cpubufsz 4096' 'mode overwrite' \
		>"$session/kpctl" || fail "$1: $(tail -n 1 "$session/kperr")"
	echo start >"$session/kpctl" || fail "$1: $(tail -n 1 "$session/kperr")"
	before=$(cpu_ns "$server")
	ns=$(fault)
	before=$(($(cpu_ns "$server") - before))
	echo stop >"$session/kpctl"
	n=$(awk '$1 == "samples.received" { print $2 }' "$session/kpstat")
	echo "$ns $before $n"
}

cp "$build/bench/faulting" "$work" && chmod 755 "$work" "$work/faulting"
start_server -o allow_other,user_rates=any
mkdir "$mount/sessions/root" || fail "mkdir: $(tail -n 1 "$mount/kperr")"
as $user mkdir "$mount/sessions/own" || fail "mkdir: $(tail -n 1 "$mount/kperr")"
as $other mkdir "$mount/sessions/other" || fail "mkdir: $(tail -n 1 "$mount/kperr")"
sample root >/dev/null # memory that is used for the first time costs more
sample own >/dev/null
roots=() owns=() ratios=() refusals=()
for ((round = 0; round < rounds; round++)); do
	bare=$(fault)
	read -r ns cpu n < <(sample root)
	((n >= pages * turns)) || fail "root has $n samples of $((pages * turns))"
	root=$(calc "$ns - $bare + $cpu / $n")
	read -r ns cpu n < <(sample own)
	((n >= pages * turns)) || fail "the user has $n samples of $((pages * turns))"
	own=$(calc "$ns - $bare + $cpu / $n")
	read -r ns cpu n < <(sample other)
	((n < pages)) || fail "the other user has $n samples"
	refusals+=("$(calc "$ns - $bare")")
	roots+=("$root") owns+=("$own") ratios+=("$(calc "$own / $root")")
done
figure root ns/sample - "${roots[@]}"
figure own ns/sample - "${owns[@]}"
figure own_to_root ratio '<= 1.2' "${ratios[@]}"
figure refused ns - "${refusals[@]}"

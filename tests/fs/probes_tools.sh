#!/bin/bash
# SPDX-License-Identifier: MIT
# probes_tools: the tools that the package bpftrace installs, those of them that bpftrace can run on this machine, in
# bpftrace and in probes/ at the same time on known work: what they print of it, their counts and rows of histograms
# are equal.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

TOOLS=${TOOLS:-/usr/sbin}
DISK=$PWD/probes_tools.$$
# Not those with uprobes: while bpftrace attaches these, the kernel waits for each process that maps the library, and
# the machine for the kernel (src/sys/held.h), which bpftrace does not look for before.
NAMES=${NAMES:-"bitesize cpuwalk execsnoop killsnoop naptime opensnoop pidpersec setuids statsnoop syncsnoop syscount
	writeback"}

if ! command -v bpftrace >"$WORK/which" || ! [ -e "$TOOLS/opensnoop.bt" ] || [ "$(id -u)" != 0 ]; then
	echo "needs root, bpftrace and its tools"
	exit 77
fi
serve -o trace_size=16384
need_probe first 'syscall:getppid:entry { @ = count(); }'
rm "$MNT/probes/first"
cat "$MNT/kptrace_pipe" >"$WORK/printed" &
mkdir "$DISK" "$WORK/theirs" "$WORK/ours"
finish() {
	local status=$?
	rm -rf "$DISK"
	(exit "$status")
	clean_up
}
trap finish EXIT

# ---- both run

# bpftrace starts this when it has attached, and prints its maps when it ends; the folder goes when the test ends
cat >"$WORK/gate" <<'END'
: >"$1.ready"
until [ -e "$2" ] || ! [ -d "${2%/*}" ]; do
	read -rt 0.05 <> <(:)
done
END
tracers=() run=() refused=()
for name in $NAMES; do
	bpftrace -c "/bin/bash $WORK/gate $WORK/theirs/$name $WORK/go" "$TOOLS/$name.bt" >"$WORK/theirs/$name" \
		2>"$WORK/theirs/$name.log" &
	tracers+=($!)
done
i=0
for name in $NAMES; do
	is_ready() {
		[ -e "$WORK/theirs/$name.ready" ] || has_ended "${tracers[i]}"
	}
	WAIT=120 wait_for is_ready
	if [ -e "$WORK/theirs/$name.ready" ]; then
		run+=("$name")
		cp "$TOOLS/$name.bt" "$MNT/probes/$name" || fail "$name is refused: $(tail -n 3 "$MNT/kperr")"
	else
		refused+=("$name")
	fi
	i=$((i + 1))
done
echo "bpftrace does not run here: ${refused[*]:-none}"
[ "${#run[@]}" != 0 ] || exit 77

timeout 60 "$PWD/tests/fs/probes_tools" "$DISK" || fail "the work failed"

# The first line of a message has the program's name, each one the time.
printed_by() {
	awk -v label="probe:$1: " '{ sub(/^.*\]:cpu[0-9]+: /, ""); at = index($0, "probe:") }
		at { ours = index($0, label); if (ours) $0 = substr($0, ours + length(label)) }
		ours { print }' "$WORK/printed"
}

# has_prints COUNT: pidpersec, which prints once a second and forgets what it counted at its end
has_prints() {
	[ "$(printed_by pidpersec | grep -c 'PIDs/sec')" -ge "$1" ]
}
if [[ " ${run[*]} " == *" pidpersec "* ]]; then
	# a whole second passes between two: bpftrace's prints once as well
	wait_for has_prints $(($(printed_by pidpersec | grep -c 'PIDs/sec') + 2))
fi

for name in "${run[@]}"; do
	put "probes/$name" off
done
: >"$WORK/go"
WAIT=60 wait_for has_ended "${tracers[-1]}"
wait "${tracers[@]}" 2>/dev/null
for name in "${run[@]}"; do
	cat "$MNT/probes/$name" >"$WORK/ours/$name.maps"
done
put kptrace "kp_end"
WAIT=60 wait_for grep -q kp_end "$WORK/printed"
for name in "${run[@]}"; do
	{ printed_by "$name"; grep -v '^#' "$WORK/ours/$name.maps"; } >"$WORK/ours/$name"
done
serve_end

# ---- what they print of the work

# The words of a line, one a line: a tool makes one line by several calls, which are lines of their own in the trace.
words() {
	tr -s ' \n' '\n\n'
}

# of AWK: of each line of the work; without the time of day in front. bpftrace cuts texts after 63 characters.
lines_of() {
	sed -E 's/^[0-9]{2}:[0-9]{2}:[0-9]{2} *//' "$1" | grep -E 'probes_tools |kp_|uid=4242 ' | awk "$2" | words |
		cut -c 1-63
}

# a histogram of a key, or of a map
rows_of() {
	awk -v map="$2" '$1 == map { on = 1; next } on && !/^[[(]/ { on = 0 } on { print $1, $2, $3 }' "$1" | tr -d '|@'
}

# about FILE NAME: what is compared
about() {
	case $2 in
	bitesize) rows_of "$1" "@[probes_tools]:" ;;
	cpuwalk) rows_of "$1" "@cpu:" | cut -d ' ' -f 1,2 ;;
	execsnoop) sed -n 's/^.*\(true kp_exec_.*\)/\1/p' "$1" | words ;;
	pidpersec) awk '/PIDs\/sec/ { for (i = 1; i < NF; i++) if ($i == "@:") n += $(i + 1) } /^@: / { n += $2 }
		END { print (n >= 40 ? "at least those of the work" : n) }' "$1" ;;
	syscount) grep -E '^@process\[probes_tools\]|^@syscall\[(140|141)\]' "$1" ;;
	writeback) grep -w sync "$1" | sed -E 's/^[0-9:]{8} *//' | awk '{ print $1, $2, $3 }' ;;
	*) lines_of "$1" '{ print }' ;;
	esac
}

for name in "${run[@]}"; do
	about "$WORK/theirs/$name" "$name" >"$WORK/theirs/$name.about"
	about "$WORK/ours/$name" "$name" >"$WORK/ours/$name.about"
	if ! [ -s "$WORK/theirs/$name.about" ]; then
		fail "$name: bpftrace shows nothing of the work"
	elif [ "$name" = writeback ]; then
		# bpftrace was there first, and other processes cause some as well
		same "writeback in probes/ only" "" "$(comm -13 <(sort "$WORK/theirs/$name.about") <(sort "$WORK/ours/$name.about"))"
	elif diff -u "$WORK/theirs/$name.about" "$WORK/ours/$name.about" >"$WORK/diff"; then
		echo "$name: equal, $(wc -l <"$WORK/theirs/$name.about") lines or words"
	else
		fail "$name: $(head -n 40 "$WORK/diff")"
	fi
	[ -z "${KEEP-}" ] || cp -r "$WORK/theirs" "$WORK/ours" "$KEEP"
done

#!/bin/bash
# SPDX-License-Identifier: MIT
# mpstat_times: The time between two reads of mpstat and mpstat-raw is, in each column of each CPU, at least
# the time between two reads of /proc/stat inside of them and at most the time between two reads outside,
# while one CPU runs user code and then kernel code. Both count in the same ticks, so that no tolerance is
# needed.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
# shellcheck source=tests/fs/prof_lib.sh
. "${srcdir:-.}/tests/fs/prof_lib.sh"

tries=5
busy_ticks=30
hz=$(getconf CLK_TCK)
cpu=$(sed -n 's/^cpu\([0-9][0-9]*\) .*/\1/p' /proc/stat | tail -n 1)

# look NAME: copies of mpstat and mpstat-raw, with /proc/stat before and behind them
look() {
	cat /proc/stat >"$WORK/$1.before"
	cat "$MNT/mpstat" >"$WORK/$1.text"
	cat /proc/stat >"$WORK/$1.between"
	cat "$MNT/mpstat-raw" >"$WORK/$1.raw"
	cat /proc/stat >"$WORK/$1.behind"
}

# The four files turned into `CPU COLUMN NS` lines.
# shellcheck disable=SC2016 # awk's
from_stat='
	/^cpu[0-9]/ {
		cpu = substr($1, 4)
		print cpu, "irq", ($7 + $8) * tick
		print cpu, "kern", $4 * tick
		print cpu, "user", ($2 + $3) * tick
		print cpu, "idle", ($5 + $6) * tick
	}'

columns_of_stat() {
	awk -v tick=$((1000000000 / hz)) -v OFMT=%.0f "$from_stat" "$1"
}

columns_of_text() {
	local row
	sed -n 's/^ *\([0-9]*\): *\([0-9.]*\) (...%), *\([0-9.]*\) (...%), *\([0-9.]*\) (...%), *\([0-9.]*\) (...%) $/\1 \2 \3 \4 \5/p' "$1" |
		while read -r row irq kern user idle; do
			# seconds with six decimals, and a tick has no more
			printf '%s irq %s000\n%s kern %s000\n%s user %s000\n%s idle %s000\n' \
				"$row" "${irq/./}" "$row" "${kern/./}" "$row" "${user/./}" \
				"$row" "${idle/./}"
		done
}

columns_of_raw() {
	local row irq kern user idle
	sed 1d "$1" | while IFS=': ' read -r row irq kern user idle; do
		printf '%s irq %d\n%s kern %d\n%s user %d\n%s idle %d\n' "$row" "0x$irq" \
			"$row" "0x$kern" "$row" "0x$user" "$row" "0x$idle"
	done
}

# between WHAT OURS1 OURS2 BEFORE1 BEHIND1 BEFORE2 BEHIND2: six lists of columns, by their names in
# $WORK: the difference of ours is at least that from BEHIND1 to BEFORE2, at most that from BEFORE1
# to BEHIND2
between() {
	local what=$1 file
	shift
	for file in "$@"; do
		[ -s "$WORK/$file" ] || fail "$what: nothing in $file"
	done
	(cd "$WORK" && awk -v what="$what" '
		FNR == 1 { file++ }
		{ ns[file, $1, $2] = $3; if (file == 1) columns[$1 " " $2] }
		END {
			for (column in columns) {
				split(column, name, " ")
				for (i = 1; i <= 6; i++) {
					if ((i, name[1], name[2]) in ns) {
						t[i] = ns[i, name[1], name[2]] + 0
						continue
					}
					print "FAIL: " what ": CPU " column " is not in list " i
					bad = 1
				}
				ours = t[2] - t[1]; inside = t[5] - t[4]; outside = t[6] - t[3]
				if (ours < inside || ours > outside) {
					printf "FAIL: %s: CPU %s: %d, not between %d and %d\n",
						what, column, ours, inside, outside
					bad = 1
				}
				n++
			}
			if (!n) { print "FAIL: " what ": no columns"; bad = 1 }
			exit bad
		}' "$@")
}

# compare WHAT: the copies `first` and `second`
compare() {
	local name bad=0
	for name in first second; do
		for file in before between behind; do
			columns_of_stat "$WORK/$name.$file" >"$WORK/$name.$file.columns"
		done
		columns_of_text "$WORK/$name.text" >"$WORK/$name.text.columns"
		columns_of_raw "$WORK/$name.raw" >"$WORK/$name.raw.columns"
	done
	between "$1, mpstat" first.text.columns second.text.columns first.before.columns \
		first.between.columns second.before.columns second.between.columns || bad=1
	between "$1, mpstat-raw" first.raw.columns second.raw.columns first.between.columns \
		first.behind.columns second.between.columns second.behind.columns || bad=1
	return $bad
}

# the column $2 of the busy CPU, in ns, in the list $1
column() {
	awk -v cpu="$cpu" -v name="$2" '$1 == cpu && $2 == name { print $3 }' "$WORK/$1"
}

# Whether a counter of the kernel went back, which idle and iowait may: then nothing bounds anything.
counters_fell() {
	[ "$(stat_of mpstat.backward_steps)" != "$1" ] || (cd "$WORK" && awk '
		/^cpu[0-9]/ {
			for (i = 2; i <= 9; i++) {
				if ($i < last[$1, i]) fell = 1
				last[$1, i] = $i + 0
			}
		}
		END { exit !fell }' first.before first.between first.behind \
		second.before second.between second.behind)
}

# so many ticks of the column have passed on the busy CPU since the second list of `first`
has_been_busy() {
	cat /proc/stat >"$WORK/now"
	columns_of_stat "$WORK/now" >"$WORK/now.columns"
	columns_of_stat "$WORK/first.behind" >"$WORK/then.columns"
	[ $(($(column now.columns "$1") - $(column then.columns "$1"))) -ge \
		$((busy_ticks * 1000000000 / hz)) ]
}

# measure COLUMN COMMAND...: while the command runs on that CPU
measure() {
	local kind=$1 try falls status passed
	shift
	for ((try = 0; try < tries; try++)); do
		falls=$(stat_of mpstat.backward_steps)
		taskset -c "$cpu" "$@" &
		load=$!
		look first
		wait_for has_been_busy "$kind"
		look second
		kill "$load"
		wait "$load"
		compare "busy in $kind" >"$WORK/wrong"
		status=$?
		counters_fell "$falls" || break
		echo "a counter of the kernel fell"
	done
	[ "$try" -lt "$tries" ] || fail "the kernel's counters fell in each of $tries tries"
	if [ "$status" != 0 ]; then
		cat "$WORK/wrong"
		fail "busy in $kind"
	fi
	passed=$(($(column second.raw.columns "$kind") - $(column first.raw.columns "$kind")))
	[ "$passed" -ge $((busy_ticks * 1000000000 / hz)) ] ||
		fail "busy in $kind: only $passed ns of it"
	echo "CPU $cpu busy in $kind: $passed ns"
}

if [ $((1000000 % hz)) != 0 ]; then
	echo "ticks of 1/$hz s are no whole number of microseconds"
	exit 77
fi
serve
measure user sh -c 'while :; do :; done'
measure kern dd if=/dev/zero of=/dev/null bs=1M status=none
put mpstat reset
measure user sh -c 'while :; do :; done'

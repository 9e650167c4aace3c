#!/bin/bash
# SPDX-License-Identifier: MIT
# cpu_times: the CPU_TIMES records of a capture. What they say that each CPU did in a run is at least what
# passed in /proc/stat between two reads just inside of the run, and at most what passed between two
# just outside, whatever is written to mpstat meanwhile; each run has its own; kprof record keeps that
# of its run; report.html shows their sums.
#
# Both count in the same ticks, so the bounds hold to the tick.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

KPROF=$PWD/kprof
hz=$(getconf CLK_TCK)
tries=5

serve
put kpctl "event cpu-clock:freq=99"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
put kpctl stop
grep -q '^mpstat.source none$' "$MNT/kpstat" && { echo "no CPU times here"; exit 77; }

# columns_of FILE: lines CPU COLUMN NS
columns_of() {
	awk -v tick=$((1000000000 / hz)) '
		/^cpu[0-9]/ {
			cpu = substr($1, 4)
			printf "%d irq %.0f\n%d kern %.0f\n", cpu, ($7 + $8) * tick, cpu, $4 * tick
			printf "%d user %.0f\n%d idle %.0f\n", cpu, ($2 + $3) * tick, cpu, ($5 + $6) * tick
			printf "%d steal %.0f\n", cpu, $9 * tick
		}' "$1"
}

# times_of CAPTURE RUN: the same of the RUN-th run (1 is the first), from its last records
times_of() {
	"$KPROF" dump "$1" | awk -v wanted="$2" '
		$2 == "cpu_times" {
			for (i = 3; i <= NF; i++) {
				split($i, pair, "=")
				value[pair[1]] = pair[2]
			}
			if (!(value["since"] in run))
				run[value["since"]] = ++runs
			if (run[value["since"]] == wanted)
				for (i = 6; i <= 10; i++) {
					split($i, pair, "=")
					last[value["cpu"] " " pair[1]] = pair[2]
				}
		}
		END { for (key in last) print key, last[key] }'
}

# A number of the program: its loop takes some 100 ms.
burn() {
	local i
	for ((i = 0; i < 100000; i++)); do :; done
}

# one_run: with /proc/stat before and behind its start and stop
one_run() {
	cat /proc/stat >"$WORK/before_start"
	put kpctl start
	cat /proc/stat >"$WORK/behind_start"
	burn
	put mpstat reset
	burn
	cat /proc/stat >"$WORK/before_stop"
	put kpctl stop
	cat /proc/stat >"$WORK/behind_stop"
}

# within WHAT TIMES: prints what is out of the bounds
within() {
	local outer="$WORK/before_start $WORK/behind_stop" inner="$WORK/behind_start $WORK/before_stop" file
	for file in $outer $inner; do
		columns_of "$file" >"$file.columns"
	done
	# shellcheck disable=SC2086 # names of files without blanks
	awk -v rows="$(grep -c '^cpu[0-9]' /proc/stat)" '
		FILENAME ~ /before_start/ { low[$1 " " $2] = $3 }
		FILENAME ~ /behind_stop/ { most[$1 " " $2] = $3 - low[$1 " " $2] }
		FILENAME ~ /behind_start/ { first[$1 " " $2] = $3 }
		FILENAME ~ /before_stop/ { least[$1 " " $2] = $3 - first[$1 " " $2] }
		FILENAME ~ /times$/ {
			n++
			key = $1 " " $2
			if ($3 < least[key] || $3 > most[key])
				print key ": " $3 " is not from " least[key] " to " most[key]
		}
		END { if (n != 5 * rows) print n " times for " rows " CPUs" }
	' ${outer// /.columns }.columns ${inner// /.columns }.columns "$1"
}

# ---- one run, and a second one -------------------------------------------------------------------

# the idle time of a tickless CPU is an estimate of the kernel, which may go back by a tick
for ((try = 1; try <= tries; try++)); do
	put kpctl clear
	one_run
	cat "$MNT/kpdata" >"$WORK/one"
	times_of "$WORK/one" 1 >"$WORK/first.times"
	wrong=$(within "$WORK/first.times")
	[ -n "$wrong" ] || break
done
same "the times of a run" "" "$wrong"
check "a CPU was busy in user space" awk '$2 == "user" { n += $3 } END { exit !(n >= 100000000) }' "$WORK/first.times"

for ((try = 1; try <= tries; try++)); do
	one_run
	cat "$MNT/kpdata" >"$WORK/two"
	times_of "$WORK/two" $((try + 1)) >"$WORK/second.times"
	wrong=$(within "$WORK/second.times")
	[ -n "$wrong" ] || break
done
same "the times of a later run" "" "$wrong"
same "the first run is as it was" "$(sort "$WORK/first.times")" "$(times_of "$WORK/two" 1 | sort)"
runs=$("$KPROF" dump "$WORK/two" | sed -n 's/.* cpu_times .* since=\([0-9]*\) .*/\1/p' | sort -u | wc -l)
[ "$runs" -ge 2 ] || fail "$runs runs"

# ---- kprof record keeps its own run ----------------------------------------------------------------

(cd "$WORK" && "$KPROF" record -q -m "$MNT" -o recorded -- true) || fail "kprof record: $?"
same "one run is recorded" 1 "$("$KPROF" dump "$WORK/recorded" |
	sed -n 's/.* cpu_times .* since=\([0-9]*\) .*/\1/p' | sort -u | wc -l)"
check "it is none of the earlier ones" [ "$("$KPROF" dump "$WORK/two" | grep -c "cpu_times .*since=$("$KPROF" dump \
	"$WORK/recorded" | sed -n 's/.* cpu_times .* since=\([0-9]*\) .*/\1/p' | head -n 1) ")" = 0 ]

# ---- a clear -------------------------------------------------------------------------------------

put kpctl start
put kpctl clear
one=$(stat_of profiler.since_ns)
put kpctl stop
cat "$MNT/kpdata" >"$WORK/cleared"
same "no run of before a clear" "" "$("$KPROF" dump "$WORK/cleared" | awk -v since="$one" '
	$2 == "cpu_times" { for (i = 3; i <= NF; i++) if (split($i, p, "=") && p[1] == "since" && p[2] < since) print }')"

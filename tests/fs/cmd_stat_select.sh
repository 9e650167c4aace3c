#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_stat_select: kprof stat counts selected processes, threads and CPUs, repeats runs, prints intervals,
# and prints the values that perf stat -x prints.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

FAULTS=$PWD/tests/fixtures/faults

# stat STATUS ARGUMENTS...
stat() {
	kprof_ends "$1" stat "${@:2}"
}

said() {
	grep -qE -- "$1" "$tmp/err" || fail "'$1' was to be said: $(cat "$tmp/err")"
}

# holds CONDITION: of awk, about the figures in it
holds() {
	awk "BEGIN { exit !($1) }" || fail "not $1: $(cat "$tmp/err")"
}

if ! "$KPROF" stat -e page-faults true 2>"$tmp/err"; then
	echo "nothing can be counted here: $(cat "$tmp/err")"
	exit 77
fi

python3 -c '' 2>/dev/null || { echo "no python3 here"; exit 77; }

# ---- values for programs ------------------------------------------------------------------------

stat 0 -x , -e page-faults,task-clock -- "$FAULTS" 5000
IFS=, read -r faults unit event ns percent rate of <"$tmp/err"
same "the event" "page-faults" "$event"
same "it has no unit" "" "$unit"
holds "$faults >= 5000 && $ns > 0 && $percent == 100"
IFS=, read -r clock unit event ns percent cpus in_use < <(sed -n 2p "$tmp/err")
same "the clock and its unit" "task-clock msec" "$event $unit"
holds "$clock > $ns / 1e6 * 0.9 - 1 && $clock < $ns / 1e6 * 1.1 + 1"
# page faults in a second of CPU time
case $of in K/sec) of=1e3 ;; M/sec) of=1e6 ;; *) fail "the unit of a rate: '$of'" ;; esac
holds "($rate * $of - $faults / $clock * 1000) ^ 2 < (0.01 * $rate * $of) ^ 2"
same "the unit of the clock's figure" "CPUs utilized" "$in_use"
holds "0 < $cpus && $cpus < 2"
same "nothing else" 2 "$(wc -l <"$tmp/err")"
if command -v perf >/dev/null && perf stat -x , -e page-faults -o "$tmp/perf" true 2>/dev/null; then
	stat 0 -x , -e page-faults true
	same "the unit of a figure that can't be derived" "" "$(cut -d , -f 7 "$tmp/err")"
	same "as many fields in front as perf has" "page-faults" "$(grep -v '^#' "$tmp/perf" | grep . | cut -d , -f 3)"
	same "the same" "page-faults" "$(cut -d , -f 3 "$tmp/err")"
	same "the percentage is in its field" "100.00 100.00" \
		"$(grep -v '^#' "$tmp/perf" | grep . | cut -d , -f 5) $(cut -d , -f 5 "$tmp/err")"
fi

# with all fields that perf has for these events, also for several runs
if perf stat -x , -r 2 -e task-clock,page-faults -o "$tmp/perf" true 2>/dev/null; then
	for runs in 1 2; do
		perf stat -x , -r $runs -e task-clock,page-faults -o "$tmp/perf" true
		stat 0 -x , -r $runs -e task-clock,page-faults true
		same "the fields of $runs runs" "$(grep -v '^#' "$tmp/perf" | sed '/^$/d; s/[0-9][0-9.]*/N/g; s/[KMG]*\/sec/R/')" \
			"$(sed 's/[0-9][0-9.]*/N/g; s/[KMG]*\/sec/R/' "$tmp/err")"
	done
	# the time is that of one run, as the value is
	IFS=, read -r clock unit event deviation ns rest <"$tmp/err"
	holds "$clock > $ns / 1e6 * 0.9 - 1 && $clock < $ns / 1e6 * 1.1 + 1"
fi

# ---- several runs -------------------------------------------------------------------------------

# 10000 pages in the first run, 20000 in the second, 30000 in the third, and some faults of the program beside:
# their mean. tests/unit/test_stat_sum.c compares deviations
cat >"$tmp/grows" <<'END'
#!/bin/sh
echo run >>"$1"
exec "$2" $(($(wc -l <"$1") * 10000))
END
chmod +x "$tmp/grows"
stat 3 -r 3 -e page-faults sh -c 'exit 3'
said '^# sh -c exit 3, the means of 3 runs$'
stat 0 -r 3 -j -e page-faults "$tmp/grows" "$tmp/runs" "$FAULTS"
same "it ran three times" 3 "$(wc -l <"$tmp/runs")"
read -r runs mean deviation < <(sed -n 's/.*"count":\([0-9]*\),.*"deviation":\([0-9.]*\),.*/\1 \2/p' "$tmp/err" |
	sed "s/^/$(sed -n 's/.*"runs":\([0-9]*\),.*/\1/p' "$tmp/err") /")
same "as many runs" 3 "$runs"
holds "$mean >= 20000 && $deviation > 0"
stat 2 -r 1000000 -e page-faults true
stat 2 -r 0 true
said 'no number from 1 to'
[ "$(id -u)" != 0 ] || stat 137 -r 5 -e page-faults sh -c 'echo x >>"$0"; kill -KILL $$' "$tmp/killed"
[ ! -e "$tmp/killed" ] || same "what a signal ends is not repeated" 1 "$(wc -l <"$tmp/killed")"

# ---- intervals ----------------------------------------------------------------------------------

stat 0 -I 20 -x ' ' -e page-faults -- sh -c "sleep 0.1; $FAULTS 4000; sleep 0.1"
same "the sum of all intervals" yes "$(awk '$2 ~ /^[0-9]+$/ { n += $2 } END { print (n >= 4000 ? "yes" : n) }' "$tmp/err")"
same "the time grows" yes "$(awk '$1 <= last { bad = 1 } { last = $1 } END { print (bad ? "no" : "yes") }' "$tmp/err")"
holds "$(wc -l <"$tmp/err") > 1"

# ---- processes, threads, CPUs -------------------------------------------------------------------

# a process that works, and its clock by itself
bash -c 'while :; do :; done' &
worker=$!
stat 0 -p $worker -x ' ' -e task-clock -- bash -c 'read -r a b c d e f g h i j k l m before n </proc/'$worker'/stat
	while read -r a b c d e f g h i j k l m now n </proc/'$worker'/stat && ((now < before + 20)); do :; done'
read -r clock _ <"$tmp/err"
holds "$clock > 100" # 20 ticks are 200 ms, but for the first
stat 0 -t $worker -e task-clock -- true
said '^# true on thread '
stat 0 -j -p $worker -e task-clock -- true
grep -q '"target":"process ' "$tmp/err" || fail "the target in JSON"
stat 0 -p $worker -t $$ -p $$ -e task-clock -- true
said "^# true on process $worker, thread $$, process $$\$"
stat 0 -j -p $worker -t $$ -e task-clock -- true
grep -q "\"target\":\"process $worker, thread $$\"" "$tmp/err" || fail "both targets in JSON: $(cat "$tmp/err")"
python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$tmp/err" || fail "JSON: $(cat "$tmp/err")"

# until the process ends
kill $worker
sleep 1 &
"$KPROF" stat -p $! -e task-clock 2>"$tmp/err"
same "it had ended, or was seen to end" yes "$(grep -qE "elapsed|no process" "$tmp/err" && echo yes)"
stat 2 -p 2147483647 -- true
said 'there is no process 2147483647'
stat 2
said 'no command to run'
stat 2 -a -p $$ -- true

if "$KPROF" stat -a -e cpu-clock -- true 2>/dev/null; then
	# a CPU's clock runs as long as the counter; the time between its opening and the command counts too
	stat 0 -C 0 -x ' ' -e cpu-clock -- sleep 0.2
	read -r clock _ _ ns _ <"$tmp/err"
	holds "$clock >= 199 && $clock < $ns / 1e6 + 50"
	stat 0 -a -x ' ' -e cpu-clock -- sleep 0.2
	read -r clock _ <"$tmp/err"
	holds "$clock >= 199 * $(getconf _NPROCESSORS_ONLN)"
	stat 125 -C 16383 -e cpu-clock -- true
fi
stat 2 -C x -- true
said 'no list of CPUs'
[ "$failures" = 0 ]

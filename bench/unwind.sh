# SPDX-License-Identifier: MIT
# unwind: how many stacks of Debian's programs are complete, by frame pointers and by `stack dwarf`, beside
# perf record -g and perf record --call-graph dwarf; and the cost of a sample of each, taken and read.
#
# A stack is complete if its outermost frame is in the entry function of the program's file (_start); the
# programs have one thread. perf script lists the stacks of all four (those of kprofs in the format
# perf.data), so the same tool judges all; the difference is which tool took and unwound them. read_cpu is
# the CPU time from the recorded file to complete stacks: of `kprof convert` for kprofs, of perf script
# for perf. Samples are of the whole machine, percentages of the program's own samples.
# UNWIND_PROGRAMS="python3 perl" selects programs.

command -v perf >/dev/null || fail "needs perf (Debian: linux-perf)"
window=3 rate=999
# absolute paths: programs elsewhere in PATH may be compiled with other options
PATH=/usr/bin:/bin:$PATH

# run_PROGRAM: executes the program, which computes until it is killed
run_python3() {
	exec /usr/bin/python3 -c '
import json, re
def walk(x):
    if isinstance(x, list):
        return sum(map(walk, x))
    return len(re.sub("[0-9]+", lambda m: str(int(m.group()) + 1), str(x)))
text = json.dumps([[i, str(i), [i * 2, [i * 3]]] for i in range(300)])
while True:
    walk(json.loads(text))'
}
run_perl() {
	# shellcheck disable=SC2016 # the dollars are perl's
	exec /usr/bin/perl -e '
sub depth { my ($n) = @_; return $n ? 1 + depth($n - 1) : length(join ",", sort map { $_ * 7 % 13 } 1 .. 50) }
while (1) { my %h; $h{$_ % 97} .= "x$_" for 1 .. 2000; depth(12); s/x(\d+)/y$1/g for values %h }'
}
run_sqlite3() {
	exec /usr/bin/sqlite3 :memory: 'with recursive n(x) as (select 1 union all select x + 1 from n)
		select count(*) from n where printf("%d-%d", x, x * x) like "%77%"' >"$work/sqlite3.out"
}
run_xz() {
	exec /usr/bin/xz -T1 -c /dev/urandom >/dev/null
}

# is_running PID PROGRAM: it executes the program, and its start-up is over
is_running() {
	[ "$(readlink -f "/proc/$1/exe")" = "$(readlink -f "/usr/bin/$2")" ] &&
		awk '{ exit !($14 + $15 > 20) }' "/proc/$1/stat"
}

# find_entry PID: sets entry, the file offset of its entry point; and file, its path
find_entry() {
	local address type offset start physical size rest
	file=$(readlink -f "/proc/$1/exe")
	address=$(($(readelf -hW "$file" | sed -n 's/.*Entry point address: *//p')))
	while read -r type offset start physical size rest; do
		if [ "$type" = LOAD ] && ((address >= start && address < start + size)); then
			entry=$((address - start + offset))
			return
		fi
	done < <(readelf -lW "$file")
	fail "$file: no entry ($physical $rest)"
}

# whole_of FILE: sets whole, the complete stacks in percent of the program's samples, as perf script
# lists them; and read_cpu, its CPU time (ns)
whole_of() {
	"$build/bench/cpu_of" -o "$work/script.cpu" \
		perf script -i "$1" --no-inline --pid "$program" -F pid,ip,dso >"$work/script" 2>"$work/script.log" ||
		fail "perf script: $(head -n 3 "$work/script.log")"
	# PID, then a line `ADDRESS (FILE)` for each frame: perf prints addresses as file offsets
	whole=$(awk -v entry="$(printf '%016x' "$entry")" -v end="$(printf '%016x' $((entry + 64)))" \
		-v file="($file)" '
		function finish() {
			if (!frames) return
			all++
			frames = 0
			address = sprintf("%16s", address)
			gsub(" ", "0", address)
			whole += of == file && address >= entry && address < end
		}
		/^\t/ { address = $1; of = $2; frames++; next }
		{ finish() }
		END { finish(); if (!all) exit 1; print 100 * whole / all }' "$work/script") ||
		fail "no stacks of the program"
	read_cpu=$(cat "$work/script.cpu")
}

# take_kprofs MODE: sets whole, and per sample: cpu, read_cpu (ns), bytes; lost
take_kprofs() {
	local before reader samples throttles
	control clear "event cpu-clock:freq=$rate" "stack $1"
	before=$(cpu_ns "$server")
	control start
	"$build/bench/cpu_of" -o "$work/cat.cpu" cat "$mount/kpdata" >"$work/kpdata" &
	reader=$!
	sleep "$window"
	control stop
	wait "$reader"
	cpu=$(($(cpu_ns "$server") - before + $(cat "$work/cat.cpu")))
	read -r samples lost throttles bytes < <("$build/bench/reading" count "$work/kpdata")
	((samples > 0)) || fail "no samples (throttled $throttles times)"
	"$build/bench/cpu_of" -o "$work/convert.cpu" \
		"$build/kprof" convert -t perf.data -o "$work/ours.data" "$work/kpdata" ||
		fail "kprof convert"
	whole_of "$work/ours.data"
	# perf only lists these stacks; kprofs has unwound them
	read_cpu=$(calc "$(cat "$work/convert.cpu") / $samples")
	cpu=$(calc "$cpu / $samples") bytes=$(calc "$bytes / $samples")
}

# take_perf MODE: the same
take_perf() {
	local samples
	"$build/bench/cpu_of" -o "$work/perf.cpu" \
		perf record -q -B -a --call-graph "$1" -F "$rate" -e cpu-clock -o "$work/perf.data" \
		-- sleep "$window" >"$work/perf.log" 2>&1 || fail "perf record: $(cat "$work/perf.log")"
	perf report -i "$work/perf.data" --stats >"$work/stats" 2>/dev/null
	samples=$(awk '/SAMPLE events:/ { print $3; exit }' "$work/stats")
	((samples > 0)) || fail "no samples in perf.data"
	whole_of "$work/perf.data"
	read_cpu=$(calc "$read_cpu / $samples")
	cpu=$(calc "$(cat "$work/perf.cpu") / $samples")
	bytes=$(calc "$(stat -c %s "$work/perf.data") / $samples")
}

start_server
control 'prof_cpubufsz 4096'
for each in ${UNWIND_PROGRAMS:-python3 perl sqlite3 xz}; do
	if ! [ -x "/usr/bin/$each" ]; then
		echo "$name: /usr/bin/$each is missing"
		continue
	fi
	( "run_$each" ) &
	program=$!
	pids+=("$program")
	until_true 10 is_running "$program" "$each" || fail "$each does not run"
	find_entry "$program"
	declare -A all_whole=() all_cpu=() all_read=() all_bytes=()
	declare -a all_lost=()
	for ((round = 0; round < rounds; round++)); do
		for way in kprofs_both:both perf_fp:fp kprofs_dwarf:dwarf perf_dwarf:dwarf; do
			"take_${way%%_*}" "${way#*:}"
			way=${way%:*}
			all_whole[$way]+=" $whole" all_cpu[$way]+=" $cpu" all_read[$way]+=" $read_cpu"
			all_bytes[$way]+=" $bytes"
			[ "${way%_*}" != kprofs ] || all_lost+=("$lost")
		done
	done
	for way in kprofs_both perf_fp kprofs_dwarf perf_dwarf; do
		limit=-
		[ $way != kprofs_dwarf ] || limit='>= 95'
		# shellcheck disable=SC2086 # the numbers are words
		{
			figure "$each.$way.whole" % "$limit" ${all_whole[$way]}
			figure "$each.$way.cpu" ns/sample - ${all_cpu[$way]}
			figure "$each.$way.read_cpu" ns/sample - ${all_read[$way]}
			figure "$each.$way.bytes" bytes/sample - ${all_bytes[$way]}
		}
	done
	# no round may lose a sample: the sum, not the median
	figure "$each.kprofs.lost" samples '<= 0' "$(calc "$(IFS=+; echo "${all_lost[*]}")")"
	kill "$program"
	# 143: SIGTERM killed it, and it did not exit before
	wait "$program" 2>/dev/null || (($? == 143)) || fail "$each did not compute to the end"
done

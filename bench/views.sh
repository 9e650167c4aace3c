# SPDX-License-Identifier: MIT
# views: a capture of 100,000 samples of 50 programs and more, in the formats of views/, beside
# `perf report` on the same samples.

samples=100000

# the workload: programs of the system, one after the other on each CPU, until there are enough samples
run_programs() {
	local file=/usr/share/dict/words program
	[ -s "$file" ] || file=$(command -v bash)
	while :; do
		for program in awk base64 basename bash cat cksum comm cp cut date dd diff du env expand find \
			fold grep gzip head id join ls md5sum mktemp nl od paste perl pr printf ps python3 sed \
			seq sha1sum sha256sum sha512sum shuf sort split stat strings sum tac tail tar tee tr \
			uniq wc xargs xz; do
			# shellcheck disable=SC2209 # names of programs
			case $program in
			awk) awk '{ n += length } END { print n }' "$file" ;;
			bash) bash -c 'for ((i = 0; i < 30000; i++)); do :; done' ;;
			cat | nl | od | tac | sum | cksum | md5sum | sha1sum | sha256sum | sha512sum | base64 | \
				sort | uniq | wc | pr | expand | fold | shuf | strings | paste) $program "$file" ;;
			find | du | ls) $program /usr/share/doc ;;
			grep) grep -c 'a.*e.*i' "$file" ;;
			gzip | xz) head -c 1000000 "$file" | $program -c ;;
			perl) perl -e '$i++ while $i < 1000000' ;;
			python3) python3 -c 'sum(i * i for i in range(300000))' ;;
			sed) sed 's/a/b/g' "$file" ;;
			seq) seq 500000 ;;
			tar) tar -cf - /usr/share/doc/bash* ;;
			*) $program --version ;;
			esac >/dev/null 2>&1 </dev/null || :
		done
	done
}

enough() {
	[ "$(counter samples.received)" -ge $samples ]
}

# seconds COMMAND...: prints its duration; its output goes to $out
out=/dev/null
seconds() {
	local before=$EPOCHREALTIME
	"$@" >"$out" 2>"$work/err" || fail "$*: $(cat "$work/err")"
	calc "$EPOCHREALTIME - $before"
}

# the peak memory of the server since clear_peak, in MB
clear_peak() {
	echo 5 >"/proc/$server/clear_refs"
}
peak_mb() {
	calc "$(awk '/^VmHWM:/ { print $2 }' "/proc/$server/status") / 1024"
}

three_at_once() {
	local view making=()
	for view in flame.svg pprof firefox.json; do
		cat "$mount/views/$view" >/dev/null &
		making+=($!)
	done
	wait "${making[@]}" || fail "a view could not be made"
}

start_server
control 'event cpu-clock:freq=4999' start
loops=()
for ((cpu = $(nproc); cpu > 0; cpu--)); do
	run_programs &
	loops+=($!)
done
pids+=("${loops[@]}")
until_true 300 enough || fail "too few samples"
control stop
kill "${loops[@]}"
cp "$mount/kpdata" "$work/kpdata"
cat "$mount/views/flat" "$mount/views/flame.svg" >/dev/null # the page cache is warm from here on
cp "$mount/views/perf.data" "$work/perf.data"
held_mb=$(calc "$(counter bytes.memory) / 1048576")

cold=() perf=() ratios=() warm=() perfdata=() flame=() resident=()
for ((round = 0; round < rounds; round++)); do
	cold+=("$(seconds "$build/kprof" convert -t flat "$work/kpdata")")
	perf+=("$(seconds perf report -i "$work/perf.data" --stdio --no-inline -g none --sort comm,dso,sym)")
	ratios+=("$(calc "${cold[-1]} / ${perf[-1]}")")
	warm+=("$(seconds cat "$mount/views/flat")")
	perfdata+=("$(calc "$(stat -c %s "$work/perf.data") / 1e6 / $(seconds cat "$mount/views/perf.data")")")
	out=$work/flame.svg
	flame+=("$(seconds cat "$mount/views/flame.svg")")
	out=/dev/null
	clear_peak
	three_at_once
	resident+=("$(calc "$(peak_mb) - $held_mb")")
done
figure flat_cold s - "${cold[@]}"
figure perf_report s - "${perf[@]}"
figure flat_cold_ratio ratio '<= 0.2' "${ratios[@]}"
figure flat_warm s '< 0.3' "${warm[@]}"
figure perfdata MB/s '>= 300' "${perfdata[@]}"
figure flame_warm s '< 1' "${flame[@]}"
figure flame_size MB '< 5' "$(calc "$(stat -c %s "$work/flame.svg") / 1e6")"
figure programs files '>= 50' "$("$build/kprof" report -b file -n "$work/kpdata" | awk '{ print $NF }' | sort -u |
	grep -c ^/)"
figure resident MB '< 50' "${resident[@]}"

# SPDX-License-Identifier: MIT
# html: report.html of 1,000,000 samples: its size, and in a headless Chromium the time to its first paint and
# to its flame graph.

# shellcheck disable=SC2154 # bench/run sets bench, build, work and rounds
samples=1000000
command -v chromium >/dev/null || fail "chromium is missing"

# the offsets of the program's code, which has names
read -r text_at text_size < <(readelf -SW "$build/kprof" | awk '$2 == ".text" { print $5, $6 }
	$3 == ".text" { print $6, $7 }')
"$build/bench/samples" $samples "$build/kprof" "0x$text_at" "$((0x$text_at + 0x$text_size))" >"$work/kpdata" ||
	fail "samples"

made=() painted=() ready=()
for ((round = 0; round < rounds; round++)); do
	before=$EPOCHREALTIME
	"$build/kprof" convert -t report.html -o "$work/report.html" "$work/kpdata" || fail "kprof convert"
	made+=("$(calc "$EPOCHREALTIME - $before")")
	read -r paint flame < <(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$bench/../tests/fs python3 \
		"$bench/html_paint.py" "$work/report.html") || fail "chromium"
	painted+=("$paint")
	ready+=("$flame")
done
figure make s - "${made[@]}"
figure size MB '<= 15' "$(calc "$(stat -c %s "$work/report.html") / 1e6")"
figure first_paint s '< 1' "${painted[@]}"
figure flame_graph s - "${ready[@]}"

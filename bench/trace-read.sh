# SPDX-License-Identifier: MIT
# trace-read: the number of events that kptrace merges and formats in a second of the server's CPU time,
# beside babeltrace2 with LTTng's snapshot of the same kind of events, one int each.

start_server
echo 1 >"$mount/events/bench:int"
# the program exits, its events are kept: 24 bytes each
KPROF_BUFFER_KB=32768 "$build/bench/event" threads 2 500000 >/dev/null ||
	fail "the program that writes events"
cat "$mount/kptrace" >"$work/text"
events=$(wc -l <"$work/text")
((events >= 1000000)) || fail "only $events events are held"

# LTTng's session daemon, if it is installed and not running
lttng_trace=""
if command -v babeltrace2 >/dev/null && command -v lttng-sessiond >/dev/null &&
	[ -x "$build/bench/lttng_event" ] && ! pgrep -x lttng-sessiond >/dev/null; then
	lttng-sessiond >"$work/sessiond.log" 2>&1 &
	pids+=($!)
	session=kprofs-bench-$$
	has_sessiond() { lttng list >/dev/null 2>&1; }
	if until_true 10 has_sessiond && {
		lttng create "$session" --snapshot --output="$work/lttng" &&
			lttng enable-channel -u --buffers-uid --num-subbuf=8 --subbuf-size=4M c &&
			lttng enable-event -u -c c kprofs_bench:one_int && lttng start &&
			"$build/bench/lttng_event" && lttng snapshot record &&
			lttng destroy "$session"
	} >"$work/lttng.log" 2>&1; then
		lttng_trace=$work/lttng
	else
		echo "trace-read: LTTng failed: $(tail -n 1 "$work/lttng.log")"
	fi
else
	echo "trace-read: not compared: babeltrace2, LTTng or its program is missing, or LTTng is in use"
fi

rates=() peers=() ratios=()
for ((round = 0; round < rounds; round++)); do
	before=$(cpu_ns "$server")
	cat "$mount/kptrace" >/dev/null
	rates+=("$(calc "$events / ($(cpu_ns "$server") - $before) * 1000")")
	if [ -n "$lttng_trace" ]; then
		"$build/bench/cpu_of" -o "$work/ns" babeltrace2 "$lttng_trace" >"$work/lines" \
			2>/dev/null || fail "babeltrace2"
		peers+=("$(calc "$(wc -l <"$work/lines") / $(cat "$work/ns") * 1000")")
		ratios+=("$(calc "${rates[-1]} / ${peers[-1]}")")
	fi
done
figure events 1e6 - "$(calc "$events / 1000000")"
figure rate 1e6/s '>= 1' "${rates[@]}"
if [ -n "$lttng_trace" ]; then
	figure babeltrace2 1e6/s - "${peers[@]}"
	figure ratio times - "${ratios[@]}"
fi

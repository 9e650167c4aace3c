# SPDX-License-Identifier: MIT
# event: the cost of an event to the program that writes it, beside the same event with LTTng-UST, in turn.
#
# Each round runs bench/event, with a server that reads nothing, and bench/lttng_event in a snapshot
# session with per-user buffers of 4 x 1 MiB; both take the median of 301 slices of 20,000 events.

command -v lttng >/dev/null && [ -x "$build/bench/lttng_event" ] ||
	fail "needs LTTng-UST (Debian: liblttng-ust-dev, lttng-tools) when configured"

export KPROF_SOCKET=$work/trace
background "$build/bench/serve" "$KPROF_SOCKET" >/dev/null
until_true 10 [ -S "$KPROF_SOCKET" ] || fail "no server"

session=kprofs-bench-$$
start_session() {
	lttng --no-sessiond create "$session" --snapshot --output="$work/lttng" &&
		lttng enable-channel -u --buffers-uid --num-subbuf=4 --subbuf-size=1M -s "$session" bench &&
		lttng enable-event -u -s "$session" -c bench 'kprofs_bench:*,lttng_ust_tracef:*' &&
		lttng start "$session"
}
if ! lttng --no-sessiond list >/dev/null 2>&1; then
	background lttng-sessiond --no-kernel >"$work/sessiond" 2>&1
	until_true 10 lttng --no-sessiond list >/dev/null 2>&1 || fail "no lttng-sessiond"
fi
# runs the loops with LTTng; destroys the session in any case
measure_lttng() {
	local status=0
	start_session >"$work/session" 2>&1 && "$build/bench/lttng_event" >"$work/theirs" || status=$?
	lttng destroy "$session" >/dev/null 2>&1 ||
		echo "event: the session $session of LTTng could not be destroyed" >&2
	[ "$status" = 0 ] || fail "LTTng: $(tail -n 1 "$work/session")"
}

# of FILE NAME: the median of the loop
of() {
	awk -v name="$2" '$1 == name { print $2; found = 1 } END { exit !found }' "$1" ||
		fail "no figure $2"
}

loops="empty counter off int string printf" typed_loops="typed typed_string"
declare -A ns theirs ratio
span_loops="span span_string"
off_cost=() span_int=() span_string=() int_counter=() typed_int=()
for ((round = 0; round < rounds; round++)); do
	"$build/bench/event" >"$work/ours" || fail "bench/event: status $?"
	measure_lttng
	# with bench/compare, an older commit may have no typed calls
	grep -q '^typed ' "$work/ours" || typed_loops=
	grep -q '^span ' "$work/ours" || span_loops=
	for loop in $loops $typed_loops $span_loops; do
		ns[$loop]+=" $(of "$work/ours" "$loop")"
	done
	for loop in int string printf; do
		theirs[$loop]+=" $(of "$work/theirs" "$loop")"
		ratio[$loop]+=" $(calc "$(of "$work/ours" "$loop") / $(of "$work/theirs" "$loop")")"
	done
	off_cost+=("$(calc "$(of "$work/ours" off) - $(of "$work/ours" empty)")")
	[ -z "$typed_loops" ] || typed_int+=("$(calc "$(of "$work/ours" typed) / $(of "$work/ours" int)")")
	if [ -n "$span_loops" ]; then
		span_int+=("$(calc "$(of "$work/ours" span) / $(of "$work/ours" int)")")
		span_string+=("$(calc "$(of "$work/ours" span_string) / $(of "$work/ours" string)")")
	fi
	int_counter+=("$(calc "$(of "$work/ours" int) / $(of "$work/ours" counter)")")
done

# shellcheck disable=SC2086 # lists of numbers
{
	figure counter ns - ${ns[counter]}
	figure off ns '<= 1' "${off_cost[@]}"
	figure int ns - ${ns[int]}
	figure int_per_counter ratio '<= 1.6' "${int_counter[@]}"
	figure string ns - ${ns[string]}
	figure printf ns - ${ns[printf]}
	if [ -n "$typed_loops" ]; then
		figure typed ns - ${ns[typed]}
		figure typed_string ns - ${ns[typed_string]}
		figure typed_per_int ratio '<= 1.5' "${typed_int[@]}"
	fi
	if [ -n "$span_loops" ]; then
		figure span ns - ${ns[span]}
		figure span_per_int ratio '<= 2.2' "${span_int[@]}"
		figure span_string_per_string ratio '<= 2.2' "${span_string[@]}"
	fi
	figure lttng_int ns - ${theirs[int]}
	figure lttng_string ns - ${theirs[string]}
	figure lttng_tracef ns - ${theirs[printf]}
	figure int_ratio ratio '<= 0.25' ${ratio[int]}
	figure string_ratio ratio '<= 0.25' ${ratio[string]}
	figure printf_ratio ratio '<= 0.5' ${ratio[printf]}
}

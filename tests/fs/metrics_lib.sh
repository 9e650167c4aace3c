# SPDX-License-Identifier: MIT
# metrics_lib.sh: functions for scripts that check views/metrics. Sourced after lib.sh.

read_metrics() {
	cat "$MNT/views/metrics" >"$WORK/metrics.txt" || fail "views/metrics can't be read"
	python3 "${srcdir:-.}/tests/fs/openmetrics.py" "$WORK/metrics.txt" >"$WORK/metrics" || fail "metrics"
	if type promtool >/dev/null 2>&1; then
		promtool check metrics <"$WORK/metrics.txt" || fail "promtool"
	fi
}

# metric 'NAME LABELS': its value
metric() {
	NAME=$1 awk '{ value = $NF; sub(/ [^ ]*$/, "") } $0 == ENVIRON["NAME"] { print value }' "$WORK/metrics"
}

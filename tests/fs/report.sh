#!/bin/bash
# SPDX-License-Identifier: MIT
# report: kprof report shows the functions and shares of a program with known ones, of a live mount and of
# copies after the server has ended.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"

KPROF=$PWD/kprof
SHARES=$PWD/tests/fixtures/shares
SAMPLES=10000

# samples FUNCTION: of the program, in the report
samples() {
	awk -v f="$1" '/%/ && $4 == "shares" && $5 == f { n = $2 } END { print n + 0 }' "$WORK/report"
}

# the share of A among A and B is WANT percent, within two points
splits() {
	awk -v a="${1:-0}" -v b="${2:-0}" -v want="$3" 'BEGIN {
		if (a + b == 0)
			exit 1
		share = 100 * a / (a + b)
		exit !(share > want - 2 && share < want + 2)
	}'
}

report() {
	"$KPROF" report "$@" -m "$MNT" >"$WORK/report" 2>"$WORK/report.err"
}

# same_report WHAT REPORT: equal to $report in the lines about the capture and our program.
# Programs of others may be rebuilt between two reports; their names are then rightly missing.
same_report() {
	local report

	for report in "$WORK/report" "$2"; do
		grep -E '^# [0-9]+ samples of |^# cpu-clock|  shares  ' "$report" >"$report.ours"
	done
	check "$1 says something" grep -q '  hot  ' "$2.ours"
	check "$1" diff "$WORK/report.ours" "$2.ours"
}

# enough of the program is in the capture
is_sampled() {
	report && [ "$(($(samples hot) + $(samples cold)))" -ge $SAMPLES ]
}

sees_itself() {
	report && grep -q ' in kprofs itself (left out)' "$WORK/report"
}

# the samples that the report counts in processes of this name; other servers may run here
of_kprofs() {
	awk '/%/ && $4 == "kprofs" { n += $2 } END { print n + 0 }' "$WORK/report"
}

serve

# ---- nothing yet --------------------------------------------------------------------------------

report || fail "a report of nothing: $(cat "$WORK/report.err")"
same "nothing" "# $MNT/kpdata, empty
# nothing captured yet: echo start > $MNT/kpctl" "$(cat "$WORK/report")"

put kpctl "event cpu-clock:freq=4999"
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi

# ---- live ---------------------------------------------------------------------------------------

"$SHARES" >"$WORK/units" &
program=$!
WAIT=60 wait_for is_sampled
kill "$program"
wait "$program"
# the command ends, although the stream continues
report --callers || fail "live: $(cat "$WORK/report.err")"
wait_for sees_itself
others=$(of_kprofs)
report --self
check "the server's own samples are left out" test "$(of_kprofs)" -gt "$others"
grep -q ' in kprofs itself (counted)' "$WORK/report" || fail "--self does not count"
put kpctl stop

# ---- shares -------------------------------------------------------------------------------------

read -r hot cold left right <"$WORK/units"
check "the program did what it should: hot" splits "$hot" "$cold" 70
check "the program did what it should: left" splits "$left" "$right" 60

report
check "hot : cold is 70 : 30" splits "$(samples hot)" "$(samples cold)" 70
same "where they are" "$SHARES" "$(awk '$5 == "hot" { print $6 }' "$WORK/report")"

report --callers
# the callers of hot are the lines below it
callers() {
	awk -v f="$1" '
		/%/ && $3 != "<-" { on = $4 == "shares" && $5 == f }
		on && $3 == "<-" { print $5, $2 }' "$WORK/report" | sed -n "s/^$2 //p"
}
check "hot for left : right is 60 : 40" splits "$(callers hot left)" "$(callers hot right)" 60
check "cold for left : right is 60 : 40" splits "$(callers cold left)" "$(callers cold right)" 60

report --total
total() {
	awk -v f="$1" '/%/ && $5 == "shares" && $6 == f { print $1 + 0 }' "$WORK/report"
}
check "the totals of left : right are 60 : 40" splits "$(total left)" "$(total right)" 60
check "main has all of it" splits "$(total main)" "$(total left)" 62.5 # 100 to 60

# ---- copies -------------------------------------------------------------------------------------

report
cat "$MNT/kpdata" >"$WORK/copy"
"$KPROF" report "$WORK/copy" >"$WORK/report.copy" || fail "a copy"
same_report "a copy is the same" "$WORK/report.copy"
"$KPROF" report "$MNT/kpdata" >"$WORK/report.path" || fail "by its path"
same_report "the path is the same" "$WORK/report.path"
same "as many samples in the dump" \
	"$("$KPROF" dump -m "$MNT" | grep -c '_trace ')" \
	"$(sed -n '2s/^# \([0-9]*\) samples .*/\1/p' "$WORK/report")"

KPROF_MOUNT=$MNT "$KPROF" report >"$WORK/report.found" || fail "the mount is not found"
same_report "the mount is found" "$WORK/report.found"

serve_end
"$KPROF" report "$WORK/copy" >"$WORK/report.later" || fail "a copy, later"
same_report "without the server" "$WORK/report.later"

#!/bin/bash
# SPDX-License-Identifier: MIT
# view_versus: views/versus/NAME shows the difference from session NAME: the shares are those that `kprof report`
# shows of copies of both captures, the conditions of by/ hold for both, and the files that show no difference
# are refused.
# shellcheck source=tests/fs/lib.sh
. "${srcdir:-.}/tests/fs/lib.sh"
. "${srcdir:-.}/tests/fs/prof_lib.sh"

serve
# names of their own: other tests may run the same programs
cp "$FIXTURES/split" "$WORK/versus1$$"
cp "$FIXTURES/faults" "$WORK/versus2$$"
put kpctl 'event cpu-clock:freq=1999'
if ! put kpctl start 2>/dev/null; then
	echo "no sampling here: $(tail -n 1 "$MNT/kperr")"
	exit 77
fi
put kpctl stop
mkdir "$MNT/sessions/old" || fail "mkdir"

# run FOLDER COMMAND...: samples it there
run() {
	local folder=$1
	shift
	printf 'clear\nevent cpu-clock:freq=1999\nstart\n' >"$folder/kpctl" || fail "start: $(tail -n 1 "$folder/kperr")"
	"$@" >/dev/null
	echo stop >"$folder/kpctl"
}
both() {
	"$WORK/versus1$$" "$1"
	"$WORK/versus2$$" 40000
}
run "$MNT/sessions/old" "$WORK/versus1$$" 300
run "$MNT" both 200

cat "$MNT/sessions/old/kpdata" >"$WORK/old.data"
cat "$MNT/kpdata" >"$WORK/new.data"

# the rows of a program: SHARE SAMPLES SHARE SAMPLES CHANGE FUNCTION
rows_of() {
	awk -v process="$1" '$7 == process { print $1, $2, $3, $4, $5, $8 }' | sort
}
cat "$MNT/views/versus/old/flat" >"$WORK/flat" || fail "flat: $(tail -n 1 "$MNT/kperr")"
"$KPROF" report --diff "$WORK/old.data" "$WORK/new.data" >"$WORK/report" || fail "kprof report --diff"
for program in versus1 versus2; do
	rows_of "$program$$" <"$WORK/report" >"$WORK/expected"
	at_least "rows of $program" 1 "$(wc -l <"$WORK/expected")"
	same "flat of $program" "$(cat "$WORK/expected")" "$(rows_of "$program$$" <"$WORK/flat")"
done
grep -q "^# 1: $MNT/sessions/old/kpdata" "$WORK/flat" || fail "flat names the earlier capture"
grep -q "^# 2: $MNT/kpdata" "$WORK/flat" || fail "flat names the capture"

# the share of the program that ran in the second one only is new, in points as well
cat "$MNT/views/versus/old/tree" >"$WORK/tree" || fail "tree"
share=$(awk -v name="versus2$$" '$NF == name && $2 == "-" { print $1, $3; exit }' "$WORK/tree")
read -r now change <<<"$share"
same "the change is the share" "+${now%\%}" "$change"
samples=$(grep -c . < <("$KPROF" script "$WORK/new.data" 2>/dev/null | grep "^versus2$$ "))
same "its samples" "$samples" "$(awk -v name="versus2$$" '$NF == name && $2 == "-" { print $4; exit }' "$WORK/tree")"

cat "$MNT/views/versus/old/flame.svg" >"$WORK/flame.svg" || fail "flame.svg"
grep -A2 -F "<title>versus2$$" "$WORK/flame.svg" | grep -q "not in the earlier capture" || fail "a new process in flame.svg"
grep -A2 -F "<title>versus1$$" "$WORK/flame.svg" | grep -q "^before .*%, change [+-]" || fail "a process in flame.svg"
cat "$MNT/views/versus/old/report.html" | grep -q 'Compared with an earlier capture' || fail "report.html"

# conditions of by/ are those of both; of time, not of the earlier one
cat "$MNT/views/by/comm/versus1$$/versus/old/tree" >"$WORK/tree" || fail "nested"
same "the one process is all in both" "100.00% 100.00% +0.00" \
	"$(awk -v name="versus1$$" '$NF == name { print $1, $2, $3; exit }' "$WORK/tree")"
cat "$MNT/views/versus/old/last/1h/by/comm/versus1$$/tree" >"$WORK/nested" || fail "nested the other way"
same "in any order" "$(grep -v '^#' "$WORK/tree")" "$(grep -v '^#' "$WORK/nested")"
same "what shows a difference" "flame.svg flat report.html tree" \
	"$(find "$MNT/views/versus/old" -mindepth 1 -printf '%f\n' | sort | xargs)"
fails_with "not supported" cat "$MNT/views/versus/old/pprof"
fails_with "No such file" cat "$MNT/views/versus/none/flat"
tail -n 1 "$MNT/kperr" | grep -q "there is no session 'none'" || fail "the reason: $(tail -n 1 "$MNT/kperr")"
fails_with "No such file" ls "$MNT/views/versus/old/versus"
mkdir "$MNT/sessions/empty"
fails_with "No data" cat "$MNT/views/versus/empty/flat"
tail -n 1 "$MNT/kperr" | grep -q "session 'empty' has no samples" || fail "the reason: $(tail -n 1 "$MNT/kperr")"

# the command: of a session of the mount, and of a file
"$KPROF" report --versus old -m "$MNT" >"$WORK/report2" || fail "kprof report --versus NAME"
same "kprof report --versus NAME" "$(grep -v '^#' "$WORK/report")" "$(grep -v '^#' "$WORK/report2")"
"$KPROF" report --versus "$WORK/old.data" "$WORK/new.data" >"$WORK/report2" || fail "kprof report --versus FILE"
same "kprof report --versus FILE" "$(grep -v '^#' "$WORK/report")" "$(grep -v '^#' "$WORK/report2")"
for view in flat tree flame.svg; do
	"$KPROF" convert -t $view --versus "$WORK/old.data" "$WORK/new.data" >"$WORK/converted" || fail "convert -t $view"
	same "convert -t $view --versus" "$(grep -v '^#' "$MNT/views/versus/old/$view" | cksum)" \
		"$(grep -v '^#' "$WORK/converted" | cksum)"
done
"$KPROF" convert -t flat --comm "versus1$$" --last 1h --versus old -m "$MNT" >"$WORK/converted" || fail "a part"
same "a part with --versus" "$(rows_of "versus1$$" <"$MNT/views/by/comm/versus1$$/versus/old/flat")" \
	"$(rows_of "versus1$$" <"$WORK/converted")"
fails_with "pprof shows no difference" "$KPROF" convert -t pprof --versus old -m "$MNT"
fails_with "--versus none: no such file" "$KPROF" report --versus none -m "$MNT"
fails_with "--diff or --versus, not both" "$KPROF" report --versus old --diff "$WORK/old.data" -m "$MNT"

# from a session, and against itself
cat "$MNT/sessions/old/views/versus/old/tree" | awk -v name="versus1$$" '
	$NF == name { print $3; exit }' | grep -qx '+0.00' || fail "a session against itself"

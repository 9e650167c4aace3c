#!/bin/bash
# SPDX-License-Identifier: MIT
# cmd_streams: kprof writes to standard output for `-`. It works without standard descriptors and gives
# their numbers to no file of its own. It refuses input that is not a capture, and unknown formats, with
# that reason.
# shellcheck source=tests/fs/cmd_lib.sh
. "${srcdir:-.}/tests/fs/cmd_lib.sh"

# said TEXT: of the last run
said() {
	grep -qF -- "$1" "$tmp/err" || fail "'$1' was to be said: $(cat "$tmp/err")"
}

mkstory=$PWD/tests/fixtures/mkstory
cd "$tmp" || exit 1
"$mkstory" /none - 0x10 0x20 >kpdata || fail "mkstory"
kprof_ends 0 convert -t folded kpdata
mv out expected
[ -s expected ] || fail "convert writes nothing"

# ---- where it goes ------------------------------------------------------------------------------

kprof_ends 0 convert -t folded -o - kpdata
cmp out expected || fail "convert -o -"
if "$KPROF" stat true 2>/dev/null; then
	kprof_ends 0 stat -j -o - true
	grep -q '"command":\["true"\]' out || fail "stat -o -: $(cat out)"
fi
if "$KPROF" record -q -P -o recorded true 2>/dev/null; then
	kprof_ends 0 record -P -o - sh -c 'echo said'
	[ "$(head -n 1 out)" = said ] || fail "record -o - leaves what the command said"
	tail -c +6 out >recorded
	kprof_ends 0 dump recorded
	grep -q '^[0-9]* clock ' out || fail "record -o - is no capture: $(head -n 3 out)"
fi
[ ! -e ./- ] || fail "a file called - was made"

# ---- standard descriptors that are closed ---------------------------------------------------------

# the file would get number 1, and the text go into it
"$KPROF" convert -t folded -o made kpdata >&- 2>err || fail "without standard output: $(cat err)"
cmp made expected || fail "what was made without standard output"
cp kpdata before
"$KPROF" report kpdata >&- 2>err && fail "there was nowhere to write to"
grep -q "can't be written" err || fail "nowhere to write to: $(cat err)"
cmp kpdata before || fail "the capture was written to"
"$KPROF" dump kpdata <&- 2>&- >out || fail "without input and error"
grep -q '^[0-9]* clock ' out || fail "dump without input and error"
"$KPROF" dump - <&- >out 2>err && fail "there was nothing to read"

# ---- what is none ---------------------------------------------------------------------------------

printf 'a text and much that is no record of kpdata either, as is seen at once\n' >other
kprof_ends 1 report other
said "is this kpdata?"
kprof_ends 1 convert -t folded other
said "is this kpdata?"
printf 'PERFILE2 and more, as perf record writes it\n' >other
kprof_ends 1 report other
said "other is a file of perf record: perf report -i other reads it"
kprof_ends 2 convert -t ctf kpdata
said "copy views/ctf"
kprof_ends 2 convert -t metrics kpdata
said "copy views/metrics"
kprof_ends 2 convert -t nothing kpdata
said "no format nothing"

[ "$failures" = 0 ]
